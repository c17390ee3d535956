package agentcli

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
)

// decode returns the stream for the output lines of a program, without running it.
func decode(kind string, r *run, lines string) llm.Stream {
	return llm.Produce(context.Background(), func(_ context.Context, out *llm.Out) error {
		a := &answer{out: out, run: r, flavor: flavors[kind]}
		d := a.flavor.decoder(a)
		for line := range strings.Lines(lines) {
			if !a.done {
				a.onLine(d, []byte(strings.TrimRight(line, "\n")))
			}
		}
		if a.done && a.fault == nil {
			a.close()
			return nil
		}
		if a.fault != nil {
			return a.fault
		}
		return nil
	})
}

func text(s string) llm.Part     { return llm.Part{Kind: llm.Text, Text: s} }
func thinking(s string) llm.Part { return llm.Part{Kind: llm.Thinking, Text: s} }
func called(id, name, input string) llm.Part {
	return llm.Part{Kind: llm.Call, ID: id, Name: name, Input: input, Remote: true}
}
func answered(id, name, output string, failed bool) llm.Part {
	return llm.Part{Kind: llm.Result, ID: id, Name: name, Text: output, Failed: failed, Remote: true}
}

// The lines of a short answer of Claude Code, from which the tables build others.
const (
	claudeInit   = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x","tools":[]}` + "\n"
	claudeStart  = `{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","model":"claude-x"}},"parent_tool_use_id":null}` + "\n"
	claudeHello  = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}}` + "\n" + `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}}` + "\n"
	claudeEnd    = `{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"}}}` + "\n" + `{"type":"stream_event","event":{"type":"message_stop"}}` + "\n"
	claudeWhole  = `{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"Hello"}]}}` + "\n"
	claudeResult = `{"type":"result","subtype":"success","is_error":false,"result":"Hello","session_id":"s-1","total_cost_usd":0.01,"usage":{"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100,"output_tokens":7}}` + "\n"
)

