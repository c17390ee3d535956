package formats

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// An embedWire is the documented behavior of a service, implemented by a local server.
type embedWire struct {
	kind, model string
	path        string                                      // path of the request
	key         string                                      // header for the key
	texts       func(body map[string]any) []string          // of a request
	answer      func(vectors []string, tokens int) string   // vectors are JSON
	short       string                                      // an answer for two texts without vectors
	wants       func(o works.EmbedOptions) map[string]any   // fields that a request must have
	fails       func(status int, message string) (int, any) // form of errors; nil for OpenAI's
	counts      bool                                        // tokens
}

func strs(list any) (out []string) {
	all, _ := list.([]any)
	for _, x := range all {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}

func openAIAnswer(vectors []string, tokens int) string {
	var rows []string
	for i, v := range slices.Backward(vectors) { // servers need not sort them
		rows = append(rows, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, v))
	}
	return fmt.Sprintf(`{"object":"list","data":[%s],"model":"m","usage":{"prompt_tokens":%d,"total_tokens":%[2]d}}`, strings.Join(rows, ","), tokens)
}

func openAIWire(kind string, wants func(works.EmbedOptions) map[string]any) embedWire {
	return embedWire{
		kind: kind, model: "m", path: "/v1/embeddings", key: "Authorization", counts: true,
		texts:  func(body map[string]any) []string { return strs(body["input"]) },
		answer: openAIAnswer, short: `{"object":"list","data":[]}`, wants: wants,
	}
}

func dimensions(name string) func(works.EmbedOptions) map[string]any {
	return func(o works.EmbedOptions) map[string]any { return map[string]any{name: float64(o.Dimensions)} }
}

func gemini(model string, wants func(works.EmbedOptions) map[string]any) embedWire {
	return embedWire{
		kind: "gemini", model: model, path: "/v1/models/" + model + ":batchEmbedContents", key: "X-Goog-Api-Key",
		texts: func(body map[string]any) (texts []string) {
			for _, r := range body["requests"].([]any) {
				parts := r.(map[string]any)["content"].(map[string]any)["parts"].([]any)
				texts = append(texts, parts[0].(map[string]any)["text"].(string))
			}
			return texts
		},
		answer: func(vectors []string, _ int) string {
			return `{"embeddings":[{"values":` + strings.Join(vectors, `},{"values":`) + `}]}`
		},
		short: `{}`, wants: wants,
		fails: func(status int, message string) (int, any) {
			return status, map[string]any{"error": map[string]any{"code": status, "message": message, "status": map[int]string{429: "RESOURCE_EXHAUSTED", 401: "UNAUTHENTICATED", 400: "INVALID_ARGUMENT", 500: "INTERNAL"}[status]}}
		},
	}
}

var embedWires = []embedWire{
	openAIWire("openai", dimensions("dimensions")),
	openAIWire("openai-responses", dimensions("dimensions")),
	openAIWire("qwen", dimensions("dimensions")),
	openAIWire("glm", dimensions("dimensions")),
	openAIWire("mistral", dimensions("output_dimension")),
	openAIWire("openrouter", func(o works.EmbedOptions) map[string]any {
		return map[string]any{"dimensions": float64(o.Dimensions), "input_type": "document"}
	}),
	openAIWire("vllm", dimensions("dimensions")),
	openAIWire("llamacpp", func(works.EmbedOptions) map[string]any { return nil }),
	openAIWire("lmstudio", func(works.EmbedOptions) map[string]any { return nil }),
	gemini("gemini-embedding-001", func(o works.EmbedOptions) map[string]any {
		return map[string]any{"taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": float64(o.Dimensions), "model": "models/gemini-embedding-001"}
	}),
	gemini("gemini-embedding-2", func(o works.EmbedOptions) map[string]any {
		return map[string]any{"outputDimensionality": float64(o.Dimensions), "text": "title: none | text: one"}
	}),
	{
		kind: "minimax", model: "embo-01", path: "/v1/embeddings", key: "Authorization", counts: true,
		texts: func(body map[string]any) []string { return strs(body["texts"]) },
		answer: func(vectors []string, tokens int) string {
			return fmt.Sprintf(`{"vectors":[%s],"total_tokens":%d,"base_resp":{"status_code":0,"status_msg":"success"}}`, strings.Join(vectors, ","), tokens)
		},
		short: `{"vectors":null,"base_resp":{"status_code":0,"status_msg":""}}`,
		wants: func(works.EmbedOptions) map[string]any { return map[string]any{"type": "db"} },
		fails: func(status int, message string) (int, any) {
			code := map[int]int{401: 1004, 429: 1002, 402: 1008, 400: 2013, 500: 1000}[status]
			return 200, map[string]any{"vectors": nil, "base_resp": map[string]any{"status_code": code, "status_msg": message}}
		},
	},
	{
		kind: "ollama", model: "m", path: "/api/embed", key: "Authorization", counts: true,
		texts: func(body map[string]any) []string { return strs(body["input"]) },
		answer: func(vectors []string, tokens int) string {
			return fmt.Sprintf(`{"model":"m","embeddings":[%s],"total_duration":1,"prompt_eval_count":%d}`, strings.Join(vectors, ","), tokens)
		},
		short: `{"model":"m","embeddings":[]}`,
		wants: func(o works.EmbedOptions) map[string]any {
			return map[string]any{"dimensions": float64(o.Dimensions), "truncate": false}
		},
		fails: func(status int, message string) (int, any) { return status, map[string]any{"error": message} },
	},
}

