package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
)

// refusing returns a model whose server refuses requests for which refuse returns a status, and the
// recorded requests.
func refusing(model string, refuse func(body string) (status int, answer string)) (*openai.Responses, *record) {
	r, asked := respond(model, effortSteps(completed()))
	asked.refuse = refuse
	return r, asked
}

// TestResponsesHeal checks that a refused field is dropped once, reported, and remembered.
func TestResponsesHeal(t *testing.T) {
	warm := 0.5
	tool := []llm.Tool{{Name: "f"}}
	schema := &llm.Schema{Name: "out", JSON: json.RawMessage(`{"type":"object","properties":{}}`)}
	for _, test := range []struct {
		name, model     string
		req             llm.Request
		status          int
		answer, notice  string
		refused, better string // text in the refused bodies, and in those sent afterwards
	}{
		{name: "a summary, of an account that is not verified", model: "gpt-5", status: 400,
			answer: `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":null}}`,
			notice: "does not sum up its thinking", refused: `"summary"`, better: `"model":"gpt-5","store"`},
		{name: "a stream, of the same", model: "gpt-4o", status: 400,
			answer: `{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}`,
			notice: "its answers come whole", refused: `"stream":true`, better: `"store":false}`},
		{name: "effort", model: "m", req: llm.Request{Effort: llm.EffortHigh}, status: 400,
			answer: refusal("reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
			notice: "does not take reasoning.effort", refused: `"reasoning"`, better: `"model":"m","store"`},
		{name: "a word for it", model: "gpt-7.3", req: llm.Request{Effort: llm.EffortMax}, status: 400,
			answer: refusal("reasoning.effort", "Unsupported value: 'max' is not supported with this model. Supported values are: 'low', 'medium', and 'xhigh'."),
			notice: "does not take effort max, using xhigh", refused: `"effort":"max"`, better: `"effort":"xhigh"`},
		{name: "include", model: "m", status: 400, answer: refusal("", "Encrypted content is not supported with this model."),
			notice: "there is no reasoning to ask for", refused: `"include"`, better: `"input":[]`},
		{name: "verbosity", model: "gpt-5-codex", req: llm.Request{Settings: llm.Settings{Verbosity: "low"}}, status: 400,
			answer: refusal("text.verbosity", "Unsupported value: 'low'"), notice: "text.verbosity", refused: `"verbosity"`, better: `"instructions":"Keep your answers short."`},
		{name: "the format", model: "m", req: llm.Request{System: "S", AnswerSchema: schema}, status: 400,
			answer: refusal("text.format", "no"), notice: "text.format", refused: `"json_schema"`, better: `"instructions":"S\n\nAnswer with nothing but JSON`},
		{name: "instructions", model: "m", req: llm.Request{System: "S"}, status: 422,
			answer: `{"detail":[{"loc":["body","instructions"],"msg":"Extra inputs are not permitted"}]}`, notice: "sent again with a system message",
			refused: `"instructions"`, better: `{"content":"S","role":"system","type":"message"}`},
		{name: "a setting", model: "m", req: llm.Request{Settings: llm.Settings{Temperature: &warm}}, status: 400,
			answer: refusal("temperature", "no"), notice: "temperature", refused: `"temperature"`, better: `"model"`},
		{name: "images", model: "m", req: llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte("\x89PNG\x00"), Name: "a.png"}}}}}, status: 500,
			answer: `{"error":{"code":500,"message":"image input is not supported - hint: ...","type":"server_error"}}`, notice: "m does not support a.png (image/png, 5 bytes); not sent", refused: `"input_image"`, better: `left out`},
		{name: "a choice of tools", model: "m", req: llm.Request{Tools: tool, Settings: llm.Settings{ToolChoice: "required"}}, status: 400,
			answer: `{"error":"tool_choice must be auto"}`, notice: "tool_choice", refused: `"tool_choice"`, better: `"tools"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, asked := refusing(test.model, func(body string) (int, string) {
				if strings.Contains(body, test.refused) {
					return test.status, test.answer
				}
				return 0, ""
			})
			for round := range 2 {
				_, notices, err := listen(r.Stream(t.Context(), test.req))
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 && (len(notices) != 1 || !strings.Contains(notices[0], test.notice)) {
					t.Errorf("notices %q, want %q", notices, test.notice)
				}
				if round == 1 && len(notices) > 0 {
					t.Errorf("told again: %q", notices)
				}
			}
			if len(asked.raw) != 3 || !strings.Contains(asked.raw[1], test.better) || !strings.Contains(asked.raw[2], test.better) {
				t.Errorf("asked %q", asked.raw)
			}
		})
	}
}

// listen reads a stream and returns its parts, notices and error.
func listen(s llm.Stream) (parts []llm.Part, notices []string, err error) {
	var draft llm.Draft
	for e, failed := range s {
		switch e := e.(type) {
		case llm.Notice:
			notices = append(notices, e.Text)
		case llm.Delta:
			draft.Add(e)
		}
		err = failed
	}
	return draft.Complete(), notices, err
}

// TestResponsesUnwelcomeItems checks that reasoning that the server cannot read is dropped, at once
// and in later requests, and that later reasoning still goes back.
func TestResponsesUnwelcomeItems(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		answer string
	}{
		{"by code", 400, `{"error":{"message":"The encrypted content gA could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`},
		{"by words", 400, refusal("", "Encrypted content could not be decrypted or parsed.")},
		{"not stored", 404, refusal("input", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.")},
		{"without company", 400, refusal("input", "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.")},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, asked := refusing("gpt-6-sol", func(body string) (int, string) {
				if strings.Contains(body, `"rs_1"`) {
					return test.status, test.answer
				}
				return 0, ""
			})
			own := func(id string) llm.Message {
				thought := strings.ReplaceAll(itemThink, "rs_1", "rs_"+id)
				call := strings.NewReplacer("fc_1", "fc_"+id, "call_1", "call_"+id).Replace(itemCall)
				return llm.Message{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: []llm.Part{
					{Kind: llm.Thinking, Text: "a", State: json.RawMessage(thought)},
					{Kind: llm.Call, ID: "call_" + id, Name: "f", Input: `{"x":1}`, State: json.RawMessage(call)},
				}}
			}
			req := llm.Request{Messages: []llm.Message{llm.UserText("Hi"), own("1")}}
			_, notices, err := listen(r.Stream(t.Context(), req))
			if err != nil || !slices.Equal(notices, []string{"gpt-6-sol did not take its earlier reasoning back; sent again without it"}) {
				t.Fatalf("%q, %v", notices, err)
			}
			if body := asked.last(t); len(asked.raw) != 2 || strings.Contains(body, `"id"`) || !strings.Contains(body, `"call_id":"call_1"`) {
				t.Errorf("asked %d times, then %s", len(asked.raw), body)
			}
			req.Messages = append(req.Messages, own("2"))
			if _, notices, err = listen(r.Stream(t.Context(), req)); err != nil || len(notices) > 0 {
				t.Errorf("%q, %v", notices, err)
			}
			if body := asked.last(t); len(asked.raw) != 3 || !strings.Contains(body, `"rs_2"`) || !strings.Contains(body, `"fc_2"`) {
				t.Errorf("asked %d times, then %s", len(asked.raw), body)
			}
		})
	}
}

// TestResponsesNoHealing checks that requests are not sent again without a change that helps.
func TestResponsesNoHealing(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		answer string
		asked  int
		fault  llm.Fault
		says   string
	}{
		{"no reasoning to leave out", 400, refusal("", "Encrypted content could not be verified."), 1, llm.InvalidRequest, "verified"},
		{"a field that was not sent", 400, refusal("temperature", "no"), 1, llm.InvalidRequest, "no"},
		{"the input", 400, refusal("input[0].content", "no"), 1, llm.InvalidRequest, "no"},
		{"another status", 500, refusal("reasoning.summary", "no"), 1, llm.InvalidRequest, "no"},
		{"a server without Responses", 404, `{"detail":"Not Found"}`, 1, llm.InvalidRequest, `needs kind = "openai"`},
		{"no such model", 404, `{"error":{"message":"The model gpt-6-sol does not exist","code":"model_not_found"}}`, 1, llm.ModelNotFound, "exist"},
		{"no tools", 400, `{"error":"this model does not support tools"}`, 1, llm.Unsupported, "tools"},
		{"the same again", 400, refusal("include", "no"), 2, llm.InvalidRequest, "no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, asked := refusing("gpt-6-sol", func(string) (int, string) { return test.status, test.answer })
			_, _, err := listen(r.Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "f"}}}))
			if llm.FaultOf(err) != test.fault || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v (%s), want %s with %q", err, llm.FaultOf(err), test.fault, test.says)
			}
			if len(asked.raw) != test.asked {
				t.Errorf("asked %d times, want %d", len(asked.raw), test.asked)
			}
		})
	}
}

