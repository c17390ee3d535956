package chat

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/tui/renderer"
	"parley/ui/tui/termimage"
	"parley/ui/tui/transcript"
)

// Limits of images in the transcript.
const (
	imageCols, imageRows = 48, 14
	imageEdge            = 768 // pixels of an upload
	maxImages            = 100 // kept for the terminal; later ones are drawn as half blocks
)

// images holds the state of the terminal's images.
type images struct {
	setting  string // ui.images
	protocol termimage.Protocol
	unasked  bool        // the terminal may support more, and was not asked
	asked    bool        // it has not answered yet: images wait
	tmux     bool        // sequences go through tmux
	cell     image.Point // size of a cell in pixels when the images were drawn
	cellSize func() image.Point
	shown    []shownImage  // in the transcript
	gate     chan struct{} // one image is decoded at a time: each may need much memory
	deleted  chan struct{} // closed by DeleteImages
}

// A shownImage is an image in the transcript.
type shownImage struct {
	block string
	part  llm.Part
	id    uint32 // number in the terminal; 0 for one that is not kept
}

// newImageID returns a number: all programs in the terminal's window share them.
func newImageID() uint32 { return 1<<16 + rand.Uint32N(1<<23) }

// setImages chooses how to draw images from now on, and draws those in the transcript again.
func (c *Chat) setImages(setting string) tea.Cmd {
	i := images{setting: setting, shown: c.images.shown, cellSize: termimage.CellSize, gate: make(chan struct{}, 1), deleted: cmp.Or(c.images.deleted, make(chan struct{}))}
	i.protocol, i.unasked = termimage.Detect(setting, c.Getenv)
	i.tmux = c.Getenv("TMUX") != ""
	strips := i.protocol == termimage.Sixel || i.protocol == termimage.ITerm
	if strips && (i.tmux || !renderer.Supported) { // tmux keeps few images, and Bubble Tea's renderer draws none
		i.protocol = termimage.Blocks
	}
	i.unasked = (i.unasked || i.protocol == termimage.Sixel) && renderer.Supported
	gone := c.forgetImages()
	c.images = i
	return tea.Batch(gone, c.showAgain())
}

// imageReadyMsg delivers a prepared image.
type imageReadyMsg struct {
	shownImage
	cells   []string
	cols    int
	upload  string // sequence for the terminal
	picture renderer.Picture
}

// Picture gives the image to the renderer.
func (m imageReadyMsg) Picture() (uint32, renderer.Picture) { return m.id, m.picture }

// putImage shows the images among parts.
func (c *Chat) putImage(parts []llm.Part) tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range parts {
		cmds = append(cmds, c.show(fmt.Sprint("image", rand.Uint64()), p))
	}
	return tea.Batch(cmds...)
}

// imageOf returns the id of the block for the image of another block.
func imageOf(block string) string { return block + " image" }

// drawMedia shows media of an answer: an image as an image, other media by name.
func (c *Chat) drawMedia(id string, p llm.Part) {
	c.Transcript.Blocks.SetNote(id, transcript.Info, attach.PartLabel(p))
	c.Defer(c.show(imageOf(id), p))
}

// show prepares an image for its own block; it returns nil if p is not an image, or the terminal draws none.
func (c *Chat) show(block string, p llm.Part) tea.Cmd {
	if p.Kind != llm.Media || !strings.HasPrefix(p.MIME, "image/") || len(p.Data) == 0 ||
		c.images.protocol == termimage.Off && !c.images.unasked && !c.images.asked {
		return nil
	}
	c.Transcript.Blocks.SetImage(block, nil, 0)
	s := shownImage{block, p, newImageID()}
	if len(c.images.shown) >= maxImages {
		s.id = 0
		return c.prepare(s, termimage.Blocks)
	}
	c.images.shown = append(c.images.shown, s)
	switch i := &c.images; {
	case i.unasked:
		i.unasked, i.asked = false, true
		return c.askForImages()
	case i.asked:
		return nil
	}
	return c.prepare(s, c.images.protocol)
}

// A protocolMsg ends the wait for the terminal's answer.
type protocolMsg struct {
	protocol termimage.Protocol
}

// askForImages asks the terminal, or tmux, whether it draws images. All terminals answer the request for
// attributes; the time limit is for others.
func (c *Chat) askForImages() tea.Cmd {
	if c.images.tmux {
		return func() tea.Msg {
			if term, passes := c.Tmux(context.Background()); passes && termimage.PlacesCells(term) {
				return protocolMsg{termimage.Kitty}
			}
			return protocolMsg{termimage.Blocks}
		}
	}
	return tea.Batch(tea.Raw(ansi.RequestNameVersion+ansi.RequestPrimaryDeviceAttributes), c.Tick(time.Second, protocolMsg{c.images.protocol}))
}

