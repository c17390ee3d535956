package agentcli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// Output of the programs when their model says "Hello". The lines of codex, copilot and qwen
// were printed by the programs themselves with a test server, and then shortened.
var hello = map[string]string{
	"claude-cli": claudeInit + claudeStart + claudeHello + claudeWhole + claudeEnd + claudeResult,
	"gemini-cli": geminiInit + geminiHello + geminiResult,
	"codex-cli": lines(
		`{"type":"thread.started","thread_id":"01a2-7963"}`,
		`{"type":"item.completed","item":{"id":"item_9","type":"error","message":"Codex is ignoring 1 unrecognized configuration setting. Check for typos or deprecated settings."}}`,
		`{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Hello"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"cache_write_input_tokens":3,"output_tokens":20,"reasoning_output_tokens":5}}`),
	"copilot-cli": lines(
		`{"type":"session.skills_loaded","data":{"skills":[{"name":"x"}]},"ephemeral":true,"id":"1"}`,
		`{"type":"user.message","data":{"content":"hi","messageId":"m0"}}`,
		`{"type":"assistant.message_start","data":{"messageId":"m1"}}`,
		`{"type":"assistant.message_delta","data":{"messageId":"m1","deltaContent":"Hel"},"ephemeral":true}`,
		`{"type":"assistant.message_delta","data":{"messageId":"m1","deltaContent":"lo"},"ephemeral":true}`,
		`{"type":"assistant.message","data":{"messageId":"m1","model":"gpt-x","content":"Hello","toolRequests":[],"reasoningText":"Hm."}}`,
		`{"type":"assistant.usage","data":{"inputTokens":100,"outputTokens":20,"cacheReadTokens":40}}`,
		`{"type":"assistant.idle","data":{},"ephemeral":true}`,
		`{"type":"result","sessionId":"9482f11a","exitCode":0,"usage":{"premiumRequests":0}}`),
	"antigravity-cli": lines(
		`{"event":"init","conversation_id":"c-1","init":{"model":"m"}}`,
		`{"event":"step_update","step_update":{"step_type":"user_input"}}`,
		`{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"Hel"}}`,
		`{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"lo"}}`,
		`{"event":"result","result":{"status":"SUCCESS","response":"Hello","denied_actions":[],"usage":{"input_tokens":100,"output_tokens":20}}}`),
	"grok-cli": lines(
		`{"type":"text","data":"Hel"}`, `{"type":"text","data":"lo"}`,
		`{"type":"end","stopReason":"EndTurn","sessionId":"g-1","usage":{"inputTokens":100,"outputTokens":20}}`),
	"qwen-cli": lines(
		`{"type":"system","subtype":"init","session_id":"q-1","tools":[],"model":"qwen-x","permission_mode":"default"}`,
		`{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"a1","role":"assistant","model":"qwen-x","content":[]}}}`,
		qwenText("Hel", "lo"), `{"type":"assistant","message":{"id":"b2","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":100,"output_tokens":20}}}`,
		`{"type":"stream_event","event":{"type":"message_stop"}}`,
		`{"type":"result","subtype":"success","session_id":"q-1","is_error":false,"num_turns":1,"result":"Hello","usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":40,"total_tokens":120}}`),
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// qwenText returns a streamed block of text, whose index is always 0.
func qwenText(pieces ...string) string {
	list := []string{`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`}
	for _, p := range pieces {
		list = append(list, fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}}`, p))
	}
	return strings.Join(append(list, `{"type":"stream_event","event":{"type":"content_block_stop","index":0}}`), "\n")
}

// TestKinds: every program answers in a private directory that is empty before and after, with no
// part of the prompt in its arguments.
func TestKinds(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			s := script(t, []step{{Out: hello[kind]}})
			got := take(t, s.model(kind).Stream(t.Context(), llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText("A private question")}}))
			check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
			v := s.visits()[0]
			if strings.Contains(strings.Join(v.Args, " "), "private question") {
				t.Errorf("the prompt is an argument: %q", v.Args)
			}
			if read := v.Stdin + v.Prompt; !strings.Contains(read, "A private question") {
				t.Errorf("it read %q", read)
			}
			if told := v.Stdin + v.System + strings.Join(v.Args, " "); !strings.Contains(told, "Be brief.") {
				t.Errorf("it was not told how to be: %q", told)
			}
			if left, _ := os.ReadDir(v.Dir); len(left) > 0 || filepath.Base(v.Dir) != kind {
				t.Errorf("it ran in %s, where %v lies", v.Dir, left)
			}
			for _, path := range v.Temps {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s is still there", path)
				}
			}
			if kind != "claude-cli" && kind != "gemini-cli" && got.usage == nil {
				t.Error("no usage")
			}
			if len(got.notices) > 0 {
				t.Errorf("notices %q", got.notices)
			}
		})
	}
}

// TestReadOnly: the arguments of each program limit its model to reading.
func TestReadOnly(t *testing.T) {
	for kind, want := range map[string][]string{
		"claude-cli":      {"--tools=", "--strict-mcp-config"},
		"codex-cli":       {"exec", "--sandbox=read-only", "--ephemeral", "--ignore-user-config", "--config=features.shell_tool=false", "--config=agents.enabled=false", `--config=web_search="disabled"`, "-"},
		"gemini-cli":      {"--approval-mode=default", "--extensions=none"},
		"antigravity-cli": {"--input-format=stream-json", "--sandbox"},
		"copilot-cli":     {"--available-tools=none", "--deny-tool=shell", "--deny-tool=write", "--no-custom-instructions"},
		"grok-cli":        {"--permission-mode=dontAsk", "--sandbox=read-only"},
		"qwen-cli":        {"--approval-mode=default", "--core-tools=none", "--chat-recording=false"},
	} {
		args := compiled(t, kind, llm.Request{}).args
		for _, flag := range want {
			if !slices.Contains(args, flag) {
				t.Errorf("%s lacks %s: %q", kind, flag, args)
			}
		}
		for _, never := range []string{"yolo", "bypass", "dangerous", "allow-all", "always-approve", "full-auto"} {
			if strings.Contains(strings.Join(args, " "), never) {
				t.Errorf("%s is told %s: %q", kind, never, args)
			}
		}
	}
}

func TestCodex(t *testing.T) {
	started := `{"type":"thread.started","thread_id":"t-1"}`
	completed := `{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}`
	for _, tt := range []struct {
		name  string
		lines string
		want  []llm.Part
		fault llm.Fault
	}{
		{"reasoning and text", lines(started, `{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"Hm."}}`, `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Hello"}}`, completed),
			[]llm.Part{thinking("Hm."), text("Hello")}, ""},
		{"text that grows", lines(started, `{"type":"item.started","item":{"id":"item_0","type":"agent_message","text":"He"}}`, `{"type":"item.updated","item":{"id":"item_0","type":"agent_message","text":"Hell"}}`, `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hello"}}`, completed),
			[]llm.Part{text("Hello")}, ""},
		{"text that is another one when it is complete", lines(started, `{"type":"item.updated","item":{"id":"item_0","type":"agent_message","text":"It is 4"}}`, `{"type":"item.updated","item":{"id":"item_0","type":"agent_message","text":"No"}}`, `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"It was 5."}}`, completed),
			[]llm.Part{text("It is 4"), {Kind: llm.Text, Text: "It was 5.", Begins: true}}, ""},
		{"text that is shorter when it is complete", lines(started, `{"type":"item.updated","item":{"id":"item_0","type":"agent_message","text":"Hello"}}`, `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hell"}}`, completed),
			[]llm.Part{text("Hello")}, ""},
		{"a command", lines(started, `{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"touch x","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
			`{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"touch x","aggregated_output":"read-only","exit_code":1,"status":"failed"}}`, completed),
			[]llm.Part{called("t-1-item_0", "command_execution", `{"command":"touch x"}`), answered("t-1-item_0", "command_execution", "read-only", true)}, ""},
		{"a server's tool, only completed", lines(started, `{"type":"item.completed","item":{"id":"item_0","type":"mcp_tool_call","server":"s","tool":"x","arguments":{"a":1},"result":{"content":[]},"status":"completed"}}`, completed),
			[]llm.Part{called("t-1-item_0", "mcp_tool_call", `{"arguments":{"a":1},"server":"s","tool":"x"}`), answered("t-1-item_0", "mcp_tool_call", `{"content":[]}`, false)}, ""},
		{"what tomorrow brings", lines(started, `{"type":"item.completed","item":{"id":"item_0","type":"hologram","text":"x"}}`, `{"type":"turn.paused"}`, `{"type":"item.completed","item":[1]}`, completed), nil, ""},
		{"a key that is wrong", lines(started, `{"type":"error","message":"unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1/v1/responses"}`,
			`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1/v1/responses"}}`), nil, llm.Authentication},
		{"used up", lines(started, `{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and billing details."}}`), nil, llm.Quota},
		{"failed without words", lines(started, `{"type":"error","message":"stream error"}`, `{"type":"turn.failed"}`), nil, llm.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stop := llm.Stop
			if tt.fault != "" {
				stop = ""
			}
			check(t, take(t, decode("codex-cli", &run{}, tt.lines)), tt.want, stop, tt.fault)
		})
	}
	for reason, want := range map[string]llm.Reason{"max_output_tokens": llm.Length, "content_filter": llm.Refused} {
		words := "Incomplete response returned, reason: " + reason
		got := take(t, decode("codex-cli", &run{}, lines(started, `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hel"}}`,
			`{"type":"error","message":"`+words+`"}`, `{"type":"turn.failed","error":{"message":"`+words+`"}}`)))
		check(t, got, []llm.Part{text("Hel")}, want, "")
		if len(got.notices) > 0 {
			t.Errorf("notices %q", got.notices)
		}
	}
	got := take(t, decode("codex-cli", &run{}, hello["codex-cli"]))
	if want := (llm.Usage{Input: 100, CacheRead: 40, CacheWrite: 3, Output: 20, Thinking: 5}); got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
	got = take(t, decode("codex-cli", &run{}, lines(started, `{"type":"error","message":"Reconnecting... 2/5 (stream disconnected before completion)"}`, completed)))
	if again := take(t, decode("codex-cli", &run{}, lines(started, `{"type":"error","message":"boom"}`, `{"type":"turn.failed","error":{"message":"boom"}}`))); len(again.notices) > 0 {
		t.Errorf("told twice: %q", again.notices)
	}
	if len(got.retries) != 1 || got.retries[0].Attempt != 2 || got.retries[0].Max != 5 || len(got.notices) > 0 {
		t.Errorf("retries %+v, notices %q", got.retries, got.notices)
	}
	var tries []string
	for n := 1; n <= 5; n++ {
		tries = append(tries, fmt.Sprintf(`{"type":"error","message":"Reconnecting... %d/5 (unexpected status 403 Forbidden, url: wss://chatgpt.com/backend-api/codex/responses)"}`, n))
	}
	tries = append(tries, `{"type":"error","message":"failed to connect to websocket: HTTP error: 405, url: ws://127.0.0.1:1/v1/responses"}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Falling back from wss://chatgpt.com to HTTPS"}}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Hello"}}`)
	got = take(t, decode("codex-cli", &run{}, lines(append(append([]string{started}, tries...), completed)...)))
	check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
	if len(got.retries) != 5 || len(got.notices) > 0 {
		t.Errorf("retries %+v, notices %q", got.retries, got.notices)
	}
}

