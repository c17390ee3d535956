package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/openai"
)

// A heard is the visible result of an answer.
type heard struct {
	parts   []llm.Part
	notices []string
	finish  llm.Finish
	usage   llm.Usage
	err     error
}

func hear(t *testing.T, s llm.Stream) (got heard) {
	t.Helper()
	var draft llm.Draft
	for e, err := range s {
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Notice:
			got.notices = append(got.notices, e.Text)
		case llm.Usage:
			got.usage = e
		case llm.Finish:
			got.finish = e
		}
		got.err = err
	}
	if got.err != nil {
		got.parts = draft.Interrupted()
		return got
	}
	got.parts = draft.Complete()
	return got
}

// against returns a model of a kind; r answers its requests.
func against(t *testing.T, kind, model string, r *record, change func(*openai.Options, *openai.Dialect)) *openai.Chat {
	t.Helper()
	d, ok := openai.DialectFor(kind, model)
	if !ok {
		t.Fatalf("no dialect for %s", kind)
	}
	o := openai.Options{Provider: "mock", Model: model, BaseURL: "http://mock.invalid/v1", HTTP: r.client()}
	if change != nil {
		change(&o, &d)
	}
	return openai.New(o, d)
}

var city = &llm.Schema{Name: "city", JSON: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}

// TestFormats checks how each service gets the schema of an answer.
func TestFormats(t *testing.T) {
	const schema = `{"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}`
	const strict = `{"additionalProperties":false,"properties":{"name":{"type":"string"}},"required":["name"],"type":"object"}`
	const plain = `"response_format":{"json_schema":{"name":"city","schema":` + schema + `},"type":"json_schema"}`
	const object = `"response_format":{"type":"json_object"}`
	fields := []string{"response_format", "structured_outputs", "guided_json", "json_schema", "format", "provider"}
	for _, test := range []struct {
		kind, want string
		words      bool
	}{
		{"openai", `"response_format":{"json_schema":{"name":"city","schema":` + strict + `,"strict":true},"type":"json_schema"}`, false},
		{"openrouter", `"provider":{"require_parameters":true},"response_format":{"json_schema":{"name":"city","schema":` + strict + `,"strict":true},"type":"json_schema"}`, false},
		{"grok", plain, false}, {"qwen", plain, false}, {"minimax", plain, false}, {"moonshot", plain, false}, {"mistral", plain, false},
		{"groq", plain, false}, {"ollama", plain, false}, {"llamacpp", plain, false}, {"vllm", plain, false}, {"lmstudio", plain, false},
		{"glm", object, true}, {"deepseek", object, true},
	} {
		got := send(t, build(t, test.kind, "any-model"), llm.Request{System: "S", AnswerSchema: city})
		if body := got.only(fields...); body != "{"+test.want+"}" {
			t.Errorf("%s: %s\nwant {%s}", test.kind, body, test.want)
		}
		if system, _ := got.Messages[0]["content"].(string); strings.Contains(system, "fits this JSON schema") != test.words {
			t.Errorf("%s: system prompt %q", test.kind, system)
		}
		if got := send(t, build(t, test.kind, "any-model"), llm.Request{}); got.only(fields...) != "{}" {
			t.Errorf("%s, with nothing to fit: %s", test.kind, got.only(fields...))
		}
	}
	for format, want := range map[openai.Format]string{
		openai.FormatObjectSchema: `"response_format":{"schema":` + schema + `,"type":"json_object"}`,
		openai.FormatStructured:   `"structured_outputs":{"json":` + schema + `}`,
		openai.FormatGuided:       `"guided_json":` + schema,
		openai.FormatField:        `"json_schema":` + schema,
		openai.FormatPlain:        `"format":` + schema,
		openai.FormatNone:         ``,
	} {
		c := openai.New(openai.Options{Model: "m", BaseURL: "http://mock.invalid/v1"}, openai.Dialect{Formats: []openai.Format{format}})
		got := send(t, c, llm.Request{AnswerSchema: city})
		if body := got.only(fields...); body != "{"+want+"}" {
			t.Errorf("%s: %s", format, body)
		}
		if words := len(got.Messages) > 0; words != (format == openai.FormatNone) {
			t.Errorf("%s: told in words: %v", format, words)
		}
	}
}

