package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/providers/llm"
)

// TestServerToolInFlight: a server tool called beside a local one runs after that has its result,
// and its own result begins the next answer. Both go back, as does the caller of a local tool,
// unless anything but results ended the turn.
func TestServerToolInFlight(t *testing.T) {
	const fetch = `{"type":"server_tool_use","id":"srv9","name":"web_fetch","input":{"url":"https://x"}}`
	const fetched = `{"type":"web_fetch_tool_result","tool_use_id":"srv9","content":{"type":"web_fetch_result","url":"https://x"}}`
	const called = `{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"},"caller":{"type":"code_execution_20260120","tool_id":"srv9"}}`
	calls := stream(opening(1), block(0, fetch), block(1, called), ending("tool_use", 1))
	more := stream(opening(1), block(0, strings.Replace(called, "toolu_1", "toolu_2", 1)), ending("tool_use", 1))
	end := stream(opening(1), block(0, fetched), block(1, `{"type":"text","text":"Found."}`), ending("end_turn", 1))
	const use, answer, caller = `"type":"server_tool_use"`, `"type":"web_fetch_tool_result"`, `"caller":{"type":"code`
	result := func(id string) llm.Message {
		return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Text: "A"}}}
	}
	picture := result("toolu_1")
	picture.Parts[0].Failed = true
	picture.Parts = append(picture.Parts, llm.Part{Kind: llm.Media, ID: "toolu_1", MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")})
	for _, test := range []struct {
		name    string
		answers []string      // answers before the checked request
		says    []llm.Message // after each of them
		want    [3]int        // calls, results and callers in the request
	}{
		{"in flight", []string{calls}, []llm.Message{result("toolu_1")}, [3]int{1, 0, 1}},
		{"with its result", []string{calls, end}, []llm.Message{result("toolu_1"), llm.UserText("Go on")}, [3]int{1, 1, 1}},
		{"over several answers", []string{calls, more, end}, []llm.Message{result("toolu_1"), result("toolu_2"), llm.UserText("Go on")}, [3]int{1, 1, 2}},
		{"the user speaks", []string{calls}, []llm.Message{llm.UserText("Stop")}, [3]int{}},
		{"more than results", []string{calls}, []llm.Message{picture}, [3]int{}},
		{"never answered", []string{calls, stream(opening(1), block(0, `{"type":"text","text":"No."}`), ending("end_turn", 1))},
			[]llm.Message{result("toolu_1"), llm.UserText("Go on")}, [3]int{}},
	} {
		var replies []reply
		for _, body := range append(test.answers, end) {
			replies = append(replies, reply{body: body})
		}
		base, asked := server(t, replies...)
		m := connect(t, base, "claude-sonnet-4-5")
		req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "read"}}}
		for range 20 { // enough messages for the cache
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "Yes."}}}, llm.UserText("Hi"))
		}
		for i := range replies {
			sent := req
			sent.Messages, _ = llm.Portable(req.Messages, m.Origin())
			got := collect(m.Stream(t.Context(), sent))
			if got.err != nil {
				t.Fatal(test.name, got.err)
			}
			if i < len(test.says) {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}, test.says[i])
			}
		}
		body := asked()[len(test.answers)]
		if got := [3]int{strings.Count(body, use), strings.Count(body, answer), strings.Count(body, caller)}; got != test.want {
			t.Errorf("%s: %v calls, results and callers, want %v\n%s", test.name, got, test.want, body)
		}
		for i, form := range []string{fetch, fetched} {
			if test.want[i] > 0 && !strings.Contains(body, form) {
				t.Errorf("%s: not as it came: %s\n%s", test.name, form, body)
			}
		}
	}
}

// TestBeginningWithContent: content in message_start counts once.
func TestBeginningWithContent(t *testing.T) {
	const call = `{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}`
	start := event("message_start", `{"type":"message_start","message":{"id":"msg_1","content":[{"type":"text","text":"A"},`+call+`]}}`)
	for name, body := range map[string]string{
		"alone":           stream(start, ending("tool_use", 1)),
		"told twice":      stream(start, start, ending("tool_use", 1)),
		"started again":   stream(start, block(0, `{"type":"text","text":"A"}`), block(1, call), ending("tool_use", 1)),
		"with what comes": stream(start, event("content_block_stop", `{"type":"content_block_stop","index":0}`), ending("tool_use", 1)),
	} {
		base, _ := server(t, reply{body: body})
		got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "read"}}}))
		want := `{"kind":"text","text":"A"}` + "\n" + `{"kind":"call","id":"toolu_1","name":"read","input":"{\"path\":\"a\"}"}`
		if s := show(got.parts); got.err != nil || s != want || got.finish.Reason != llm.Calls {
			t.Errorf("%s: %s, %v, %v", name, s, got.finish, got.err)
		}
	}
}

// TestDirectCaller: a caller goes back unchanged.
func TestDirectCaller(t *testing.T) {
	base, asked := server(t, reply{body: stream(opening(1), block(0, `{"type":"tool_use","id":"toolu_1","name":"read","input":{},"caller":{"type":"direct"}}`), ending("tool_use", 1))})
	m := connect(t, base, "claude-sonnet-4-5")
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}
	got := collect(m.Stream(t.Context(), req))
	for _, origin := range []string{m.Origin(), "elsewhere"} {
		next := llm.Request{Messages: append(req.Messages, llm.Message{Role: llm.RoleAssistant, Origin: origin, Parts: got.parts}, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "toolu_1"}}})}
		next.Messages, _ = llm.Portable(next.Messages, m.Origin())
		collect(m.Stream(t.Context(), next))
		var body struct {
			Messages []struct{ Content []map[string]json.RawMessage }
		}
		bodies := asked()
		json.Unmarshal([]byte(bodies[len(bodies)-1]), &body)
		if caller, own := string(body.Messages[1].Content[0]["caller"]), origin == m.Origin(); own != (caller == `{"type":"direct"}`) {
			t.Errorf("from %s: caller %s", origin, caller)
		}
	}
}
