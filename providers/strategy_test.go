package providers

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
)

// A script answers each request depending on its content, and records the requests.
type script struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
}

func scripted(t *testing.T, answer func(body map[string]any) (status int, text string)) *script {
	t.Helper()
	return scriptedRaw(t, func(text string) (int, string) {
		var body map[string]any
		_ = json.Unmarshal([]byte(text), &body)
		status, answer := answer(body)
		if status == 200 {
			answer = says(answer)
		}
		return status, answer
	})
}

// scriptedRaw is scripted for any wire format: bodies are text, and answers with status 200 are
// whole streams.
func scriptedRaw(t *testing.T, answer func(body string) (status int, text string)) *script {
	t.Helper()
	s := &script{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		var body map[string]any
		_ = json.Unmarshal(text, &body)
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		s.mu.Unlock()
		status, answer := answer(string(text))
		w.Header().Set("Content-Type", "application/json")
		if status == 200 {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// says returns a chat completions stream with text.
func says(text string) string {
	content, _ := json.Marshal(text)
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", content)
}

func (s *script) last() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// turn is the result of one answer.
type turn struct {
	llm.Message
	notices []string
	reason  llm.Reason
	err     error
}

func hold(t *testing.T, e llm.Endpoint, req llm.Request) turn {
	t.Helper()
	var d llm.Draft
	var got turn
	if req.Messages == nil {
		req.Messages = []llm.Message{llm.UserText("read a.txt")}
	}
	for event, err := range e.Stream(t.Context(), req) {
		switch event := event.(type) {
		case llm.Delta:
			d.Add(event)
		case llm.Notice:
			got.notices = append(got.notices, event.Text)
		case llm.Finish:
			got.reason = event.Reason
		}
		got.err = err
	}
	got.Message = llm.Message{Role: llm.RoleAssistant, Origin: e.Origin, Model: e.Name, Parts: d.Complete()}
	return got
}

func opens(t *testing.T, c Config, name string, o OpenOptions) llm.Endpoint {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	o.Transport = transport
	if o.Getenv == nil {
		o.Getenv = env()
	}
	e, err := Open(c, name, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const calls = "I look.\n\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>"

// If a server refuses tools, the request is sent again within the same answer, with the tools in
// the prompt; later requests have them there at once.
func TestToolsByPromptWhereTheServerHasNone(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		status     int
		refusal    string
	}{
		{"Ollama", "ollama", 400, `{"error":{"message":"registry.ollama.ai/library/m does not support tools","type":"api_error"}}`},
		{"OpenRouter", "openrouter", 404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`},
		{"vLLM", "vllm", 400, `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}}`},
		{"llama.cpp", "llamacpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`},
		{"a template without tools", "llamacpp", 500, `{"error":{"code":500,"message":"Conversation roles must alternate user/assistant/user/assistant/... at row 1, column 1","type":"server_error"}}`},
		{"the same at vLLM", "vllm", 400, `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":"messages","code":400}}`},
		{"a gateway", "openai", 400, `{"error":{"message":"Unsupported parameter: tools","param":"tools","code":"unsupported_parameter"}}`},
	} {
		server := scripted(t, func(body map[string]any) (int, string) {
			if body["tools"] != nil {
				return tt.status, tt.refusal
			}
			return 200, calls
		})
		c := Config{Providers: map[string]Provider{"box": {Kind: tt.kind, BaseURL: server.URL + "/v1"}}}
		o := OpenOptions{Memory: &Memory{}}
		e := opens(t, c, "box/m", o)
		if e.Strategy != "native" {
			t.Errorf("%s: strategy %q, before the server said anything", tt.name, e.Strategy)
		}
		got := hold(t, e, llm.Request{Tools: offered})
		if got.err != nil || len(got.Calls()) != 1 || got.Calls()[0].Name != "read" || got.reason != llm.Calls || strings.TrimSpace(got.Text()) != "I look." {
			t.Fatalf("%s: %+v", tt.name, got)
		}
		if want := "m has no tool calling here; tools are described in the prompt"; len(got.notices) != 1 || got.notices[0] != want {
			t.Errorf("%s: notices %q, want %q", tt.name, got.notices, want)
		}
		if now := e.Model.(interface{ Strategy() string }).Strategy(); now != "prompt" {
			t.Errorf("%s: strategy %q after the refusal", tt.name, now)
		}
		if again := opens(t, c, "box/m", o); again.Strategy != "prompt" {
			t.Errorf("%s: opened again with %q", tt.name, again.Strategy)
		} else if got := hold(t, again, llm.Request{Tools: offered}); len(got.notices) > 0 || len(got.Calls()) != 1 || server.count() != 3 {
			t.Errorf("%s: asked again: %+v, after %d requests", tt.name, got, server.count())
		}
		if other := opens(t, c, "box/n", o); other.Strategy != "native" {
			t.Errorf("%s: another model has %q", tt.name, other.Strategy)
		}
		if system := fmt.Sprint(server.last()["messages"]); !strings.Contains(system, "function read(args") && !strings.Contains(system, "- read: Read a file.") {
			t.Errorf("%s: the tools are not in the prompt: %s", tt.name, system)
		}
	}
}

// A refusal that is not about tools, comes after text was shown, or meets a configured strategy, is
// passed on.
func TestRefusalsThatStay(t *testing.T) {
	zero := 0
	for _, tt := range []struct {
		name, strategy string
		status         int
		answer         string
		want           llm.Fault
	}{
		{"native was asked for", "native", 400, `{"error":{"message":"m does not support tools"}}`, llm.Unsupported},
		{"pictures", "", 400, `{"error":{"message":"m does not support images"}}`, llm.Unsupported},
		{"the tools are wrong", "", 400, `{"error":{"message":"Invalid schema for function 'read'","param":"tools[0]","code":"invalid_function_parameters"}}`, llm.InvalidRequest},
		{"the key is wrong", "", 401, `{"error":{"message":"no"}}`, llm.Authentication},
	} {
		server := scripted(t, func(map[string]any) (int, string) { return tt.status, tt.answer })
		c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL, Strategy: tt.strategy, MaxRetries: &zero}}}
		e := opens(t, c, "box/m", OpenOptions{})
		got := hold(t, e, llm.Request{Tools: offered})
		if llm.FaultOf(got.err) != tt.want || len(got.notices) > 0 {
			t.Errorf("%s: %v, notices %q; want %s", tt.name, got.err, got.notices, tt.want)
		}
		if now := e.Model.(interface{ Strategy() string }).Strategy(); now != "native" {
			t.Errorf("%s: strategy %q", tt.name, now)
		}
	}
}

