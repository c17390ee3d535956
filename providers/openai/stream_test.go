package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/openai"
	"parley/providers/wire"
)

// canned is a transport that answers every request with the same bytes.
type canned struct {
	status int
	kind   string
	body   string
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return &http.Response{
		StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}},
		Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
	}, nil
}

// chat returns a chat of this kind and model that gets body as its answer.
func chat(t *testing.T, kind, model, body string) *openai.Chat {
	t.Helper()
	d, ok := openai.DialectFor(kind, model)
	if !ok {
		t.Fatalf("no dialect for %s", kind)
	}
	media := "text/event-stream"
	if strings.HasPrefix(strings.TrimLeft(body, "\ufeff \n"), "{") {
		media = "application/json"
	}
	return openai.New(openai.Options{
		Provider: "mock", Model: model, BaseURL: "http://mock.invalid/v1",
		HTTP: wire.Client(wire.Options{Provider: "mock", Transport: canned{200, media, body}}),
	}, d)
}

// lines returns a stream of chunks with these deltas, and its end.
func lines(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(event(d, ""))
	}
	return b.String() + event("{}", finish) + "data: [DONE]\n\n"
}

// show writes parts in short: thinking in (), calls as id:name{input}.
func show(parts []llm.Part) string {
	var list []string
	for _, p := range parts {
		switch p.Kind {
		case llm.Text:
			list = append(list, p.Text)
		case llm.Thinking:
			list = append(list, "("+p.Text+")")
		case llm.Call:
			id := p.ID
			if strings.HasPrefix(id, "call_") && len(id) > 20 {
				id = "made"
			}
			if p.Repeated {
				id = "again"
			}
			list = append(list, id+":"+p.Name+p.Input)
		default:
			list = append(list, string(p.Kind))
		}
	}
	return strings.Join(list, " | ")
}

