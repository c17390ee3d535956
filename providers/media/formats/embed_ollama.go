package formats

import (
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// compileOllama returns a request in Ollama's own format. Its endpoint in OpenAI's format silently
// truncates texts that are too long; with truncate false, this one returns an error.
func compileOllama(_ embeddingFormat, o adapter.Options, inputs []string, want works.EmbedOptions) (r embeddingRequest) {
	host := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	r.url = host + "/api/embed"
	r.body = map[string]any{"model": o.Model, "input": inputs, "truncate": false}
	if want.Dimensions > 0 {
		r.body["dimensions"] = want.Dimensions
	}
	if want.Task != "" {
		r.notes = append(r.notes, adapter.LeftOut(o.Model, "the task"))
	}
	return r
}

func decodeOllama(text []byte, _ int) (*works.Embedded, error) {
	var answer struct {
		Embeddings []vector
		Tokens     int `json:"prompt_eval_count"`
	}
	err := adapter.DecodeLenient(text, &answer)
	return &works.Embedded{Vectors: float32s(answer.Embeddings), Bill: works.Bill{Tokens: answer.Tokens}}, err
}
