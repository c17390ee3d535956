// Package acp is the front end for editors. It speaks the Agent Client Protocol, wire version 1,
// one line of JSON-RPC per message, on a reader and a writer: the standard input and output of
// parley acp. The other side is Zed, a JetBrains IDE, neovim or any other client.
//
//	client ──► session/prompt ──► parts, commands ──► session.Turn ──► events
//	client ◄── session/update ◄── blocks.Turn ◄───────────────────────────┤
//	client ◄─► session/request_permission ◄── ApprovalRequest ◄───────────┘
//
// A connection has any number of conversations, each with its own directory. Text of models and
// tools is sanitized as for a screen, because a client may write it to one. When the client
// closes the connection, everything it started ends.
//
// The protocol: https://agentclientprotocol.com/protocol/overview
package acp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/ui/client"
	"parley/ui/crash"
)

// lastWords is how long canceled turns have to end once the client is gone. A client that does
// not read could delay them forever.
const lastWords = 10 * time.Second

// Serve talks to a client until it closes its side, sends a message of more than 10 MiB, which is
// an error, or ctx ends. It then cancels all turns and returns when they have ended.
func Serve(ctx context.Context, o client.Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	owed := &responseOrder{prompts: map[any]string{}, cancels: map[string][][]any{}}
	a := &agent{Options: o, ctx: ctx, owed: owed, open: map[sdk.SessionId]*conversation{}}
	in := &countedReader{Reader: o.In, answers: owed, open: make(chan struct{})}
	a.conn = sdk.NewAgentSideConnection(a, countedWriter{o.Out, owed}, in)
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // it logs whole messages
	close(in.open)
	select {
	case <-a.conn.Done():
		cancel(errGone)
	case <-ctx.Done():
	}
	if !crash.Within(lastWords, func() {
		a.close()
		if context.Cause(ctx) == errGone {
			owed.wait(lastWords / 2) // responses to a script that does not wait for them
		}
	}) {
		return errors.New("the client does not read: what was running may not have ended")
	}
	if err := context.Cause(ctx); err != errGone {
		return err
	}
	if !owed.isClosed() {
		return errTooLong
	}
	return nil
}

// errTooLong is returned if the connection ends although the client has not closed its side:
// acp-go-sdk reads lines of at most 10 MiB, and reports longer ones to nobody.
var errTooLong = errors.New("the client sent a message of more than 10 MB: attach smaller files")

// errGone is the cancel cause when the client has closed its side.
var errGone = errors.New("the client closed the connection")

// An agent implements the methods that a client calls. They may be called from any goroutine.
type agent struct {
	client.Options
	ctx  context.Context // ends with the connection
	conn *sdk.AgentSideConnection
	owed *responseOrder

	mu     sync.Mutex
	closed bool
	files  sdk.FileSystemCapabilities // capabilities of the client
	open   map[sdk.SessionId]*conversation
	work   sync.WaitGroup // requests being answered
}

// begin counts a request as running until done is called; ok is false once the agent is closed.
func (a *agent) begin() (done func(), ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, false
	}
	a.work.Add(1)
	return a.work.Done, true
}

// close ends all conversations, after all requests are answered.
func (a *agent) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.work.Wait()
	for _, c := range a.open {
		c.opened.Close()
	}
}

// find returns an open conversation.
func (a *agent) find(id sdk.SessionId) (*conversation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.open[id]; c != nil {
		return c, nil
	}
	return nil, invalid("no session %q is open: session/new or session/load opens one", id)
}

// Initialize returns parley's version and capabilities. See
// https://agentclientprotocol.com/protocol/initialization.
func (a *agent) Initialize(_ context.Context, p sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	a.mu.Lock()
	a.files = p.ClientCapabilities.Fs
	a.mu.Unlock()
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		AgentInfo:       &sdk.Implementation{Name: "parley", Title: sdk.Ptr("parley"), Version: a.Version},
		AuthMethods:     []sdk.AuthMethod{}, // users add keys in a terminal, with parley connect
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			McpCapabilities:    sdk.McpCapabilities{Http: true, Sse: true},
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				Close: &sdk.SessionCloseCapabilities{}, List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{},
			},
		},
	}, nil
}

// Authenticate returns an error: there is no authentication method.
func (a *agent) Authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, invalid("run parley connect in a terminal to add a key")
}
