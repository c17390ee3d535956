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

// eventsMsg wakes the screen, because the pump has events.
type eventsMsg struct{ from *pump }

// A pump passes events from the goroutine of a turn to the screen. It joins
// deltas of the same block and keeps at most one wake outstanding, or two
// briefly, so that a flood costs the screen no more than one update per frame.
// The first delta wakes the screen immediately, further deltas once per interval,
// and any other event immediately.
type pump struct {
	send func(tea.Msg)

	mu      sync.Mutex
	events  []session.Event
	open    []*pendingDelta // texts that may continue, at most one per answering model
	every   time.Duration   // between wakes
	last    time.Time       // when the screen last took events
	timer   *time.Timer     // timer of the last scheduled wake; nil before the first
	awake   bool            // a wake is outstanding or scheduled
	urgent  bool            // the outstanding wake is immediate
	size    int             // bytes in events and text
	room    sync.Cond       // signaled when the screen took events
	closed  bool
	deltas  [2]int // since the screen last took events, and in the frame before
	gathers bool   // deltas are gathered until a frame is due
}

// maxQueued is how many bytes the screen takes at once. The rest comes with the next
// wake, so that keys are handled in between.
const maxQueued = 64 << 10

// full is how many bytes may wait for the screen before put blocks.
const full = 1 << 20

func newPump(send func(tea.Msg), every time.Duration) *pump {
	p := &pump{send: send, every: every}
	p.room.L = &p.mu
	return p
}

// close unblocks all waiting calls, because the screen is gone.
func (p *pump) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.room.Broadcast()
}

// frameTime returns the minimum time between two wakes.
func frameTime(env func(string) string) time.Duration {
	if env("SSH_TTY") != "" || env("SSH_CONNECTION") != "" {
		return 50 * time.Millisecond
	}
	return 33 * time.Millisecond
}

// put adds an event. It blocks while too much is waiting for the screen.
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

// Timing of reads of a displayed stream.
const (
	many           = 150                   // deltas per frame (5,000 tokens a second) above which they are read as they come
	early          = 4 * time.Millisecond  // how long before a frame the data read so far are enough for it
	stragglerDelay = 2 * time.Millisecond  // how long a frame waits for data being read
	maxDelay       = 50 * time.Millisecond // limit, so that the end of an answer is never late
)

// readDelay returns how long to wait before the next read of an answer after all
// received data was read. The wait lasts until the next frame, so that one read gets all
// data for it. It is 0 if tokens come only now and then, or so fast that the connection
// could not buffer them.
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
	case p.timer != nil && len(p.open) <= 1 && p.timer.Stop(): // others may be read soon
		p.timer.Reset(0) // sending here could delay a connection shared with others
	}
	return min(p.every, maxDelay)
}

// schedule schedules a wake for when an event is due, and reports whether it is due now.
func (p *pump) schedule(urgent bool, now time.Time) bool {
	if p.awake && (p.urgent || !urgent) {
		return false
	}
	wait := p.every - now.Sub(p.last)
	switch {
	case urgent:
		wait = 0
	case p.gathers: // more deltas are being read
		wait = max(wait, stragglerDelay)
	}
	p.awake, p.urgent = true, wait <= 0
	if wait > 0 {
		p.wakeAfter(wait)
	}
	return wait <= 0
}

// wakeAfter wakes the screen after wait.
func (p *pump) wakeAfter(wait time.Duration) {
	p.timer = time.AfterFunc(wait, func() { p.send(eventsMsg{p}) })
}

// alone is the lane of the only answering model.
const alone = -1

// A pendingDelta is a delta with the deltas joined to it.
type pendingDelta struct {
	candidate int
	delta     llm.Delta
	text      strings.Builder // its Text or Input
}

// candidateOf returns the number of the compared model that an event concerns, or alone.
func candidateOf(e session.Event) int {
	if l, ok := e.(session.CandidateEvent); ok {
		return l.N
	}
	return alone
}

// deltaOf returns the delta in e, and its lane.
func deltaOf(e session.Event) (lane int, d llm.Delta, ok bool) {
	if l, is := e.(session.CandidateEvent); is {
		d, ok = l.Event.(llm.Delta)
		return l.N, d, ok
	}
	d, ok = e.(llm.Delta)
	return alone, d, ok
}

// event returns d as an event of its lane.
func event(lane int, d llm.Delta) session.Event {
	if lane == alone {
		return d
	}
	return session.CandidateEvent{N: lane, Event: d}
}

// join appends a delta to the open text of its lane if it continues that text.
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

// continues reports whether d can be joined to g.
func (g *pendingDelta) continues(d llm.Delta) bool {
	return g.delta.Block == d.Block && (g.delta.Input != "") == (d.Input != "") &&
		(d.Kind == "" || d.Kind == g.delta.Kind) && g.text.Len() < maxQueued
}

// plain reports whether d only appends to a single field.
func plain(d llm.Delta) bool {
	return (d.Text == "") != (d.Input == "") &&
		d.ID == "" && d.Name == "" && !d.Failed && !d.Remote && d.MIME == "" && d.URL == "" && d.Data == nil && d.State == nil
}

// end moves the open text of a lane to the events; for the lane alone, the
// texts of all lanes.
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

// take returns the events to show now. Events beyond maxQueued bytes wait for
// the next wake.
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

// took tells the pump how long showing the last events took. The interval
// between wakes becomes at least ten times that, to limit the load.
func (p *pump) took(cost, frame time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every = max(frame, 10*cost)
}
