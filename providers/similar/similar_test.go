package similar

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	models := []string{"openai/gpt-4o", "openai/gpt-4o-mini", "xai/grok-4.7", "zai/glm-5.3", "deepseek/deepseek-v4-pro"}
	kinds := []string{"openai", "anthropic", "openrouter", "ollama", "zai"}
	for _, tt := range []struct {
		name  string
		among []string
		n     int
		want  []string
	}{
		{"opnai", kinds, 1, []string{"openai"}},
		{"OpenAI", kinds, 1, []string{"openai"}},
		{"antrhopic", kinds, 1, []string{"anthropic"}},
		{"gtp-4o", models, 1, []string{"openai/gpt-4o"}},
		{"openai/gpt4o", models, 2, []string{"openai/gpt-4o"}},
		{"grok", models, 3, []string{"xai/grok-4.7"}},
		{"deepseek-v4", models, 3, []string{"deepseek/deepseek-v4-pro"}},
		{"something else", models, 3, nil},
		{"vlm", []string{"glm", "vllm"}, 2, []string{"vllm", "glm"}}, // equally far
		{"zai", nil, 3, nil},
		{"zai", kinds, 0, nil},
	} {
		if got := Names(tt.name, tt.among, tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("Names(%q, %d) = %q, want %q", tt.name, tt.n, got, tt.want)
		}
	}
}
