package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSuite runs every dialect that sends thinking in a different way.
func TestSuite(t *testing.T) {
	for _, test := range []struct {
		kind, model string
		details     bool // thinking comes as reasoning_details
	}{
		{kind: "openai", model: "gpt-4o"},
		{kind: "openai", model: "some-model"},
		{kind: "openrouter", model: "google/gemini-3.1-pro", details: true},
		{kind: "deepseek", model: "deepseek-flash"},
		{kind: "mistral", model: "mistral-medium-3.5"},
		{kind: "vllm", model: "openai/gpt-oss-120b"},
	} {
		t.Run(test.kind+" "+test.model, func(t *testing.T) {
			dialect, _ := openai.DialectFor(test.kind, test.model)
			open := func(t *testing.T, base string) llm.Model {
				client := wire.Client(wire.Options{Provider: "mock", URL: base, Secrets: []string{"test-key"}})
				t.Cleanup(client.CloseIdleConnections)
				return openai.New(openai.Options{
					Provider: "mock", Model: test.model, BaseURL: base + "/v1", Key: "test-key",
					HTTP: client,
				}, dialect)
			}
			w := adaptertest.Wire{
				Open:    open,
				Origin:  openai.New(openai.Options{Model: test.model}, dialect).Origin(),
				Encode:  func(a adaptertest.Answer) []string { return encode(a, test.details) },
				Failure: failure,
				Broken:  `data: {"id":"x","error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n",
				Thinks:  true,
				Read:    readBody,
			}
			if test.details {
				w.Carries = []llm.Kind{llm.Thinking}
			}
			adaptertest.Suite(t, w)
		})
	}
}

// encode writes an answer as chunks.
func encode(a adaptertest.Answer, details bool) []string {
	list := []string{": waiting\n\n", event(`{"role":"assistant","content":""}`, "")}
	calls := 0
	for _, p := range a.Parts {
		switch {
		case p.Kind == llm.Text:
			for _, piece := range halves(p.Text) {
				list = append(list, event(`{"content":`+quote(piece)+`}`, ""))
			}
		case p.Kind == llm.Thinking && details:
			for _, piece := range halves(p.Text) {
				list = append(list, event(`{"reasoning":`+quote(piece)+`,"reasoning_details":[{"type":"reasoning.text","text":`+quote(piece)+`,"index":0}]}`, ""))
			}
			if p.State != nil {
				list = append(list, event(`{"reasoning_details":[{"type":"reasoning.encrypted","data":`+string(p.State)+`,"id":"rs_1","index":1}]}`, ""))
			}
		case p.Kind == llm.Thinking:
			for _, piece := range halves(p.Text) {
				list = append(list, event(`{"reasoning_content":`+quote(piece)+`}`, ""))
			}
		case p.Kind == llm.Call:
			for i, piece := range halves(p.Input) {
				head := ""
				if i == 0 {
					head = fmt.Sprintf(`"id":%q,"type":"function",`, p.ID)
				}
				name := ""
				if i == 0 {
					name = fmt.Sprintf(`"name":%q,`, p.Name)
				}
				list = append(list, event(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]}`, calls, head, name, quote(piece)), ""))
			}
			calls++
		}
	}
	if a.Reason == "" {
		return list
	}
	for word, reason := range map[string]llm.Reason{"stop": llm.Stop, "tool_calls": llm.Calls, "length": llm.Length, "content_filter": llm.Refused} {
		if reason == a.Reason {
			list = append(list, event(`{}`, word))
		}
	}
	if a.Usage != (llm.Usage{}) {
		list = append(list, fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n", a.Usage.Input, a.Usage.Output))
	}
	return append(list, "data: [DONE]\n\n")
}

func event(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	return `data: {"id":"chatcmpl-1","model":"m","error":null,"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + "}]}\n\n"
}

var halves, quote = adaptertest.Halves, adaptertest.Quote

func failure(_ int, message string) string {
	return `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":null,"code":null}}`
}

// readBody decodes a request into an llm.Request.
func readBody(body []byte) (llm.Request, error) {
	var wire struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
			Result string `json:"tool_call_id"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Request{}, err
	}
	var req llm.Request
	for _, m := range wire.Messages {
		text := contentText(m.Content)
		switch m.Role {
		case "system", "developer":
			req.System = text
			continue
		case "tool":
			part := llm.Part{Kind: llm.Result, ID: m.Result, Text: text}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{part}})
			continue
		}
		out := llm.Message{Role: llm.Role(m.Role), Parts: []llm.Part{{Kind: llm.Text, Text: text}}}
		for _, c := range m.Calls {
			out.Parts = append(out.Parts, llm.Part{Kind: llm.Call, ID: c.ID, Name: c.Function.Name, Input: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, out)
	}
	for _, tool := range wire.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: tool.Function.Name})
	}
	return req, nil
}

func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var texts []string
	for _, part := range list {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "")
}
