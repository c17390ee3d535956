package chat

import (
	"fmt"
	"math/rand/v2"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/tui/termimage"
	"parley/ui/tui/transcript"
)

// Limits of an image in the transcript: cells, and pixels of the upload.
const (
	imageCols, imageRows = 48, 14
	imageEdge            = 768 // pixels
)

// images holds the state of the terminal's images.
type images struct {
	supported bool     // the terminal draws images
	blocks    bool     // the terminal has enough colors for half blocks instead
	drawn     []uint32 // numbers of the images in the terminal's memory
}

// newImages returns the terminal's abilities, according to its environment.
func newImages(env []string) images {
	return images{
		supported: DrawsImages(func(name string) string { return environment(env, name) }),
		blocks:    colorprofile.Env(env) >= colorprofile.ANSI256,
	}
}

func environment(env []string, name string) string {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// imageReadyMsg delivers a prepared image.
type imageReadyMsg struct {
	block         string // in the transcript
	id            uint32
	png           []byte
	width, height int
	cells         []string // shown instead, if the terminal does not draw images
}

// putImage shows the images among parts, if the terminal draws images. Otherwise
// they are only named, as all attachments are.
func (c *Chat) putImage(parts []llm.Part) tea.Cmd {
	if !c.images.supported {
		return nil
	}
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
	if c.images.supported || c.images.blocks {
		c.Defer(c.show(imageOf(id), p))
	}
}

// show prepares an image for its own block; it returns nil if p is not an image.
func (c *Chat) show(block string, p llm.Part) tea.Cmd {
	if p.Kind != llm.Media || !strings.HasPrefix(p.MIME, "image/") || len(p.Data) == 0 {
		return nil
	}
	// Programs in one terminal window share its image numbers.
	msg := imageReadyMsg{block: block, id: 1<<16 + rand.Uint32N(1<<23)}
	c.Transcript.Blocks.SetImage(block, nil, 0)
	edge := imageEdge
	if !c.images.supported {
		edge = imageCols
	}
	return func() tea.Msg {
		var err error
		if msg.png, msg.width, msg.height, err = attach.Preview(p, edge); err != nil {
			return nil // it is still named
		}
		if edge == imageCols {
			msg.cells = termimage.HalfBlocks(msg.png, imageCols, imageRows)
		}
		return msg
	}
}

// imageReady shows an image in its block, if that still exists.
func (c *Chat) imageReady(msg imageReadyMsg) tea.Cmd {
	if !transcript.HasImage(c.Transcript, msg.block) {
		return nil
	}
	if len(msg.cells) > 0 {
		c.Transcript.Blocks.SetImage(msg.block, msg.cells, ansi.StringWidth(msg.cells[0]))
		return nil
	}
	cols, rows := termimage.Fit(msg.width, msg.height, imageCols, imageRows)
	if cols == 0 {
		return nil
	}
	c.images.drawn = append(c.images.drawn, msg.id)
	c.Transcript.Blocks.SetImage(msg.block, termimage.Cells(msg.id, cols, rows), cols)
	return tea.Raw(termimage.Upload(msg.id, msg.png, cols, rows))
}

// DeleteImages deletes the images from the terminal's memory.
func (c *Chat) DeleteImages() tea.Cmd {
	if len(c.images.drawn) == 0 {
		return nil
	}
	var b strings.Builder
	for _, id := range c.images.drawn {
		b.WriteString(termimage.Forget(id))
	}
	c.images.drawn = nil
	return tea.Raw(b.String())
}
