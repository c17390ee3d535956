package tools

import "sync"

// Mode is how much a person lets tools do without being asked. It is cycled
// with shift+tab and always shown.
type Mode string

// The modes.
const (
	ModeAsk      Mode = "ask"       // reading inside the workspace runs; everything else asks
	ModeAuto     Mode = "auto"      // edits inside the workspace run too; a command asks unless it is sandboxed
	ModeReadOnly Mode = "read-only" // what is not reading is denied without asking
	ModeYolo     Mode = "yolo"      // everything runs
)

// Modes lists the modes in the order in which shift+tab goes through them.
// Yolo is not among them: it has to be named.
var Modes = []Mode{ModeAsk, ModeAuto, ModeReadOnly}

// Verdict is what the policy says about an action.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// An Answer is what a person said to an action.
type Answer struct {
	Verdict Verdict // Allow or Deny
	Session bool    // with Allow: the same action need not be asked again in this session
	Note    string  // with Deny: what the model is told
	Input   string  // with Allow: the arguments as the person edited them; "" as they were
}

// A Policy decides whether a tool may run. It is the only place that does, and
// safe for concurrent use. The zero value asks.
type Policy struct {
	mu      sync.Mutex
	mode    Mode
	allowed map[string]bool // by rule
}
