package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// A link is a connection to a server, from its start to its end.
type link struct {
	session *sdk.ClientSession
	program *tools.Program // nil: it is a service
	service *service       // nil: it is a program
	drained chan struct{}  // closed when nothing more comes from stderr
	held    bool           // the sandbox holds the program
}

// connect starts the server and greets it.
func (s *server) connect(ctx context.Context) (*link, error) {
	env, err := expanded("env", s.config.Env)
	if err != nil {
		return nil, err
	}
	headers, err := expanded("headers", s.config.Headers)
	if err != nil {
		return nil, err
	}
	s.hide(newMask(s.config, env, headers))
	l := &link{}
	transport, err := s.open(l, env, headers)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "parley", Version: s.o.Version}, s.clientOptions())
	type result struct {
		session *sdk.ClientSession
		err     error
	}
	connected := make(chan result, 1)
	go func() {
		session, err := client.Connect(ctx, transport, nil)
		connected <- result{session, err}
	}()
	select {
	case r := <-connected:
		if l.session, err = r.session, r.err; err == nil {
			return l, nil
		}
		err = l.explain(err)
	case <-ctx.Done():
		err = context.Cause(ctx)
		l.end() // so that the other one stops waiting
		r := <-connected
		l.session = r.session
	}
	l.end()
	return nil, s.refusedTo(l, err)
}

// refusedTo finds out what the sandbox refused a program that did not start, for the
// user to allow it, and adds it to the error.
func (s *server) refusedTo(l *link, err error) error {
	if l.program == nil || !l.held || errors.Is(err, context.Canceled) {
		return err
	}
	l.end() // all of its standard error is there then
	ended := -1
	if _, code, ok := strings.Cut(l.program.State(), "exit status "); ok {
		ended, _ = strconv.Atoi(code)
	}
	c := s.effective()
	r := refusal(c, s.stderr.String(), ended, func(path string, write bool) string {
		if s.o.Grantable == nil {
			return ""
		}
		return s.o.Grantable(s.name, c, path, write)
	})
	s.mu.Lock()
	for i := range r.Reasons {
		r.Reasons[i] = s.mask.clean(r.Reasons[i])
	}
	s.refused = *r
	s.mu.Unlock()
	if what := r.String(); what != "" {
		return fmt.Errorf("%w; %s", err, what)
	}
	return err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// open starts the program, or makes ready to reach the service.
func (s *server) open(l *link, env, headers map[string]string) (sdk.Transport, error) {
	var err error
	if s.config.URL != "" {
		if l.service, err = newService(s.config.URL, headers); err != nil {
			return nil, err
		}
		return l.service.transport(), nil
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	var confine tools.Confine
	if s.o.Confine != nil {
		c := s.effective()
		confine = func(argv, env []string) (*exec.Cmd, func(), error) {
			cmd, letGo, err := s.o.Confine(s.name, c, argv, env)
			l.held = cmd != nil
			return cmd, letGo, err
		}
	}
	argv := append([]string{s.config.Command}, s.config.Args...)
	if l.program, err = tools.StartProgram(cmp.Or(s.config.Cwd, s.o.Dir), argv, environ, confine); err != nil {
		return nil, err
	}
	s.hold(l.held)
	l.drained = make(chan struct{})
	go func() {
		defer close(l.drained)
		_, _ = io.Copy(&progress{s: s}, l.program.Stderr)
		l.program.Stderr.Close()
	}()
	return newPipe(l.program, &s.noise), nil
}

// clientOptions offer a server nothing: no files, no model, no questions to the
// user.
func (s *server) clientOptions() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{},
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.look() },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { s.look() },
		ResourceListChangedHandler:  func(context.Context, *sdk.ResourceListChangedRequest) { s.look() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.progressed(r.Params) },
	}
}

// exited is closed when the server's program has ended; nil if it has none.
func (l *link) exited() <-chan struct{} {
	if l.program == nil {
		return nil
	}
	return l.program.Exited()
}

// goodbye is how long a service may take to be told that we leave.
const goodbye = 500 * time.Millisecond

// end ends the server, within two seconds. It may be called again.
func (l *link) end() {
	closed := make(chan struct{})
	session := l.session
	closeSession := func() {
		defer close(closed)
		if session != nil {
			_ = session.Close() // what it says of a connection that ends is of no use
		}
	}
	if l.program != nil {
		l.program.End() // it must not matter whether it answers
		<-l.drained
		closeSession()
		return
	}
	go closeSession()
	select {
	case <-closed:
	case <-time.After(goodbye):
	}
	l.service.close()
	<-closed
}

// explain tells why a connection ended: how its program did, if it has.
func (l *link) explain(err error) error {
	if l.program == nil || errors.Is(err, errLong) {
		return err
	}
	select {
	case <-l.program.Exited():
	case <-time.After(100 * time.Millisecond): // its output may end a moment before
		return err
	}
	return errors.New("its program has ended: " + l.program.State())
}
