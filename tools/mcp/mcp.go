// Package mcp offers the tools, prompts and resources of MCP servers. The
// servers are programs that parley starts, or services reached over streamable
// HTTP; the protocol is the official SDK's.
//
//	Config ──► Open ──► one goroutine for each server: start · list · watch
//	                         │ State (for /mcp)      ▲ Approve, Restart
//	                         └ Tools ──► tools.Set ──► Action ──► the server
//
// A server is not trusted. Its tools are offered once a user has seen them,
// and again after every change of what it says of them; each call asks, whatever
// the server calls it. Everything it sends is bounded in size and time, and
// cleaned before a user or a model reads it. It gets no environment but what
// its configuration names, and dies with parley.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"parley/tools"
	"parley/tools/process"
)

// Options are what Open needs to know beside the configuration. The zero value
// runs servers without a sandbox, and has every list of tools approved anew.
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

// Servers are the servers of a configuration. They are safe for concurrent use.
type Servers struct {
	servers   map[string]*server
	cancel    context.CancelFunc
	mu        sync.Mutex // held where running begins to be waited for, or is added to
	closed    bool
	running   sync.WaitGroup
	questions questions
	roots     roots
}

// Open starts the servers of a configuration, by their names, and does not wait
// for them: see State and Wait. Close ends them. The configuration must be valid.
func Open(ctx context.Context, configs map[string]Config, o Options) *Servers {
	ctx, cancel := context.WithCancel(ctx)
	all := &Servers{servers: map[string]*server{}, cancel: cancel, roots: roots{directories: o.Roots}}
	if o.WithTimeout == nil {
		o.WithTimeout = context.WithTimeoutCause
	}
	for name, c := range configs {
		s := newServer(name, c, o, inbound{&all.questions, &all.roots, new(inFlight)})
		all.servers[name] = s
		all.start(func() { s.run(ctx) })
	}
	return all
}

// start runs f beside the others, and has Close wait for it. After Close it does nothing.
func (all *Servers) start(f func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.closed {
		all.running.Go(f)
	}
}

// Wake starts servers again that were ready and failed, and services that could not be reached. It does
// not wait for them: a call does.
func (all *Servers) Wake() {
	for _, s := range all.sorted() {
		s.mu.Lock()
		if s.down || s.config.URL != "" {
			s.wake()
		}
		s.mu.Unlock()
	}
}

// Close ends the servers and everything they started, within two seconds.
func (all *Servers) Close() {
	all.mu.Lock()
	all.closed = true
	all.mu.Unlock()
	all.cancel()
	all.running.Wait()
	for _, s := range all.servers {
		s.mu.Lock()
		s.login.client.Close()
		s.mu.Unlock()
	}
}

// Wait waits until no server is starting any more, or ctx has ended.
func (all *Servers) Wait(ctx context.Context) {
	for _, s := range all.sorted() {
		select {
		case <-s.startFinished():
		case <-ctx.Done():
			return
		}
	}
}

// States returns the state of every server, sorted by name.
func (all *Servers) States() []State {
	var states []State
	for _, s := range all.sorted() {
		states = append(states, s.state())
	}
	return states
}

// Tools returns the tools that a model may use: those of servers that are ready.
func (all *Servers) Tools() []tools.External {
	var out []tools.External
	for _, s := range all.sorted() {
		out = append(out, s.offeredTools()...)
	}
	return out
}

// ToolPrefix returns the prefix of the names of a server's tools, which no other tool has.
func ToolPrefix(server string) string { return "mcp__" + server + "__" }

// Approve records that a user has seen the tools of a server, as State listed them with this
// Fingerprint, and approves them. It is an error if they have changed since. After an error of
// Options.Approve they stay approved until Close.
func (all *Servers) Approve(name, seal string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	return s.approve(seal)
}

// Restart ends a server and starts it again, also one that was stopped.
func (all *Servers) Restart(name string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	if err := s.updateStored(func(m *storedState) { m.Stopped = false }); err != nil {
		return err
	}
	s.requestRestart()
	return nil
}

// Allow lets the program of a server do more, remembers that, and starts it again.
// The zero Access takes back what was allowed before.
func (all *Servers) Allow(name string, more Access) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	err = s.grant(more)
	return errors.Join(err, all.Restart(name))
}

// Stop ends a server, and remembers that it is not to run until it is restarted.
func (all *Servers) Stop(name string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	err = s.updateStored(func(m *storedState) { m.Stopped = true })
	s.requestRestart()
	return err
}

func (all *Servers) server(name string) (*server, error) {
	if s := all.servers[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("there is no MCP server %q", name)
}

func (all *Servers) sorted() []*server {
	if all == nil { // none is configured
		return nil
	}
	var out []*server
	for _, name := range slices.Sorted(maps.Keys(all.servers)) {
		out = append(out, all.servers[name])
	}
	return out
}

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
	OmittedTools int      // number of tools beyond maxTools
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

// The bounds of a server. Times are from the first to the last byte.
const (
	startTimeout       = 30 * time.Second
	firstStartTimeout  = 60 * time.Second // of a program that never was, and may be downloaded
	defaultCallTimeout = 60 * time.Second
	maxTimeout         = 600 * time.Second
	readTimeout        = time.Minute     // of a prompt or a resource
	completeTimeout    = 3 * time.Second // of values for an argument, for which the user waits
	listInterval       = time.Second     // between two looks at a list that keeps changing

	maxMessage     = 16 << 20 // bytes
	maxNonMessages = 1000     // lines that are no messages
	maxStderr      = 64 << 10 // bytes that are kept
	maxTools       = 200      // that are offered
	maxListed      = 10_000   // entries of a list that are looked at
	maxPages       = 100      // of a list
	maxText        = 30_000   // characters of an answer
	maxProposals   = 100      // values for an argument, as in the protocol
)

var errClosed = errors.New("the server is not running")

// errHungUp ends a connection that the server ended.
var errHungUp = errors.New("it closed the connection")
