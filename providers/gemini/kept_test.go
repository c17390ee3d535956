package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// The cached history changes no byte of a request.
func TestKept(t *testing.T) {
	limits := []string{downgradeSystem, downgradeStandIn, downgradeStandIn64, downgradeSignatures, downgradeIDs, downgradeResultImages}
	for _, tt := range []struct{ base, model string }{
		{"", "gemini-2.5-flash"}, {"", "gemini-3-pro-preview"}, {"", "gemma-3-27b-it"},
		{"https://x-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google", "gemini-3-pro-preview"},
	} {
		t.Run(tt.model, func(t *testing.T) {
			adaptertest.SuiteCached(t, func() adaptertest.CachingAdapter {
				m := New(Options{Model: tt.model, BaseURL: tt.base})
				return adaptertest.CachingAdapter{
					Origin: m.Origin(), List: "contents", EscapeHTML: true, Body: m.Body, Learned: m.o.Learned, Limits: limits,
					Compile: func(req llm.Request, whole bool) map[string]any {
						body, _ := m.compile(req, whole)
						return body
					},
					Settings: []func(*llm.Request){adaptertest.LongSystem, adaptertest.NoSystem, adaptertest.MuchEffort},
				}
			})
		})
	}
}

// Calls without a signature have another form in the current turn. Their cached form, with other
// messages after them, cannot be used once the conversation returns to that turn.
func TestKeptIsNotCurrent(t *testing.T) {
	m := New(Options{Model: "gemini-3-pro-preview"})
	history := []llm.Message{llm.UserText("Go.")}
	step := func(n int) {
		history = append(history, llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: []llm.Part{{Kind: llm.Call, ID: fmt.Sprint(n), Name: "read", Input: "{}"}}},
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: fmt.Sprint(n), Name: "read", Text: "x"}}})
	}
	for n := range 40 {
		step(n)
	}
	for _, said := range [][]llm.Message{append(slices.Clip(history[:71]), llm.UserText("And?")), history} {
		got, err := m.Body(llm.Request{Messages: said})
		want, _ := m.compile(llm.Request{Messages: said}, true)
		text, _ := json.Marshal(want)
		if err != nil || string(got) != string(text) {
			t.Errorf("%d messages: %v, sends\n%s\nwant\n%s", len(said), err, got, text)
		}
	}
}
