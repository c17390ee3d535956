package composer

import tea "charm.land/bubbletea/v2"

// A Modal gives keys other meanings in some modes, as vi does.
type Modal interface {
	Insert()                          // starts the mode in which keys insert themselves, as for each new prompt
	Key(Key) (cmd tea.Cmd, done bool) // handles a key; done: it has no other effect
	KeepsColumn(key string) bool      // reports whether a key that types moves up or down, in its column
	Clamp()                           // puts a cursor that was moved where the mode allows it
	Selection() (from, to int)        // of units
	Mode() string                     // name of the mode, with the keys of an unfinished command
	HandlesEsc() bool                 // reports whether esc has an effect
}

// A Key is a pressed key with its usual action.
type Key struct {
	Name, Text             string         // Text is what the key types
	Do                     func() tea.Cmd // nil: the key types, or does nothing
	Escapes, Erases, Moves bool           // kinds of action: esc, backspace, a movement of the cursor
}

// Rows moves the cursor by rows of the screen.
type Rows struct {
	Move    func(by int)
	CanMove func(by int) bool
}

// NewModal returns a Modal for a text; nil in a build without one.
var NewModal func(text *Buffer, rows Rows) Modal

// SetModal turns modes on or off. They start in insert mode, and each new
// prompt does.
func (m *Model) SetModal(on bool) {
	switch {
	case !on:
		m.modal = nil
		m.editor.EndUndoGroup()
	case m.modal == nil && NewModal != nil:
		m.modal = NewModal(&m.editor.Buffer, Rows{m.vertical, m.canMove})
		m.modal.Insert()
	}
}

// Mode returns the name of the mode; "" if modes are off.
func (m *Model) Mode() string {
	if m.modal == nil {
		return ""
	}
	return m.modal.Mode()
}

// modalKey passes a key to the modes.
func (m *Model) modalKey(do action, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	k := Key{Name: msg.String(), Text: normalize(msg.Text), Escapes: do == cancel, Erases: do == deleteLeft, Moves: left <= do && do <= textEnd}
	if do != none {
		k.Do = func() tea.Cmd { return m.runAction(do) }
	}
	return m.modal.Key(k)
}
