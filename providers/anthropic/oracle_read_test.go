//go:build oracle

package anthropic_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// TestSDKReadsTheSame compares the decoded answer with the one accumulated by Anthropic's SDK:
// text, thinking, calls, finish reason and token counts.
func TestSDKReadsTheSame(t *testing.T) {
	t.Run("recordings", func(t *testing.T) {
		adaptertest.Recordings(t, "anthropic", func(t *testing.T, rec adaptertest.Recording) {
			for n, outcome := range rec.Outcomes {
				if x := rec.Exchanges[n]; x.Status == http.StatusOK && !x.Cut && outcome.Error == nil {
					readsTheSame(t, string(rec.Answer(t, n)))
				}
			}
		})
	})
	for name, answer := range adaptertest.Answers {
		t.Run(name, func(t *testing.T) { readsTheSame(t, strings.Join(encode(answer), "")) })
	}
	for _, name := range []string{
		"arguments-at-once", "arguments-empty", "blocks-interleaved", "search-failed",
		"thinking-redacted", "thinking-signed", "thinking-signed-without-words",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/fuzz/FuzzAnswer", name))
			if err != nil {
				t.Fatal(err)
			}
			body, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(string(data), "go test fuzz v1\n[]byte("), ")\n"))
			if err != nil {
				t.Fatal(err)
			}
			readsTheSame(t, body)
		})
	}
}

// A reading is the content of an answer.
type reading struct {
	Thinking, Text string
	Signatures     []string
	Calls          []calledTool // the server's own too
	Stop, ID       string
	Usage          llm.Usage
}

// A calledTool is a call.
type calledTool struct {
	ID, Name string
	Args     any
}

func (r *reading) call(t *testing.T, id, name, input string) {
	t.Helper()
	c := calledTool{ID: id, Name: name}
	if err := json.Unmarshal([]byte(input), &c.Args); err != nil {
		t.Errorf("arguments %q: %v", input, err)
	}
	r.Calls = append(r.Calls, c)
}

// readsTheSame reads an answer with our adapter and with Anthropic's SDK.
func readsTheSame(t *testing.T, body string) {
	t.Helper()
	want := readBySDK(t, body)
	base, _ := server(t, reply{body: body})
	answer := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}))
	if answer.err != nil {
		t.Fatal(answer.err)
	}
	got := reading{Stop: answer.finish.Raw, ID: answer.finish.ID, Usage: answer.usage}
	for _, p := range answer.parts {
		switch p.Kind {
		case llm.Text:
			got.Text += p.Text
		case llm.Thinking:
			got.Thinking += p.Text
			var block struct{ Signature string }
			if p.State != nil {
				if err := json.Unmarshal(p.State, &block); err != nil {
					t.Error(err)
				}
				got.Signatures = append(got.Signatures, block.Signature)
			}
		case llm.Call:
			got.call(t, p.ID, p.Name, p.Input)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("we read\n%+v\nthe SDK reads\n%+v\nof %.3000s", got, want, body)
	}
}

// readBySDK reads an answer with Anthropic's SDK.
func readBySDK(t *testing.T, body string) (r reading) {
	t.Helper()
	var m sdk.Message
	if body[0] == '{' {
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
	} else {
		for line := range strings.Lines(body) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var event sdk.MessageStreamEventUnion
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			if err := m.Accumulate(event); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
		}
	}
	r.Stop, r.ID = string(m.StopReason), m.ID
	u := m.Usage
	r.Usage = llm.Usage{
		Input: int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens), CacheRead: int(u.CacheReadInputTokens),
		CacheWrite: int(u.CacheCreationInputTokens), Output: int(u.OutputTokens), Thinking: int(u.OutputTokensDetails.ThinkingTokens),
		Searches: int(u.ServerToolUse.WebSearchRequests),
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.Text += b.Text
		case "thinking":
			r.Thinking += b.Thinking
			r.Signatures = append(r.Signatures, b.Signature)
		case "tool_use", "server_tool_use":
			r.call(t, b.ID, b.Name, string(b.Input))
		}
	}
	return r
}
