package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/llm"
	"parley/providers/wire"
)

// reply is an answer of a server.
type reply struct {
	status int // 0 is 200
	body   string
}

// server answers with replies in order, repeating the last one, and records the requests.
func server(t *testing.T, replies ...reply) (base string, asked func() []string) {
	t.Helper()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reply := replies[min(len(bodies), len(replies)-1)]
		bodies = append(bodies, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(reply.body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		if reply.status != 0 {
			w.WriteHeader(reply.status)
		}
		io.WriteString(w, reply.body)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { return bodies }
}

func connect(t *testing.T, base, model string) *anthropic.Model {
	t.Helper()
	client := wire.Client(wire.Options{Provider: "mock", URL: base})
	t.Cleanup(client.CloseIdleConnections)
	return anthropic.New(anthropic.Options{Provider: "mock", Model: model, BaseURL: base, HTTP: client})
}

// collected is the result of a stream.
type collected struct {
	parts  []llm.Part
	finish llm.Finish
	usage  llm.Usage
	told   []string
	err    error
}

func collect(s llm.Stream) collected {
	var c collected
	var draft llm.Draft
	for e, err := range s {
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Usage:
			c.usage = e
		case llm.Finish:
			c.finish = e
		case llm.Notice:
			c.told = append(c.told, e.Text)
		}
		c.err = err
	}
	c.parts = draft.Complete()
	if c.err != nil {
		c.parts = draft.Interrupted()
	}
	return c
}

// show writes parts as JSON, without the escapes of HTML.
func show(parts []llm.Part) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, p := range parts {
		e.Encode(p)
	}
	return strings.TrimSpace(b.String())
}

const (
	signedBlock   = `{"type":"thinking","thinking":"a <b> \u00fc \ud83d\ude00\n","signature":"Ev+/AB=="}`
	redactedBlock = `{"type":"redacted_thinking","data":"RGF0YQ+/=="}`
	searchBlock   = `{"type":"server_tool_use","id":"srv1","name":"web_search","input":{"query":"go"},"caller":{"type":"direct"}}`
	foundBlock    = `{"type":"web_search_tool_result","tool_use_id":"srv1","content":[{"type":"web_search_result","title":"Go","url":"https://go.dev","encrypted_content":"RW5j"}]}`
)

// TestPingsBehindTheEnd: some proxies drop message_stop, and send pings forever
// (github.com/tombii/better-ccflare pull 307). A stop reason before the content ends nothing.
func TestPingsBehindTheEnd(t *testing.T) {
	const ping, fault = "event: ping\ndata: {\"type\":\"ping\"}\n\n", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"too late\"}}\n\n"
	said := "data: " + `{"type":"message_start","message":{"id":"m","stop_reason":"end_turn"}}` + "\n\n" + ping +
		"data: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n\n" + ping
	end := "data: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1,"output_tokens":2}}` + "\n\n"
	for _, test := range []struct {
		name, body string
		usage      llm.Usage
		ok         bool
	}{
		{"behind the end", said + `data: {"type":"content_block_stop","index":0}` + "\n\n" + end + ping + fault, llm.Usage{Input: 1, Output: 2}, true},
		{"in a block that is open", said + end + ping + fault, llm.Usage{Input: 1, Output: 2}, false},
		{"before the end", said + `data: {"type":"content_block_stop","index":0}` + "\n\n" + ping + fault, llm.Usage{}, false},
	} {
		base, _ := server(t, reply{body: test.body})
		got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}))
		if (got.err == nil) != test.ok || got.usage != test.usage || len(got.parts) != 1 || got.parts[0].Text != "a" {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// TestDeltasOfAnotherKind: some servers send the deltas of a block with the index of the previous
// one (github.com/sgl-project/sglang pull 25876).
func TestDeltasOfAnotherKind(t *testing.T) {
	const think, say = `{"type":"thinking_delta","thinking":"Hm."}`, `{"type":"text_delta","text":"A."}`
	for _, test := range []struct{ block, want string }{
		{block(0, `{"type":"thinking","thinking":""}`, think, say, say), "thinking Hm. | text A.A."},
		{block(0, `{"type":"text","text":""}`, think, say), "thinking Hm. | text A."},
		{block(0, `{"type":"text","text":""}`, say, think), "text A. | thinking Hm."},
	} {
		base, _ := server(t, reply{body: stream(opening(1), test.block, ending("end_turn", 1))})
		var got []string
		for _, p := range collect(connect(t, base, "glm-5.3").Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}})).parts {
			got = append(got, string(p.Kind)+" "+p.Text)
		}
		if said := strings.Join(got, " | "); said != test.want {
			t.Errorf("%s: %s, want %s", test.block, said, test.want)
		}
	}
}

