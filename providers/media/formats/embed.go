package formats

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"parley/providers/adapter"
	"parley/providers/llm/works"
	"parley/providers/wire"
)

// embeddingFormat is the wire format of embeddings of a kind of service.
type embeddingFormat struct {
	kind   string
	batch  int    // texts per request
	copied int    // texts per request at other hosts than OpenAI's; 0 for the same number
	tokens int    // of all texts of a request; 0 is no limit
	key    string // header of the key; "" is Authorization

	// Differences of services on /embeddings.
	dimensions string // field for the number of dimensions; "" is "dimensions", "-" is none
	base64     bool   // can send vectors as base64, which is a quarter of the size
	inputType  bool   // has the field input_type: query or document

	// compile returns a request, with notes about options that it leaves out.
	compile func(f embeddingFormat, o adapter.Options, inputs []string, want works.EmbedOptions) (r embeddingRequest)
	// decode returns the vectors of an answer for n texts in the order of the texts, and the bill as far as the service
	// reports it.
	decode func(text []byte, n int) (*works.Embedded, error)
}

func (r embeddingFormat) serviceKind() string { return r.kind }

// An embeddingRequest is a request and the notes for the user about it.
type embeddingRequest struct {
	url   string
	body  map[string]any
	notes []string
}

// embeddingFormats lists the formats. Limits are those of the documentation in November 2026: OpenAI
// 2048 texts and 300,000 tokens; Model Studio 10 texts (20 for its newest model, as the catalog
// says); Z.ai 64. Servers that imitate OpenAI accept fewer: Google's strictly enforces 100. Mistral's
// own client sends 32. Ollama documents none.
var embeddingFormats = []embeddingFormat{
	{kind: "openai", batch: 2048, copied: 100, tokens: 300_000, base64: true, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: kindResponses, batch: 2048, copied: 100, tokens: 300_000, base64: true, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "qwen", batch: 10, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "glm", batch: 64, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "mistral", batch: 32, dimensions: "output_dimension", compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "openrouter", batch: 100, inputType: true, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "llamacpp", batch: 64, dimensions: "-", compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "vllm", batch: 64, compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "lmstudio", batch: 64, dimensions: "-", compile: compileOpenAI, decode: decodeOpenAI},
	{kind: "gemini", batch: 100, key: "X-Goog-Api-Key", compile: compileGemini, decode: decodeGemini},
	{kind: "minimax", batch: 512, compile: compileMiniMax, decode: decodeMiniMax},
	{kind: "ollama", batch: 64, compile: compileOllama, decode: decodeOllama},
}

// An embedder is a model at an endpoint for embeddings.
type embedder struct {
	o      adapter.Options
	format embeddingFormat
}

// newEmbedder returns the embedder that o describes, of a service of that kind. It sends nothing
// before Embed.
func newEmbedder(o adapter.Options, kind string) works.Embedder {
	return &embedder{o.WithDefaults(), rowOf(embeddingFormats, kind)}
}

// Batch implements works.Embedder.
func (e *embedder) Batch() (inputs, tokens int) {
	if f := e.format; f.copied == 0 || e.o.BaseURL == "" || e.o.IsHost(adapter.OpenAI) {
		return f.batch, f.tokens
	}
	return e.format.copied, e.format.tokens
}

// Embed implements works.Embedder.
func (e *embedder) Embed(ctx context.Context, inputs []string, want works.EmbedOptions) (*works.Embedded, error) {
	r := e.format.compile(e.format, e.o, inputs, want)
	maps.Copy(r.body, e.o.Body)
	out, err := e.send(ctx, r, len(inputs))
	if err == nil {
		err = checkVectors(out.Vectors, len(inputs), want.Dimensions)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.o.WithProvider(err)
	}
	out.Notes = r.notes
	return out, nil
}

// send sends r and decodes the answer for n texts. Some services report errors with status 200, so it
// looks for one in an answer without vectors.
func (e *embedder) send(ctx context.Context, r embeddingRequest, n int) (*works.Embedded, error) {
	var text json.RawMessage
	client := adapter.Client{HTTP: e.o.HTTP, Headers: e.o.RequestHeaders(e.format.key)}
	if err := call(ctx, client, http.MethodPost, r.url, r.body, &text, answerLimit(n)); err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return &works.Embedded{}, nil // checkVectors reports that vectors are missing
	}
	out, err := e.format.decode(text, n)
	if err == nil && len(out.Vectors) == 0 {
		if fault := wire.EventError(text); fault != nil {
			return nil, fault
		}
	}
	return out, err
}

// Bounds of an answer: the longest known vectors have 8192 dimensions, and a number takes up to 24
// bytes.
const (
	vectorBytes = 8192 * 24
	answerBytes = 192 << 20
)

// answerLimit returns how many bytes the answer for n texts may have.
func answerLimit(n int) int64 { return min(1<<20+int64(n)*vectorBytes, answerBytes) }