// TestClaudeWithoutMessageStart checks that pieces without message_start do not count as a broken
// connection.
func TestClaudeWithoutMessageStart(t *testing.T) {
	got := take(t, decode("claude-cli", &run{}, claudeInit+claudeHello+claudeWhole+claudeEnd+claudeResult))
	if check(t, got, []llm.Part{text("Hello")}, llm.Stop, ""); len(got.retries) > 0 {
		t.Errorf("retries %+v", got.retries)
	}
}

func TestCopilot(t *testing.T) {
	ok := `{"type":"result","sessionId":"s","exitCode":0}`
	for _, tt := range []struct {
		name  string
		lines string
		want  []llm.Part
		fault llm.Fault
	}{
		{"reasoning, in pieces and whole", lines(`{"type":"assistant.reasoning_delta","data":{"reasoningId":"r","deltaContent":"Hm."}}`, `{"type":"assistant.reasoning","data":{"reasoningId":"r","content":"Hm."}}`,
			`{"type":"assistant.message","data":{"messageId":"m","content":"Hello"}}`, ok), []llm.Part{thinking("Hm."), text("Hello")}, ""},
		{"a tool that it does not have", lines(`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"ls"}}}`,
			`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":false,"error":{"message":"Tool 'bash' does not exist.","code":"failure"}}}`, ok),
			[]llm.Part{called("c1", "bash", `{"command":"ls"}`), answered("c1", "bash", "Tool 'bash' does not exist.", true)}, ""},
		{"a sub-agent", lines(`{"type":"assistant.message","data":{"messageId":"m","content":"inner","parentToolCallId":"c"}}`, ok), nil, ""},
		{"a key that is wrong", lines(`{"type":"model.call_failure","data":{"statusCode":401,"errorMessage":"401"}}`,
			`{"type":"session.error","data":{"errorType":"authentication","message":"Authentication failed with provider (HTTP 401).","statusCode":401}}`, `{"type":"result","exitCode":1}`), nil, llm.Authentication},
		{"a key that is wrong, with status 0", lines(`{"type":"model.call_failure","data":{"statusCode":401,"errorMessage":"bad"}}`, ok), nil, llm.Authentication},
		{"the same as an error of the session", lines(`{"type":"session.error","data":{"errorType":"query","message":"Request failed","statusCode":401}}`, ok), nil, llm.Authentication},
		{"a failure that passed", lines(`{"type":"model.call_failure","data":{"statusCode":500,"errorMessage":"bad"}}`, `{"type":"assistant.message","data":{"messageId":"m","content":"Hello"}}`, ok), []llm.Part{text("Hello")}, ""},
		{"an error that passed", lines(`{"type":"session.error","data":{"errorType":"x","message":"y"}}`, `{"type":"assistant.message","data":{"messageId":"m","content":"Hello"}}`, ok), []llm.Part{text("Hello")}, ""},
		{"failed without words", lines(`{"type":"result","exitCode":1}`), nil, llm.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stop := llm.Stop
			if tt.fault != "" {
				stop = ""
			}
			check(t, take(t, decode("copilot-cli", &run{}, tt.lines)), tt.want, stop, tt.fault)
		})
	}
	spent := func(parent string) string {
		return `{"type":"assistant.usage","data":{"parentToolCallId":"` + parent + `","inputTokens":100,"outputTokens":20,"cacheReadTokens":40,"cacheWriteTokens":3}}`
	}
	want := llm.Usage{Input: 200, CacheRead: 80, CacheWrite: 6, Output: 40}
	for _, end := range []string{ok, `{"type":"result","exitCode":1}`, ""} { // the cost counts for every exit status
		if got := take(t, decode("copilot-cli", &run{}, lines(spent(""), spent("c"), end))); got.usage == nil || *got.usage != want {
			t.Errorf("%s: usage %+v, want %+v", end, got.usage, want)
		}
	}
}