// TestBlocks checks the result of each block when streamed.
func TestBlocks(t *testing.T) {
	for _, test := range []struct {
		name, model string
		blocks      []string
		want        string // parts as JSON, one a line
	}{
		{"text", "claude-sonnet-4-5", []string{block(0, `{"type":"text","text":"A"}`, `{"type":"text_delta","text":"\u00fc"}`, `{"type":"text_delta","text":""}`)},
			`{"kind":"text","text":"Aü"}`},
		{"signed thinking, cut inside a character", "claude-sonnet-4-5", []string{block(0, `{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":"a <b> \ud83d"}`, `{"type":"thinking_delta","thinking":"\ude00"}`, `{"type":"signature_delta","signature":"Ev+/"}`, `{"type":"signature_delta","signature":"AB=="}`)},
			`{"kind":"thinking","text":"a <b> 😀","state":{"signature":"Ev+/AB==","thinking":"a <b> \ud83d\ude00","type":"thinking"}}`},
		{"hidden thinking", "claude-opus-5-5", []string{block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"signature_delta","signature":"Ev=="}`), block(1, `{"type":"text","text":"A"}`)},
			`{"kind":"thinking","state":{"signature":"Ev==","thinking":"","type":"thinking"}}` + "\n" + `{"kind":"text","text":"A"}`},
		{"unsigned thinking of a Claude", "claude-sonnet-4-5", []string{block(0, `{"type":"thinking","thinking":""}`, `{"type":"thinking_delta","thinking":"hm"}`)},
			`{"kind":"thinking","text":"hm"}`},
		{"unsigned thinking of others", "glm-5.3", []string{block(0, `{"type":"thinking","thinking":""}`, `{"type":"thinking_delta","thinking":"hm"}`)},
			`{"kind":"thinking","text":"hm","state":{"signature":"","thinking":"hm","type":"thinking"}}`},
		{"redacted thinking", "claude-sonnet-4-5", []string{block(0, redactedBlock), block(1, `{"type":"text","text":"A"}`)},
			`{"kind":"opaque","state":` + redactedBlock + `}` + "\n" + `{"kind":"text","text":"A"}`},
		{"calls without input, with it at once, and in pieces", "claude-sonnet-4-5", []string{
			block(0, `{"type":"tool_use","id":"a","name":"list","input":{}}`, `{"type":"input_json_delta","partial_json":""}`),
			block(1, `{"type":"tool_use","id":"b","name":"read","input":{"path": "x"}}`),
			block(2, `{"type":"tool_use","id":"c","name":"read","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"pa"}`, `{"type":"input_json_delta","partial_json":"th\":\"y\"}"}`)},
			`{"kind":"call","id":"a","name":"list","input":"{}"}` + "\n" + `{"kind":"call","id":"b","name":"read","input":"{\"path\":\"x\"}"}` + "\n" + `{"kind":"call","id":"c","name":"read","input":"{\"path\":\"y\"}"}`},
		{"blocks that overlap", "claude-sonnet-4-5", []string{
			event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"read"}}`),
			event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"read"}}`),
			event("content_block_delta", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}`),
			event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":0}"}}`)},
			`{"kind":"call","id":"a","name":"read","input":"{\"n\":0}"}` + "\n" + `{"kind":"call","id":"b","name":"read","input":"{\"n\":1}"}`},
		{"the server's own tools", "claude-sonnet-4-5", []string{
			block(0, `{"type":"server_tool_use","id":"srv1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"}`), block(1, foundBlock)},
			`{"kind":"call","id":"srv1","name":"web_search","input":"{\"query\":\"go\"}","remote":true,"state":{"id":"srv1","input":{"query":"go"},"name":"web_search","type":"server_tool_use"}}` + "\n" +
				`{"kind":"result","text":"[1] Go https://go.dev","id":"srv1","name":"web_search","remote":true,"state":` + foundBlock + `}`},
		{"a tool of the server's that failed", "claude-sonnet-4-5", []string{block(0, `{"type":"web_search_tool_result","tool_use_id":"srv1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`)},
			`{"kind":"result","text":"max_uses_exceeded","id":"srv1","name":"web_search","failed":true,"remote":true,"state":{"type":"web_search_tool_result","tool_use_id":"srv1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}}`},
		{"citations", "claude-sonnet-4-5", []string{block(0, `{"type":"text","text":"","citations":[]}`, `{"type":"text_delta","text":"So"}`,
			`{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"fast","encrypted_index":"RW5j"}}`,
			`{"type":"citations_delta","citation":{"url":"https://go.dev","title":"Go"}}`)},
			`{"kind":"text","text":"So","state":{"citations":[{"type":"web_search_result_location","url":"https://go.dev","title":"Go","cited_text":"fast","encrypted_index":"RW5j"},{"url":"https://go.dev","title":"Go"}],"text":"So","type":"text"}}` + "\n" +
				`{"kind":"source","text":"fast","name":"Go","url":"https://go.dev"}`},
		{"blocks nobody knows", "claude-sonnet-4-5", []string{block(0, `{"type":"fallback","from":{"model":"a"}}`), block(1, `{"type":"text","text":"A"}`)},
			`{"kind":"opaque","state":{"type":"fallback","from":{"model":"a"}}}` + "\n" + `{"kind":"text","text":"A"}`},
		{"deltas of a block that was never opened", "glm-5.3", []string{event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A"}}`)},
			`{"kind":"text","text":"A"}`},
		{"a beginning that comes twice", "claude-sonnet-4-5", []string{opening(1), block(0, `{"type":"text","text":"A"}`)},
			`{"kind":"text","text":"A"}`},
		{"tags that leaked", "glm-5.3", []string{block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"<think>hm</think>A"}`)},
			`{"kind":"thinking","text":"hm"}` + "\n" + `{"kind":"text","text":"A"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, _ := server(t, reply{body: stream(append(append([]string{opening(1)}, test.blocks...), ending("end_turn", 1))...)})
			got := collect(connect(t, base, test.model).Stream(t.Context(), llm.Request{}))
			if got.err != nil {
				t.Fatal(got.err)
			}
			if s := show(got.parts); s != test.want {
				t.Errorf("got\n%s\nwant\n%s", s, test.want)
			}
		})
	}
}

