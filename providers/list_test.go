package providers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// List returns the ids of the models of a provider.
func List(ctx context.Context, c Config, name string) (ids []string, err error) {
	_, offers, err := c.listModels(ctx, name, OpenOptions{Getenv: os.Getenv})
	for _, o := range offers {
		ids = append(ids, o.ID)
	}
	return ids, err
}

func TestList(t *testing.T) {
	server := serve(t, 200, "application/json", `{"data":[{"id":"b"},{"id":"a"},{"id":"b"},{"id":""},{}]}`)
	c := Config{Providers: map[string]Provider{"box": {Kind: "vllm", BaseURL: server.URL, APIKey: "k"}}}
	ids, err := List(t.Context(), c, "box")
	if err != nil || !slices.Equal(ids, []string{"a", "b"}) || server.header.Get("Authorization") != "Bearer k" {
		t.Errorf("%v, %v, %q", ids, err, server.header.Get("Authorization"))
	}
	if ids, err := List(t.Context(), c, "demo"); err != nil || !slices.Equal(ids, []string{"parley"}) {
		t.Errorf("demo: %v, %v", ids, err)
	}
	if _, err := List(t.Context(), c, "bax"); err == nil || !strings.Contains(err.Error(), "did you mean box") {
		t.Errorf("unknown: %v", err)
	}
	for _, tt := range []struct {
		status int
		kind   string
		body   string
		want   llm.Fault
	}{
		{401, "application/json", `{"error":{"message":"no $KEY"}}`, llm.Authentication},
		{500, "text/plain", "broken", llm.Server},
		{200, "text/html", "<html>", llm.InvalidRequest},
	} {
		broken := serve(t, tt.status, tt.kind, tt.body)
		c.Providers["box"] = Provider{Kind: "vllm", BaseURL: broken.URL, APIKey: canary}
		if _, err := List(t.Context(), c, "box"); llm.FaultOf(err) != tt.want || leaks(err.Error()) != "" {
			t.Errorf("%d %s: %v, want %s", tt.status, tt.body, err, tt.want)
		}
		broken.Close()
		if _, err := List(t.Context(), c, "box"); llm.FaultOf(err) != llm.Network {
			t.Errorf("a server that is gone: %v", err)
		}
	}
}

