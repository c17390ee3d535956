// Package app implements all that a user can do with parley, without a screen. Front ends share it as data and
// functions. It imports no front end and no terminal library.
//
//	ui/cli ──► Options ──► screen, plain lines
//	             ├── drafts, attachments, exports, typed commands
//	             ├── MCP servers: state, consent, choices
//	             ├── comparisons of models, exchanges with them to inspect
//	             └── usage, hints, titles, ages
package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app/access"
	"parley/ui/app/mention"
	"parley/ui/format"
)

// App is one run of parley without a screen: the open conversation and the commands for it. It belongs to one
// goroutine, the front end's.
type App struct {
	Options
	Uses    CommandUses
	Unnamed bool // a blind comparison is open: anything that identifies its models is hidden

	FrontEnd FrontEnd

	// Flows fill these in.
	Commands     []Command                                 // all commands, in the order of the help
	Watch        []func(tell func(happened func() Effect)) // report events that no key of the user caused; see WatchAll
	Reopened     func() Effect                             // shows what was open beside the conversation when it was left; nil if nothing was
	Files        FileHistory
	ChooseSource func(seq int) Effect // asks which source of the answer seq to open
}

// A FrontEnd tells commands about the front end, which fills it in.
type FrontEnd struct {
	Terminal       func() TerminalState                  // returns the known properties of the terminal
	Busy           func() bool                           // reports whether a turn is running
	KeyOf          func(command string) string           // returns the key that runs a command, or "/" and its name
	BeforeSwitch   func()                                // called before another conversation is opened
	ClipboardImage func(context.Context) ([]byte, error) // returns the image on the clipboard
	AskUser        func(next func() Effect)              // shows the question that next returns, called on the App's goroutine; nil if nobody can be asked
	StatusLine     func(words []string) string           // returns the status line with these words, as plain text; nil if there is none
	RequestTokens  func() int                            // estimates the next request, with the draft
}

// A FileHistory knows the files that conversations changed. The undo flow fills it in.
type FileHistory struct {
	Restore func() Effect                                                   // offers to restore the files of the current branch as they were when it was left
	Count   func(of *session.Session, n int, known FileChanges) FileChanges // counts the lines of the first n files that a conversation changed, on any goroutine; nil if unknown
}

// ChangesKey returns the key under which the library has how many lines a conversation changed, such as "+24 −9". It is
// deleted with the conversation.
func ChangesKey(conversation string) string { return "changes of " + conversation }

// FileChanges are files that a conversation changed.
type FileChanges struct {
	Records int    // number of changes that it covers
	All     int    // number of files
	First   []Item // Detail is a note, such as "new"; Cells are the numbers of lines, +2 and −1, if they were counted
}

// New returns an App with the options o, completed by WithDefaults.
func New(o Options) *App {
	o = o.WithDefaults()
	a := &App{
		Options: o,
		FrontEnd: FrontEnd{
			Busy: func() bool { return false }, Terminal: func() TerminalState { return TerminalState{} }, KeyOf: func(command string) string { return "/" + command }, BeforeSwitch: func() {},
		},
		Reopened: nothing, Files: FileHistory{Restore: nothing}, Uses: CommandUses{store: o.Library},
	}
	a.Models.Recent = a.Models.RecentAfter(a.Session.Model().Name)
	a.FrontEnd.RequestTokens = func() int { return a.Session.Next.ContextTokens() }
	o.Flows(a)
	return a
}

func nothing() Effect { return nil }

// Started starts the MCP servers and returns Reopened. Front ends perform it after their first frame, so that servers do
// not delay that.
func (a *App) Started() Effect {
	if a.MCP.StartServers != nil {
		if err := a.MCP.StartServers(); err != nil {
			return Then{Failure{Err: err, Lasting: true}, a.Reopened()}
		}
	}
	return a.Reopened()
}

// Annotate stores an event of the front end in the conversation and shows it.
func (a *App) Annotate(e session.Event) Effect {
	a.Session.Annotate(0, e)
	return Shown{e}
}