// TestRoundTrip checks that blocks go back byte for byte and in order, streamed or whole.
func TestRoundTrip(t *testing.T) {
	blocks := []string{signedBlock, redactedBlock, searchBlock, foundBlock, signedBlock, `{"type":"text","text":"Let me look."}`, `{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}`}
	var events []string
	for i, b := range blocks {
		events = append(events, block(i, b))
	}
	for name, first := range map[string]string{
		"streamed": stream(append(append([]string{opening(1)}, events...), ending("tool_use", 1))...),
		"whole":    `{"type":"message","content":[` + strings.Join(blocks, ",") + `],"stop_reason":"tool_use"}`,
	} {
		t.Run(name, func(t *testing.T) {
			base, asked := server(t, reply{body: first}, reply{body: stream(opening(1), block(0, `{"type":"text","text":"Done"}`), ending("end_turn", 1))})
			m := connect(t, base, "claude-sonnet-4-5")
			req := llm.Request{Effort: llm.EffortHigh, Messages: []llm.Message{llm.UserText("Hi")}, Tools: []llm.Tool{{Name: "read"}}}
			got := collect(m.Stream(t.Context(), req))
			if got.err != nil || got.finish.Reason != llm.Calls {
				t.Fatal(got.finish, got.err)
			}
			answer := llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: got.parts}
			results := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "toolu_1", Text: "A"}}}
			var changes []llm.Change
			req.Messages, changes = llm.Portable(append(req.Messages, answer, results), m.Origin())
			if len(changes) > 0 {
				t.Errorf("changed %v", changes)
			}
			if got := collect(m.Stream(t.Context(), req)); got.err != nil {
				t.Fatal(got.err)
			}
			text := `{"text":"Let me look.","type":"text"}`
			want := `"content":[` + strings.Join(append(blocks[:5:5], text), ",")
			if body := asked()[1]; !strings.Contains(body, want) {
				t.Errorf("got  %s\nwant %s", body, want)
			}
		})
	}
}