func TestThinking(t *testing.T) {
	for _, test := range []struct{ name, kind, model, want, stream string }{
		{"reasoning_content", "deepseek", "deepseek-flash", "(ab) | c",
			lines("stop", `{"reasoning_content":"a","content":null}`, `{"reasoning_content":"b"}`, `{"content":"c"}`)},
		{"reasoning", "groq", "qwen3-32b", "(ab) | c",
			lines("stop", `{"reasoning":"a"}`, `{"reasoning":"b"}`, `{"content":"c"}`)},
		{"both are the same", "openai", "m", "(ab) | c",
			lines("stop", `{"reasoning":"a","reasoning_content":"a"}`, `{"reasoning":"b"}`, `{"reasoning_content":"b"}`, `{"content":"c"}`)},
		{"details beside it are the same", "openrouter", "m", "(ab) | c",
			lines("stop", `{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`,
				`{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b"}]}`, `{"content":"c"}`)},
		{"details alone", "openrouter", "m", "(ab) | c",
			lines("stop", `{"reasoning_details":[{"type":"reasoning.summary","summary":"a"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"b"}]}`, `{"content":"c"}`)},
		{"details that grow", "minimax", "MiniMax-M2", "(The user wants to read a file.) | c",
			lines("stop", `{"reasoning_details":[{"type":"reasoning.text","text":"The user"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"The user wants"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"The user wants to read"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"The user wants to read a file."}]}`, `{"content":"c"}`)},
		{"text that grows", "minimax", "MiniMax-M3", "(The user wants to read a file, and more.) | c",
			lines("stop", `{"reasoning_content":"The user wants to read a file, and"}`,
				`{"reasoning_content":"The user wants to read a file, and more."}`, `{"content":"c"}`,
				`{"reasoning_content":"The user wants to read a file, and more."}`)},
		{"a few characters that come again are plain", "minimax", "MiniMax-M3", "(1112\n\n) | c",
			lines("stop", `{"reasoning_content":"1"}`, `{"reasoning_content":"1"}`, `{"reasoning_content":"12"}`,
				`{"reasoning_content":"\n"}`, `{"reasoning_content":"\n"}`, `{"content":"c"}`)},
		{"nor do they prove anything in details", "minimax", "MiniMax-M3", "(1112) | c",
			lines("stop", `{"reasoning_details":[{"type":"reasoning.text","text":"1"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"1"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"12"}]}`, `{"content":"c"}`)},
		{"short text that grows", "minimax", "MiniMax-M3", "(Hi, you.) | c | (So it is.) | d | (1)",
			lines("stop", `{"reasoning_content":"Hi"}`, `{"reasoning_content":"Hi, "}`, `{"reasoning_content":"Hi, you."}`, `{"content":"c"}`,
				`{"reasoning_content":"So"}`, `{"reasoning_content":"So it is."}`, `{"content":"d"}`, `{"reasoning_content":"1"}`)},
		{"short details that grow", "minimax", "MiniMax-M3", "(12) | c",
			lines("stop", `{"reasoning_details":[{"type":"reasoning.text","text":"1"}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","text":"12"}]}`, `{"content":"c"}`)},
		{"a long chunk that grows", "minimax", "MiniMax-M3", "(" + strings.Repeat("ab", 1000) + ".) | c",
			lines("stop", `{"reasoning_content":"`+strings.Repeat("ab", 1000)+`"}`, `{"reasoning_content":"`+strings.Repeat("ab", 1000)+`."}`, `{"content":"c"}`)},
		{"a line that comes again later is plain", "minimax", "MiniMax-M3", "(Hm.The user wants to read this file.The user wants to read this file. Yes.) | c",
			lines("stop", `{"reasoning_content":"Hm."}`, `{"reasoning_content":"The user wants to read this file."}`,
				`{"reasoning_content":"The user wants to read this file. Yes."}`, `{"content":"c"}`)},
		{"turns are blocks", "glm", "glm-5.2", "(a) | b | (c) | d",
			lines("stop", `{"reasoning_content":"a"}`, `{"content":"b"}`, `{"reasoning_content":"c"}`, `{"content":"d"}`)},
		{"empty pieces open nothing", "openai", "m", "(ab) | c",
			lines("stop", `{"reasoning_content":"a","content":""}`, `{"content":"","reasoning_content":"b"}`, `{"content":"c","reasoning_content":""}`)},
		{"tags", "vllm", "some-model", "(a b) | c",
			lines("stop", `{"content":"<thi"}`, `{"content":"nk>a b</think>"}`, `{"content":"c"}`)},
		{"Mistral's lists", "mistral", "mistral-medium-3.5", "(ab) | cd",
			lines("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`,
				`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"}],"closed":true},{"type":"text","text":"c"}]}`,
				`{"content":[{"type":"reference","reference_ids":[1]}]}`, `{"content":"d"}`)},
		{"lists with words of others for text and thinking", "openai", "m", "(a) | bc",
			lines("stop", `{"content":[{"type":"reasoning","text":"a"},{"type":"output_text","text":"b"}]}`, `{"content":[{"text":"c"}]}`)},
		{"Portkey's blocks", "openai", "claude-sonnet-5", "(ab) | cd",
			lines("stop", `{"content":"","content_blocks":[{"index":0,"delta":{"thinking":"a"}}]}`, `{"content":"","content_blocks":[{"index":0,"delta":{"thinking":"b"}}]}`,
				`{"content":"","content_blocks":[{"index":0,"delta":{"signature":"s"}}]}`, `{"content":"c","content_blocks":[{"index":1,"delta":{"text":"c"}}]}`, `{"content":"d","content_blocks":[{"index":1,"delta":{"text":"d"}}]}`)},
		{"Portkey's blocks, whole", "openai", "claude-sonnet-5", "(ab) | c",
			`{"choices":[{"message":{"content":"c","content_blocks":[{"type":"thinking","thinking":"ab","signature":"s"},{"type":"text","text":"c"}]},"finish_reason":"stop"}]}`},
		{"what comes again is meant", "grok", "grok-4.7", "(J.R.R.) | 100",
			lines("stop", `{"reasoning_content":"J"}`, `{"reasoning_content":".R"}`, `{"reasoning_content":".R"}`, `{"reasoning_content":"."}`,
				`{"content":"1"}`, `{"content":"0"}`, `{"content":"0"}`)},
		{"refusal is text", "openai", "gpt-4o", "I will not.",
			lines("stop", `{"content":null,"refusal":"I will"}`, `{"refusal":" not."}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts, _, _, err := collect(t, chat(t, test.kind, test.model, test.stream).Stream(t.Context(), llm.Request{}))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(parts); strings.TrimSpace(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	const one = `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`
	for _, test := range []struct{ name, want, stream string }{
		{"in pieces", `a:f{"x":1}`, lines("tool_calls", one, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`)},
		{"parallel, interleaved", `a:f{"x":1} | b:g{}`, lines("tool_calls", one,
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":"}"}}]}`)},
		{"name and id again and empty", `a:f{"x":1}`, lines("tool_calls", one,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":"}}]}`,
			`{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"1}"}}]}`)},
		{"name again, no id at all", `made:f{"x":1}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":":1}"}}]}`)},
		{"no index, ids change", `a:f{"x":1} | b:g{}`, lines("tool_calls",
			`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}`)},
		{"no index, pieces without id", `a:f{"x":1} | b:g{"y":2}`, lines("tool_calls",
			`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`, `{"tool_calls":[{"function":{"arguments":":1}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{\"y\""}}]}`, `{"tool_calls":[{"function":{"arguments":":2}"}}]}`)},
		{"same index, new id and name", `a:f{} | b:g{}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}`)},
		{"whole, no id, same index", `made:f{"x":1} | made:f{"x":2}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]}`)},
		{"all in one chunk, no index, no ids", `made:f{} | made:g{}`, lines("tool_calls",
			`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g"}}]}`)},
		{"the same id twice, and in pieces", `a:f{"x":1} | again:f{"x":1}`, lines("tool_calls", one,
			`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":":1}"}}]}`)},
		{"the same id twice, the same index", `a:f{"x":{}} | again:f{"x":{}}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":{}}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":{}}"}}]}`)},
		{"the same id thrice, no index", `a:f{} | again:f{} | again:f{}`, lines("tool_calls",
			`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`)},
		{"the same id twice", `a:f{} | again:g{}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}]}`)},
		{"arguments as object", `a:f{"x":{"y":[1]}}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":{"y":[1]}}}}]}`)},
		{"arguments empty and null", `a:f{} | b:g{}`, lines("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":null}}]}`)},
		{"an empty object in front", `a:f{"x":1} | b:g{}`, lines("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`)},
		{"index 0 for all, interleaved by id", `a:f{"x":1} | b:g{"y":2}`, lines("tool_calls", one,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"arguments":":2}"}}]}`)},
		{"an index that differs from the id's", `a:f{"x":1}`, lines("tool_calls", one, `{"tool_calls":[{"index":1,"id":"a","function":{"arguments":":1}"}}]}`)},
		{"an index that differs, no id", `a:f{"x":1}`, lines("tool_calls", one, `{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]}`)},
		{"an id that differs in each piece", `a:f{"x":1}`, lines("tool_calls", one, `{"tool_calls":[{"index":0,"id":"b","function":{"arguments":":1}"}}]}`)},
		{"the same id for all, interleaved by index", `a:f{"x":1} | again:f{"y":2}`, lines("tool_calls", one,
			`{"tool_calls":[{"index":1,"id":"a","function":{"name":"f","arguments":"{\"y\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":":1}"}}]}`, `{"tool_calls":[{"index":1,"id":"a","function":{"arguments":":2}"}}]}`)},
		{"name late", `a:f{"x":1}`, lines("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f"}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`)},
		{"name last", `a:f{"x":1} | b:g{}`, lines("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`, `{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`)},
		{"id late", `a:f{"x":1}`, lines("tool_calls", `{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":":1}"}}]}`)},
		{"one place, another name", `made:f{"x":1} | made:g{"y":2}`, lines("tool_calls", `{"tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"function":{"name":"g","arguments":""}}]}`, `{"tool_calls":[{"function":{"arguments":"{\"y\":2}"}}]}`)},
		{"stop means calls", `a:f{}`, lines("stop", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`)},
		{"empty reason is none", `a:f{}`, `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}}]},"finish_reason":""}]}` + "\n\n" + lines("tool_calls")},
		{"no reason at all", `a:f{}`, event(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, "") + "data: [DONE]\n\n"},
		{"text around", `before | a:f{} | after`, lines("tool_calls", `{"content":"before"}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{"content":"after"}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts, finish, _, err := collect(t, chat(t, "openai", "m", test.stream).Stream(t.Context(), llm.Request{}))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(parts); got != test.want || finish.Reason != llm.Calls {
				t.Errorf("got  %q, %s\nwant %q", got, finish.Reason, test.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	end := func(usage string) string {
		return event(`{"content":"x"}`, "stop") + `data: {"choices":[],` + usage + "}\n\ndata: [DONE]\n\n"
	}
	for _, test := range []struct {
		name, stream string
		want         llm.Usage
	}{
		{"details", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"completion_tokens_details":{"reasoning_tokens":3}}`),
			llm.Usage{Input: 10, CacheRead: 4, CacheWrite: 2, Output: 5, Thinking: 3}},
		{"writes by lifetime", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3,"cache_write_tokens_details":{"ttl_30m_tokens":2,"ttl_12h_tokens":1}}}`),
			llm.Usage{Input: 10, CacheRead: 4, CacheWrite: 3, Output: 5}},
		{"writes by lifetime alone", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cache_write_tokens_details":{"ttl_30m_tokens":2,"ttl_12h_tokens":1}}}`),
			llm.Usage{Input: 10, CacheWrite: 3, Output: 5}},
		{"details are null", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null,"completion_tokens_details":null}`),
			llm.Usage{Input: 10, Output: 5}},
		{"Kimi", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":4}`), llm.Usage{Input: 10, CacheRead: 4, Output: 5}},
		{"Kimi, in the choice", `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop","usage":{"prompt_tokens":10,"completion_tokens":5}}]}` + "\n\n",
			llm.Usage{Input: 10, Output: 5}},
		{"DeepSeek", end(`"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":4}`),
			llm.Usage{Input: 12, CacheRead: 8, Output: 3}},
		{"Groq", end(`"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":5}}`), llm.Usage{Input: 10, Output: 5}},
		{"Qwen", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1,"cache_creation_input_tokens":6}}`),
			llm.Usage{Input: 10, CacheRead: 1, CacheWrite: 6, Output: 5}},
		{"xAI counts thinking beside", end(`"usage":{"prompt_tokens":12,"completion_tokens":1,"total_tokens":303,"completion_tokens_details":{"reasoning_tokens":290},"cost_in_usd_ticks":1466250}`),
			llm.Usage{Input: 12, Output: 291, Thinking: 290, Cost: 0.000146625, Priced: true}},
		{"all of it is thinking", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":5}}`),
			llm.Usage{Input: 10, Output: 5, Thinking: 5}},
		{"all of the prompt is cached", end(`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10}}`),
			llm.Usage{Input: 10, CacheRead: 10, Output: 5}},
		{"cached beside the prompt", end(`"usage":{"prompt_tokens":2,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":100}}`),
			llm.Usage{Input: 102, CacheRead: 100, Output: 1}},
		{"cost", end(`"usage":{"prompt_tokens":2,"completion_tokens":1,"cost":0.25,"is_byok":false,"cost_details":{"upstream_inference_cost":0.5}}`),
			llm.Usage{Input: 2, Output: 1, Cost: 0.25, Priced: true}},
		{"cost with the own key", end(`"usage":{"prompt_tokens":2,"completion_tokens":1,"cost":0.25,"is_byok":true,"cost_details":{"upstream_inference_cost":0.5}}`),
			llm.Usage{Input: 2, Output: 1, Cost: 0.75, Priced: true}},
		{"the last of many", `data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}` + "\n\n",
			llm.Usage{Input: 9, Output: 2}},
		{"nonsense", end(`"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"total_tokens":"many"}`), llm.Usage{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, finish, usage, err := collect(t, chat(t, "openai", "m", test.stream).Stream(t.Context(), llm.Request{}))
			if err != nil || finish.Reason != llm.Stop {
				t.Fatal(finish, err)
			}
			if usage != test.want {
				t.Errorf("got  %+v\nwant %+v", usage, test.want)
			}
		})
	}
}

