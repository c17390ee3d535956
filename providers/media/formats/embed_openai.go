package formats

import (
	"cmp"
	"context"
	"net/url"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
	"parley/providers/adapter/openaiclient"
	"parley/providers/llm"
	"parley/providers/wire"
)

// embeddingService holds the differences of a kind of service on /embeddings.
type embeddingService struct {
	kind       string
	batch      int    // texts per request
	tokens     int    // of all texts of a request; 0 is no limit
	dimensions string // field for the number of dimensions; "" is "dimensions", "-" is none
	base64     bool   // can send vectors as base64, which is a quarter of the size
	inputType  bool   // has the field input_type: query or document
}

func (r embeddingService) serviceKind() string { return r.kind }

// embeddingServices lists the services. Limits are those of the documentation in November 2026:
// OpenAI 2048 texts and 300,000 tokens; Model Studio 10 texts (20 for its newest model, as the
// catalog says); Z.ai 64. Mistral's own client sends 32.
var embeddingServices = []embeddingService{
	{kind: "openai", batch: 2048, tokens: 300_000, base64: true},
	{kind: kindResponses, batch: 2048, tokens: 300_000, base64: true},
	{kind: "qwen", batch: 10},
	{kind: "glm", batch: 64},
	{kind: "mistral", batch: 32, dimensions: "output_dimension"},
	{kind: "openrouter", batch: 100, inputType: true},
	{kind: "llamacpp", batch: 64, dimensions: "-"},
	{kind: "vllm", batch: 64},
	{kind: "lmstudio", batch: 64, dimensions: "-"},
}

// An openAIEmbedder is a model at an embeddings endpoint.
type openAIEmbedder struct {
	o       adapter.Options
	service embeddingService
	client  sdk.EmbeddingService
}

// newOpenAIEmbedder returns the embedder that o describes, of a service of that kind. It sends
// nothing before Embed.
func newOpenAIEmbedder(o adapter.Options, kind string) llm.Embedder {
	o = o.WithDefaults()
	return &openAIEmbedder{o: o, service: rowOf(embeddingServices, kind), client: sdk.EmbeddingService{Options: openaiclient.Options(o)}}
}

// copiedBatch is the number of texts per request for servers that imitate OpenAI; Google's strictly
// enforces it.
const copiedBatch = 100

// Batch implements llm.Embedder.
func (e *openAIEmbedder) Batch() (inputs, tokens int) {
	inputs = e.service.batch
	if u, err := url.Parse(e.o.BaseURL); err == nil && u.Host != "" && u.Hostname() != "api.openai.com" {
		inputs = min(inputs, copiedBatch)
	}
	return inputs, e.service.tokens
}

// Embed implements llm.Embedder. It places vectors by their index, since servers need not sort them.
func (e *openAIEmbedder) Embed(ctx context.Context, inputs []string, o llm.EmbedOptions) (*llm.Embedded, error) {
	params, opts, notes := e.request(inputs, o)
	var text []byte // decoded here: the SDK keeps several float64 copies of each vector
	var left openaiclient.Unclosed
	opts = append(opts, left.Option(), option.WithMiddleware(boundedAnswer(answerLimit(len(inputs)), false, nil)), option.WithResponseBodyInto(&text))
	if _, err := e.client.New(ctx, params, opts...); err != nil {
		left.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.o.WithProvider(err)
	}
	out, err := decodeOpenAI(text, len(inputs))
	if err == nil {
		err = checkVectors(out.Vectors, len(inputs), o.Dimensions)
	}
	if err != nil {
		return nil, e.o.WithProvider(err)
	}
	out.Notes = notes
	return out, nil
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

// decodeOpenAI decodes the answer for n texts. An answer without vectors may hold an error.
func decodeOpenAI(text []byte, n int) (*llm.Embedded, error) {
	var answer openAIVectors
	if err := adapter.DecodeLenient(text, &answer); err != nil {
		return nil, wire.NotJSON(text)
	}
	if len(answer.Data) == 0 {
		if fault := wire.EventError(text); fault != nil {
			return nil, fault
		}
	}
	vectors, err := answer.inOrder(n)
	if err != nil {
		return nil, err
	}
	out := &llm.Embedded{Vectors: vectors, Bill: llm.Bill{Tokens: cmp.Or(answer.Usage.Prompt, answer.Usage.Total)}}
	if cost := answer.Usage.Cost; cost != nil {
		out.Bill.USD, out.Bill.Priced, out.Bill.Reported = *cost, true, true
	}
	return out, nil
}

// request returns the parameters of a request, with notes about options that it leaves out.
func (e *openAIEmbedder) request(inputs []string, o llm.EmbedOptions) (p sdk.EmbeddingNewParams, opts []option.RequestOption, notes []string) {
	p = sdk.EmbeddingNewParams{
		Model:          e.o.Model,
		Input:          sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: inputs},
		EncodingFormat: sdk.EmbeddingNewParamsEncodingFormatFloat,
	}
	if e.service.base64 {
		p.EncodingFormat = sdk.EmbeddingNewParamsEncodingFormatBase64
	}
	switch {
	case o.Dimensions == 0, e.service.dimensions == "-": // Embed checks the number in the answer
	case e.service.dimensions != "":
		opts = append(opts, option.WithJSONSet(e.service.dimensions, o.Dimensions))
	default:
		p.Dimensions = sdk.Int(int64(o.Dimensions))
	}
	switch {
	case o.Task == "":
	case e.service.inputType && (o.Task == llm.TaskQuery || o.Task == llm.TaskDocument):
		opts = append(opts, option.WithJSONSet("input_type", string(o.Task)))
	default:
		notes = append(notes, adapter.LeftOut(e.o.Model, "the task"))
	}
	for name, value := range e.o.Body {
		opts = append(opts, option.WithJSONSet(name, value))
	}
	return p, opts, notes
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
