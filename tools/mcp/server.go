package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// A server is one of the configuration. Its goroutine, that of run, starts it,
// reads its lists and ends it.
type server struct {
	name    string
	config  Config
	o       Options
	restart chan struct{} // holds one: it is to be started again
	changed chan struct{} // holds one: its lists are to be read again
	stderr  ring
	noise   atomic.Int64

	mu        sync.Mutex
	status    Status
	why       string
	since     time.Time
	waiting   chan struct{} // closed once it does not start any more
	mask      mask
	pid       int
	server    string
	session   *sdk.ClientSession // nil: it is not connected
	life      context.Context    // of the session
	list      listing
	agreed    seal // nil: to nothing
	memory    memory
	held      bool // the sandbox holds its program
	refused   Refusal
	salt      string // of its seals
	prompts   []Prompt
	resources []Resource
	calls     map[string]func(string) // who wants to know of progress, by token
}

func newServer(name string, c Config, o Options) *server {
	s := &server{
		name: name, config: c, o: o, since: time.Now(),
		restart: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		status: Starting, waiting: make(chan struct{}), calls: map[string]func(string){},
	}
	if o.Agreed != nil {
		s.agreed = parseSeal(o.Agreed(name))
	}
	s.salt = s.agreed.salted()
	s.memory = memory{Of: c.identity()}
	if o.Recall != nil {
		s.memory = recall(o.Recall(name), c)
	}
	if c.Disabled {
		s.status = Disabled
		close(s.waiting)
	}
	return s
}

// run keeps the server until ctx ends. One that failed waits to be restarted.
func (s *server) run(ctx context.Context) {
	if s.config.Disabled {
		return
	}
	if s.first() {
		s.tell()
	}
	for {
		again, err := false, errStopped
		if !s.stopped() {
			again, err = s.serve(ctx)
		}
		if ctx.Err() != nil {
			s.leave(Failed, errClosed)
			return
		}
		if !again {
			status := Failed
			if errors.Is(err, errStopped) {
				status = Stopped
			}
			s.leave(status, err)
			select {
			case <-ctx.Done():
				return
			case <-s.restart:
			}
		}
		s.enter()
	}
}

var errStopped = errors.New("you stopped it")

// again has the server started again.
func (s *server) again() {
	select {
	case s.restart <- struct{}{}:
	default: // it is about to
	}
}

func (s *server) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.Stopped
}

// first reports whether a program starts that was never ready.
func (s *server) first() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isFirst()
}

func (s *server) isFirst() bool { return s.config.Command != "" && !s.memory.Started }

// effective is the configuration with what the user allowed beyond it.
func (s *server) effective() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.Access.on(s.config)
}

// remember changes what is remembered of the server, and stores it.
func (s *server) remember(change func(*memory)) error {
	s.mu.Lock()
	before, err := json.Marshal(s.memory)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	change(&s.memory)
	after, err := json.Marshal(s.memory)
	s.mu.Unlock()
	if err != nil || s.o.Keep == nil || string(before) == string(after) {
		return err
	}
	return s.o.Keep(s.name, string(after))
}

// allow is Servers.Allow but for the start. Who allows more has agreed to what the
// server is started with, and need not be asked about its tools again.
func (s *server) allow(more Access) error {
	seal, agreed := "", false
	err := s.remember(func(m *memory) {
		old := s.agreed.startedAs(m.Access.on(s.config))
		if more.IsZero() {
			m.Access = Access{}
		} else {
			m.Access = m.Access.And(more)
		}
		m.Stopped = false
		if old && s.agreed.start(m.Access.on(s.config), s.agreed[salt]) == nil {
			seal, agreed = s.agreed.String(), true
		}
	})
	if !agreed || s.o.Agree == nil {
		return err
	}
	return errors.Join(err, s.o.Agree(s.name, seal))
}

// serve starts the server, and returns when it has ended or is to be started
// again.
func (s *server) serve(ctx context.Context) (again bool, err error) {
	life, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := s.o.starting
	if limit == 0 && s.first() {
		limit = firstTime
	} else if limit == 0 {
		limit = startTime
	}
	starting, stop := context.WithTimeoutCause(life, limit, fmt.Errorf("it was not ready within %s", limit))
	defer stop()
	l, err := s.connect(starting)
	if err != nil {
		return false, err
	}
	defer l.end()
	defer s.detach()
	s.attach(life, l)
	if err := s.read(starting, l.session); err != nil {
		if starting.Err() != nil {
			err = context.Cause(starting)
		}
		return false, s.refusedTo(l, l.explain(err))
	}
	if err := s.remember(func(m *memory) { m.Started = true }); err != nil {
		s.stderr.Write([]byte("parley: not remembered: " + err.Error() + "\n"))
	}
	return s.watch(life, l)
}

