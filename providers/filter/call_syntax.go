package filter

// A callSyntax is one way in which models write calls in text: marks around one or more calls. A
// new syntax is a row in callSyntaxes.
type callSyntax struct {
	open, end string  // around the calls; "" for none
	forms     []*form // forms of the calls inside
}

// A form is the notation of one call. White space between its pieces is ignored. The zero form is a
// JSON object with name and arguments, or a list of such objects.
type form struct {
	open string // begins the call
	tag  bool   // open is the beginning of a tag: the rest of the tag names the tool
	id   string // precedes an optional id between name and arguments
	args string // mark before the arguments, which may be missing
	keys []key  // notations of a parameter; none if the arguments are JSON
	pad  bool   // a line break at either end of a value is not part of it
	end  string // ends the call; "" if the arguments end it
}

// A key is the notation of one parameter.
type key struct {
	open string // before its name
	mid  string // between name and value; "" if open is the beginning of a tag
	end  string // after the value
}

var (
	object    = form{}
	parameter = key{open: "<parameter", end: "</parameter>"}
	invoke    = form{open: "<invoke", tag: true, keys: []key{parameter}, end: "</invoke>"}
	xai       = form{open: "<xai:function_call", tag: true, keys: []key{parameter, {open: "<xai:parameter", end: "</xai:parameter>"}}, end: "</xai:function_call>"}
	dsml      = form{open: "<｜DSML｜invoke", tag: true, keys: []key{{open: "<｜DSML｜parameter", end: "</｜DSML｜parameter>"}}, end: "</｜DSML｜invoke>"}
	function  = form{open: "<function=", tag: true, keys: []key{{open: "<parameter=", end: "</parameter>"}}, pad: true, end: "</function>"}
	glm       = form{keys: []key{{"<arg_key>", "</arg_key> <arg_value>", "</arg_value>"}}}
	kimi      = form{open: "<|tool_call_begin|>", args: "<|tool_call_argument_begin|>", end: "<|tool_call_end|>"}
	deepseek  = form{open: "<｜tool▁call▁begin｜>", args: "<｜tool▁sep｜>", end: "<｜tool▁call▁end｜>"}
	mistral   = form{id: "[CALL_ID]", args: "[ARGS]"}
)

var callSyntaxes = []callSyntax{
	{"<tool_call>", "</tool_call>", []*form{&object, &function, &glm}},             // Hermes and Qwen, Qwen coder, GLM
	{"<xai:function_calls>", "</xai:function_calls>", []*form{&xai, &invoke}},      // Grok
	{"<function_calls>", "</function_calls>", []*form{&invoke}},                    // Claude
	{"<minimax:tool_call>", "</minimax:tool_call>", []*form{&invoke}},              // MiniMax
	{"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", []*form{&dsml}},          // DeepSeek V3.2
	{"<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", []*form{&dsml}},                  // DeepSeek V4
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", []*form{&deepseek}},             // DeepSeek R1, V3
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", []*form{&kimi}}, // Kimi
	{"[TOOL_CALLS]", "", []*form{&object, &mistral}},                               // Mistral, old and new
	{"<|python_tag|>", "", []*form{&object}},                                       // Llama
	{"<|tool_call|>", "", []*form{&object}},                                        // Granite, Phi
	{"", "", []*form{&xai}},
	{"", "</tool_call>", []*form{&function}}, // Qwen coder forgets the mark before it
	{"", "", []*form{&invoke}},
	{"", "", []*form{&kimi}},
	{"", "", []*form{&deepseek}},
	{"", "", []*form{&dsml}},
}

// mark returns the text at the start of the syntax.
func (s *callSyntax) mark() string {
	if s.open != "" {
		return s.open
	}
	return s.forms[0].open
}

// findSyntax returns the syntax whose mark is at the start of s; nil if there is none. Begins means
// that more text could select another syntax.
func findSyntax(s string) (found *callSyntax, begins bool) {
	for i := range callSyntaxes {
		mark := callSyntaxes[i].mark()
		if len(s) >= len(mark) {
			if s[:len(mark)] == mark && !begins { // a shorter mark comes later in the table
				return &callSyntaxes[i], false
			}
		} else if mark[:len(s)] == s {
			begins = true
		}
	}
	return nil, begins
}
