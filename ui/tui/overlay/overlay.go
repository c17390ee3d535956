// Package overlay is what lies over the input: one dialog at a time, what follows from
// a choice in it, and the tool calls that wait for their turn to be asked about.
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
	dialog.Outbox               // of all dialogs
	Dialog        dialog.Dialog // nil: none
	workspace     string        // that an approval names paths in
	IsWriting     func() bool   // something is written that enter would send
	approvals     approvals
	held          heldLetter

	picked   func(dialog.PickedMsg) tea.Cmd // takes a row of the open picker
	answered func(yes bool) tea.Cmd         // takes the answer to the open question
	left     func(dialog.ClosedMsg) tea.Cmd // is told that the dialog was left without a choice
	refresh  func()                         // reads again what the open dialog lists
}

// New returns an overlay without a dialog. Approvals name paths in workspace.
func New(s *common.Screen, workspace string) *Overlay {
	return &Overlay{Screen: s, workspace: workspace, IsWriting: func() bool { return false }}
}

// Open shows a dialog. One that is open is closed without a choice.
func (o *Overlay) Open(d dialog.Dialog) tea.Cmd {
	cmd := o.leave(dialog.ClosedMsg{})
	o.Dialog = d
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// OnLeave sets a function that is called when the open dialog is closed without a choice: by esc,
// ctrl+c, or another dialog.
func (o *Overlay) OnLeave(f func(dialog.ClosedMsg) tea.Cmd) { o.left = f }

// OnRefresh sets a function that is called when what the open dialog lists may have changed.
func (o *Overlay) OnRefresh(f func()) { o.refresh = f }

// Refresh has the open dialog list things as they are now.
func (o *Overlay) Refresh() {
	if o.refresh != nil {
		o.refresh()
	}
}

// Close removes the dialog after a choice in it: OnLeave's function is not called.
func (o *Overlay) Close() { o.Dialog, o.left, o.refresh = nil, nil, nil }

// leave takes the dialog away without a choice.
func (o *Overlay) leave(msg dialog.ClosedMsg) tea.Cmd {
	left := o.left
	o.Close()
	if left == nil {
		return nil
	}
	return left(msg)
}

// Choose opens a picker. Picked is called with the chosen row; nil: rows are for reading only.
func (o *Overlay) Choose(d *dialog.Picker, picked func(dialog.PickedMsg) tea.Cmd) tea.Cmd {
	cmd := o.Open(d)
	o.picked = picked
	return cmd
}

// Ask opens a yes/no question. Answered is called with the answer.
func (o *Overlay) Ask(d *dialog.Confirmation, answered func(yes bool) tea.Cmd) tea.Cmd {
	d.Now = o.Now
	cmd := o.Open(d)
	o.answered = answered
	return cmd
}

// A DrawnMsg reports that the terminal has the frame that showed the dialog.
type DrawnMsg struct{}

// Update handles the messages that any dialog may send, and reports whether msg is one.
func (o *Overlay) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case dialog.ClosedMsg:
		return o.leave(msg), true
	case dialog.PickedMsg:
		picked := o.picked
		if d, ok := o.Dialog.(*dialog.Picker); !ok || !d.Answered() {
			return nil, true // another dialog came in between: that list was left
		}
		if o.Close(); picked != nil {
			return picked(msg), true
		}
		return nil, true
	case dialog.Confirmed:
		answered := o.answered
		if d, ok := o.Dialog.(*dialog.Confirmation); !ok || !d.Answered() {
			return nil, true // a yes to one question is none to the next
		}
		if o.Close(); answered != nil {
			return answered(msg.Yes), true
		}
		return nil, true
	case dialog.PageCopy:
		return o.Copy(msg.Text, msg.What), true
	case dialog.Decided:
		o.decide(msg)
		return nil, true
	case dialog.AnsweredMsg:
		o.reply(msg)
		return nil, true
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
	o.Say(d.TakeSaid()...)
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// Interrupt handles ctrl+c: it closes the dialog without a choice.
func (o *Overlay) Interrupt() tea.Cmd {
	switch d := o.Dialog.(type) {
	case *dialog.Approval:
		o.DropPending()
	case *dialog.Confirmation:
		if q := o.approvals.question; q != nil && q.dialog == d {
			o.decide(dialog.Decided{Answer: len(q.Choices) - 1})
			return nil
		}
	}
	return o.leave(dialog.ClosedMsg{})
}

// A painter is a dialog that counts only what was seen.
type painter interface {
	Drawn(now time.Time) tea.Cmd
}

var (
	_ painter = (*dialog.Approval)(nil)
	_ painter = (*dialog.Confirmation)(nil)
)

// ConfirmDrawn sends a DrawnMsg once the frame has reached the terminal, if the open dialog
// accepts no answer before that.
func (o *Overlay) ConfirmDrawn() tea.Cmd {
	if _, ok := o.Dialog.(painter); !ok {
		return nil
	}
	const twoFrames = 20 * time.Millisecond
	return o.Tick(twoFrames, DrawnMsg{})
}

// A question is a dialog that one may want to read the conversation for.
type question interface {
	Scrolls() bool // by itself, with the keys and the wheel
}

// IsUnscrollable reports whether the dialog is a question with nothing to scroll: scroll keys and
// the wheel are then for the transcript.
func (o *Overlay) IsUnscrollable() bool {
	q, asks := o.Dialog.(question)
	return asks && !q.Scrolls()
}

// Current returns the open dialog; nil: none.
func (o *Overlay) Current() dialog.Dialog { return o.Dialog }

// RowsAbove returns how many of rows rows the dialog leaves to the transcript. A dialog must be
// open.
func (o *Overlay) RowsAbove(rows int) int { return max(rows-o.Dialog.Height(), 0) }

// ScrollsTranscript reports whether an event of the mouse wheel is for the transcript: one above
// the dialog, or over a question with nothing to scroll.
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

// maxWidth is how wide a dialog is at most: longer lines tire the eye. What has a
// method Wide takes all there is.
const maxWidth = 120

// Layout sets the size of the dialog, of room rows at most, and returns the rows it takes: nearly
// all for approvals and help, fewer for lists.
func (o *Overlay) Layout(width, room int) int {
	most := max(room-min(3, room/4), 0)
	switch o.Dialog.(type) {
	case *dialog.Pager:
		most = room
	case interface{ Compact() }:
		most = min(most, max(room*2/3, 10))
	}
	if _, wide := o.Dialog.(interface{ Wide() }); !wide {
		width = min(width, maxWidth)
	}
	o.Dialog.SetSize(width, most)
	return o.Dialog.Height()
}

// SetTheme changes the looks.
func (o *Overlay) SetTheme(th *theme.Theme) {
	if o.Dialog != nil {
		o.Dialog.SetTheme(th)
	}
	if o.approvals.open != nil {
		o.approvals.open.SetTheme(th)
	}
}
