package providers

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// TestWeb checks that every wire format requests a web search in its own form, and that services
// without one report it once.
func TestWeb(t *testing.T) {
	for name, test := range map[string]struct{ field, notice string }{
		"openai/gpt-6-sol":            {`"type": "web_search"`, ""},
		"anthropic/claude-sonnet-5-5": {`"type": "web_search_20260318"`, ""},
		"anthropic/claude-haiku-4-5":  {`"type": "web_search_20250305"`, ""},
		"gemini/gemini-3.5-flash":     {`"googleSearch"`, ""},
		"gemini/gemma-4-31b-it":       {"", "gemini/gemma-4-31b-it has no web search"},
		"xai/grok-4.7":                {`"type": "web_search"`, ""},
		"openrouter/z-ai/glm-5.3":     {`"type": "openrouter:web_search"`, ""},
		"qwen/qwen3.7-plus":           {`"enable_search": true`, ""},
		"zai/glm-5.3":                 {`"search_engine": "search-prime"`, ""},
		"gate/sonar-pro":              {"", ""},
		"gate/some-model":             {"", "gate/some-model has no web search"},
		"mistral/mistral-medium-3.5":  {"", "Mistral's chat has no web search"},
		"deepseek/deepseek-flash":     {"", "deepseek/deepseek-flash has no web search"},
	} {
		c := Config{Providers: map[string]Provider{"gate": {BaseURL: "http://127.0.0.1:9/v1"}}}
		p, _, _ := strings.Cut(name, "/")
		c.Providers[p] = Provider{BaseURL: c.Providers[p].BaseURL, APIKey: "k"}
		var searches bool
		body, notices, err := Preview(c, name, OpenOptions{Getenv: func(string) string { return "" }}, func(e llm.Endpoint) llm.Request {
			searches = e.Web
			return llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Settings: llm.Settings{Web: true}}
		})
		told := ""
		for _, n := range notices {
			told += n.Text
		}
		if err != nil || told != test.notice || searches != (test.notice == "") {
			t.Errorf("%s: %v, told %q, searches %v; want %q", name, err, told, searches, test.notice)
		}
		if !strings.Contains(body, test.field) || (test.field == "") == strings.Contains(strings.ToLower(body), "search") {
			t.Errorf("%s: want %s in\n%s", name, test.field, body)
		}
	}
}

// TestSearchPrice checks that searches cost the service's price if the model has none.
func TestSearchPrice(t *testing.T) {
	for name, want := range map[string]float64{"openai/gpt-6-sol": 0.02, "gemini/gemini-2.5-pro": 0.07, "deepseek/deepseek-flash": 0} {
		e, err := Open(Default(), name, OpenOptions{Getenv: func(string) string { return "key" }})
		if err != nil {
			t.Fatal(err)
		}
		if got, known := e.Cost(llm.Usage{Searches: 2}); got != want || !known {
			t.Errorf("%s: %v, known %v, want %v", name, got, known, want)
		}
	}
}