// WatchAll registers tell for events that no key of the user caused. It is called on any goroutine; the owner of a then
// calls happened and performs its effect.
func (a *App) WatchAll(tell func(happened func() Effect)) {
	for _, watch := range a.Watch {
		watch(tell)
	}
}

// SaveState returns an effect that stores value under key for the next start. It ignores errors of a read-only store.
func (o *Options) SaveState(key, value string) Effect {
	return Save(o.Library, func() error { return o.Library.Set(key, value) })
}

// Absolute returns the absolute path of name; ~ is the home directory.
func (o *Options) Absolute(name string) string {
	if name = mention.ExpandHome(name); !filepath.IsAbs(name) {
		name = filepath.Join(o.Directory, name)
	}
	return filepath.Clean(name)
}

// Options configures an App: the session, and everything that front ends share. WithDefaults lists the fields that may
// be left out.
type Options struct {
	Session    *session.Session // the open conversation
	Start      Start
	Attached   []llm.Part // attachments of the next prompt
	Compared   Compared
	Workspace  string // working directory of tools, abbreviated for users (~)
	Directory  string // absolute path of the same directory
	ConfigFile ConfigFile
	Library    *session.Store // nil: a store in memory
	Ephemeral  bool           // the conversation is not stored
	Machine    Machine
	Wire       Wire // recent HTTP exchanges

	Flows       func(*App) // registers the commands of the flows; nil for none
	Models      Models
	Opening     Opening
	Trust       Trust
	MCP         MCP
	FirstScreen FirstScreen
	Prompts     Prompts // of the prompts flow, which makes them for PromptFiles if nil
	PromptFiles PromptFiles
	Skills      Skills
	Memory      Memory                     // nil if nothing can be remembered
	System      func(system string) string // returns the complete system prompt with system in place of parley's own text ("": with that text); nil returns system as it is

	Context    func() []ContextItem                                                            // lists the parts of every request beside the messages; nil if unknown
	Restart    func(dir, conversation, notice string)                                          // called before the front end exits to restart in dir, with a conversation or a new one, and a notice; nil if that is not possible
	Export     func(s *session.Session, format, path string) (written, note string, err error) // writes a conversation to a file, configured keys masked; path may be relative or ""; nil if not available
	OnExit     func(id string)                                                                 // called with the ID of a stored conversation after the screen is gone; may be nil
	AbbrevPath func(path string) string                                                        // abbreviates a path for users (~); nil: unchanged
	Estimate   func(text string) int                                                           // estimates the tokens of a text; nil: a quarter of the bytes
	Getenv     func(string) string                                                             // nil: os.Getenv
	Now        func() time.Time                                                                // nil: the clock; for tests
}

// A ConfigFile is the user's config.toml.
type ConfigFile struct {
	Path    string                                 // absolute; "" for none
	New     func() interface{ Validate() error }   // returns a configuration to decode into, with the defaults; nil if it cannot be changed
	Words   func(setting string) []string          // returns the possible values of a setting if there are few
	Sources func() (over, under map[string]string) // return the settings that something else decides, with its name: a flag, whatever the file says; the folder, where the file says nothing
	Undo    *ConfigChange                          // the last change of this run

	// WriteTables replaces tables [PARENT.NAME], "" removes one, and makes the change count. Said is shown; undone runs
	// when the user takes the change back. The config flow fills it in.
	WriteTables func(parent string, tables map[string]string, said string, undone func() error) Effect
}

// A ConfigChange is a changed setting, with the file before and after.
type ConfigChange struct {
	Setting, Before, After string
	Undone                 func() error // takes back what belongs to the change and is not in the file; nil for nothing
}

// UntilRounds is the default number of rounds of Machine.Until.
const UntilRounds = 10

