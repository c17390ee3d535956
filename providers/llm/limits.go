package llm

import (
	"fmt"
	"unicode/utf8"
)

// The limits of one answer keep a model or server from exhausting the memory or filling a
// conversation. Each is far above the size of a real answer. An answer that reaches one ends there
// with the content so far: see Out.
const (
	maxText    = 32 << 20  // bytes of text and thinking, including results of remote tools and names
	maxInput   = 16 << 20  // bytes of one call's arguments
	maxArgs    = 32 << 20  // bytes of all calls' arguments
	maxPending = 32 << 20  // bytes that an adapter buffers; see Out.Hold
	maxCalls   = 128       // calls, without those of remote tools
	maxImage   = 64 << 20  // bytes of one image or file
	maxData    = 256 << 20 // bytes of all images, files and opaque state
	maxParts   = 4096      // blocks and notices
)

// A meter measures an answer. The zero value is ready to use.
type meter struct {
	blocks map[string]*blockMeter

	text, args, pending, data int // bytes
	calls, parts              int
}

// blockMeter measures one block.
type blockMeter struct {
	input, data, state int // bytes
	call, remote       bool
}

// count counts d and truncates it to the limits. It returns the description of the limit that was
// reached; "" for none. After that, d may have no content left.
func (m *meter) count(d *Delta) (limit string) {
	b := m.blocks[d.Block]
	if b == nil {
		if m.blocks == nil {
			m.blocks = map[string]*blockMeter{}
		}
		b = &blockMeter{}
		m.blocks[d.Block] = b
		m.parts++
	}
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
	if d.State != nil { // it replaces the previous state
		m.data += len(d.State) - b.state
		b.state = len(d.State)
	}
	b.data += len(d.Data)
	switch {
	case b.data > maxImage:
		d.Part = Part{} // part of an image is useless
		return sizeText(maxImage, "one image")
	case m.data > maxData:
		d.Part = Part{}
		return sizeText(maxData, "images and data")
	}
	return ""
}

func sizeText(bytes int, of string) string { return fmt.Sprintf("%d MB of %s", bytes>>20, of) }

// truncateUTF8 returns the longest prefix of s with at most n bytes that does not split a rune.
func truncateUTF8(s string, n int) string {
	for n = max(n, 0); n > 0 && n < len(s) && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:min(n, len(s))]
}

// hasContent reports whether d adds anything to an answer.
func (d Delta) hasContent() bool {
	return d.Text != "" || d.Input != "" || d.ID != "" || d.Name != "" || d.URL != "" || len(d.Data) > 0 || d.State != nil
}
