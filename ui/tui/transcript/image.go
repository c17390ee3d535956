package transcript

// SetImage adds cells in which the terminal draws an image, or changes those of
// the one with this id. They are drawn as they are, if there is room for them.
func (m *blockList) SetImage(id string, cells []string, cols int) {
	m.putBlock(kindNote, id, &imageBlock{cells, cols})
}

// imageBlock holds an image.
type imageBlock struct {
	cells []string
	cols  int
}

func (b *imageBlock) render(p renderContext) (sign string, lines []string) {
	if b.cols > p.width {
		return "", nil
	}
	return "", b.cells
}

func (b *imageBlock) source() (text, what string) { return "", "picture" }
func (b *imageBlock) texts(to []string) []string  { return to }