func TestQwen(t *testing.T) {
	start := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"a1","model":"q"}}}`
	thought := lines(`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}}`,
		`{"type":"assistant","message":{"id":"a1","content":[{"type":"thinking","thinking":"Hm."}]}}`)
	again := `{"type":"assistant","message":{"id":"b2","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Hello"}]}}`
	end := lines(`{"type":"stream_event","event":{"type":"message_stop"}}`, `{"type":"result","subtype":"success","session_id":"q-1","is_error":false,"result":"Hello","usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":40,"total_tokens":120}}`)
	apiError := "[API Error: 401 Incorrect API key provided]"
	for _, tt := range []struct {
		name  string
		lines string
		want  []llm.Part
		fault llm.Fault
	}{
		{"blocks that share an index, whole under another id", lines(start, thought+qwenText("Hel", "lo"), again, end), []llm.Part{thinking("Hm."), text("Hello")}, ""},
		{"an error as a successful answer", lines(start, qwenText("[API Err", apiError[8:]), `{"type":"stream_event","event":{"type":"message_stop"}}`,
			`{"type":"result","subtype":"success","is_error":false,"result":"`+apiError+`","usage":{"input_tokens":0,"output_tokens":0}}`), nil, llm.Authentication},
		{"an answer that begins like one", lines(start, qwenText("[API Error: ", "is what it prints]"), end), []llm.Part{text("[API Error: is what it prints]")}, ""},
		{"an answer in brackets", lines(start, qwenText("[A", "PI]"), end), []llm.Part{text("[API]")}, ""},
		{"not logged in", lines(`{"type":"result","subtype":"error_during_execution","is_error":true,"usage":{"input_tokens":0,"output_tokens":0},"error":{"message":"No auth type is selected. Please configure an auth type."}}`), nil, llm.Authentication},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stop := llm.Stop
			if tt.fault != "" {
				stop = ""
			}
			got := take(t, decode("qwen-cli", &run{}, tt.lines))
			check(t, got, tt.want, stop, tt.fault)
			for _, p := range got.parts {
				if p.Kind == llm.Opaque {
					t.Errorf("a session that is not kept: %s", p.State)
				}
			}
		})
	}
	got := take(t, decode("qwen-cli", &run{}, hello["qwen-cli"]))
	if want := (llm.Usage{Input: 100, CacheRead: 40, Output: 20}); got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
}

// TestSparse: for programs with undocumented output, several forms are accepted; text that is not
// an event is ignored, and an unknown form is reported.
func TestSparse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind string
		steps      []step
		want       []llm.Part
		fault      llm.Fault
		says       string // in a notice or the error
	}{
		{"agy, fields beside the event", "antigravity-cli", []step{{Out: lines(`{"event":"step_update","step_type":"agent_response","text_delta":"Hello"}`, `{"event":"result","status":"SUCCESS","response":"Hello"}`)}}, []llm.Part{text("Hello")}, "", ""},
		{"agy, a step with two pieces", "antigravity-cli", []step{{Out: lines(`{"event":"step_update","step_update":{"step_type":"agent_response","thinking_delta":"Hm.","text_delta":"Hel"}}`, `{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"lo"}}`, `{"event":"result","result":{"status":"SUCCESS","response":"Hello"}}`)}}, []llm.Part{thinking("Hm."), text("Hello")}, "", ""},
		{"agy, a tool and why", "antigravity-cli", []step{{Out: lines(`{"event":"step_update","step_update":{"step_type":"tool","step_index":3,"tool_name":"view","thinking_delta":"Hm."}}`, `{"event":"result","result":{"status":"SUCCESS","response":"Hello"}}`)}},
			[]llm.Part{thinking("Hm."), called("tool-1", "view", "{}"), answered("tool-1", "view", "Run by agy, which does not tell its output.", false), text("Hello")}, "", ""},
		{"agy, only the result", "antigravity-cli", []step{{Out: lines(`{"event":"result","result":{"status":"SUCCESS","response":"Hello"}}`)}}, []llm.Part{text("Hello")}, "", ""},
		{"agy, a success that hides a refusal", "antigravity-cli", []step{{Out: lines(`{"event":"result","result":{"status":"SUCCESS","response":"I could not.","denied_actions":["run_command: rm -rf x",{"tool":"edit"}]}}`)}},
			[]llm.Part{text("I could not.")}, "", `denied its model: run_command: rm -rf x, {"tool":"edit"}`},
		{"agy, nothing but a refusal", "antigravity-cli", []step{{Out: lines(`{"event":"result","result":{"status":"SUCCESS","response":"","denied_actions":["run_command"]}}`)}}, nil, llm.Permission, "denied its model: run_command"},
		{"agy, an error", "antigravity-cli", []step{{Out: lines(`{"event":"result","result":{"status":"ERROR","error":{"message":"authentication required"}}}`), Exit: 1}}, nil, llm.Authentication, `Log in with "agy"`},
		{"agy, a tool", "antigravity-cli", []step{{Out: lines(`{"event":"init","conversation_id":"c"}`, `{"event":"step_update","step_update":{"step_type":"tool","step_index":3,"tool_name":"view","tool_info":{"path":"a"}}}`,
			`{"event":"step_update","step_update":{"step_type":"tool","step_index":3,"tool_name":"view","tool_info":{"path":"a","done":true}}}`, `{"event":"result","result":{"status":"SUCCESS","response":"Hello"}}`)}},
			[]llm.Part{called("c-tool-1", "view", `{"path":"a"}`), answered("c-tool-1", "view", "Run by agy, which does not tell its output.", false), text("Hello")}, "", ""},
		{"agy, locked keyring", "antigravity-cli", []step{{Err: "error: authentication required\n", Exit: 1}}, nil, llm.Authentication, `Log in with "agy"`},
		{"agy, a form of tomorrow", "antigravity-cli", []step{{Out: lines(`{"event":"chunk","t":"Hello"}`, `{"event":"result","result":{"status":"SUCCESS"}}`)}}, nil, llm.Unsupported, `beginning with: {"event":"chunk","t":"Hello"}`},
		{"grok, thought and text in turn", "grok-cli", []step{{Out: lines(`{"type":"thought","data":"Hm."}`, `{"type":"text","data":"A"}`, `{"type":"tool_call","name":"x"}`, `{"type":"thought","data":"Oh."}`, `{"type":"text","data":"B"}`, `{"type":"end","stopReason":"end_turn"}`)}},
			[]llm.Part{thinking("Hm."), text("A"), thinking("Oh."), text("B")}, "", ""},
		{"grok, no end", "grok-cli", []step{{Out: lines(`{"type":"text","data":"Hello"}`)}}, []llm.Part{text("Hello")}, "", ""},
		{"grok, broken off", "grok-cli", []step{{Out: lines(`{"type":"text","data":"Hello"}`), Exit: 1}}, []llm.Part{text("Hello")}, llm.Unknown, "status 1"},
		{"grok, plain text", "grok-cli", []step{{Out: "Hello\n"}}, []llm.Part{text("Hello")}, "", "plain text"},
		{"grok, an error", "grok-cli", []step{{Out: lines(`{"type":"error","message":"Not logged in"}`), Exit: 1}}, nil, llm.Authentication, `Log in with "grok login"`},
		{"grok, a form of tomorrow", "grok-cli", []step{{Out: lines(`{"type":"chunk","t":"\u001b[2JHello"}`)}}, nil, llm.Unsupported, `beginning with: {"type":"chunk"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := take(t, script(t, tt.steps).model(tt.kind).Stream(t.Context(), asking("Hi")))
			stop := llm.Stop
			if tt.fault != "" {
				stop = ""
			}
			check(t, got, tt.want, stop, tt.fault)
			if said := strings.Join(got.notices, "\n") + fmt.Sprint(got.err) + hint(got.err); !strings.Contains(said, tt.says) || strings.ContainsAny(said, "\x1b\x07") {
				t.Errorf("%q lacks %q", said, tt.says)
			}
		})
	}
}

