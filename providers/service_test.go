package providers

import "testing"

// An OpenAI-compatible server gets chat completions, unless it is known to support Responses or the
// configuration says so.
func TestKindOfAnOpenAIServer(t *testing.T) {
	for _, tt := range []struct {
		conf Provider
		env  string
		want string
	}{
		{Provider{}, "", "openai-responses"},
		{Provider{}, "https://api.openai.com/v1", "openai-responses"},
		{Provider{}, "https://eu.api.openai.com/v1", "openai-responses"},
		{Provider{}, "https://mine.openai.azure.com/openai/v1", "openai-responses"},
		{Provider{}, "https://openrouter.ai/api/v1", "openai-responses"},
		{Provider{}, "http://localhost:1234/v1", "openai-responses"},
		{Provider{}, "http://localhost:8000/v1", "openai"},
		{Provider{}, "https://api.openai.com.example/v1", "openai"},
		{Provider{}, "https://notapi.x.ai/v1", "openai"},
		{Provider{BaseURL: "http://proxy/v1"}, "", "openai"},
		{Provider{BaseURL: "http://proxy/v1", Kind: "openai-responses"}, "", "openai-responses"},
		{Provider{Kind: "openai"}, "", "openai"},
	} {
		c := Config{Providers: map[string]Provider{"openai": tt.conf}}
		if s, ok := c.service("openai", env("OPENAI_BASE_URL", tt.env)); !ok || s.kind != tt.want {
			t.Errorf("%+v, OPENAI_BASE_URL=%s: kind %s, want %s", tt.conf, tt.env, s.kind, tt.want)
		}
	}
}