// watch reads the lists again when they change.
func (s *server) watch(ctx context.Context, l *link) (again bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- l.session.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.restart:
			return true, nil
		case <-l.exited():
			return false, l.explain(errClosed)
		case err := <-ended:
			if err == nil {
				err = errors.New("it closed the connection")
			}
			return false, l.explain(err)
		case <-s.changed:
			looking, stop := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("its lists did not come within %s", startTime))
			err := s.read(looking, l.session)
			if looking.Err() != nil && ctx.Err() == nil {
				err = context.Cause(looking)
			}
			stop()
			if err != nil {
				return false, l.explain(err)
			}
			select { // one that changes without end is looked at now and then
			case <-time.After(listPause):
			case <-ctx.Done():
			}
		}
	}
}

// look has the lists read again.
func (s *server) look() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// enter is for a new start.
func (s *server) enter() {
	s.noise.Store(0)
	s.stderr.reset()
	s.mu.Lock()
	s.refused, s.held = Refusal{}, false
	s.status, s.why, s.since = Starting, "", time.Now()
	s.waiting = make(chan struct{})
	s.mu.Unlock()
	s.tell()
}

// leave is for an end.
func (s *server) leave(status Status, err error) {
	s.mu.Lock()
	s.status, s.since = status, time.Now()
	s.why = plain(s.mask.clean(err.Error()), 500)
	s.settle()
	s.mu.Unlock()
	s.tell()
}

// settle says that the server does not start any more. The lock is held.
func (s *server) settle() {
	select {
	case <-s.waiting:
	default:
		close(s.waiting)
	}
}

func (s *server) settled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (s *server) hide(m mask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mask = m
}

func (s *server) tell() {
	if s.o.Changed != nil {
		s.o.Changed(s.name)
	}
}

func (s *server) attach(life context.Context, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.life = l.session, life
	if l.program != nil {
		s.pid = l.program.PID()
	}
	if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		s.server = plain(r.ServerInfo.Name+" "+r.ServerInfo.Version, 100)
	}
}

func (s *server) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.pid, s.prompts, s.resources = nil, 0, nil, nil
}

// read reads the lists, and decides whether the tools can be offered.
func (s *server) read(ctx context.Context, session *sdk.ClientSession) error {
	lists, err := readLists(ctx, s.name, session)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if err := lists.tools.seal.start(s.memory.Access.on(s.config), s.salt); err != nil {
		return err
	}
	s.list, s.prompts, s.resources = lists.tools, lists.prompts, lists.resources
	s.judge()
	s.settle()
	return nil
}

// judge sets the status by what was agreed to. That tools are gone needs nobody's
// consent. The lock is held.
func (s *server) judge() {
	now := Ready
	s.why = ""
	switch {
	case s.config.Trusted || len(s.list.tools) == 0:
	case s.agreed == nil:
		now = New
	case !s.agreed.covers(s.list.seal):
		now = Changed
		if s.agreed[startedBy] != s.list.seal[startedBy] {
			s.why = "what it is started by, given or allowed is not what it was: see its command, address, environment, headers and access"
		}
	}
	if s.status != now {
		s.status, s.since = now, time.Now()
	}
}

// approve is Servers.Approve.
func (s *server) approve(given string) error {
	s.mu.Lock()
	if s.session == nil || given != s.list.seal.String() {
		s.mu.Unlock()
		return fmt.Errorf("%s: its tools have changed since they were shown", s.name)
	}
	s.agreed = s.list.seal
	s.judge()
	s.mu.Unlock()
	s.tell()
	if s.o.Agree == nil {
		return nil
	}
	return s.o.Agree(s.name, given)
}

// state is what Servers.State tells.
func (s *server) state() State {
	written := plain(s.stderr.String(), maxStderr)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := State{
		Name: s.name, Status: s.status, Why: s.why, Since: s.since, Where: plain(s.mask.clean(s.config.where()), 1000), Server: s.server,
		Left: s.list.left, Seal: s.list.seal.String(), Prompts: len(s.prompts), Resources: len(s.resources),
		First: s.isFirst(), Held: s.held, Refused: s.refused, Allowed: s.memory.Access,
		PID: s.pid, Stderr: s.mask.clean(written), Noise: int(s.noise.Load()),
	}
	for _, t := range s.list.tools {
		out.Tools = append(out.Tools, t.Tool)
	}
	out.Removed = s.agreed.compare(out.Tools, s.list.seal)
	return out
}

// offered are the tools that a model may be told of.
func (s *server) offered() []tools.External {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != Ready {
		return nil
	}
	var out []tools.External
	for _, t := range s.list.tools {
		out = append(out, s.external(t, s.list.seal[t.Name]))
	}
	return out
}
