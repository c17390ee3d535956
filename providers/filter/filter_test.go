package filter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tools = []llm.Tool{
	{Name: "read", Schema: json.RawMessage(`{"type":"object","required":["path"],"properties":{
		"path":{"type":"string"},"limit":{"type":"integer"},"all":{"type":"boolean"},"ratio":{"type":["number","null"]},
		"lines":{"type":"array"},"any":{},"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},"map":{"oneOf":[{"type":"object"}]}}}`)},
	{Name: "list", Schema: json.RawMessage(`{"type":"object"}`)},
}

type rewrite = func(llm.Stream) llm.Stream

var (
	calls    = filter.Calls(llm.Request{Tools: tools})
	prompted = filter.Prompted(llm.Request{Tools: tools})
)

func both(s llm.Stream) llm.Stream {
	return calls(filter.Think(s))
}

// stream returns an answer of the given events.
func stream(events ...llm.Event) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func text(s string) llm.Delta {
	return llm.Delta{Block: "text", Part: llm.Part{Kind: llm.Text, Text: s}}
}

var stop = llm.Finish{Reason: llm.Stop, Raw: "stop"}

// tell returns the result of an answer, one part or event per line.
func tell(s llm.Stream) string {
	var (
		b     strings.Builder
		draft llm.Draft
		ids   = map[string]bool{}
		last  string
	)
	for e, err := range s {
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Finish:
			last += fmt.Sprintf("%s (%s)\n", e.Reason, e.Raw)
		case llm.Notice:
			last += "notice\n"
		}
		if err != nil {
			last += "error: " + err.Error() + "\n"
		}
	}
	for _, p := range draft.Complete() {
		switch p.Kind {
		case llm.Call:
			how := ""
			switch {
			case p.Failed:
				how = " unreadable"
			case filter.InvalidCall(p, tools):
				how = " unfit"
			}
			fmt.Fprintf(&b, "call %s %s%s\n", p.Name, p.Input, how)
			if p.ID == "" || ids[p.ID] {
				fmt.Fprintf(&b, "bad id %q\n", p.ID)
			}
			ids[p.ID] = true
		default:
			fmt.Fprintf(&b, "%s %q\n", p.Kind, p.Text)
		}
	}
	return b.String() + last
}