// TestEnds checks how answers end.
func TestEnds(t *testing.T) {
	text := block(0, `{"type":"text","text":"A"}`)
	call := block(1, `{"type":"tool_use","id":"a","name":"f"}`)
	for _, test := range []struct {
		name, body string
		want       llm.Reason
		raw        string
		fault      llm.Fault
	}{
		{"end", stream(opening(1), text, ending("end_turn", 1)), llm.Stop, "end_turn", ""},
		{"stop sequence", stream(opening(1), text, ending("stop_sequence", 1)), llm.Stop, "stop_sequence", ""},
		{"calls", stream(opening(1), text, call, ending("tool_use", 1)), llm.Calls, "tool_use", ""},
		{"calls that are not told", stream(opening(1), text, call, ending("end_turn", 1)), llm.Calls, "end_turn", ""},
		{"no calls that are told", stream(opening(1), text, ending("tool_use", 1)), llm.Stop, "tool_use", ""},
		{"length", stream(opening(1), text, ending("max_tokens", 1)), llm.Length, "max_tokens", ""},
		{"refusal", stream(opening(1), ending("refusal", 1)), llm.Refused, "refusal", ""},
		{"window full", stream(opening(1), text, ending("model_context_window_exceeded", 1)), llm.Length, "model_context_window_exceeded", ""},
		{"window full from the start", stream(opening(1), ending("model_context_window_exceeded", 1)), "", "", llm.ContextOverflow},
		{"a reason yet unknown", stream(opening(1), text, ending("compaction", 1)), llm.Other, "compaction", ""},
		{"stop without reason", stream(opening(1), text, event("message_stop", `{"type":"message_stop"}`)), llm.Stop, "", ""},
		{"reason without stop", strings.TrimSuffix(stream(opening(1), text, ending("end_turn", 1)), event("message_stop", `{"type":"message_stop"}`)), llm.Stop, "end_turn", ""},
		{"types in the names only", "event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"A\"}}\n\nevent: message_stop\ndata: {}\n\n", llm.Stop, "", ""},
		{"the mark of another format", stream(opening(1), text, "data: [DONE]\n\n"), llm.Stop, "", ""},
		{"a byte order mark", "\ufeff" + stream(opening(1), text, ending("end_turn", 1)), llm.Stop, "end_turn", ""},
		{"no empty line at the end", strings.TrimRight(stream(opening(1), text, ending("end_turn", 1)), "\n"), llm.Stop, "end_turn", ""},
		{"lines that end in carriage returns", strings.ReplaceAll(stream(opening(1), text, ending("end_turn", 1)), "\n", "\r"), llm.Stop, "end_turn", ""},
		{"cut in the last event", strings.TrimRight(stream(opening(1), text, ending("end_turn", 1)), "}\n"), llm.Stop, "end_turn", ""},
		{"cut in an event", strings.TrimRight(stream(opening(1), text), "}\n"), "", "", llm.Network},
		{"cut", stream(opening(1), text), "", "", llm.Network},
		{"nothing", "", "", "", llm.Network},
		{"nothing but an end", event("message_stop", `{"type":"message_stop"}`), "", "", llm.Network},
		{"not JSON", stream(opening(1), event("content_block_delta", "{oops")), "", "", llm.Unknown},
		{"cut JSON in the middle", stream(opening(1), event("content_block_delta", `{"type":"content_bl`), text), "", "", llm.Unknown},
		{"overloaded", stream(opening(1), text, event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), "", "", llm.Server},
		{"internal error", stream(opening(1), event("error", `{"type":"error","error":{"type":"api_error","message":"Internal"}}`)), "", "", llm.Server},
		{"too fast", stream(opening(1), event("error", `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`)), "", "", llm.RateLimit},
		{"too long", stream(event("error", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`)), "", "", llm.ContextOverflow},
		{"an error of another format", stream(opening(1), event("message", `{"error":{"message":"The server is busy","code":"503"}}`)), "", "", llm.Server},
		{"whole", `{"type":"message","id":"msg_1","content":[{"type":"text","text":"A"}],"stop_reason":"end_turn"}`, llm.Stop, "end_turn", ""},
		{"whole, and no answer", `{"type":"ping"}`, "", "", llm.Server},
		{"half of a whole", `{"type":"message","content":[{"type":"te`, "", "", llm.Network},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, _ := server(t, reply{body: test.body})
			got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{}))
			if test.fault != "" {
				if llm.FaultOf(got.err) != test.fault {
					t.Errorf("error %v (%s), want %s", got.err, llm.FaultOf(got.err), test.fault)
				}
				return
			}
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.finish.Reason != test.want || got.finish.Raw != test.raw {
				t.Errorf("finish %+v, want %s (%s)", got.finish, test.want, test.raw)
			}
		})
	}
}

// TestSecondBeginning: an answer in which another one begins was interrupted. The second one is
// ignored, and no call is made from a part.
func TestSecondBeginning(t *testing.T) {
	again := strings.ReplaceAll(opening(1), "msg_1", "msg_2")
	text := block(0, `{"type":"text","text":"A"}`)
	open := event("content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`)
	other := block(0, `{"type":"text","text":"B"}`) + block(1, `{"type":"tool_use","id":"b","name":"g","input":{}}`)
	stopped := event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`)
	for _, test := range []struct {
		name, body, want string
		fault            llm.Fault
	}{
		{"behind text", stream(opening(1), text, again, other, ending("tool_use", 9)), `{"kind":"text","text":"A"}`, llm.Network},
		{"under the same id", stream(opening(1), text, opening(1), other, ending("tool_use", 9)), `{"kind":"text","text":"A"}`, llm.Network},
		{"in a call", stream(opening(1), text, open, again, other, ending("tool_use", 9)), `{"kind":"text","text":"A"}`, llm.Network},
		{"before anything", stream(opening(1), again, other, ending("tool_use", 9)), "", llm.Network},
		{"behind a whole answer", stream(opening(1), text, stopped, again, other, ending("tool_use", 9)), `{"kind":"text","text":"A"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, _ := server(t, reply{body: test.body})
			var draft llm.Draft
			var failed error
			for e, err := range connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{}) {
				if d, ok := e.(llm.Delta); ok {
					draft.Add(d)
				}
				failed = err
			}
			parts := draft.Complete()
			fault := llm.Fault("")
			if failed != nil {
				parts, fault = draft.Interrupted(), llm.FaultOf(failed)
			}
			if got := show(parts); got != test.want || fault != test.fault {
				t.Errorf("got %s, %v\nwant %s, %q", got, failed, test.want, test.fault)
			}
		})
	}
}

