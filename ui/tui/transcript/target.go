package transcript

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Tag sets the message of the conversation to which the blocks belong that are
// added from now on, by its number in the store; 0 if it has none yet.
func (m *blockList) Tag(seq int) { m.messageSeq = seq }

// Show puts the first block of a message at the top, and the cursor on it; it
// tells whether there is one.
func (m *Model) Show(seq int) bool {
	i := slices.IndexFunc(m.items, func(it *item) bool { return seq != 0 && it.messageSeq == seq })
	if i < 0 {
		return false
	}
	m.details = nil
	i = m.nextVisible(i, 1)
	m.setCursor(i)
	m.jumpTo(rowPos{i, 0})
	return true
}

// A Target is what a key was pressed on while browsing.
type Target struct {
	Seq     int // tag of the block under the cursor; 0 for none
	User    int // tag of the user's message that it is, or follows; 0 for none
	Message int // which of the user's messages that is, counted from 0; -1 for none
}

// What the user wants done with a message. The root does it.
type (
	RegenerateMsg struct{ Target } // answer the message once more
	EditMsg       struct{ Target } // write the message anew, as a branch
	ForkMsg       struct{ Target } // go on from here in a new conversation
	WireMsg       struct{ Target } // show what went over the wire
)

// target returns what the cursor is on.
func (m *browser) target() Target {
	t := Target{Seq: m.items[m.cursor].messageSeq, Message: -1}
	for _, it := range m.items[:m.cursor+1] {
		if it.kind == kindUser {
			t.User, t.Message = it.messageSeq, t.Message+1
		}
	}
	return t
}

// requestCmd returns a key that asks the root for something.
func requestCmd(wrap func(Target) tea.Msg) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		msg := wrap(m.target())
		return func() tea.Msg { return msg }
	}
}
