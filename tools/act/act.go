package act

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Mode is how much a user lets tools do without being asked. It is cycled
// with shift+tab and always shown.
type Mode string

// The modes. In each of them deny rules hold, and a command that rules cannot see through asks; see
// package permission.
const (
	ModeAsk      Mode = "ask"       // reading inside the workspace runs; everything else asks
	ModeAuto     Mode = "auto"      // edits inside the workspace run too, and commands in the sandbox without a network
	ModePlan     Mode = "plan"      // as read-only, until the user accepts a plan of the model's
	ModeReadOnly Mode = "read-only" // what is not reading is denied without asking
	ModeYolo     Mode = "yolo"      // everything runs that no rule denies, but for files that hold credentials or start programs at login
)

// Modes lists the modes in the order in which shift+tab goes through them.
// Yolo is not among them: it has to be named.
var Modes = []Mode{ModeAsk, ModeAuto, ModePlan, ModeReadOnly}

// Next returns the mode after m in Modes; the first after one that is not listed.
func (m Mode) Next() Mode { return Modes[(slices.Index(Modes, m)+1)%len(Modes)] }

// Verdict is what the policy says about an action.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// An Approval is what a user said to an action.
type Approval struct {
	Verdict     Verdict // Allow or Deny
	Session     bool    // with Allow: the same action need not be asked again in this session
	Always      bool    // with Allow: nor later in this workspace
	PrefixWords int     // with Always: nor what begins with so many words of the command; 0 is the whole of it
	Network     bool    // with Allow: this time it may reach the network from the sandbox
	Note        string  // with Deny: what the user says to the model
	Reason      string  // with Deny: why, where no user decided
	Input       string  // with Allow: the arguments as the user edited them; "" as they were
}

// A Set is the tools that a model is offered, and the directories in which they work. It is safe for
// concurrent use.
type Set interface {
	Tools() []llm.Tool                                             // what the model is told, always in the same order
	Plan(ctx context.Context, name, input string) (*Action, error) // understands a call and changes nothing; the error is in words for the model
	Snapshot() Set                                                 // a view whose tools stay as they are now
	Only(names ...string) (Set, error)                             // a view with these tools alone; an error names one that there is not
	ReadOnly() Set                                                 // a view with the tools that read in the workspace
	MayChangeAnything(name string) bool                            // whether a call of a tool may change any file; the other tools that write name the file
	BeginPrompt()                                                  // tells the servers of external tools that a prompt begins
	TakeEndedJobs(conversation string) string                      // commands in the background of a conversation that ended since the last call, in words for its model; "" for none
	TakeSandboxNotices() string                                    // what the sandbox undid and warns of since the last call, for the user; "" for nothing
	Workspace
}

// A Workspace is the directory in which tools work, with those that the user added to it.
type Workspace interface {
	Root() string                                                   // absolute
	WorkspaceProblem() string                                       // why Root is no workspace, such as "is your home directory"; "" if it is one
	Directories() []string                                          // those that were added
	DirectoryOf(file string) string                                 // the added directory that the path of an action is in; "" for Root
	DirectoryIDs() map[string]string                                // what tells each of them from another one that may stand there later
	CheckDirectory(dir string) (real string, err error)             // a directory, without links, that can be added, or why it cannot
	RestoreDirectories(ids map[string]string, dirs ...string) error // has tools reach these in the place of those before; the error says which were left out
}

// Files keeps what files were before calls of a conversation change them, so that the changes can be
// undone. It is safe for concurrent use.
type Files interface {
	Watch(FileCall) FileWatch                // looks at the files that a call may change, in the background
	Warm(ctx context.Context, callSoon bool) // reads ahead while a model answers; callSoon: a call that may change any file has arrived
	AddDirectories(dirs ...string)           // names directories beside the workspace in which calls may change files
	MarkBranch(head int)                     // the user leaves the branch that ends with the message head
	Close()
}

// A FileCall is a call that may change files.
type FileCall struct {
	ID    string
	Seq   int    // message of the conversation that it belongs to
	Title string // description; untrusted text

	// Paths are the files that it changes, relative to the workspace or absolute in Directory; none:
	// it may change anything in the workspace.
	Paths     []string
	Directory string // added directory that Paths are in; "": they are in the workspace
}

