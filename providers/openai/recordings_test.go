package openai_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

// recordings are folders of recorded exchanges beside the repository; they are
// not part of it.
const recordings = "../../../shared/wire/openai-[cr]*"

type recording struct {
	Kind      string   `json:"parley_kind"`
	Model     string   `json:"model"`
	Mode      string   `json:"mode"`
	Prompt    string   `json:"prompt"`
	Tags      []string `json:"tags"`
	Exchanges []struct {
		Response    string            `json:"response"`
		Status      int               `json:"status"`
		ContentType string            `json:"content_type"`
		Headers     map[string]string `json:"headers"`
		Cut         bool              `json:"cut"`
	} `json:"exchanges"`
}

type outcome struct {
	Thinking      string   `json:"thinking"`
	Text          string   `json:"text"`
	TextMatch     string   `json:"text_match"`
	ThinkingMatch string   `json:"thinking_match"`
	Calls         []called `json:"tool_calls"`
	Finish        string   `json:"finish_reason"`
	FinishAlso    []string `json:"finish_also"`
	Usage         *struct {
		Input  int      `json:"input"`
		Cached int      `json:"cached_input"`
		Output int      `json:"output"`
		Think  int      `json:"reasoning"`
		Cost   *float64 `json:"cost_usd"`
	} `json:"usage"`
	Error *struct {
		Category string   `json:"category"`
		Also     []string `json:"category_also"`
		Wait     int      `json:"retry_after_ms"`
	} `json:"error"`
}

type called struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
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

// open returns the model of either format that a kind names.
func open(t *testing.T, kind string, o openai.Options) model {
	t.Helper()
	if kind == openai.KindResponses {
		return openai.NewResponses(o)
	}
	dialect, ok := openai.DialectFor(kind, o.Model)
	if !ok {
		t.Fatalf("no dialect for kind %q", kind)
	}
	o.Dialect = dialect
	return openai.New(o)
}

type model interface {
	llm.Model
	Origin() string
	Body(llm.Request) ([]byte, error)
}

func replay(t *testing.T, dir string, rec recording, want []outcome) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n >= len(rec.Exchanges) {
			n = len(rec.Exchanges) - 1 // errors stay
		}
		x := rec.Exchanges[n]
		n++
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
	defer server.Close()

	client := wire.Client(wire.Options{Provider: "mock", URL: server.URL})
	defer client.CloseIdleConnections()
	model := open(t, rec.Kind, openai.Options{
		Provider: "mock", Model: rec.Model, BaseURL: server.URL + "/v1", Key: "test-key",
		HTTP: client, NoStream: rec.Mode == "json",
	})
	req := llm.Request{Messages: []llm.Message{llm.UserText(rec.Prompt)}}
	for _, o := range want {
		for _, c := range o.Calls {
			req.Tools = append(req.Tools, llm.Tool{Name: c.Name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	for i, o := range want {
		n = i
		parts, finish, usage, err := collect(t, model.Stream(t.Context(), req))
		if strings.Contains(strings.Join(rec.Tags, " "), "inline-") {
			for i := range o.Calls {
				o.Calls[i].ID = "" // calls found in text get ids of their own
			}
		}
		compare(t, o, parts, finish, usage, err)
		if t.Failed() || err != nil {
			return
		}
		answer := llm.Message{Role: llm.RoleAssistant, Origin: model.Origin(), Parts: parts}
		results := llm.Message{Role: llm.RoleTool}
		for _, c := range answer.Calls() {
			results.Parts = append(results.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "done"})
		}
		req.Messages, _ = llm.Portable(append(req.Messages, answer, results), model.Origin())
	}
}

// collect ranges over a stream and folds it into a message.
func collect(t *testing.T, s llm.Stream) (parts []llm.Part, finish llm.Finish, usage llm.Usage, err error) {
	t.Helper()
	var draft llm.Draft
	for e, failed := range s {
		if failed != nil {
			return draft.Close(), finish, usage, failed
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Usage:
			usage = e
		case llm.Finish:
			finish = e
		}
	}
	return draft.Done(), finish, usage, nil
}

var finishes = map[llm.Reason]string{
	llm.Stop: "stop", llm.Length: "length", llm.Calls: "tool_calls", llm.Refused: "content_filter",
}

func compare(t *testing.T, want outcome, parts []llm.Part, finish llm.Finish, usage llm.Usage, err error) {
	t.Helper()
	var text, thinking string
	calls := []called{}
	for _, p := range parts {
		switch {
		case p.Remote: // not told by a neutral reader
		case p.Kind == llm.Text:
			text += p.Text
		case p.Kind == llm.Thinking:
			thinking += p.Text
		case p.Kind == llm.Call:
			c := called{ID: p.ID, Name: p.Name}
			if err := json.Unmarshal([]byte(p.Input), &c.Arguments); err != nil {
				t.Errorf("arguments %q: %v", p.Input, err)
			}
			calls = append(calls, c)
		}
	}
	if !sameText(want.TextMatch, text, want.Text) {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if want.ThinkingMatch != "any" && squeeze(thinking) != squeeze(want.Thinking) {
		t.Errorf("thinking %q, want %q", thinking, want.Thinking)
	}
	if want.Error != nil {
		fault := string(llm.FaultOf(err))
		coarse := map[string]string{"model_not_found": "invalid_request", "context_overflow": "invalid_request"}
		if c := coarse[fault]; c != "" {
			fault = c
		}
		if !strings.Contains(strings.Join(append(want.Error.Also, want.Error.Category), " "), fault) {
			t.Errorf("error %v (%s), want %s", err, fault, want.Error.Category)
		}
		if e, ok := err.(*llm.Error); ok && want.Error.Wait > 0 && e.Wait != time.Duration(want.Error.Wait)*time.Millisecond {
			t.Errorf("wait %s, want %d ms", e.Wait, want.Error.Wait)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		if calls[i].ID == "" {
			t.Errorf("call %d has no id", i)
		}
		if i < len(want.Calls) && want.Calls[i].ID == "" {
			calls[i].ID = "" // made up
		}
	}
	if len(want.Calls)+len(calls) > 0 && !reflect.DeepEqual(calls, want.Calls) {
		t.Errorf("calls %v, want %v", calls, want.Calls)
	}
	if got := finishes[finish.Reason]; want.Finish != "" && !strings.Contains(strings.Join(append(want.FinishAlso, want.Finish), " "), got) {
		t.Errorf("finish %q (%q), want %q", got, finish.Raw, want.Finish)
	}
	if u := want.Usage; u != nil {
		if usage.Input != u.Input || usage.CacheRead != u.Cached || usage.Output != u.Output || usage.Thinking != u.Think {
			t.Errorf("usage %+v, want %+v", usage, *u)
		}
		if u.Cost != nil && math.Abs(usage.Cost-*u.Cost) > 1e-9 {
			t.Errorf("cost %g, want %g", usage.Cost, *u.Cost)
		}
	}
}

func sameText(rule, got, want string) bool {
	switch rule {
	case "optional":
		return true
	case "nospace":
		return squeeze(got) == squeeze(want)
	case "prefix":
		return strings.HasPrefix(strings.TrimSpace(want), strings.TrimSpace(got))
	}
	return strings.TrimSpace(got) == strings.TrimSpace(want)
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
