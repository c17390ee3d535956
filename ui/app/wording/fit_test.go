package wording

import (
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// A switch to another model says what it would not get.
func TestModelFit(t *testing.T) {
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Origin: "fake"}})
	if words := ModelFit(s, llm.Endpoint{Name: "a/b", Context: 1}); words != nil {
		t.Errorf("an empty conversation: %q", words)
	}
	media := func(mime string) llm.Part { return llm.Part{Kind: llm.Media, MIME: mime, Data: []byte{0, 1}} }
	s.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Vision: true, Files: []string{"audio/", "video/", "application/"}, Cache: llm.Cache{Lifetime: time.Hour},
		Model: llmtest.New(llmtest.Script(
			llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "yes"}},
			llm.Usage{Input: 4000, CacheRead: 3000, Output: 10}, llm.Finish{Reason: llm.Stop}))})
	for range s.Turn(t.Context(), media("image/png"), media("image/gif"), media("audio/mp3"), media("video/mp4"), media("application/pdf"), media("application/zip"), llm.Part{Kind: llm.Text, Text: "look"}) {
	}
	all := llm.Endpoint{Name: "b/c", Origin: "fake", Vision: true, Files: []string{"audio/", "video/", "application/"}}
	for name, c := range map[string]struct {
		change func(*llm.Endpoint)
		want   string
	}{
		"nothing":      {func(e *llm.Endpoint) {}, "prompt cache lost (3.0k tokens)"},
		"the same one": {func(e *llm.Endpoint) { e.Name = "fake/m" }, ""},
		"a window":     {func(e *llm.Endpoint) { e.Context = 100_000 }, "context 4% | prompt cache lost (3.0k tokens)"},
		"no room":      {func(e *llm.Endpoint) { e.Context = 1000 }, "context 401%: too long | prompt cache lost (3.0k tokens)"},
		"no files": {func(e *llm.Endpoint) { e.Vision, e.Blind, e.Files = false, true, nil },
			"2 images not sent | 1 PDF not sent | 1 audio file not sent | 1 video not sent | 1 file not sent | prompt cache lost (3.0k tokens)"},
		"thinking": {func(e *llm.Endpoint) { e.Origin = "other" }, "prompt cache lost (3.0k tokens) | thinking not sent"},
	} {
		model := all
		c.change(&model)
		if got := strings.Join(ModelFit(s, model), " | "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
