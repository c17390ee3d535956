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

	// BeginLogin and Logout are those of Servers for a server that is not running.
	BeginLogin(ctx context.Context, name string, c Config, store LoginStore) (Login, error)
	Logout(ctx context.Context, name string, c Config, store LoginStore) error

	// LoginSecrets returns the secrets in a text of a LoginStore, for masking.
	LoginSecrets(text string) []string
}

// Options configure Client.Open besides the server configuration. The zero value runs servers
// without a sandbox, and requires approval of every tool list.
type Options struct {
	Dir     string // directory for programs without their own
	Version string // of parley, sent to servers

	// Confine returns the sandbox policy of a server's program; a nil Confine or policy means
	// unconfined. Env is the program's whole environment.
	Confine func(server string, c Config, env []string) (*process.SandboxPolicy, error)

	// GrantablePath returns the path to allow so that a confined program can reach path; "" for
	// none. See tools.GrantablePath. Nil: nothing can be allowed.
	GrantablePath func(server string, c Config, path string, write bool) string

	// LoadState returns the state stored by SaveState; "" if there is none.
	LoadState func(server string) string
	// SaveState stores the state of a server for later sessions: the allowed access, and whether it
	// was stopped.
	SaveState func(server, memory string) error

	// Approved returns the fingerprint stored by Approve; "" if there is none.
	Approved func(server string) string
	// Approve stores the fingerprint of the tools that a user approved, for later sessions.
	Approve func(server, seal string) error

	Roots       []string // the user's directories; see Servers.SetRoots
	Interactive bool     // the front end calls NextQuestion after each OnChange; false: questions of servers are declined

	// Logins returns the store for the login of a server; nil: no logins.
	Logins func(server string) LoginStore

	// OnChange is called after the state of a server, and perhaps its tools, have changed. It is
	// called from several goroutines, and must neither block nor call Close.
	OnChange func(server string)

	// WithTimeout limits a start, reading lists and completions. Nil is context.WithTimeoutCause; tests
	// replace it to control time.
	WithTimeout func(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc)
}

// A LoginStore stores the login of one server, a secret text. Its functions stop when their context ends.
type LoginStore struct {
	Load func(context.Context) (string, error)            // "" if nothing is stored
	Save func(context.Context, string) error              // "" deletes
	Lock func(context.Context) (unlock func(), err error) // prevents other processes from refreshing
}

// Servers are the servers of a configuration. They are safe for concurrent use.
type Servers interface {
	States() []State // sorted by name

	Wait(context.Context) // waits until no server is starting, or the context has ended

	// Wake restarts servers that failed after they were ready, and services that could not be reached.
	// It does not wait for them; a call does.
	Wake()
	// Close ends the servers and their processes within two seconds.
	Close()

	// Tools returns the tools that models may use: those of ready servers.
	Tools() []tools.External
	// Prompts and Resources return those of servers that are connected, or restart on demand.
	Prompts() []Prompt
	Resources() []act.Resource

	// GetPrompt returns the text of a prompt as messages of the user and, if the server says so, of the
	// model. The text is the server's and should be shown to the user before it is sent.
	GetPrompt(ctx context.Context, server, prompt string, args map[string]string) ([]llm.Message, error)
	// Complete returns the server's completions for an argument of a prompt; args are the other
	// arguments. It returns none if the server fails or is slow.
	Complete(ctx context.Context, p Prompt, arg string, args map[string]string) []string
	// ReadResource returns the content of a resource: text, and images if it has any, each with a name.
	ReadResource(ctx context.Context, server, uri string) ([]llm.Part, error)

	// Approve records that a user has seen and approves the tools of a server, as State listed
	// them with this fingerprint. It is an error if they have changed since. If Options.Approve
	// fails they stay approved until Close.
	Approve(server, fingerprint string) error
	// Allow adds to the access of a server, stores that, and restarts it unless only its calls are concerned. The zero
	// Access revokes everything allowed before. Calls of a server whose tools are unknown include approving these once.
	Allow(server string, more Access) error
	// Restart restarts a server, also one that was stopped.
	Restart(server string) error
	// Stop ends a server, and records that it should not run until it is restarted.
	Stop(server string) error
	// SetRoots replaces the user's directories, which servers get as roots. The paths are absolute.
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
	Question() string // question whether to open that page, with its full address

	// Paste accepts the address at which the browser ended, for a browser on another computer.
	Paste(address string) error
	// Returned returns a channel that is closed when the browser was
	// redirected.
	Returned() <-chan struct{}
	// Wait waits for the browser, stores the tokens, and restarts the server.
	Wait(context.Context) error
	Close()
}

// ToolPrefix returns the prefix of a server's tool names, which is unique to the server.
func ToolPrefix(server string) string { return "mcp__" + server + "__" }

// Status is the state of a server.
type Status string

// The states of a server.
const (
	StatusDisabled Status = "disabled" // by the configuration
	StatusStarting Status = "starting"
	StatusReady    Status = "ready"
	StatusNew      Status = "new"     // the user has not approved its tools yet; they are not offered
	StatusChanged  Status = "changed" // its tools have changed since the approval; they are not offered
	StatusFailed   Status = "failed"  // see State.Reason
	StatusStopped  Status = "stopped" // by the user
	StatusLogin    Status = "needs login"
)

// A State describes one server. Its texts from the server are untrusted, but have no control
// characters; secrets are masked.
type State struct {
	Name         string
	Status       Status
	Reason       string // why it failed, or cannot be started as approved
	Down         bool   // it failed after it was ready; the next prompt or call restarts it
	FirstStart   bool   // it starts for the first time, and may have to be downloaded
	Refusal      Refusal
	Allowed      Access // by the user, beyond the configuration
	Location     string // its command line or address
	OfProject    bool   // see Config.OfProject
	ServerInfo   string // name and version that it reports
	Tools        []Tool
	RemovedTools []string // tools that were approved and no longer exist
	OmittedTools int      // number of tools not offered, because there are too many or their names are invalid
	Fingerprint  string   // of Tools; for Servers.Approve

	Since time.Time
	Session
	Program
}

// Session describes the connection to a server.
type Session struct {
	LoggedIn  bool // a login is in use
	Prompts   int
	Resources int
}

// Program is the state of a server's program; zero for a service.
type Program struct {
	PID         int    // 0 if none runs
	Sandboxed   bool   // the sandbox holds it
	Stderr      string // the end of its standard error
	NonMessages int    // lines on its stdout that were not messages
}

// A Tool is a tool of a server, as a user sees it.
type Tool struct {
	Name        string // as the model calls it
	Title       string // the server's own name for it
	Description string
	Schema      string // of the arguments, as JSON, complete as sent to the model
	Change      string // "new" or "changed" since the approval, or ""
}

// A Prompt is a prompt offered by a server, for an entry of the command menu.
type Prompt struct {
	Server      string
	Name        string // the server's name for it; for GetPrompt
	Title       string // for display; the name by default
	Description string
	Arguments   []PromptArgument
	Completes   bool // the server completes arguments: see Servers.Complete
}

// A PromptArgument is an argument of a Prompt.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}