func TestClaude(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines string
		want  []llm.Part
		stop  llm.Reason
		fault llm.Fault // if there is no answer
	}{
		{"in pieces and whole", claudeInit + claudeStart + claudeHello + claudeWhole + claudeEnd + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"whole", claudeInit + claudeWhole + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"in pieces and whole, without a start", claudeInit + claudeHello + claudeWhole + claudeEnd + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"in pieces", claudeInit + claudeStart + claudeHello + claudeEnd + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"only the result", claudeInit + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"broken, then whole under another id", claudeInit + claudeStart + claudeHello + strings.ReplaceAll(strings.ReplaceAll(claudeWhole, "m1", "m2"), "Hello", "Hello there") + claudeResult,
			[]llm.Part{text("Hello there")}, llm.Stop, ""},
		{"noise", "npm notice\n" + claudeInit + "{\"type\":\"of tomorrow\",\"x\":[{}]}\n{}\n[1]\n{broken\n\n" + claudeWhole + "Done!\n" + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"a field of another type", claudeInit + `{"type":"system","subtype":"status","message":"busy","session_id":7,"error_status":null}` + "\n" + claudeWhole + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"a sub-agent", claudeInit + strings.ReplaceAll(strings.ReplaceAll(claudeWhole, `"m1"`, `"m0"`), `{"type":"assistant",`, `{"type":"assistant","parent_tool_use_id":"toolu_1",`) +
			`{"type":"stream_event","parent_tool_use_id":"toolu_1","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"inner"}}}` + "\n" + claudeWhole + claudeResult,
			[]llm.Part{text("Hello")}, llm.Stop, ""},
		{"thinking", claudeInit + `{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"}]}}` + "\n" +
			`{"type":"assistant","message":{"id":"m1","content":[{"type":"redacted_thinking","data":"x"}]}}` + "\n" + claudeWhole + claudeResult,
			[]llm.Part{thinking("Hm."), text("Hello")}, llm.Stop, ""},
		{"thinking in pieces", claudeInit + claudeStart +
			`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}}` + "\n" +
			strings.ReplaceAll(claudeHello, `"index":0`, `"index":1`) + claudeWhole + claudeResult,
			[]llm.Part{thinking("Hm."), text("Hello")}, llm.Stop, ""},
		{"a tool of its own, in pieces and whole", claudeInit + claudeStart +
			`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"Bash","input":{}}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}}` + "\n" +
			`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"image"}],"is_error":true}]}}` + "\n" +
			strings.ReplaceAll(claudeWhole, "m1", "m2") + claudeResult,
			[]llm.Part{called("t1", "Bash", `{"command":"ls"}`), answered("t1", "Bash", "a\n[image]", true), text("Hello")}, llm.Stop, ""},
		{"a tool of its own, whole", claudeInit +
			`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"of nobody","content":"b"}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":"the prompt, replayed"}}` + "\n" + claudeResult,
			[]llm.Part{called("t1", "Bash", `{"command":"ls"}`), answered("t1", "Bash", "a", false), text("Hello")}, llm.Stop, ""},
		{"the answer only in the result, behind text and a tool", claudeInit + strings.ReplaceAll(claudeWhole, `"Hello"`, `"Let me look."`) +
			`{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a"}]}}` + "\n" + claudeResult,
			[]llm.Part{text("Let me look."), called("t1", "Bash", `{}`), answered("t1", "Bash", "a", false), text("Hello")}, llm.Stop, ""},
		{"the answer only in the result, behind thinking", claudeInit + `{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Hm."}]}}` + "\n" + claudeResult,
			[]llm.Part{thinking("Hm."), text("Hello")}, llm.Stop, ""},
		{"an answer that begins like the one before", claudeInit + claudeStart + claudeHello + claudeWhole + strings.ReplaceAll(strings.ReplaceAll(claudeWhole, "m1", "m2"), "Hello", "Hello again") + claudeResult,
			[]llm.Part{text("Hello"), {Kind: llm.Text, Text: "Hello again", Begins: true}}, llm.Stop, ""},
		{"a rune in halves", claudeInit + claudeStart +
			`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}}` + "\n" +
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00b\ud83d"}}}` + "\n" + claudeResult,
			[]llm.Part{text("a😀b\uFFFD")}, llm.Stop, ""},
		{"cut short", claudeInit + claudeWhole + strings.Replace(claudeResult, `"result":`, `"stop_reason":"max_tokens","result":`, 1), []llm.Part{text("Hello")}, llm.Length, ""},
		{"cut short by the program", claudeInit + claudeWhole + `{"type":"assistant","error":"max_output_tokens","message":{"content":[{"type":"text","text":"API Error: too long"}]}}` + "\n" +
			strings.Replace(claudeResult, `"is_error":false`, `"is_error":true`, 1), []llm.Part{text("Hello")}, llm.Length, ""},
		{"refused", claudeInit + claudeWhole + strings.Replace(claudeResult, `"result":`, `"stop_reason":"refusal","result":`, 1), []llm.Part{text("Hello")}, llm.Refused, ""},
		{"refused, with an error message", claudeInit + claudeWhole + `{"type":"assistant","error":"invalid_request","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: X's safeguards flagged this message"}]}}` + "\n" +
			strings.Replace(claudeResult, `"is_error":false,"result":"Hello"`, `"is_error":true,"stop_reason":"refusal","result":"API Error: X's safeguards flagged this message"`, 1), []llm.Part{text("Hello")}, llm.Refused, ""},
		{"an error that passed", claudeInit + `{"type":"assistant","error":"overloaded","message":{"content":[]}}` + "\n" + claudeWhole + claudeResult, []llm.Part{text("Hello")}, llm.Stop, ""},

		{"no result", claudeInit + claudeStart + claudeHello, []llm.Part{text("Hello")}, "", llm.Network},
		{"not logged in", claudeInit + `{"type":"assistant","error":"authentication_failed","message":{"model":"<synthetic>","content":[{"type":"text","text":"Not logged in · Please run /login"}]}}` + "\n" +
			`{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}`, nil, "", llm.Authentication},
		{"not logged in, without a result", claudeInit + `{"type":"assistant","error":"authentication_failed","message":{"content":[]}}`, nil, "", llm.Authentication},
		{"too busy", claudeInit + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}","api_error_status":529}`, nil, "", llm.Server},
		{"too fast", claudeInit + `{"type":"assistant","error":"rate_limit","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Rate limit reached","api_error_status":429}`, nil, "", llm.RateLimit},
		{"used up", claudeInit + `{"type":"assistant","error":"rate_limit","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit · resets 3pm (UTC)","api_error_status":429}`, nil, "", llm.Quota},
		{"no money", claudeInit + `{"type":"assistant","error":"billing_error","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"Credit balance is too low"}`, nil, "", llm.Quota},
		{"no such model", claudeInit + `{"type":"assistant","error":"model_not_found","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"There's an issue with the selected model (nope)."}`, nil, "", llm.ModelNotFound},
		{"too long", claudeInit + `{"type":"assistant","error":"invalid_request","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"Prompt is too long"}`, nil, "", llm.ContextOverflow},
		{"a request it cannot take", claudeInit + `{"type":"assistant","error":"invalid_request","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: 400 image too small"}`, nil, "", llm.InvalidRequest},
		{"not for this account", claudeInit + `{"type":"assistant","error":"oauth_org_not_allowed","message":{}}` + "\n" + `{"type":"result","subtype":"success","is_error":true,"result":"no"}`, nil, "", llm.Permission},
		{"no connection", claudeInit + `{"type":"result","subtype":"success","is_error":true,"result":"API Error: Connection error."}`, nil, "", llm.Network},
		{"too dear", claudeInit + claudeWhole + `{"type":"result","subtype":"error_max_budget_usd","is_error":false,"errors":["Reached maximum budget ($1)"]}`, []llm.Part{text("Hello")}, "", llm.Quota},
		{"trouble of its own", claudeInit + `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["boom",{}]}`, nil, "", llm.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, take(t, decode("claude-cli", &run{}, tt.lines)), tt.want, tt.stop, tt.fault)
		})
	}
}

