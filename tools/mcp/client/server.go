package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
)

// A server is one configured server. The goroutine of run starts it, reads its
// lists and ends it.
type server struct {
	name   string
	config mcp.Config
	opts   mcp.Options
	requested
	inbound
	stderr      tailBuffer
	nonMessages atomic.Int64
	storeMu     sync.Mutex // held while the stored state changes; locked before mu

	mu sync.Mutex // guards what follows
	lifecycle
	conn        connection // its session is nil while the server is not connected
	serverLists            // as last read
	approval
	login         loginState
	progressFuncs map[string]func(string) // progress functions by token
}

// requested holds the requests to a server's goroutine; each channel has room
// for one.
type requested struct {
	restart chan struct{} // restart the server
	needed  chan struct{} // restart the server if it failed
	changed chan struct{} // read the lists again

	// Used by the server's goroutine only.
	renewals rateLimiter // of sessions
	retries  backoff
	readyAt  time.Time // when it became ready; zero if it is not
}

// inbound handles the requests of a server.
type inbound struct {
	questions *questions // of all servers
	roots     *roots     // of all servers
	calls     *inFlight
}

// lifecycle is the state of a server's start and end.
type lifecycle struct {
	status    mcp.Status
	reason    string
	since     time.Time
	startDone chan struct{} // closed while it is not starting
	sandboxed bool          // its program is sandboxed
	refusal   mcp.Refusal
	down      bool // it failed after it was ready, and is restarted when needed
	over      bool // its goroutine has returned

	serverInfo string // name and version that the server reports
}

func newServer(name string, c mcp.Config, o mcp.Options, asked inbound) *server {
	s := &server{
		name: name, config: c, opts: o,
		requested: requested{
			restart: make(chan struct{}, 1), needed: make(chan struct{}, 1), changed: make(chan struct{}, 1),
			renewals: rateLimiter{burst: newSessions, rate: newSessionRate},
		},
		inbound:   asked,
		lifecycle: lifecycle{status: mcp.StatusStarting, startDone: make(chan struct{}), since: time.Now()}, progressFuncs: map[string]func(string){},
	}
	s.login.configured = c.Secrets()
	if o.Approved != nil {
		s.approved = parseFingerprint(o.Approved(name))
	}
	s.salt = s.approved.saltOrNew()
	s.stored = storedState{ConfigID: configID(c)}
	if o.LoadState != nil {
		s.stored = parseStored(o.LoadState(name), c)
	}
	if c.Disabled {
		s.status = mcp.StatusDisabled
		close(s.startDone)
	}
	return s
}

// run runs the server until ctx ends. It restarts a failed server when it is needed.
func (s *server) run(ctx context.Context) {
	if s.config.Disabled {
		return
	}
	defer s.finish()
	if s.isFirstStart() {
		s.notifyChange()
	}
	for {
		again, err := false, errStopped
		if !s.isStopped() {
			s.readyAt = time.Time{}
			again, err = s.serveOnce(ctx)
			s.retries.ended(s.readyAt)
		}
		if ctx.Err() != nil {
			s.setEnded(mcp.StatusFailed, errClosed)
			return
		}
		if !again {
			status := mcp.StatusFailed
			switch {
			case errors.Is(err, errStopped):
				status = mcp.StatusStopped
			case errors.Is(err, oauth.ErrLogin):
				status, err = mcp.StatusLogin, errors.New("/mcp login "+s.name)
			}
			s.setEnded(status, err)
			if again = s.awaitRestart(ctx); ctx.Err() != nil {
				return
			}
		}
		s.beginStart(again)
	}
}

// awaitRestart waits until the server should restart. It reports whether the user requested that;
// otherwise a call needs the server and the delay has passed.
func (s *server) awaitRestart(ctx context.Context) (wanted bool) {
	earliest := time.Now().Add(s.retries.delay)
	select {
	case <-ctx.Done():
		return false
	case <-s.restart:
		return true
	case <-s.needed:
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.restart:
		return true
	case <-time.After(time.Until(earliest)):
		return false
	}
}

// finish records that the server's goroutine has returned.
func (s *server) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.down = true, false
	s.finishStart()
}

