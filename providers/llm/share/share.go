// Package share lets several answers to the same request come from one response.
package share

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"

	"parley/providers/llm"
)

// A Candidate is one of several answers requested at the same time. If a wire format can give
// several answers to one request, candidates with the same request share its response:
//
//	candidate ─► Share ─┐                          ┌─► Body ─► answer 0
//	candidate ─► Share ─┼─► open(n), one response ─┼─► Body ─► answer 1
//	candidate ─► Share ─┘                          └─► Body ─► answer 2
//
// Otherwise, and after the first attempt, each candidate sends its own request. A nil Candidate is
// a single answer. It is safe for concurrent use.
type Candidate struct {
	group   *candidates
	number  int  // from 0
	decided bool // it has called Share or Leave; guarded by the group
	shares  bool // its answer is part of a shared response; guarded by the group
}

// candidates holds the candidates of one comparison.
type candidates struct {
	mu        sync.Mutex
	undecided int
	requests  map[string]*sharedResponse // by key
}

// NewCandidates returns n candidates that may share responses.
func NewCandidates(n int) []*Candidate {
	g := &candidates{undecided: n, requests: map[string]*sharedResponse{}}
	list := make([]*Candidate, n)
	for i := range list {
		list[i] = &Candidate{group: g, number: i}
	}
	return list
}

type candidateKey struct{}

// WithCandidate returns a context for requesting the answer c.
func WithCandidate(ctx context.Context, c *Candidate) context.Context {
	return context.WithValue(ctx, candidateKey{}, c)
}

// CandidateOf returns the candidate of ctx; nil if it has none.
func CandidateOf(ctx context.Context) *Candidate {
	c, _ := ctx.Value(candidateKey{}).(*Candidate)
	return c
}

// Leave makes c send its own request, unless it shares a response already. The other candidates
// stop waiting for it.
func (c *Candidate) Leave() {
	if c == nil {
		return
	}
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	c.decide()
}

// decide marks c as decided, once. When all candidates have decided, it sends the requests. The group
// must be locked.
func (c *Candidate) decide() {
	if c.decided {
		return
	}
	c.decided = true
	c.group.undecided--
	if c.group.undecided == 0 {
		for _, r := range c.group.requests {
			r.start()
		}
	}
}

// Share waits until every other candidate has called Share or Leave, and returns c's body of the
// response shared by all candidates with the same key, which identifies the whole request. Open
// requests n answers; it is called once, and its context ends when all bodies are closed. Its error
// is returned to each candidate. If there is no candidate to share with, and after the first call,
// the body is nil: c must send its own request.
func (c *Candidate) Share(ctx context.Context, key string, open func(ctx context.Context, n int) (io.ReadCloser, error)) (*Body, error) {
	if c == nil {
		return nil, nil
	}
	b := c.join(ctx, key, open)
	c.setShares(false)
	if b == nil {
		return nil, nil
	}
	select {
	case <-b.response.opened:
	case <-ctx.Done():
		b.Close()
		return nil, context.Cause(ctx)
	}
	if b.response.err != nil || b.response.size < 2 {
		b.Close()
		return nil, b.response.err
	}
	c.setShares(true)
	return b, nil
}

func (c *Candidate) setShares(shares bool) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	c.shares = shares
}

// Shares reports whether c, which may be nil, gets its answer from a shared response.
func (c *Candidate) Shares() bool {
	if c == nil {
		return false
	}
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	return c.shares
}

// join adds c to the response for key; nil if it has already decided.
func (c *Candidate) join(ctx context.Context, key string, open func(context.Context, int) (io.ReadCloser, error)) *Body {
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.decided {
		return nil
	}
	r := g.requests[key]
	if r == nil {
		r = &sharedResponse{mu: &g.mu, open: open, opened: make(chan struct{})}
		r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
		r.ctx, r.pulse = llm.WithPulse(r.ctx, 0) // beats with the pulse of each candidate
		g.requests[key] = r
	}
	b := &Body{number: c.number, response: r, pulse: llm.PulseOf(ctx), closed: make(chan struct{})}
	b.pieces, b.writer = io.Pipe()
	b.unwatch = context.AfterFunc(ctx, func() { b.writer.CloseWithError(context.Cause(ctx)) })
	r.bodies = append(r.bodies, b)
	c.decide()
	return b
}

