package anthropic

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// The cached history changes no byte of a request.
func TestKept(t *testing.T) {
	limits := []string{downgradeFill, downgradeUnknown, "cache_control"}
	for _, tt := range []struct{ base, model string }{
		{"https://api.anthropic.com", "claude-sonnet-4-5"}, {"https://api.anthropic.com", "claude-opus-4-7"}, {"http://127.0.0.1/anthropic", "deepseek-reasoner"},
	} {
		t.Run(tt.model, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				m := New(Options{Model: tt.model, BaseURL: tt.base})
				compile := func(req llm.Request, whole bool) map[string]any {
					body, _ := m.compile(req, attemptState{}, whole)
					return body
				}
				return adaptertest.CachingAdapter{
					Origin: m.Origin(), List: "messages", Body: m.Body, Learned: m.o.Learned, Limits: limits, Compile: compile,
					Learn: func(*rand.Rand) {
						m.refuseThinking(compile(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: []llm.Part{
							{Kind: llm.Thinking, State: json.RawMessage(`{"type":"thinking","thinking":"hm <x>","signature":"s1"}`)}, {Kind: llm.Text, Text: "x"},
						}}}}, true))
					},
					Settings: []func(*llm.Request){
						adaptertest.LongSystem, adaptertest.NoSystem, adaptertest.MuchEffort,
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
