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

// Bounds of an image in the transcript: in cells, and of what is uploaded.
const (
	imageCols, imageRows = 48, 14
	imageEdge            = 768 // pixels
)

// images are those that the terminal draws.
type images struct {
	supported bool     // the terminal draws them
	blocks    bool     // it has colors enough for half blocks in their place
	drawn     []uint32 // their numbers in its memory
}

// newImages returns what the terminal can, by its environment.
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

// imageReadyMsg brings an image that was made ready.
type imageReadyMsg struct {
	block         string // in the transcript
	id            uint32
	png           []byte
	width, height int
	cells         []string // in its place, where the terminal draws none
}

// putImage shows the images among parts, where the terminal draws any. Others are
// named, as everything that is attached is.
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

// imageOf names the block that shows the image of another one.
func imageOf(block string) string { return block + " image" }

// drawMedia shows what came with an answer: an image as one, the rest by its name.
func (c *Chat) drawMedia(id string, p llm.Part) {
	c.Transcript.Blocks.SetNote(id, transcript.Info, attach.PartLabel(p))
	if c.images.supported || c.images.blocks {
		c.Defer(c.show(imageOf(id), p))
	}
}

// show makes an image ready for a block of its own; nil if p is none.
func (c *Chat) show(block string, p llm.Part) tea.Cmd {
	if p.Kind != llm.Media || !strings.HasPrefix(p.MIME, "image/") || len(p.Data) == 0 {
		return nil
	}
	// Programs share the numbers of a window.
	msg := imageReadyMsg{block: block, id: 1<<16 + rand.Uint32N(1<<23)}
	c.Transcript.Blocks.SetImage(block, nil, 0)
	edge := imageEdge
	if !c.images.supported {
		edge = imageCols
	}
	return func() tea.Msg {
		var err error
		if msg.png, msg.width, msg.height, err = attach.Preview(p, edge); err != nil {
			return nil // it is named all the same
		}
		if edge == imageCols {
			msg.cells = termimage.HalfBlocks(msg.png, imageCols, imageRows)
		}
		return msg
	}
}

// imageReady puts an image in its place, if that is still there.
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

// DeleteImages takes the images out of the terminal's memory.
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
