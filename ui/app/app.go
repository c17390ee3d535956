// Package app is what a user can do with parley, without a screen: what every front
// end shares, as data and functions. It imports no front end and no terminal library.
//
//	ui/cli ──► Options ──► screen, plain lines
//	             ├── drafts, attachments, exports, typed commands
//	             ├── MCP servers: state, consent, choices
//	             ├── comparisons of models, exchanges with them to inspect
//	             ├── usage, hints, titles, ages
//	             └── Turn: events of a session folded into changes of blocks, live and replayed
package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// App is one run of parley without a screen: the open conversation and all a user can
// do with it. One goroutine owns it, that of the front end.
type App struct {
	Options
	Uses CommandUses
	comparing

	// Flows fill these in.
	Commands      []Command                                           // what a user can do
	Watch         []func(tell func(happened func() Effect))           // report what happens without a key of the user's; see WatchAll
	BranchFiles   func() Effect                                       // offers files as they were when the branch was left that is current now
	UseSkill      func(line string) Effect                            // sends the skill that begins line, with what follows as its task; nil: there are no skills
	NextQuestion  func() Effect                                       // asks the question that has waited longest, such as an MCP server's, once; nil: none waits
	ServerPrompts func() (prompts []ServerPrompt, unavailable string) // lists prompts of MCP servers, or says why there are none

	UseModel       func(name string) Effect // switches to another model in mid-conversation
	FollowModel    func(name string) Effect // switches to the model that gave the last answer, which says so itself
	DiscoverModels func() Effect            // looks for models on this machine; front ends perform it once their first frame is shown, and a prompt waits for a Prepare
	LearnModel     func() Effect            // asks the server of the model in use what that can; front ends perform it after an answer

	// A front end fills these in.
	Terminal       func() TerminalState                  // returns what is known of the terminal
	Busy           func() bool                           // reports whether a turn runs
	KeyOf          func(command string) string           // returns the key that runs a command, or "/" and its name
	BeforeSwitch   func()                                // called before another conversation is opened
	ClipboardImage func(context.Context) ([]byte, error) // returns the image on the clipboard
	RequestTokens  func() int                            // estimates the next request, with the draft

	previousClosed chan struct{} // closed when the conversation that was left last is; nil: none was
	prompts        atomic.Pointer[knownPrompts]
}

// New returns the application that o describes, with defaults for what it leaves out.
func New(o Options) *App {
	o = o.WithDefaults()
	a := &App{
		Options: o, comparing: comparing{Compared: o.Start.Compare, CompareOptions: CompareOptions{Judge: o.Start.Judge}},
		Busy: func() bool { return false }, Terminal: func() TerminalState { return TerminalState{} }, KeyOf: func(command string) string { return "/" + command }, BeforeSwitch: func() {},
		BranchFiles: func() Effect { return nil }, NextQuestion: func() Effect { return nil },
		DiscoverModels: func() Effect { return nil }, LearnModel: func() Effect { return nil },
		UseModel: func(string) Effect { return nil }, FollowModel: func(string) Effect { return nil }, ServerPrompts: func() ([]ServerPrompt, string) { return nil, "" },
		Uses: CommandUses{store: o.Library},
	}
	name := a.Session.Model().Name
	a.Recent = append([]string{name}, slices.DeleteFunc(slices.Clone(o.Recent), func(n string) bool { return n == name })...)
	a.RequestTokens = func() int { return a.Session.ContextTokens() }
	o.Flows(a)
	return a
}

// Note keeps a line of parley's own with the conversation, and shows it.
func (a *App) Note(text string) Effect { return a.Annotate(llm.Notice{Text: text}) }

// Annotate keeps an event of the front end with the conversation, and shows it.
func (a *App) Annotate(e session.Event) Effect {
	a.Session.Annotate(0, e)
	return Shown{e}
}

// WatchAll has what happens without a key of the user's told, on any goroutine. The owner of a calls
// happened, and performs its effect.
func (a *App) WatchAll(tell func(happened func() Effect)) {
	for _, watch := range a.Watch {
		watch(tell)
	}
}

// SaveState returns an effect that stores value under key for the next start. A store that
// is read-only is no error.
func (o Options) SaveState(key, value string) Effect {
	return save(o.Library, func() error { return o.Library.Set(key, value) })
}

// Unsandboxed reports whether commands of the model could run without a sandbox.
func Unsandboxed(a *App) bool {
	return a.SandboxOff != "" && a.Session.Policy().Mode() != act.ModeReadOnly
}

