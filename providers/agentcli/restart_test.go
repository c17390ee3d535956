package agentcli

import (
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// TestRestart: an answer that was interrupted and requested again by the program contains the last
// attempt and the parts completed before it, without repetitions. The lines are from Claude Code
// 2.1.330, GitHub Copilot CLI 1.0.102 and Qwen Code 0.24.4, whose server interrupted their streams.
func TestRestart(t *testing.T) {
	const (
		retry     = `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":504,"error_status":null,"error":"unknown"}` + "\n"
		abandoned = `{"type":"stream_event","event":{"type":"message_stop"},"abandoned_blocks":{"api_message_id":"m1","from_block_index":0}}` + "\n"
		tool      = `{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}}` + "\n"
		result    = `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}` + "\n"
		usage     = `"usage":{"input_tokens":3,"output_tokens":7}`
	)
	broken := claudeStart + claudeHello + abandoned
	whole := strings.ReplaceAll(claudeWhole, `"Hello"`, `"Goodbye"`)
	second := strings.ReplaceAll(claudeStart+claudeHello+claudeEnd, "m1", "m2")
	copilot := func(message, text string) string {
		return lines(`{"type":"assistant.message_start","data":{"messageId":"`+message+`"}}`, `{"type":"assistant.message_delta","data":{"messageId":"`+message+`","deltaContent":"`+text+`"}}`)
	}
	copilotAgain := lines(`{"type":"model.call_failure","data":{"errorMessage":"stream disconnected before it ended"}}`, `{"type":"assistant.turn_retry","data":{"turnId":"0","reason":"streaming_error"}}`)
	qwenStart := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"a1","model":"q"}}}`
	qwenStop := `{"type":"stream_event","event":{"type":"message_stop"}}`
	qwenAgain := `{"type":"system","subtype":"retry","data":{"reason":"retry","discardedToolCalls":0,"preserveText":false}}`
	qwenWhole := `{"type":"assistant","message":{"id":"a1","content":[{"type":"text","text":"Hello"}]}}`
	qwenEnd := lines(qwenStop, `{"type":"result","subtype":"success","is_error":false,"result":"Hello",`+usage+`}`)

	for _, tt := range []struct {
		name, kind, lines string
		want              []llm.Part
		fault             llm.Fault
		retries           int
	}{
		{"claude, again in pieces", "claude-cli", claudeInit + broken + retry + second + claudeResult, []llm.Part{text("Hello")}, "", 1},
		{"claude, again without a word of it", "claude-cli", claudeInit + broken + second + claudeResult, []llm.Part{text("Hello")}, "", 1},
		{"claude, again as a whole, under the same id", "claude-cli", claudeInit + broken + retry + broken + whole + claudeResult, []llm.Part{text("Goodbye")}, "", 2},
		{"claude, a call that did not run", "claude-cli", claudeInit + claudeStart + claudeHello + tool + abandoned + retry + second + claudeResult, []llm.Part{text("Hello")}, "", 1},
		{"claude, behind a tool", "claude-cli", claudeInit + claudeStart + claudeHello + tool + claudeEnd + result + retry + second + claudeResult,
			[]llm.Part{text("Hello"), called("t1", "Bash", "{}"), answered("t1", "Bash", "a", false), text("Hello")}, "", 1},
		{"claude, in vain", "claude-cli", claudeInit + broken + retry + broken + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Connection error."}`, []llm.Part{text("Hello")}, llm.Network, 1},
		{"copilot", "copilot-cli", copilot("m1", "Hel") + copilotAgain + copilot("m2", "Hello") + lines(`{"type":"result","exitCode":0}`), []llm.Part{text("Hello")}, "", 1},
		{"copilot, behind a whole message", "copilot-cli", copilot("m1", "Let me look.") + lines(`{"type":"assistant.message","data":{"messageId":"m1","content":"Let me look."}}`) + copilotAgain + copilot("m2", "Hello") + lines(`{"type":"result","exitCode":0}`),
			[]llm.Part{text("Let me look."), {Kind: llm.Text, Text: "Hello", Begins: true}}, "", 1},
		{"qwen", "qwen-cli", lines(qwenStart, qwenText("Hel", "lo"), qwenWhole, qwenStop, qwenAgain, qwenAgain, qwenStart, qwenText("Hello"), qwenWhole) + qwenEnd, []llm.Part{text("Hello")}, "", 1},
		{"qwen, what may be an error", "qwen-cli", lines(qwenStart, qwenText("["), qwenStop, qwenAgain, qwenStart, qwenText("[1] Hello")) + qwenEnd, []llm.Part{text("[1] Hello")}, "", 1},
		{"qwen, in vain", "qwen-cli", lines(qwenStart, qwenText("Hello"), qwenStop, qwenAgain, qwenStart, qwenText("[API Error: it ended early]"), qwenStop,
			`{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"it ended early"},`+usage+`}`), nil, llm.Unknown, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stop := llm.Stop
			if tt.fault != "" {
				stop = ""
			}
			got := take(t, decode(tt.kind, &run{}, tt.lines))
			check(t, got, tt.want, stop, tt.fault)
			if len(got.retries) != tt.retries {
				t.Errorf("retries %+v, want %d", got.retries, tt.retries)
			}
			if tt.kind == "claude-cli" && got.retries[0].Fault != llm.Network {
				t.Errorf("retries %+v, want for the connection", got.retries)
			}
		})
	}
}

