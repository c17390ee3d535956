package anthropic

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// What is kept of a conversation changes no byte of what is sent.
func TestKept(t *testing.T) {
	limits := []string{downgradeFill, downgradeUnknown, "cache_control"}
	for _, tt := range []struct{ base, model string }{
		{"https://api.anthropic.com", "claude-sonnet-4-5"}, {"https://api.anthropic.com", "claude-opus-4-7"}, {"http://127.0.0.1/anthropic", "deepseek-reasoner"},
	} {
		t.Run(tt.model, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				m := New(Options{Model: tt.model, BaseURL: tt.base})
				return adaptertest.CachingAdapter{
					Origin: m.Origin(),
					Body: func(req llm.Request) ([]byte, bool) {
						body, _ := m.compile(req, attemptState{}, false)
						_, kept := body["messages"].(adapter.List)
						data, err := m.Body(req)
						if err != nil {
							t.Fatal(err)
						}
						return data, kept
					},
					Uncached: func(req llm.Request) []byte {
						body, _ := m.compile(req, attemptState{}, true)
						var b bytes.Buffer
						encoder := json.NewEncoder(&b)
						encoder.SetEscapeHTML(false)
						if err := encoder.Encode(body); err != nil {
							t.Fatal(err)
						}
						return bytes.TrimRight(b.Bytes(), "\n")
					},
					Learn: func(r *rand.Rand) {
						if name := limits[r.IntN(len(limits))]; !m.o.Learned.Learn(name, "", false) {
							m.o.Learned.Forget(name)
						}
						if body, _ := m.compile(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: []llm.Part{
							{Kind: llm.Thinking, State: json.RawMessage(`{"type":"thinking","thinking":"hm <x>","signature":"s1"}`)}, {Kind: llm.Text, Text: "x"},
						}}}}, attemptState{}, true); r.IntN(3) == 0 {
							m.refuseThinking(body)
						}
					},
					Settings: []func(*llm.Request){
						func(r *llm.Request) { r.System = "Be long." }, func(r *llm.Request) { r.System = "" }, func(r *llm.Request) { r.Effort = llm.EffortHigh },
						func(r *llm.Request) { r.Effort = llm.EffortOff }, func(r *llm.Request) { r.Effort = llm.EffortOff }, func(r *llm.Request) { r.Budget = 4000 }, func(r *llm.Request) { r.Budget = 0 },
						func(r *llm.Request) {
							r.Tools = []llm.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}}
						},
					},
				}
			})
		})
	}
}