// Machine gives access to the machine that parley runs on.
type Machine struct {
	Sandbox Sandbox                                            // of the model's commands
	Alive   func(pid int) bool                                 // reports whether a process runs; nil if unknown
	Checkup func(context.Context, TerminalState) []format.Part // checks everything that parley depends on; takes seconds; nil if not available

	// Jobs are the background commands, which end with parley; the jobs flow knows the concrete type. Nil if not
	// available.
	Jobs interface{ Running() (names []string) }

	Hooks func() []Item // configured hooks; nil if unknown

	// ToolSet returns the set to which a flow adds a tool of its own, by its name; nil if the tool is not wanted.
	ToolSet func(tool string) act.Set

	// Shell runs a command of the user's own. It ends after 10 minutes, unless the command is moved to the background
	// of the conversation. Nil if not available.
	Shell func(ctx context.Context, conversation, command string, progress func(string)) act.Outcome

	// Until returns a check that lets a turn end once a command passes, after rounds failures at the latest. Nil if not
	// available.
	Until func(s *session.Session, command string, rounds int) session.Check

	// Filter runs a short command of the user's own without using the screen, with input as its standard input. Nil if
	// not available.
	Filter func(ctx context.Context, command string, input []byte) (output string, err error)

	// OpenURL opens a web address in the user's browser; nil if not available.
	OpenURL func(ctx context.Context, address string) error

	// FetchFile downloads a file from the web; nil if files come from the disk only.
	FetchFile func(ctx context.Context, address string) (name string, data []byte, err error)
}

// A Sandbox describes the sandbox of commands by its faults. The zero value has none.
type Sandbox struct {
	Missing string // why commands run without a sandbox; "" if they run in one
	Weak    string // the protection that it lacks, such as "no namespaces"; "" if it lacks nothing
}

// Badge returns the fault of the sandbox, such as "no sandbox" or "sandbox: no namespaces"; "" if it has none, or no
// command runs in this mode.
func (s Sandbox) Badge(mode act.Mode) string {
	switch {
	case mode == act.ModeReadOnly:
		return ""
	case s.Missing != "":
		return "no sandbox"
	case s.Weak != "":
		return "sandbox: " + s.Weak
	}
	return ""
}

// Models lists and opens the available models.
type Models struct {
	Open    func(name string) (llm.Endpoint, error)
	Choices func() []ModelChoice     // models for the picker
	Live    func() []ModelChoice     // Choices, updated with the models that servers list now; may take seconds; nil: as Choices
	Resolve func(name string) string // returns the model of an alias; other names unchanged
	Recent  []string                 // recently used models, the latest first, including the session's
	Local   access.Local             // services that answer without a key of parley's
	Images  ImageModels
	access.Connecting
	Consult *session.Consult // model that the answering one may ask; nil for none
	Defaults

	// The models flow fills these in.
	Chosen   string                   // model that the user chose for the next prompt, not used yet; "" for none
	Use      func(name string) Effect // switches to another model in mid-conversation
	Follow   func(name string) Effect // switches to the model that gave the last answer, which already announced the switch
	Discover func() Effect            // looks for models on this machine; front ends perform it after their first frame, and prompts wait for its Prepare
	Learn    func() Effect            // asks the server about the abilities of the current model; front ends perform it after an answer
}

// RecentAfter returns the recently used models once name is used.
func (m *Models) RecentAfter(name string) []string {
	return append([]string{name}, slices.DeleteFunc(slices.Clone(m.Recent), func(n string) bool { return n == name })...)
}

// Opening opens conversations.
type Opening struct {
	New    func() (*session.Session, error) // an empty conversation with the same settings
	Resume func(id string) (s *session.Session, note string, err error)
	Fork   func(id string, head int) (s *session.Session, note string, err error)

	left chan struct{} // closed once the conversation that was open before is; nil if there was none
}

// Defaults describes the configuration for conversations without settings of their own. All fields may be nil.
type Defaults struct {
	Configured    func(model string) []ConfiguredSetting // settings configured for a model; nil if none are
	OwnSystem     func() (text, source string)           // the system prompt without a persona, and its source; nil if unknown
	WithheldTools func() (names []string, why string)    // tools withheld from all conversations of this run, and why; nil if unknown
}

// A ConfiguredSetting is one setting from the configuration.
type ConfiguredSetting struct{ Name, Value, Source string }

