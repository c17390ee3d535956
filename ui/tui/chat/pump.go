package chat

import (
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
)

// eventsMsg wakes the screen: the pump holds events.
type eventsMsg struct{ from *pump }

// A pump stands between the goroutine that runs a turn and the screen. It joins
// deltas of the same block and keeps one wake outstanding, two at the most, so
// that a flood costs the screen no more than a frame: the first delta wakes it at
// once, further ones every so often, anything but a delta at once.
type pump struct {
	send func(tea.Msg)

	mu      sync.Mutex
	events  []session.Event
	open    []*pendingDelta // texts that may go on, at most one for each model that answers
	every   time.Duration   // between wakes
	last    time.Time       // when the screen took events last
	timer   *time.Timer     // of the wake that is scheduled last; nil before the first
	awake   bool            // a wake is outstanding or scheduled
	urgent  bool            // and goes out at once
	size    int             // bytes in events and text
	room    sync.Cond       // signaled when the screen took some
	closed  bool
	deltas  [2]int // since the screen took events last, and in the frame before
	gathers bool   // what is sent gathers until a frame is due
}

// maxQueued is how many bytes the screen takes at once; the rest comes with the next
// wake, so that keys get their turn in between.
const maxQueued = 64 << 10

// full is how much may wait for the screen before the model has to.
const full = 1 << 20

func newPump(send func(tea.Msg), every time.Duration) *pump {
	p := &pump{send: send, every: every}
	p.room.L = &p.mu
	return p
}

// close lets nothing wait any more: the screen has gone.
func (p *pump) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.room.Broadcast()
}

// frameTime returns the least time between two wakes.
func frameTime(env func(string) string) time.Duration {
	if env("SSH_TTY") != "" || env("SSH_CONNECTION") != "" {
		return 50 * time.Millisecond
	}
	return 33 * time.Millisecond
}

// put adds an event. It waits while much is waiting for the screen already.
func (p *pump) put(e session.Event) {
	p.mu.Lock()
	for p.size > full && !p.closed {
		p.room.Wait()
	}
	lane, d, isDelta := deltaOf(e)
	if isDelta {
		p.size += len(d.Text) + len(d.Input)
		p.deltas[0]++
		p.join(lane, d)
	} else {
		p.end(candidateOf(e))
		p.events = append(p.events, e)
	}
	now := p.schedule(!isDelta, time.Now())
	p.mu.Unlock()
	if now {
		p.send(eventsMsg{p})
	}
}

// The rhythm in which a stream is read that the screen shows.
const (
	many           = 150                   // deltas in a frame from which on they are read as they come: 5,000 tokens a second
	early          = 4 * time.Millisecond  // how long before a frame is due the data read so far will do for it
	stragglerDelay = 2 * time.Millisecond  // how long a frame waits for what is being read
	maxDelay       = 50 * time.Millisecond // so that the end of an answer is never late
)

// readDelay returns how long nothing needs to be read of an answer after everything
// that arrived has been read: until the next frame, so that one read brings all that is
// new in it. It does not wait while a token comes now and then, or so much that it would
// not all be kept for us.
func (p *pump) readDelay() time.Duration { return p.delay(time.Now()) }

func (p *pump) delay(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := now.Sub(p.last)
	p.gathers = p.deltas[1] > 0 && max(p.deltas[0], p.deltas[1]) <= many && since < 3*p.every && !p.urgent && !p.closed
	switch {
	case !p.gathers:
		return 0
	case since < p.every-early:
		return min(p.every-since, maxDelay)
	case p.timer != nil && len(p.open) <= 1 && p.timer.Stop(): // others may be read in a moment
		p.timer.Reset(0) // to send here might make a connection wait that others use
	}
	return min(p.every, maxDelay)
}

// schedule has the screen woken when an event is due, and reports whether that is now.
func (p *pump) schedule(urgent bool, now time.Time) bool {
	if p.awake && (p.urgent || !urgent) {
		return false
	}
	wait := p.every - now.Sub(p.last)
	switch {
	case urgent:
		wait = 0
	case p.gathers: // more of it is being read
		wait = max(wait, stragglerDelay)
	}
	p.awake, p.urgent = true, wait <= 0
	if wait > 0 {
		p.wakeAfter(wait)
	}
	return wait <= 0
}

