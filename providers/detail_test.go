package providers

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// Each wire format sends the detail of images in its own field; without such a field the user gets
// a notice, but only if an image is sent.
func TestDetail(t *testing.T) {
	image := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}}
	for _, test := range []struct{ model, want, notice string }{
		{"openai/gpt-6-sol", `"detail": "low"`, ""},
		{"xai/grok-4.7", `"detail": "low"`, ""},
		{"gemini/gemini-3-pro", `"mediaResolution": "MEDIA_RESOLUTION_LOW"`, ""},
		{"anthropic/claude-sonnet-5-5", "", "does not support the detail of images"},
		{"mistral/mistral-medium-3.5", "", "does not support the detail of images"},
	} {
		for _, shown := range []bool{true, false} {
			req := llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Detail: "low"}}
			if shown {
				req.Messages[0] = image
			}
			text, notices, err := Preview(Default(), test.model, OpenOptions{Getenv: func(string) string { return "key" }}, func(llm.Endpoint) llm.Request { return req })
			if err != nil {
				t.Errorf("%s: %v", test.model, err)
				continue
			}
			told := ""
			for _, n := range notices {
				told += n.Text
			}
			if wanted := shown && test.notice != ""; strings.Contains(told, "detail of images") != wanted {
				t.Errorf("%s, image %v: told %q", test.model, shown, told)
			}
			if shown && !strings.Contains(text, test.want) {
				t.Errorf("%s: %s, want %s", test.model, text, test.want)
			}
			if strings.Contains(text, `"low"`) != (shown && strings.Contains(test.want, `"low"`)) {
				t.Errorf("%s, image %v: %s", test.model, shown, text)
			}
		}
	}
}
