package chat

import (
	"fmt"
	"math/rand/v2"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/tui/picture"
)

// Bounds of an image in the transcript: in cells, and of what is uploaded.
const (
	pictureCols, pictureRows = 48, 14
	pictureEdge              = 768 // pixels
)

// images are those that the terminal draws.
type images struct {
	supported bool
	drawn     []uint32 // their numbers in its memory
}

// picturedMsg brings an image that was made ready.
type picturedMsg struct {
	block         string // in the transcript
	id            uint32
	png           []byte
	width, height int
}

// picture shows the images among parts, where the terminal draws any. Others are
// named, as everything that is attached is.
func (c *Chat) picture(parts []llm.Part) tea.Cmd {
	if !c.images.supported {
		return nil
	}
	var cmds []tea.Cmd
	for _, p := range parts {
		if p.Kind != llm.Media || !strings.HasPrefix(p.MIME, "image/") {
			continue
		}
		// Programs share the numbers of a window.
		msg := picturedMsg{id: 1<<16 + rand.Uint32N(1<<23)}
		msg.block = fmt.Sprint("image", msg.id)
		c.Transcript.SetImage(msg.block, nil, 0)
		cmds = append(cmds, func() tea.Msg {
			var err error
			if msg.png, msg.width, msg.height, err = attach.Preview(p, pictureEdge); err != nil {
				return nil // it is named all the same
			}
			return msg
		})
	}
	return tea.Batch(cmds...)
}

// pictured puts an image in its place.
func (c *Chat) pictured(msg picturedMsg) tea.Cmd {
	cols, rows := picture.Fit(msg.width, msg.height, pictureCols, pictureRows)
	if cols == 0 {
		return nil
	}
	c.images.drawn = append(c.images.drawn, msg.id)
	c.Transcript.SetImage(msg.block, picture.Cells(msg.id, cols, rows), cols)
	return tea.Raw(picture.Upload(msg.id, msg.png, cols, rows))
}

// ForgetPictures takes the images out of the terminal's memory.
func (c *Chat) ForgetPictures() tea.Cmd {
	if len(c.images.drawn) == 0 {
		return nil
	}
	var b strings.Builder
	for _, id := range c.images.drawn {
		b.WriteString(picture.Forget(id))
	}
	c.images.drawn = nil
	return tea.Raw(b.String())
}