// TestRestartOfStructured: text buffered for an answer schema restarts just like shown text.
func TestRestartOfStructured(t *testing.T) {
	abandoned := `{"type":"stream_event","event":{"type":"message_stop"},"abandoned_blocks":{}}` + "\n"
	whole := strings.ReplaceAll(strings.ReplaceAll(claudeWhole, "m1", "m2"), "Hello", "Hello there")
	second := strings.ReplaceAll(claudeStart+claudeHello+claudeEnd, "m1", "m2")
	for lines, want := range map[string]string{
		claudeInit + claudeStart + claudeHello + whole + claudeResult:              "Hello there",
		claudeInit + claudeStart + claudeHello + abandoned + second + claudeResult: "Hello",
		claudeInit + claudeStart + claudeHello + claudeEnd + second + claudeResult: "HelloHello",
	} {
		check(t, take(t, decode("claude-cli", &run{schema: []byte(`{}`)}, lines)), []llm.Part{text(want)}, llm.Stop, "")
	}
}

// TestTriesOnStderr: Gemini CLI 0.61 reports retries, which may take minutes, only on stderr.
func TestTriesOnStderr(t *testing.T) {
	for said, want := range map[string]llm.Retry{
		"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{}}\n    at x\n": {Attempt: 1, Fault: llm.RateLimit, Remote: true},
		"Attempt 2 failed with 5xx error. Retrying with backoff... Error\n":                                {Attempt: 2, Fault: llm.Server, Remote: true},
		"Attempt 3 failed with 429 error (no Retry-After header). Retrying with backoff...\n":              {Attempt: 3, Fault: llm.RateLimit, Remote: true},
		"Attempt 1 failed: fetch failed. Retrying after 34000ms...\n":                                      {Attempt: 1, Fault: llm.Network, Remote: true, Wait: 34 * time.Second},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		answer := script(t, []step{{Err: said, Echo: l.Addr().String()}, {Out: hello["gemini-cli"]}}).model("gemini-cli").Stream(t.Context(), asking("Hi"))
		got := take(t, func(yield func(llm.Event, error) bool) {
			for e, err := range answer {
				if _, ok := e.(llm.Retry); ok { // the program waits for that
					c, err := l.Accept()
					if err != nil {
						t.Fatal(err)
					}
					c.Close()
				}
				if !yield(e, err) {
					return
				}
			}
		})
		if len(got.retries) != 1 || !reflect.DeepEqual(got.retries[0], want) || got.text() != "Hello" {
			t.Errorf("%q: retries %+v, want %+v; %q, %v", said, got.retries, want, got.text(), got.err)
		}
	}
}

// TestLostTries: errors that no retry can fix end an answer, even if the program keeps retrying.
func TestLostTries(t *testing.T) {
	try := func(status, code string) string {
		return strings.Repeat(`{"type":"system","subtype":"api_retry","max_retries":10,"retry_delay_ms":504,"error_status":`+status+`,"error":"`+code+`"}`+"\n", maxLostTries+1)
	}
	for _, tt := range []struct {
		status, code string
		fault        llm.Fault
	}{
		{"401", "authentication_failed", llm.Authentication},
		{"529", "overloaded", ""},
		{"null", "unknown", ""},
	} {
		got := take(t, decode("claude-cli", &run{}, claudeInit+try(tt.status, tt.code)+claudeWhole+claudeResult))
		if tt.fault != "" && llm.FaultOf(got.err) != tt.fault || tt.fault == "" && got.err != nil {
			t.Errorf("%s: %v, want %q", tt.code, got.err, tt.fault)
		}
		if want := maxLostTries; tt.fault != "" && len(got.retries) != want || tt.fault == "" && len(got.retries) != want+1 {
			t.Errorf("%s: retries %+v", tt.code, got.retries)
		}
	}
}