// check compares an outcome without its session.
func check(t *testing.T, got outcome, want []llm.Part, stop llm.Reason, fault llm.Fault) {
	t.Helper()
	var parts []llm.Part
	for _, p := range got.parts {
		if p.Kind != llm.Opaque {
			parts = append(parts, p)
		}
	}
	if !reflect.DeepEqual(parts, want) {
		t.Errorf("got  %+v\nwant %+v", parts, want)
	}
	if got.finish.Reason != stop {
		t.Errorf("finish %q (%q), want %q", got.finish.Reason, got.finish.Raw, stop)
	}
	if (got.err != nil || fault != "") && llm.FaultOf(got.err) != fault {
		t.Errorf("fault %q, want %q: %v", llm.FaultOf(got.err), fault, got.err)
	}
}

func TestClaudeUsage(t *testing.T) {
	models := func(cost, tokens string) string {
		return strings.NewReplacer(`"total_cost_usd":0.01`, `"total_cost_usd":`+cost+`,"modelUsage":{"claude-x":{"inputTokens":`+tokens+`}}`).Replace(claudeResult)
	}
	for _, tt := range []struct {
		name  string
		past  state
		lines string
		cost  float64
		known bool
	}{
		{"reported", state{}, claudeResult, 0.01, true},
		{"not reported", state{}, strings.Replace(claudeResult, `"total_cost_usd":0.01,`, "", 1), 0, false},
		{"counted from the beginning of the session", state{Session: "s-0", Tokens: 500, Cost: 0.25}, models("0.75", "620"), 0.5, true},
		{"counted from the beginning of the run", state{Session: "s-0", Tokens: 500, Cost: 0.25}, models("0.75", "120"), 0.75, true},
	} {
		lines := strings.Replace(tt.lines, `"output_tokens":7`, `"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}`, 1)
		got := take(t, decode("claude-cli", &run{resume: tt.past}, claudeInit+lines))
		want := llm.Usage{Input: 113, CacheRead: 100, CacheWrite: 10, Output: 7, Thinking: 4, Cost: tt.cost, Priced: tt.known}
		if got.usage == nil || *got.usage != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got.usage, want)
		}
		if got.finish.ID != "s-1" || got.finish.Model != "claude-x" {
			t.Errorf("%s: finish %+v", tt.name, got.finish)
		}
	}
}

