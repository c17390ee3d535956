package composer

import "slices"

// maxStash bounds the drafts that are set aside; what is older goes to the
// history.
const maxStash = 20

// Stash sets the draft aside, chips and cursor included, and empties the
// composer. It reports whether there was anything to set aside.
func (m *Recall) Stash() bool {
	m.stopSearch(false)
	if m.editor.isEmpty() {
		return false
	}
	m.stash = append(m.stash, savedText{slices.Clone(m.editor.units), m.editor.cur})
	if over := len(m.stash) - maxStash; over > 0 {
		for _, d := range m.stash[:over] {
			m.Remember(value(d.units))
		}
		m.stash = slices.Delete(m.stash, 0, over)
	}
	m.swap(savedText{})
	return true
}

// Unstash brings the draft back that was set aside last, and reports whether
// there was one. What is written in the meantime is set aside in its place.
func (m *Recall) Unstash() bool {
	n := len(m.stash)
	if n == 0 {
		return false
	}
	m.stopSearch(false)
	d := m.stash[n-1]
	m.stash = m.stash[:n-1]
	if !m.editor.isEmpty() {
		m.stash = append(m.stash, savedText{slices.Clone(m.editor.units), m.editor.cur})
	}
	m.swap(d)
	return true
}

// swap puts d in the place of the draft. If the history is being looked at, what
// was written before that goes to it.
func (m *Recall) swap(d savedText) {
	if m.history.steps > 0 {
		m.Remember(value(m.history.drafts[0].units))
	}
	m.history.reset()
	m.editor.set(d.units)
	m.editor.cur = d.cur
	m.swapped()
}
