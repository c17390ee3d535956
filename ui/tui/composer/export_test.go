package composer

// Stashed returns how many drafts are set aside.
func (m *recall) Stashed() int { return len(m.stash) }