// answers lists texts and the results of Think and Calls, in an answer that ends with Stop.
var answers = []struct{ name, in, want string }{
	// Thinking.
	{"think", "<think>\nhm\n</think>\n\nyes", `thinking "hm"|text "yes"|stop`},
	{"thinking", " <thinking>hm</thinking>yes", `thinking "hm"|text "yes"|stop`},
	{"gemma", "<|channel>thought\nhm<channel|>yes", `thinking "hm"|text "yes"|stop`},
	{"magistral", "[THINK]hm[/THINK]yes", `thinking "hm"|text "yes"|stop`},
	{"kimi vl", "◁think▷hm◁/think▷yes", `thinking "hm"|text "yes"|stop`},
	{"thinks twice", "<think>a</think>\n<think>b</think>yes", `thinking "a"|thinking "b"|text "yes"|stop`},
	{"thinks nothing", "<think>\n\n</think>\n\nyes", `text "yes"|stop`},
	{"only thinks", "<think>hm", `thinking "hm"|stop`},
	{"broken off in the tag", "<think>hm</thi", `thinking "hm</thi"|stop`},
	{"near misses inside", "<think>a < b </think c </ think></think>yes", `thinking "a < b </think c </ think>"|text "yes"|stop`},
	{"not at the beginning", "so <think>hm</think>", `text "so <think>hm</think>"|stop`},
	{"near miss", "<thinker>x</thinker>", `text "<thinker>x</thinker>"|stop`},
	{"almost a tag", "<thin", `text "<thin"|stop`},
	{"white space only", " \n ", `text " \n "|stop`},
	{"closing tag only", "hm, so\n</think>\n\nyes", `thinking "hm, so\n"|text "yes"|stop`},
	{"closing tag first", "</think>\n\nyes", `text "yes"|stop`},
	{"closing tag in code", "use `</think>` here", "text \"use `</think>` here\"|stop"},
	{"closing tag in a fence", "```\n</think>\n```\n", "text \"```\\n</think>\\n```\\n\"|stop"},
	{"an answer about tags", "between <think> and </think> it thinks", `text "between <think> and </think> it thinks"|stop`},

	// The shapes of calls.
	{"xai", `<xai:function_call name="read"><xai:parameter name="path">a.go</xai:parameter></xai:function_call>`, `call read {"path":"a.go"}|calls`},
	{"xai, plain parameters", "<xai:function_call name=\"read\">\n<parameter name=\"path\">a.go</parameter>\n</xai:function_call>", `call read {"path":"a.go"}|calls`},
	{"hermes", "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.go\"}}\n</tool_call>", `call read {"path":"a.go"}|calls`},
	{"hermes twice", "<tool_call>{\"name\":\"list\"}</tool_call>\n<tool_call>{\"name\":\"list\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>\n", `call list {}|call list {"a":1}|calls`},
	{"hermes, list", `<tool_call>[{"name":"list"},{"name":"list"}]</tool_call>`, `call list {}|call list {}|calls`},
	{"hermes, forgotten end", `<tool_call>{"name":"list"}<tool_call>{"name":"list"}</tool_call>`, `call list {}|call list {}|calls`},
	{"hermes, fenced inside", "<tool_call>\n```json\n{\"name\":\"list\"}\n```\n</tool_call>", `call list {}|calls`},
	{"hermes, bare line break", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\nb\"}}</tool_call>", `call read {"path":"a\nb"}|calls`},
	{"glm", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.go</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>42</arg_value>\n</tool_call>", `call read {"path":"a.go","limit":42}|calls`},
	{"glm, no arguments", "<tool_call>list</tool_call>", `call list {}|calls`},
	{"qwen coder", "<tool_call>\n<function=read>\n<parameter=path>\na.go\n</parameter>\n</function>\n</tool_call>", `call read {"path":"a.go"}|calls`},
	{"qwen coder, bare", "<function=read><parameter=path>a.go</parameter></function>", `call read {"path":"a.go"}|calls`},
	{"qwen coder, mark forgotten", "<function=read><parameter=path>a.go</parameter></function>\n</tool_call>", `call read {"path":"a.go"}|calls`},
	{"function with json", `<function=read>{"path":"a.go"}</function>`, `call read {"path":"a.go"}|calls`},
	{"claude", `<function_calls><invoke name="read"><parameter name="path">a.go</parameter></invoke><invoke name="list"></invoke></function_calls>`, `call read {"path":"a.go"}|call list {}|calls`},
	{"claude, bare", `<invoke name="list"></invoke>`, `call list {}|calls`},
	{"minimax", "<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\">a.go</parameter>\n</invoke>\n</minimax:tool_call>", `call read {"path":"a.go"}|calls`},
	{"kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{\"path\":\"a\"}<|tool_call_end|><|tool_call_begin|>functions.list:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", `call read {"path":"a"}|call list {}|calls`},
	{"digits without a colon are the name's", `Well. <tool_call>{"name":"list2"}</tool_call>`, `text "Well. "|call list2 {} unfit|calls`},
	{"deepseek v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `call read {"path":"a"}|calls`},
	{"deepseek v3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"path\":\"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", `call read {"path":"a"}|calls`},
	{"dsml", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a</｜DSML｜parameter>\n<｜DSML｜parameter name=\"any\" string=\"false\">7</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", `call read {"path":"a","any":7}|calls`},
	{"mistral", `[TOOL_CALLS][{"name":"read","arguments":{"path":"a"}},{"name":"list","arguments":{}}]`, `call read {"path":"a"}|call list {}|calls`},
	{"mistral, new", `[TOOL_CALLS]read[ARGS]{"path":"a"}[TOOL_CALLS]list[CALL_ID]abc123def[ARGS]{}`, `call read {"path":"a"}|call list {}|calls`},
	{"llama", `<|python_tag|>{"name":"read","parameters":{"path":"a"}}`, `call read {"path":"a"}|calls`},

	// JSON as content.
	{"json", `{"name":"read","arguments":{"path":"a"}}`, `call read {"path":"a"}|calls`},
	{"json, input", ` {"type":"tool_use","id":"x","name":"read","input":{"path":"a"}}`, `call read {"path":"a"}|calls`},
	{"json, tool", `{"tool":"read","tool_input":{"path":"a"}}`, `call read {"path":"a"}|calls`},
	{"json, function", `{"type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}`, `call read {"path":"a"}|calls`},
	{"json, wrapper", `{"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":{"path":"a"}}}]}`, `call read {"path":"a"}|calls`},
	{"json, list", `[{"name":"list","arguments":{}}, {"name":"list","arguments":null}]`, `call list {}|call list {}|calls`},
	{"json, several", "{\"name\":\"list\",\"arguments\":{}}\n{\"name\":\"list\",\"arguments\":{}}; {\"name\":\"list\",\"arguments\":{}}", `call list {}|call list {}|call list {}|calls`},
	{"json, fenced", "```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```\n", `call read {"path":"a"}|calls`},
	{"markup, fenced", "```xml\n<tool_call>{\"name\":\"list\"}</tool_call>\n```", `call list {}|calls`},
	{"json, text behind", `{"name":"list","arguments":{}} and so on`, `call list {}|text " and so on"|calls`},
	{"json, then other json", `{"name":"list","arguments":{}}, {"x":1}`, `call list {}|text ", {\"x\":1}"|calls`},
	{"json, unclosed", `{"name":"read","arguments":{"path":"a"}`, `call read {"path":"a"}|calls`},
	{"json, cut in a string", `{"name":"read","arguments":{"path":"a`, `text "{\"name\":\"read\",\"arguments\":{\"path\":\"a"|stop`},
	{"json, not first", `Sure: {"name":"list","arguments":{}}`, `text "Sure: {\"name\":\"list\",\"arguments\":{}}"|stop`},
	{"json, unknown name", `{"name":"parley","arguments":{}}`, `text "{\"name\":\"parley\",\"arguments\":{}}"|stop`},
	{"json, without arguments", `{"name":"list"}`, `text "{\"name\":\"list\"}"|stop`},
	{"json, other members", `{"name":"list","version":"1.0","arguments":{}}`, `text "{\"name\":\"list\",\"version\":\"1.0\",\"arguments\":{}}"|stop`},
	{"json, required missing", `{"name":"read","arguments":{}}`, `text "{\"name\":\"read\",\"arguments\":{}}"|stop`},
	{"json, fenced, text behind", "```json\n{\"name\":\"list\",\"arguments\":{}}\n```\nis a call", "text \"```json\\n{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}\\n```\\nis a call\"|stop"},
	{"an empty fence", "```\n```", "text \"```\\n```\"|stop"},
	{"a link", "[a](b) c", `text "[a](b) c"|stop`},

	// Rules.
	{"text around", "a \n<tool_call>{\"name\":\"list\"}</tool_call> b <tool_call>{\"name\":\"list\"}</tool_call>\n", `text "a \n"|call list {}|text " b "|call list {}|calls`},
	{"marks in values", `<invoke name="read"><parameter name="path">a "b" <c> </parameter> </invoke2> <parameter name="x">
</parameter></invoke>`, `call read {"path":"a \"b\" <c> </parameter> </invoke2> <parameter name=\"x\">\n"}|calls`},
	{"unclosed value, qwen coder", "<function=read><parameter=path>a.go", `call read <function=read><parameter=path>a.go unreadable|calls`},
	{"unclosed value, xai", `Yes. <xai:function_call name="read"><xai:parameter name="path">a.go`, `text "Yes. "|call read <xai:function_call name="read"><xai:parameter name="path">a.go unreadable|calls`},
	{"unclosed value, xai wrapper", `<xai:function_calls><xai:function_call name="read"><xai:parameter name="path">a</xai:function_call></xai:function_calls>`, `call read <xai:function_calls><xai:function_call name="read"><xai:parameter name="path">a</xai:function_call></xai:function_calls> unreadable|calls`},
	{"unclosed value, second parameter", `<invoke name="read"><parameter name="path">a</parameter><parameter name="any">b`, `call read <invoke name="read"><parameter name="path">a</parameter><parameter name="any">b unreadable|calls`},
	{"unclosed value, minimax", `<minimax:tool_call><invoke name="read"><parameter name="path">a`, `call read <minimax:tool_call><invoke name="read"><parameter name="path">a unreadable|calls`},
	{"unclosed value, cdata", `<invoke name="read"><parameter name="path"><![CDATA[a]]>`, `call read <invoke name="read"><parameter name="path"><![CDATA[a]]> unreadable|calls`},
	{"unclosed value, cdata cut", `<invoke name="read"><parameter name="path"><![CDATA[a`, `call read <invoke name="read"><parameter name="path"><![CDATA[a unreadable|calls`},
	{"unclosed value, dsml", `<｜DSML｜function_calls><｜DSML｜invoke name="read"><｜DSML｜parameter name="path" string="true">a`, `call read <｜DSML｜function_calls><｜DSML｜invoke name="read"><｜DSML｜parameter name="path" string="true">a unreadable|calls`},
	{"unclosed value, glm", "Yes. <tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.go", "text \"Yes. \"|call read <tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.go unreadable|calls"},
	{"unclosed value, glm, before it", "<tool_call>read<arg_key>path</arg_key>", "call read <tool_call>read<arg_key>path</arg_key> unreadable|calls"},
	{"unclosed value, marks of calls in it", `<invoke name="read"><parameter name="path">a <invoke name="list"></invoke>`, `call read <invoke name="read"><parameter name="path">a <invoke name="list"></invoke> unreadable|calls`},
	{"unclosed value, kimi", `<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a`, `call functions.read:0 <|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a unreadable|calls`},
	{"unclosed value, deepseek", `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path":"a`, `call read <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path":"a unreadable|calls`},
	{"unclosed value, mistral", `[TOOL_CALLS]read[ARGS]{"path":"a`, `call read [TOOL_CALLS]read[ARGS]{"path":"a unreadable|calls`},
	{"unclosed value, llama", `<|python_tag|>{"name":"read","parameters":{"path":"a`, `call read <|python_tag|>{"name":"read","parameters":{"path":"a unreadable|calls`},
	{"unclosed value, number", `<tool_call>{"name":"read","arguments":{"path":"a","limit":1`, `call read <tool_call>{"name":"read","arguments":{"path":"a","limit":1 unreadable|calls`},
	{"unclosed value, function with json", `<function=read>{"path":"a","limit":12`, `call read <function=read>{"path":"a","limit":12 unreadable|calls`},
	{"unclosed call, its value is closed", "<function=read><parameter=path>a.go</parameter>", `call read {"path":"a.go"}|calls`},
	{"unclosed call, xai", `<xai:function_call name="read"><xai:parameter name="path">a.go</xai:parameter>`, `call read {"path":"a.go"}|calls`},
	{"unclosed call, glm", "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.go</arg_value>", `call read {"path":"a.go"}|calls`},
	{"unclosed call, cdata", `<invoke name="read"><parameter name="path"><![CDATA[a]]></parameter>`, `call read {"path":"a"}|calls`},
	{"unclosed call, kimi", `<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a"}`, `call read {"path":"a"}|calls`},
	{"unclosed call", "<tool_call>{\"name\":\"list\"}", `call list {}|calls`},
	{"types", `<function=read><parameter=path>12</parameter><parameter=limit>x</parameter><parameter=all>True</parameter><parameter=ratio>null</parameter><parameter=lines>[1]</parameter><parameter=either>5</parameter><parameter=map>{"a":1}</parameter></function>`,
		`call read {"path":"12","limit":"x","all":true,"ratio":null,"lines":[1],"either":"5","map":{"a":1}}|calls`},
	{"equal keys", `<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>`, `call read {"path":"b"}|calls`},
	{"in code", "use `<tool_call>{\"name\":\"list\"}</tool_call>` so", "text \"use `<tool_call>{\\\"name\\\":\\\"list\\\"}</tool_call>` so\"|stop"},
	{"in a fence", "so:\n```\n<tool_call>{\"name\":\"list\"}</tool_call>\n```\n", "text \"so:\\n```\\n<tool_call>{\\\"name\\\":\\\"list\\\"}</tool_call>\\n```\\n\"|stop"},
	{"behind a fence", "```\nx\n```\n<tool_call>{\"name\":\"list\"}</tool_call>", "text \"```\\nx\\n```\\n\"|call list {}|calls"},
	{"behind backquotes that are indented by a tab", "so:\n\t```\n\n<tool_call>{\"name\":\"list\"}</tool_call>", "text \"so:\\n\\t```\\n\\n\"|call list {}|calls"},
	{"behind a call and such backquotes", "<tool_call>{\"name\":\"list\"}</tool_call>\n\t```\n\n<tool_call>{\"name\":\"list\"}</tool_call>", "call list {}|text \"\\n\\t```\\n\\n\"|call list {}|calls"},
	{"unknown, whole message", "\n<tool_call>{\"name\":\"nope\"}</tool_call>\n", `call nope {} unfit|calls`},
	{"unknown, wrapper", `{"tool_calls":[{"name":"nope","arguments":{}}]}`, `call nope {} unfit|calls`},
	{"unknown, wrapper in a fence", "```json\n{\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"nope\",\"arguments\":\"{}\"}}]}\n```", `call nope {} unfit|calls`},
	{"unknown, wrapper behind text", `So: {"tool_calls":[{"name":"nope","arguments":{}}]}`, `text "So: {\"tool_calls\":[{\"name\":\"nope\",\"arguments\":{}}]}"|stop`},
	{"unknown, markup in a fence", "```\n<tool_call>{\"name\":\"nope\"}</tool_call>\n```", "text \"```\\n<tool_call>{\\\"name\\\":\\\"nope\\\"}</tool_call>\\n```\"|stop"},
	{"unknown, in code", "so `<tool_call>{\"name\":\"nope\"}</tool_call>`", "text \"so `<tool_call>{\\\"name\\\":\\\"nope\\\"}</tool_call>`\"|stop"},
	{"unknown, text behind", "<tool_call>{\"name\":\"nope\"}</tool_call>\nx", `text "<tool_call>{\"name\":\"nope\"}</tool_call>\nx"|stop`},
	{"unknown, text before", "x<tool_call>{\"name\":\"nope\"}</tool_call>", `text "x"|call nope {} unfit|calls`},
	{"unknown, then known", `<tool_call>{"name":"nope"}</tool_call><tool_call>{"name":"list"}</tool_call>`, `call nope {} unfit|call list {}|calls`},
	{"unknown, known, text", `<tool_call>{"name":"nope"}</tool_call> <tool_call>{"name":"list"}</tool_call> x`, `text "<tool_call>{\"name\":\"nope\"}</tool_call>"|call list {}|text " x"|calls`},
	{"arguments that do not fit", `<tool_call>{"name":"read","arguments":{}}</tool_call>`, `call read {} unfit|calls`},
	{"empty name", `<tool_call>{"name":""}</tool_call>`, `call tool_call <tool_call>{"name":""}</tool_call> unreadable|calls`},
	{"mentioned", "the tag <tool_call> opens it. <tool_call>{\"name\":\"list\"}</tool_call>", `text "the tag <tool_call> opens it. "|call list {}|calls`},
	{"begins", "a <tool_cal", `text "a <tool_cal"|stop`},
	{"nearly", "a <tool_calls> <functional> <|tool_ [TOOL_CALL] <invoker name=\"list\"/>", `text "a <tool_calls> <functional> <|tool_ [TOOL_CALL] <invoker name=\"list\"/>"|stop`},
	{"broken json", `<tool_call>{"name":]</tool_call>`, `call tool_call <tool_call>{"name":]</tool_call> unreadable|calls`},
	{"broken json, text behind", `<tool_call>{"name":]</tool_call> x`, `text "<tool_call>{\"name\":]</tool_call> x"|stop`},
	{"broken json, mended", `<tool_call>{'name': 'read', 'arguments': {'path': 'a',}}</tool_call>`, `call read {"path":"a"}|notice|calls`},
	{"broken arguments", `<tool_call>{"name":"read","arguments":"{'path': 'a'"}</tool_call>`, `call read {"path":"a"}|notice|calls`},
	{"arguments that are none", `<tool_call>{"name":"read","arguments":"a.go"}</tool_call>`, `call read a.go unfit|calls`},
	{"xai wrapper", "I look.\n<xai:function_calls>\n<xai:function_call name=\"read\"><parameter name=\"path\">a.go</parameter></xai:function_call>\n<xai:function_call name=\"list\"></xai:function_call>\n</xai:function_calls>\n", `text "I look.\n"|call read {"path":"a.go"}|call list {}|calls`},
	{"xai wrapper, unknown name", "I look.\n<xai:function_calls><xai:function_call name=\"web_search\"><xai:parameter name=\"query\">go</xai:parameter></xai:function_call></xai:function_calls>", `text "I look.\n"|call web_search {"query":"go"} unfit|calls`},
	{"xai, inside that is no parameter", `<xai:function_call name="read"><path>a.go</path></xai:function_call>`, `call read <xai:function_call name="read"><path>a.go</path></xai:function_call> unreadable|calls`},
	{"xai, cut in its own mark", "a <xai:function_call", `text "a <xai:function_call"|stop`},
	{"closed in its tag", `<invoke name="list"/>`, `call list {}|calls`},
	{"cdata", `<invoke name="read"><parameter name="path"><![CDATA[a < b && "c" </parameter></invoke> ]]]]><![CDATA[>]]></parameter></invoke>`, `call read {"path":"a < b && \"c\" </parameter></invoke> ]]>"}|calls`},
	{"cdata, empty", `<invoke name="read"><parameter name="path"> <![CDATA[]]> </parameter></invoke>`, `call read {"path":""}|calls`},
	{"cdata that is not all", `<invoke name="read"><parameter name="path"><![CDATA[a]]> b</parameter></invoke>`, `call read {"path":"<![CDATA[a]]> b"}|calls`},
	{"entities", `<invoke name="read"><parameter name="path">a &lt;b&gt; &amp;&amp; &quot;c&quot; &apos;d&apos; &amp;lt; &eacute;</parameter></invoke>`, `call read {"path":"a <b> && \"c\" 'd' &lt; &eacute;"}|calls`},
	{"entities in XML", `<invoke name="read"><parameter name="path"><p>a &lt; b</p></parameter></invoke>`, `call read {"path":"<p>a &lt; b</p>"}|calls`},
	{"words about a mark", "write\n<tool_call>\nand then the name of the tool", `text "write\n<tool_call>\nand then the name of the tool"|stop`},
	{"words in a mark", "<tool_call>read a.go please</tool_call>", `call tool_call <tool_call>read a.go please</tool_call> unreadable|calls`},
	{"a mark in words", "so <tool_call> and </tool_call> go around it", `text "so <tool_call> and </tool_call> go around it"|stop`},
	{"cut off in its JSON", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a", `call read <tool_call>{"name":"read","arguments":{"path":"a unreadable|calls`},
	{"thinks, then calls", "<think>hm</think>\n<tool_call>{\"name\":\"list\"}</tool_call>", `thinking "hm"|call list {}|calls`},
	{"thought before the tag, then calls", "hm</think>{\"name\":\"list\",\"arguments\":{}}", `thinking "hm"|call list {}|calls`},
}

var next = regexp.MustCompile(`\|(text|call|thinking|notice|stop)`)

// TestAnswers checks every answer with every split: whole, in two at each byte, byte by byte, and
// in random pieces.
func TestAnswers(t *testing.T) {
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			want := next.ReplaceAllString(a.want, "\n$1") + " (stop)\n"
			check := func(how string, pieces []string) {
				var events []llm.Event
				for _, p := range pieces {
					events = append(events, text(p))
				}
				if got := tell(both(stream(append(events, stop)...))); got != want {
					t.Fatalf("%s %q:\n got %q\nwant %q", how, pieces, got, want)
				}
			}
			check("whole", []string{a.in})
			for i := range a.in {
				check("cut", []string{a.in[:i], a.in[i:]})
			}
			check("bytes", strings.Split(a.in, ""))
			var bytes []string
			for i := range len(a.in) {
				bytes = append(bytes, a.in[i:i+1])
			}
			check("bytes", bytes)
			for range 20 {
				check("random", cut(a.in, rand.IntN))
			}
		})
	}
}

// TestSpaceBeforeThinking: the result for tags after as much white space as is buffered, and after
// more, does not depend on the split; after more they are text.
func TestSpaceBeforeThinking(t *testing.T) {
	for _, tag := range []string{"<think>hm</think>yes", "</think>yes"} {
		for space := 1023; space <= 1026; space++ {
			in := strings.Repeat(" \n", space/2) + strings.Repeat("\t", space%2) + tag
			want := tell(filter.Think(stream(text(in), stop)))
			ends := "text \"yes\"\nstop (stop)\n"
			if tag[1] != '/' && space > 1024 {
				ends = fmt.Sprintf("text %q\nstop (stop)\n", in)
			}
			if !strings.HasSuffix(want, ends) {
				t.Errorf("%d of white space before %s: %q", space, tag, want)
			}
			for _, pieces := range [][]string{strings.Split(in, ""), {in[:space], in[space:]}, {in[:space+3], in[space+3:]}} {
				var events []llm.Event
				for _, p := range pieces {
					events = append(events, text(p))
				}
				if got := tell(filter.Think(stream(append(events, stop)...))); got != want {
					t.Errorf("%d of white space before %s, in %d pieces: %q, whole: %q", space, tag, len(pieces), got, want)
				}
			}
		}
	}
}

// A "<" that begins no tag counts as text of its line: backquotes after it open no fence.
func TestTagAfterFence(t *testing.T) {
	for in, ends := range map[string]string{
		"Hi.\n<```\n\nmore</think>yes": "text \"yes\"\nstop (stop)\n",
		"Hi.\n```\n\nmore</think>yes":  "</think>yes\"\nstop (stop)\n",
	} {
		if got := tell(filter.Think(stream(text(in), stop))); !strings.HasSuffix(got, ends) {
			t.Errorf("%q: %q, want %q at its end", in, got, ends)
		}
	}
}

// White space at the start is buffered up to a limit.
func TestSpaceIsSent(t *testing.T) {
	sent := 0
	for _, space := range []int{1024, 1025} {
		answer := func(yield func(llm.Event, error) bool) {
			if yield(text(strings.Repeat(" ", space)), nil) {
				if held := sent == 0; held != (space <= 1024) {
					t.Errorf("of %d bytes of white space %d were sent", space, sent)
				}
				yield(stop, nil)
			}
		}
		sent = 0
		for e := range filter.Think(answer) {
			if d, ok := e.(llm.Delta); ok {
				sent += len(d.Text)
			}
		}
		if sent != space {
			t.Errorf("of %d bytes of white space %d came out", space, sent)
		}
	}
}

// cut splits s at places that n chooses.
func cut(s string, n func(int) int) (pieces []string) {
	for s != "" {
		k := 1 + n(len(s))
		pieces, s = append(pieces, s[:k]), s[k:]
	}
	return pieces
}

func TestEvents(t *testing.T) {
	think := llm.Delta{Block: "think", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}
	native := llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Call, ID: "n", Name: "list", Input: "{}"}}
	for _, tt := range []struct {
		name string
		in   []llm.Event
		want string
	}{
		{"cut by length: an open value is text", []llm.Event{text("<function=list><parameter=x>a"), llm.Finish{Reason: llm.Length}},
			"text \"<function=list><parameter=x>a\"\nlength ()\n"},
		{"cut by length: whole JSON is a call", []llm.Event{text(`<tool_call>{"name":"list"}`), llm.Finish{Reason: llm.Length}},
			"call list {}\nlength ()\n"},
		{"a native call makes JSON text", []llm.Event{text(`{"name":"list","arguments":{}}`), native, stop},
			"text \"{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}\"\ncall list {}\nstop (stop)\n"},
		{"a native call before", []llm.Event{native, text(`{"name":"list","arguments":{}}`), stop},
			"call list {}\ntext \"{\\\"name\\\":\\\"list\\\",\\\"arguments\\\":{}}\"\nstop (stop)\n"},
		{"a native call leaves markup", []llm.Event{text(`<tool_call>{"name":"list"}</tool_call>`), native, llm.Finish{Reason: llm.Calls}},
			"call list {}\ncall list {}\ncalls ()\n"},
		{"a native call ends what is held back", []llm.Event{text("a <tool_"), native, text("call>"), stop},
			"text \"a <tool_call>\"\ncall list {}\nstop (stop)\n"},
		{"no text, a native call", []llm.Event{text("<"), native, stop}, "text \"<\"\ncall list {}\nstop (stop)\n"},
		{"thinking passes", []llm.Event{text("<tool_call>"), think, text(`{"name":"list"}</tool_call>`), stop},
			"thinking \"hm\"\ncall list {}\ncalls (stop)\n"},
		{"a server that tells thinking apart", []llm.Event{think, text("<think>x</think>"), stop},
			"thinking \"hm\"\ntext \"<think>x</think>\"\nstop (stop)\n"},
		{"two blocks of text", []llm.Event{text("a<tool"), llm.Delta{Block: "b", Part: llm.Part{Kind: llm.Text, Text: "_call>b"}}, stop},
			"text \"a<tool\"\ntext \"_call>b\"\nstop (stop)\n"},
		{"an opening delta stays behind the thinking", []llm.Event{llm.Delta{Block: "text", Part: llm.Part{Kind: llm.Text, ID: "m"}}, text("<think>x</think>y"), stop},
			"thinking \"x\"\ntext \"y\"\nstop (stop)\n"},
		{"other events pass", []llm.Event{text("<tool"), llm.Notice{}, llm.Usage{}, stop}, "text \"<tool\"\nnotice\nstop (stop)\n"},
		{"other reasons stay", []llm.Event{text(`<tool_call>{"name":"list"}</tool_call>`), llm.Finish{Reason: llm.Refused, Raw: "r"}}, "call list {}\nrefused (r)\n"},
	} {
		if got := tell(both(stream(tt.in...))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestBrokenOff(t *testing.T) {
	broken := func(yield func(llm.Event, error) bool) {
		if yield(text(`a <tool_call>{"name":"list"}`), nil) {
			yield(nil, errors.New("cut"))
		}
	}
	want := "text \"a <tool_call>{\\\"name\\\":\\\"list\\\"}\"\nerror: cut\n"
	if got := tell(both(broken)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLeave leaves the loop at every event: no event may follow, the source must have ended, and no
// parser may remain (see TestMain).
func TestLeave(t *testing.T) {
	in := []llm.Event{text("<think>a</think>b "), text("<tool_call>"), text(`{"name":"list"}</tool_call> c `), text(`<tool_call>{"na`), stop}
	all := 0
	for range both(stream(in...)) {
		all++
	}
	for n := 1; n <= all; n++ {
		seen, taken, left, ended := 0, 0, false, false
		source := func(yield func(llm.Event, error) bool) {
			defer func() { ended = true }()
			for _, e := range in {
				if left {
					t.Errorf("left at event %d: the source is asked for more after %d", n, taken)
				}
				if taken++; !yield(e, nil) {
					return
				}
			}
		}
		for range both(source) {
			if seen++; seen == n {
				left = true
				break
			}
		}
		if seen != n || !ended || n == 1 && taken == len(in) {
			t.Errorf("left at event %d of %d: the source ended: %v, after %d", seen, all, ended, taken)
		}
	}
}

// TestHeld checks that filters pass on text as soon as it cannot become a mark.
func TestHeld(t *testing.T) {
	for _, tt := range []struct{ in, shown string }{
		{"hello", "hello"},
		{"hello <", "hello "},
		{"hello <tool_call", "hello "},
		{"hello <tool_call> opens it", "hello <tool_call> opens it"},
		{"hello </th", "hello "},
		{"<tool_call>\nis how it begins, of which " + strings.Repeat("much can be said. ", 200), "<tool_call>\nis how it begins, of which " + strings.Repeat("much can be said. ", 200)},
		{"a <xai:function_call", "a "},
		{"a <xai:function_cause", "a <xai:function_cause"},
		{"a {\"name\":\"list\",\"arguments\":", "a {\"name\":\"list\",\"arguments\":"},
		{`{"name":"parley",`, `{"name":"parley",`},
		{`{"version":`, `{"version":`},
		{"```go\nfunc", "```go\nfunc"},
		{"[a](b", "[a](b"},
	} {
		var shown string
		for e := range both(stream(text(tt.in), llm.Notice{Text: "here"})) {
			if d, ok := e.(llm.Delta); ok {
				shown += d.Text
			}
			if _, ok := e.(llm.Notice); ok {
				break
			}
		}
		if shown != tt.shown {
			t.Errorf("%q: shown %q, want %q", tt.in, shown, tt.shown)
		}
	}
}

// TestLong checks that filters do linear work on text designed to be read repeatedly; quadratic
// work would not finish in time with PARLEY_LONG=1, where the text is four times as long.
func TestLong(t *testing.T) {
	n := 1 << 15
	if llmtest.Long {
		n = 1 << 17
	}
	for _, piece := range []string{
		"<tool_call>", "<tool_call>{", `<tool_call>{"name":"list","arguments":{"a":"`, "<function=list><parameter=x>", " ", "<think>", "`", "[TOOL_CALLS]",
		`{"function":`, "[{", "{ ", "[ ", "{\"", "{\"name\":\"x\",", "\n```\n{\"name\":", "<![CDATA[", "<invoke name=\"list\"><parameter name=\"x\"><![CDATA[]]>",
		"\n<tool_call>\nx", "<tool_call>{]", "<tool_call>{]</tool_call>", "<xai:function_call", "<xai:function_calls>", `{"name":"list","arguments":{}} `, "\n<tool_resul", "</parameter>", "<invoke name=\"list\"><parameter name=\"x\"></parameter>", "<tool_call>list<arg_key>", "```\n{",
		"<|end|>", "<|channel|>", "<|channel|>final<|message|>x", "<|channel|>commentary to=functions.list<|message|>{", "<|start|>assistant to=x<|message|>{}", "assistantfinalx", "<|end|> ", "<|channel|>analysis<|message|>`<|en",
	} {
		in := strings.Repeat(piece, n/len(piece))
		for _, size := range []int{n, 19} {
			var events []llm.Event
			for s := range slices.Chunk([]byte(in), size) {
				events = append(events, text(string(s)))
			}
			for i, f := range []rewrite{all, all, prompted} {
				if i > 0 && size == n {
					continue
				}
				var length int
				for e := range f(stream(append(slices.Clone(events), llm.Finish{Reason: []llm.Reason{llm.Length, llm.Stop, llm.Stop}[i]})...)) {
					if d, ok := e.(llm.Delta); ok {
						length += len(d.Text) + len(d.Input)
					}
				}
				if length == 0 && piece != "<think>" {
					t.Errorf("%d: %q in pieces of %d: nothing came", i, piece, size)
				}
			}
		}
	}
}

func FuzzThink(f *testing.F) {
	for _, a := range answers {
		f.Add(a.in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		sameAtEveryCut(t, filter.Think, s, seed)
		if !tags.MatchString(s) {
			samePlain(t, filter.Think, s)
		}
	})
}

func FuzzCalls(f *testing.F) {
	for _, a := range answers {
		f.Add(a.in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		sameAtEveryCut(t, calls, s, seed)
		samePlain(t, calls, s)
	})
}

func sameAtEveryCut(t *testing.T, f rewrite, s string, seed uint64) {
	s = strings.ToValidUTF8(s, "")
	whole := tell(f(stream(text(s), stop)))
	random := rand.New(rand.NewPCG(seed, 0))
	var events []llm.Event
	for _, piece := range cut(s, random.IntN) {
		events = append(events, text(piece))
	}
	if got := tell(f(stream(append(events, stop)...))); got != whole && s != "" {
		t.Errorf("%q cut: %q, whole: %q", s, got, whole)
	}
}

var tags = regexp.MustCompile(`(?i)think|thought|channel`)

// samePlain holds f to passing s byte for byte if it found no call in it.
func samePlain(t *testing.T, f rewrite, s string) {
	var out strings.Builder
	for e := range f(stream(text(s), stop)) {
		if d, ok := e.(llm.Delta); ok {
			if d.Kind == llm.Call {
				return
			}
			out.WriteString(d.Text)
		}
	}
	if out.String() != s {
		t.Errorf("%q came out as %q", s, out.String())
	}
}

// BenchmarkPlain is what a delta of ordinary text costs on its way through both
// filters.
func BenchmarkPlain(b *testing.B) {
	const prose = "It depends: a map is the **right** choice when keys are known, `see here`, a slice when order matters.\n\n1. One\n2. Two, as before\n"
	var events []llm.Event
	for i := range 1000 {
		at := i * 7 % (len(prose) - 12)
		events = append(events, text(prose[at:at+12]))
	}
	events[0] = text("So ")
	s := stream(events...)
	b.ReportAllocs()
	n := 0
	for b.Loop() { // an answer each: what is longer than its limit ends
		for range both(s) {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/delta")
}
