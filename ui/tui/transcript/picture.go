package transcript

// Picture adds cells in which the terminal draws an image, or changes those of
// the one with this id. They are drawn as they are, if there is room for them.
func (m *Model) Picture(id string, cells []string, cols int) {
	m.put(aNote, id, &drawn{cells, cols})
}

// drawn holds an image.
type drawn struct {
	cells []string
	cols  int
}

func (b *drawn) lay(p page) (sign string, lines []string) {
	if b.cols > p.width {
		return "", nil
	}
	return "", b.cells
}

func (b *drawn) source() (text, what string) { return "", "picture" }
func (b *drawn) texts(to []string) []string  { return to }
