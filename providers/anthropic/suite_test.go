package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/adapter/adaptertest"
	"parley/providers/anthropic"
	"parley/providers/llm"
	"parley/providers/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSuite runs a model for each way of thinking, and one of another vendor.
func TestSuite(t *testing.T) {
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-5-5", "glm-5.3"} {
		t.Run(model, func(t *testing.T) { adaptertest.Suite(t, anthropicWire(model)) })
	}
}

func anthropicWire(model string) adaptertest.Wire {
	return adaptertest.Wire{
		Open: func(t *testing.T, base string) llm.Model {
			client := wire.Client(wire.Options{Provider: "mock", URL: base, Secrets: []string{"test-key"}})
			t.Cleanup(client.CloseIdleConnections)
			return anthropic.New(anthropic.Options{Provider: "mock", Model: model, BaseURL: base + "/v1", Key: "test-key", HTTP: client})
		},
		Origin:  anthropic.Family.Traits(anthropic.Options{Model: model}).Origin,
		Encode:  encode,
		Failure: failure,
		Broken:  event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		Carries: []llm.Kind{llm.Thinking},
		Thinks:  true,
		Read:    readBody,
	}
}

// opening returns the start of every streamed answer.
func opening(input int) string {
	return event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",`+
		`"model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}}`, input)) +
		event("ping", `{"type": "ping"}`)
}

// ending returns the end of every streamed answer.
func ending(reason string, output int) string {
	return event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}}`, reason, output)) +
		event("message_stop", `{"type":"message_stop"}`)
}

// encode writes an answer as events. Signatures come in two pieces.
func encode(a adaptertest.Answer) []string {
	list := []string{opening(a.Usage.Input)}
	for i, p := range a.Parts {
		var deltas []string
		start := `{"type":"text","text":""}`
		switch p.Kind {
		case llm.Text:
			for _, piece := range halves(p.Text) {
				deltas = append(deltas, `{"type":"text_delta","text":`+quote(piece)+`}`)
			}
		case llm.Thinking:
			start = `{"type":"thinking","thinking":"","signature":""}`
			for _, piece := range halves(p.Text) {
				deltas = append(deltas, `{"type":"thinking_delta","thinking":`+quote(piece)+`}`)
			}
			signature := "c2lnbmF0dXJl"
			if p.State != nil {
				json.Unmarshal(p.State, &signature)
			}
			for _, piece := range halves(signature) {
				deltas = append(deltas, `{"type":"signature_delta","signature":"`+piece+`"}`)
			}
		case llm.Call:
			start = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, p.ID, p.Name)
			deltas = append(deltas, `{"type":"input_json_delta","partial_json":""}`)
			if p.Input != "{}" {
				for _, piece := range halves(p.Input) {
					deltas = append(deltas, `{"type":"input_json_delta","partial_json":`+quote(piece)+`}`)
				}
			}
		}
		list = append(list, block(i, start, deltas...))
	}
	if a.Reason == "" {
		return list
	}
	reason := map[llm.Reason]string{llm.Stop: "end_turn", llm.Calls: "tool_use", llm.Length: "max_tokens", llm.Refused: "refusal"}[a.Reason]
	return append(list, ending(reason, a.Usage.Output))
}

// block returns the events of one block.
func block(index int, start string, deltas ...string) string {
	text := event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start))
	for _, d := range deltas {
		text += event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
	}
	return text + event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

var halves, quote = adaptertest.Halves, adaptertest.Quote

func failure(status int, message string) string {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
		404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error",
	}[status]
	if kind == "" {
		kind = "api_error"
		if status < 500 {
			kind = "invalid_request_error"
		}
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_1"}`, kind, quote(message))
}

// readBody decodes a request into an llm.Request.
func readBody(body []byte) (llm.Request, error) {
	var wire struct {
		System   []struct{ Text string }
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, ID, Name string
				For                  string `json:"tool_use_id"`
				Input                json.RawMessage
				Content              json.RawMessage
			}
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Request{}, err
	}
	var req llm.Request
	for _, s := range wire.System {
		req.System += s.Text
	}
	for _, tool := range wire.Tools {
		req.Tools = append(req.Tools, llm.Tool{Name: tool.Name})
	}
	for _, m := range wire.Messages {
		out := llm.Message{Role: llm.Role(m.Role)}
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				out.Parts = append(out.Parts, llm.Part{Kind: llm.Text, Text: b.Text})
			case "tool_use":
				out.Parts = append(out.Parts, llm.Part{Kind: llm.Call, ID: b.ID, Name: b.Name, Input: string(b.Input)})
			case "tool_result":
				var text string
				if err := json.Unmarshal(b.Content, &text); err != nil {
					return llm.Request{}, err
				}
				out.Parts = append(out.Parts, llm.Part{Kind: llm.Result, ID: b.For, Text: text})
			}
		}
		req.Messages = append(req.Messages, out)
	}
	return req, nil
}

// stream joins events to a body.
func stream(events ...string) string { return strings.Join(events, "") }
