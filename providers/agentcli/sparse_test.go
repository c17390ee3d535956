package agentcli

import (
	"strings"
	"testing"

	"parley/providers/llm"
)

// TestGrokManual: output as in the manual of version 1.0.41 is read: calls with their results,
// tokens without cached ones, and the cost.
func TestGrokManual(t *testing.T) {
	t.Parallel()
	const end = `{"type":"end","stopReason":"end_turn","sessionId":"g-1","num_turns":7,"usage":{"input_tokens":7210,"cache_read_input_tokens":41000,"cache_creation_input_tokens":5,"output_tokens":1893,"reasoning_tokens":412,"total_tokens":50108},"total_cost_usd":0.01268905}`
	spent := llm.Usage{Input: 48215, CacheRead: 41000, CacheWrite: 5, Output: 1893, Thinking: 412, Cost: 0.01268905, Priced: true}
	got := take(t, decode("grok-cli", &run{}, lines(
		`{"type":"available_commands","tools":["read_file"],"commands":[]}`,
		`{"type":"text","data":"Let me look."}`,
		`{"type":"tool_call","toolCallId":"c1","title":"Read","kind":"read","status":"in_progress","toolName":"read_file","rawInput":{"path":"a"},"content":[],"locations":[]}`,
		`{"type":"tool_call_update","toolCallId":"c1","status":"in_progress","content":[]}`,
		`{"type":"tool_call_update","toolCallId":"c1","status":"completed","content":[],"rawOutput":{"lines":42},"locations":[]}`,
		`{"type":"tool_call_update","toolCallId":"c1","status":"completed","content":[],"rawOutput":{"lines":42},"locations":[]}`,
		`{"type":"tool_call_update","toolCallId":"c2","title":"Run","status":"failed","content":[{"type":"content","content":{"type":"text","text":"denied"}}],"rawOutput":null}`,
		`{"type":"text","data":"It is 4."}`,
		`{"type":"usage","messageId":"r","stopReason":"end_turn","usage":{"input_tokens":812,"output_tokens":45}}`, end)))
	check(t, got, []llm.Part{
		text("Let me look."), called("c1", "read_file", `{"path":"a"}`), answered("c1", "read_file", `{"lines":42}`, false),
		called("c2", "Run", "{}"), answered("c2", "Run", "denied", true), text("It is 4."),
	}, llm.Stop, "")
	if got.usage == nil || *got.usage != spent {
		t.Errorf("usage %+v, want %+v", got.usage, spent)
	}

	got = take(t, decode("grok-cli", &run{}, strings.Replace(end, `"end"`, `"error","message":"Too many requests"`, 1)))
	check(t, got, nil, "", llm.RateLimit)
	if got.usage == nil || *got.usage != spent {
		t.Errorf("usage of an error %+v, want %+v", got.usage, spent)
	}

	got = take(t, decode("grok-cli", &run{}, lines(`{"type":"available_commands","tools":[]}`, `{"type":"auto_compact_started"}`, `{"type":"end","stopReason":"cancelled"}`)))
	check(t, got, nil, llm.Other, "")
}

// TestAntigravityTools: a call has the reported result, possibly a denial, and the tokens include
// cached ones.
func TestAntigravityTools(t *testing.T) {
	t.Parallel()
	step := func(index, state, info string) string {
		return `{"event":"step_update","step_update":{"step_index":` + index + `,"state":"` + state + `","step_type":"tool","tool_name":"run","tool_info":` + info + `}}`
	}
	got := take(t, decode("antigravity-cli", &run{}, lines(
		step("2", "ACTIVE", `{"name":"run","parameters":{"CommandLine":"pwd"}}`),
		step("2", "DONE", `{"name":"run","parameters":{"CommandLine":"pwd"},"output":"/tmp"}`),
		step("3", "ACTIVE", `{"name":"run","parameters":{"CommandLine":"touch x"}}`),
		step("3", "ERROR", `{"name":"run","parameters":{"CommandLine":"touch x"},"error":{"type":"TOOL_ERROR","message":"user denied permission"}}`),
		step("4", "DONE", `{"name":"run","parameters":{}}`),
		`{"event":"step_update","step_update":{"step_index":5,"state":"DONE","step_type":"checkpoint"}}`,
		`{"event":"result","result":{"status":"SUCCESS","response":"Done.","usage":{"input_tokens":10418,"output_tokens":589,"thinking_tokens":551,"cache_read_tokens":8113,"total_tokens":11007}}}`)))
	check(t, got, []llm.Part{
		called("tool-1", "run", `{"CommandLine":"pwd"}`), answered("tool-1", "run", "/tmp", false),
		called("tool-2", "run", `{"CommandLine":"touch x"}`), answered("tool-2", "run", "user denied permission", true),
		called("tool-3", "run", `{}`), answered("tool-3", "run", "Run by agy, which does not tell its output.", false), text("Done."),
	}, llm.Stop, "")
	if want := (llm.Usage{Input: 18531, CacheRead: 8113, Output: 589, Thinking: 551}); got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
}

