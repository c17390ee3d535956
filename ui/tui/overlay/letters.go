package overlay

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/dialog"
)

// loneDelay is how long a letter that answers is held to see whether others follow. Typed sentences,
// pastes without brackets and programs are faster. A single key does not feel late.
const loneDelay = 150 * time.Millisecond

// paneDelay is loneDelay for a pane. It does not wait for an answer, so that a letter is more likely to begin a
// message, which may be typed slowly.
const paneDelay = 500 * time.Millisecond

// A heldLetter is a key of a dialog, or of a pane above the input, unless text follows it. The zero value means none.
type heldLetter struct {
	of    dialog.Dialog // nil for a pane
	msg   tea.Msg
	act   func() tea.Cmd // nil: no letter is held
	typed func(tea.Msg) tea.Cmd
	n     int // sequence number of the letter
}

// A LoneMsg reports that loneDelay or paneDelay has passed for a letter.
type LoneMsg struct{ n int }

// hold holds msg back if it is a letter that answers d, and reports whether it is.
func (o *Overlay) hold(d dialog.Dialog, msg tea.Msg) (tea.Cmd, bool) {
	q, ok := d.(dialog.Lettered)
	if !ok {
		return nil, false
	}
	act := q.LoneKey(msg)
	if act == nil {
		return nil, false
	}
	return o.holdFor(d, msg, act, q.Type, loneDelay), true
}

// Hold holds back a letter that does act unless it begins a text for the input.
func (o *Overlay) Hold(msg tea.Msg, act func() tea.Cmd) tea.Cmd {
	return o.holdFor(nil, msg, act, o.Typed, paneDelay)
}

func (o *Overlay) holdFor(d dialog.Dialog, msg tea.Msg, act func() tea.Cmd, typed func(tea.Msg) tea.Cmd, delay time.Duration) tea.Cmd {
	o.held = heldLetter{d, msg, act, typed, o.held.n + 1}
	return o.Tick(delay, LoneMsg{o.held.n})
}

// Settle decides the effect of a held letter before msg is handled. If text follows, the letter
// is text. If another key follows, or nothing, it is an answer.
func (o *Overlay) Settle(msg tea.Msg) (cmd tea.Cmd) {
	held := o.held
	if held.act == nil {
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
	o.held.act = nil
	switch {
	case text:
		cmd = held.typed(held.msg)
	case o.Dialog == held.of:
		cmd = held.act()
	}
	return tea.Batch(cmd, o.ConfirmDrawn())
}
