package composer

import "slices"

// maxStash is the maximum number of stashed drafts; older ones go to the
// history.
const maxStash = 20

// Stash sets the draft aside, with chips and cursor, and empties the composer.
// It reports whether there was a draft.
func (m *Recall) Stash() bool {
	m.stopSearch(false)
	if m.editor.isEmpty() {
		return false
	}
	m.stash = append(m.stash, m.editor.saved())
	if over := len(m.stash) - maxStash; over > 0 {
		for _, d := range m.stash[:over] {
			m.Remember(value(d.units))
		}
		m.stash = slices.Delete(m.stash, 0, over)
	}
	m.swap(savedText{})
	return true
}

// Unstash restores the last stashed draft, and reports whether there was one.
// The current text, if any, is stashed in its place.
func (m *Recall) Unstash() bool {
	n := len(m.stash)
	if n == 0 {
		return false
	}
	m.stopSearch(false)
	d := m.stash[n-1]
	m.stash = m.stash[:n-1]
	if !m.editor.isEmpty() {
		m.stash = append(m.stash, m.editor.saved())
	}
	m.swap(d)
	return true
}

// swap replaces the draft with d. During a walk through the history, the draft
// from its beginning is added to the history.
func (m *Recall) swap(d savedText) {
	if m.history.steps > 0 {
		m.Remember(value(m.history.drafts[0].units))
	}
	m.history.reset()
	m.editor.set(d.units)
	m.editor.Cursor = d.cur
	m.swapped()
}
