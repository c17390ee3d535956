package formats

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// embeddingFormat is a wire format of embeddings other than OpenAI's.
type embeddingFormat struct {
	kind   string
	batch  int    // texts per request
	tokens int    // of all texts of a request; 0 is no limit
	key    string // header of the key; "" is Authorization
	// compile returns a request, with notes about options that it leaves out.
	compile func(o adapter.Options, inputs []string, want llm.EmbedOptions) (r embeddingRequest)
	// decode returns the vectors of an answer in the order of the texts, and the token count; 0 if
	// the service does not count.
	decode func(text []byte) (vectors [][]float32, tokens int, err error)
}

func (r embeddingFormat) serviceKind() string { return r.kind }

// An embeddingRequest is a request and the notes for the user about it.
type embeddingRequest struct {
	url   string
	body  map[string]any
	notes []string
}

// embeddingFormats lists the formats. Limits are those of MiniMax's and Google's documentation;
// Ollama documents none.
var embeddingFormats = []embeddingFormat{
	{kind: "gemini", batch: 100, key: "X-Goog-Api-Key", compile: compileGemini, decode: decodeGemini},
	{kind: "minimax", batch: 512, compile: compileMiniMax, decode: decodeMiniMax},
	{kind: "ollama", batch: 64, compile: compileOllama, decode: decodeOllama},
}

// An embedder is a model at an endpoint with a separate wire format.
type embedder struct {
	o      adapter.Options
	format embeddingFormat
}

// newEmbedder returns the embedder that o describes, of a service of that kind. It sends nothing
// before Embed.
func newEmbedder(o adapter.Options, kind string) llm.Embedder {
	return &embedder{o.WithDefaults(), rowOf(embeddingFormats, kind)}
}

// Batch implements llm.Embedder.
func (e *embedder) Batch() (inputs, tokens int) { return e.format.batch, e.format.tokens }

// Embed implements llm.Embedder.
func (e *embedder) Embed(ctx context.Context, inputs []string, want llm.EmbedOptions) (*llm.Embedded, error) {
	r := e.format.compile(e.o, inputs, want)
	maps.Copy(r.body, e.o.Body)
	vectors, tokens, err := e.send(ctx, r, len(inputs))
	if err == nil {
		err = checkVectors(vectors, len(inputs), want.Dimensions)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, e.o.WithProvider(err)
	}
	return &llm.Embedded{Vectors: vectors, Notes: r.notes, Bill: llm.Bill{Tokens: tokens}}, nil
}

// send sends r and decodes the answer. Some services report errors with status 200, so it looks for
// one in an answer without vectors.
func (e *embedder) send(ctx context.Context, r embeddingRequest, n int) ([][]float32, int, error) {
	var text json.RawMessage
	client := adapter.Client{HTTP: e.o.HTTP, Headers: e.o.RequestHeaders(e.format.key)}
	if err := call(ctx, client, http.MethodPost, r.url, r.body, &text, answerLimit(n)); err != nil {
		return nil, 0, err
	}
	if len(text) == 0 {
		return nil, 0, nil // checkVectors reports that vectors are missing
	}
	vectors, tokens, err := e.format.decode(text)
	if len(vectors) == 0 {
		if fault := wire.EventError(text); fault != nil {
			return nil, 0, fault
		}
	}
	return vectors, tokens, err
}

// Bounds of an answer: the longest known vectors have 8192 dimensions, and a number takes up to 24
// bytes.
const (
	vectorBytes = 8192 * 24
	answerBytes = 192 << 20
)

// answerLimit returns how many bytes the answer for n texts may have.
func answerLimit(n int) int64 { return min(1<<20+int64(n)*vectorBytes, answerBytes) }
