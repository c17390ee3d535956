package formats

import (
	"cmp"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// compileOpenAI returns a request in OpenAI's format.
func compileOpenAI(f embeddingFormat, o adapter.Options, inputs []string, want works.EmbedOptions) (r embeddingRequest) {
	r.url = strings.TrimRight(o.BaseURL, "/") + "/embeddings"
	r.body = map[string]any{"model": o.Model, "input": inputs, "encoding_format": "float"}
	if f.base64 {
		r.body["encoding_format"] = "base64"
	}
	if field := cmp.Or(f.dimensions, "dimensions"); want.Dimensions > 0 && field != "-" { // without it, Embed checks the number in the answer
		r.body[field] = want.Dimensions
	}
	switch {
	case want.Task == "":
	case f.inputType && (want.Task == works.TaskQuery || want.Task == works.TaskDocument):
		r.body["input_type"] = string(want.Task)
	default:
		r.notes = append(r.notes, adapter.LeftOut(o.Model, "the task"))
	}
	return r
}

// An openAIVectors is an answer. Some servers send no index; OpenRouter sends the cost.
type openAIVectors struct {
	Data []struct {
		Index     *int
		Embedding vector
	}
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Total  int `json:"total_tokens"`
		Cost   *float64
	}
}

func decodeOpenAI(text []byte, n int) (*works.Embedded, error) {
	var answer openAIVectors
	if err := adapter.DecodeLenient(text, &answer); err != nil {
		return nil, err
	}
	vectors, err := answer.inOrder(n)
	out := &works.Embedded{Vectors: vectors, Bill: works.Bill{Tokens: cmp.Or(answer.Usage.Prompt, answer.Usage.Total)}}
	if cost := answer.Usage.Cost; cost != nil {
		out.Bill.USD, out.Bill.Priced, out.Bill.Reported = *cost, true, true
	}
	return out, err
}

// inOrder returns the vectors in the order of the n texts. Without any index, it assumes that the
// server kept the order.
func (a openAIVectors) inOrder(n int) ([][]float32, error) {
	if len(a.Data) != n {
		return make([][]float32, len(a.Data)), nil // checkVectors reports the wrong number
	}
	vectors, taken, numbered := make([][]float32, n), make([]bool, n), 0
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
			numbered++
		}
		if at < 0 || at >= n || taken[at] {
			return nil, &llm.Error{Fault: llm.Server, Message: "returned vectors whose numbers do not fit the texts"}
		}
		vectors[at], taken[at] = d.Embedding, true
	}
	if numbered > 0 && numbered < n {
		return nil, &llm.Error{Fault: llm.Server, Message: "returned vectors of which only some have numbers"}
	}
	return vectors, nil
}
