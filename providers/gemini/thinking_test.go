package gemini_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
)

// TestThinking checks each model's fields for each effort, and the notice about an unsupported
// effort.
func TestThinking(t *testing.T) {
	type row [6]string // off, minimal, low, medium, high, max
	level := func(words ...string) (r row) {
		for i, w := range words {
			r[i] = `{"includeThoughts":true,"thinkingLevel":"` + w + `"}`
		}
		return r
	}
	budget := func(numbers ...string) (r row) {
		for i, n := range numbers {
			r[i] = `{"includeThoughts":true,"thinkingBudget":` + n + `}`
			if n == "0" {
				r[i] = `{"thinkingBudget":0}`
			}
		}
		return r
	}
	const self = `{"includeThoughts":true}`
	flash := budget("0", "512", "2048", "8192", "16384", "24576")
	three := level("low", "low", "low", "medium", "high", "high")
	threeFlash := level("minimal", "minimal", "low", "medium", "high", "high")
	gemma := level("minimal", "minimal", "minimal", "high", "high", "high")
	for _, test := range []struct {
		models []string
		self   string // without an effort
		off    bool   // can be switched off
		want   row
	}{
		{[]string{"gemini-2.5-pro", "models/gemini-2.5-pro-preview-06-05", "google/gemini-2.5-pro"}, self, false, budget("128", "128", "2048", "8192", "24576", "32768")},
		{[]string{"gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"}, self, true, flash},
		{[]string{"gemini-2.5-flash-lite"}, "", true, flash},
		{[]string{"gemini-3-pro-preview"}, self, false, level("low", "low", "low", "high", "high", "high")},
		{[]string{"gemini-3.1-pro-preview", "gemini-3.1-pro-preview-customtools", "gemini-pro-latest", "gemini-4-argon", "gemini-3.7-flash", "gemini-3.8-flash", "gemini-3.10-flash", "gemini-flash-latest", "gemini-5-neon", "gemini-12.3-flash", "tunedModels/mine"}, self, false, three},
		{[]string{"gemini-3-flash-preview", "gemini-3.1-flash-lite", "gemini-3.5-flash", "gemini-3.6-flash", "gemini-flash-lite-latest"}, self, false, threeFlash},
		{[]string{"gemini-4-hydrogen"}, self, false, level("low", "low", "low", "medium", "high", "xhigh")},
		{[]string{"gemma-4-31b-it", "gemma-4-26b-a4b-it"}, self, false, gemma},
		{[]string{"gemini-2.0-flash", "gemini-1.5-pro", "gemma-3-27b-it", "gemini-2.5-flash-image", "gemini-3.1-flash-tts-preview"}, "", true, row{}},
	} {
		for _, model := range test.models {
			t.Run(model, func(t *testing.T) {
				if got, _ := thinkingOf(t, model, llm.Request{}); got != test.self {
					t.Errorf("by itself: got %s, want %s", got, test.self)
				}
				for i, effort := range llm.Efforts {
					got, notices := thinkingOf(t, model, llm.Request{Effort: effort})
					if got != test.want[i] {
						t.Errorf("%s: got %s, want %s", effort, got, test.want[i])
					}
					if clamped := effort == llm.EffortOff && !test.off; clamped != (len(notices) > 0) {
						t.Errorf("%s: notices %q", effort, notices)
					}
				}
			})
		}
	}
}

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		model  string
		budget int
		effort llm.Effort
		want   string
		notice string
	}{
		{"gemini-2.5-flash", 5000, "", `{"includeThoughts":true,"thinkingBudget":5000}`, ""},
		{"gemini-2.5-flash", 5000, llm.EffortHigh, `{"includeThoughts":true,"thinkingBudget":5000}`, ""},
		{"gemini-2.5-flash", 5000, llm.EffortOff, `{"thinkingBudget":0}`, ""},
		{"gemini-2.5-flash", 1 << 20, "", `{"includeThoughts":true,"thinkingBudget":24576}`, "gemini-2.5-flash takes 1 to 24576 tokens of thinking, using 24576"},
		{"gemini-2.5-pro", 10, "", `{"includeThoughts":true,"thinkingBudget":128}`, "gemini-2.5-pro takes 128 to 32768 tokens of thinking, using 128"},
		{"gemini-2.5-flash-lite", 10, "", `{"includeThoughts":true,"thinkingBudget":512}`, "gemini-2.5-flash-lite takes 512 to 24576 tokens of thinking, using 512"},
		{"gemini-3.5-flash", 1024, "", `{"includeThoughts":true,"thinkingLevel":"minimal"}`, "gemini-3.5-flash takes a level of thinking instead of a budget, using minimal"},
		{"gemini-3.5-flash", 8192, "", `{"includeThoughts":true,"thinkingLevel":"medium"}`, "gemini-3.5-flash takes a level of thinking instead of a budget, using medium"},
		{"gemini-4-hydrogen", 1 << 20, "", `{"includeThoughts":true,"thinkingLevel":"xhigh"}`, "gemini-4-hydrogen takes a level of thinking instead of a budget, using xhigh"},
		{"gemini-2.0-flash", 1024, "", "", ""},
	} {
		got, notices := thinkingOf(t, test.model, llm.Request{Effort: test.effort, Settings: llm.Settings{Budget: test.budget}})
		if got != test.want {
			t.Errorf("%s, %d: got %s, want %s", test.model, test.budget, got, test.want)
		}
		if test.notice == "" && len(notices) > 0 || test.notice != "" && !slices.Equal(notices, []string{test.notice}) {
			t.Errorf("%s, %d: notices %q, want %q", test.model, test.budget, notices, test.notice)
		}
	}
}

// Thinking leaves room for an answer if both have the largest limits.
func TestThinkingLeavesRoom(t *testing.T) {
	for _, test := range []struct {
		model string
		most  int
		want  string
		told  bool
	}{
		{"gemini-2.5-pro", 1000, `{"includeThoughts":true,"thinkingBudget":500}`, true},
		{"gemini-2.5-pro", 100, `{"includeThoughts":true,"thinkingBudget":128}`, true},
		{"gemini-2.5-pro", 100_000, `{"includeThoughts":true,"thinkingBudget":24576}`, false},
	} {
		got, notices := thinkingOf(t, test.model, llm.Request{Effort: llm.EffortHigh, Settings: llm.Settings{MaxTokens: test.most}})
		if got != test.want || test.told != (len(notices) == 1 && strings.Contains(notices[0], "max_tokens of "+fmt.Sprint(test.most))) {
			t.Errorf("%s, %d: got %s, %q, want %s", test.model, test.most, got, notices, test.want)
		}
	}
}

// thinkingOf sends a request to a model, and returns its thinkingConfig and the notices.
func thinkingOf(t *testing.T, model string, req llm.Request) (config string, notices []string) {
	t.Helper()
	req.Messages = []llm.Message{llm.UserText("Hi")}
	s := newServer(t, stream(text("Hi"), finish("STOP")))
	got := take(t, s.model(gemini.Options{Model: model}).Stream(t.Context(), req))
	if got.err != nil {
		t.Fatal(got.err)
	}
	var body struct {
		Config struct {
			Thinking json.RawMessage `json:"thinkingConfig"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal([]byte(s.bodies[0]), &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Config.Thinking), got.notices
}