// TestFormatsRefused goes through refused formats: each is tried once, reported, and never tried
// again by models with the same learned limits.
func TestFormatsRefused(t *testing.T) {
	for _, test := range []struct {
		name, kind string
		status     int
		answer     string
		refused    []string // texts that the server refuses, in the order of its refusals
		want       string   // text in the last request
		notices    []string
	}{
		{"an old vLLM", "vllm", 400, `{"object":"error","message":"[{'loc': ('body', '$FIELD'), 'msg': 'Extra inputs are not permitted'}]","code":400}`,
			[]string{`"response_format"`, `"structured_outputs"`}, `"guided_json"`,
			[]string{"m does not take response_format; sent again with structured_outputs", "m does not take structured_outputs; sent again with guided_json"}},
		{"a vLLM without any", "vllm", 400, `{"error":{"message":"$FIELD is not supported by this backend","param":"$FIELD"}}`,
			[]string{`"response_format"`, `"structured_outputs"`, `"guided_json"`}, "fits this JSON schema",
			[]string{"m does not take response_format; sent again with structured_outputs", "m does not take structured_outputs; sent again with guided_json",
				"m does not take guided_json; sent again without it"}},
		{"an old llama.cpp", "llamacpp", 500, `{"error":{"code":500,"message":"response_format type must be one of \"text\" or \"json_object\", but got: json_schema","type":"server_error"}}`,
			[]string{`"type":"json_schema"`}, `"response_format":{"schema":`, []string{"m does not take response_format; sent again with json_object_schema"}},
		{"a model of Groq's", "groq", 400, `{"error":{"message":"This model does not support response format ` + "`json_schema`" + `.","type":"invalid_request_error"}}`,
			[]string{`"type":"json_schema"`}, `"response_format":{"type":"json_object"}`, []string{"m does not take response_format; sent again with json_object"}},
		{"LM Studio", "lmstudio", 400, `{"error":"'response_format.type' must be 'text'"}`,
			[]string{`"response_format"`}, "fits this JSON schema", []string{"m does not take response_format; sent again without it"}},
		{"no upstream of OpenRouter's", "openrouter", 404, `{"error":{"message":"No endpoints found that can handle the requested parameters.","code":404}}`,
			[]string{`"type":"json_schema"`, `"type":"json_object"`}, "fits this JSON schema",
			[]string{"m does not take response_format; sent again with json_object", "m does not take json_object; sent again without it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &record{answers: []canned{{200, "text/event-stream", lines("stop", `{"content":"{}"}`)}}}
			r.refuse = func(body string) (int, string) {
				for _, part := range test.refused {
					if strings.Contains(body, part) {
						return test.status, strings.ReplaceAll(test.answer, "$FIELD", strings.Trim(part, `"`))
					}
				}
				return 0, ""
			}
			learned := &adapter.LearnedLimits{}
			share := func(o *openai.Options, _ *openai.Dialect) { o.Learned = learned }
			got := hear(t, against(t, test.kind, "m", r, share).Stream(t.Context(), llm.Request{AnswerSchema: city}))
			if got.err != nil || !slices.Equal(got.notices, test.notices) {
				t.Errorf("notices %q, want %q; %v", got.notices, test.notices, got.err)
			}
			if !strings.Contains(r.last(t), test.want) {
				t.Errorf("in the end asked with %s, want %s", r.last(t), test.want)
			}
			asked := len(r.raw)
			again := hear(t, against(t, test.kind, "m", r, share).Stream(t.Context(), llm.Request{AnswerSchema: city}))
			if again.err != nil || len(again.notices) > 0 || len(r.raw) != asked+1 {
				t.Errorf("opened again, it asked %d times: %q, %v", len(r.raw)-asked, again.notices, again.err)
			}
		})
	}
}

// A field set by the user is not downgraded, and an error unrelated to the schema causes no second
// request.
func TestFormatsThatStay(t *testing.T) {
	for _, test := range []struct {
		name   string
		req    llm.Request
		own    map[string]any
		status int
		answer string
	}{
		{"the user's own", llm.Request{AnswerSchema: city}, map[string]any{"response_format": map[string]any{"type": "text"}}, 400, refusal("response_format", "no")},
		{"no answer to fit", llm.Request{}, nil, 400, refusal("response_format", "no")},
		{"the key", llm.Request{AnswerSchema: city}, nil, 401, `{"error":{"message":"response_format: invalid api key"}}`},
		{"the window", llm.Request{AnswerSchema: city}, nil, 400, `{"error":{"message":"maximum context length is 10 tokens, response_format included"}}`},
		{"something else", llm.Request{AnswerSchema: city}, nil, 400, refusal("messages", "messages are wrong")},
	} {
		r := &record{answers: []canned{{test.status, "application/json", test.answer}}}
		got := hear(t, against(t, "openai", "m", r, func(o *openai.Options, _ *openai.Dialect) { o.Body = test.own }).Stream(t.Context(), test.req))
		if got.err == nil || len(got.notices) > 0 || len(r.raw) != 1 {
			t.Errorf("%s: asked %d times, %q, %v", test.name, len(r.raw), got.notices, got.err)
		}
	}
}

func TestConstrains(t *testing.T) {
	for _, kind := range openai.Kinds {
		d, _ := openai.DialectFor(kind, "m")
		if want := kind != "glm" && kind != "deepseek"; d.SupportsSchema() != want {
			t.Errorf("%s holds answers to a schema: %v", kind, !want)
		}
	}
	if (openai.Dialect{Formats: []openai.Format{openai.FormatNone}}).SupportsSchema() {
		t.Error("a service that is told nothing holds nothing")
	}
}
