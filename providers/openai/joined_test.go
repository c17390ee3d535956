package openai

import (
	"parley/providers/llm"
	"testing"
)

// A file in a message that joins the one before is written once, and told once where it is left out.
func TestJoinedFileIsWrittenOnce(t *testing.T) {
	h := &history{partEncoder: chatEncoder(Dialect{}, "")}
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "Returned by the tool:"}, {Kind: llm.Media, MIME: "image/png", Data: []byte("png")}})
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "and this"}, {Kind: llm.Media, MIME: "video/mp4", Name: "v.mp4", Data: []byte{0, 1, 0xff}}})
	list, _ := h.list[0].(map[string]any)["content"].([]any)
	if len(h.list) != 1 || len(list) != 4 || len(h.omitted) != 1 {
		t.Errorf("%d messages, %d parts, left out: %q", len(h.list), len(list), h.omitted)
	}
}