// open starts a server that answers every request with handle, and returns an embedder for it.
func (w embedWire) open(t *testing.T, handle http.HandlerFunc) works.Embedder {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	if !hasRow(embeddingFormats, w.kind) {
		t.Fatalf("%s embeds nothing", w.kind)
	}
	return newEmbedder(adapter.Options{Provider: "mock", Model: w.model, BaseURL: s.URL + "/v1", Key: "secret-key"}, w.kind)
}

// embed opens the service with one answer and embeds two texts.
func (w embedWire) embed(t *testing.T, status int, answer string, o works.EmbedOptions) (*works.Embedded, error) {
	t.Helper()
	e := w.open(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, answer)
	})
	return e.Embed(t.Context(), []string{"one", "two"}, o)
}

// holds reports whether a field has that value anywhere in a body.
func holds(body any, name string, value any) bool {
	switch b := body.(type) {
	case map[string]any:
		if b[name] == value {
			return true
		}
		for _, inner := range b {
			if holds(inner, name, value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(b, func(x any) bool { return holds(x, name, value) })
	}
	return false
}

// Every embedder sends the documented request, and returns a vector of length 1 for each text, in
// order.
func TestEmbedSuiteRequests(t *testing.T) {
	for _, w := range embedWires {
		var body map[string]any
		var path, key string
		e := w.open(t, func(rw http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			if err := json.Unmarshal(data, &body); err != nil {
				t.Errorf("%s: %v", w.kind, err)
			}
			path, key = r.URL.Path, r.Header.Get(w.key)
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, w.answer([]string{"[3,4]", "[0,-2.5e-1]"}, 7))
		})
		o := works.EmbedOptions{Dimensions: 2, Task: works.TaskDocument}
		got, err := e.Embed(t.Context(), []string{"one", "two"}, o)
		if err != nil {
			t.Errorf("%s: %v", w.kind, err)
			continue
		}
		if v := got.Vectors; math.Abs(float64(v[0][0])-0.6) > 1e-6 || v[1][1] != -1 {
			t.Errorf("%s: %v", w.kind, v)
		}
		if w.counts && got.Bill.Tokens != 7 {
			t.Errorf("%s: %d tokens", w.kind, got.Bill.Tokens)
		}
		if path != w.path || !strings.HasSuffix(key, "secret-key") {
			t.Errorf("%s: asked %s with %q", w.kind, path, key)
		}
		if texts := w.texts(body); len(texts) != 2 || !strings.HasSuffix(texts[0], "one") || !strings.HasSuffix(texts[1], "two") {
			t.Errorf("%s: sent %q", w.kind, texts)
		}
		for name, value := range w.wants(o) {
			if !holds(body, name, value) {
				t.Errorf("%s: %s is not %v in %v", w.kind, name, value, body)
			}
		}
		if n, _ := e.Batch(); n < 1 {
			t.Errorf("%s: %d texts of one request", w.kind, n)
		}
	}
}

// An invalid answer of a server is an error: a missing vector, other dimensions, zeros, elements that are
// not numbers; an empty answer; text that is not JSON. The request is not repeated, since it would return
// the same wrong number of vectors or dimensions and be charged again.
func TestEmbedSuiteBadAnswers(t *testing.T) {
	for _, w := range embedWires {
		for name, test := range map[string]struct {
			answer string
			o      works.EmbedOptions
			want   string
			once   bool
		}{
			"too few":           {once: true, answer: w.answer([]string{"[1,0]"}, 7), want: "1 vectors for 2"},
			"too many":          {once: true, answer: w.answer([]string{"[1,0]", "[0,1]", "[1,1]"}, 7), want: "3 vectors for 2"},
			"other dimensions":  {once: true, answer: w.answer([]string{"[1,0]", "[0,1]"}, 7), o: works.EmbedOptions{Dimensions: 3}, want: "2 dimensions where 3"},
			"unequal":           {once: true, answer: w.answer([]string{"[1,0]", "[0,1,0]"}, 7), want: "vectors of 2 and of 3"},
			"zero":              {answer: w.answer([]string{"[1,0]", "[0,0]"}, 7), want: "zero or no number"},
			"null for a number": {answer: w.answer([]string{"[1,0]", "[null,1]"}, 7), want: "zero or no number"},
			"a text":            {answer: w.answer([]string{"[1,0]", `["a",1]`}, 7), want: "zero or no number"},
			"beyond float32":    {answer: w.answer([]string{"[1,0]", `[1e300,1]`}, 7), want: "zero or no number"},
			"null for a vector": {once: true, answer: w.answer([]string{"[1,0]", "null"}, 7), want: "no vector for text 2"},
			"empty vector":      {once: true, answer: w.answer([]string{"[1,0]", "[]"}, 7), want: "no vector for text 2"},
			"no vectors":        {answer: w.short, want: "0 vectors for 2"},
			"an empty object":   {answer: "{}", want: "0 vectors for 2"},
			"nothing":           {answer: "", want: ""},
			"a page":            {answer: "<html><title>Sign in</title></html>", want: ""},
			"cut":               {answer: w.answer([]string{"[1,0]", "[0,1]"}, 7)[:30], want: ""},
		} {
			got, err := w.embed(t, 200, test.answer, test.o)
			if err == nil {
				t.Errorf("%s, %s: returned %v", w.kind, name, got.Vectors)
				continue
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret-key") {
				t.Errorf("%s, %s: %v, want %q", w.kind, name, err, test.want)
			}
			if fault := llm.FaultOf(err); test.once && fault.Temporary() {
				t.Errorf("%s, %s: %s, which is asked again", w.kind, name, fault)
			}
		}
	}
}

// Errors have the right fault in every form, also with status 200.
func TestEmbedSuiteFaults(t *testing.T) {
	for _, w := range embedWires {
		fails := w.fails
		if fails == nil {
			fails = func(status int, message string) (int, any) {
				return status, map[string]any{"error": map[string]any{"message": message}}
			}
		}
		for _, test := range []struct {
			status  int
			message string
			want    llm.Fault
		}{
			{401, "invalid key", llm.Authentication},
			{402, "insufficient balance", llm.Quota},
			{429, "rate limit reached", llm.RateLimit},
			{400, "This model's maximum context length is 8192 tokens", llm.ContextOverflow},
			{500, "internal error", llm.Server},
		} {
			status, body := fails(test.status, test.message)
			text, _ := json.Marshal(body)
			_, err := w.embed(t, status, string(text), works.EmbedOptions{})
			if llm.FaultOf(err) != test.want {
				t.Errorf("%s, %d: %s: %v, want %s", w.kind, test.status, llm.FaultOf(err), err, test.want)
			}
		}
	}
}

// An endless answer is abandoned, and a canceled request ends at once.
func TestEmbedSuiteEnds(t *testing.T) {
	for _, w := range embedWires {
		sent := 0
		e := w.open(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"data":[`)
			block := []byte(strings.Repeat(" ", 1<<16))
			for sent = 0; sent < 500<<20; sent += len(block) {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		})
		if _, err := e.Embed(t.Context(), []string{"one", "two"}, works.EmbedOptions{}); err == nil || !strings.Contains(err.Error(), "more than 1 MB") {
			t.Errorf("%s: %v", w.kind, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		e = w.open(t, func(http.ResponseWriter, *http.Request) { cancel(io.ErrClosedPipe); <-ctx.Done() })
		if _, err := e.Embed(ctx, []string{"one"}, works.EmbedOptions{}); err != io.ErrClosedPipe {
			t.Errorf("%s: canceled: %v", w.kind, err)
		}
	}
}

// Vectors in base64 are decoded, and rejected if invalid.
func TestEmbedBase64(t *testing.T) {
	w := embedWires[0]
	code := func(v ...float32) string {
		var data []byte
		for _, x := range v {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
		return `"` + base64.StdEncoding.EncodeToString(data) + `"`
	}
	got, err := w.embed(t, 200, w.answer([]string{code(3, 4), code(0, 1)}, 2), works.EmbedOptions{})
	if err != nil || math.Abs(float64(got.Vectors[0][1])-0.8) > 1e-6 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{`"AAAAAA=="`, `"AAA"`, `"!!!!"`, code(float32(math.NaN()), 1), code(float32(math.Inf(1)), 1), code(0, 0)} {
		if _, err := w.embed(t, 200, w.answer([]string{bad, bad}, 2), works.EmbedOptions{}); llm.FaultOf(err) != llm.Server {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A server numbers its vectors from 0, each once, or not at all.
func TestEmbedIndexes(t *testing.T) {
	for answer, ok := range map[string]bool{
		`{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`: true,
		`{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}`:                     true,
		`{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[0,1]}]}`: false,
		`{"data":[{"index":1,"embedding":[1,0]},{"index":1,"embedding":[0,1]}]}`: false,
		`{"data":[{"index":1,"embedding":[1,0]},{"index":2,"embedding":[0,1]}]}`: false,
		`{"data":[{"index":-1,"embedding":[1,0]},{"index":0,"embedding":[]}]}`:   false,
	} {
		got, err := embedWires[0].embed(t, 200, answer, works.EmbedOptions{})
		if ok && (err != nil || got.Vectors[0][0] != 1) || !ok && llm.FaultOf(err) != llm.Server {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
}