// An invalid call gets an error in the same turn, which continues in the guided form, constrained
// to a schema if the server can.
func TestGuidedFormFollowsACallThatCannotRun(t *testing.T) {
	for name, broken := range map[string]string{
		"unreadable":        "I look.\n<tool_call>\nread the file a.txt please\n</tool_call>\n",
		"unknown":           "I look.\n<tool_call>\n{\"name\": \"open_door\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
		"unknown, as JSON":  "I look.\n\n{\"name\": \"open_door\", \"arguments\": {\"path\": \"a.txt\"}}",
		"argument missing":  "I look.\n<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>",
		"unknown, the form": "I look.\n{\"thought\": \"x\", \"tool_name\": \"open_door\", \"tool_args\": {}}",
	} {
		for kind, constrains := range map[string]bool{"openai": true, "deepseek": false} {
			server := scripted(t, func(body map[string]any) (int, string) {
				if body["response_format"] != nil || strings.Contains(fmt.Sprint(body["messages"]), "exactly one JSON object") {
					return 200, `{"thought": "I look.", "tool_name": "read", "tool_args": {"path": "a.txt"}}`
				}
				return 200, broken
			})
			c := Config{Providers: map[string]Provider{"box": {Kind: kind, BaseURL: server.URL, Strategy: "prompt"}}}
			e := opens(t, c, "box/m", OpenOptions{})
			first := hold(t, e, llm.Request{Tools: offered})
			calls := first.Calls()
			if first.err != nil || first.reason != llm.Calls || len(calls) != 1 || len(first.notices) != 1 || !strings.Contains(first.notices[0], "cannot run") {
				t.Fatalf("%s, %s: %+v", name, kind, first)
			}
			if text := first.Text(); strings.TrimSpace(text) != "I look." {
				t.Errorf("%s, %s: on the screen is %q", name, kind, text)
			}
			result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: calls[0].ID, Name: calls[0].Name, Text: "no such tool", Failed: true}}}
			second := hold(t, e, llm.Request{Tools: offered, Messages: []llm.Message{llm.UserText("read a.txt"), first.Message, result}})
			if second.err != nil || len(second.Calls()) != 1 || second.Calls()[0].Name != "read" || second.Calls()[0].Input != `{"path":"a.txt"}` {
				t.Errorf("%s, %s: %+v", name, kind, second)
			}
			format, _ := server.last()["response_format"].(map[string]any)
			if got := format["type"] == "json_schema"; got != constrains {
				t.Errorf("%s, %s: response_format %v", name, kind, format)
			}
			if text, _ := json.Marshal(server.last()["messages"]); !strings.Contains(string(text), "no such tool") {
				t.Errorf("%s, %s: the model is not told what was wrong: %s", name, kind, text)
			}
		}
	}
}

