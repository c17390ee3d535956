package anthropic_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"parley/providers/llm"
)

// recordings is a folder of recorded exchanges beside the repository; it is not
// part of it.
const recordings = "../../../shared/wire/anthropic"

type recording struct {
	Model     string `json:"model"`
	Exchanges []struct {
		Response    string            `json:"response"`
		Status      int               `json:"status"`
		ContentType string            `json:"content_type"`
		Headers     map[string]string `json:"headers"`
		Cut         bool              `json:"cut"`
	} `json:"exchanges"`
}

type outcome struct {
	Thinking  string `json:"thinking"`
	Text      string `json:"text"`
	TextMatch string `json:"text_match"`
	Calls     []struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args map[string]any `json:"arguments"`
	} `json:"tool_calls"`
	Finish     string   `json:"finish_reason"`
	FinishAlso []string `json:"finish_also"`
	Usage      *struct {
		Input  int `json:"input"`
		Cached int `json:"cached_input"`
		Output int `json:"output"`
		Think  int `json:"reasoning"`
	} `json:"usage"`
	Error *struct {
		Category string   `json:"category"`
		Also     []string `json:"category_also"`
	} `json:"error"`
}

// TestRecordings replays what services really sent, in pieces that respect
// neither lines nor runes, and compares what a neutral reader made of it.
func TestRecordings(t *testing.T) {
	dirs, _ := filepath.Glob(recordings + "/*")
	if len(dirs) == 0 {
		t.Skip("no recordings at " + recordings)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var rec recording
			var want struct{ Responses []outcome }
			load(t, filepath.Join(dir, "meta.json"), &rec)
			load(t, filepath.Join(dir, "expected.json"), &want)
			replay(t, dir, rec, want.Responses)
		})
	}
}

func load(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(file, err)
	}
}

// replay answers with the exchanges of a recording, one after the other, each
// with the history of those before it.
func replay(t *testing.T, dir string, rec recording, want []outcome) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := rec.Exchanges[n]
		body, err := os.ReadFile(filepath.Join(dir, x.Response))
		if err != nil {
			t.Error(err)
		}
		for name, value := range x.Headers {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", x.ContentType)
		w.WriteHeader(x.Status)
		random := rand.New(rand.NewPCG(1, uint64(len(body))))
		for len(body) > 0 {
			piece := min(len(body), 1+random.IntN(900))
			w.Write(body[:piece])
			w.(http.Flusher).Flush()
			body = body[piece:]
		}
		if x.Cut {
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()

	m := connect(t, s.URL, rec.Model)
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "f"}}}
	for i, o := range want {
		n = i
		got := collect(m.Stream(t.Context(), req))
		compare(t, o, got)
		answer := llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}
		results := llm.Message{Role: llm.RoleTool}
		for _, c := range answer.Calls() {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "done"})
		}
		req.Messages, _ = llm.Portable(append(req.Messages, answer, results), m.Origin())
	}
}

var finishes = map[llm.Reason]string{
	llm.Stop: "stop", llm.Length: "length", llm.Calls: "tool_calls", llm.Refused: "content_filter",
}

func compare(t *testing.T, want outcome, got collected) {
	t.Helper()
	var text, thinking string
	var calls []string
	for _, p := range got.parts {
		switch {
		case p.Kind == llm.Text:
			text += p.Text
		case p.Kind == llm.Thinking:
			thinking += p.Text
		case p.Kind == llm.Call && !p.Remote:
			var args map[string]any
			if err := json.Unmarshal([]byte(p.Input), &args); err != nil {
				t.Errorf("arguments %q: %v", p.Input, err)
			}
			call, _ := json.Marshal([]any{p.ID, p.Name, args})
			calls = append(calls, string(call))
		}
	}
	if squeeze(text) != squeeze(want.Text) && want.TextMatch != "optional" {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if squeeze(thinking) != squeeze(want.Thinking) {
		t.Errorf("thinking %q, want %q", thinking, want.Thinking)
	}
	if u := want.Usage; u != nil && (got.usage.Input != u.Input || got.usage.CacheRead != u.Cached || got.usage.Output != u.Output || got.usage.Thinking != u.Think) {
		t.Errorf("usage %+v, want %+v", got.usage, *u)
	}
	if e := want.Error; e != nil {
		if !slices.Contains(append(e.Also, e.Category), string(llm.FaultOf(got.err))) {
			t.Errorf("error %v, want %s", got.err, e.Category)
		}
		return
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	var expected []string
	for _, c := range want.Calls {
		call, _ := json.Marshal([]any{c.ID, c.Name, c.Args})
		expected = append(expected, string(call))
	}
	if !slices.Equal(calls, expected) {
		t.Errorf("calls %s, want %s", calls, expected)
	}
	if want.Finish != "" && !slices.Contains(append(want.FinishAlso, want.Finish), finishes[got.finish.Reason]) {
		t.Errorf("finish %q (%q), want %q", got.finish.Reason, got.finish.Raw, want.Finish)
	}
}

// squeeze drops white space.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