// A sharedResponse is a response read by several candidates.
type sharedResponse struct {
	mu     *sync.Mutex
	open   func(ctx context.Context, n int) (io.ReadCloser, error)
	ctx    context.Context // of the request
	cancel context.CancelFunc
	pulse  *llm.Pulse
	bodies []*Body // bodies not yet closed

	opened chan struct{} // closed once size and err are known
	size   int           // number of answers requested
	err    error         // why there is no response

	usageOwner *Body // counts the usage; nil if not yet known
}

// start sends the request. The group must be locked.
func (r *sharedResponse) start() {
	r.size = len(r.bodies)
	slices.SortFunc(r.bodies, func(a, b *Body) int { return cmp.Compare(a.number, b.number) })
	for i, b := range r.bodies {
		b.Index = i
	}
	if r.size < 2 {
		r.cancel()
		close(r.opened)
		return
	}
	go r.run(slices.Clone(r.bodies))
}

// run passes each piece of the response to the bodies in order, waiting until each has read it: the
// first body is the first to report the events that all of them report.
func (r *sharedResponse) run(bodies []*Body) {
	defer r.cancel()
	body, err := r.open(r.ctx, len(bodies))
	r.err = err
	close(r.opened)
	if err != nil {
		return
	}
	defer body.Close()
	piece := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = body.Read(piece)
		for _, b := range bodies {
			if n > 0 {
				b.deliver(piece[:n])
			}
		}
	}
	for _, b := range bodies {
		b.end(err)
	}
}

// A Body is one candidate's copy of a shared response, with all of its bytes. It is read by
// one goroutine, and ends with the context of its candidate.
type Body struct {
	Index int // index of the candidate's answer, from 0

	number    int // number of the candidate
	response  *sharedResponse
	pulse     *llm.Pulse
	seenBeats uint64 // beats of pulse already passed on to the response
	pieces    *io.PipeReader
	writer    *io.PipeWriter
	closed    chan struct{}
	unwatch   func() bool // stops watching the candidate's context
}

// deliver passes a piece to the reader, and waits until it wants another one or the body is closed.
func (b *Body) deliver(piece []byte) {
	_, _ = b.writer.Write(piece)
	_, _ = b.writer.Write(nil) // waits for the next Read
}

// end ends the body with err, and waits until it is closed.
func (b *Body) end(err error) {
	b.writer.CloseWithError(err)
	<-b.closed
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (n int, err error) {
	if beats := b.pulse.Beats(); beats != b.seenBeats {
		b.seenBeats = beats
		b.response.pulse.Beat()
	}
	for n == 0 && err == nil && len(p) > 0 {
		n, err = b.pieces.Read(p)
	}
	return n, err
}

// Close releases the response. Closing the last body cancels its request.
func (b *Body) Close() error {
	b.response.mu.Lock()
	defer b.response.mu.Unlock()
	if i := slices.Index(b.response.bodies, b); i >= 0 {
		b.response.bodies = slices.Delete(b.response.bodies, i, i+1)
		b.unwatch()
		b.pieces.Close()
		close(b.closed)
	}
	if len(b.response.bodies) == 0 && b.response.size > 1 {
		b.response.cancel()
	}
	return nil
}

// CountsUsage reports whether the usage of the response, which covers all its answers, counts for
// this one. It does for the first body that asks, and for a nil body.
func (b *Body) CountsUsage() bool {
	if b == nil {
		return true
	}
	b.response.mu.Lock()
	defer b.response.mu.Unlock()
	if b.response.usageOwner == nil {
		b.response.usageOwner = b
	}
	return b.response.usageOwner == b
}
