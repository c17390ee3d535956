package providers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"parley/providers/llm"
	"parley/providers/openai"
)

// A configured dialect is merged over that of the kind; a model's table is merged over the
// provider's.
func TestDialects(t *testing.T) {
	const text = `
[providers.box]
kind = "deepseek"
base_url = "http://box/v1"
[providers.box.dialect]
max_tokens_field = "max_completion_tokens"
answer_formats = ["guided_json"]
effort_words = ["none", "low", "low", "low", "high", "high"]
[providers.box.model."org/m".dialect]
answer_formats = ["structured_outputs", "json_object"]
reasoning_field = "reasoning"
stream_with_tools = false
`
	var c Config
	meta, err := toml.Decode(text, &c)
	if err != nil || len(meta.Undecoded()) > 0 || c.Validate() != nil {
		t.Fatal(err, meta.Undecoded(), c.Validate())
	}
	s, _ := c.service("box", env())
	row, _ := openai.DialectFor("deepseek", "other")
	other := openai.DialectOf(s.describe("other"))
	if other.MaxTokensField != "max_completion_tokens" || !slices.Equal(other.Formats, []openai.Format{openai.FormatGuided}) || other.ReasoningField != "" || bool(other.NoStreamWithTools) ||
		other.Echo != row.Echo || other.Effort.Words[5] != "high" {
		t.Errorf("%+v", other)
	}
	own := openai.DialectOf(s.describe("org/m"))
	if own.MaxTokensField != "max_completion_tokens" || len(own.Formats) != 2 || own.Formats[0] != openai.FormatStructured || own.ReasoningField != "reasoning" || !bool(own.NoStreamWithTools) {
		t.Errorf("%+v", own)
	}
}

func TestDialectsThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		conf Provider
		want string
	}{
		{Provider{Dialect: openai.Override{"reasoning_echo": "some"}}, `providers.box.dialect.reasoning_echo: unknown "some"`},
		{Provider{Kind: "gemini", Dialect: openai.Override{"positive_temperature": true}}, "providers.box.dialect: only services that speak chat completions have one, and the kind of this is gemini"},
		{Provider{Kind: "openai-responses", Model: map[string]Model{"m": {Dialect: openai.Override{"max_tokens_field": "x"}}}}, `providers.box.model."m".dialect: only services`},
		{Provider{Dialect: openai.Override{"max_token_field": "x"}}, `providers.box.dialect.max_token_field: unknown "max_token_field", did you mean "max_tokens_field"?`},
		{Provider{Dialect: openai.Override{"pdfs": "yes"}}, "providers.box.dialect.pdfs: has to be true or false"},
		{Provider{Kind: "vllm", Dialect: openai.Override{"positive_temperature": true}}, ""},
	} {
		c := Config{Providers: map[string]Provider{"box": tt.conf}}
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// A refused field is not sent again while the program runs, even by a model opened again, and the
// user is told. Another model, or another wire format, is not affected.
func TestRefusalsAreRemembered(t *testing.T) {
	server := scripted(t, func(body map[string]any) (int, string) {
		if body["seed"] != nil {
			return 400, `{"error":{"message":"no","param":"seed"}}`
		}
		return 200, "fine"
	})
	c := Config{Providers: map[string]Provider{"box": {Kind: "vllm", BaseURL: server.URL}, "other": {Kind: "openai", BaseURL: server.URL}}}
	o, seed := OpenOptions{Memory: &Memory{}}, int64(7)
	req := llm.Request{Settings: llm.Settings{Seed: &seed}}
	for _, tt := range []struct {
		name  string
		asked int
	}{{"box/m", 2}, {"box/m", 1}, {"box/n", 2}, {"other/m", 2}} {
		before := server.count()
		got := hold(t, opens(t, c, tt.name, o), req)
		if n := server.count() - before; got.err != nil || n != tt.asked || len(got.notices) != 1 {
			t.Errorf("%s: asked %d times, want %d; %q, %v", tt.name, n, tt.asked, got.notices, got.err)
		}
	}
}

// Guided replies of servers without tools are constrained in the way that the server supports: by
// its kind, by the configuration, or learned from it.
func TestFormsAreHeldInTheWayOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		conf    Provider
		refuses string // refused field
		want    string // fields that contain the schema; "" for none
	}{
		{"vLLM, of any age", Provider{Kind: "vllm"}, "", "structured_outputs guided_json"},
		{"what is like vLLM, but strict about fields", Provider{Kind: "vllm"}, "guided_json", "response_format"},
		{"another", Provider{}, "", "response_format"},
		{"told by the configuration to guide", Provider{Dialect: openai.Override{"answer_formats": []any{"response_format", "structured_outputs"}}}, "", "structured_outputs"},
		{"told by the configuration", Provider{Dialect: openai.Override{"answer_formats": []any{"guided_json"}}}, "", "guided_json"},
		{"for one model", Provider{Model: map[string]Model{"m": {Dialect: openai.Override{"answer_formats": []any{"json_schema"}}}}}, "", "json_schema"},
		{"told that there is none", Provider{Kind: "vllm", Dialect: openai.Override{"answer_formats": []any{"none"}}}, "", ""},
		{"GLM", Provider{Kind: "glm"}, "", ""},
	} {
		server := scripted(t, func(body map[string]any) (int, string) {
			if tt.refuses != "" && body[tt.refuses] != nil {
				return 400, fmt.Sprintf(`{"error":{"message":"unknown field %s"}}`, tt.refuses)
			}
			if strings.Contains(fmt.Sprint(body["messages"]), "exactly one JSON object") {
				return 200, `{"thought": "I look.", "tool_name": "read", "tool_args": {"path": "a.txt"}}`
			}
			return 200, "<tool_call>\nread the file a.txt please\n</tool_call>\n"
		})
		tt.conf.BaseURL, tt.conf.Strategy = server.URL, "prompt"
		e := opens(t, Config{Providers: map[string]Provider{"box": tt.conf}}, "box/m", OpenOptions{})
		hold(t, e, llm.Request{Tools: offered}) // cannot be read
		got := hold(t, e, llm.Request{Tools: offered})
		if got.err != nil || len(got.Calls()) != 1 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		for _, field := range []string{"response_format", "structured_outputs", "guided_json", "json_schema"} {
			schema := fmt.Sprint(server.last()[field])
			if held := strings.Contains(schema, "tool_name") && strings.Contains(schema, "answer"); held != slices.Contains(strings.Fields(tt.want), field) {
				t.Errorf("%s: %s is %s", tt.name, field, schema)
			}
		}
	}
}

// A server that cannot stream requests with tools gets them without streaming: the notice comes
// first, and the events look the same.
func TestToolsWithoutStreaming(t *testing.T) {
	server := scripted(t, func(body map[string]any) (int, string) {
		if body["tools"] != nil && body["stream"] == true {
			return 500, `{"error":{"code":500,"message":"Cannot use tools with stream","type":"server_error"}}`
		}
		return 200, "fine"
	})
	c := Config{Providers: map[string]Provider{"box": {Kind: "llamacpp", BaseURL: server.URL}}}
	e := opens(t, c, "box/m", OpenOptions{})
	got := hold(t, e, llm.Request{Tools: offered})
	if want := []string{"m does not stream while tools are on offer; its answers come whole"}; got.err != nil || got.Text() != "fine" || !slices.Equal(got.notices, want) {
		t.Errorf("%+v", got)
	}
	if server.count() != 2 || server.last()["stream"] != false || e.Model.(interface{ Strategy() string }).Strategy() != "native" {
		t.Errorf("asked %d times, at last with %v", server.count(), server.last())
	}
}

