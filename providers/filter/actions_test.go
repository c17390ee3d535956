package filter_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/providers/filter"
	"parley/providers/llm"
)

// replyTools are the tools of models that are told in their prompts how to reply.
var replyTools = []llm.Tool{
	{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`)},
	{Name: "write", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)},
}

// heard returns the result of an answer: its parts on one line each, without ids, then the notices
// and the finish reason, or the error.
func heard(s llm.Stream) string {
	var d llm.Draft
	var end []string
	seen := map[string]bool{}
	for e, err := range s {
		switch e := e.(type) {
		case llm.Delta:
			d.Add(e)
		case llm.Notice:
			end = append(end, "notice "+e.Text)
		case llm.Finish:
			end = append(end, string(e.Reason))
		}
		if err != nil {
			end = append(end, "error "+string(llm.FaultOf(err)))
		}
	}
	var lines []string
	for _, p := range d.Complete() {
		switch p.Kind {
		case llm.Call:
			if p.ID == "" || seen[p.ID] {
				lines = append(lines, "call without an id of its own")
			}
			seen[p.ID] = true
			how := ""
			switch {
			case p.Failed:
				how = " unreadable"
			case filter.InvalidCall(p, replyTools):
				how = " unfit"
			}
			lines = append(lines, "call "+p.Name+" "+p.Input+how)
		default:
			lines = append(lines, string(p.Kind)+" "+p.Text)
		}
	}
	return strings.Join(append(lines, end...), " | ")
}

// The forms of replies.
var forms = map[string]rewrite{
	"action": filter.Actions(llm.Request{Tools: replyTools}),
	"free":   filter.Prompted(llm.Request{Tools: replyTools}),
}

// read returns the result of an answer that arrives in pieces, in one of the forms. It breaks off if reason is "".
func read(form string, reason llm.Reason, pieces ...string) string {
	var events []llm.Event
	for _, p := range pieces {
		events = append(events, text(p))
	}
	return heard(forms[form](func(yield func(llm.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if reason == "" {
			yield(nil, errors.New("cut"))
			return
		}
		yield(llm.Finish{Reason: reason}, nil)
	}))
}

type reply struct {
	name, in string
	reason   llm.Reason
	want     string
}

const (
	mendedReply = "notice repaired a broken reply"
	mendedCall  = "notice repaired a broken tool call"
	brokeOff    = "notice a tool call was incomplete and was not run"
	leftOut     = "notice text after the tool call dropped"
)

var actionReplies = []reply{
	{"call", `{"thought":"I look.","tool_name":"read","tool_args":{"path":"a\"}b"}}`, llm.Stop, `thinking I look. | call read {"path":"a\"}b"} | calls`},
	{"answer", `{"thought":"Easy.","answer":"**4**\nDone"}`, llm.Stop, "thinking Easy. | text **4**\nDone | stop"},
	{"escapes", `{"answer":"\ud83d\ude00 \u00e9 \ud83d! \\n \/ \q \u12x"}`, llm.Stop, `text 😀 é �! \n / \q \u12x | ` + mendedReply + ` | stop`},
	{"no escape at its last byte", `{"answer":"\u123g"}`, llm.Stop, `text \u123g | ` + mendedReply + ` | stop`},
	{"white space", "\n {\n \"thought\" : \"x\" ,\n \"answer\" : \"y\"\n}\n ", llm.Stop, `thinking x | text y | stop`},
	{"fence", "```json\n{\"thought\":\"x\",\"answer\":\"y\"}\n```\n", llm.Stop, `thinking x | text y | stop`},
	{"text, then a fence", "Sure:\n```\n{\"tool_name\":\"read\",\"tool_args\":{\"path\":\"a\"}}\n```", llm.Stop, "text Sure:\n | call read {\"path\":\"a\"} | calls"},
	{"text, then an action", `I look. {"thought":"x","tool_name":"read","tool_args":{"path":"a"}}`, llm.Stop, `text I look.  | thinking x | call read {"path":"a"} | calls`},
	{"list", `[{"tool_name":"read","tool_args":{"path":"a"}}, {"tool_name":"read","tool_args":{"path":"b"}}]`, llm.Stop, `call read {"path":"a"} | call read {"path":"b"} | calls`},
	{"list, with white space", `[ {"answer":"y"} ]`, llm.Stop, `text y | stop`},
	{"two behind each other", "{\"tool_name\":\"read\",\"tool_args\":{\"path\":\"a\"}}\n{\"tool_name\":\"read\",\"tool_args\":{\"path\":\"b\"}}", llm.Stop, `call read {"path":"a"} | call read {"path":"b"} | calls`},
	{"imagined result", `{"tool_name":"read","tool_args":{"path":"a"}}` + "\n<tool_result>no</tool_result>\n" + `{"tool_name":"write","tool_args":{"path":"a","content":""}}`, llm.Stop,
		`call read {"path":"a"} | ` + leftOut + ` | calls`},
	{"imagined answer", `{"tool_name":"read","tool_args":{"path":"a"}} {"answer":"It says no."}`, llm.Stop, `call read {"path":"a"} | ` + leftOut + ` | calls`},
	{"no arguments", `{"tool_name":"read"}`, llm.Stop, `call read {} unfit | calls`},
	{"null members", `{"thought":null,"tool_name":null,"tool_args":null,"answer":"x"}`, llm.Stop, `text x | stop`},
	{"answer null", `{"tool_name":"read","tool_args":{},"answer":null}`, llm.Stop, `call read {} unfit | calls`},
	{"answer as JSON", `{"thought":"x","answer":{"a":[1,"}"]}}`, llm.Stop, `thinking x | text {"a":[1,"}"]} | stop`},
	{"thought as JSON", `{"answer":"y","thought":{"why":["x"]}}`, llm.Stop, `text y | thinking {"why":["x"]} | stop`},
	{"answer and reply", `{"answer":"","reply":"y"}`, llm.Stop, `text y | stop`},
	{"answer inside an action", `{"thought":"x","action":{"answer":"y","thought":"z"}}`, llm.Stop, `thinking x | text y | stop`},
	{"answer as a number", `{"answer":42}`, llm.Stop, `text 42 | stop`},
	{"arguments in a string", `{"tool_name":"read","tool_args":"{\"path\":\"a\"}"}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"arguments beside the name", `{"tool_name":"read","path":"a"}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"arguments first", `{"tool_args":{"path":"a"},"tool_name":"read"}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"OpenAI's form", `{"name":"read","arguments":{"path":"a"}}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"OpenAI's wrapper", `{"tool_calls":[{"id":"x","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"LangChain's form", `{"action":"read","action_input":{"path":"a"}}`, llm.Stop, `call read {"path":"a"} | calls`},
	{"LangChain's answer", `{"action":"Final Answer","action_input":"4"}`, llm.Stop, `text 4 | stop`},
	{"unknown tool", `{"thought":"x","tool_name":"rm","tool_args":{"path":"/"}}`, llm.Stop,
		`thinking x | call rm {"path":"/"} unfit | calls`},
	{"unknown tool, OpenAI's form", `{"name":"rm","arguments":{"path":"/"}}`, llm.Stop, `call rm {"path":"/"} unfit | calls`},
	{"unknown tool, text behind", `{"tool_name":"rm"} It is gone.`, llm.Stop, `call rm {} unfit | ` + leftOut + ` | calls`},
	{"the other form", "I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", llm.Stop, "text I look.\n | call read {\"path\":\"a\"} | calls"},
	{"both forms at once", "<tool_call>\n{\"thought\":\"x\",\"tool_name\":\"read\",\"tool_args\":{\"path\":\"a\"}}\n</tool_call>", llm.Stop, "thinking x | call read {\"path\":\"a\"} | calls"},
	{"an unreadable call", "Well\n<tool_call>read a.go please</tool_call>", llm.Stop, "text Well\n | call tool_call <tool_call>read a.go please</tool_call> unreadable | calls"},
	{"an answer about calls", `{"answer":"Write <tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>"}`, llm.Stop, `text Write <tool_call>{"name":"read","arguments":{"path":"a"}}</tool_call> | stop`},
	{"plain text", "Just *text* with {a} and [a link](x) and `code`.", llm.Stop, "text Just *text* with {a} and [a link](x) and `code`. | stop"},
	{"data", `{"user":"bob","age":5}`, llm.Stop, `text {"user":"bob","age":5} | stop`},
	{"data in text", `The row is {"name":"read","arguments":{}} here.`, llm.Stop, `text The row is {"name":"read","arguments":{}} here. | stop`},
	{"data that looks like a call", `{"name":"bob","age":5}`, llm.Stop, `text {"name":"bob","age":5} | stop`},
	{"code", "```go\nx := map[string]int{\"answer\": 1}\n```", llm.Stop, "text ```go\nx := map[string]int{\"answer\": 1}\n``` | stop"},
	{"Python", `{'thought': 'it\'s', 'tool_name': 'read', 'tool_args': {'path': 'a', 'limit': None,}}`, llm.Stop,
		`thinking it's | call read {"path":"a","limit":null} | ` + mendedReply + ` | calls`},
	{"quotes nobody escaped", `{"thought":"x","answer":"he said "hi" to me"}`, llm.Stop, `thinking x | text he said "hi" to me | ` + mendedReply + ` | stop`},
	{"quotes and brackets nobody escaped", `{"tool_name":"write","tool_args":{"path":"a","content":"if x { "y" }"}}`, llm.Stop,
		`call write {"path":"a","content":"if x { \"y\" }"} | ` + mendedReply + ` | calls`},
	{"line breaks in a string", "{\"thought\":\"x\",\"answer\":\"a\nb\"}", llm.Stop, "thinking x | text a\nb | stop"},
	{"brackets missing", `{"thought":"x","tool_name":"read","tool_args":{"path":"a"`, llm.Stop, `thinking x | call read {"path":"a"} | ` + mendedReply + ` | calls`},
	{"cut in an answer", `{"thought":"x","answer":"hal`, llm.Length, `thinking x | text hal | length`},
	{"cut in an argument", `{"thought":"x","tool_name":"write","tool_args":{"path":"/tm`, llm.Stop, `thinking x | call write {"thought":"x","tool_name":"write","tool_args":{"path":"/tm unreadable | calls`},
	{"cut in an argument, by length", `{"thought":"x","tool_name":"write","tool_args":{"path":"/tm`, llm.Length, `thinking x | ` + brokeOff + ` | length`},
	{"cut behind an argument", `{"thought":"x","tool_name":"read","tool_args":{"path":"/tmp"`, llm.Length, `thinking x | ` + brokeOff + ` | length`},
	{"cut without a thought", `{"tool_name":"read","tool_args":{"pa`, llm.Length, `text {"tool_name":"read","tool_args":{"pa | ` + brokeOff + ` | length`},
	{"cut in the name of a tool", `{"thought":"x","tool_name":"re`, llm.Length, `thinking x | ` + brokeOff + ` | length`},
	{"cut behind a thought in Python", `{'thought': 'x', 'tool_name': 're`, llm.Length, `thinking x | ` + brokeOff + ` | length`},
	{"cut at the start", `{"tho`, llm.Length, `text {"tho | length`},
	{"stream that broke off", `{"thought":"x","answer":"hal`, "", `thinking x | text hal | error unknown`},
	{"empty", ``, llm.Stop, `stop`},
	{"nothing in it", `{}`, llm.Stop, `text {} | stop`},
	{"begins with a result", "<tool_result>x</tool_result> is how it looks.", llm.Stop, "text <tool_result>x</tool_result> is how it looks. | stop"},
}

var freeReplies = []reply{
	{"text", "Just text with {\"a\":1}.", llm.Stop, `text Just text with {"a":1}. | stop`},
	{"call", "I look.\n\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", llm.Stop, "text I look.\n\n | call read {\"path\":\"a\"} | calls"},
	{"two calls", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>", llm.Stop, `call read {"path":"a"} | call read {"path":"b"} | calls`},
	{"another model's marks", `<function=read><parameter=path>a</parameter></function>`, llm.Stop, `call read {"path":"a"} | calls`},
	{"broken JSON", "Look:\n<tool_call>\n{'name': 'read', 'arguments': {'path': 'a',}}\n</tool_call>", llm.Stop, "text Look:\n | call read {\"path\":\"a\"} | " + mendedCall + " | calls"},
	{"end missing", "<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}", llm.Stop, `call read {"path":"a"} | calls`},
	{"cut in an argument", "Well\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a", llm.Length, "text Well\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a | length"},
	{"imagined result", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>\n<tool_result name=\"read\">\nlies\n</tool_result>\nSo it is.", llm.Stop,
		`call read {"path":"a"} | ` + leftOut + ` | calls`},
	{"begins with a result", "<tool_result name=\"read\">\nx\n</tool_result>\nis how it looks.", llm.Stop,
		"text <tool_result name=\"read\">\nx\n</tool_result>\nis how it looks. | stop"},
	{"shows a result", "It looks so:\n<tool_result>\nx\n</tool_result>\nand ends there.", llm.Stop,
		"text It looks so:\n<tool_result>\nx\n</tool_result>\nand ends there. | stop"},
	{"unknown tool", "Gone:\n<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>", llm.Stop, "text Gone:\n | call rm {\"path\":\"/\"} unfit | calls"},
	{"only an unknown tool", "<tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>", llm.Stop, `call rm {} unfit | calls`},
	{"JSON behind prose", `I look. {"name":"read","arguments":{"path":"a"}}`, llm.Stop, `text I look.  | call read {"path":"a"} | calls`},
	{"JSON in a fence behind prose", "I look.\n```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```", llm.Stop, "text I look.\n | call read {\"path\":\"a\"} | calls"},
	{"an action", `{"thought":"I look.","tool_name":"read","tool_args":{"path":"a"}}`, llm.Stop, `thinking I look. | call read {"path":"a"} | calls`},
	{"unreadable", "Well\n<tool_call>\nread a.go please\n</tool_call>\n", llm.Stop, "text Well\n | call tool_call <tool_call>\nread a.go please\n</tool_call> unreadable | calls"},
	{"in a fence", "Write it so:\n```\n<tool_call>\n{'name':'read'}\n</tool_call>\n```\nor not.", llm.Stop, "text Write it so:\n```\n<tool_call>\n{'name':'read'}\n</tool_call>\n```\nor not. | stop"},
	{"in a line", "The mark `<tool_call>` begins one, <tool_result> ends it.", llm.Stop, "text The mark `<tool_call>` begins one, <tool_result> ends it. | stop"},
	{"stream that broke off", "Half\n<tool_", "", "text Half\n<tool_ | error unknown"},
	{"blank lines", "\n\n  a\n\n   \n b\n", llm.Stop, "text \n\n  a\n\n   \n b\n | stop"},
}

// TestReplies checks both forms by their tables, whole and split at every byte: the result does not
// depend on the split.
func TestReplies(t *testing.T) {
	for form, replies := range map[string][]reply{"action": actionReplies, "free": freeReplies} {
		for _, r := range replies {
			if got := read(form, r.reason, r.in); got != r.want {
				t.Errorf("%s, %s:\ngot  %s\nwant %s", form, r.name, got, r.want)
				continue
			}
			for i := 1; i < len(r.in); i++ {
				if got := read(form, r.reason, r.in[:i], r.in[i:]); got != r.want {
					t.Errorf("%s, %s, cut into %q and %q:\ngot  %s\nwant %s", form, r.name, r.in[:i], r.in[i:], got, r.want)
					break
				}
			}
			if got := read(form, r.reason, strings.Split(r.in, "")...); got != r.want {
				t.Errorf("%s, %s, rune by rune:\ngot  %s\nwant %s", form, r.name, got, r.want)
			}
		}
	}
}

// TestLive: thought and answer are passed on while their JSON arrives.
func TestLive(t *testing.T) {
	const reply = `{"thought":"I th\u0069nk","answer":"one two\n😀"}`
	var shown strings.Builder
	lag := 0
	in := func(yield func(llm.Event, error) bool) {
		for i := range len(reply) {
			shown.Reset()
			if !yield(llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: reply[i : i+1]}}, nil) {
				return
			}
			if i > 11 && i < 18 || i > 35 && i < 43 { // inside the strings, outside of escapes
				if shown.Len() == 0 {
					lag++
				}
			}
		}
	}
	for e := range forms["action"](in) {
		if d, ok := e.(llm.Delta); ok {
			shown.WriteString(d.Text)
		}
	}
	if lag > 3 {
		t.Errorf("%d bytes were held back", lag)
	}
}

func FuzzReply(f *testing.F) {
	for _, r := range slices.Concat(actionReplies, freeReplies) {
		f.Add(r.in, uint16(len(r.in)/2), r.reason == llm.Length)
	}
	// Two members with the same role: the choice must be deterministic.
	f.Add(`{"tool_call":"","function":C}1`, uint16(3), false)
	f.Fuzz(func(t *testing.T, in string, cut uint16, length bool) {
		reason := llm.Stop
		if length {
			reason = llm.Length
		}
		in = strings.ToValidUTF8(in, "?")
		at := min(int(cut), len(in))
		for _, form := range []string{"action", "free"} {
			whole := read(form, reason, in)
			if got := read(form, reason, in[:at], in[at:]); got != whole {
				t.Errorf("%s: cut at %d:\n%s\nwhole:\n%s", form, at, got, whole)
			}
			if got := read(form, reason, strings.Split(in, "")...); got != whole {
				t.Errorf("%s: rune by rune:\n%s\nwhole:\n%s", form, got, whole)
			}
		}
	})
}

// TestAllocations: plain text passes unchanged; each delta of thought and answer costs one outgoing
// delta; the cost of a call does not depend on the number of its deltas.
func TestAllocations(t *testing.T) {
	const deltas, apart = 1000, 150
	words := strings.Repeat("word ", deltas)
	for _, tt := range []struct {
		name, text string
		form       string
		most       float64
	}{
		{"text", words, "action", apart},
		{"free text", words, "free", apart},
		{"answer", `{"thought":"x","answer":"` + words + `"}`, "action", deltas + apart},
		{"call", `{"tool_name":"write","tool_args":{"path":"a","content":"` + words + `"}}`, "action", apart},
		{"free call", "<tool_call>\n{\"name\":\"write\",\"arguments\":{\"path\":\"a\",\"content\":\"" + words + "\"}}\n</tool_call>", "free", apart},
	} {
		s := stream(tokens(tt.text)...)
		got := testing.AllocsPerRun(10, func() {
			for range forms[tt.form](s) {
			}
		})
		if got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", tt.name, got, tt.most)
		}
	}
}