// TestAntigravitySilence: a success without an answer is an error with the text of stderr, and no
// answer is ended by the program's default timeout of five minutes.
func TestAntigravitySilence(t *testing.T) {
	t.Parallel()
	checkpoint := `{"event":"step_update","step_update":{"state":"DONE","step_type":"checkpoint"}}`
	success := `{"event":"result","result":{"status":"SUCCESS","response":"","usage":{"input_tokens":9,"output_tokens":1}}}`
	const denied = "jetski: no output produced — a tool required the \"command\" permission that headless mode cannot prompt for, so it was auto-denied.\n"
	for stderr, want := range map[string]struct {
		fault llm.Fault
		says  string
	}{
		"":     {llm.Unknown, "agy ended without an answer"},
		denied: {llm.Permission, `agy ended without an answer: jetski: no output produced — a tool required the "command" permission`},
	} {
		s := script(t, []step{{Out: lines(checkpoint, success), Err: stderr}})
		got := take(t, s.model("antigravity-cli").Stream(t.Context(), asking("Hi")))
		check(t, got, nil, "", want.fault)
		if !strings.Contains(got.err.Error(), want.says) {
			t.Errorf("%q lacks %q", got.err, want.says)
		}
		if args := strings.Join(s.visits()[0].Args, " "); !strings.Contains(args, "--print-timeout=24h") {
			t.Errorf("arguments %q", args)
		}
	}
}

// TestAntigravityVersions: a version without the time limit flag is used without it.
func TestAntigravityVersions(t *testing.T) {
	t.Parallel()
	s := script(t, []step{{Err: "flag provided but not defined: -print-timeout\nUsage of agy:\n", Exit: 2}}, []step{{Out: hello["antigravity-cli"]}})
	got := take(t, s.model("antigravity-cli").Stream(t.Context(), asking("Hi")))
	check(t, got, []llm.Part{text("Hello")}, llm.Stop, "")
	if runs := s.visits(); len(runs) != 2 || len(runs[1].Args) != len(runs[0].Args)-1 {
		t.Errorf("%d runs, notices %q", len(runs), got.notices)
	}
}

// TestQwenErrorAfterText: an error that Qwen Code appends to the text is not part of the answer,
// and its newer tools are off.
func TestQwenErrorAfterText(t *testing.T) {
	t.Parallel()
	const broke = "[API Error: Model stream ended without a finish reason.]"
	start := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"a1","model":"q"}}}`
	whole := `{"type":"assistant","message":{"id":"a1","content":[{"type":"text","text":"Hello` + broke + `"}]}}`
	stop := `{"type":"stream_event","event":{"type":"message_stop"}}`
	failed := `{"type":"result","subtype":"error_during_execution","is_error":true,"usage":{"input_tokens":0,"output_tokens":0},"error":{"message":"` + broke + `"}}`
	got := take(t, decode("qwen-cli", &run{}, lines(start, qwenText("Hel", "lo", broke), whole, stop, failed)))
	check(t, got, []llm.Part{text("Hello")}, "", llm.Unknown)

	success := `{"type":"result","subtype":"success","is_error":false,"result":"x","usage":{"input_tokens":9,"output_tokens":2}}`
	got = take(t, decode("qwen-cli", &run{}, lines(start, qwenText("It prints ", "[API Error: ", "x], then ends."), stop, success)))
	if check(t, got, got.parts, llm.Stop, ""); got.text() != "It prints [API Error: x], then ends." {
		t.Errorf("%q", got.text())
	}

	args := strings.Join(compiled(t, "qwen-cli", llm.Request{}).args, " ")
	for _, tool := range []string{"agent", "tool_call", "enter_worktree", "record_artifact"} {
		if !strings.Contains(args, ","+tool) && !strings.Contains(args, "="+tool) {
			t.Errorf("%s is on: %s", tool, args)
		}
	}
}

// TestGrokTools: the tools that Grok Build offers by default are off, including those that cost
// money.
func TestGrokTools(t *testing.T) {
	t.Parallel()
	args := strings.Join(compiled(t, "grok-cli", llm.Request{}).args, " ")
	for _, tool := range []string{"run_terminal_command", "read_file", "web_search", "image_gen", "reference_to_video", "send_feedback", "use_tool"} {
		if !strings.Contains(args, tool) {
			t.Errorf("%s is on: %s", tool, args)
		}
	}
}

// TestGrokTruncated: an answer that reached the token limit is an answer, although Grok Build reports
// an error.
func TestGrokTruncated(t *testing.T) {
	t.Parallel()
	s := script(t, []step{{Out: lines(`{"type":"text","data":"Hello"}`,
		`{"type":"error","message":"Internal error: {\n  \"message\": \"response truncated by max_tokens\",\n  \"error_kind\": \"max_tokens_truncation\"\n}"}`), Exit: 1}})
	check(t, take(t, s.model("grok-cli").Stream(t.Context(), asking("Hi"))), []llm.Part{text("Hello")}, llm.Length, "")
}