// hint returns the hint for an error; "" without one.
func hint(err error) string {
	if err == nil {
		return ""
	}
	return llm.InShell.Hint(err)
}

// TestNotLoggedIn: the programs' own output without a login leads to the command that logs in.
func TestNotLoggedIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind, login string
		step        step
	}{
		{"claude-cli", "claude /login", step{Out: "Invalid API key · Please run /login\n", Exit: 1}},
		{"codex-cli", "codex login", step{Out: lines(`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: Missing bearer authentication in header"}}`), Exit: 1}},
		{"gemini-cli", "gemini", step{Err: "Please set an Auth method in your settings.json\n", Exit: 41}},
		{"copilot-cli", "copilot login", step{Err: "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub using an OAuth Token.\n", Exit: 1}},
		{"qwen-cli", "qwen auth", step{Out: lines(`{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"No auth type is selected. Please configure an auth type (e.g. via settings or --auth-type)"}}`), Exit: 1}},
	} {
		got := take(t, script(t, []step{tt.step}).model(tt.kind).Stream(t.Context(), asking("Hi")))
		if llm.FaultOf(got.err) != llm.Authentication || !strings.HasPrefix(hint(got.err), fmt.Sprintf("Log in with %q", tt.login)) {
			t.Errorf("%s: %v", tt.kind, got.err)
		}
	}
}

