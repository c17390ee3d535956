package gemini

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"parley/providers/adapter"
	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
)

// What is kept of a conversation changes no byte of what is sent.
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
					Origin: m.Origin(),
					Body: func(req llm.Request) ([]byte, bool) {
						body, _ := m.compile(req, false)
						_, kept := body["contents"].(adapter.List)
						data, err := m.Body(req)
						if err != nil {
							t.Fatal(err)
						}
						return data, kept
					},
					Uncached: func(req llm.Request) []byte {
						body, _ := m.compile(req, true)
						data, err := json.Marshal(body)
						if err != nil {
							t.Fatal(err)
						}
						return data
					},
					Learn: func(r *rand.Rand) {
						if name := limits[r.IntN(len(limits))]; !m.o.Learned.Learn(name, "", false) {
							m.o.Learned.Forget(name)
						}
					},
					Settings: []func(*llm.Request){
						func(r *llm.Request) { r.System = "Be long." }, func(r *llm.Request) { r.System = "" }, func(r *llm.Request) { r.Effort = llm.EffortHigh },
					},
				}
			})
		})
	}
}

// Calls without a signature have another form in the current turn. What was kept of them while
// more was said behind them is of no use once the conversation goes back to that turn.
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