// Each kind of server is asked at the path of its list, with the key in its header, to the end of
// the list, and its facts are used.
func TestOffers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		conf  Provider
		base  string // after the server's address
		pages map[string]string
		auth  map[string]string
		want  []Choice // choices with the fields to compare
		tools string   // tool strategy of the first one
	}{
		{"OpenAI", Provider{Kind: "openai"}, "/v1", map[string]string{
			"/v1/models": `{"object":"list","data":[{"id":"gpt-6-luna","object":"model"},{"id":"gpt-4o"},{"id":""},{},7]}`,
		}, map[string]string{"Authorization": "Bearer " + canary}, []Choice{
			{Name: "box/gpt-4o", Context: 128_000, Tools: true, Vision: true},
			{Name: "box/gpt-6-luna", Context: 1_050_000, Tools: true},
		}, "native"},
		{"Anthropic, in pages", Provider{Kind: "anthropic"}, "/v1", map[string]string{
			"/v1/models?limit=1000":                     `{"data":[{"id":"claude-x-9","display_name":"Claude X 9","max_input_tokens":500000,"max_tokens":64000,"capabilities":{"image_input":{"supported":true},"thinking":{"supported":true}}}],"has_more":true,"last_id":"claude-x-9"}`,
			"/v1/models?limit=1000&after_id=claude-x-9": `{"data":[{"id":"claude-opus-5-5"}],"has_more":false,"last_id":"claude-opus-5-5"}`,
		}, map[string]string{"X-Api-Key": canary, "Anthropic-Version": "2023-06-01"}, []Choice{
			{Name: "box/claude-opus-5-5", Context: 1_000_000},
			{Name: "box/claude-x-9", Title: "Claude X 9", Context: 500_000, Vision: true, Thinks: true},
		}, "native"},
		{"OpenAI's way, in pages, of which the last comes again", Provider{}, "/v1", map[string]string{
			"/v1/models":              `{"object":"list","data":[{"id":"gpt-4o"}],"has_more":true,"last_id":"gpt-4o"}`,
			"/v1/models?after=gpt-4o": `{"object":"list","data":[{"id":"m"}],"has_more":true,"last_id":"m"}`,
			"/v1/models?after=m":      `{"object":"list","data":[{"id":"m"}],"has_more":true,"last_id":"m"}`,
		}, nil, []Choice{{Name: "box/gpt-4o", Context: 128_000, Tools: true, Vision: true}, {Name: "box/m"}}, "native"},
		{"Gemini, in pages", Provider{Kind: "gemini"}, "", map[string]string{
			"/v1beta/models?pageSize=1000":               `{"models":[{"name":"models/gemini-9-neon","displayName":"Gemini 9 Neon","inputTokenLimit":2000000,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]},{"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"p 2"}`,
			"/v1beta/models?pageSize=1000&pageToken=p+2": `{"models":[{"name":"models/gemini-2.5-pro","inputTokenLimit":"1048576"}]}`,
		}, map[string]string{"X-Goog-Api-Key": canary}, []Choice{
			{Name: "box/gemini-2.5-pro", Context: 1_048_576},
			{Name: "box/gemini-9-neon", Title: "Gemini 9 Neon", Context: 2_000_000},
		}, "native"},
		{"Ollama, and what it has loaded", Provider{Kind: "ollama"}, "/v1", map[string]string{
			"/api/tags": `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","details":{"family":"qwen3"}},{"name":"llama3.3:70b"}]}`,
			"/api/ps":   `{"models":[{"name":"qwen3:8b","context_length":8192}]}`,
		}, nil, []Choice{{Name: "box/llama3.3:70b"}, {Name: "box/qwen3:8b", Context: 8192, Price: catalog.Price{Free: true}}}, "native"},
		{"an Ollama behind a gateway", Provider{Kind: "ollama"}, "/v1", map[string]string{
			"/v1/models": `{"data":[{"id":"m"}]}`,
		}, nil, []Choice{{Name: "box/m"}}, "native"},
		{"llama.cpp", Provider{Kind: "llamacpp"}, "/v1", map[string]string{
			"/v1/models": `{"data":[{"id":"m.gguf","meta":{"n_ctx_train":131072}}]}`,
			"/props":     `{"default_generation_settings":{"n_ctx":4096}}`,
		}, nil, []Choice{{Name: "box/m.gguf", Context: 4096}}, "native"},
		{"vLLM", Provider{Kind: "vllm"}, "/v1", map[string]string{
			"/v1/models": `{"data":[{"id":"Qwen/Qwen3-32B","max_model_len":32768}]}`,
		}, nil, []Choice{{Name: "box/Qwen/Qwen3-32B", Context: 32_768}}, "native"},
		{"LM Studio", Provider{Kind: "lmstudio"}, "/v1", map[string]string{
			"/api/v0/models": `{"data":[{"id":"e","type":"embeddings"},{"id":"p","type":"llm","max_context_length":40000,"loaded_context_length":4096,"capabilities":[]},{"id":"q","capabilities":["tool_use"]}]}`,
		}, nil, []Choice{{Name: "box/p", Context: 4096}, {Name: "box/q", Tools: true}}, "prompt"},
		{"OpenRouter", Provider{Kind: "openrouter"}, "/api/v1", map[string]string{
			"/api/v1/models": `{"data":[{"id":"acme/m","name":"Acme: M","context_length":64000,"top_provider":{"max_completion_tokens":8000},"pricing":{"prompt":"0.0000015","completion":"0.000006","input_cache_read":"0.00000015"},"supported_parameters":["reasoning","temperature"],"architecture":{"input_modalities":["text","image"]}},` +
				`{"id":"acme/r","pricing":{"prompt":"-1","completion":"-1"},"supported_parameters":["tools"]}]}`,
		}, nil, []Choice{
			{Name: "box/acme/m", Title: "Acme: M", Context: 64_000, Price: catalog.Price{Input: 1.5, Output: 6, CacheRead: 0.15}, Vision: true, Thinks: true},
			{Name: "box/acme/r", Tools: true},
		}, "prompt"},
		{"Mistral", Provider{Kind: "mistral"}, "/v1", map[string]string{
			"/v1/models": `{"data":[{"id":"m","max_context_length":131072,"capabilities":{"completion_chat":true,"function_calling":true,"vision":false}},{"id":"embed","capabilities":{"completion_chat":false}}]}`,
		}, nil, []Choice{{Name: "box/m", Context: 131_072, Tools: true}}, "native"},
		{"a bare list", Provider{}, "", map[string]string{"/models": `[{"id":"m","context_length":1e3}]`}, nil, []Choice{{Name: "box/m", Context: 1000}}, "native"},
		{"nonsense", Provider{}, "", map[string]string{"/models": `{"data":{"id":"m"},"models":[null,[],{"id":7},{"id":"m","context_length":-5,"capabilities":"all","pricing":7}]}`}, nil, []Choice{{Name: "box/m"}}, "native"},
	} {
		server := pages(t, tt.pages)
		signed := tt.auth == nil
		carry := roundTrip(func(r *http.Request) (*http.Response, error) {
			for name, value := range tt.auth {
				signed = r.Header.Get(name) == value
			}
			return http.DefaultTransport.RoundTrip(r)
		})
		tt.conf.BaseURL, tt.conf.APIKey = server.URL+tt.base, canary
		c := Config{Providers: map[string]Provider{"box": tt.conf}}
		o := OpenOptions{Getenv: env(), Memory: &Memory{}, Transport: carry}
		got, err := LiveChoices(t.Context(), c, o, false)
		got = slices.DeleteFunc(got, func(c Choice) bool { return c.Provider != "box" })
		if err != nil || len(got) != len(tt.want) || !signed {
			t.Errorf("%s: %+v, %v; signed %v", tt.name, got, err, signed)
			continue
		}
		for i, want := range tt.want {
			g := got[i]
			if g.Name != want.Name || want.Title != "" && g.Title != want.Title || want.Context != 0 && g.Context != want.Context ||
				g.Price.Input != want.Price.Input && want.Price.Known() || want.Vision && !g.Vision || want.Thinks && !g.Thinks || want.Tools && !g.Tools || !g.Ready {
				t.Errorf("%s: %+v, want %+v", tt.name, g, want)
			}
			e, err := Open(c, g.Name, o)
			if err != nil || e.Context != g.Context || e.Vision != g.Vision {
				t.Errorf("%s: %s opens as %+v, %v; was offered as %+v", tt.name, g.Name, e, err, g)
			}
			if i == 0 && e.Strategy != tt.tools {
				t.Errorf("%s: %s has %q, want %q", tt.name, g.Name, e.Strategy, tt.tools)
			}
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An endless list is abandoned; a list without paging ends at the page that repeats.
func TestListEnds(t *testing.T) {
	for _, tt := range []struct {
		name, kind, page string // %d is the number of the page
		asked            int
	}{
		{"always more", "gemini", `{"models":[{"name":"models/m%d"}],"nextPageToken":"again"}`, maxListPages},
		{"pages of what is no chat model", "gemini", `{"models":[{"name":"models/e","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"%d"}`, maxListPages},
		{"a token that is not read", "gemini", `{"models":[{"name":"models/m"}],"nextPageToken":"%d"}`, 2},
		{"after is not read", "", `{"data":[{"id":"m"}],"has_more":true,"last_id":"%d"}`, 2},
		{"after_id is not read", "anthropic", `{"data":[{"id":"m"}],"has_more":true,"last_id":"%d"}`, 2},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(strings.ReplaceAll(tt.page, "%d", strconv.Itoa(asked))))
		}))
		c := Config{Providers: map[string]Provider{"box": {Kind: tt.kind, BaseURL: server.URL}}}
		if ids, err := List(t.Context(), c, "box"); err != nil || asked != tt.asked {
			t.Errorf("%s: %q, %v, after %d pages, want %d", tt.name, ids, err, asked, tt.asked)
		}
		server.Close()
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"data":[{"id":"m","capabilities":{"thinking":{"supported":true}}}]}`)
	f.Add(`{"models":[{"name":"models/m","inputTokenLimit":1}]}`)
	f.Add(`{"data":[{"id":"m","pricing":{"prompt":"1e-6","completion":"NaN"},"meta":[]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var page map[string]any
		if json.Unmarshal([]byte(text), &page) != nil {
			return
		}
		offers := parseListing(page, false)
		addLoadedWindows(offers, page)
		for _, o := range offers {
			if o.ID == "" || o.Context < 0 || o.MaxOutput < 0 || !catalog.IsPrice(o.Price.Input) || !catalog.IsPrice(o.Price.Output) {
				t.Errorf("%q is read as %+v", text, o)
			}
		}
	})
}
