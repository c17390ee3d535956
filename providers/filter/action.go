package filter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"parley/tools/lazy"
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

// An action is what an object says as an action.
type action struct {
	thought, answer json.RawMessage // nil if it has none
	calls           []call
}

func (r *action) isEmpty() bool { return r.thought == nil && r.answer == nil && r.calls == nil }

// interpret reads a JSON object as an action; false if it is no object.
func (a *actionReader) interpret(object string) (got action, ok bool) {
	ok = got.object([]byte(object), a.tools, 0)
	return got, ok
}

// object reports whether it was given a JSON object.
func (r *action) object(object []byte, p *parser, depth int) bool {
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
		if string(value) == "null" || by[role] != nil && !isFormKey(key) {
			continue
		}
		by[role] = value
	}
	r.setFirst(&r.thought, by[thought])
	r.setFirst(&r.answer, by[answer])
	tool, isName := "", false
	if v := by[inner]; v != nil {
		if tool, isName = stringValue(v); !isName {
			r.inner(v, p, depth)
			return true
		}
	}
	if v, ok := stringValue(by[name]); ok {
		tool = v
	}
	input := by[args]
	known := p.findTool(tool) != nil
	switch {
	case tool == "" || strings.EqualFold(tool, "none"):
	case !known && (strings.EqualFold(strings.ReplaceAll(tool, " ", "_"), "final_answer") || strings.EqualFold(tool, "answer")):
		r.setFirst(&r.answer, input)
	case known || members["tool_name"] != nil || r.thought != nil || r.answer != nil: // else it is data, or OpenAI's form
		if known && input == nil && len(loose) > 0 {
			input = JSON(loose)
		}
		c, _ := p.buildJSONCall(tool, string(input))
		if c.broken {
			c.input = string(JSON(map[string]json.RawMessage{"input": input})) // the tool says what is wrong with it
		}
		r.calls = append(r.calls, c)
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
func (r *action) inner(v json.RawMessage, p *parser, depth int) {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil {
		list = []json.RawMessage{v}
	}
	for _, one := range list {
		r.object(one, p, depth+1)
	}
}

// stringValue returns v if it is a string.
func stringValue(v json.RawMessage) (string, bool) {
	var s string
	ok := strings.HasPrefix(string(v), `"`) && json.Unmarshal(v, &s) == nil
	return s, ok
}

// textOf returns v as text: a string itself, any other value as JSON.
func textOf(v json.RawMessage) string {
	if s, ok := stringValue(v); ok {
		return s
	}
	return string(v)
}

var jsonKey = lazy.NewRegexp(`["'](\w+)["']\s*:`)

// IsCallJSON reports whether text has the members of a call up to the arguments, and no others.
func IsCallJSON(text string) bool {
	named := false
	for _, key := range jsonKey.FindAllStringSubmatch(text, -1) {
		switch roleOf(key[1]) {
		case name, inner:
			named = true
		case args:
			return named
		case thought:
		default:
			if key[1] != "type" && key[1] != "id" {
				return false
			}
		}
	}
	return false
}