// findDirectory returns the absolute path of an existing directory: ~ is the home directory,
// and relative names begin in o.Directory.
func (o Options) findDirectory(name string) (string, error) {
	name, err := o.Absolute(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", name)
	}
	return name, nil
}

// Absolute returns the path that the user means by name.
func (o Options) Absolute(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		name = home + rest
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.Directory, name)
	}
	return filepath.Clean(name), nil
}

// sessionDirectories returns the directories of stored conversations that still exist, the
// latest first, without o.Directory.
func (o Options) sessionDirectories() (all []string, err error) {
	rows, err := o.Library.List(session.Query{})
	for _, s := range rows {
		if s.Dir == o.Directory || slices.Contains(all, s.Dir) {
			continue
		}
		if dir, err := o.findDirectory(s.Dir); err == nil && filepath.IsAbs(s.Dir) {
			all = append(all, dir)
		}
	}
	return all, err
}

// Options configures an App: the session and everything that front ends share. WithDefaults
// says which fields may be left out.
type Options struct {
	Session    *session.Session // open now
	Start      Start
	Attached   []llm.Part     // goes with the next prompt
	Workspace  string         // the directory that tools work in, abbreviated for users (~)
	Directory  string         // the same, absolute
	ConfigFile string         // path of config.toml
	Library    *session.Store // the store; nil: one in memory
	Ephemeral  bool           // this conversation is not stored
	Machine
	Wire Wire // recent HTTP exchanges

	Flows func(*App) // adds what a user can do; nil: nothing
	Models
	Opening
	Trust
	MCP
	FirstScreen
	PromptFiles

	Context         func() []ContextItem                                                            // what every request holds beside the messages; nil: not known
	ChangeDirectory func(dir string)                                                                // called before the front end quits, to begin again in dir; nil: it cannot
	Export          func(s *session.Session, format, path string) (written, note string, err error) // writes a conversation to a file, configured keys masked; path may be relative or "". Nil: nothing does
	OnExit          func(id string)                                                                 // called with the ID of a stored conversation once the screen is gone; nil: nothing is
	AbbrevPath      func(path string) string                                                        // abbreviates a path for users (~); nil: as it is
	Estimate        func(text string) int                                                           // estimates the tokens of a text; nil: a quarter of the bytes
	Getenv          func(string) string                                                             // nil: os.Getenv
	Now             func() time.Time                                                                // nil: the clock; for tests
}

// Machine holds what parley uses of the machine it runs on.
type Machine struct {
	SandboxOff string                                             // why commands run without a sandbox; "": they run in one
	Checkup    func(context.Context, TerminalState) []format.Part // checks everything that parley works with; takes seconds; nil: not available

	Jobs  Jobs          // commands in the background; nil: none can be there
	Hooks func() []Item // programs that run when something happens; nil: nothing is known of them

	// Shell runs a command of the user's own, for 10 minutes at most unless it goes to the
	// background of a conversation, as it may; nil: none can run.
	Shell func(ctx context.Context, conversation, command string, progress func(string)) act.Outcome

	// Filter runs a command of the user's own beside the screen, with input on its standard
	// input, for a short time; nil: none can run.
	Filter func(ctx context.Context, command string, input []byte) (output string, err error)

	// OpenURL shows an address of the web in the user's browser; nil: nothing does.
	OpenURL func(ctx context.Context, address string) error

	// FetchFile gets a file from the web; nil: files come from the disk only.
	FetchFile func(ctx context.Context, address string) (name string, data []byte, err error)
}

// Models lists and opens the models that can be asked.
type Models struct {
	Open    func(name string) (llm.Endpoint, error)
	Choices func() []ModelChoice     // for the picker
	Live    func() []ModelChoice     // Choices and what servers list now; may take seconds; nil: Choices
	Resolve func(name string) string // returns what an alias stands for; other names as they are
	Recent  []string                 // that were used, the latest first; the session's among them
	Local   Local                    // what can answer without a key
	Images  ImageModels
	Connecting
	Defaults
}

// Opening opens conversations.
type Opening struct {
	New    func() (*session.Session, error) // an empty one with the same settings
	Resume func(id string) (s *session.Session, note string, err error)
	Fork   func(id string, head int) (s *session.Session, note string, err error)
}