// MCP gives access to the MCP servers. The zero value has none.
type MCP struct {
	Servers        func() Servers                                 // returns nil if no server is configured, or none may run yet
	OnServerChange func(func(server string))                      // sets the callback for server changes; it runs on any goroutine
	Secrets        func(server string) (map[string]string, error) // returns the stored secrets of a server by name
	SaveSecret     func(server, name, value string) error         // stores a secret of a server; "" deletes it. Both are nil in a build that stores none
	StartServers   func() error                                   // starts the servers if they may run and do not yet; nil if there are none. see App.Started

	// The servers flow fills these in.
	NextQuestion func() Effect                                       // asks the oldest waiting question of a server once; nil if none waits
	Prompts      func() (prompts []ServerPrompt, unavailable string) // lists the prompts of the servers, or says why there are none
}

// Servers are the MCP servers as prompts and folders need them; the servers flow knows the concrete type.
type Servers interface {
	mention.Servers
	SetRoots(dirs ...string)
}

// A ServerPrompt is a prompt provided by an MCP server.
type ServerPrompt struct {
	Item                          // its Value is "server:prompt"
	Fill func(args string) Effect // inserts the prompt into the draft
}

// FirstScreen holds texts of the first screen, beside the model and the directory.
type FirstScreen struct {
	Version string // version of parley
	Notice  string // "" for none
	NoKey   bool   // no provider has a key, so the demo answers
}

// Start holds the first actions of a front end.
type Start struct {
	Prompt []llm.Part // prompt to send at once; nil for none
	Find   *string    // opens the list of conversations with this search, "" for all; nil does not open it
	Fork   bool       // with Find: continues in a copy of the chosen conversation
}

// takeFork reports whether the conversation to open must be copied. It returns true at most once.
func (s *Start) takeFork() bool {
	fork := s.Fork && s.Find != nil
	s.Fork = false
	return fork
}

// A ContextItem is a part of every request beside the messages, such as the system prompt.
type ContextItem struct {
	Name   string
	Tokens int // estimated
	Note   string
}

// WithDefaults returns o with defaults for nil fields that have one.
func (o Options) WithDefaults() Options {
	if o.Library == nil {
		o.Library = session.MemoryStore()
	}
	if o.AbbrevPath == nil {
		o.AbbrevPath = func(path string) string { return path }
	}
	if o.Estimate == nil {
		o.Estimate = func(text string) int { return len(text) / 4 }
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Prompts == nil {
		o.Prompts = noPrompts{}
	}
	if o.Models.Choices == nil {
		o.Models.Choices = func() []ModelChoice { return nil }
	}
	if o.Models.Live == nil {
		o.Models.Live = o.Models.Choices
	}
	if o.MCP.Servers == nil {
		o.MCP.Servers = func() Servers { return nil }
	}
	if o.MCP.NextQuestion == nil {
		o.MCP.NextQuestion = nothing
	}
	if o.MCP.Prompts == nil {
		o.MCP.Prompts = func() ([]ServerPrompt, string) { return nil, "" }
	}
	if o.Models.Use == nil {
		o.Models.Use = func(string) Effect { return nil }
		o.Models.Follow, o.Models.Discover, o.Models.Learn = o.Models.Use, nothing, nothing
	}
	if o.Context == nil {
		o.Context = func() []ContextItem { return nil }
	}
	if o.Flows == nil {
		o.Flows = func(*App) {}
	}
	if o.Models.Resolve == nil {
		o.Models.Resolve = func(name string) string { return name }
	}
	return o
}

// Age returns the time since at, for users; "" for the zero time.
func (o *Options) Age(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return format.Age(o.Now().Sub(at))
}

// UsesDemo reports whether the built-in demo answers because no provider has a key.
func UsesDemo(a *App) bool {
	return a.FirstScreen.NoKey && strings.HasPrefix(a.Session.Model().Name, "demo/")
}

// A TerminalState holds the known properties of the terminal; "" if unknown.
type TerminalState struct {
	Colors     string // color support, such as "truecolor"
	Background string // "dark" or "light", and the source of that
	Keyboard   string // keyboard protocol
	Images     string // image protocol
}
