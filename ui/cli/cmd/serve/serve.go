// Package serve implements parley mcp serve: parley as an MCP server, whose tools ask models and read stored
// conversations.
//
//	stdin, or POST ──► peer.receive ──► tool ──► session.Turn, Compare ──► events ──► progress
//	stdout, or the response ◄── result, configured keys masked ◄──────────────┘
//
// A peer is one connection: standard input and output, or a session over HTTP. All peers of a server share its budget
// and its places for calls. Messages of a client are hostile: they are bounded, and nothing that a client can ask for
// writes files, except that conversations are stored.
//
// The protocol: https://modelcontextprotocol.io/specification/2026-07-28, and 2025-11-25 with initialize
package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"parley/providers/llm"
	"parley/session"
	"parley/session/transfer"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/client"
	"parley/ui/crash"
)

// Options configure the command.
type Options struct {
	*ability.Env
	In      io.Reader // messages of the client; Out is for those to it
	Stored  cmdutil.Conversations
	Archive transfer.Archive // writes conversations as text
	Version string

	// Run opens the store of conversations and calls serve. Signals cancel its context.
	Run func(serve func(context.Context) error) error
	// Open opens a new conversation in a directory, and the models to compare if there are several.
	Open func(ctx context.Context, dir, tools string, schema []byte, models ...string) (*client.Opened, []llm.Endpoint, error)
	// Print writes the answers of a turn, as parley -p does.
	Print func(*session.Session, iter.Seq[session.Event], context.CancelCauseFunc, cmdutil.PrintOptions) int
}

// serving is the environment variable that parley mcp serve sets for the programs that it starts.
const serving = "PARLEY_SERVING"

// errServed refuses a parley that is served by another one: models could ask each other without end.
var errServed = errors.New("parley does not serve another parley: ask the model from that one")

// maxMessage is the greatest size of a message in bytes.
const maxMessage = 16 << 20

// lastWords is how long canceled calls have to end once the client is gone.
const lastWords = 10 * time.Second

// A server holds what its peers share.
type server struct {
	Options
	model     string
	dir       string // working directory of conversations
	folder    string // directory whose files models and clients may read; "" for none
	ephemeral bool   // conversations are removed once they are answered

	mask   func(string) string // masks configured keys
	budget budget
	places chan struct{} // full if maxCalls calls run
}

// Add adds the command to parley mcp, or to root if there is no such command.
func (o Options) Add(root *cobra.Command) {
	s := &server{Options: o, places: make(chan struct{}, maxCalls)}
	port := 0
	cmd := &cobra.Command{
		Use: "serve", Short: "Offer parley's models and conversations to MCP clients", Args: cobra.NoArgs,
		Long: `Offer parley's models and conversations to MCP clients.

Clients such as Claude Code or codex start this themselves: name parley as the command of
an MCP server there, with the arguments mcp serve. With --port it serves streamable HTTP
on this computer instead, and prints the address and the token. PARLEY_MCP_TOKEN sets the
token.

The tools are ask, compare, models, search_sessions and read_session. Conversations are
stored like all others.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.serve(cmd, port) },
	}
	f := cmd.Flags()
	f.StringVarP(&s.model, "model", "m", "", "`MODEL` that answers if a client names none, as provider/model")
	f.StringVar(&s.folder, "folder", "", "let models and clients read the files in `FOLDER`")
	f.Float64Var(&s.budget.most, "max-cost", 5, "maximum cost in US `DOLLARS` of all answers together; 0 is no limit")
	f.BoolVar(&s.ephemeral, "ephemeral", false, "remove each conversation once it is answered; its cost stays recorded")
	f.IntVar(&port, "port", 0, "serve HTTP on this `PORT`; 0 is any free one")
	parent, _, _ := root.Find([]string{"mcp"})
	parent.AddCommand(cmd)
}

// serve serves clients until they leave.
func (s *server) serve(cmd *cobra.Command, port int) (err error) {
	switch {
	case os.Getenv(serving) != "":
		return cmdutil.Usage(errServed)
	case !(s.budget.most >= 0) || math.IsInf(s.budget.most, 0):
		return cmdutil.Usagef("--max-cost %v: use 0 or more", s.budget.most)
	case port < 0 || port > math.MaxUint16:
		return cmdutil.Usagef("--port %d: use a number from 0 to 65535", port)
	}
	if s.dir, err = filepath.Abs(s.folder); err != nil {
		return err
	}
	if info, err := os.Stat(s.dir); s.folder != "" && err != nil {
		return cmdutil.Usagef("--folder %w", err)
	} else if s.folder != "" && !info.IsDir() {
		return cmdutil.Usagef("--folder %s is no folder", s.folder)
	}
	if err := s.Load(); err != nil {
		return err
	}
	s.mask = s.Stored.Mask()
	if err := os.Setenv(serving, "1"); err != nil {
		return err
	}
	return s.Run(func(ctx context.Context) error {
		opened, _, err := s.Open(ctx, s.dir, "none", nil, s.model)
		switch {
		case err == nil:
			opened.Close()
		case s.model != "":
			return cmdutil.Config(err)
		default: // the other tools work
			s.Note("the default model cannot be asked: " + wording.ShellError(err))
		}
		if cmd.Flags().Changed("port") {
			return s.serveHTTP(ctx, port)
		}
		return s.servePipe(ctx)
	})
}

// end cancels all calls and waits until they have ended. No call can begin then.
func (s *server) end(cancel context.CancelCauseFunc) error {
	cancel(errGone)
	if !crash.Within(lastWords, func() {
		for range maxCalls {
			s.places <- struct{}{}
		}
	}) {
		return errors.New("not all calls have ended: the last answers may not be stored")
	}
	return nil
}

// A cancellation is the cause of canceled calls.
type cancellation string

const (
	errGone     cancellation = "the client closed the connection"
	errCanceled cancellation = "the client canceled the call" // and waits for no response
)

func (c cancellation) Error() string { return string(c) }

// Is reports whether target is context.Canceled.
func (c cancellation) Is(target error) bool { return target == context.Canceled }

// servePipe serves one client, with one message a line, until it closes its side.
func (s *server) servePipe(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer func() { err = errors.Join(err, s.end(cancel)) }()
	var writing sync.Mutex
	write := func(message []byte) {
		if message == nil {
			return
		}
		writing.Lock()
		defer writing.Unlock()
		if _, err := s.Out.Write(append(message, '\n')); err != nil {
			cancel(errGone)
		}
	}
	lines := bufio.NewScanner(s.In)
	lines.Buffer(nil, maxMessage)
	p, read := &peer{server: s}, make(chan struct{})
	go func() {
		defer close(read)
		for lines.Scan() && ctx.Err() == nil {
			if reply, run := p.receive(ctx, lines.Bytes()); run != nil {
				go run(write)
			} else {
				write(reply)
			}
		}
	}()
	select {
	case <-read:
		if err = lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the client sent a message of more than %d MB", maxMessage>>20)
		}
	case <-ctx.Done():
		if err = context.Cause(ctx); errors.Is(err, errGone) {
			err = nil
		}
	}
	return err
}
