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
	Dialog    dialog.Dialog // nil: none
	workspace string        // that an approval names paths in
	IsWriting func() bool   // something is written that enter would send
	approvals approvals

	picked   func(dialog.PickedMsg) tea.Cmd // takes a row of the open picker
	answered func(yes bool) tea.Cmd         // takes the answer to the open question
	left     func(dialog.ClosedMsg) tea.Cmd // is told that the dialog was left without a choice
}

// New returns an overlay without a dialog. Approvals name paths in workspace.
func New(s *common.Screen, workspace string) *Overlay {
	return &Overlay{Screen: s, workspace: workspace, IsWriting: func() bool { return false }}
}

// Open shows a dialog. One that is open already is left.
func (o *Overlay) Open(d dialog.Dialog) tea.Cmd {
	cmd := o.leave(dialog.ClosedMsg{})
	o.Dialog = d
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// OnLeave has f told when the open dialog is left without a choice: by esc, ctrl+c,
// or another dialog.
func (o *Overlay) OnLeave(f func(dialog.ClosedMsg) tea.Cmd) { o.left = f }

// Close takes the dialog away after a choice in it.
func (o *Overlay) Close() { o.Dialog, o.left = nil, nil }

// leave takes the dialog away without a choice.
func (o *Overlay) leave(msg dialog.ClosedMsg) tea.Cmd {
	left := o.left
	o.Close()
	if left == nil {
		return nil
	}
	return left(msg)
}

// Choose opens a picker; picked takes the row that is chosen. Nil: rows are for reading.
func (o *Overlay) Choose(d *dialog.Picker, picked func(dialog.PickedMsg) tea.Cmd) tea.Cmd {
	cmd := o.Open(d)
	o.picked = picked
	return cmd
}

// Ask asks a question with a yes and a no.
func (o *Overlay) Ask(d *dialog.Confirmation, answered func(yes bool) tea.Cmd) tea.Cmd {
	d.Now = o.Now
	cmd := o.Open(d)
	o.answered = answered
	return cmd
}

// A DrawnMsg says that the frame before it was handed to the terminal.
type DrawnMsg struct{}

// Update takes what dialogs say that any may say, and reports whether msg is that.
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
	}
	return nil, false
}

// HandleInput gives a key, a paste or the mouse to the dialog.
func (o *Overlay) HandleInput(msg tea.Msg) tea.Cmd {
	cmd := o.Dialog.Update(msg)
	return tea.Batch(cmd, o.ConfirmDrawn())
}

// Interrupt handles ctrl+c: the dialog goes, with no choice taken.
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

// ConfirmDrawn tells a question, once the frame with it has reached the terminal, that it
// was seen: what is typed before does not allow anything.
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

// IsUnscrollable reports whether the dialog is a question with nothing to scroll: its keys and
// the wheel for that are free for the conversation.
func (o *Overlay) IsUnscrollable() bool {
	q, asks := o.Dialog.(question)
	return asks && !q.Scrolls()
}

// Current returns the open dialog; nil: none.
func (o *Overlay) Current() dialog.Dialog { return o.Dialog }

// RowsAbove returns how many of the rows rows above the status line the dialog leaves in sight.
func (o *Overlay) RowsAbove(rows int) int { return max(rows-o.Dialog.Height(), 0) }

// ScrollsTranscript reports whether the wheel turns the conversation: where it is in sight, and
// below a question that has nothing to scroll.
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

// Layout gives the dialog its size, of room rows at the most, and returns how many it takes.
// An approval and the help may have nearly all, for they have to be read; lists leave the
// conversation in sight.
func (o *Overlay) Layout(width, room int) int {
	most := max(room-min(3, room/4), 0)
	switch o.Dialog.(type) {
	case *dialog.Pager:
		most = room
	case *dialog.Picker, *dialog.BranchList:
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
