package chat

import (
	"testing"
	"time"

	"parley/ui/tui/common"
	"parley/ui/tui/transcript"
)

// A late image is shown in its reserved block, but not after the conversation was left.
func TestImageThatComesLate(t *testing.T) {
	clock := func() time.Time { return time.Unix(0, 0) }
	c := New(common.New(common.Config{}, func(string) string { return "" }, clock), nil)
	c.Transcript.SetSize(80, 24)
	ready := imageReadyMsg{block: "kept", id: 1 << 16, cells: []string{"▀▀"}}
	if _, ok := c.Update(ready); !ok || transcript.HasImage(c.Transcript, "kept") {
		t.Errorf("an image came into a conversation that has no place for it")
	}
	c.Transcript.Blocks.SetImage("kept", nil, 0)
	upload := imageReadyMsg{block: "kept", id: 1 << 16, png: []byte{1}, width: 100, height: 100}
	if cmd, ok := c.Update(upload); !ok || cmd == nil || len(c.images.drawn) != 1 {
		t.Errorf("got %d images at the terminal, want 1", len(c.images.drawn))
	}
	if cmd, ok := c.Update(imageReadyMsg{block: "kept", id: 1<<16 + 1}); !ok || cmd != nil || len(c.images.drawn) != 1 {
		t.Errorf("an image of no size was sent to the terminal")
	}
}
