package filter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// A role is the meaning of an action's member.
type role byte

const (
	other role = iota
	thought
	answer
	name  // name of a tool
	args  // arguments of a call
	inner // a call, or a list of calls
)

// roleOf returns the role of a member called key: names of the action form first, then names that
// models remember from other forms.
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

// isFormKey reports whether key is a member of the action form.
func isFormKey(key string) bool {
	return key == "thought" || key == "tool_name" || key == "tool_args" || key == "answer"
}

// An action is the content of an object read as an action.
type action struct {
	thought, answer json.RawMessage // nil if missing
	calls           []call
}

func (r *action) isEmpty() bool { return r.thought == nil && r.answer == nil && r.calls == nil }

// interpret reads a JSON object as an action; false if it is not an object.
func (a *actionReader) interpret(object string) (got action, ok bool) {
	ok = got.object([]byte(object), a.tools, 0)
	return got, ok
}

// object reads an object into r; false if it is not a JSON object.
func (r *action) object(object []byte, p *parser, depth int) bool {
	var members map[string]json.RawMessage
	if depth > 4 || json.Unmarshal(object, &members) != nil {
		return false
	}
	by := map[role]json.RawMessage{}
	loose := map[string]json.RawMessage{}                   // arguments outside of an arguments object
	for _, key := range slices.Sorted(maps.Keys(members)) { // sorted, so that a reply is always read the same way
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
	case known || members["tool_name"] != nil || r.thought != nil || r.answer != nil: // otherwise it is data, or OpenAI's form
		if known && input == nil && len(loose) > 0 {
			input = JSON(loose)
		}
		c, _ := p.buildJSONCall(tool, string(input))
		if c.broken {
			c.input = string(JSON(map[string]json.RawMessage{"input": input})) // the tool will report the error
		}
		r.calls = append(r.calls, c)
	}
	return true
}

// setFirst sets to to the first nonempty value.
func (r *action) setFirst(to *json.RawMessage, v json.RawMessage) {
	if *to == nil && string(v) != `""` {
		*to = v
	}
}

// inner reads a call or a list of calls.
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

// IsCallJSON reports whether the members of text, up to the arguments, are exactly those of a call.
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
