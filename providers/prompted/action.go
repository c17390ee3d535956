package prompted

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// A role is what a member of an action says.
type role byte

const (
	other role = iota
	thought
	answer
	name  // of a tool
	args  // of a call
	inner // a call, or a list of calls
)

// roleOf returns what the member key of an object is for: those of the form first, then what
// models remember of other forms.
func roleOf(key string) role {
	switch key {
	case "thought", "thoughts", "thinking", "reasoning", "reflection":
		return thought
	case "answer", "final_answer", "response", "reply":
		return answer
	case "tool_name", "name", "tool", "function_name":
		return name
	case "tool_args", "arguments", "args", "parameters", "input", "tool_input", "action_input":
		return args
	case "action", "function", "function_call", "tool_call", // or a name
		"tool_calls", "actions", "calls":
		return inner
	}
	return other
}

// isFormKey reports whether key is a member that the form asks for.
func isFormKey(key string) bool {
	return key == "thought" || key == "tool_name" || key == "tool_args" || key == "answer"
}

type call struct {
	name string
	args json.RawMessage // an object, unless unreadable

	unknown    bool // there is no such tool
	unreadable bool // args is all of what was written
}

// An action is what an object says as an action.
type action struct {
	thought, answer json.RawMessage // nil: nothing is said
	calls           []call
}

func (r action) isEmpty() bool { return r.thought == nil && r.answer == nil && r.calls == nil }

// interpret reads a JSON object as an action; false if it is none.
func interpret(object []byte, tools []llm.Tool) (r action, ok bool) {
	ok = r.object(object, tools, 0)
	return r, ok
}

// object reports whether it was given a JSON object.
func (r *action) object(object []byte, tools []llm.Tool, depth int) bool {
	var members map[string]json.RawMessage
	if depth > 4 || json.Unmarshal(object, &members) != nil {
		return false
	}
	by := map[role]json.RawMessage{}
	loose := map[string]json.RawMessage{}                   // arguments that were not put into an object
	for _, key := range slices.Sorted(maps.Keys(members)) { // the same reply is read the same each time
		value := members[key]
		role := roleOf(strings.ToLower(key))
		if role == other {
			if key != "type" && key != "id" && key != "call_id" && key != "index" {
				loose[key] = value
			}
			continue
		}
		if isNull(value) || by[role] != nil && !isFormKey(key) {
			continue
		}
		by[role] = value
	}
	r.setFirst(&r.thought, by[thought])
	r.setFirst(&r.answer, by[answer])
	tool, isName := "", false
	if v := by[inner]; v != nil {
		if tool, isName = stringValue(v); !isName {
			r.inner(v, tools, depth)
			return true
		}
	}
	if v, ok := stringValue(by[name]); ok {
		tool = v
	}
	input := by[args]
	switch {
	case tool == "" || strings.EqualFold(tool, "none"):
	case findTool(tools, tool) != nil:
		if input == nil && len(loose) > 0 {
			input = encode(loose)
		}
		r.calls = append(r.calls, call{name: tool, args: asObject(input)})
	case strings.EqualFold(strings.ReplaceAll(tool, " ", "_"), "final_answer"), strings.EqualFold(tool, "answer"):
		r.setFirst(&r.answer, input)
	case members["tool_name"] != nil || r.thought != nil || r.answer != nil: // else it is data, or OpenAI's form
		r.calls = append(r.calls, call{name: tool, args: asObject(input), unknown: true})
	}
	return true
}

// setFirst notes the first value that says something.
func (r *action) setFirst(to *json.RawMessage, v json.RawMessage) {
	if *to == nil && string(v) != `""` {
		*to = v
	}
}

// inner reads a call, or a list of them.
func (r *action) inner(v json.RawMessage, tools []llm.Tool, depth int) {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil {
		list = []json.RawMessage{v}
	}
	for _, one := range list {
		r.object(one, tools, depth+1)
	}
}

func isNull(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "null" }

// stringValue returns v if it is a string.
func stringValue(v json.RawMessage) (string, bool) {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return "", false
	}
	return s, true
}

// asString returns v as text: a string is what it says, all else its JSON.
func asString(v json.RawMessage) string {
	if s, ok := stringValue(v); ok {
		return s
	}
	return string(v)
}

// asObject returns arguments as an object: models write them as a string, and null
// for none.
func asObject(v json.RawMessage) json.RawMessage {
	if s, ok := stringValue(v); ok {
		if fixed, whole := schema.RepairWhole([]byte(s)); whole {
			v = fixed
		}
	}
	if got, ok := llm.Arguments(string(v)); ok {
		return got
	}
	return encode(map[string]json.RawMessage{"input": v}) // the tool says what is wrong with it
}

// A verdict is what the beginning of a text may be.
type verdict byte

const (
	verdictNo        verdict = iota
	verdictUndecided         // more has to come
	verdictYes
)

// maxLead bounds how much is held back at most before it must be an action.
const maxLead = 512

// probe reports whether s begins with an action, and where its first bracket
// ends. Inside a text only names of the form itself count, and the answer only
// on a line of its own; at the edge of a text those of other forms as well.
func probe(s string, line, edge, acted bool) (verdict, int) {
	p := prober{s: s}
	if edge {
		p.skip(" \t\r\n")
	}
	if acted {
		p.skip(" \t\r\n`],;")
	}
	v := p.fence()
	if v != verdictYes {
		return p.limitLead(v), 0
	}
	if p.peek() == '[' {
		p.i++
		p.skip(" \t\r\n")
	}
	if p.i == len(s) {
		return p.limitLead(verdictUndecided), 0
	}
	if p.peek() != '{' {
		return verdictNo, 0
	}
	p.i++
	n := p.i
	v = p.key(line, edge)
	return p.limitLead(v), n
}

type prober struct {
	s string
	i int
}

func (p *prober) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *prober) skip(set string) {
	for p.i < len(p.s) && strings.IndexByte(set, p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *prober) limitLead(v verdict) verdict {
	if p.i > maxLead { // wherever the text was cut
		return verdictNo
	}
	return v
}

// fence reads the line that opens a fence, if there is one.
func (p *prober) fence() verdict {
	const mark = "```"
	rest := p.s[p.i:]
	if len(rest) < len(mark) && strings.HasPrefix(mark, rest) {
		return verdictUndecided
	}
	if !strings.HasPrefix(rest, mark) {
		return verdictYes
	}
	p.i += len(mark)
	p.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	p.skip(" \t\r\n")
	if p.i == len(p.s) {
		return verdictUndecided
	}
	return verdictYes
}

// key reads the name of the first member up to its colon.
func (p *prober) key(line, edge bool) verdict {
	p.skip(" \t\r\n")
	quote := p.peek()
	if quote == '"' || quote == '\'' {
		p.i++
	}
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '_' || p.s[p.i]|0x20 >= 'a' && p.s[p.i]|0x20 <= 'z') {
		p.i++
	}
	key := strings.ToLower(p.s[start:p.i])
	if p.i == len(p.s) {
		if len(key) > 20 {
			return verdictNo
		}
		return verdictUndecided
	}
	if quote == '"' || quote == '\'' {
		if p.peek() != quote {
			return verdictNo
		}
		p.i++
	}
	p.skip(" \t\r\n")
	switch {
	case p.i == len(p.s):
		return verdictUndecided
	case p.peek() != ':':
		return verdictNo
	case isFormKey(key) && (line || key != "answer"), edge && (roleOf(key) != other || key == "type" || key == "id"):
		return verdictYes
	}
	return verdictNo
}
