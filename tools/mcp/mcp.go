// Package mcp is the vocabulary of MCP servers: their configuration, their state, and what
// users and models do with them. The package client connects to them.
//
//	Config ──► Client.Open ──► Servers ──► State (for /mcp) · Tools (for models)
//	                              ▲ Approve, Restart, Allow, Question
//
// A server is not trusted. Its tools are offered once a user has seen them, and again after every
// change of their descriptions; each call asks, whatever the server calls it. All text of a server
// in this package is cleaned of control characters and of its credentials, and bounded.
package mcp

import (
	"context"
	"time"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/process"
)

// A Client connects to MCP servers.
type Client interface {
	// Open starts the servers of a configuration, which must be valid, and does not wait for them.
	Open(ctx context.Context, configs map[string]Config, o Options) Servers

	// BeginLogin and Logout do as those of Servers for a server that does not run.
	BeginLogin(ctx context.Context, name string, c Config, store LoginStore) (Login, error)
	Logout(ctx context.Context, name string, c Config, store LoginStore) error

	// LoginSecrets returns the secrets in a text of a LoginStore, for masking.
	LoginSecrets(text string) []string
}

// Options are what Client.Open needs to know beside the configuration. The zero value runs servers
// without a sandbox, and has every list of tools approved anew.
type Options struct {
	Dir     string // in which programs are started that have no directory of their own
	Version string // of parley, which servers are told

	// Confine returns what a server's program may do; nil, or without Confine, it is not confined.
	// Env is its whole environment.
	Confine func(server string, c Config, env []string) (*process.SandboxPolicy, error)

	// GrantablePath returns what would have to be allowed for a confined program to reach a path; ""
	// for nothing. See tools.GrantablePath. Nil: nothing can be.
	GrantablePath func(server string, c Config, path string, write bool) string

	// LoadState returns what SaveState stored for a server; "" if nothing yet.
	LoadState func(server string) string
	// SaveState stores the state of a server for later sessions: what was allowed, and whether it was
	// stopped.
	SaveState func(server, memory string) error

	// Approved returns what Approve stored for a server; "" if nothing yet.
	Approved func(server string) string
	// Approve stores the fingerprint of the tools that a user approved, for later sessions.
	Approve func(server, seal string) error

	Roots       []string // folders that the user works in; see Servers.SetRoots
	Interactive bool     // the program takes NextQuestion after each OnChange; else questions of servers are declined

	// Logins returns where the login of a server is kept; nil: servers are not logged in to.
	Logins func(server string) LoginStore

	// OnChange is called after the state of a server has changed, and with it perhaps its tools. It is
	// called from several goroutines, and must neither wait nor call Close.
	OnChange func(server string)

	// WithTimeout limits a start, a reading of lists and of proposals. Nil is context.WithTimeoutCause; tests
	// decide themselves when time is up.
	WithTimeout func(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc)
}

// A LoginStore keeps the login of one server, a secret text. Its functions end with their context.
type LoginStore struct {
	Load func(context.Context) (string, error)            // "" if nothing is kept
	Save func(context.Context, string) error              // "" forgets
	Lock func(context.Context) (unlock func(), err error) // keeps other processes from refreshing
}

