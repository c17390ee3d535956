//go:build oracle

package gemini_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genai"

	"parley/providers/adapter/adaptertest"
	"parley/providers/gemini"
	"parley/providers/llm"
)

// TestSDKReadsTheSame compares the decoded answer with Google's types: text, thinking, calls,
// finish reason and token counts.
func TestSDKReadsTheSame(t *testing.T) {
	t.Run("recordings", func(t *testing.T) {
		adaptertest.Recordings(t, "gemini", func(t *testing.T, rec adaptertest.Recording) {
			for n := range rec.Outcomes {
				if x := rec.Exchanges[n]; x.Status == http.StatusOK && !x.Cut {
					readsTheSame(t, x.ContentType, string(rec.Answer(t, n)))
				}
			}
		})
	})
	for name, answer := range adaptertest.Answers {
		t.Run(name, func(t *testing.T) {
			readsTheSame(t, "text/event-stream", strings.Join(encode(answer, true), ""))
		})
	}
	for _, name := range []string{
		"arguments-in-pieces", "blocked-prompt", "call-with-an-id", "code-and-its-result", "finish-without-parts",
		"list-of-answers", "signature-on-the-first-of-two-calls", "two-candidates",
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/fuzz/FuzzRead", name))
			if err != nil {
				t.Fatal(err)
			}
			body, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(string(data), "go test fuzz v1\n[]byte("), ")\n"))
			if err != nil {
				t.Fatal(err)
			}
			readsTheSame(t, "text/event-stream", body)
		})
	}
}

// A reading is the content of an answer.
type reading struct {
	Thinking, Text string
	Calls          []calledTool
	Finish, ID     string
	Usage          llm.Usage
}

// A calledTool is a call. Arguments that come in pieces are nil: users of the SDK have to join
// them.
type calledTool struct {
	ID, Name string
	Args     any
}

// readsTheSame decodes an answer, the body of a response of this content type, with parley's
// adapter and with Google's types.
func readsTheSame(t *testing.T, contentType, body string) {
	t.Helper()
	want := readBySDK(t, body)
	model := newServer(t, reply{kind: contentType, body: body}).model(gemini.Options{NoStream: strings.HasPrefix(contentType, "application/json")})
	answer := take(t, model.Stream(t.Context(), hello))
	if answer.err != nil && answer.usage == (llm.Usage{}) {
		t.Fatal(answer.err)
	}
	got := reading{Finish: answer.finish.Raw, ID: answer.finish.ID, Usage: answer.usage}
	for _, p := range answer.parts {
		switch p.Kind {
		case llm.Text:
			got.Text += p.Text
		case llm.Thinking:
			got.Thinking += p.Text
		case llm.Call:
			c := calledTool{ID: p.ID, Name: p.Name}
			if err := json.Unmarshal([]byte(p.Input), &c.Args); err != nil {
				t.Errorf("arguments %q: %v", p.Input, err)
			}
			if n := len(got.Calls); n < len(want.Calls) && want.Calls[n].ID == "" {
				c.ID = "" // made up
			}
			if n := len(got.Calls); n < len(want.Calls) && want.Calls[n].Args == nil {
				c.Args = nil
			}
			got.Calls = append(got.Calls, c)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("we read\n%+v\nthe SDK reads\n%+v\nof %.2000s", got, want, body)
	}
}

// readBySDK reads an answer with Google's types.
func readBySDK(t *testing.T, body string) (r reading) {
	t.Helper()
	var usage genai.GenerateContentResponseUsageMetadata
	for _, data := range chunksOf(t, body) {
		var chunk genai.GenerateContentResponse
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if chunk.ResponseID != "" && r.ID == "" {
			r.ID = chunk.ResponseID
		}
		if chunk.PromptFeedback != nil {
			r.Finish = string(chunk.PromptFeedback.BlockReason)
		}
		if u := chunk.UsageMetadata; u != nil {
			for to, from := range map[*int32]int32{
				&usage.PromptTokenCount: u.PromptTokenCount, &usage.CachedContentTokenCount: u.CachedContentTokenCount,
				&usage.CandidatesTokenCount: u.CandidatesTokenCount, &usage.ThoughtsTokenCount: u.ThoughtsTokenCount,
				&usage.ToolUsePromptTokenCount: u.ToolUsePromptTokenCount,
			} {
				if from != 0 { // a missing value differs from zero
					*to = from
				}
			}
		}
		for _, c := range chunk.Candidates {
			r.add(c)
		}
	}
	r.Usage = llm.Usage{
		Input: int(usage.PromptTokenCount + usage.ToolUsePromptTokenCount), CacheRead: int(usage.CachedContentTokenCount),
		Output: int(usage.CandidatesTokenCount + usage.ThoughtsTokenCount), Thinking: int(usage.ThoughtsTokenCount),
	}
	return r
}

// add adds the content of a chunk.
func (r *reading) add(c *genai.Candidate) {
	if c.Index != 0 {
		return
	}
	if c.FinishReason != "" {
		r.Finish = string(c.FinishReason)
	}
	if c.Content == nil {
		return
	}
	for _, p := range c.Content.Parts {
		call := p.FunctionCall
		switch {
		case call != nil && call.Name == "": // more of its arguments
		case call != nil:
			one := calledTool{ID: call.ID, Name: call.Name}
			if call.WillContinue == nil && call.PartialArgs == nil {
				one.Args = map[string]any{}
				for name, value := range call.Args {
					one.Args.(map[string]any)[name] = value
				}
			}
			r.Calls = append(r.Calls, one)
		case p.Thought:
			r.Thinking += p.Text
		default:
			r.Text += p.Text
		}
	}
}

// chunksOf splits the body of an answer: events, a list, or one chunk.
func chunksOf(t *testing.T, body string) (list []string) {
	t.Helper()
	switch body[0] {
	case '[':
		var chunks []json.RawMessage
		if err := json.Unmarshal([]byte(body), &chunks); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			list = append(list, string(c))
		}
	case '{':
		list = []string{body}
	default:
		for line := range strings.Lines(body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				list = append(list, data)
			}
		}
	}
	return list
}