// Implausible counts of a program are neither used nor added to plausible ones.
func TestCountsThatCannotBe(t *testing.T) {
	number := regexp.MustCompile(`(?i)("(?:[a-z_]*tokens|cached|input)":)\d+`)
	for kind, said := range hello {
		for _, n := range []string{"-1000000", "-9223372036854775808", "9223372036854775807", "1e300", `"7"`, "null"} {
			for nth := range number.FindAllString(said, -1) {
				i := -1
				lines := number.ReplaceAllStringFunc(said, func(field string) string {
					if i++; i != nth {
						return field
					}
					return number.ReplaceAllString(field, "${1}") + n
				})
				if u := take(t, decode(kind, &run{}, lines)).usage; u != nil && (*u != u.Clamped() || u.Input+u.Output > 1000) {
					t.Errorf("%s: %+v of %s", kind, *u, lines)
				}
			}
		}
	}
}

// A cost below 0 reduces neither this answer's cost nor the next one's.
func TestClaudeCostBelowZero(t *testing.T) {
	var r run
	got := take(t, decode("claude-cli", &r, claudeInit+strings.Replace(claudeResult, "0.01", "-5", 1)))
	if got.usage == nil || got.usage.Cost != 0 || got.usage.Priced {
		t.Errorf("%+v", got.usage)
	}
	for _, p := range got.parts {
		if strings.Contains(string(p.State), "-5") {
			t.Errorf("kept %s", p.State)
		}
	}
}

func TestClaudeSchema(t *testing.T) {
	schema := &run{schema: []byte(`{"type":"object"}`)}
	call := `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"StructuredOutput","input":{"a":1}}]}}` + "\n"
	for _, tt := range []struct {
		name, lines, want string
	}{
		{"structured", claudeInit + claudeStart + claudeHello + call + strings.Replace(claudeResult, `"result":`, `"structured_output":{"a": 1},"result":`, 1), `{"a": 1}`},
		{"text alone", claudeInit + claudeStart + claudeHello + claudeResult, "Hello"},
		{"the result alone", claudeInit + strings.Replace(claudeResult, `"result":`, `"structured_output":null,"result":`, 1), "Hello"},
	} {
		check(t, take(t, decode("claude-cli", schema, tt.lines)), []llm.Part{text(tt.want)}, llm.Stop, "")
	}
}

func TestClaudeNews(t *testing.T) {
	retry := `{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1500,"error_status":529,"error":"overloaded"}` + "\n"
	got := take(t, decode("claude-cli", &run{}, claudeInit+retry+claudeWhole+retry+
		`{"type":"system","subtype":"compact_boundary"}`+"\n"+
		`{"type":"system","subtype":"model_fallback","trigger":"overloaded","original_model":"claude-x","fallback_model":"claude-y","content":"Switched to Y"}`+"\n"+
		`{"type":"system","subtype":"informational","level":"notice","content":"X's safeguards stopped the response above"}`+"\n"+
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1778701800,"rateLimitType":"five_hour"}}`+"\n"+
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"seven_day"}}`+"\n"+claudeResult))
	again := llm.Retry{Attempt: 2, Max: 10, Wait: 1500 * time.Millisecond, Fault: llm.Server, Remote: true}
	if want := []llm.Retry{again, again}; !reflect.DeepEqual(got.retries, want) { // the second one follows a complete message, which stays
		t.Errorf("retries %+v, want %+v", got.retries, want)
	}
	want := []string{
		"claude: the conversation became too long for it; it continues from its own summary",
		"claude: Switched to Y",
		"claude: X's safeguards stopped the response above",
		"claude: the weekly allowance of the account is nearly used up, until " + time.Unix(1778701800, 0).Local().Format("Mon 15:04"),
	}
	if !reflect.DeepEqual(got.notices, want) {
		t.Errorf("notices %q\nwant %q", got.notices, want)
	}
}

// A limit of the program's own is named, and the answer so far is shown, wherever the program sent
// it.
func TestClaudeLimits(t *testing.T) {
	for _, tt := range []struct{ lines, text, words string }{
		{claudeWhole + `{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":3,"errors":["Reached maximum number of turns (3)"]}`, "Hello",
			"claude reached its limit of turns (3): Reached maximum number of turns (3)"},
		{`{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3,"result":"So far."}`, "So far.", "claude reached its limit of turns (3)"},
		{claudeWhole + `{"type":"result","subtype":"error_max_budget_usd","is_error":true}`, "Hello", "claude reached its spending limit"},
	} {
		got := take(t, decode("claude-cli", &run{}, claudeInit+tt.lines+"\n"))
		if e, ok := got.err.(*llm.Error); !ok || e.Message != tt.words || got.text() != tt.text {
			t.Errorf("%q, %v, want %q, %q", got.text(), got.err, tt.text, tt.words)
		}
	}
}