// TestUsersFieldsStay checks that fields configured by the user are not dropped.
func TestUsersFieldsStay(t *testing.T) {
	asked := &record{answers: []canned{{400, "application/json", refusal("reasoning.effort", "Supported values are: 'low'")}}}
	r := openai.NewResponses(openai.Options{Model: "gpt-6-sol", BaseURL: "http://mock.invalid/v1", HTTP: asked.client(),
		Body: map[string]any{"reasoning": map[string]any{"effort": "max"}}})
	if _, _, err := listen(r.Stream(t.Context(), llm.Request{})); err == nil || len(asked.raw) != 1 {
		t.Errorf("asked %d times, %v", len(asked.raw), err)
	}
}

// TestResponsesItemFields: a field of its items that the server refuses back is dropped from all of
// them; their reasoning still goes back.
func TestResponsesItemFields(t *testing.T) {
	long := "rs_" + strings.Repeat("x", 400)
	for _, test := range []struct{ name, refused, answer, notice string }{
		{"status", `"gA","status"`, refusal("input[1].status", "Unknown parameter: 'input[1].status'."), "gpt-6-sol does not take the status of its items back; sent again without it"},
		{"long ids, by words", long, `{"error":{"message":"Invalid 'input[1].id': string too long. Expected a string with maximum length 64, but got a string with length 403 instead.","code":"string_above_max_length"}}`,
			"gpt-6-sol does not take the id of its items back; sent again without it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, asked := refusing("gpt-6-sol", func(body string) (int, string) {
				if strings.Contains(body, test.refused) {
					return 400, test.answer
				}
				return 0, ""
			})
			thought := strings.Replace(strings.ReplaceAll(itemThink, "rs_1", long), `"gA"`, `"gA","status":"completed"`, 1)
			req := llm.Request{Messages: []llm.Message{llm.UserText("Hi"), {Role: llm.RoleAssistant, Origin: r.Origin(), Parts: []llm.Part{
				{Kind: llm.Thinking, Text: "a", State: json.RawMessage(thought)}, {Kind: llm.Text, Text: "hello", State: json.RawMessage(itemText)}}}, llm.UserText("Go on")}}
			for round := range 2 {
				_, notices, err := listen(r.Stream(t.Context(), req))
				if want := []string{test.notice}[min(round, 1):]; err != nil || !slices.Equal(notices, want) {
					t.Fatalf("round %d: %q, %v", round, notices, err)
				}
				if body := asked.last(t); len(asked.raw) != 2+round || !strings.Contains(body, `"encrypted_content":"gA"`) || !strings.Contains(body, `"output_text"`) {
					t.Errorf("asked %d times, then %s", len(asked.raw), body)
				}
			}
		})
	}
}
