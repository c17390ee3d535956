package plain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/session"
	"parley/ui/app"
	"parley/ui/exchange"
	"parley/ui/uitest"
)

// inspecting returns a front end with these exchanges, newest first.
func inspecting(t *testing.T, list ...exchange.Exchange) (d *drive, state string) {
	t.Helper()
	state = t.TempDir()
	return talk(t, func(o *app.Options, _ *session.Options) {
		o.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
		o.Wire = app.Wire{
			List: func() []exchange.Exchange { return list },
			Get: func(id int) (exchange.Exchange, bool) {
				for _, e := range list {
					if e.ID == id {
						return e, true
					}
				}
				return exchange.Exchange{}, false
			},
		}
	}), state
}

func anExchange(id int, body, answer string) exchange.Exchange {
	return exchange.Exchange{
		ID: id, Name: "openai/gpt-x", Method: "POST", URL: "https://api.openai.com/v1/chat/completions", Status: 200, Done: true,
		Start: time.Date(2026, 11, 20, 16, 0, id, 0, time.Local), Timing: exchange.Timing{Headers: 310 * time.Millisecond, FirstByte: 312 * time.Millisecond, Total: 2204 * time.Millisecond},
		Sent: int64(len(body)), Got: int64(len(answer)), Curl: "curl -H \"Authorization: Bearer $OPENAI_API_KEY\"\n",
		Request:  exchange.Side{Headers: [][2]string{{"Authorization", "Bearer [redacted]"}}, Body: body},
		Response: exchange.Side{Headers: [][2]string{{"Content-Type", "text/event-stream"}}, Body: answer},
	}
}

// TestInspector reads the list of requests, one of them, and another; copies its command
// and writes it to a file.
func TestInspector(t *testing.T) {
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 1000)
	one := anExchange(1, `{"model":"gpt-x","messages":[{"role":"user","content":"one\ntwo"}],"image":"`+image+`"}`, "event: a\ndata: {\"delta\":\"hel\"}\n\ndata: [DONE]\n\n")
	two := anExchange(2, `{"model":"gpt-x"}`, `{"error":"slow down"}`)
	two.Status, two.Error, two.Reason, two.Curl = 429, "rate_limit", "slow down", ""
	running := anExchange(3, `{"model":"gpt-x"}`, "")
	running.Done, running.Timing = false, exchange.Timing{}
	d, state := inspecting(t, running, two, one)
	d.enter("/wire", "3", "9", "save mine.txt", "save mine.txt", "save", "curl", "2", "curl", "what?", "", "/wire", "1", "/help")
	got := strings.ReplaceAll(strings.Join(strings.Fields(d.said()), " "), d.dir, "DIR")
	for _, want := range []string{
		"3 requests:", "1. 16:00:03 openai/gpt-x, running, sent 17 bytes, received 0 bytes 2.", "2. 16:00:02 openai/gpt-x, 429 rate limit,", "3. 16:00:01 openai/gpt-x, 200, sent 24.1 KB, received 46 bytes, took 2.2 s",
		"POST https://api.openai.com/v1/chat/completions 200 OK began 2026-11-20 16:00:01.000 · headers after 310 ms · first byte after 312 ms · took 2.2 s",
		"Request headers: Authorization: Bearer [redacted]", "Request body, 24.1 KB:", `"content": "one\ntwo"`, "24.0 KB of base64", "Response body, 46 bytes, 2 events:", "data: [DONE]",
		"No request 9.", "Wrote ~/src/mine.txt", "mine.txt already exists: give another", "Wrote ~/src/wire-20261120-160001-1.txt", "rate limit: slow down", "The request was too long to be kept in full.", "No request what?.", "Closed.", "/quit: Quit parley.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q was not said:\n%s", want, d.said())
		}
	}
	if strings.Contains(got, image) {
		t.Error("base64 was read out")
	}
	for _, name := range []string{"mine.txt", "wire-20261120-160001-1.txt"} {
		if b, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || !strings.Contains(string(b), image) {
			t.Errorf("%s: %.100q, %v", name, b, err)
		}
	}
	files, _ := filepath.Glob(filepath.Join(state, "parley", "*"))
	if len(files) != 1 {
		t.Errorf("the command was copied to %q", files)
	}
	if q := d.questions.first(); q != nil || len(d.fake.Requests()) > 0 {
		t.Errorf("%v waits, and a model was asked %v", q, d.fake.Requests())
	}
}

// TestInspectorEmpty: before the first request the list is empty.
func TestInspectorEmpty(t *testing.T) {
	d, _ := inspecting(t)
	d.enter("/wire")
	if !strings.Contains(d.said(), "No requests yet.") {
		t.Errorf("said\n%s", d.said())
	}
}

// TestInspectorIsShort: for a very long body, the beginning and the total size are read.
func TestInspectorIsShort(t *testing.T) {
	d, _ := inspecting(t, anExchange(1, strings.Repeat("words of a prompt ", 1000), strings.Repeat("data: {}\n\n", 1000)))
	d.enter("/wire", "1")
	if n := strings.Count(d.said(), "data: {}"); n > 30 {
		t.Errorf("%d lines were read", n)
	}
	d.enter("all", "")
	if n := strings.Count(d.said(), "data: {}"); n < 1000 {
		t.Errorf("all are %d lines", n)
	}
	for _, want := range []string{"… 17600 more characters", "And 980 more lines."} {
		if !strings.Contains(d.said(), want) {
			t.Errorf("%q was not said:\n%s", want, d.said())
		}
	}
}

// TestInspectorHostile: for any answer of a server, the terminal gets printable text.
func TestInspectorHostile(t *testing.T) {
	texts := uitest.Hostile(60)
	e := anExchange(1, strings.Join(texts, "\n"), "data: "+strings.Join(texts, "\ndata: "))
	e.Name, e.URL, e.Reason, e.Error, e.Args = texts[0], texts[1], texts[2], "network", texts[3:6]
	e.Response.Headers = [][2]string{{texts[7], texts[8]}}
	d, _ := inspecting(t, e, e)
	d.enter("/wire", "1", "what?", "")
	if found := uitest.Foreign(d.said()); len(found) > 0 {
		t.Errorf("%d are in what was told: %.20q", len(found), found)
	}
	if !strings.Contains(d.said(), "Response body") {
		t.Errorf("too little was said:\n%s", d.said())
	}
}
