package act

import (
	"context"
	"errors"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Mode is how much tools may do without approval. shift+tab cycles it, and it
// is always shown.
type Mode string

// The modes. In each of them deny rules apply, and a command that rules cannot analyze asks; see
// package permission.
const (
	ModeAsk      Mode = "ask"       // reading in the workspace runs; everything else asks
	ModeEdits    Mode = "edits"     // like ask, but ordinary edits run: entered by an approval only, and ends with the conversation
	ModeAuto     Mode = "auto"      // edits in the workspace run too, and sandboxed commands without a network
	ModePlan     Mode = "plan"      // like read-only, until the user accepts a plan of the model
	ModeReadOnly Mode = "read-only" // everything but reading is denied without asking
	ModeYolo     Mode = "yolo"      // everything runs except denied actions, and files that hold credentials or start programs at login
)

// Modes lists the modes in the order of shift+tab. It lacks Yolo, which has to
// be selected by name.
var Modes = []Mode{ModeAsk, ModeAuto, ModePlan, ModeReadOnly}

// Next returns the mode after m in Modes; the first one if m is not listed.
func (m Mode) Next() Mode { return Modes[(slices.Index(Modes, m)+1)%len(Modes)] }

// Verdict is a policy's decision about an action.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// An Approval is the user's answer to a request for approval.
type Approval struct {
	Verdict     Verdict // Allow or Deny
	Session     bool    // with Allow: also for later calls, see [Policy].AllowForSession
	Always      bool    // with Allow: also for the same action later in this workspace
	PrefixWords int     // with Always: also for all commands beginning with this many words; 0: the exact command
	Network     bool    // with Allow: the command may use the network this time
	Note        string  // with Deny: a message of the user for the model
	Reason      string  // with Deny: the reason if no user decided
	Input       string  // with Allow: the arguments as edited by the user; "" if unchanged
}

// A Set is the tools offered to a model, and the directories in which they work. It is safe for
// concurrent use.
type Set interface {
	Tools() []llm.Tool                                             // definitions for the model, always in the same order
	Plan(ctx context.Context, name, input string) (*Action, error) // parses a call and changes nothing; the error is in words for the model
	Snapshot() Set                                                 // a view whose tools do not change
	Only(names ...string) (Set, error)                             // a view with these tools only; an error names an unknown one
	ReadOnly() Set                                                 // a view with the tools that read in the workspace
	MayChangeAnything(name string) bool                            // whether a call of the tool may change any file; other tools that write name the file
	BeginPrompt()                                                  // notifies the servers of external tools that a prompt begins
	TakeEndedJobs(conversation string) string                      // a report for the model about background commands of its conversation that ended since the last call; "" for none
	TakeSandboxNotices() string                                    // sandbox notices for the user since the last call; "" for none
	Workspace
}

// A Workspace is the directory in which tools work, with the directories that the user added.
type Workspace interface {
	Root() string                                                   // absolute
	WorkspaceProblem() string                                       // why Root is not used as a workspace, such as "is your home directory"; "" if it is used
	Directories() []string                                          // the added directories
	DirectoryOf(file string) string                                 // the added directory that contains an action's path; "" for Root
	DirectoryIDs() map[string]string                                // ids by path, to detect another directory at the same path later
	CheckDirectory(dir string) (real string, err error)             // the directory without links, or why it cannot be added
	RestoreDirectories(ids map[string]string, dirs ...string) error // replaces the added directories; the error names those left out
}

// Files backs up files before calls of a conversation change them, so that the changes can be
// undone. It is safe for concurrent use.
type Files interface {
	Watch(FileCall) FileWatch      // examines the files that a call may change, in the background
	Warm()                         // reads ahead, in the background, for a call that may change any file
	AddDirectories(dirs ...string) // adds directories outside the workspace in which calls may change files
	MarkBranch(head int)           // the user leaves the branch that ends with the message head
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
	Directory string // added directory that contains Paths; "": the workspace
}

// A FileWatch records the changes of one call: Begin and End, or Cancel, must follow. It is for
// one goroutine.
type FileWatch interface {
	Coverage() string          // describes changes that cannot be undone, for the user; "" if all can
	Begin() error              // before the call runs; the error says why nothing can be undone
	MarkIncomplete(why string) // before End: a reason why it may miss changes; "" adds none
	End() error                // after the call
	Cancel()                   // the call does not run
}

// A Policy decides whether an action may run; nothing else does. It is safe for concurrent use.
type Policy interface {
	Mode() Mode
	SetMode(Mode)
	Accept(to Mode) Mode            // switches from ModePlan to another mode, because the user accepted a plan, and returns the mode
	Decide(*Action) Verdict         // decides whether an action may run now
	DenialReason(*Action) string    // why not, in words for the model
	MayHookAllow(*Action) bool      // whether a hook may approve in the user's place
	AllowForSession(*Action)        // approves the same action until parley ends; for an ordinary edit in ModeAsk, it enters ModeEdits
	AllowAlways(*Action, int) error // approves it permanently in this workspace: commands beginning with this many words; 0: the exact command

	RulesFor(*Action, int) ([]string, error)         // the rules that AllowAlways adds, in configuration syntax; the error says why there are none
	PrefixLengths(*Action) (words []int, why string) // prefix lengths in words that have rules, narrowest first, and why wider ones are not possible
}

// AskAlways is a policy that asks about every action, regardless of earlier answers.
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

// MayHookAllow returns false.
func (AskAlways) MayHookAllow(*Action) bool { return false }

// AllowForSession does nothing.
func (AskAlways) AllowForSession(*Action) {}

var errForgets = errors.New("nothing remembers it")

// AllowAlways returns an error: nothing is stored.
func (AskAlways) AllowAlways(*Action, int) error { return errForgets }

// RulesFor returns an error: there are no rules.
func (AskAlways) RulesFor(*Action, int) ([]string, error) { return nil, errForgets }

// PrefixLengths returns none.
func (AskAlways) PrefixLengths(*Action) ([]int, string) { return nil, "" }

// Names of tools that a conversation treats specially.
const (
	PlanTool   = "plan"     // maintains the model's plan
	SkillName  = "skill"    // loads skills
	SearchName = "search"   // searches the web
	AskTool    = "ask_user" // asks the user

	ConsultTool  = "consult"  // asks another model
	ExploreTool  = "explore"  // has a model look around
	RememberTool = "remember" // proposes a line of the memory
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
// of an MCP server; other names unchanged.
func DisplayName(name string) string {
	if external, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(external, "__"); ok && server != "" && tool != "" {
			return tool + " of " + server
		}
	}
	return name
}

// A Resource is a resource of a server that prompts can mention as @SERVER:URI.
type Resource struct{ Server, URI, Name, Description string }
