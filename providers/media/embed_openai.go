package media

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/openai"
)

// embeddingService is what a kind of service does differently on /embeddings.
type embeddingService struct {
	kind       string
	batch      int    // texts per request
	tokens     int    // of all texts of a request
	dimensions string // field that asks for them; "" is "dimensions", "-" none
	base64     bool   // vectors may come in base64, a quarter of the size
	inputType  bool   // takes input_type: query or document
}

// embeddingServices lists them. Limits are those of the documentation in November 2026:
// OpenAI 2048 texts and 300,000 tokens; Model Studio 10 texts (20 of the newest model, which
// the catalog knows); Z.ai 64; Mistral's own client sends 32.
var embeddingServices = []embeddingService{
	{kind: "openai", batch: 2048, tokens: 300_000, base64: true},
	{kind: openai.KindResponses, batch: 2048, tokens: 300_000, base64: true},
	{kind: "qwen", batch: 10},
	{kind: "glm", batch: 64},
	{kind: "mistral", batch: 32, dimensions: "output_dimension"},
	{kind: "openrouter", batch: 100, inputType: true},
	{kind: "llamacpp", batch: 64, dimensions: "-"},
	{kind: "vllm", batch: 64},
	{kind: "lmstudio", batch: 64, dimensions: "-"},
}

// openAIEmbeddingKinds lists the kinds that have embeddings in OpenAI's format.
var openAIEmbeddingKinds = func() (kinds []string) {
	for _, s := range embeddingServices {
		kinds = append(kinds, s.kind)
	}
	return kinds
}()

// An openAIEmbedder is a model behind an embeddings endpoint.
type openAIEmbedder struct {
	o       adapter.Options
	service embeddingService
	client  sdk.EmbeddingService
}

// newOpenAIEmbedder returns the embedder that o describes, of a service of that kind. Nothing is
// sent before Embed.
func newOpenAIEmbedder(o adapter.Options, kind string) llm.Embedder {
	i := slices.IndexFunc(embeddingServices, func(s embeddingService) bool { return s.kind == kind })
	o = o.WithDefaults()
	return &openAIEmbedder{o: o, service: embeddingServices[max(i, 0)], client: sdk.EmbeddingService{Options: openai.ClientOptions(o)}}
}

// Batch implements llm.Embedder.
func (e *openAIEmbedder) Batch() (inputs, tokens int) { return e.service.batch, e.service.tokens }

// Embed implements llm.Embedder. Vectors are placed by their index: servers do not sort
// them.
func (e *openAIEmbedder) Embed(ctx context.Context, inputs []string, o llm.EmbedOptions) (*llm.Embedded, error) {
	params, opts, notes := e.request(inputs, o)
	res, err := e.client.New(ctx, params, append(opts, option.WithMiddleware(limitAnswer(answerLimit(len(inputs)))))...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.o.WithProvider(err)
	}
	vectors, err := placed(res.Data, len(inputs))
	if err == nil {
		err = adapter.Vectors(vectors, len(inputs), o.Dimensions)
	}
	if err != nil {
		return nil, e.o.WithProvider(err)
	}
	out := &llm.Embedded{Vectors: vectors, Notes: notes}
	out.Bill.Tokens = int(cmp.Or(res.Usage.PromptTokens, res.Usage.TotalTokens))
	var usage struct{ Cost *float64 }
	if adapter.DecodeLenient([]byte(res.Usage.RawJSON()), &usage) == nil && usage.Cost != nil { // OpenRouter
		out.Bill.USD, out.Bill.Priced, out.Bill.Exact = *usage.Cost, true, true
	}
	return out, nil
}

// request writes what is sent, and what was left out of it.
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
	case o.Dimensions == 0, e.service.dimensions == "-": // what comes has to have them all the same
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

// placed returns vectors in the order of the inputs. A server that numbers none of them
// is taken to have kept it.
func placed(data []sdk.Embedding, n int) ([][]float32, error) {
	if len(data) != n {
		return make([][]float32, len(data)), nil // which Vectors refuses
	}
	numbered := slices.ContainsFunc(data, func(d sdk.Embedding) bool { return d.JSON.Index.Valid() })
	vectors := make([][]float32, n)
	for i, d := range data {
		at := i
		if numbered {
			at = int(d.Index)
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, &llm.Error{Fault: llm.Server, Message: "returned vectors whose numbers do not fit the texts"}
		}
		var v vector
		_ = v.UnmarshalJSON([]byte(d.JSON.Embedding.Raw())) // what is none is NaN
		vectors[at] = v
		if v == nil {
			vectors[at] = []float32{} // taken, and refused by Vectors
		}
	}
	return vectors, nil
}

// limitAnswer returns what ends an answer of more than limit bytes: the SDK reads whatever
// comes into memory.
func limitAnswer(limit int64) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if err == nil {
			res.Body = &limitedBody{res.Body, limit, limit}
		}
		return res, err
	}
}

// A limitedBody returns an error once more was read than may be.
type limitedBody struct {
	io.ReadCloser
	left, limit int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("answered with more than %d MB", b.limit>>20)}
	}
	return n, err
}