// tokens returns an answer that arrives in pieces of five bytes.
func tokens(text string) []llm.Event {
	var events []llm.Event
	for piece := range slices.Chunk([]byte(text), 5) {
		events = append(events, llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: string(piece)}})
	}
	return append(events, llm.Finish{Reason: llm.Stop})
}

// BenchmarkReply reads 10 KB that arrive token by token.
func BenchmarkReply(b *testing.B) {
	content, _ := json.Marshal(strings.Repeat("func main() { fmt.Println(\"x\") }\n", 300))
	broken := `{'thought': 'x', 'tool_name': 'write', 'tool_args': {'path': 'a', 'content': ` + string(content) + `,}}`
	replies := map[string]struct {
		form string
		text string
	}{
		"call":   {"action", `{"thought":"x","tool_name":"write","tool_args":{"path":"a","content":` + string(content) + `}}`},
		"answer": {"action", `{"thought":"x","answer":` + string(content) + `}`},
		"broken": {"action", broken},
		"text":   {"action", strings.Repeat("some {text} with [brackets] and `code`\n", 270)},
		"quotes": {"action", `{"thought":"x","answer":"` + strings.Repeat(`\"a\" \u00e9\n`, 680) + `"}`},
		"prose":  {"free", strings.Repeat("some {text} with [brackets] and `code`\n", 270)},
		"free":   {"free", "Look:\n<tool_call>\n{\"name\":\"write\",\"arguments\":{\"path\":\"a\",\"content\":" + string(content) + "}}\n</tool_call>"},
	}
	for name, r := range replies {
		s := stream(tokens(r.text)...)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(r.text)))
			b.ReportAllocs()
			for b.Loop() {
				for range forms[r.form](s) {
				}
			}
		})
	}
}