// TestUsage checks the token counts: the input includes the cache, later counts replace earlier
// ones, missing ones do not.
func TestUsage(t *testing.T) {
	start := func(usage string) string {
		return event("message_start", `{"type":"message_start","message":{"content":[],"usage":`+usage+`}}`)
	}
	end := func(usage string) string {
		return event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+usage+`}`)
	}
	for _, test := range []struct {
		name, start, end string
		want             llm.Usage
	}{
		{"the cache counts", `{"input_tokens":7,"cache_read_input_tokens":20,"cache_creation_input_tokens":5,"output_tokens":1}`, `{"output_tokens":3}`,
			llm.Usage{Input: 32, CacheRead: 20, CacheWrite: 5, Output: 3}},
		{"cached for an hour", `{"input_tokens":7,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}}`, `{"output_tokens":3}`,
			llm.Usage{Input: 12, CacheWrite: 5, HourWrite: 3, Output: 3}},
		{"later wins", `{"input_tokens":7,"output_tokens":1}`, `{"input_tokens":9,"cache_read_input_tokens":1,"output_tokens":3,"output_tokens_details":{"thinking_tokens":2}}`,
			llm.Usage{Input: 10, CacheRead: 1, Output: 3, Thinking: 2}},
		{"null keeps", `{"input_tokens":7,"output_tokens":1}`, `{"input_tokens":null,"output_tokens":3}`, llm.Usage{Input: 7, Output: 3}},
		{"no prompt is empty", `{"input_tokens":7,"output_tokens":1}`, `{"input_tokens":0,"output_tokens":3}`, llm.Usage{Input: 7, Output: 3}},
		{"nothing at first", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":9,"output_tokens":3.0}`, llm.Usage{Input: 9, Output: 3}},
		{"nonsense", `{"input_tokens":-7,"output_tokens":1e99}`, `{"output_tokens":-1}`, llm.Usage{}},
	} {
		base, _ := server(t, reply{body: start(test.start) + block(0, `{"type":"text","text":"A"}`) + end(test.end) + event("message_stop", `{"type":"message_stop"}`)})
		if got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{})); got.err != nil || got.usage != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got.usage, got.err, test.want)
		}
	}
}