// An exhausted allowance says when it returns.
func TestClaudeWait(t *testing.T) {
	got := take(t, decode("claude-cli", &run{}, claudeInit+
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":99999999999,"rateLimitType":"five_hour"}}`+"\n"+
		`{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit","api_error_status":429}`))
	if e, ok := got.err.(*llm.Error); !ok || e.Fault != llm.Quota || e.Wait <= 0 {
		t.Errorf("%#v", got.err)
	}
}

// The lines of a short answer of Gemini CLI.
const (
	geminiInit   = `{"type":"init","timestamp":"t","session_id":"g-1","model":"gemini-x"}` + "\n" + `{"type":"message","role":"user","content":"Hi"}` + "\n"
	geminiHello  = `{"type":"message","role":"assistant","content":"Hel","delta":true}` + "\n" + `{"type":"message","role":"assistant","content":"lo","delta":true}` + "\n"
	geminiResult = `{"type":"result","status":"success","stats":{"total_tokens":140,"input_tokens":110,"output_tokens":20,"cached":64,"input":46,"models":{"gemini-x":{"output_tokens":20}}}}` + "\n"
)

func TestGemini(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines string
		want  []llm.Part
		stop  llm.Reason
		fault llm.Fault
	}{
		{"text", geminiInit + geminiHello + geminiResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"noise", "Loaded cached credentials.\n" + geminiInit + "{\"type\":\"of tomorrow\"}\n\n{\n" + geminiHello + geminiResult, []llm.Part{text("Hello")}, llm.Stop, ""},
		{"a tool of its own", geminiInit + geminiHello + `{"type":"tool_use","tool_name":"ls","tool_id":"t1","parameters":{"path":"."}}` + "\n" +
			`{"type":"tool_result","tool_id":"t1","status":"error","error":{"type":"x","message":"boom"}}` + "\n" +
			`{"type":"tool_result","tool_id":"of nobody","status":"success","output":"?"}` + "\n" + geminiHello + geminiResult,
			[]llm.Part{text("Hello"), called("t1", "ls", `{"path":"."}`), answered("t1", "ls", "boom", true), text("Hello")}, llm.Stop, ""},

		{"runes in halves", geminiInit + `{"type":"message","role":"assistant","content":"a\ud83d","delta":true}` + "\n" +
			`{"type":"message","role":"assistant","content":"\ude00b","delta":true}` + "\n" + geminiResult, []llm.Part{text("a😀b")}, llm.Stop, ""},

		{"no result", geminiInit + geminiHello, []llm.Part{text("Hello")}, "", llm.Network},
		{"no such model", geminiInit + `{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: Requested entity was not found.]"}}`, nil, "", llm.ModelNotFound},
		{"used up", geminiInit + `{"type":"result","status":"error","error":{"type":"Error","message":"[API Error: You have exhausted your daily quota on this model.]"}}`, nil, "", llm.Quota},
		{"too fast", geminiInit + `{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":429,\"message\":\"Resource has been exhausted\",\"status\":\"RESOURCE_EXHAUSTED\"}}]"}}`, nil, "", llm.RateLimit},
		{"not logged in", geminiInit + `{"type":"result","status":"error","error":{"type":"FatalAuthenticationError","message":"no"}}`, nil, "", llm.Authentication},
		{"the last error counts", geminiInit + `{"type":"error","severity":"error","message":"connect ECONNREFUSED 1.2.3.4:443"}` + "\n" + `{"type":"result","status":"error"}`, nil, "", llm.Network},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := take(t, decode("gemini-cli", &run{}, tt.lines))
			check(t, got, tt.want, tt.stop, tt.fault)
			if tt.fault != "" && len(got.notices) > 0 {
				t.Errorf("told twice: %q", got.notices)
			}
		})
	}
}