// Defaults holds what the configuration sets for conversations without settings of their own.
// The zero value knows nothing.
type Defaults struct {
	Configured    func(model string) []ConfiguredSetting // of the configuration, for a model; nil: none are
	OwnSystem     func() (text, source string)           // the system prompt without a persona, and where it comes from; nil: not known
	WithheldTools func() (names []string, why string)    // tools that are not offered to any conversation of this run, and why; nil: not known
}

// A ConfiguredSetting is a setting of the configuration.
type ConfiguredSetting struct{ Name, Value, Source string }

// MCP gives access to the MCP servers. The zero value has none.
type MCP struct {
	Servers        func() Servers            // returns nil if none is configured, or none may run yet
	OnServerChange func(func(server string)) // sets the function that is called, on any goroutine, with the name of a server that changed
}

// Servers are the MCP servers as prompts and folders need them; the flow of servers knows their type.
type Servers interface {
	Resources() []act.Resource
	ReadResource(ctx context.Context, server, uri string) ([]llm.Part, error)
	SetRoots(dirs ...string)
}

// A ServerPrompt is a prompt that an MCP server has written.
type ServerPrompt struct {
	Item                          // its value is "server:prompt"
	Fill func(args string) Effect // puts it into the draft
}

// FirstScreen is what the first screen says beside the model and the directory.
type FirstScreen struct {
	Version string // of parley
	Notice  string // "" if there is nothing to say
	NoKey   bool   // no provider has a key: the demo answers
}

// Start holds what a front end does first.
type Start struct {
	Prompt  []llm.Part // sent at once; nil: none
	Find    *string    // words that the list of conversations is opened with, "" for all; nil: it is not
	Fork    bool       // with Find: continues in a copy of the conversation that is chosen
	Compare []string   // models that the first prompt goes to; none: the session's
	Judge   string     // of their answers; "": none
}

// takeFork reports whether the conversation that is opened now has to be copied. Only the
// first call can return true.
func (s *Start) takeFork() bool {
	fork := s.Fork && s.Find != nil
	s.Fork = false
	return fork
}

// A ContextItem is something that every request holds beside the messages, such as the system
// prompt.
type ContextItem struct {
	Name   string
	Tokens int // about
	Note   string
}

// WithDefaults returns o with defaults in the place of nil fields that have one.
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
	if o.Choices == nil {
		o.Choices = func() []ModelChoice { return nil }
	}
	if o.Live == nil {
		o.Live = o.Choices
	}
	if o.Servers == nil {
		o.Servers = func() Servers { return nil }
	}
	if o.Context == nil {
		o.Context = func() []ContextItem { return nil }
	}
	if o.Flows == nil {
		o.Flows = func(*App) {}
	}
	if o.Resolve == nil {
		o.Resolve = func(name string) string { return name }
	}
	return o
}

// Age returns how long ago something was; "" where that is not known.
func (o Options) Age(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return format.Age(o.Now().Sub(at))
}

// A RunInfo holds the version, the directory and the model of a run, for a header. Its texts are
// sanitized.
type RunInfo struct {
	Version   string // "" if the build knows none
	Directory string
	Model     string
	Notice    string // shown at the start; "" if there is none
}

// CurrentRunInfo returns the RunInfo of this moment.
func CurrentRunInfo(a *App) RunInfo {
	return RunInfo{
		Version: shortVersion(sanitize.Line(a.Version)), Directory: sanitize.Line(a.Workspace),
		Model: sanitize.Line(a.Session.Model().Name), Notice: sanitize.Line(a.Notice),
	}
}

// shortVersion leaves of the version of a commit without a tag its hash: v0.0.0-DATE-HASH is
// longer than what a small screen has.
func shortVersion(version string) string {
	if parts := untagged().FindStringSubmatch(version); parts != nil {
		return parts[1]
	}
	return strings.TrimPrefix(version, "devel")
}

// untagged matches what Go calls a pseudo-version: https://go.dev/ref/mod#pseudo-versions
var untagged = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:.*\.)?\d{14}-([0-9a-f]{12}(?:\+dirty)?)$`)
})

// UsesDemo reports whether the built-in demo answers because no provider has a key.
func UsesDemo(a *App) bool {
	return a.NoKey && strings.HasPrefix(a.Session.Model().Name, "demo/")
}

// A TerminalState is what a front end knows of the terminal; "" is not known.
type TerminalState struct {
	Colors     string // how many, such as "truecolor"
	Background string // "dark" or "light", and how that is known
	Keyboard   string // its protocol
	Images     string // how they are drawn
}
