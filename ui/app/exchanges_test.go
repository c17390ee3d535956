package app

import (
	"os"
	"parley/ui/format"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSaveExchange writes what is shown, for nobody else to read, and over nothing.
func TestSaveExchange(t *testing.T) {
	e := Exchange{ID: 2, Start: time.Unix(1e9, 0), Done: true,
		Request: ExchangeSide{Body: `{"model":"gpt-x"}`}, Response: ExchangeSide{Body: strings.Repeat("event: a\ndata: {}\n\n", 10)}}
	e.Sent, e.Got = int64(len(e.Request.Body)), int64(len(e.Response.Body))
	dir := t.TempDir()
	o := Options{Directory: dir}
	path, err := o.SaveExchange(e, "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || filepath.Dir(path) != dir || !strings.Contains(string(b), e.Request.Body) || !strings.Contains(string(b), e.Response.Body[:80]) {
		t.Errorf("%s: %q, %v", path, b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := o.SaveExchange(e, ""); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second time: %v", err)
	}
	if path, err := o.SaveExchange(e, "mine.txt"); err != nil || path != filepath.Join(dir, "mine.txt") {
		t.Errorf("by name: %s, %v", path, err)
	}
}

func TestExchangeParts(t *testing.T) {
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
			p := part(t, Exchange{Response: ExchangeSide{Body: tt.body}, Got: int64(len(tt.body))}, "Response body")
			found := false
			for _, l := range p.Lines {
				found = found || l.Text == tt.text && l.Full == tt.full
			}
			if !found || p.Source != tt.body {
				t.Errorf("no line %q in %.300q", tt.text, p.Lines)
			}
		})
	}
	cut := part(t, Exchange{Response: ExchangeSide{Body: "a\n", Tail: "\nz", Cut: 5e6}, Got: 5e6 + 4}, "Response body")
	if !strings.Contains(cut.Source, "… 5.0 MB not kept …") {
		t.Errorf("got %q", cut.Source)
	}
}
