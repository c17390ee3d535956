package media

import (
	"context"
	"encoding/json"
	"net/http"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// embeddingFormat is a wire format of embeddings that is not OpenAI's.
type embeddingFormat struct {
	kind   string
	batch  int // texts per request
	tokens int // of all texts of a request; 0: no limit
	// compile writes a request, and what was left out of it.
	compile func(o adapter.Options, inputs []string, want llm.EmbedOptions) (r embeddingRequest)
	// decode returns the vectors of an answer in the order of the texts, and the tokens
	// that were counted, if they were.
	decode func(text []byte) (vectors [][]float32, tokens int, err error)
}

func (r embeddingFormat) serviceKind() string { return r.kind }

// An embeddingRequest is what is sent.
type embeddingRequest struct {
	url     string
	headers map[string]string
	body    map[string]any
	notes   []string
}

// embeddingFormats lists them. Limits are those of MiniMax's and Google's documentation;
// Ollama has none.
var embeddingFormats = []embeddingFormat{
	{kind: "gemini", batch: 100, compile: compileGemini, decode: decodeGemini},
	{kind: "minimax", batch: 512, compile: compileMiniMax, decode: decodeMiniMax},
	{kind: "ollama", batch: 64, compile: compileOllama, decode: decodeOllama},
}

// embeddingFormatKinds lists the kinds that have a format of their own.
var embeddingFormatKinds = kindsOf(embeddingFormats)

// An embedder is a model behind an endpoint with a format of its own.
type embedder struct {
	o      adapter.Options
	format embeddingFormat
}

// newEmbedder returns the embedder that o describes, of a service of that kind. Nothing is
// sent before Embed.
func newEmbedder(o adapter.Options, kind string) llm.Embedder {
	return &embedder{o.WithDefaults(), rowOf(embeddingFormats, kind)}
}

// Batch implements llm.Embedder.
func (e *embedder) Batch() (inputs, tokens int) { return e.format.batch, e.format.tokens }

// Embed implements llm.Embedder.
func (e *embedder) Embed(ctx context.Context, inputs []string, want llm.EmbedOptions) (*llm.Embedded, error) {
	r := e.format.compile(e.o, inputs, want)
	for name, value := range e.o.Body {
		r.body[name] = value
	}
	vectors, tokens, err := e.send(ctx, r, len(inputs))
	if err == nil {
		err = adapter.Vectors(vectors, len(inputs), want.Dimensions)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.o.WithProvider(err)
	}
	return &llm.Embedded{Vectors: vectors, Notes: r.notes, Bill: llm.Bill{Tokens: tokens}}, nil
}

// send sends r and decodes the answer. An answer without vectors may hold an error, as of
// services that report theirs with status 200.
func (e *embedder) send(ctx context.Context, r embeddingRequest, n int) ([][]float32, int, error) {
	headers := map[string]string{}
	if e.o.Key != "" && r.headers == nil {
		headers["Authorization"] = "Bearer " + e.o.Key
	}
	for _, more := range []map[string]string{r.headers, e.o.Headers} {
		for name, value := range more {
			headers[http.CanonicalHeaderKey(name)] = value
		}
	}
	var text json.RawMessage
	client := adapter.Client{HTTP: e.o.HTTP, Headers: headers}
	if err := client.Call(ctx, http.MethodPost, r.url, r.body, &text, answerLimit(n)); err != nil {
		return nil, 0, err
	}
	if len(text) == 0 {
		return nil, 0, nil // which Vectors refuses
	}
	vectors, tokens, err := e.format.decode(text)
	if len(vectors) == 0 {
		if fault := wire.EventError(text); fault != nil {
			return nil, 0, fault
		}
	}
	return vectors, tokens, err
}

// The longest vector that anybody is known to make has 8192 dimensions; a number takes
// up to 24 bytes.
const (
	vectorBytes = 8192 * 24
	answerBytes = 192 << 20
)

// answerLimit returns how many bytes an answer about n texts may have.
func answerLimit(n int) int64 { return min(1<<20+int64(n)*vectorBytes, answerBytes) }
