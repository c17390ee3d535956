package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
	"parley/tools/process"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// A link is a connection to a server, from its start to its end.
type link struct {
	session   *sdk.ClientSession
	client    *sdk.Client
	program   *tools.Program // nil for a service
	pipe      *pipeTransport // to the program
	service   *httpService   // nil for a program
	overSSE   bool           // the service uses HTTP with SSE
	drained   chan struct{}  // closed at the end of stderr
	ended     chan struct{}  // closed when the session has ended
	endErr    error          // why it ended, valid once ended is closed
	requests  atomic.Int64   // requests that may have reached the server
	sandboxed bool           // the sandbox confines the program
	sentRoots []string       // the roots sent at first
}

// connect starts the server and initializes the session.
func (s *server) connect(ctx context.Context) (*link, error) {
	env, err := s.config.Expand("env", s.config.Env)
	if err != nil {
		return nil, err
	}
	headers, err := s.config.Expand("headers", s.config.Headers)
	if err != nil {
		return nil, err
	}
	s.setSecrets(s.config.Secrets(env, headers))
	if _, err := s.loginClient(); err != nil {
		return nil, err
	}
	l := &link{ended: make(chan struct{})}
	transport, err := s.openTransport(l, env, headers)
	if err != nil {
		return nil, err
	}
	l.client = sdk.NewClient(&sdk.Implementation{Name: "parley", Version: s.opts.Version}, s.clientOptions())
	l.client.AddReceivingMiddleware(requireParams)
	if getsRoots(s.config) {
		l.sentRoots = s.roots.addTo(l.client, ownDirectories(s.effectiveConfig()))
	}
	connected := make(chan greeting, 1)
	go func() { connected <- l.greet(ctx, transport) }()
	select {
	case r := <-connected:
		if l.session, l.overSSE, err = r.session, r.overSSE, r.err; err == nil {
			return l, nil
		}
		err = l.explainEnd(err)
	case <-ctx.Done():
		err = context.Cause(ctx)
		l.terminate() // so that the connection attempt stops waiting
		r := <-connected
		if l.session = r.session; r.err != nil && l.refusesPost() && !errors.Is(r.err, ctx.Err()) {
			err = r.err // the fallback was not HTTP with SSE either
		}
	}
	l.terminate()
	select {
	case <-l.loggedOut():
		return nil, oauth.ErrLogin
	default:
		return nil, s.addRefusal(l, err)
	}
}

// A greeting is the result of connecting.
type greeting struct {
	session *sdk.ClientSession
	overSSE bool // connected over SSE instead of the given transport
	err     error
}

// greet connects by transport, or by HTTP with SSE to a service that does not support it.
func (l *link) greet(ctx context.Context, transport sdk.Transport) greeting {
	session, err := l.client.Connect(ctx, transport, nil)
	if err == nil || !l.refusesPost() {
		return greeting{session: session, err: err}
	}
	session, failed := l.client.Connect(ctx, sseTransport{l.service}, nil)
	switch {
	case failed == nil:
		return greeting{session: session, overSSE: true}
	case l.service.streams.Load() && ctx.Err() == nil:
		err = fmt.Errorf("%w; by HTTP with SSE: %w", err, failed)
	}
	return greeting{err: err}
}

// addRefusal finds the accesses that the sandbox refused to a program that did not
// start, so that the user can allow them, and adds them to the error.
func (s *server) addRefusal(l *link, err error) error {
	if l.program == nil || !l.sandboxed || errors.Is(err, context.Canceled) {
		return err
	}
	l.terminate() // completes its standard error
	ended := -1
	if _, code, ok := strings.Cut(l.program.ExitState(), "exit status "); ok {
		ended, _ = strconv.Atoi(code)
	}
	r := s.newExplanation()
	r.explainStart(s.effectiveConfig(), s.stderr.tail(r.mask), ended)
	s.mu.Lock()
	s.refusal = r.Refusal
	s.mu.Unlock()
	if what := r.String(); what != "" {
		return fmt.Errorf("%w; %s", err, what)
	}
	return err
}