// wakeAfter has the screen woken later.
func (p *pump) wakeAfter(wait time.Duration) {
	p.timer = time.AfterFunc(wait, func() { p.send(eventsMsg{p}) })
}

// alone is the lane of a model that answers by itself.
const alone = -1

// A pendingDelta is a delta to which what follows is joined.
type pendingDelta struct {
	candidate int
	delta     llm.Delta
	text      strings.Builder // its Text or Input
}

// candidateOf returns which of the models that are compared an event is about.
func candidateOf(e session.Event) int {
	if l, ok := e.(session.CandidateEvent); ok {
		return l.N
	}
	return alone
}

// deltaOf returns the delta that e is, or holds.
func deltaOf(e session.Event) (lane int, d llm.Delta, ok bool) {
	if l, is := e.(session.CandidateEvent); is {
		d, ok = l.Event.(llm.Delta)
		return l.N, d, ok
	}
	d, ok = e.(llm.Delta)
	return alone, d, ok
}

// event returns d as it came.
func event(lane int, d llm.Delta) session.Event {
	if lane == alone {
		return d
	}
	return session.CandidateEvent{N: lane, Event: d}
}

// join appends a delta to the open text of its lane if it goes on with it.
func (p *pump) join(lane int, d llm.Delta) {
	if !plain(d) {
		p.end(lane)
		p.events = append(p.events, event(lane, d))
		return
	}
	i := slices.IndexFunc(p.open, func(g *pendingDelta) bool { return g.candidate == lane })
	if i >= 0 && !p.open[i].continues(d) {
		p.end(lane)
		i = -1
	}
	if i < 0 {
		p.open = append(p.open, &pendingDelta{candidate: lane, delta: d})
		i = len(p.open) - 1
	}
	p.open[i].text.WriteString(d.Text)
	p.open[i].text.WriteString(d.Input)
}

// continues reports whether d continues g.
func (g *pendingDelta) continues(d llm.Delta) bool {
	return g.delta.Block == d.Block && (g.delta.Input != "") == (d.Input != "") &&
		(d.Kind == "" || d.Kind == g.delta.Kind) && g.text.Len() < maxQueued
}

// plain reports whether d only appends, and to one field.
func plain(d llm.Delta) bool {
	return (d.Text == "") != (d.Input == "") &&
		d.ID == "" && d.Name == "" && !d.Failed && !d.Remote && d.MIME == "" && d.URL == "" && d.Data == nil && d.State == nil
}

// end puts the open text of a lane among the events; that of all if what comes
// is about none.
func (p *pump) end(lane int) {
	p.open = slices.DeleteFunc(p.open, func(g *pendingDelta) bool {
		if lane != alone && g.candidate != lane {
			return false
		}
		d := g.delta
		if d.Input != "" {
			d.Input = g.text.String()
		} else {
			d.Text = g.text.String()
		}
		p.events = append(p.events, event(g.candidate, d))
		return true
	})
}

// take returns what the screen should show now. Events beyond most bytes stay
// for another wake.
func (p *pump) take() []session.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(alone)
	n, size := 0, 0
	for n < len(p.events) && size < maxQueued {
		if _, d, ok := deltaOf(p.events[n]); ok {
			size += len(d.Text) + len(d.Input)
		}
		n++
	}
	events := p.events[:n:n]
	p.events = p.events[n:]
	p.size -= size
	p.room.Broadcast()
	p.last = time.Now()
	p.deltas = [2]int{0, p.deltas[0]}
	p.awake, p.urgent = false, false
	if len(p.events) > 0 {
		p.awake = true
		p.wakeAfter(p.every)
	}
	return events
}

// took tells the pump what showing the last events cost: the next ones come no
// sooner than ten times that, so that drawing never eats the machine.
func (p *pump) took(cost, frame time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every = max(frame, 10*cost)
}