// The guided form comes first if it is configured, and if the server uses guided decoding for all
// models.
func TestGuidedFormComesFirst(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider Provider
		strategy string // as configured
		field    string // that holds the schema
	}{
		{"configured", Provider{Strategy: "guided"}, "guided", "response_format"},
		{"configured for the model", Provider{Strategy: "native", Model: map[string]Model{"m": {Strategy: "guided"}}}, "guided", "response_format"},
		{"vLLM", Provider{Kind: "vllm", Strategy: "prompt"}, "prompt", "structured_outputs"},
		{"vLLM, old", Provider{Kind: "vllm", Strategy: "prompt"}, "prompt", "guided_json"},
	} {
		server := scripted(t, func(body map[string]any) (int, string) {
			return 200, `{"thought": "I look.", "tool_name": "read", "tool_args": {"path": "a.txt"}}`
		})
		tt.provider.BaseURL = server.URL
		e := opens(t, Config{Providers: map[string]Provider{"box": tt.provider}}, "box/m", OpenOptions{})
		if e.Strategy != tt.strategy {
			t.Errorf("%s: strategy %q, want %q", tt.name, e.Strategy, tt.strategy)
		}
		got := hold(t, e, llm.Request{Tools: offered})
		if got.err != nil || len(got.Calls()) != 1 || got.Calls()[0].Name != "read" || len(got.notices) > 0 {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if body := server.last(); body["tools"] != nil || body[tt.field] == nil {
			t.Errorf("%s: there is no %s in %v", tt.name, tt.field, body)
		}
	}
}

// Without a strategy for tools none are offered, and earlier calls are sent as text.
func TestNoTools(t *testing.T) {
	server := scripted(t, func(map[string]any) (int, string) { return 200, "fine" })
	c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL, Strategy: "none"}}}
	e := opens(t, c, "box/m", OpenOptions{})
	history := []llm.Message{
		llm.UserText("read a.txt"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "1", Name: "read", Input: `{"path":"a.txt"}`}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "1", Name: "read", Text: "alpha"}}},
	}
	got := hold(t, e, llm.Request{Tools: offered, Messages: history, Settings: llm.Settings{ToolChoice: "required", Parallel: ptr(true)}})
	body := server.last()
	if got.err != nil || got.Text() != "fine" || body["tools"] != nil || body["tool_choice"] != nil || body["parallel_tool_calls"] != nil {
		t.Errorf("%+v, asked with %v", got, body)
	}
	text, _ := json.Marshal(body["messages"])
	if strings.Contains(string(text), "tool_calls") || strings.Contains(string(text), `"role":"tool"`) || !strings.Contains(string(text), "alpha") {
		t.Errorf("messages %s", text)
	}
}
