package openai

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// keeper returns what a model sends, with what is kept and without.
func keeper(t *testing.T, e *endpoint, origin, list string, limits ...string) adaptertest.CachingAdapter {
	detail := func(to string) func(*llm.Request) { return func(r *llm.Request) { r.Detail = to } }
	return adaptertest.CachingAdapter{
		Origin: origin,
		Body: func(req llm.Request) ([]byte, bool) {
			body, _ := e.format.compile(req, false)
			_, kept := body[list].(adapter.List)
			data, err := e.Body(req)
			if err != nil {
				t.Fatal(err)
			}
			return data, kept
		},
		Uncached: func(req llm.Request) []byte {
			body, _ := e.format.compile(req, true)
			var b bytes.Buffer
			encoder := json.NewEncoder(&b)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(body); err != nil {
				t.Fatal(err)
			}
			return bytes.TrimRight(b.Bytes(), "\n")
		},
		Learn: func(r *rand.Rand) {
			if len(limits) > 0 {
				name := limits[r.IntN(len(limits))]
				if !e.o.Learned.Learn(name, "", false) {
					e.o.Learned.Forget(name)
				}
			}
		},
		Settings: []func(*llm.Request){
			detail("low"), detail(""), func(r *llm.Request) { r.System = "Be long." }, func(r *llm.Request) { r.System = "" },
			func(r *llm.Request) { r.Effort = llm.EffortHigh }, func(r *llm.Request) { r.Session = "s" },
		},
	}
}

// What is kept of a conversation changes no byte of what is sent, in any dialect.
func TestKeptChat(t *testing.T) {
	for _, tt := range []struct{ kind, model string }{
		{"openai", "gpt-5.2"}, {"openrouter", "anthropic/claude-sonnet-4.5"}, {"deepseek", "deepseek-reasoner"}, {"mistral", "magistral-medium-latest"},
		{"moonshot", "kimi-k2-thinking"}, {"minimax", "MiniMax-M2"}, {"groq", "llama-3.3-70b-versatile"}, {"odd", ""},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				d, ok := DialectFor(tt.kind, tt.model)
				if !ok {
					d = Dialect{Name: tt.kind, AssistantAfterTools: true, UserIntoToolResult: tt.kind == "odd", PDFs: true, CacheControl: true}
				}
				c := New(Options{BaseURL: "http://127.0.0.1/v1", Model: tt.model}, d)
				return keeper(t, c.endpoint, c.Origin(), "messages", downgradeEcho, downgradeRole, downgradeCache)
			})
		})
	}
}

func TestKeptResponses(t *testing.T) {
	for _, model := range []string{"gpt-5.2", "grok-4"} {
		t.Run(model, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				r := NewResponses(Options{BaseURL: "http://127.0.0.1/v1", Model: model})
				k := keeper(t, r.endpoint, r.Origin(), "input", "instructions")
				learn := k.Learn
				k.Learn = func(random *rand.Rand) {
					if learn(random); random.IntN(3) == 0 {
						req := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: []llm.Part{
							{Kind: llm.Thinking, State: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e\u003c"}`)}, {Kind: llm.Text, Text: "x"},
						}}}}
						body, _ := r.compile(req, true)
						r.refuseItems(body)
					}
				}
				return k
			})
		})
	}
}

// A file in a message that joins the one before is written once, and told once where it is left out.
func TestJoinedFileIsWrittenOnce(t *testing.T) {
	h := &history{partEncoder: chatEncoder(Dialect{}, "")}
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "Returned by the tool:"}, {Kind: llm.Media, MIME: "image/png", Data: []byte("png")}})
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "and this"}, {Kind: llm.Media, MIME: "video/mp4", Name: "v.mp4", Data: []byte{0, 1, 0xff}}})
	list, _ := h.list[0].(map[string]any)["content"].([]any)
	if len(h.list) != 1 || len(list) != 4 || len(h.omitted) != 1 {
		t.Errorf("%d messages, %d parts, left out: %q", len(h.list), len(list), h.omitted)
	}
}
