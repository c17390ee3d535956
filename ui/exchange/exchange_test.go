package exchange

import (
	"strings"
	"testing"

	"parley/ui/format"
)

// An exchange is shown in parts: JSON indented, long data folded.
func TestParts(t *testing.T) {
	image := strings.Repeat("A", 2_000_000)
	part := func(t *testing.T, e Exchange, title string) format.Part {
		t.Helper()
		for _, p := range e.Parts() {
			if p.Title == title {
				return p
			}
		}
		t.Fatalf("there is no part %q", title)
		return format.Part{}
	}
	for _, tt := range []struct {
		name, body string
		text, full string // of one of the lines
	}{
		{"indented", `{"a":{"b":1}}`, `    "b": 1`, ""},
		{"base64", `{"data":"` + image + `"}`, `  "data": "AAAAAAAAAAAA… 2.0 MB of base64 …"`, `  "data": "` + image + `"`},
		{"a picture", `{"url":"data:image/png;base64,` + image + `"}`, `  "url": "data:image/png;base64,AAAAAAAAAAAA… 2.0 MB of base64 …"`, `  "url": "data:image/png;base64,` + image + `"`},
		{"a text with lines", `{"text":"one\ntwo"}`, `  "text": "one\ntwo"`, "  \"text\":\none\ntwo"},
		{"an event", "data: {\"a\":1}\n\n", `data: {"a":1}`, "data: {\n  \"a\": 1\n}"},
		{"an end", "data: [DONE]\n\n", `data: [DONE]`, ""},
		{"no JSON", "hello\r\n", "hello", ""},
		{"half of it", `{"a":`, `{"a":`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := part(t, Exchange{Response: Side{Body: tt.body}, Got: int64(len(tt.body))}, "Response body")
			found := false
			for _, l := range p.Lines {
				found = found || l.Text == tt.text && l.Full == tt.full
			}
			if !found || p.Source != tt.body {
				t.Errorf("no line %q in %.300q", tt.text, p.Lines)
			}
		})
	}
	cut := part(t, Exchange{Response: Side{Body: "a\n", Tail: "\nz", Cut: 5e6}, Got: 5e6 + 4}, "Response body")
	if !strings.Contains(cut.Source, "… 5.0 MB not kept …") {
		t.Errorf("got %q", cut.Source)
	}
}
