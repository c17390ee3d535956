package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

// TestResponsesSuite runs a model of OpenAI's, one with an unknown name, and the two services that
// differ.
func TestResponsesSuite(t *testing.T) {
	for _, model := range []string{"gpt-6.1-sol", "my-deployment", "grok-4.7", "openai/gpt-oss-20b"} {
		t.Run(model, func(t *testing.T) {
			adaptertest.Suite(t, adaptertest.Wire{
				Open: func(t *testing.T, base string) llm.Model {
					client := wire.Client(wire.Options{Provider: "mock", URL: base, Secrets: []string{"test-key"}})
					t.Cleanup(client.CloseIdleConnections)
					return openai.NewResponses(openai.Options{
						Provider: "mock", Model: model, BaseURL: base + "/v1", Key: "test-key", HTTP: client,
					})
				},
				Origin:  openai.NewResponses(openai.Options{Model: model}).Origin(),
				Encode:  encodeItems,
				Failure: failure,
				Broken:  sse(`{"type":"error","code":"server_error","message":"The server had an error","param":null,"sequence_number":9}`),
				Carries: []llm.Kind{llm.Thinking},
				Thinks:  true,
				Read:    readItems,
			})
		})
	}
}

// sse returns one event of a stream.
func sse(data string) string {
	var head struct{ Type string }
	json.Unmarshal([]byte(data), &head)
	return "event: " + head.Type + "\ndata: " + data + "\n\n"
}

// encodeItems encodes an answer as the items of a response. Reasoning is a summary with one part
// per paragraph.
func encodeItems(a adaptertest.Answer) []string {
	list := []string{sse(`{"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","output":[]}}`)}
	add := func(format string, args ...any) { list = append(list, sse(fmt.Sprintf(format, args...))) }
	var output []string
	for i, p := range a.Parts {
		var item string
		switch p.Kind {
		case llm.Thinking:
			add(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"rs_%d","type":"reasoning","summary":[]}}`, i, i)
			var parts []string
			for n, text := range strings.Split(p.Text, "\n\n") {
				for _, piece := range halves(text) {
					add(`{"type":"response.reasoning_summary_text.delta","output_index":%d,"summary_index":%d,"delta":%s}`, i, n, quote(piece))
				}
				parts = append(parts, `{"type":"summary_text","text":`+quote(text)+`}`)
			}
			encrypted := `"gAAA"`
			if p.State != nil {
				encrypted = string(p.State)
			}
			item = fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","encrypted_content":%s,"summary":[%s]}`, i, encrypted, strings.Join(parts, ","))
		case llm.Text:
			kind, field := "output_text", "text"
			if a.Reason == llm.Refused {
				kind, field = "refusal", "refusal"
			}
			add(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"msg_%d","type":"message","role":"assistant","content":[]}}`, i, i)
			for _, piece := range halves(p.Text) {
				add(`{"type":"response.%s.delta","output_index":%d,"content_index":0,"delta":%s}`, kind, i, quote(piece))
			}
			item = fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","status":"completed","phase":"final_answer","content":[{"type":%q,%q:%s,"annotations":[]}]}`,
				i, kind, field, quote(p.Text))
		case llm.Call:
			add(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"fc_%d","type":"function_call","call_id":%q,"name":%q,"arguments":""}}`, i, i, p.ID, p.Name)
			for _, piece := range halves(p.Input) {
				add(`{"type":"response.function_call_arguments.delta","output_index":%d,"item_id":"odd_%d","delta":%s}`, i, len(list), quote(piece))
			}
			item = fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%s}`, i, p.ID, p.Name, quote(p.Input))
		}
		add(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)
		output = append(output, item)
	}
	status, details := "completed", "null"
	switch a.Reason {
	case "":
		return list
	case llm.Length:
		status, details = "incomplete", `{"reason":"max_output_tokens"}`
	}
	add(`{"type":"response.%s","response":{"id":"resp_1","model":"m","status":%q,"error":null,"incomplete_details":%s,"output":[%s],"usage":{"input_tokens":%d,"output_tokens":%d}}}`,
		status, status, details, strings.Join(output, ","), a.Usage.Input, a.Usage.Output)
	return list
}

// readItems decodes a request into an llm.Request. Consecutive assistant items are one message.
func readItems(body []byte) (llm.Request, error) {
	var wire struct {
		Instructions string
		Input        []struct {
			Type, Role      string
			Content         json.RawMessage
			CallID          string `json:"call_id"`
			Name, Arguments string
			Output          json.RawMessage
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Request{}, err
	}
	req := llm.Request{System: wire.Instructions}
	say := func(role llm.Role, p llm.Part) {
		if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role && role == llm.RoleAssistant {
			req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, p)
			return
		}
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: []llm.Part{p}})
	}
	for _, item := range wire.Input {
		switch {
		case item.Role == "system":
			req.System = contentText(item.Content)
		case item.Type == "message":
			say(llm.Role(item.Role), llm.Part{Kind: llm.Text, Text: contentText(item.Content)})
		case item.Type == "reasoning":
			say(llm.RoleAssistant, llm.Part{Kind: llm.Thinking})
		case item.Type == "function_call":
			say(llm.RoleAssistant, llm.Part{Kind: llm.Call, ID: item.CallID, Name: item.Name, Input: item.Arguments})
		case item.Type == "function_call_output":
			say(llm.RoleTool, llm.Part{Kind: llm.Result, ID: item.CallID, Text: contentText(item.Output)})
		default:
			return req, fmt.Errorf("an item of type %q", item.Type)
		}
	}
	for _, tool := range wire.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: tool.Name})
	}
	return req, nil
}