// TestHostile: for any output of a program, the answer ends, and no error or notice contains an
// escape sequence, a line end or more than a screen of text.
func TestHostile(t *testing.T) {
	t.Parallel()
	esc := "\x1b]0;title\x07\x1b[31mred\r\n"
	for name, steps := range map[string][]step{
		"escapes on stderr":         {{Err: esc, Exit: 1}},
		"escapes on stdout":         {{Out: esc, Exit: 1}},
		"a line of 5 MB":            {{Out: `{"type":"`, Long: maxPlain + 1<<20}, {Out: `"}` + "\n", Exit: 1}},
		"bytes":                     {{Out: "\xff\xfe\x00\n{\"type\":\"\xff\"}\n", Exit: 1}},
		"an event and no end":       {{Out: `{"type":"future","event":"future"}` + "\n"}},
		"nested arrays":             {{Out: strings.Repeat("[", 20_000) + "\n", Exit: 1}},
		"fields of another type":    {{Out: `{"type":"result","event":"result","result":7,"error":[],"data":"x","item":3,"usage":[],"exitCode":"x"}` + "\n", Exit: 1}},
		"only stderr, and status 0": {{Err: "warning\n"}},
	} {
		kinds := Kinds
		if steps[0].Long > 0 {
			kinds = kinds[1:2] // all kinds share the line reader
		}
		for i, kind := range kinds {
			var got outcome
			if steps[0].Err == "" && i > 0 { // but not the interpretation of lines
				got = take(t, decode(kind, &run{}, steps[0].Out))
			} else {
				got = take(t, script(t, steps).model(kind).Stream(t.Context(), asking("Hi")))
			}
			said := strings.Join(got.notices, "") + fmt.Sprint(got.err)
			if got.err == nil && !strings.HasPrefix(name, "fields") || strings.ContainsAny(said, "\x1b\x07\r\n\x00") || len(said) > 4<<10 {
				t.Errorf("%s, %s: %d bytes: %.300q, finish %+v", kind, name, len(said), said, got.finish)
			}
		}
	}
}

