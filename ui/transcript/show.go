package transcript

// Show scrolls to the message of this tag, if there is one.
func (m *Model) Show(seq int) {
	for i, it := range m.items {
		if it.tag == seq && seq != 0 {
			m.jump(pos{item: i})
			return
		}
	}
}
