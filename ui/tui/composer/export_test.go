package composer

// Stashed returns the number of stashed drafts.
func (m *Recall) Stashed() int { return len(m.stash) }