var errStopped = errors.New("you stopped it")

// requestRestart requests a restart of the server.
func (s *server) requestRestart() {
	select {
	case s.restart <- struct{}{}:
	default: // requested already
	}
}

func (s *server) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored.Stopped
}

// serveOnce starts the server, and returns when it has ended or should restart.
func (s *server) serveOnce(ctx context.Context) (again bool, err error) {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := startTimeout
	if s.isFirstStart() {
		limit = firstStartTimeout
	}
	limit, err = mcp.ParseTimeout("start_timeout", s.config.StartTimeout, limit)
	if err != nil {
		return false, err
	}
	starting, stop := s.opts.WithTimeout(life, limit, fmt.Errorf("it was not ready within %s: start_timeout of its configuration allows more", limit))
	defer stop()
	l, err := s.connect(starting)
	if err != nil {
		return false, err
	}
	defer l.terminate()
	defer s.detach()
	s.attach(life, l)
	if getsRoots(s.config) {
		s.roots.update(l.client, l.sentRoots, ownDirectories(s.effectiveConfig()))
	}
	if err := s.loadLists(starting, l.session); err != nil {
		if starting.Err() != nil {
			err = context.Cause(starting)
		}
		select {
		case <-l.loggedOut():
			return false, oauth.ErrLogin
		default:
			return false, s.addRefusal(l, l.explainEnd(err))
		}
	}
	s.readyAt = time.Now()
	s.stderr.newLines() // discard: calls are explained by later lines only
	return s.watchLists(life, l)
}

// watchLists reads the lists again when they change.
func (s *server) watchLists(ctx context.Context, l *link) (again bool, err error) {
	go func() {
		l.endErr = l.session.Wait()
		close(l.ended)
	}()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.restart:
			return true, nil
		case <-l.exited():
			return false, l.explainEnd(errClosed)
		case <-l.loggedOut():
			return false, oauth.ErrLogin
		case <-l.sessionLost():
			return s.renewSession(l)
		case <-l.ended:
			err := cmp.Or(l.endErr, errHungUp)
			if l.lostSession(err) {
				return s.renewSession(l)
			}
			if l.overSSE { // proxies end the stream, and the session with it
				again, _ = s.renewSession(l)
			}
			return again, l.explainEnd(err)
		case <-s.changed:
			looking, stop := s.opts.WithTimeout(ctx, startTimeout, fmt.Errorf("its lists did not come within %s", startTimeout))
			err := s.loadLists(looking, l.session)
			if looking.Err() != nil && ctx.Err() == nil {
				err = context.Cause(looking)
			}
			stop()
			switch {
			case err == nil:
			case l.lostSession(err):
				return s.renewSession(l)
			default:
				return false, l.explainEnd(err)
			}
			select { // limits how often a list that keeps changing is read
			case <-time.After(listInterval):
			case <-ctx.Done():
			}
		}
	}
}

// How often a new session is started for a service that ended one.
const (
	newSessions    = 3         // sessions at once
	newSessionRate = 1.0 / 300 // per second after that
)

// renewSession starts a new session with a service that ended one, unless that happens too often.
func (r *requested) renewSession(l *link) (again bool, err error) {
	return r.renewals.take(time.Now()), l.explainEnd(errSessionLost)
}

// requestListRead requests reading the lists again.
func (s *server) requestListRead() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// beginStart resets the state for a new start. Unless shown is set, a failed server that restarts on
// demand keeps its visible state until it is ready.
func (s *server) beginStart(shown bool) {
	s.nonMessages.Store(0)
	s.stderr.reset()
	s.mu.Lock()
	s.refusal, s.sandboxed = mcp.Refusal{}, false
	s.reopenStart()
	if !shown {
		s.mu.Unlock()
		return
	}
	s.status, s.reason, s.since = mcp.StatusStarting, "", time.Now()
	s.mu.Unlock()
	s.notifyChange()
}

// reopenStart makes waits for startDone last until the next start ends. The caller holds the lock.
func (s *server) reopenStart() {
	if isClosed(s.startDone) {
		s.startDone = make(chan struct{})
	}
}