// updateImages handles reports of the terminal about images.
func (c *Chat) updateImages(msg tea.Msg) (tea.Cmd, bool) {
	i := &c.images
	switch msg := msg.(type) {
	case imageReadyMsg:
		return c.imageReady(msg), true
	case tea.WindowSizeMsg:
		if i.protocol == termimage.Sixel && !i.asked && i.cellSize() != i.cell { // the font has another size
			return tea.Batch(c.forgetImages(), c.showAgain()), false
		}
	case tea.TerminalVersionMsg:
		if i.asked && termimage.IsOldKitty(msg.Name) {
			i.protocol = termimage.Blocks
		}
		return nil, false
	case uv.PrimaryDeviceAttributesEvent:
		const sixel = 4
		if i.protocol != termimage.Kitty && slices.Contains(msg, sixel) && drawable(i.cellSize()) {
			return c.answered(termimage.Sixel), true
		}
		return c.answered(i.protocol), true
	case protocolMsg:
		return c.answered(msg.protocol), true
	}
	return nil, false
}

func (c *Chat) answered(p termimage.Protocol) tea.Cmd {
	if !c.images.asked {
		return nil
	}
	c.images.asked, c.images.protocol = false, p
	return c.showAgain()
}

// drawable reports whether images can be made for cells of this size.
func drawable(cell image.Point) bool { return cell.X > 0 && cell.Y > 0 && max(cell.X, cell.Y) <= 100 }

// showAgain draws the images of the transcript, or removes them if the terminal draws none.
func (c *Chat) showAgain() tea.Cmd {
	if c.images.asked {
		return nil
	}
	var cmds []tea.Cmd
	c.images.cell = c.images.cellSize()
	for i := range c.images.shown {
		s := &c.images.shown[i]
		s.id = newImageID()
		if c.images.protocol != termimage.Off {
			cmds = append(cmds, c.prepare(*s, c.images.protocol))
		} else if transcript.HasImage(c.Transcript, s.block) {
			c.Transcript.Blocks.SetImage(s.block, nil, 0)
		}
	}
	return tea.Batch(cmds...)
}

// prepare returns a command that decodes an image and encodes it for the terminal.
func (c *Chat) prepare(s shownImage, p termimage.Protocol) tea.Cmd {
	gate, deleted, tmux, cell := c.images.gate, c.images.deleted, c.images.tmux, c.images.cell
	if !drawable(cell) {
		cell = image.Pt(16, 32)
	}
	edge := map[termimage.Protocol]int{
		termimage.Kitty: imageEdge, termimage.Blocks: imageCols,
		termimage.ITerm: imageCols * cell.X, termimage.Sixel: imageCols * cell.X,
	}[p]
	return func() tea.Msg {
		select {
		case gate <- struct{}{}:
		case <-deleted:
			return nil
		}
		defer func() { <-gate }()
		png, width, height, err := attach.Preview(s.part, edge)
		if err != nil {
			return nil // it is still named
		}
		msg := imageReadyMsg{shownImage: s}
		if p == termimage.Blocks {
			if msg.cells = termimage.HalfBlocks(png, imageCols, imageRows); len(msg.cells) > 0 {
				msg.cols = ansi.StringWidth(msg.cells[0])
			}
			return msg
		}
		cols, rows := termimage.Fit(width, height, imageCols, imageRows)
		if p == termimage.Kitty {
			msg.upload = through(tmux, termimage.Upload(s.id, png, cols, rows))
		} else if strips := termimage.NewStrips(p, png, cols, rows, cell); strips != nil {
			msg.picture = renderer.Picture{Append: strips.Append, Fixed: p == termimage.Sixel}
		}
		msg.cells, msg.cols = termimage.Cells(s.id, cols, rows), cols
		return msg
	}
}

// through returns sequences in the form in which tmux passes them on.
func through(tmux bool, seq string) string {
	if !tmux {
		return seq
	}
	var b strings.Builder
	for _, part := range strings.SplitAfter(seq, "\x1b\\") {
		if part != "" {
			b.WriteString(ansi.TmuxPassthrough(part))
		}
	}
	return b.String()
}

// imageReady shows an image in its block, if that still exists and the image was not prepared again since.
func (c *Chat) imageReady(msg imageReadyMsg) tea.Cmd {
	current := msg.id == 0 || slices.ContainsFunc(c.images.shown, func(s shownImage) bool { return s.id == msg.id })
	if !current || !transcript.HasImage(c.Transcript, msg.block) {
		return func() tea.Msg { return renderer.ForgetPicturesMsg{msg.id} }
	}
	if len(msg.cells) == 0 {
		return nil
	}
	c.Transcript.Blocks.SetImage(msg.block, msg.cells, msg.cols)
	if msg.upload == "" {
		return nil
	}
	return tea.Raw(msg.upload)
}

// DeleteImages deletes the images from the memory of the terminal and the renderer.
func (c *Chat) DeleteImages() tea.Cmd {
	gone := c.forgetImages()
	close(c.images.deleted)
	c.images.shown, c.images.deleted = nil, make(chan struct{})
	return gone
}

func (c *Chat) forgetImages() tea.Cmd {
	var b strings.Builder
	var ids renderer.ForgetPicturesMsg
	for _, s := range c.images.shown {
		ids = append(ids, s.id)
		b.WriteString(through(c.images.tmux, termimage.Forget(s.id)))
	}
	if len(ids) == 0 || c.images.asked {
		return nil
	}
	forget := func() tea.Msg { return ids }
	if c.images.protocol == termimage.Kitty {
		return tea.Batch(tea.Raw(b.String()), forget)
	}
	return forget
}
