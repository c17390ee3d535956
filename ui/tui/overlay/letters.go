package overlay

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/dialog"
)

// loneDelay is how long a letter that answers waits for others. A sentence, a paste without brackets and
// a program that types are faster than that; a key that is pressed alone does not feel late.
const loneDelay = 150 * time.Millisecond

// A heldLetter answers a dialog unless text follows at once. The zero value is none.
type heldLetter struct {
	of  dialog.Lettered
	msg tea.Msg
	act func() tea.Cmd
	n   int // counts letters
}

// A LoneMsg reports that loneDelay is over for a letter.
type LoneMsg struct{ n int }

// hold keeps msg back if it is a letter that answers d, and reports whether it is.
func (o *Overlay) hold(d dialog.Dialog, msg tea.Msg) (tea.Cmd, bool) {
	q, ok := d.(dialog.Lettered)
	if !ok {
		return nil, false
	}
	act := q.LoneKey(msg)
	if act == nil {
		return nil, false
	}
	o.held = heldLetter{q, msg, act, o.held.n + 1}
	return o.Tick(loneDelay, LoneMsg{o.held.n}), true
}

// Settle decides what a delayed letter was, before msg is handled: with text after it text, with
// another key or with nothing an answer.
func (o *Overlay) Settle(msg tea.Msg) (cmd tea.Cmd) {
	held := o.held
	if held.of == nil {
		return nil
	}
	text := false
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		text = msg.Text != ""
	case tea.PasteMsg:
		text = true
	case LoneMsg:
		if msg.n != held.n {
			return nil
		}
	default:
		return nil
	}
	o.held.of = nil
	switch {
	case text:
		cmd = held.of.Type(held.msg)
	case o.Dialog == dialog.Dialog(held.of):
		cmd = held.act()
	}
	return tea.Batch(cmd, o.ConfirmDrawn())
}
