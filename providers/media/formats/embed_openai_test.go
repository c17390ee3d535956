package formats

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm/works"
	"parley/providers/llmtest"
)

// embedServer answers every request with answer, and records the last body.
func embedServer(t *testing.T, answer string) (o adapter.Options, body *map[string]any) {
	t.Helper()
	body = new(map[string]any)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		*body = nil
		if err := json.Unmarshal(data, body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return adapter.Options{Provider: "mock", Model: "m", BaseURL: s.URL, Key: "secret-key"}, body
}

func TestEmbedPlacesVectors(t *testing.T) {
	const two = `{"data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,4]}],"usage":{"prompt_tokens":7}}`
	for _, test := range []struct {
		name, kind, answer string
		o                  works.EmbedOptions
		want               string // in the request
		error              string
	}{
		{name: "by index", kind: "openai", answer: two},
		{name: "without index", kind: "qwen", answer: `{"data":[{"embedding":[0.6,0.8]},{"embedding":[0,1]}]}`},
		{name: "base64", kind: "openai", answer: `{"data":[{"index":0,"embedding":"mpkZP83MTD8="},{"index":1,"embedding":"AAAAAAAAgD8="}]}`, want: `"encoding_format":"base64"`},
		{name: "dimensions", kind: "openai", answer: two, o: works.EmbedOptions{Dimensions: 2}, want: `"dimensions":2`},
		{name: "dimensions by another name", kind: "mistral", answer: two, o: works.EmbedOptions{Dimensions: 2}, want: `"output_dimension":2`},
		{name: "task", kind: "openrouter", answer: two, o: works.EmbedOptions{Task: works.TaskQuery}, want: `"input_type":"query"`},
		{name: "twice the same", kind: "openai", answer: `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, error: "do not fit"},
		{name: "too few", kind: "openai", answer: `{"data":[{"index":0,"embedding":[1]}]}`, error: "1 vectors for 2"},
		{name: "other dimensions than asked", kind: "openai", answer: two, o: works.EmbedOptions{Dimensions: 3}, error: "2 dimensions where 3"},
		{name: "zero", kind: "openai", answer: `{"data":[{"index":0,"embedding":[0,0]},{"index":1,"embedding":[1,0]}]}`, error: "zero or no number"},
		{name: "nothing", kind: "openai", answer: `{}`, error: "0 vectors"},
	} {
		o, body := embedServer(t, test.answer)
		got, err := newEmbedder(o, test.kind).Embed(t.Context(), []string{"a", "b"}, test.o)
		if test.error != "" {
			if err == nil || !strings.Contains(err.Error(), test.error) {
				t.Errorf("%s: %v, want %q", test.name, err, test.error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if v := got.Vectors; v[0][0] < 0.59 || v[0][0] > 0.61 || v[1][1] != 1 {
			t.Errorf("%s: %v", test.name, v)
		}
		if sent, _ := json.Marshal(*body); !strings.Contains(string(sent), test.want) {
			t.Errorf("%s: sent %s, want %s", test.name, sent, test.want)
		}
	}
}

// TestEmbedBatch: servers that imitate OpenAI's format accept fewer texts per request. Google's error
// for 101 is "at most 100 requests can be in one batch" (github.com/StarTrail-org/LEANN pull 214).
func TestEmbedBatch(t *testing.T) {
	for _, test := range []struct {
		kind, base string
		want       int
	}{
		{"openai", "", 2048},
		{"openai", "https://api.openai.com/v1", 2048},
		{"openai", "https://generativelanguage.googleapis.com/v1beta/openai", 100},
		{"openai", "http://localhost:4000/v1", 100},
		{"qwen", "https://generativelanguage.googleapis.com/v1beta/openai", 10},
	} {
		if n, _ := newEmbedder(adapter.Options{Model: "m", BaseURL: test.base}, test.kind).Batch(); n != test.want {
			t.Errorf("%s at %q: %d texts, want %d", test.kind, test.base, n, test.want)
		}
	}
}

// Canceling just as an answer begins leaves no response open.
func TestCanceledAsItBegins(t *testing.T) {
	prompt := works.ImageRequest{Prompt: "a cat", N: 1}
	partials, edit := prompt, prompt
	partials.Partials = 2
	edit.Inputs = []works.Blob{{MIME: "image/png", Data: pngImage}}
	edited := edit
	edited.Partials = 2
	draw := func(r works.ImageRequest) func(context.Context, adapter.Options) error {
		return func(ctx context.Context, o adapter.Options) error {
			m := newImageMaker(o, "openai")
			m.facts.ID, m.facts.Partials, m.facts.Inputs = "m", true, 16
			for _, err := range m.Make(ctx, r) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, ask := range map[string]func(context.Context, adapter.Options) error{
		"embed": func(ctx context.Context, o adapter.Options) error {
			_, err := newEmbedder(o, "openai").Embed(ctx, []string{"a"}, works.EmbedOptions{})
			return err
		},
		"image": draw(prompt), "image in parts": draw(partials), "edit": draw(edit), "edit in parts": draw(edited),
	} {
		client, ctx, closed := llmtest.CanceledClient(t.Context(), map[bool]string{false: `{"data":[]}`, true: "data: x\n\n"}[strings.HasSuffix(name, "in parts")])
		if err := ask(ctx, adapter.Options{Provider: "mock", Model: "m", BaseURL: "http://mock.invalid/v1", Key: "k", HTTP: client}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if !closed() {
			t.Errorf("%s: the answer was left open", name)
		}
	}
}
