package filter_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/providers/filter"
	"parley/providers/llm"
)

// promptedAnswers lists texts of models prompted to write calls, and the results of Prompted, in an
// answer that ends with Stop.
var promptedAnswers = []struct{ name, in, want string }{
	{"markup", "I look.\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>", `text "I look.\n"|call read {"path":"a"}|calls`},
	{"json behind prose", `I look. {"name":"read","arguments":{"path":"a"}}`, `text "I look. "|call read {"path":"a"}|calls`},
	{"json on its own line", "I look.\n\n{\"name\": \"read\", \"input\": {\"path\": \"a\"}}\n", `text "I look.\n\n"|call read {"path":"a"}|calls`},
	{"json, fenced behind prose", "I look.\n```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```\n", `text "I look.\n"|call read {"path":"a"}|calls`},
	{"json, tildes", "I look.\n~~~\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n~~~", `text "I look.\n"|call read {"path":"a"}|calls`},
	{"json list behind prose", `Both: [{"name":"list","arguments":{}}, {"name":"read","arguments":{"path":"a"}}]`, `text "Both: "|call list {}|call read {"path":"a"}|calls`},
	{"json several", "Both:\n{\"name\":\"list\",\"arguments\":{}}\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}", `text "Both:\n"|call list {}|call read {"path":"a"}|calls`},
	{"json, then fenced", "{\"name\":\"list\",\"arguments\":{}}\n```\n{\"name\":\"list\",\"arguments\":{}}\n```", `call list {}|call list {}|calls`},
	{"wrapper behind prose", `So: {"tool_calls":[{"function":{"name":"list","arguments":"{}"}}]}`, `text "So: "|call list {}|calls`},
	{"json with text behind", `{"name":"list","arguments":{}} and so on`, `call list {}|text " and so on"|calls`},
	{"json behind prose, text behind", `Write {"name":"list","arguments":{}} to list.`, `text "Write {\"name\":\"list\",\"arguments\":{}} to list."|stop`},
	{"fence behind prose, text behind", "So:\n```json\n{\"name\":\"list\",\"arguments\":{}}\n```\nis a call.", "text \"So:\\n```json\\n{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}\\n```\\nis a call.\"|stop"},
	{"json in inline code", "Write `{\"name\":\"list\",\"arguments\":{}}`", "text \"Write `{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}`\"|stop"},
	{"markup in a fence behind prose", "So:\n```\n<tool_call>{\"name\":\"list\"}</tool_call>\n```", "text \"So:\\n```\\n<tool_call>{\\\"name\\\":\\\"list\\\"}</tool_call>\\n```\"|stop"},
	{"code with braces", "So:\n```go\nx := map[string]int{\"name\": 1}\n```\nand {x} or {\"a\": 1} [b](c)", "text \"So:\\n```go\\nx := map[string]int{\\\"name\\\": 1}\\n```\\nand {x} or {\\\"a\\\": 1} [b](c)\"|stop"},
	{"the action form", `{"thought":"I look.","tool_name":"read","tool_args":{"path":"a"}}`, `thinking "I look."|call read {"path":"a"}|calls`},
	{"the action form behind prose", `Well. {"thought":"I look.","tool_name":"read","tool_args":{"path":"a"}}`, `text "Well. "|thinking "I look."|call read {"path":"a"}|calls`},
	{"the action form, no arguments", "Well.\n{\"tool_name\": \"list\"}", `text "Well.\n"|call list {}|calls`},
	{"the action form, unknown name", "Well.\n```json\n{\"thought\":\"x\",\"tool_name\":\"rm\",\"tool_args\":{\"path\":\"/\"}}\n```", `text "Well.\n"|thinking "x"|call rm {"path":"/"} unfit|calls`},
	{"an answer in the action form", `{"thought":"x","answer":"y"}`, `text "{\"thought\":\"x\",\"answer\":\"y\"}"|stop`},
	{"unknown name", "Gone:\n<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>", `text "Gone:\n"|call rm {"path":"/"} unfit|calls`},
	{"json, unknown name", `Gone: {"name":"rm","arguments":{"path":"/"}}`, `text "Gone: "|call rm {"path":"/"} unfit|calls`},
	{"json, unknown name, fenced", "```\n{\"name\":\"rm\",\"arguments\":{}}\n```", `call rm {} unfit|calls`},
	{"json, unknown name, fenced behind prose", "For example:\n```\n{\"name\":\"rm\",\"arguments\":{}}\n```", "text \"For example:\\n```\\n{\\\"name\\\":\\\"rm\\\",\\\"arguments\\\":{}}\\n```\"|stop"},
	{"json, required missing", `{"name":"read","arguments":{}}`, `call read {} unfit|calls`},
	{"data", `{"name":"Bob","age":5}`, `text "{\"name\":\"Bob\",\"age\":5}"|stop`},
	{"data with an input", `{"name":"Bob","input":"none"}`, `text "{\"name\":\"Bob\",\"input\":\"none\"}"|stop`},
	{"unreadable", "Well.\n<tool_call>\nread the file a.txt please\n</tool_call>\n", "text \"Well.\\n\"|call tool_call <tool_call>\nread the file a.txt please\n</tool_call> unreadable|calls"},
	{"unreadable behind a known one", "<tool_call>{\"name\":\"list\"}</tool_call>\n<tool_call>{\"name\":\"read\" \"a\"}</tool_call>", `call list {}|call read <tool_call>{"name":"read" "a"}</tool_call> unreadable|calls`},
	{"an imagined result", "Look:\n<tool_call>{\"name\":\"list\"}</tool_call>\n<tool_result name=\"list\">\nlies\n</tool_result>\nSo it is.", `text "Look:\n"|call list {}|notice|calls`},
	{"an imagined result behind json", "Look: {\"name\":\"list\",\"arguments\":{}}\n<tool_result>\nlies", `text "Look: "|call list {}|notice|calls`},
	{"a long imagined result", "<tool_call>{\"name\":\"list\"}</tool_call>\n<tool_result>\n" + strings.Repeat("lies ", 300), `call list {}|notice|calls`},
	{"a result behind text that makes json text", "{\"name\":\"rm\",\"arguments\":{}}</tool_call>\n<tool_result>\nlies", "text \"{\\\"name\\\":\\\"rm\\\",\\\"arguments\\\":{}}</tool_call>\\n<tool_result>\\nlies\"|stop"},
	{"a result without a call", "<tool_result>\nx\n</tool_result>\nis how it looks.", `text "<tool_result>\nx\n</tool_result>\nis how it looks."|stop`},
	{"a result in words", "the mark <tool_result> ends it", `text "the mark <tool_result> ends it"|stop`},
}