// TestFraming reads the same answer in every framing.
func TestFraming(t *testing.T) {
	plain := lines("stop", `{"content":"Hel"}`, `{"content":"lo"}`)
	whole := `{"id":"1","error":null,"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`
	for name, stream := range map[string]string{
		"plain":                    plain,
		"CRLF":                     strings.ReplaceAll(plain, "\n", "\r\n"),
		"CR":                       strings.ReplaceAll(plain, "\n", "\r"),
		"byte order mark":          "\ufeff" + plain,
		"comments":                 ": hello\n\n:\n" + strings.ReplaceAll(plain, "data:", ": ping\n\ndata:"),
		"no space":                 strings.ReplaceAll(plain, "data: ", "data:"),
		"other fields":             strings.ReplaceAll(plain, "data: ", "id: 7\nretry: 10\nevent: message\ndata: "),
		"data over several lines":  strings.ReplaceAll(plain, `,"choices"`, ",\ndata: \"choices\""),
		"no empty line at the end": strings.TrimRight(strings.TrimSuffix(plain, "data: [DONE]\n\n"), "\n"),
		"no DONE":                  strings.TrimSuffix(plain, "data: [DONE]\n\n"),
		"leading empty lines":      "\n\n" + plain,
		"one JSON answer":          whole,
		"one JSON answer, spaces":  "\ufeff \n" + whole + "\n",
		"other choices":            strings.ReplaceAll(plain, `"choices":[`, `"choices":[{"index":1,"delta":{"content":"other"}},`),
		"fields of the wrong type": strings.ReplaceAll(plain, `"id":"chatcmpl-1"`, `"id":17,"created":"now"`),
		"an empty error":           strings.ReplaceAll(plain, `"error":null`, `"error":""`),
		"an error without words":   strings.ReplaceAll(plain, `"error":null`, `"error":{"message":"","type":null,"code":0,"details":[]}`),
		"no error":                 strings.ReplaceAll(plain, `"error":null`, `"error":false`),
	} {
		t.Run(name, func(t *testing.T) {
			parts, finish, _, err := collect(t, chat(t, "openai", "m", stream).Stream(t.Context(), llm.Request{}))
			if err != nil || finish.Reason != llm.Stop {
				t.Fatal(finish, err)
			}
			if got := show(parts); got != "Hello" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestEndings(t *testing.T) {
	text := event(`{"content":"some"}`, "")
	for _, test := range []struct {
		name, stream string
		reason       llm.Reason
		fault        llm.Fault
	}{
		{"length", text + event(`{}`, "length"), llm.Length, ""},
		{"Mistral's length", text + event(`{}`, "model_length"), llm.Length, ""},
		{"length in capitals", text + event(`{}`, "MAX_TOKENS"), llm.Length, ""},
		{"filter", text + event(`{}`, "content_filter"), llm.Refused, ""},
		{"GLM's filter", text + event(`{}`, "sensitive"), llm.Refused, ""},
		{"new word", text + event(`{}`, "bored"), llm.Other, ""},
		{"calls without a call", text + event(`{}`, "tool_calls"), llm.Stop, ""},
		{"DONE without a reason", text + "data: [DONE]\n\n", llm.Stop, ""},
		{"DONE without anything", "data: [DONE]\n\n", "", llm.Network},
		{"nothing", "", "", llm.Network},
		{"cut", text, "", llm.Network},
		{"cut in a line", text + `data: {"choices":[{"delta":{"con`, "", llm.Network},
		{"GLM's network_error", text + event(`{}`, "network_error"), "", llm.Server},
		{"DeepSeek's overload", text + event(`{}`, "insufficient_system_resource"), "", llm.Server},
		{"error", text + event(`{}`, "error"), "", llm.Server},
		{"error in the choice", text + `data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":429,"message":"slow down"}}]}` + "\n\n", "", llm.RateLimit},
		{"window full, nothing said", event(`{}`, "model_context_window_exceeded"), "", llm.ContextOverflow},
		{"window full", text + event(`{}`, "model_context_window_exceeded"), llm.Length, ""},
		{"error object", text + `data: {"error":{"message":"overloaded","code":503}}` + "\n\n", "", llm.Server},
		{"error text", text + `data: {"error":"the service is currently unavailable"}` + "\n\n", "", llm.Server},
		{"error event", text + "event: error\ndata: {\"message\":\"the model crashed\"}\n\n", "", llm.Server},
		{"MiniMax's error", text + `data: {"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}` + "\n\n", "", llm.Quota},
		{"MiniMax's success", text + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"base_resp":{"status_code":0,"status_msg":""}}` + "\n\n", llm.Stop, ""},
		{"Groq's error", text + `data: {"choices":[],"x_groq":{"error":"over capacity, overloaded"}}` + "\n\n", "", llm.Server},
		{"flat error", text + `data: {"object":"error","message":"the engine is overloaded","type":"overloaded_error","code":503}` + "\n\n", "", llm.Server},
		{"no JSON", text + "data: <html>oops</html>\n\ndata: [DONE]\n\n", "", llm.Unknown},
		{"no JSON, and then an end", text + "data: oops\n\n" + event(`{}`, "stop"), llm.Stop, ""},
		{"cut JSON in the middle", text + "data: {\"choices\":[{\n\n" + event(`{}`, "stop"), "", llm.Unknown},
		{"JSON without an answer", `{"weather":"fine"}`, "", llm.Server},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts, finish, _, err := collect(t, chat(t, "openai", "m", test.stream).Stream(t.Context(), llm.Request{}))
			if finish.Reason != test.reason {
				t.Errorf("reason %q, want %q", finish.Reason, test.reason)
			}
			if test.fault != "" && (err == nil || llm.FaultOf(err) != test.fault) || test.fault == "" && err != nil {
				t.Errorf("error %v (%s), want %q", err, llm.FaultOf(err), test.fault)
			}
			if strings.HasPrefix(test.stream, text) && show(parts) != "some" {
				t.Errorf("what came was lost: %q", show(parts))
			}
			if e, ok := err.(*llm.Error); err != nil && (!ok || e.Provider != "mock" || e.URL != "http://mock.invalid/v1") {
				t.Errorf("error %#v does not say who", err)
			}
		})
	}
}

// TestDetails checks that reasoning_details go back unchanged.
func TestDetails(t *testing.T) {
	stream := lines("tool_calls",
		`{"reasoning":"Let ","reasoning_details":[{"type":"reasoning.text","text":"Let ","format":"anthropic-claude-v1","index":0}]}`,
		`{"reasoning":"me <see>.","reasoning_details":[{"type":"reasoning.text","text":"me <see>.","format":"anthropic-claude-v1","index":0}]}`,
		`{"reasoning_details":[{"type":"reasoning.text","signature":"Sig/+==","format":"anthropic-claude-v1","index":0}]}`,
		`{"tool_calls":[{"index":0,"id":"tool_f_1","function":{"name":"f","arguments":"{}"}}]}`,
		`{"reasoning_details":[{"type":"reasoning.encrypted","data":"Dat/+a==","format":"google-gemini-v1","id":"tool_f_1","index":1,"extra":{"k":[1, 2]}}]}`,
	)
	c := chat(t, "openrouter", "anthropic/claude-opus-5", stream)
	parts, _, _, err := collect(t, c.Stream(t.Context(), llm.Request{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"format":"anthropic-claude-v1","index":0,"signature":"Sig/+==","text":"Let me <see>.","type":"reasoning.text"},` +
		`{"type":"reasoning.encrypted","data":"Dat/+a==","format":"google-gemini-v1","id":"tool_f_1","index":1,"extra":{"k":[1,2]}}]`
	if string(parts[0].State) != want {
		t.Errorf("state %s\nwant  %s", parts[0].State, want)
	}
	body := send(t, c, llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: c.Origin(), Parts: parts}}})
	got, _ := json.Marshal(body.Messages[0]["reasoning_details"])
	var a, b any
	json.Unmarshal(got, &a)
	json.Unmarshal([]byte(want), &b)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("went back as %s", got)
	}
}

// TestRepeatedAnswer: an answer may repeat the previous one, or begin like it.
func TestRepeatedAnswer(t *testing.T) {
	for stream, want := range map[string]string{
		lines("stop", `{"content":"1"}`, `{"content":"0"}`, `{"content":"0"}`): "100",
		lines("stop", `{"content":"1"}`):                                       "1",
	} {
		req := llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "1"}}}}}
		for _, kind := range []string{"grok", "openai", "minimax"} {
			parts, _, _, err := collect(t, chat(t, kind, "m", stream).Stream(t.Context(), req))
			if err != nil || show(parts) != want {
				t.Errorf("%s: %q, %v, want %q", kind, show(parts), err, want)
			}
		}
	}
}

// TestCutThinking: the buffered thinking of an interrupted answer is not lost.
func TestCutThinking(t *testing.T) {
	parts, _, _, err := collect(t, chat(t, "minimax", "m", event(`{"reasoning_content":"Hm"}`, "")).Stream(t.Context(), llm.Request{}))
	if show(parts) != "(Hm)" || llm.FaultOf(err) != llm.Network {
		t.Errorf("%q, %v", show(parts), err)
	}
}

// Canceling just as an answer begins leaves no response open.
func TestCanceledAsItBegins(t *testing.T) {
	client, ctx, closed := llmtest.CanceledClient(t.Context(), said(0, "a"))
	m := openai.New(openai.Options{Provider: "mock", Model: "m", BaseURL: "http://mock.invalid/v1", HTTP: client}, openai.Dialect{})
	for _, err := range m.Stream(ctx, llm.Request{}) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if !closed() {
		t.Error("the answer was left open")
	}
}