func TestGeminiUsage(t *testing.T) {
	got := take(t, decode("gemini-cli", &run{}, geminiInit+geminiHello+strings.Replace(geminiResult, `"models":{`, `"models":{"gemini-small":{"output_tokens":90},`, 1)))
	want := llm.Usage{Input: 110, CacheRead: 64, Output: 30, Thinking: 10}
	if got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v, want %+v", got.usage, want)
	}
	if got.finish.ID != "g-1" || got.finish.Model != "gemini-small" {
		t.Errorf("finish %+v", got.finish)
	}
	if again := take(t, decode("gemini-cli", &run{}, geminiInit+`{"type":"error","severity":"warning","message":"a loop"}`+"\n"+geminiHello+geminiResult)); len(again.notices) != 1 {
		t.Errorf("notices %q", again.notices)
	}
	if want := []string{"gemini: gemini-small answered instead of gemini-x"}; !reflect.DeepEqual(got.notices, want) {
		t.Errorf("notices %q, want %q", got.notices, want)
	}
}

// TestWordsOfErrors: error messages of codex 0.171, copilot 1.0.102, gemini 0.61 and qwen 0.24.
func TestWordsOfErrors(t *testing.T) {
	for words, want := range map[string]llm.Fault{
		"Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.":                           llm.ContextOverflow,
		"The provider rejected the prompt as too long, but automatic recovery could not reduce it. Reduce context before retrying.":                   llm.ContextOverflow,
		"We’re currently experiencing high demand, which may cause temporary errors.":                                                                 llm.Server,
		"Failed native model HTTP request: error decoding response body: error reading a body from connection: unexpected EOF during chunk size line": llm.Network,
		"[API Error: terminated]": llm.Network,
		"[API Error: terminated (cause: UND_ERR_SOCKET: other side closed)]": llm.Network,
		"[API Error: 404 no model of this name]":                             llm.ModelNotFound,
		"[API Error: 400 The request is bad]":                                llm.InvalidRequest,
		"exceeded retry limit, last status: 429 Too Many Requests":           llm.RateLimit,
		"unexpected status 503 Service Unavailable: x, url: http://h/v1":     llm.Server,
		"4040 of 5000 tries": llm.Unknown,
	} {
		if e := flavors["codex-cli"].toError("", 0, words); e.Fault != want {
			t.Errorf("%s: %q, want %q", words, e.Fault, want)
		}
	}
}

// TestWaitOfLimits: messages of codex, gemini and claude about limits say when those reset.
func TestWaitOfLimits(t *testing.T) {
	for words, want := range map[string]time.Duration{
		"You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), or try again in 2 hours 5 minutes.": 125 * time.Minute,
		"You have exhausted your capacity on this model. Your quota will reset after 18h31m10s.":                               18*time.Hour + 31*time.Minute + 10*time.Second,
		"Claude AI usage limit reached|" + strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10):                             time.Hour,
	} {
		if e := flavors["codex-cli"].toError("", 0, words); e.Fault != llm.Quota || (e.Wait-want).Abs() > time.Minute {
			t.Errorf("%s: %q, %v, want %v", words, e.Fault, e.Wait, want)
		}
	}
}

// For any output of a program, the stream ends once, its parts are consistent, and the program's
// own calls are never taken for parley's.
func fuzz(f *testing.F, kind string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		for _, r := range []*run{{}, {schema: []byte("{}"), resume: state{Session: "s", Tokens: 1, Cost: 1}}} {
			got := take(t, decode(kind, r, lines))
			if calls := got.message(New(Options{Kind: kind})).Calls(); len(calls) > 0 {
				t.Errorf("calls for parley: %+v", calls)
			}
			for _, n := range got.notices {
				if strings.ContainsAny(n, "\n\r\x1b") || len(n) > maxNotice+100 {
					t.Errorf("notice %q", n)
				}
			}
			if u := got.usage; u != nil && (u.Cost < 0 || u.Thinking < 0) {
				t.Errorf("usage %+v", u)
			}
		}
	})
}

func FuzzClaude(f *testing.F) {
	fuzz(f, "claude-cli", claudeInit+claudeStart+claudeHello+claudeWhole+claudeEnd+claudeResult,
		claudeInit+`{"type":"assistant","error":"rate_limit","message":{"content":"x"}}`+"\n"+strings.Replace(claudeResult, "false", "true", 1))
}

func FuzzGemini(f *testing.F) {
	fuzz(f, "gemini-cli", geminiInit+geminiHello+geminiResult, geminiInit+`{"type":"result","status":"error","error":{"message":"[API Error: {}]"}}`)
}
