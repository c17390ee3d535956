package llm

import (
	"fmt"
	"unicode/utf8"
)

// The limits of one answer, so that no model and no server can fill the memory
// or a conversation. Each is far above what a real answer has. An answer that
// reaches one ends there with what came: see Out.
const (
	maxText    = 32 << 20  // bytes of text and thinking, results of remote tools and names included
	maxInput   = 16 << 20  // bytes of the arguments of one call
	maxArgs    = 32 << 20  // bytes of the arguments of all calls
	maxPending = 32 << 20  // bytes that an adapter holds back; see Out.Hold
	maxCalls   = 128       // calls, those of remote tools not counted
	maxImage   = 64 << 20  // bytes of one image or file
	maxData    = 256 << 20 // bytes of all images, files and opaque state
	maxParts   = 4096      // blocks and notices
)

// A meter counts what an answer holds. The zero value has counted nothing.
type meter struct {
	blocks map[string]*blockMeter
	name   string      // of the block that grew last
	last   *blockMeter // that block; nil if there is none

	text, args, pending, data int // bytes
	calls, parts              int
}

// blockMeter holds what was counted of one block.
type blockMeter struct {
	input, data, state int // bytes
	call, remote       bool
}

// count counts d and cuts from it what is too much. It returns the limit that was
// reached, in words; "" if none was. A delta with such a limit may have nothing
// left that is worth sending.
func (m *meter) count(d *Delta) (limit string) {
	b := m.block(d.Block)
	if m.parts > maxParts {
		d.Part = Part{}
		return fmt.Sprintf("%d blocks", maxParts)
	}
	b.remote = b.remote || d.Remote
	if d.Kind == Call && !b.call {
		if b.call = true; !b.remote {
			m.calls++
		}
	}
	if m.calls > maxCalls {
		m.calls, d.Part = maxCalls, Part{}
		return fmt.Sprintf("%d tool calls", maxCalls)
	}
	m.text += len(d.Text) + len(d.ID) + len(d.Name) + len(d.URL) + len(d.MIME)
	if over := m.text - maxText; over > 0 {
		d.Text = truncateUTF8(d.Text, len(d.Text)-over)
		return sizeText(maxText, "text")
	}
	b.input += len(d.Input)
	m.args += len(d.Input)
	if over := max(b.input-maxInput, m.args-maxArgs); over > 0 {
		limit = sizeText(maxArgs, "arguments")
		if b.input > maxInput {
			limit = sizeText(maxInput, "arguments of one tool call")
		}
		d.Input = truncateUTF8(d.Input, len(d.Input)-over)
		return limit
	}
	m.data += len(d.Data)
	if d.State != nil { // it replaces what was there
		m.data += len(d.State) - b.state
		b.state = len(d.State)
	}
	b.data += len(d.Data)
	switch {
	case b.data > maxImage:
		d.Part = Part{} // a piece of an image is none
		return sizeText(maxImage, "one image")
	case m.data > maxData:
		d.Part = Part{}
		return sizeText(maxData, "images and data")
	}
	return ""
}

// block returns the count of a block, which is new if its name is.
func (m *meter) block(name string) *blockMeter {
	if m.last != nil && m.name == name {
		return m.last
	}
	b := m.blocks[name]
	if b == nil {
		if m.blocks == nil {
			m.blocks = map[string]*blockMeter{}
		}
		b = &blockMeter{}
		m.blocks[name] = b
		m.parts++
	}
	m.name, m.last = name, b
	return b
}

func sizeText(bytes int, of string) string { return fmt.Sprintf("%d MB of %s", bytes>>20, of) }

// truncateUTF8 returns the first n bytes of s, or fewer, so that no character is cut.
func truncateUTF8(s string, n int) string {
	for n = max(n, 0); n > 0 && n < len(s) && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:min(n, len(s))]
}

// hasContent reports whether d adds anything to an answer.
func (d Delta) hasContent() bool {
	return d.Text != "" || d.Input != "" || d.ID != "" || d.Name != "" || d.URL != "" || len(d.Data) > 0 || d.State != nil
}
