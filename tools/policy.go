package tools

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

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
	Note    string  // with Deny: what the person says to the model
	Reason  string  // with Deny: why, where no person decided
	Input   string  // with Allow: the arguments as the person edited them; "" as they were
}

// A Policy decides whether a tool may run. It is the only place that does, and
// safe for concurrent use. The zero value asks.
type Policy struct {
	mu      sync.Mutex
	mode    Mode
	allowed map[rule]bool
}

// A rule allows a tool for exactly one command or file; with an empty target,
// for all of them.
type rule struct{ tool, target string }

// NewPolicy returns a policy in the given mode.
func NewPolicy(mode Mode) *Policy { return &Policy{mode: mode} }

// Mode is how much runs without being asked.
func (p *Policy) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "" {
		return ModeAsk
	}
	return p.mode
}

// SetMode changes the mode.
func (p *Policy) SetMode(mode Mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// Next goes to the mode behind the present one in Modes, and returns it.
func (p *Policy) Next() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	mode := p.mode
	if mode == "" {
		mode = ModeAsk
	}
	p.mode = Modes[(slices.Index(Modes, mode)+1)%len(Modes)] // what is not listed goes to the first
	return p.mode
}

// Decide says whether a may run now. Reading inside the workspace always may;
// read-only denies the rest, whatever was granted before.
func (p *Policy) Decide(a *Action) Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case a.Access == Reads:
		return Allow
	case p.mode == ModeReadOnly:
		return Deny
	case p.mode == ModeYolo, p.allowed[ruleOf(a)]:
		return Allow
	case a.Access == Writes && guarded(a.Path):
		return Ask
	case p.allowed[rule{tool: a.Tool}]:
		return Allow
	case p.mode == ModeAuto && a.Access == Writes:
		return Allow
	}
	return Ask
}

// Remember allows, from now on, exactly this command, or further actions of the
// same tool on exactly this file.
func (p *Policy) Remember(a *Action) {
	if r := ruleOf(a); r.target != "" {
		p.allow(r)
	}
}

// Grant allows what a rule of the command line says: a tool ("shell"), or a
// tool with exactly one command ("shell:git status") or file ("edit:go.mod",
// relative to the workspace).
func (p *Policy) Grant(text string) error {
	name, target, narrow := strings.Cut(text, ":")
	if !slices.ContainsFunc(list, func(t tool) bool { return t.name == name }) {
		var names []string
		for _, t := range list {
			names = append(names, t.name)
		}
		return unknown(name, names)
	}
	if narrow && strings.TrimSpace(target) == "" {
		return fmt.Errorf("rule %q: nothing follows the colon", text)
	}
	if narrow && name != "shell" {
		target = path.Clean(filepath.ToSlash(target))
	}
	p.allow(rule{name, target})
	return nil
}

func (p *Policy) allow(r rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.allowed == nil {
		p.allowed = map[rule]bool{}
	}
	p.allowed[r] = true
}

// ruleOf is the narrowest rule that allows a.
func ruleOf(a *Action) rule {
	if a.Access == Runs {
		return rule{a.Tool, a.Command}
	}
	return rule{a.Tool, a.Path}
}

// guards are the names of files and folders that configure or run programs for
// parley and git (.envrc: for the shell that they are started from), so that a
// change there can be as good as a command. It is these four and no more: a
// Makefile, a test or a script runs things as well and is not guarded.
var guards = []string{".git", ".parley", ".mcp.json", ".envrc"}

// guarded reports whether file is under a guard. Letter case does not count:
// on some file systems .GIT is .git.
func guarded(file string) bool {
	for _, part := range strings.Split(file, "/") {
		if slices.ContainsFunc(guards, func(g string) bool { return strings.EqualFold(g, part) }) {
			return true
		}
	}
	return false
}
