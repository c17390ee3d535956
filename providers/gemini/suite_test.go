package gemini_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/adapter/adaptertest"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

func TestMain(m *testing.M) {
	// With the tag oracle, genai links OpenCensus, which starts a worker.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// TestSuite runs a model of each generation: with checked ids and signatures, and without.
func TestSuite(t *testing.T) {
	for _, model := range []string{"gemini-3.1-pro-preview", "gemini-2.5-flash"} {
		t.Run(model, func(t *testing.T) {
			for _, signed := range []llm.Kind{llm.Text, llm.Thinking, llm.Call} {
				t.Run(string(signed), func(t *testing.T) { adaptertest.Suite(t, geminiWire(model, signed)) })
			}
		})
	}
}

func geminiWire(model string, signed llm.Kind) adaptertest.Wire {
	return adaptertest.Wire{
		Open: func(t *testing.T, base string) llm.Model {
			client := wire.Client(wire.Options{Provider: "mock", URL: base, Secrets: []string{"test-key"}})
			t.Cleanup(client.CloseIdleConnections)
			return gemini.New(gemini.Options{Provider: "mock", Model: model, BaseURL: base + "/v1beta", Key: "test-key", HTTP: client})
		},
		Origin:  gemini.Family.Traits(gemini.Options{Model: model}).Origin,
		Encode:  func(a adaptertest.Answer) []string { return encode(a, model != "gemini-2.5-flash") },
		Failure: failure,
		Broken:  event(`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
		Carries: []llm.Kind{signed},
		Thinks:  true,
		Read:    readBody,
	}
}

// encode writes an answer as chunks. A signature comes after the last piece of
// a text, and on a call.
func encode(a adaptertest.Answer, ids bool) []string {
	var list []string
	for _, p := range a.Parts {
		signature := ""
		if p.State != nil {
			signature = `,"thoughtSignature":` + string(p.State)
		}
		switch p.Kind {
		case llm.Text, llm.Thinking:
			thought := ""
			if p.Kind == llm.Thinking {
				thought = `,"thought":true`
			}
			for _, piece := range halves(p.Text) {
				list = append(list, userParts(`{"text":`+quote(piece)+thought+`}`))
			}
			if signature != "" {
				list = append(list, userParts(`{"text":""`+thought+signature+`}`))
			}
		case llm.Call:
			id := ""
			if ids {
				id = `"id":` + quote(p.ID) + `,`
			}
			list = append(list, userParts(`{"functionCall":{`+id+`"name":`+quote(p.Name)+`,"args":`+p.Input+`}`+signature+`}`))
		}
	}
	if a.Reason == "" {
		return list
	}
	finish := map[llm.Reason]string{llm.Stop: "STOP", llm.Calls: "STOP", llm.Length: "MAX_TOKENS", llm.Refused: "SAFETY"}[a.Reason]
	return append(list, event(fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":%q,"index":0}],`+
		`"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d},"responseId":"r1","modelVersion":"m"}`, finish, a.Usage.Input, a.Usage.Output)))
}

func event(data string) string { return "data: " + data + "\r\n\r\n" }

// userParts returns an event with these parts.
func userParts(list string) string {
	return event(`{"candidates":[{"content":{"parts":[` + list + `],"role":"model"},"index":0}]}`)
}

var halves, quote = adaptertest.Halves, adaptertest.Quote

func failure(status int, message string) string {
	return fmt.Sprintf(`[{"error":{"code":%d,"message":%s}}]`, status, quote(message))
}

// readBody decodes a request into an llm.Request. Calls and results without ids are matched by
// their order, as the service does.
func readBody(body []byte) (llm.Request, error) {
	type part struct {
		Text    string
		Thought bool
		Call    *struct {
			ID, Name string
			Args     json.RawMessage
		} `json:"functionCall"`
		Response *struct {
			ID, Name string
			Response struct{ Output, Error string }
		} `json:"functionResponse"`
	}
	type turn struct {
		Role  string
		Parts []part
	}
	var wire struct {
		System   turn `json:"systemInstruction"`
		Contents []turn
		Tools    []struct {
			Functions []struct{ Name string } `json:"functionDeclarations"`
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return llm.Request{}, err
	}
	var req llm.Request
	for _, p := range wire.System.Parts {
		req.System += p.Text
	}
	for _, tools := range wire.Tools {
		for _, f := range tools.Functions {
			req.Tools = append(req.Tools, llm.Tool{Name: f.Name})
		}
	}
	for _, c := range wire.Contents {
		m := llm.Message{Role: llm.RoleUser}
		if c.Role == "model" {
			m.Role = llm.RoleAssistant
		}
		for i, p := range c.Parts {
			switch {
			case p.Call != nil:
				if p.Call.ID == "" {
					p.Call.ID = fmt.Sprintf("%s %d", p.Call.Name, len(m.Calls()))
				}
				m.Parts = append(m.Parts, llm.Part{Kind: llm.Call, ID: p.Call.ID, Name: p.Call.Name, Input: string(p.Call.Args)})
			case p.Response != nil:
				if p.Response.ID == "" {
					p.Response.ID = fmt.Sprintf("%s %d", p.Response.Name, i)
				}
				m.Role = llm.RoleTool
				m.Parts = append(m.Parts, llm.Part{Kind: llm.Result, ID: p.Response.ID, Text: p.Response.Response.Output + p.Response.Response.Error})
			case !p.Thought:
				m.Parts = append(m.Parts, llm.Part{Kind: llm.Text, Text: p.Text})
			}
		}
		req.Messages = append(req.Messages, m)
	}
	return req, nil
}