// TestAttached: a program gets the files that it supports, and the user gets notices about the
// others.
func TestAttached(t *testing.T) {
	for kind, want := range map[string]struct{ args, notice string }{
		"codex-cli":       {"--image=attached-", ""},
		"copilot-cli":     {"--attachment=attached-", ""},
		"antigravity-cli": {"", "agy cannot be given cat.png; not sent"},
		"grok-cli":        {"", "grok cannot be given cat.png; not sent"},
	} {
		s := script(t, []step{{Out: hello[kind]}})
		got := take(t, s.model(kind).Stream(t.Context(), llm.Request{Messages: []llm.Message{user(text("Look"), llm.Part{Kind: llm.Media, Name: "cat.png", MIME: "image/png", Data: []byte("\x89PNG\x00")})}}))
		v := s.visits()[0]
		if strings.Contains(strings.Join(v.Args, " "), "attached-") != (want.args != "") || !strings.Contains(strings.Join(v.Args, " "), want.args) {
			t.Errorf("%s: arguments %q", kind, v.Args)
		}
		if strings.Join(got.notices, "") != want.notice {
			t.Errorf("%s: notices %q, want %q", kind, got.notices, want.notice)
		}
		if left, _ := os.ReadDir(v.Dir); len(left) > 0 {
			t.Errorf("%s: %v was left behind", kind, left)
		}
	}
}

