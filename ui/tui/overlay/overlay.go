// Package overlay manages the dialogs over the input: one dialog at a time, the effect
// of a choice in it, and the tool calls waiting for approval.
package overlay

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// An Overlay holds the open dialog.
type Overlay struct {
	*common.Screen
	Dialog    dialog.Dialog         // nil for none
	workspace string                // base of paths in approvals
	IsWriting func() bool           // reports whether there is text that enter would send
	Typed     func(tea.Msg) tea.Cmd // handles text typed for the composer while a question is open
	approvals approvals
	held      heldLetter

	left    func(dialog.Left) tea.Cmd // called when the dialog is left without a choice
	refresh func()                    // updates the list in the open dialog
}

// New returns an overlay without a dialog. Approvals show paths relative to workspace.
func New(s *common.Screen, workspace string) *Overlay {
	return &Overlay{Screen: s, workspace: workspace, IsWriting: func() bool { return false }}
}

// Open shows a dialog. It closes an open dialog without a choice.
func (o *Overlay) Open(d dialog.Dialog) tea.Cmd {
	cmd := o.leave(dialog.Left{})
	d.Attach(dialog.Root{Left: o.leave, Typed: o.Typed, Copy: o.Copy})
	o.Dialog = d
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// OnLeave sets a function to call when the open dialog is closed without a choice: by esc,
// ctrl+c, or another dialog.
func (o *Overlay) OnLeave(f func(dialog.Left) tea.Cmd) { o.left = f }

// OnRefresh sets a function to call when the list in the open dialog may have changed.
func (o *Overlay) OnRefresh(f func()) { o.refresh = f }

// Refresh updates the list in the open dialog.
func (o *Overlay) Refresh() {
	if o.refresh != nil {
		o.refresh()
	}
}

// Close removes the dialog after a choice in it, without calling OnLeave's function.
func (o *Overlay) Close() { o.Dialog, o.left, o.refresh = nil, nil, nil }

// leave closes the dialog without a choice.
func (o *Overlay) leave(how dialog.Left) tea.Cmd {
	left := o.left
	o.Close()
	if left == nil {
		return nil
	}
	return left(how)
}

// Choose opens a picker. It calls chosen with the chosen row; nil if rows are only for reading.
func (o *Overlay) Choose(d *dialog.Picker, chosen func(dialog.Choice) tea.Cmd) tea.Cmd {
	d.Chosen = func(c dialog.Choice) tea.Cmd {
		if o.Close(); chosen == nil {
			return nil
		}
		return chosen(c)
	}
	return o.Open(d)
}

// Ask opens a yes-or-no question and calls answered with the answer.
func (o *Overlay) Ask(d *dialog.Confirmation, answered func(yes bool) tea.Cmd) tea.Cmd {
	d.Gate.Now = o.Now
	d.Answered = func(answer int) tea.Cmd {
		o.Close()
		return answered(answer == 0)
	}
	return o.Open(d)
}

// A DrawnMsg reports that the terminal has the frame with the dialog.
type DrawnMsg struct{}

// Update handles messages about the time since a frame or a letter, and reports whether msg is one.
func (o *Overlay) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg.(type) {
	case DrawnMsg:
		if a, ok := o.Dialog.(painter); ok {
			return a.Drawn(o.Now()), true
		}
		return nil, true
	case LoneMsg: // see Settle
		return nil, true
	}
	return nil, false
}

// HandleInput passes a key, a paste or a mouse event to the dialog.
func (o *Overlay) HandleInput(msg tea.Msg) tea.Cmd {
	d := o.Dialog
	if cmd, held := o.hold(d, msg); held {
		return cmd
	}
	cmd := d.Update(msg)
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// Interrupt handles ctrl+c: it closes the dialog without a choice.
func (o *Overlay) Interrupt() tea.Cmd {
	switch d := o.Dialog.(type) {
	case *dialog.Approval, *dialog.ModelQuestion:
		o.DropPending()
	case *dialog.Confirmation:
		if q := o.approvals.question; q != nil && q.dialog == d {
			return o.decide(len(q.Choices) - 1)
		}
	}
	return o.leave(dialog.Left{})
}

// A painter is a dialog that accepts consent only for text that was drawn.
type painter interface {
	Drawn(now time.Time) tea.Cmd
}

var (
	_ painter = (*dialog.Approval)(nil)
	_ painter = (*dialog.Confirmation)(nil)
	_ painter = (*dialog.ModelQuestion)(nil)
)

// ConfirmDrawn sends a DrawnMsg once the frame has reached the terminal, if the open dialog
// waits for it before it accepts answers.
func (o *Overlay) ConfirmDrawn() tea.Cmd {
	if _, ok := o.Dialog.(painter); !ok {
		return nil
	}
	const twoFrames = 20 * time.Millisecond
	return o.Tick(twoFrames, DrawnMsg{})
}

// A question is a dialog during which the user may want to read the conversation.
type question interface {
	Scrolls() bool // reports whether it needs the scroll keys and the wheel itself
}

// IsUnscrollable reports whether the dialog is a question with nothing to scroll. Scroll keys and
// the wheel are for the transcript then.
func (o *Overlay) IsUnscrollable() bool {
	q, asks := o.Dialog.(question)
	return asks && !q.Scrolls()
}

// Current returns the open dialog; nil for none.
func (o *Overlay) Current() dialog.Dialog { return o.Dialog }

// RowsAbove returns how many of rows rows the dialog leaves to the transcript. A dialog must be
// open.
func (o *Overlay) RowsAbove(rows int) int { return max(rows-o.Dialog.Height(), 0) }

// ScrollsTranscript reports whether a mouse wheel event is for the transcript: one above the
// dialog, or over a question with nothing to scroll.
func (o *Overlay) ScrollsTranscript(msg tea.MouseMsg, rows int) bool {
	if _, wheel := msg.(tea.MouseWheelMsg); !wheel || o.Dialog == nil {
		return false
	}
	return msg.Mouse().Y < o.RowsAbove(rows) || o.IsUnscrollable() && o.RowsAbove(rows) > 0
}

// IsFullScreen reports whether the dialog takes the whole screen above the status line.
func (o *Overlay) IsFullScreen() bool {
	_, full := o.Dialog.(*dialog.Pager)
	return full
}

// IsWide reports whether the dialog takes the whole width of the screen.
func (o *Overlay) IsWide() bool {
	_, wide := o.Dialog.(interface{ Wide() })
	return wide || o.IsFullScreen()
}

// Layout sets the size of the dialog, at most room rows, and returns its number of rows: nearly
// all for approvals and help, fewer for lists.
func (o *Overlay) Layout(width, room int) int {
	most := max(room-min(3, room/4), 0)
	switch o.Dialog.(type) {
	case *dialog.Pager:
		most = room
	case interface{ Compact() }:
		most = min(most, max(room*3/4, 10))
	}
	o.Dialog.SetSize(width, most)
	return o.Dialog.Height()
}

// SetTheme changes the theme.
func (o *Overlay) SetTheme(th *theme.Theme) {
	if o.Dialog != nil {
		o.Dialog.SetTheme(th)
	}
	if o.approvals.open != nil {
		o.approvals.open.SetTheme(th)
	}
	if o.approvals.asked != nil {
		o.approvals.asked.SetTheme(th)
	}
}