// TestCallIDsOfTemplates checks that calls and their results have ids of nine characters on every server that
// renders chat templates: Mistral's templates refuse others. Kimi's own ids stay.
func TestCallIDsOfTemplates(t *testing.T) {
	history := []llm.Message{llm.UserText("Hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "functions.f:0", Name: "f", Input: "{}"}, {Kind: llm.Call, ID: "abcdefGH9", Name: "f", Input: "{}"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "functions.f:0", Name: "f", Text: "1"}, {Kind: llm.Result, ID: "abcdefGH9", Name: "f", Text: "2"}}}}
	for _, tt := range []struct {
		provider, model string
		nine            bool
	}{
		{"llamacpp", "m", true}, {"vllm", "m", true}, {"sglang", "m", true}, {"lmstudio", "m", true}, {"llamafile", "m", true}, {"koboldcpp", "m", true},
		{"docker", "ai/m", true}, {"mlx", "m", true}, {"jan", "m", true}, {"localai", "m", true}, {"ollama", "m", true}, {"vllm", "moonshotai/Kimi-K2", false},
		{"box", "m", false}, {"box", "mistralai/Mixtral-8x7B-Instruct", true}, {"box", "/models/Ministral-8B.gguf", true}, {"box", "magistral-small", true},
	} {
		server := scripted(t, func(map[string]any) (int, string) { return 200, "ok" })
		c := Config{Providers: map[string]Provider{tt.provider: {BaseURL: server.URL + "/v1"}}}
		e := opens(t, c, tt.provider+"/"+tt.model, OpenOptions{Memory: &Memory{}})
		own := slices.Clone(history)
		own[1].Origin = e.Origin
		if got := hold(t, e, llm.Request{Messages: own}); got.err != nil {
			t.Fatal(tt, got.err)
		}
		messages := server.last()["messages"].([]any)
		calls := messages[1].(map[string]any)["tool_calls"].([]any)
		for i, call := range calls {
			id := call.(map[string]any)["id"].(string)
			if nine := len(id) == 9; (i == 1 || tt.nine) != nine || messages[2+i].(map[string]any)["tool_call_id"] != id {
				t.Errorf("%s/%s: call %d has the id %q, its result %v", tt.provider, tt.model, i, id, messages[2+i])
			}
		}
	}
}

// TestBlindByTheServer checks that a model gets no images if its server lists it without vision, even if the
// catalog does not know it.
func TestBlindByTheServer(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		pages      map[string]string
		sees       bool
	}{
		{"llama.cpp, blind", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/props": `{"modalities":{"vision":false}}`}, false},
		{"llama.cpp, sees", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/props": `{"modalities":{"vision":true}}`}, true},
		{"llama.cpp, says nothing", "llamacpp", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`, "/props": `{}`}, true},
		{"Ollama, blind", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"m","capabilities":["completion"]}]}`}, false},
		{"Ollama, sees", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"m","capabilities":["completion","vision"]}]}`}, true},
		{"Ollama, blind by /api/show", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"m:latest"},{"name":"n"}]}`, "/api/show": `{"capabilities":["completion","tools"]}`}, false},
		{"Ollama, sees by /api/show", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"m"}]}`, "/api/show": `{"capabilities":["completion","vision"]}`}, true},
		{"Ollama without /api/show", "ollama", map[string]string{"/api/tags": `{"models":[{"name":"m"}]}`}, true},
		{"LM Studio, sees", "lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"m","type":"vlm","capabilities":["tool_use"]}]}`}, true},
		{"LM Studio, blind", "lmstudio", map[string]string{"/api/v0/models": `{"data":[{"id":"m","type":"llm","capabilities":["tool_use"]}]}`}, false},
		{"a service, blind", "mistral", map[string]string{"/v1/models": `{"data":[{"id":"m","capabilities":{"completion_chat":true,"vision":false}}]}`}, false},
	} {
		c := Config{Providers: map[string]Provider{"box": {Kind: tt.kind, BaseURL: pages(t, tt.pages).URL + "/v1", APIKey: canary}}}
		o := OpenOptions{Getenv: env(), Memory: &Memory{}}
		if e := opens(t, c, "box/m", o); !e.Accepts("image/png") {
			t.Errorf("%s: blind before its server said anything", tt.name)
		}
		if err := LearnModel(t.Context(), c, "box/m", o); err != nil {
			t.Fatal(tt.name, err)
		}
		if e := opens(t, c, "box/m", o); e.Accepts("image/png") != tt.sees {
			t.Errorf("%s: takes images: %v", tt.name, e.Accepts("image/png"))
		}
	}
}
