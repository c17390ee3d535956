package openai_test

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// TestResponsesRequests: a client action that parley cannot perform is shown with its text as a
// failed call. It does not go back, nor does the reasoning before it: the server would require its
// answer.
func TestResponsesRequests(t *testing.T) {
	item := func(event, item string) string {
		return `{"type":"response.output_item.` + event + `","item":` + item + `}`
	}
	const think = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"}`
	for _, test := range []struct{ item, told, call string }{
		{`{"type":"custom_tool_call","id":"ctc_1","call_id":"call_9","name":"grep","input":"a b"}`, "the custom tool grep, to which parley has no answer: {\"input\":\"a b\"}", `ctc_1:grep{"input":"a b"}`},
		{`{"type":"mcp_approval_request","id":"mcpr_1","server_label":"deep","name":"ask","arguments":"{\"q\":1}"}`, "approval of the tool ask of the MCP server deep, to which parley has no answer: {\"q\":1}", `mcpr_1:ask{"q":1}`},
		{`{"type":"local_shell_call","id":"lsh_1","call_id":"call_9","action":{"type":"exec","command":["ls"]}}`, `the tool local_shell, to which parley has no answer: {"type":"exec","command":["ls"]}`, `lsh_1:local_shell{"type":"exec","command":["ls"]}`},
		{`{"type":"apply_patch_call","call_id":"call_9","operation":{"type":"delete_file","path":"a"}}`, `the tool apply_patch, to which parley has no answer: {"type":"delete_file","path":"a"}`, `call_9:apply_patch{"type":"delete_file","path":"a"}`},
	} {
		for way, stream := range map[string]string{
			"streamed":   effortSteps(item("added", test.item), item("done", think), item("done", test.item), completed(think, test.item)),
			"at the end": effortSteps(completed(think, test.item)),
			"whole":      `{"id":"resp_1","status":"completed","output":[` + think + "," + test.item + `]}`,
		} {
			r, asked := respond("gpt-6-sol", stream, effortSteps(completed(itemText)))
			req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}
			var notices []string
			var draft llm.Draft
			for e, err := range r.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				switch e := e.(type) {
				case llm.Delta:
					draft.Add(e)
				case llm.Notice:
					notices = append(notices, e.Text)
				}
			}
			parts := draft.Complete()
			if got := strings.Join(notices, "; "); got != "the model asked for "+test.told {
				t.Errorf("%s: told %q", way, got)
			}
			if got := show(parts); !strings.Contains(got, test.call) || !strings.HasSuffix(got, "result") {
				t.Errorf("%s: %q lacks %q or its result", way, got, test.call)
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: parts}, llm.UserText("Go on"))
			req.Messages, _ = llm.Portable(req.Messages, r.Origin())
			collect(t, r.Stream(t.Context(), req))
			if body := asked.raw[len(asked.raw)-1]; strings.Contains(body, "call_9") || strings.Contains(body, "mcpr_1") || strings.Contains(body, "rs_1") {
				t.Errorf("%s: goes back: %s", way, body)
			}
		}
	}
}

// TestHostedShell: a call answered by the provider itself goes back with its answer.
func TestHostedShell(t *testing.T) {
	const call, output = `{"type":"shell_call","id":"sh_1","call_id":"call_9","action":{"commands":["ls"]}}`, `{"type":"shell_call_output","id":"sho_1","call_id":"call_9","output":[]}`
	r, asked := respond("gpt-6-sol", effortSteps(completed(call, output, itemText)), effortSteps(completed(itemText)))
	parts, _, _, err := collect(t, r.Stream(t.Context(), llm.Request{}))
	if err != nil {
		t.Fatal(err)
	}
	collect(t, r.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: parts}, llm.UserText("Go on")}}))
	if body := asked.raw[1]; !strings.Contains(body, call+","+output) {
		t.Errorf("sent %s", body)
	}
}
