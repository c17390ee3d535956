package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/agentcli"
	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/blocks"
	"parley/ui/cli/cmdutil"
	"parley/ui/print"
)

// recordedTurn returns the events of a turn answered from a recorded conversation.
func recordedTurn(t *testing.T, dir string) (events []session.Event) {
	t.Helper()
	var meta struct {
		Kind      string `json:"parley_kind"`
		Model     string
		Mode      string
		Exchanges []struct {
			Response, Stderr string
			Status           int
			Type             string `json:"content_type"`
			Exit             int    `json:"exit_code"`
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil || json.Unmarshal(data, &meta) != nil {
		t.Fatal(dir, err)
	}
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served == len(meta.Exchanges) {
			w.WriteHeader(http.StatusBadRequest) // the recording ends here
			return
		}
		e := meta.Exchanges[served]
		served++
		w.Header().Set("Content-Type", e.Type)
		w.WriteHeader(e.Status)
		body, _ := os.ReadFile(filepath.Join(dir, e.Response))
		_, _ = w.Write(body)
	}))
	defer server.Close()
	p := providers.Provider{Kind: meta.Kind, BaseURL: server.URL + "/v1", APIKey: "sk-recorded"}
	switch {
	case meta.Kind == "gemini":
		p.BaseURL = server.URL + "/v1beta"
	case strings.HasSuffix(meta.Kind, "-cli"):
		body, err := filepath.Abs(filepath.Join(dir, meta.Exchanges[0].Response))
		if err != nil {
			t.Fatal(err)
		}
		p.BaseURL, p.APIKey = "", ""
		program := filepath.Join(t.TempDir(), "program")
		p.Command = agentcli.CommandLine{Words: []string{program}}
		if err := os.WriteFile(program, []byte("#!/bin/sh\ncat '"+body+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	none, stream := 0, meta.Mode != "json"
	p.MaxRetries, p.Stream = &none, &stream
	model, err := providers.Open(providers.Config{Providers: map[string]providers.Provider{"mock": p}}, "mock/"+meta.Model, providers.OpenOptions{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(dir, err)
	}
	s := session.New(session.Options{Model: model})
	defer s.Close()
	for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "go"}) {
		events = append(events, e)
	}
	return events
}

// allowedBreaks returns the separate texts of a turn: between each two there is a call, a result or another message.
func allowedBreaks(events []session.Event) (texts []string) {
	apart, known := true, map[string]bool{}
	for _, e := range events {
		switch e := e.(type) {
		case session.Response, llm.Retry:
			apart = true
			clear(known)
		case llm.Delta:
			switch {
			case e.Kind == llm.Call, e.Kind == llm.Result, e.Kind == llm.Thinking && known[e.Block]:
				apart = true
			case e.Kind == llm.Text:
				if apart = apart || e.Begins; e.Text == "" {
					break
				}
				if apart && !known[e.Block] {
					texts = append(texts, "")
				}
				apart, known[e.Block] = false, true
				texts[len(texts)-1] += e.Text
			}
		}
	}
	return texts
}

// TestRecordedTextIsWhole: for each recording, the printed, shown and stored texts equal the received ones, unbroken
// between calls, results and other messages.
func TestRecordedTextIsWhole(t *testing.T) {
	dirs, _ := filepath.Glob("../../../shared/wire/*/*/meta.json")
	if len(dirs) == 0 {
		t.Skip("no recordings in ../shared/wire beside the repository")
	}
	breaks, said := 0, 0
	for _, file := range dirs {
		dir := filepath.Dir(file)
		events := recordedTurn(t, dir)
		want := allowedBreaks(events)
		breaks, said = breaks+max(len(want)-1, 0), said+min(len(want), 1)
		name := filepath.Base(dir)
		whole := strings.Join(want, "\n\n")
		for _, format := range []string{"json", "jsonl"} {
			if got := printedText(t, events, format); strings.TrimRight(got, "\n") != strings.TrimRight(whole, "\n") {
				t.Errorf("%s: %s has\n%q, want\n%q", name, format, got, whole)
			}
		}
		lines := ""
		for i, text := range want {
			if i > 0 {
				lines += "\n"
			}
			if lines += text; !strings.HasSuffix(text, "\n") {
				lines += "\n"
			}
		}
		if got := printedText(t, events, "text"); got != lines {
			t.Errorf("%s: text is\n%q, want\n%q", name, got, lines)
		}
		var shown []string // by block of the screen
		var turn blocks.Turn
		places := map[string]int{}
		for _, e := range events {
			for _, c := range turn.Apply(e, time.Unix(0, 0)) {
				if c.Kind != blocks.TextBlock || c.Text == "" {
					continue
				}
				if _, known := places[c.ID]; !known {
					places[c.ID] = len(shown)
					shown = append(shown, "")
				}
				shown[places[c.ID]] += c.Text
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("%s: the screen shows\n%q, want\n%q", name, shown, want)
		}
		var stored []string
		for _, e := range events {
			if r, ok := e.(session.Response); ok && r.Message.Text() != "" {
				stored = append(stored, r.Message.Text())
			}
		}
		if got := strings.Join(stored, "\n\n"); got != whole {
			t.Errorf("%s: stored is\n%q, want\n%q", name, got, whole)
		}
	}
	t.Logf("%d recordings, %d with text, %d breaks", len(dirs), said, breaks)
}

// printedText returns the text of a turn in an output format.
func printedText(t *testing.T, events []session.Event, format string) string {
	t.Helper()
	var out bytes.Buffer
	_, cancel := context.WithCancelCause(t.Context())
	s := session.New(session.Options{Model: llm.Endpoint{Name: "mock/m"}})
	print.Run(s, iter.Seq[session.Event](slices.Values(events)), cancel, cmdutil.PrintOptions{Format: format, Raw: true, Out: &out, Err: &bytes.Buffer{}})
	if format == "text" {
		return out.String()
	}
	text := ""
	for line := range strings.Lines(out.String()) {
		var o struct{ Type, Text string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if format == "json" || o.Type == "text" {
			text += o.Text
		}
	}
	return text
}