// TestPause checks that a paused answer is sent back unchanged and continues as one answer.
func TestPause(t *testing.T) {
	base, asked := server(t,
		reply{body: stream(opening(10), block(0, signedBlock), block(1, `{"type":"text","text":"I'll "}`, `{"type":"text_delta","text":"search."}`), block(2, searchBlock), ending("pause_turn", 3))},
		reply{body: stream(opening(20), block(0, foundBlock), ending("pause_turn", 4))},
		reply{body: stream(opening(30), block(0, `{"type":"text","text":"Found."}`), ending("end_turn", 5))})
	got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}))
	if got.err != nil || got.finish.Reason != llm.Stop {
		t.Fatal(got.finish, got.err)
	}
	if want := (llm.Usage{Input: 60, Output: 12, Discarded: 37, Last: 30}); got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
	var kinds []llm.Kind
	for _, p := range got.parts {
		kinds = append(kinds, p.Kind)
	}
	if want := []llm.Kind{llm.Thinking, llm.Text, llm.Call, llm.Result, llm.Text}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("parts %v, want %v", kinds, want)
	}
	bodies := asked()
	if len(bodies) != 3 {
		t.Fatalf("asked %d times", len(bodies))
	}
	want := `{"content":[` + signedBlock + `,{"text":"I'll search.","type":"text"},` + searchBlock + `,` + foundBlock + `],"role":"assistant"}]`
	if !strings.Contains(bodies[2], want) {
		t.Errorf("got  %s\nwant %s", bodies[2], want)
	}
}

// TestPauseForEver checks that a server that pauses forever is abandoned.
func TestPauseForEver(t *testing.T) {
	base, asked := server(t, reply{body: stream(opening(1), block(0, searchBlock), ending("pause_turn", 1))})
	got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), llm.Request{}))
	if llm.FaultOf(got.err) != llm.Server || len(asked()) > 20 {
		t.Errorf("asked %d times: %v", len(asked()), got.err)
	}
}

// TestUnusedThinking: a notice reports the thinking that the server ignored, and the answer counts
// it.
func TestUnusedThinking(t *testing.T) {
	start := event("message_start", `{"type":"message_start","message":{"content":[],"input_transformations":[{"type":"thinking_dropped"},{"type":"thinking_mismatch_allowed"},{"type":"thinking_dropped"}]}}`)
	base, _ := server(t, reply{body: stream(start, block(0, `{"type":"text","text":"A"}`), ending("end_turn", 1))})
	got := collect(connect(t, base, "claude-fable-5-1").Stream(t.Context(), llm.Request{}))
	if len(got.told) != 1 || got.told[0] != "earlier thinking not used by the provider (2): earlier messages changed" || got.finish.Unused != 2 {
		t.Errorf("notices %q, %d unused; want one notice, 2", got.told, got.finish.Unused)
	}
}

// TestNames checks that calls of tools with shortened names use parley's names.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	base, asked := server(t, reply{})
	m := connect(t, base, "claude-sonnet-4-5")
	req := llm.Request{Tools: []llm.Tool{{Name: long}}}
	collect(m.Stream(t.Context(), req))
	var body struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(asked()[0]), &body); err != nil {
		t.Fatal(err)
	}
	base, _ = server(t, reply{body: stream(opening(1), block(0, `{"type":"tool_use","id":"a","name":"`+body.Tools[0].Name+`"}`), ending("tool_use", 1))})
	got := collect(connect(t, base, "claude-sonnet-4-5").Stream(t.Context(), req))
	if len(got.parts) != 1 || got.parts[0].Name != long {
		t.Errorf("parts %+v", got.parts)
	}
}

// TestIDs checks that every call has a unique id.
func TestIDs(t *testing.T) {
	base, _ := server(t, reply{body: stream(opening(1), block(0, `{"type":"tool_use","id":"a","name":"f"}`), block(1, `{"type":"tool_use","id":"a","name":"f"}`), block(2, `{"type":"tool_use","name":"f"}`), ending("tool_use", 1))})
	got := collect(connect(t, base, "glm-5.3").Stream(t.Context(), llm.Request{Tools: []llm.Tool{{Name: "f"}}}))
	ids := map[string]bool{}
	for _, p := range got.parts {
		ids[p.ID] = true
	}
	if len(got.parts) != 3 || len(ids) != 3 || ids[""] || !ids["a"] {
		t.Errorf("parts %+v", got.parts)
	}
}
