package providers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/openai"
)

// requested returns the body that a model would send, and the notices.
func requested(t *testing.T, name string, effort llm.Effort) (body string, notices []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taken := &captureTransport{cancel: cancel}
	e, err := Open(Default(), name, OpenOptions{Getenv: func(string) string { return "k" }, Transport: taken})
	if err != nil {
		t.Fatal(err)
	}
	for event := range e.Stream(ctx, llm.Request{Effort: effort, Messages: []llm.Message{llm.UserText("hi")}}) {
		if n, ok := event.(llm.Notice); ok && !strings.HasPrefix(n.Text, "thinking budget") {
			notices = append(notices, n.Text)
		}
	}
	return string(taken.body), notices
}

// An unsupported effort is reported once, and the request uses the effort named in the notice.
func TestClampedEffortsAreTold(t *testing.T) {
	for _, p := range catalog.Providers() {
		if slices.Contains([]string{"claude-cli", "gemini-cli", kindDemo}, p.Kind) || p.ModelsFrom != "" {
			continue
		}
		for _, m := range p.Models {
			if p.Aliases[m.ID] != "" {
				continue // another model answers
			}
			name, has := p.ID+"/"+m.ID, supportedEfforts(m)
			for _, effort := range llm.Efforts {
				body, notices := requested(t, name, effort)
				off := effort == llm.EffortOff
				wanted := !slices.Contains(has, effort) && (m.Thinks || !off)
				if off && wanted && m.OffValue != "" {
					wanted = len(notices) == 1 // reported by the adapter
				}
				if wanted != (len(notices) == 1) || len(notices) > 1 {
					t.Errorf("%s, effort %s of %v: notices %q", name, effort, has, notices)
					continue
				}
				if !wanted {
					continue
				}
				if _, used, ok := strings.Cut(notices[0], ", using "); ok {
					if same, _ := requested(t, name, llm.Effort(used)); same != body {
						t.Errorf("%s, effort %s: told %q, but sent\n%s\nwhere that effort is\n%s", name, effort, notices[0], body, same)
					}
				}
			}
		}
	}
}

// An offered effort of a model in the catalog changes its request; otherwise the dialect does not
// know the model's id.
func TestOfferedEffortsAreSent(t *testing.T) {
	for _, p := range catalog.Providers() {
		if !slices.Contains(slices.Concat(openai.Family.Kinds, openai.ResponsesFamily.Kinds), p.Kind) {
			continue
		}
		for _, m := range p.Models {
			name := p.ID + "/" + m.ID
			plain, _ := requested(t, name, "")
			for _, effort := range supportedEfforts(m) {
				if effort == llm.EffortMax && m.Thinking == "budget" {
					continue // no bound, as without effort
				}
				if body, _ := requested(t, name, effort); body == plain {
					t.Errorf("%s, effort %s: nothing is sent of it\n%s", name, effort, body)
				}
			}
		}
	}
}

// A model gets its effort by its id under any provider name: a user's provider of the model's kind,
// or a gateway.
func TestEffortUnderOwnNames(t *testing.T) {
	c := Config{Providers: map[string]Provider{
		"mq": {Kind: "qwen", BaseURL: "http://127.0.0.1:9/v1", APIKey: "k"}, "mg": {Kind: "gemini", BaseURL: "http://127.0.0.1:9/v1beta", APIKey: "k"},
		"gate": {BaseURL: "http://127.0.0.1:9/v1", APIKey: "k"}, "ml": {Kind: "vllm", BaseURL: "http://127.0.0.1:9/v1"},
	}}
	for _, tt := range []struct {
		name   string
		effort llm.Effort
		want   string // in the body
		told   string // name of the effort used instead
	}{
		{"mq/qwen3-max", "low", `"enable_thinking": true`, ""},
		{"mq/qwen3-max", "medium", `"thinking_budget": 8192`, ""},
		{"mq/qwen3-max", "off", `"enable_thinking": false`, ""},
		{"gate/qwen3-max", "medium", `"thinking_budget": 8192`, ""},
		{"gate/qwen/qwen3-max", "medium", `"thinking_budget": 8192`, ""},
		{"ml/qwen3-max", "high", `"enable_thinking": true`, ""},
		{"mg/gemini-3-pro-preview", "low", `"thinkingLevel": "low"`, ""},
		{"mg/gemini-3-pro-preview", "medium", `"thinkingLevel": "high"`, "using high"},
		{"gate/gemini-3-pro-preview", "low", `"reasoning_effort": "low"`, ""},
		{"gate/google/gemini-3-pro-preview", "off", `"reasoning_effort": "low"`, "using low"},
		{"gate/gemini-2.5-flash", "off", `"reasoning_effort": "none"`, ""},
		{"gate/anthropic/claude-opus-4.5", "medium", `"reasoning_effort": "medium"`, ""},
		{"gate/openai.gpt-oss-120b-1:0", "high", `"reasoning_effort": "high"`, ""},
		{"gate/us.anthropic.claude-opus-4-5-20251101-v1:0", "medium", `"reasoning_effort": "medium"`, ""},
		{"gate/deepseek/deepseek-v4-pro", "max", `"reasoning_effort": "max"`, ""},
	} {
		body, notices, err := Preview(c, tt.name, OpenOptions{Getenv: env()}, func(llm.Endpoint) llm.Request {
			return llm.Request{Effort: tt.effort, Messages: []llm.Message{llm.UserText("hi")}}
		})
		said := ""
		for _, n := range notices {
			said += n.Text
		}
		if err != nil || !strings.Contains(body, tt.want) || (said == "") != (tt.told == "") || !strings.Contains(said, tt.told) {
			t.Errorf("%s, effort %s: told %q, %v, want %q and %s in\n%s", tt.name, tt.effort, said, err, tt.told, tt.want, body)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		levels string
		want   string // of off minimal low medium high max
	}{
		{"off low medium high", "low low low medium high high"},
		{"low high max", "low low low high high max"},
		{"off high", "high high high high high high"},
		{"minimal high", "minimal minimal minimal high high high"},
		{"high max", "high high high high high max"},
	} {
		var levels []llm.Effort
		for level := range strings.FieldsSeq(tt.levels) {
			levels = append(levels, llm.Effort(level))
		}
		var got []string
		for _, effort := range llm.Efforts {
			got = append(got, string(nearestEffort(levels, effort)))
		}
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("of %s: %q, want %s", tt.levels, got, tt.want)
		}
	}
}