// setEnded records the end of a run.
func (s *server) setEnded(status mcp.Status, err error) {
	s.mu.Lock()
	s.status, s.since = status, time.Now()
	s.down = s.down && status == mcp.StatusFailed
	s.reason = s.secrets().sanitizeText(plainText(err), 500)
	if !s.down {
		s.prompts, s.resources = nil, nil
	}
	s.finishStart()
	s.mu.Unlock()
	s.notifyChange()
}

// finishStart marks the start as finished. The caller holds the lock.
func (s *server) finishStart() {
	if !isClosed(s.startDone) {
		close(s.startDone)
	}
}

func (s *server) startFinished() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startDone
}

// setSecrets sets the secrets in the server's configuration.
func (s *server) setSecrets(secrets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login.configured = secrets
}

func (s *server) notifyChange() {
	if s.opts.OnChange != nil {
		s.opts.OnChange(s.name)
	}
}

func (s *server) attach(life context.Context, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = connection{session: l.session, client: l.client, life: life, link: l}
	if l.program != nil {
		s.conn.pid = l.program.PID()
	}
	if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		s.serverInfo = s.secrets().sanitizeText(r.ServerInfo.Name+" "+r.ServerInfo.Version, 100)
	}
}

func (s *server) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = connection{}
	s.down = s.down || s.status == mcp.StatusReady
	s.reopenStart()
}

// loadLists reads the lists, and decides whether the tools can be offered.
func (s *server) loadLists(ctx context.Context, session *sdk.ClientSession) error {
	lists, err := readLists(ctx, s.name, session, s.lockedSecrets())
	if err != nil {
		return err
	}
	enable, seal := false, ""
	if err := s.updateStored(func(m *storedState) { enable, m.Enable, m.Started = m.Enable != nil, nil, true }); err != nil {
		s.stderr.Write([]byte("parley: not remembered: " + err.Error() + "\n"))
	}
	defer func() {
		if seal != "" && s.opts.Approve != nil {
			if err := s.opts.Approve(s.name, seal); err != nil { // it stays approved until Close
				s.stderr.Write([]byte("parley: not remembered: " + err.Error() + "\n"))
			}
		}
		s.notifyChange()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := lists.tools.fingerprint.addStart(withAccess(s.config, s.stored.Access), s.salt); err != nil {
		return err
	}
	for _, missing := range lists.unread {
		s.stderr.Write([]byte("parley: not read: " + missing.Error() + "\n"))
	}
	s.serverLists = lists
	if enable {
		s.approved, seal = lists.tools.fingerprint, lists.tools.fingerprint.String()
	}
	s.updateStatus()
	s.finishStart()
	return nil
}

// state returns the server's State.
func (s *server) state() mcp.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	mask, location := s.secrets(), secretMask{} // masking a variable's value could hide part of the command
	if s.config.URL != "" {
		location = mask
	}
	out := mcp.State{
		Name: s.name, OfProject: s.config.OfProject, Status: s.status, Reason: s.reason, Since: s.since, Location: location.whole(s.config.Location()), ServerInfo: s.serverInfo,
		OmittedTools: s.tools.omitted, Fingerprint: s.tools.fingerprint.String(),
		Down: s.down, FirstStart: s.isFirstStartLocked(), Refusal: s.refusal, Allowed: s.stored.Access,
		Session: mcp.Session{LoggedIn: s.login.client.LoggedIn(), Prompts: len(s.prompts), Resources: len(s.resources)},
		Program: mcp.Program{Sandboxed: s.sandboxed, PID: s.conn.pid, Stderr: mask.sanitizeText(s.stderr.tail(mask), maxStderr), NonMessages: int(s.nonMessages.Load())},
	}
	for _, t := range s.tools.tools {
		out.Tools = append(out.Tools, t.Tool)
	}
	out.RemovedTools = s.approved.markChanges(out.Tools, s.tools.fingerprint)
	return out
}

// offeredTools returns the tools to offer to models.
func (s *server) offeredTools() []tools.External {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != mcp.StatusReady && !s.down {
		return nil
	}
	var out []tools.External
	for _, t := range s.tools.tools {
		out = append(out, s.externalTool(t, s.tools.fingerprint[t.Name]))
	}
	return out
}
