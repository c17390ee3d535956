// Package chat is the conversation on the screen: the transcript, the turn that grows it,
// the pump between the two, and the user's own shell commands.
//
//	session.Turn ──► pump ──► Chat.Update ──► OnEvent ──► Chat.Apply ──► transcript
package chat

import (
	"context"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/termimage"
	"parley/ui/tui/transcript"
)

// A Chat is the conversation on the screen: the transcript, and the turn that grows it.
type Chat struct {
	*common.Screen
	App        *app.App
	Transcript *transcript.Model
	Turn       *Turn                       // nil: idle
	HasContent bool                        // something is in the transcript
	SaveErr    error                       // why what is said is not on disk; nil if it is
	OnEvent    func(session.Event) tea.Cmd // takes the events of the turn; it calls Apply
	Perform    func(app.Effect) tea.Cmd

	pump     *pump
	images   images
	switched shownSwitch // the last one
	shells   []*shellRun // that run
	ended    []func()    // take back the records of those whose output is attached
}

// A shownSwitch is a switch of the model, and the id of its line.
type shownSwitch struct {
	session.ModelSwitched
	id string
}

// New returns an empty conversation.
func New(s *common.Screen, a *app.App) *Chat {
	t := transcript.New(s.Theme)
	t.SetMotion(s.Config.Motion != "off")
	t.Now = s.Now
	return &Chat{Screen: s, App: a, Transcript: t, images: newImages(os.Environ())}
}

// Update handles the messages of this package, and reports whether msg is one.
func (c *Chat) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case eventsMsg:
		return c.handleEvents(msg), true
	case TickMsg:
		return c.ticked(msg), true
	case shellMsg:
		return c.shellSays(msg), true
	case imageReadyMsg:
		return c.imageReady(msg), true
	case SavedMsg:
		if msg.Of != c.App.Session {
			return nil, true // it was left: what of it is lost is told when it is closed
		}
		return c.saved(msg.Err), true
	case transcript.EdgeMsg:
		return c.Transcript.Update(msg), true
	case transcript.CopyMsg:
		return c.Copy(msg.Text, msg.What), true
	case transcript.ToastMsg:
		return c.ShowToast(string(msg)), true
	}
	return nil, false
}

// A Turn is the running turn.
type Turn struct {
	app.Turn
	cancel        context.CancelCauseFunc
	Pulse         *llm.Pulse
	Stopped       bool      // esc was pressed
	callStoppedAt time.Time // when calls were stopped
}

// State returns what the turn does, in a word or two, such as "thinking".
func (t *Turn) State(now time.Time) string {
	switch {
	case t.Stopped:
		return "stopping"
	case t.WaitedFor(now) > 15*time.Second:
		return "no answer yet · esc stop"
	}
	doing := [...]string{app.Waiting: "waiting", app.Reasoning: "thinking", app.Answering: "answering", app.Calling: "calling", app.Asking: "running", app.Running: "running", app.Comparing: "comparing", app.MakingImage: "drawing"}[t.Kind]
	return strings.TrimSpace(doing + " " + t.Tool)
}

// Elapsed returns how long the State has lasted, with a leading space; "" for less than a
// second.
func (t *Turn) Elapsed(now time.Time) string {
	if elapsed := now.Sub(t.Since); elapsed >= time.Second {
		return " " + format.Elapsed(elapsed)
	}
	return ""
}

// Apply shows the changes that an event of the turn makes, without those for which skip returns
// true; nil skips none.
func (c *Chat) Apply(e session.Event, skip func(app.Change) bool) {
	c.HasContent = true
	for _, change := range c.Turn.Apply(e, c.Now()) {
		if skip == nil || !skip(change) {
			c.draw(change)
		}
	}
}

// ShowSession shows App.Session from now on, and watches whether it can be stored.
func (c *Chat) ShowSession() {
	c.SaveErr = nil
	s := c.App.Session
	s.OnSave(func(err error) { c.Send(SavedMsg{s, err}) })
	c.Replay()
}

// A page of a stored conversation has so many messages, or more: the last one few, so that it
// is there at once.
const (
	lastPage  = 100
	olderPage = 400
)

// Replay shows the current branch of the stored conversation as it looked live: its last page,
// and earlier pages when they come in sight.
func (c *Chat) Replay() {
	c.Transcript.Clear()
	c.switched = shownSwitch{}
	s := c.App.Session
	c.HasContent = s.Head() > 0
	next := app.ReplayBack(s, 0, lastPage, c.Transcript.Blocks.NewID, c.draw)
	c.Transcript.Blocks.SetMessageSeq(0)
	transcript.SetOlder(c.Transcript, func() bool {
		if next == 0 {
			return false
		}
		all, page := c.Transcript, transcript.NewPage(c.Transcript)
		c.Transcript = page
		next = app.ReplayBack(s, next, olderPage, page.Blocks.NewID, c.draw)
		c.Transcript = all
		transcript.Prepend(all, page)
		return true
	}, func() int { return next })
}

// DrawsImages reports whether the terminal draws images, judging by its environment.
func DrawsImages(getenv func(string) string) bool { return termimage.Supported(getenv) }