// A FileWatch records what one call changes: Begin and End, or Cancel, must follow. It is for one
// goroutine.
type FileWatch interface {
	Coverage() string          // what of the call cannot be undone, in words for the user; "" if all can
	Begin() error              // before the call runs; the error says why nothing can be undone
	MarkIncomplete(why string) // before End: why it cannot see every change; "" adds nothing
	End() error                // after the call
	Cancel()                   // the call does not run
}

// A Policy decides whether an action may run. It is the only one that does, and safe for concurrent
// use.
type Policy interface {
	Mode() Mode
	SetMode(Mode)
	Accept(to Mode) Mode            // goes from ModePlan to another, since the user accepted a plan, and returns the mode
	Decide(*Action) Verdict         // whether it may run now
	DenialReason(*Action) string    // why not, in words for the model
	MayHookAllow(*Action) bool      // whether a hook of the user's may answer in their place
	AllowForSession(*Action)        // has the same action run unasked until parley ends
	AllowAlways(*Action, int) error // and for good, in this workspace: what begins with so many words of its command; 0 for the whole

	RulesFor(*Action, int) ([]string, error)         // the rules that AllowAlways adds, as the configuration has them; the error says why there are none
	PrefixLengths(*Action) (words []int, why string) // the numbers of words for which there are rules, from the narrowest to the widest, and why there are none wider
}

// AskAlways is a policy that asks about each action, whatever was answered before.
type AskAlways struct{}

// Mode returns ModeAsk.
func (AskAlways) Mode() Mode { return ModeAsk }

// SetMode does nothing.
func (AskAlways) SetMode(Mode) {}

// Accept returns ModeAsk.
func (AskAlways) Accept(Mode) Mode { return ModeAsk }

// Decide returns Ask.
func (AskAlways) Decide(*Action) Verdict { return Ask }

// DenialReason returns nothing: no action is denied.
func (AskAlways) DenialReason(*Action) string { return "" }

// MayHookAllow reports false.
func (AskAlways) MayHookAllow(*Action) bool { return false }

// AllowForSession does nothing.
func (AskAlways) AllowForSession(*Action) {}

var errForgets = errors.New("nothing remembers it")

// AllowAlways remembers nothing, and says so.
func (AskAlways) AllowAlways(*Action, int) error { return errForgets }

// RulesFor returns an error: there are no rules.
func (AskAlways) RulesFor(*Action, int) ([]string, error) { return nil, errForgets }

// PrefixLengths returns none.
func (AskAlways) PrefixLengths(*Action) ([]int, string) { return nil, "" }

// Names of tools that a conversation treats as what they are.
const (
	PlanTool   = "plan"   // with which a model keeps a plan
	SkillName  = "skill"  // which loads skills
	SearchName = "search" // which searches the web
)

// PlanStep splits a step of a plan, such as "- [x] text", into its mark (a space, '>' or 'x'), its indentation
// and its text. The mark is 0 for any other line.
func PlanStep(line string) (mark byte, indent, text string) {
	text = strings.TrimLeft(line, " \t")
	indent = line[:len(line)-len(text)]
	if text == "" || !strings.ContainsRune("-*+", rune(text[0])) {
		return 0, "", ""
	}
	text = strings.TrimLeft(text[1:], " ")
	if len(text) < 3 || text[0] != '[' || text[2] != ']' || !strings.ContainsRune(" >xX", rune(text[1])) {
		return 0, "", ""
	}
	return text[1] | 0x20, indent, strings.TrimSpace(text[3:])
}

// DisplayName returns the name of a tool for users: "search of wiki" for mcp__wiki__search, the tool
// of an MCP server, and any other name as it is.
func DisplayName(name string) string {
	if external, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(external, "__"); ok && server != "" && tool != "" {
			return tool + " of " + server
		}
	}
	return name
}

// A Resource is something that a server has for prompts to mention, as @SERVER:URI.
type Resource struct{ Server, URI, Name, Description string }