// TestPrompted checks every answer with every split.
func TestPrompted(t *testing.T) {
	for _, a := range promptedAnswers {
		t.Run(a.name, func(t *testing.T) {
			want := next.ReplaceAllString(a.want, "\n$1") + " (stop)\n"
			check := func(pieces ...string) {
				t.Helper()
				var events []llm.Event
				for _, p := range pieces {
					events = append(events, text(p))
				}
				if got := tell(prompted(stream(append(events, stop)...))); got != want {
					t.Fatalf("%q:\n got %q\nwant %q", pieces, got, want)
				}
			}
			check(a.in)
			for i := range a.in {
				check(a.in[:i], a.in[i:])
			}
			check(strings.Split(a.in, "")...)
			for range 20 {
				check(cut(a.in, rand.IntN)...)
			}
		})
	}
}

// turnWith returns a history with n answers since the last user message that contain invalid calls.
func turnWith(n int) []llm.Message {
	history := []llm.Message{
		llm.UserText("before"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: "0", Name: "x"}}},
		{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, Text: "no"}}},
		llm.UserText("now"),
	}
	for range n {
		id := filter.NewID()
		history = append(history,
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Call, ID: id, Name: "x"}}},
			llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: id, Failed: true, Text: "there is no tool x"}}})
	}
	return history
}

// An invalid call gets an error once in a turn: an answer that explains the markup is not requested
// repeatedly. If the request has an answer schema, it gets none, and JSON is the answer.
func TestOneCorrection(t *testing.T) {
	answer := &llm.Schema{Name: "a", JSON: json.RawMessage(`{}`)}
	const (
		unknown = `So: <tool_call>{"name":"nope"}</tool_call>`
		asText  = "text \"So: <tool_call>{\\\"name\\\":\\\"nope\\\"}</tool_call>\"\nstop (stop)\n"
		asCall  = "text \"So: \"\ncall nope {} unfit\ncalls (stop)\n"
		known   = `<tool_call>{"name":"list"}</tool_call>`
		bare    = `{"name":"list","arguments":{}}`
	)
	for _, tt := range []struct {
		name     string
		prompted bool
		req      llm.Request
		in, want string
	}{
		{"first", false, llm.Request{Messages: turnWith(0)}, unknown, asCall},
		{"second", false, llm.Request{Messages: turnWith(1)}, unknown, asText},
		{"second, by prompt", true, llm.Request{Messages: turnWith(1)}, unknown, asCall},
		{"fourth, by prompt", true, llm.Request{Messages: turnWith(3)}, unknown, asText},
		{"a call that fits always counts", false, llm.Request{Messages: turnWith(5)}, known, "call list {}\ncalls (stop)\n"},
		{"schema", false, llm.Request{AnswerSchema: answer}, unknown, asText},
		{"schema, by prompt", true, llm.Request{AnswerSchema: answer}, unknown, asText},
		{"schema, a call that fits", false, llm.Request{AnswerSchema: answer}, known, "call list {}\ncalls (stop)\n"},
		{"schema, JSON", false, llm.Request{AnswerSchema: answer}, bare, "text \"{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}\"\nstop (stop)\n"},
		{"no tool may be called", false, llm.Request{Settings: llm.Settings{ToolChoice: "none"}}, known, "text \"<tool_call>{\\\"name\\\":\\\"list\\\"}</tool_call>\"\nstop (stop)\n"},
	} {
		tt.req.Tools = tools
		f := filter.Calls(tt.req)
		if tt.prompted {
			f = filter.Prompted(tt.req)
		}
		if got := tell(f(stream(text(tt.in), stop))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// Answers of actions are not searched for calls, and end the previous block.
func TestSkip(t *testing.T) {
	f := filter.Actions(llm.Request{Tools: tools})
	const call = `<tool_call>{"name":"list"}</tool_call>`
	got := tell(f(stream(text("a <tool"), llm.Delta{Block: "x/answer", Part: llm.Part{Kind: llm.Text, Text: call}}, text(call), stop)))
	want := "text \"a <tool\"\ntext \"<tool_call>{\\\"name\\\":\\\"list\\\"}</tool_call>\"\ncall list {}\ncalls (stop)\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzPrompted(f *testing.F) {
	for _, a := range answers {
		f.Add(a.in, uint64(1))
	}
	for _, a := range promptedAnswers {
		f.Add(a.in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		sameAtEveryCut(t, prompted, s, seed)
	})
}
