// Package client connects to MCP servers: programs that it starts, or services reached over
// streamable HTTP. The protocol is the official SDK's.
//
//	Config ──► Open ──► one goroutine for each server: start · list · watch
//	                         │ State (for /mcp)      ▲ Approve, Restart
//	                         └ Tools ──► tools.Set ──► Action ──► the server
//
// A server is not trusted: see package mcp. Everything it sends is bounded in size and time, and
// cleaned before a user or a model reads it. It gets no environment but what its configuration names,
// and dies with parley.
package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"parley/tools"
	"parley/tools/mcp"
)

// New returns the client.
func New() mcp.Client { return client{} }

type client struct{}

// servers are the servers of a configuration.
type servers struct {
	byName    map[string]*server
	cancel    context.CancelFunc
	mu        sync.Mutex // held to add to running or to begin waiting for it
	closed    bool
	running   sync.WaitGroup
	questions questions
	roots     roots
}

// Open implements mcp.Client.
func (client) Open(ctx context.Context, configs map[string]mcp.Config, o mcp.Options) mcp.Servers {
	ctx, cancel := context.WithCancel(ctx)
	all := &servers{byName: map[string]*server{}, cancel: cancel, roots: roots{directories: o.Roots}}
	if o.WithTimeout == nil {
		o.WithTimeout = context.WithTimeoutCause
	}
	for name, c := range configs {
		s := newServer(name, c, o, inbound{&all.questions, &all.roots, new(inFlight)})
		all.byName[name] = s
		all.start(func() { s.run(ctx) })
	}
	return all
}

// start runs f in a goroutine that Close waits for. After Close it does nothing.
func (all *servers) start(f func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.closed {
		all.running.Go(f)
	}
}

// Wake implements mcp.Servers.
func (all *servers) Wake() {
	for _, s := range all.sorted() {
		s.mu.Lock()
		if s.down || s.config.URL != "" {
			s.wake()
		}
		s.mu.Unlock()
	}
}

// Close implements mcp.Servers.
func (all *servers) Close() {
	all.mu.Lock()
	all.closed = true
	all.mu.Unlock()
	all.cancel()
	all.running.Wait()
	for _, s := range all.byName {
		s.mu.Lock()
		s.login.client.Close()
		s.mu.Unlock()
	}
}

// Wait implements mcp.Servers.
func (all *servers) Wait(ctx context.Context) {
	for _, s := range all.sorted() {
		select {
		case <-s.startFinished():
		case <-ctx.Done():
			return
		}
	}
}

// States implements mcp.Servers.
func (all *servers) States() []mcp.State {
	var states []mcp.State
	for _, s := range all.sorted() {
		states = append(states, s.state())
	}
	return states
}

// Tools implements mcp.Servers.
func (all *servers) Tools() []tools.External {
	var out []tools.External
	for _, s := range all.sorted() {
		out = append(out, s.offeredTools()...)
	}
	return out
}

// Approve implements mcp.Servers.
func (all *servers) Approve(name, seal string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	return s.approve(seal)
}

// Restart implements mcp.Servers.
func (all *servers) Restart(name string) error {
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

// Allow implements mcp.Servers.
func (all *servers) Allow(name string, more mcp.Access) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	before, runs := s.accessNow()
	err = s.grant(more)
	if after, _ := s.accessNow(); runs && reflect.DeepEqual(before, after) {
		s.notifyChange()
		return err
	}
	return errors.Join(err, all.Restart(name))
}

// Stop implements mcp.Servers.
func (all *servers) Stop(name string) error {
	s, err := all.server(name)
	if err != nil {
		return err
	}
	err = s.updateStored(func(m *storedState) { m.Stopped = true })
	s.requestRestart()
	return err
}

func (all *servers) server(name string) (*server, error) {
	if s := all.byName[name]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("there is no MCP server %q", name)
}

func (all *servers) sorted() []*server {
	if all == nil { // no servers are configured
		return nil
	}
	var out []*server
	for _, name := range slices.Sorted(maps.Keys(all.byName)) {
		out = append(out, all.byName[name])
	}
	return out
}

// The bounds of a server. Times are from the first to the last byte.
const (
	startTimeout       = 30 * time.Second
	firstStartTimeout  = 60 * time.Second // of a program that was never ready and may have to be downloaded
	defaultCallTimeout = 60 * time.Second
	maxTimeout         = 600 * time.Second
	readTimeout        = time.Minute     // of a prompt or a resource
	completeTimeout    = 3 * time.Second // of completions for an argument, while the user waits
	listInterval       = time.Second     // between two reads of a list that keeps changing

	maxMessage     = 16 << 20 // bytes
	maxNonMessages = 1000     // lines that are not messages
	maxStderr      = 64 << 10 // bytes kept
	maxTools       = 200      // tools offered
	maxListed      = 10_000   // entries read from a list
	maxPages       = 100      // of a list
	maxText        = 30_000   // characters of an answer
	maxProposals   = 100      // completions for an argument, as in the protocol
)

var errClosed = errors.New("the server is not running")

// errNoAnswer reports that the time limit of a call is over.
var errNoAnswer = errors.New("it did not answer")

// errHungUp reports that the server closed the connection.
var errHungUp = errors.New("it closed the connection")
