package openai

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// keeper returns the bodies of a model, with the cache and without.
func keeper(e *endpoint, origin, list string, limits ...string) adaptertest.CachingAdapter {
	detail := func(to string) func(*llm.Request) { return func(r *llm.Request) { r.Detail = to } }
	return adaptertest.CachingAdapter{
		Origin: origin, List: list, Body: e.Body, Learned: e.o.Learned, Limits: limits,
		Compile: func(req llm.Request, whole bool) map[string]any {
			body, _ := e.format.compile(req, whole)
			return body
		},
		Settings: []func(*llm.Request){
			detail("low"), detail(""), adaptertest.LongSystem, adaptertest.NoSystem, adaptertest.MuchEffort, func(r *llm.Request) { r.Session = "s" },
		},
	}
}

// The cached history changes no byte of a request, in any dialect.
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
				return keeper(c.endpoint, c.Origin(), "messages", downgradeEcho, downgradeRole, downgradeCache)
			})
		})
	}
}

func TestKeptResponses(t *testing.T) {
	for _, model := range []string{"gpt-5.2", "grok-4"} {
		t.Run(model, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				r := NewResponses(Options{BaseURL: "http://127.0.0.1/v1", Model: model})
				k := keeper(r.endpoint, r.Origin(), "input", "instructions")
				k.Learn = func(*rand.Rand) {
					req := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: []llm.Part{
						{Kind: llm.Thinking, State: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e\u003c"}`)}, {Kind: llm.Text, Text: "x"},
					}}}}
					body, _ := r.compile(req, true)
					r.refuseItems(body)
				}
				return k
			})
		})
	}
}

// A file in a message that is joined with the previous one is sent once, and reported once if
// dropped.
func TestJoinedFileIsWrittenOnce(t *testing.T) {
	h := &history{partEncoder: chatEncoder(Dialect{}, "")}
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "Returned by the tool:"}, {Kind: llm.Media, MIME: "image/png", Data: []byte("png")}})
	h.addUser([]llm.Part{{Kind: llm.Text, Text: "and this"}, {Kind: llm.Media, MIME: "video/mp4", Name: "v.mp4", Data: []byte{0, 1, 0xff}}})
	list, _ := h.list[0].(map[string]any)["content"].([]any)
	if len(h.list) != 1 || len(list) != 4 || len(h.omitted) != 1 {
		t.Errorf("%d messages, %d parts, left out: %q", len(h.list), len(list), h.omitted)
	}
}
