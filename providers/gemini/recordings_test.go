package gemini_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

// recordings is a folder of recorded exchanges beside the repository; it is not
// part of it.
const recordings = "../../../shared/wire/gemini"

type recording struct {
	Model     string `json:"model"`
	Mode      string `json:"mode"`
	Prompt    string `json:"prompt"`
	Exchanges []struct {
		Response    string `json:"response"`
		Status      int    `json:"status"`
		ContentType string `json:"content_type"`
		Cut         bool   `json:"cut"`
	} `json:"exchanges"`
}

type outcome struct {
	Thinking      string   `json:"thinking"`
	Text          string   `json:"text"`
	TextMatch     string   `json:"text_match"`
	ThinkingMatch string   `json:"thinking_match"`
	Calls         []called `json:"tool_calls"`
	Finish        string   `json:"finish_reason"`
	Usage         *struct {
		Input  int `json:"input"`
		Cached int `json:"cached_input"`
		Output int `json:"output"`
		Think  int `json:"reasoning"`
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

// TestRecordings replays what Google really sent, in pieces that respect neither
// lines nor runes, and compares what a neutral reader made of it. What was
// signed has to be in the next request.
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

var signature = regexp.MustCompile(`"thoughtSignature":\s*("[^"]+")`)

func replay(t *testing.T, dir string, rec recording, want []outcome) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := rec.Exchanges[min(n, len(rec.Exchanges)-1)] // errors stay
		body, err := os.ReadFile(filepath.Join(dir, x.Response))
		if err != nil {
			t.Error(err)
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
	t.Cleanup(client.CloseIdleConnections)
	m := gemini.New(gemini.Options{Provider: "mock", Model: rec.Model, BaseURL: server.URL + "/v1beta", Key: "test-key", HTTP: client, NoStream: rec.Mode == "json"})
	req := llm.Request{Messages: []llm.Message{llm.UserText(rec.Prompt)}}
	for i, o := range want {
		n = i
		got := take(t, m.Stream(t.Context(), req))
		compare(t, o, got)
		if t.Failed() || got.err != nil {
			return
		}
		answer := llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}
		outputs := llm.Message{Role: llm.RoleTool}
		for _, c := range answer.Calls() {
			outputs.Parts = append(outputs.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "done"})
		}
		req.Messages, _ = llm.Portable(append(req.Messages, answer, outputs), m.Origin())
		sent, err := os.ReadFile(filepath.Join(dir, rec.Exchanges[i].Response))
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.Body(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range signature.FindAllSubmatch(sent, -1) {
			if !strings.Contains(string(body), string(match[1])) {
				t.Errorf("the signature %.40s… does not go back", match[1])
			}
		}
	}
}

var finishes = map[llm.Reason]string{
	llm.Stop: "stop", llm.Length: "length", llm.Calls: "tool_calls", llm.Refused: "content_filter",
}

func compare(t *testing.T, want outcome, got taken) {
	t.Helper()
	var text, thinking string
	calls := []called{}
	for _, p := range got.parts {
		switch p.Kind {
		case llm.Text:
			text += p.Text
		case llm.Thinking:
			thinking += p.Text
		case llm.Call:
			c := called{ID: p.ID, Name: p.Name}
			if err := json.Unmarshal([]byte(p.Input), &c.Arguments); err != nil {
				t.Errorf("arguments %q: %v", p.Input, err)
			}
			if i := len(calls); i < len(want.Calls) && want.Calls[i].ID == "" {
				c.ID = "" // made up
			}
			calls = append(calls, c)
		}
	}
	whole, squeezed := strings.TrimSpace(text) == strings.TrimSpace(want.Text), squeeze(text) == squeeze(want.Text)
	if fits := map[string]bool{"": whole, "nospace": squeezed, "prefix": strings.HasPrefix(want.Text, text), "optional": true}; !fits[want.TextMatch] {
		t.Errorf("text %q, want %q", text, want.Text)
	}
	if want.ThinkingMatch != "any" && squeeze(thinking) != squeeze(want.Thinking) {
		t.Errorf("thinking %q, want %q", thinking, want.Thinking)
	}
	if want.Error != nil {
		fault := string(llm.FaultOf(got.err))
		if fault == "permission" {
			fault = "authentication"
		}
		if !slices.Contains(append(want.Error.Also, want.Error.Category), fault) {
			t.Errorf("error %v (%s), want %s", got.err, fault, want.Error.Category)
		}
		if e, ok := got.err.(*llm.Error); ok && want.Error.Wait > 0 && e.Wait != time.Duration(want.Error.Wait)*time.Millisecond {
			t.Errorf("wait %s, want %d ms", e.Wait, want.Error.Wait)
		}
		return
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	if len(want.Calls)+len(calls) > 0 && !reflect.DeepEqual(calls, want.Calls) {
		t.Errorf("calls %v, want %v", calls, want.Calls)
	}
	if finish := finishes[got.finish.Reason]; want.Finish != "" && finish != want.Finish {
		t.Errorf("finish %q (%q), want %q", finish, got.finish.Raw, want.Finish)
	}
	u := want.Usage
	if u != nil && (got.usage.Input != u.Input || got.usage.CacheRead != u.Cached || got.usage.Output != u.Output || got.usage.Thinking != u.Think) {
		t.Errorf("usage %+v, want %+v", got.usage, *u)
	}
}

// squeeze drops white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
