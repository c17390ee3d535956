package exchange

import (
	"strings"
	"testing"
	"time"

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

// The whole of an exchange, as the inspector and plain lines show it.
func TestExchangeAsText(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.Local)
	headers := [][2]string{{"Accept", "*/*"}, {"X", "1"}}
	answered := Timing{Headers: time.Second, FirstByte: 2 * time.Second, Total: 3 * time.Second}
	for _, tt := range []struct {
		name         string
		e            Exchange
		title, state string
		want         string
	}{
		{"answered", Exchange{Name: "p/m", Method: "POST", URL: "https://p/v1", Status: 200, Start: start, Timing: answered, Done: true, Sent: 2, Got: 24,
			Request: Side{Headers: headers, Body: "{}"}, Response: Side{Headers: headers[:1], Body: "event: x\ndata: [1]\n\ndata:{}\n"}},
			"p/m", "200", `
# Exchange
POST https://p/v1
200 OK
began 2026-03-04 05:06:07.008 · headers after 1.0 s · first byte after 2.0 s · took 3.0 s
# Request headers
Accept: */*
X: 1
# Request body (2 bytes)
{}
# Response headers
Accept: */*
# Response body (24 bytes · 2 events)
event: x
data: [1] => data: [|  1|]
data:{} => data: {}
`},
		{"running", Exchange{Name: "p", Method: "GET", URL: "u", Start: start}, "p: list models", "running", `
# Exchange
GET u
running
began 2026-03-04 05:06:07.008
`},
		{"failed", Exchange{Name: "p/m", Method: "GET", URL: "u", Status: 429, Error: "rate_limit", Reason: "slow down", Start: start, Timing: Timing{Headers: 1e6}, Done: true}, "p/m", "429 rate limit", `
# Exchange
GET u
429 Too Many Requests
rate limit: slow down
began 2026-03-04 05:06:07.008 · headers after 1 ms
`},
		{"not answered", Exchange{Name: "p/m", Method: "POST", URL: "u", Start: start, Done: true, Sent: 1, Request: Side{Body: "x", Cut: 1e6, Tail: "y"}}, "p/m", "", `
# Exchange
POST u
no answer
began 2026-03-04 05:06:07.008
# Request body (1 byte)
x
… 1.0 MB not kept …
y
`},
		{"a program", Exchange{Name: "codex", Method: "RUN", URL: "codex", Args: []string{"exec", "--json"}, Status: 1, Start: start, Timing: answered, Done: true, Got: 3,
			Request: Side{Headers: headers[:1]}, Response: Side{Headers: headers[1:], Body: "a\nb"}}, "codex", "1", `
# Exchange
RUN codex
  exec
  --json
exit status 1
began 2026-03-04 05:06:07.008 · first byte after 2.0 s · took 3.0 s
# In a file
Accept: */*
# Standard error
X: 1
# Standard output (3 bytes)
a
b
`},
		{"a program that runs", Exchange{Name: "codex", Method: "RUN", URL: "codex", Start: start, Timing: Timing{Headers: 1}}, "codex", "running", `
# Exchange
RUN codex
running
began 2026-03-04 05:06:07.008
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			for _, p := range tt.e.Parts() {
				b.WriteString("\n# " + p.Title)
				if p.Note != "" {
					b.WriteString(" (" + p.Note + ")")
				}
				for _, l := range p.Lines {
					b.WriteString("\n" + l.Text)
					if l.Full != "" {
						b.WriteString(" => " + strings.ReplaceAll(l.Full, "\n", "|"))
					}
				}
			}
			if got := b.String() + "\n"; got != tt.want || tt.e.Title() != tt.title || tt.e.State() != tt.state {
				t.Errorf("got title %q, state %q%s\nwant %q, %q%s", tt.e.Title(), tt.e.State(), got, tt.title, tt.state, tt.want)
			}
		})
	}
}

// Base64 is folded from 400 characters on, whatever is around it.
func TestBase64IsFolded(t *testing.T) {
	for n, want := range map[int]string{399: strings.Repeat("aZ0+/-_=", 50)[:399], 400: "aZ0+/-_=aZ0+… 400 bytes of base64 …"} {
		data := strings.Repeat("aZ0+/-_=", 50)[:n]
		p := Exchange{Got: 1, Response: Side{Body: "x: " + data + ", " + data}}.Parts()[1]
		if got := p.Lines[0].Text; got != "x: "+want+", "+want || (p.Lines[0].Full == "") != (n < 400) {
			t.Errorf("%d characters: got %q", n, got)
		}
	}
}
