package anthropic

import "testing"

func TestParse(t *testing.T) {
	for _, test := range []struct {
		id, family string
		version
		ok bool
	}{
		{"claude-3-haiku-20240307", "haiku", version{3, 0}, true},
		{"claude-3-5-sonnet-20241022", "sonnet", version{3, 5}, true},
		{"claude-3-7-sonnet@20250219", "sonnet", version{3, 7}, true},
		{"claude-2.1", "", version{2, 1}, true},
		{"anthropic.claude-v2", "", version{2, 0}, true},
		{"claude-instant-1.2", "instant", version{1, 2}, true},
		{"claude-sonnet-4-20250514", "sonnet", version{4, 0}, true},
		{"claude-4-opus-20250514", "opus", version{4, 0}, true},
		{"claude-opus-4-1-20250805", "opus", version{4, 1}, true},
		{"Claude-Opus-4.5", "opus", version{4, 5}, true},
		{"us.anthropic.claude-haiku-4-5-20251001-v1:0", "haiku", version{4, 5}, true},
		{"anthropic--claude-4-sonnet", "sonnet", version{4, 0}, true},
		{"vertex/claude-opus-4-5@20251101", "opus", version{4, 5}, true},
		{"anthropic/claude-opus-4.7:thinking", "opus", version{4, 7}, true},
		{"claude-fable-5", "fable", version{5, 0}, true},
		{"claude-opus-10-12", "opus", version{10, 12}, true},
		{"claude-sonnet-latest", "sonnet", newest, true},
		{"claude-mythos-preview", "mythos", newest, true},
		{"glm-5.3", "", newest, false},
		{"qwen3-claude-opus-4-distill", "", newest, false},
	} {
		family, v, ok := parseModelID(test.id)
		if family != test.family || v != test.version || ok != test.ok {
			t.Errorf("%s: %q %v %t, want %q %v %t", test.id, family, v, ok, test.family, test.version, test.ok)
		}
	}
}

// TestName checks that all spellings of an id give one name, since thinking goes back to its model
// under any of them.
func TestName(t *testing.T) {
	for id, want := range map[string]string{
		"claude-sonnet-4-5": "sonnet-4.5", "claude-sonnet-4-5-20250929": "sonnet-4.5", "anthropic/claude-sonnet-4.5": "sonnet-4.5",
		"claude-opus-5": "opus-5.0", "claude-opus-latest": "opus", "GLM-5.3": "glm-5.3", "claude-2.1": "2.1",
	} {
		for _, base := range []string{"https://api.anthropic.com", "https://example.com"} {
			if got := factsOf(Options{Model: id, BaseURL: base}).name; got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		}
	}
}
