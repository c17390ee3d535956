package tui

import (
	"context"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/transcript"
)

// A chat is the conversation on the screen: the transcript, and the turn that grows it.
type chat struct {
	transcript *transcript.Model
	turn       *turn // nil: idle
	pump       *pump
	asks       []session.ApprovalRequest
	asking     string // id of the question about the first of them; "" before it was shown
	shown      bool   // something is in the transcript
	failed     bool   // the last turn can be tried again

	keyOf  func(action string) string
	images func(parts []llm.Part)         // shows those of a prompt
	runs   func(annotation int) *shellRun // a command of the user's that still runs; nil: it does not
}

// A turn is the one that runs.
type turn struct {
	app.Turn
	cancel  context.CancelFunc
	pulse   *llm.Pulse
	stopped bool      // esc was pressed
	halted  time.Time // when calls were stopped
}

// begin makes ready for the events of a turn.
func (c *chat) begin(t *turn, now time.Time) {
	t.NewID = c.transcript.NewID
	t.Begin(now)
	c.turn = t
}

// state says what goes on, in a word or two.
func (t *turn) state(now time.Time) string {
	switch {
	case t.stopped:
		return "stopping"
	case t.WaitedFor(now) > 15*time.Second:
		return "no answer yet, esc stops"
	}
	doing := [...]string{app.Waiting: "waiting", app.Reasoning: "thinking", app.Answering: "answering", app.Calling: "calling", app.Asking: "running", app.Running: "running", app.Comparing: "comparing"}[t.Doing]
	return strings.TrimSpace(doing + " " + t.Tool)
}

// apply shows what an event of the turn changes, but for what skip says.
func (c *chat) apply(e session.Event, now time.Time, skip func(app.Change) bool) {
	c.shown = true
	for _, change := range c.turn.Apply(e, now) {
		if skip == nil || !skip(change) {
			c.draw(change)
		}
	}
}

// tick shows what time alone changes.
func (c *chat) tick(now time.Time) {
	c.transcript.Tick(now)
	c.drawAll(c.turn.Tick(now))
}

// wait gives a silent model as much time again as it had.
func (c *chat) wait(now time.Time) {
	c.turn.pulse.Beat()
	c.drawAll(c.turn.Wait(now))
}

// replay shows a stored conversation as it looked when it came.
func (c *chat) replay(s *session.Session) {
	path := s.Path()
	c.shown, c.failed = len(path) > 0, false
	app.Replay(s, path, 0, len(path), c.transcript.NewID, c.draw)
	c.transcript.Tag(0)
	if n := len(path); n > 0 { // what has no whole answer can be answered
		last := path[n-1]
		c.failed = last.Interrupted || last.Role != llm.RoleAssistant && !last.Summary || last.Role == llm.RoleAssistant && last.Message.Empty()
	}
}