// TestClapFlags: flags rejected by clap or Go's flag package are dropped if they only change what is shown or
// stored.
func TestClapFlags(t *testing.T) {
	t.Parallel()
	for kind, words := range map[string]string{
		"codex-cli":   "error: unexpected argument '--ephemeral' found\n\nUsage: codex exec\n",
		"grok-cli":    "error: unexpected argument '--no-auto-update' found\n",
		"copilot-cli": "error: unexpected argument '--no-ask-user' found\n",
	} {
		s := script(t, []step{{Err: words, Exit: 2}}, []step{{Out: hello[kind]}})
		got := take(t, s.model(kind).Stream(t.Context(), asking("Hi")))
		check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
		if len(s.visits()) != 2 || len(got.notices) != 1 || len(s.visits()[1].Args) != len(s.visits()[0].Args)-1 {
			t.Errorf("%s: %d runs, notices %q", kind, len(s.visits()), got.notices)
		}
	}
}

func FuzzCodex(f *testing.F) { fuzz(f, "codex-cli", hello["codex-cli"]) }

func FuzzCopilot(f *testing.F) { fuzz(f, "copilot-cli", hello["copilot-cli"]) }

func FuzzAntigravity(f *testing.F) { fuzz(f, "antigravity-cli", hello["antigravity-cli"]) }

func FuzzGrok(f *testing.F) { fuzz(f, "grok-cli", hello["grok-cli"]) }

func FuzzQwen(f *testing.F) { fuzz(f, "qwen-cli", hello["qwen-cli"]) }
