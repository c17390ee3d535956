// Package chat is the conversation on the screen: the transcript, the running turn, the
// pump between the two, and the user's own shell commands.
//
//	session.Turn ──► pump ──► Chat.Update ──► OnEvent ──► Chat.Apply ──► transcript
package chat

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/transcript"
)

// A Chat is the conversation on the screen: the transcript, and the turn that extends it.
type Chat struct {
	*common.Screen
	App        *app.App
	Transcript *transcript.Model
	Turn       *Turn                       // nil if no turn is running
	HasContent bool                        // the transcript is not empty
	SaveErr    error                       // why the conversation is not stored; nil if it is
	OnEvent    func(session.Event) tea.Cmd // handles the events of the turn; it calls Apply
	Perform    func(app.Effect) tea.Cmd

	pump     *pump
	images   images
	switched shownSwitch // the last switch
	shells   []*shellRun // running commands
	ended    []func()    // remove the records of commands whose output is attached
}

// A shownSwitch is a switch of the model, and the id of its block.
type shownSwitch struct {
	session.ModelSwitched
	id string
}

// New returns an empty conversation.
func New(s *common.Screen, a *app.App) *Chat {
	t := transcript.New(s.Theme)
	t.SetMotion(s.Config.Motion != "off")
	t.Now = s.Now
	c := &Chat{Screen: s, App: a, Transcript: t}
	c.setImages(s.Config.Images)
	return c
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
	case SavedMsg:
		if msg.Of != c.App.Session {
			return nil, true // it was closed; its losses are reported when it is closed
		}
		return c.saved(msg.Err), true
	case app.Reconfigured:
		if ui, ok := msg.UI.(common.Config); ok {
			c.Transcript.SetMotion(ui.Motion != "off")
			if ui.Images != c.images.setting {
				return c.setImages(ui.Images), false
			}
		}
	case transcript.EdgeMsg:
		return c.Transcript.Update(msg), true
	case transcript.CopyMsg:
		return c.Copy(msg.Text, msg.What), true
	case transcript.StopMsg:
		if c.Turn == nil {
			return nil, true
		}
		cmd, _ := c.stopCall(string(msg))
		return cmd, true
	case transcript.ToastMsg:
		return c.ShowToast(string(msg)), true
	}
	return c.updateImages(msg)
}

// A Turn is the running turn.
type Turn struct {
	blocks.Turn
	cancel        context.CancelCauseFunc
	Pulse         *llm.Pulse
	Stopped       bool      // the user pressed esc
	callStoppedAt time.Time // when tool calls were stopped
}

// State returns the activity of the turn in a word or two, such as "thinking".
func (t *Turn) State(now time.Time) string {
	switch {
	case t.Stopped:
		return "stopping"
	case t.WaitedFor(now) > 15*time.Second && t.RetryIn(now) == 0:
		return "no answer yet"
	}
	doing := [...]string{blocks.Waiting: "waiting", blocks.Reasoning: "thinking", blocks.Answering: "answering", blocks.Calling: "calling", blocks.Asking: "running", blocks.Running: "running", blocks.Comparing: "comparing", blocks.MakingImage: "drawing"}[t.Kind]
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

// Apply shows the changes of an event of the turn, except those for which skip returns true. A
// nil skip skips none.
func (c *Chat) Apply(e session.Event, skip func(blocks.Change) bool) {
	c.HasContent = true
	for _, change := range c.Turn.Apply(e, c.Now()) {
		if skip == nil || !skip(change) {
			c.draw(change)
		}
	}
}

// ShowSession shows App.Session, and watches whether it can be stored.
func (c *Chat) ShowSession() {
	c.SaveErr = nil
	s := c.App.Session
	s.OnSave(func(err error) { c.Send(SavedMsg{s, err}) })
	c.Replay()
}

// Minimum number of messages in a page of a stored conversation. The last page is short, so
// that it appears at once.
const (
	lastPage  = 100
	olderPage = 400
)

// Replay shows the current branch of the stored conversation as it looked live: first its last
// page, then earlier pages when the user scrolls to them.
func (c *Chat) Replay() {
	c.Defer(c.DeleteImages())
	c.Transcript.Clear()
	c.switched = shownSwitch{}
	s := c.App.Session
	c.HasContent = s.Head() > 0
	next := blocks.ReplayBack(s, 0, lastPage, c.Transcript.Blocks.NewID, c.draw)
	c.Transcript.Blocks.SetMessageSeq(0)
	ahead := 1 // Seq of the first message that is not shown, if the beginning is shown without those after it
	page := func(replay func(newID func() string) int, add func(m, page *transcript.Model), at *int) bool {
		all, page := c.Transcript, transcript.NewPage(c.Transcript)
		c.Transcript = page
		*at = replay(page.Blocks.NewID)
		c.Transcript = all
		add(all, page)
		return true
	}
	transcript.SetOlder(c.Transcript, transcript.Older{
		Load: func() bool {
			return next > ahead && page(func(newID func() string) int {
				return blocks.ReplayBack(s, next, min(olderPage, next-ahead), newID, c.draw)
			}, transcript.Prepend, &next)
		},
		Next: func() bool {
			return next-ahead > 2*olderPage && next <= s.Linear() && page(func(newID func() string) int {
				return blocks.ReplayAhead(s, ahead, next, olderPage, newID, c.draw)
			}, transcript.Extend, &ahead)
		},
		Left: func() int { return max(next-ahead, 0) },
	})
}