// newExplanation returns an explanation without reasons.
func (s *server) newExplanation() *explanation {
	c := s.effectiveConfig()
	return &explanation{mask: s.lockedSecrets(), grantable: func(path string, write bool) string {
		if s.opts.GrantablePath == nil {
			return ""
		}
		return s.opts.GrantablePath(s.name, c, path, write)
	}}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openTransport starts the program, or prepares the connection to the service.
func (s *server) openTransport(l *link, env, headers map[string]string) (sdk.Transport, error) {
	var err error
	if s.config.URL != "" {
		login, err := s.loginClient()
		if err != nil {
			return nil, err
		}
		if l.service, err = newService(s.config.URL, headers, login, &l.requests); err != nil {
			return nil, err
		}
		return l.service.transport(), nil
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	var confine func(env []string) (*process.SandboxPolicy, error)
	if s.opts.Confine != nil {
		c := s.effectiveConfig()
		confine = func(env []string) (*process.SandboxPolicy, error) {
			p, err := s.opts.Confine(s.name, c, env)
			l.sandboxed = p != nil
			return p, err
		}
	}
	argv, err := tools.CommandArgv(s.config.CommandLine())
	if err != nil {
		return nil, err
	}
	if l.program, err = tools.StartProgram(cmp.Or(s.config.Cwd, s.opts.Dir), argv, environ, confine); err != nil {
		return nil, err
	}
	s.setSandboxed(l.sandboxed)
	l.drained = make(chan struct{})
	go func() {
		defer close(l.drained)
		_, _ = io.Copy(&stderrWriter{s: s}, l.program.Stderr)
		l.program.Stderr.Close()
	}()
	l.pipe = newPipe(l.program, &s.nonMessages, &l.requests)
	return l.pipe, nil
}

// requireParams rejects requests of the server that lack required parameters, because the SDK's
// handlers would panic (go-sdk 1.8.0, callElicitationCompleteHandler).
func requireParams(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		needless := method == "ping" || method == "roots/list" || strings.HasSuffix(method, "/list_changed")
		if params := reflect.ValueOf(r.GetParams()); !needless && (!params.IsValid() || params.IsNil()) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: method + " needs params"}
		}
		return next(ctx, method, r)
	}
}

// clientOptions offers the server the user's directories, questions to the user, and the model
// if the configuration allows that.
func (s *server) clientOptions() *sdk.ClientOptions {
	o := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return elicit(ctx, s, r.Params)
		},
		ElicitationCompleteHandler:  func(_ context.Context, r *sdk.ElicitationCompleteNotificationRequest) { s.calls.onPageDone(r.Params) },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { s.requestListRead() },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { s.requestListRead() },
		ResourceListChangedHandler:  func(context.Context, *sdk.ResourceListChangedRequest) { s.requestListRead() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { s.onProgress(r.Params) },
	}
	if getsRoots(s.config) {
		o.Capabilities.RootsV2 = &sdk.RootCapabilities{ListChanged: true}
	}
	if s.config.Sampling == mcp.SamplingAsk && s.opts.Interactive {
		o.CreateMessageHandler = func(ctx context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return sample(ctx, s, r.Params)
		}
	}
	return o
}

// exited returns a channel that is closed when the server's program has ended; nil for a service.
func (l *link) exited() <-chan struct{} {
	if l.program == nil {
		return nil
	}
	return l.program.Exited()
}

// loggedOut returns a channel that is closed when the user has to log in; nil for a program.
func (l *link) loggedOut() <-chan struct{} {
	if l.service == nil {
		return nil
	}
	return l.service.loggedOut
}

// refusesPost reports whether the server is a service that may support only HTTP with SSE.
func (l *link) refusesPost() bool { return l.service != nil && l.service.refusesPost.Load() }

// sessionLost returns a channel that is closed when a service has ended the session; nil for a program.
func (l *link) sessionLost() <-chan struct{} {
	if l.service == nil {
		return nil
	}
	return l.service.sessionLost
}

// lostSession reports whether a connection that ended with err was ended by the service closing
// the session.
func (l *link) lostSession(err error) bool {
	return isClosed(l.sessionLost()) || errors.Is(err, sdk.ErrSessionMissing) || errors.Is(err, errSessionLost)
}

// isOver reports whether the connection has ended.
func (l *link) isOver() bool {
	return isClosed(l.ended) || isClosed(l.exited()) || isClosed(l.sessionLost())
}

// isLost reports whether a request failed with err because the connection is lost.
func (l *link) isLost(err error) bool {
	var unreachable *unreachableError
	return l.isOver() || errors.As(err, &unreachable) || l.lostSession(err) ||
		errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, sdk.ErrConnectionClosed)
}

// drop closes a connection that is lost.
func (l *link) drop() {
	if l.service != nil {
		l.service.forget()
	} else {
		_ = l.pipe.Close() // cannot fail
	}
}

// closeTime is how long a service may take to end the session.
const closeTime = 500 * time.Millisecond

// terminate ends the server, within two seconds. It may be called again.
func (l *link) terminate() {
	closed := make(chan struct{})
	session := l.session
	closeSession := func() {
		defer close(closed)
		if session != nil {
			_ = session.Close() // its error for a closed connection is useless
		}
	}
	if l.program != nil {
		l.program.Terminate() // even if it does not answer
		<-l.drained
		closeSession()
		return
	}
	go closeSession()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	l.service.close()
	<-closed
}

// reasonTime is how long the end of a connection may precede its reason, such as an exit status.
const reasonTime = time.Second

// explainEnd explains why a connection ended: how its program ended, if it did, or why the service
// cannot be reached.
func (l *link) explainEnd(err error) error {
	if l.service != nil {
		if why := l.service.failed.Load(); why != nil {
			return why
		}
	}
	if isClosed(l.ended) {
		err = cmp.Or(l.endErr, err)
	}
	if l.program == nil || errors.Is(err, errTooLong) {
		return err
	}
	select {
	case <-l.program.Exited():
	case <-time.After(reasonTime): // the output ends shortly before the program exits
		return err
	}
	return errors.New("exited (" + strings.TrimPrefix(l.program.ExitState(), "exit ") + ")")
}
