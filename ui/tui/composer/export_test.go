package composer

// Stashed returns how many drafts are set aside.
func (m *Recall) Stashed() int { return len(m.stash) }
