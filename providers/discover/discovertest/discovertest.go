// Package discovertest has fakes of local model servers, with the answers of the real ones, and a
// separate network to run them in.
package discovertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A Fake is a model server that records its requests.
type Fake struct {
	Provider string // id in the catalog
	Port     string // default port
	Paths    map[string]string
	Status   map[string]int    // status of paths that do not return 200
	Shows    map[string]string // answers of /api/show by model id
	Key      string            // requests without it get 401, as from llama.cpp; "" if none is needed
	mu       sync.Mutex
	requests []Request
}

// A Request is a request received by a Fake.
type Request struct {
	Method, Path, Body string
	Header             http.Header
}

// Requests returns the requests since the last call.
func (f *Fake) Requests() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests := f.requests
	f.requests = nil
	return requests
}

// ServeHTTP answers as the server does; it answers prompts with its provider's name.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, Request{r.Method, r.URL.Path, string(body), r.Header.Clone()})
	f.mu.Unlock()
	if f.Key != "" {
		w.Header().Set("Server", "llama.cpp")
		if r.Header.Get("Authorization") != "Bearer "+f.Key {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}`)
			return
		}
	}
	if r.Method == http.MethodPost {
		var asked struct{ Model string }
		_ = json.Unmarshal(body, &asked)
		switch show := f.Shows[asked.Model]; {
		case r.URL.Path == "/api/embed":
			io.WriteString(w, `{"embeddings":[[0.6,0.8]],"prompt_eval_count":2}`)
			return
		case r.URL.Path == "/api/show" && show != "":
			io.WriteString(w, show)
			return
		}
	}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions") {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello from %s\"}}]}\n\n", f.Provider)
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n")
		return
	}
	answer, ok := f.Paths[r.URL.Path]
	status := f.Status[r.URL.Path]
	switch {
	case !ok && status == 0 && f.Provider == "lmstudio": // it answers 200 even for unknown paths
		answer = `{"error":"Unexpected endpoint or method. (GET ` + r.URL.Path + `). Returning 200 anyway"}`
	case !ok && status == 0:
		status, answer = http.StatusNotFound, "404 page not found\n"
	}
	if strings.HasPrefix(answer, "{") {
		w.Header().Set("Content-Type", "application/json")
	}
	if status != 0 {
		w.WriteHeader(status)
	}
	io.WriteString(w, answer)
}

// Start serves f on a loopback address until the test ends; "" stands for its default port.
func (f *Fake) Start(t testing.TB, address string) *Fake {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:" + f.Port
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return f
}

// New returns the server of a provider. It panics if provider is unknown.
func New(provider string) *Fake {
	for _, f := range all() {
		if f.Provider == provider {
			return f
		}
	}
	panic("no server " + provider)
}

// Providers lists the providers with a fake.
func Providers() (names []string) {
	for _, f := range all() {
		names = append(names, f.Provider)
	}
	return names
}

func list(rows string) string { return `{"object":"list","data":[` + rows + `]}` }

// Answers shared by several servers.
const (
	tags = `{"models":[` +
		`{"name":"llama3.2:latest","model":"llama3.2:latest","modified_at":"2026-08-01T10:00:00Z","size":2019393189,"digest":"a80c4f17acd5","details":{"format":"gguf","family":"llama","parameter_size":"3.2B","quantization_level":"Q4_K_M"},"capabilities":["completion","tools"]},` +
		`{"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-07-01T10:00:00Z","size":5225388164,"digest":"500a1f067a9f","details":{"format":"gguf","family":"qwen3"},"capabilities":["completion","tools","thinking"]},` +
		`{"name":"gemma3:4b","model":"gemma3:4b","modified_at":"2026-06-01T10:00:00Z","size":3338801804,"digest":"a2af6cc3eb7f","details":{"format":"gguf","family":"gemma3"},"capabilities":["completion","vision"]},` +
		`{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","modified_at":"2026-05-01T10:00:00Z","size":274302450,"digest":"0a109f422b47","details":{"format":"gguf","family":"nomic-bert"},"capabilities":["embedding"]}]}`
	props = `{"default_generation_settings":{"id":0,"n_ctx":16384,"speculative":false,"is_processing":false},"total_slots":1,"model_path":"/models/qwen3-8b-q4_k_m.gguf"`
)

func all() []*Fake {
	return []*Fake{
		{Provider: "localai", Port: "8080", Paths: map[string]string{ // imitates Ollama
			"/readyz": "", "/": "Ollama is running", "/api/tags": tags, "/api/version": `{"version":"0.9.0"}`, "/version": `{"version":"v3.7.0"}`,
			"/v1/models": list(`{"id":"phi-4","object":"model"},{"id":"bert-embeddings","object":"model"}`),
		}},
		{Provider: "koboldcpp", Port: "5001", Paths: map[string]string{ // imitates Ollama too
			"/api/extra/version":                 `{"result":"KoboldCpp","version":"1.98.1","protected":false,"txt2img":false,"vision":false}`,
			"/api/extra/true_max_context_length": `{"value":8192}`, "/": "<!DOCTYPE html><html>KoboldAI Lite</html>", "/api/tags": tags,
			"/v1/models": list(`{"id":"koboldcpp/mistral-nemo","object":"model","created":1,"owned_by":"koboldcpp","permission":[],"root":"koboldcpp"}`),
		}},
		{Provider: "jan", Port: "1337", Paths: map[string]string{
			"/openapi.json": `{"openapi":"3.1.0","info":{"title":"Jan API Server Endpoints","version":"0.5.1"},"paths":{"/v1/models":{` + strings.Repeat(" ", 20000) + `}}}`,
			"/v1/models":    list(`{"id":"Jan-v1-4B-Q4_K_M","object":"model","created":1,"owned_by":"llamacpp-jan"}`),
		}},
		{Provider: "llamacpp", Port: "8080", Paths: map[string]string{
			"/health": `{"status":"ok"}`,
			"/props":  props + `,"modalities":{"vision":true,"audio":false},"chat_template":"{% for m in messages %}","build_info":"b6301-1234abcd","chat_template_caps":{"supports_tools":true}}`,
			"/v1/models": `{"models":[{"name":"qwen3-8b-q4_k_m.gguf","model":"qwen3-8b-q4_k_m.gguf","capabilities":["completion","multimodal"]}],"object":"list","data":[` +
				`{"id":"qwen3-8b-q4_k_m.gguf","object":"model","created":1,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":151936,"n_ctx_train":40960}}]}`,
		}},
		{Provider: "llamafile", Port: "8080", Paths: map[string]string{
			"/props":     props + `}`,
			"/v1/models": list(`{"id":"LLaMA_CPP","object":"model","created":1,"owned_by":"mozilla"}`),
		}},
		{Provider: "vllm", Port: "8000", Paths: map[string]string{
			"/version":   `{"version":"0.11.0"}`,
			"/v1/models": list(`{"id":"Qwen/Qwen3-8B","object":"model","created":1,"owned_by":"vllm","root":"Qwen/Qwen3-8B","parent":null,"max_model_len":32768,"permission":[]}`),
		}},
		{Provider: "sglang", Port: "30000", Paths: map[string]string{
			"/get_model_info": `{"model_path":"meta-llama/Llama-3.1-8B-Instruct","tokenizer_path":"meta-llama/Llama-3.1-8B-Instruct","is_generation":true}`,
			"/v1/models":      list(`{"id":"meta-llama/Llama-3.1-8B-Instruct","object":"model","created":1,"owned_by":"sglang","root":"meta-llama/Llama-3.1-8B-Instruct","max_model_len":131072}`),
		}},
		{Provider: "lmstudio", Port: "1234", Paths: map[string]string{
			"/api/v1/models": `{"models":[` +
				`{"type":"llm","publisher":"openai","key":"openai/gpt-oss-20b","display_name":"GPT-OSS 20B","loaded_instances":[],"max_context_length":131072,"capabilities":{"vision":false,"trained_for_tool_use":true,"reasoning":{"allowed_options":["low","medium","high"],"default":"medium"}}},` +
				`{"type":"llm","publisher":"google","key":"google/gemma-3-4b","display_name":"Gemma 3 4B","loaded_instances":[{"id":"google/gemma-3-4b","config":{"context_length":4096}}],"max_context_length":131072,"capabilities":{"vision":true,"trained_for_tool_use":false}},` +
				`{"type":"embedding","publisher":"nomic","key":"text-embedding-nomic","loaded_instances":[],"max_context_length":2048}]}`,
			"/v1/models": list(`{"id":"openai/gpt-oss-20b","object":"model","owned_by":"organization_owner"},{"id":"google/gemma-3-4b","object":"model","owned_by":"organization_owner"}`),
		}},
		{Provider: "ollama", Port: "11434", Paths: map[string]string{
			"/": "Ollama is running", "/api/tags": tags, "/api/version": `{"version":"0.12.3"}`,
			"/api/ps":    `{"models":[{"name":"qwen3:8b","model":"qwen3:8b","size":5225388164,"context_length":4096}]}`,
			"/v1/models": list(`{"id":"llama3.2:latest","object":"model","created":1,"owned_by":"library"},{"id":"qwen3:8b","object":"model","created":1,"owned_by":"library"}`),
		}},
		{Provider: "docker", Port: "12434", Paths: map[string]string{
			"/engines/v1/models": list(`{"id":"ai/smollm2","object":"model","created":1,"owned_by":"docker"}`),
			"/":                  "Docker Model Runner is running",
		}},
		{Provider: "mlx", Port: "8080", Paths: map[string]string{
			"/health":    `{"status":"ok"}`,
			"/v1/models": list(`{"id":"mlx-community/Llama-3.2-3B-Instruct-4bit","object":"model","created":1}`),
		}},
	}
}