// Servers are the servers of a configuration. They are safe for concurrent use.
type Servers interface {
	States() []State // sorted by name

	Wait(context.Context) // until no server is starting any more, or the context has ended

	// Wake starts servers again that were ready and failed, and services that could not be reached. It
	// does not wait for them: a call does.
	Wake()
	// Close ends the servers and everything they started, within two seconds.
	Close()

	// Tools returns the tools that a model may use: those of servers that are ready.
	Tools() []tools.External
	// Prompts and Resources return those of the servers that are connected, or start again when they
	// are needed.
	Prompts() []Prompt
	Resources() []act.Resource

	// GetPrompt returns the text of a prompt, as messages of the user's and, where the server wants it
	// so, the model's. A user asks for it; it is still the server's text, and should be shown before it
	// is sent.
	GetPrompt(ctx context.Context, server, prompt string, args map[string]string) ([]llm.Message, error)
	// Complete returns the values that a server proposes for an argument of a prompt, whose others are
	// args. There are none if the server fails or is slow.
	Complete(ctx context.Context, p Prompt, arg string, args map[string]string) []string
	// ReadResource returns the content of a resource: text, and images if it has any, each with a name.
	ReadResource(ctx context.Context, server, uri string) ([]llm.Part, error)

	// Approve records that a user has seen the tools of a server, as State listed them with this
	// fingerprint, and approves them. It is an error if they have changed since. After an error of
	// Options.Approve they stay approved until Close.
	Approve(server, fingerprint string) error
	// Allow lets the program of a server do more, remembers that, and starts it again. The zero Access
	// takes back what was allowed before.
	Allow(server string, more Access) error
	// Restart ends a server and starts it again, also one that was stopped.
	Restart(server string) error
	// Stop ends a server, and remembers that it is not to run until it is restarted.
	Stop(server string) error
	// SetRoots replaces the directories that the user works in, which servers are told as roots. They
	// are absolute.
	SetRoots(directories ...string)

	// NextQuestion removes and returns the first waiting question; nil if none waits.
	NextQuestion() *Question

	// BeginLogin finds the authorization server and begins a login, which takes some requests.
	BeginLogin(ctx context.Context, server string) (Login, error)
	// Logout removes the login of a server, revokes its tokens, and restarts the server.
	Logout(ctx context.Context, server string) error
}

// A Login is a login that waits for the user to agree in a browser. Close ends it.
type Login interface {
	URL() string      // of the page where the user agrees
	Question() string // whether to open that page, shown whole

	// Paste takes the address that the browser ended on, where it runs on another computer.
	Paste(address string) error
	// Returned returns a channel that is closed when the browser has come back.
	Returned() <-chan struct{}
	// Wait waits for the browser, stores the tokens, and restarts the server.
	Wait(context.Context) error
	Close()
}

// ToolPrefix returns the prefix of the names of a server's tools, which no other tool has.
func ToolPrefix(server string) string { return "mcp__" + server + "__" }

// Status is how a server is.
type Status string

// The states of a server.
const (
	StatusDisabled Status = "disabled" // by the configuration
	StatusStarting Status = "starting"
	StatusReady    Status = "ready"
	StatusNew      Status = "new"     // no user has seen its tools yet, which are not offered
	StatusChanged  Status = "changed" // its tools are not those that were approved, and are not offered
	StatusFailed   Status = "failed"  // see State.Reason
	StatusStopped  Status = "stopped" // by the user
	StatusLogin    Status = "needs login"
)

// A State describes one server. Text in it that comes from the server is untrusted, though without
// control characters; secrets are masked.
type State struct {
	Name         string
	Status       Status
	Reason       string // why it failed, or cannot be started as it was approved
	Down         bool   // it failed after it was ready, and the next prompt or call starts it again
	FirstStart   bool   // it starts for the first time, and may have to be downloaded
	Refusal      Refusal
	Allowed      Access // by the user, beyond the configuration
	Location     string // its command line or address
	ServerInfo   string // what it calls itself, with its version
	Tools        []Tool
	RemovedTools []string // tools that were approved and no longer exist
	OmittedTools int      // number of tools that are not offered, because there are too many or for their name
	Fingerprint  string   // of Tools, for Servers.Approve

	Since time.Time
	Session
	Program
}

// Session describes the connection to a server beside its tools.
type Session struct {
	LoggedIn  bool // a login is in use
	Prompts   int
	Resources int
}

// Program is the state of a server's program; the zero value is none.
type Program struct {
	PID         int    // 0 if none runs
	Sandboxed   bool   // the sandbox holds it
	Stderr      string // the end of what it wrote there
	NonMessages int    // lines on its stdout that were no messages
}

// A Tool is a tool of a server, as a user sees it.
type Tool struct {
	Name        string // as the model calls it
	Title       string // the server's own name for it
	Description string
	Schema      string // of the arguments, as JSON; the model is told all of it
	Change      string // "new" or "changed" since the approval, or ""
}

// A Prompt is a text that a server has ready, for an entry of the command menu.
type Prompt struct {
	Server      string
	Name        string // the server's name for it; for GetPrompt
	Title       string // for people; the name unless the server says otherwise
	Description string
	Arguments   []PromptArgument
	Completes   bool // the server proposes values for arguments: see Servers.Complete
}

// A PromptArgument is a text that goes into a Prompt.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}
