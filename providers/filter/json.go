package filter

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// memberKinds holds the members that a call written as JSON may have; anything else, and
// the object is data. The kinds: a name, arguments, an inner call, a list of
// calls, a thought, something to skip.
var memberKinds = map[string]byte{
	"name": 'n', "tool": 'n', "tool_name": 'o', // the action form's own
	"arguments": 'a', "input": 'a', "parameters": 'a', "tool_input": 'a', "args": 'a', "tool_args": 'a',
	"thought":  't',
	"function": 'f', "function_call": 'f',
	"tool_calls": 'l',
	"type":       's', "id": 's', "call_id": 's', "index": 's',
}

// bareJSON reads calls that are the content itself, one or several. It gives up at
// the first member that no call has, and, but for models that were prompted, at
// the first name that no tool has, so that an answer which is JSON is not held
// back.
func (p *parser) bareJSON() (f parsed, ok bool) {
	f = parsed{isJSON: true, wrapped: true, action: true}
	for end := p.pos; ; end = p.pos {
		if len(f.calls) > 0 {
			p.skipSpace()
			p.any(",", ";")
			p.skipSpace()
		}
		got, ok := p.bareObject()
		if !ok {
			if len(f.calls) > 0 { // what follows is text
				p.pos = end
			}
			return f, len(f.calls) > 0
		}
		f.add(got)
	}
}

func (p *parser) bareObject() (f parsed, ok bool) {
	start := p.pos
	var seen members
	if p.peek() == '[' {
		ok = p.list(0)
	} else {
		seen, ok = p.member(0)
	}
	if !ok {
		return f, false
	}
	p.pos = start // now that it looks right, take it whole
	raw, ok := p.json()
	if !ok {
		return f, false
	}
	f = parsed{isJSON: true, wrapped: seen['l'], action: seen['o']}
	f.calls, ok = p.objects(raw, 0)
	return f, ok
}

// list reads a list of calls, inside the given number of other objects.
func (p *parser) list(depth int) bool {
	if !p.literal("[ ") {
		return false
	}
	for {
		if _, ok := p.member(depth); !ok {
			return false
		}
		if p.literal(" ]") || p.complete && !p.need(1) {
			return true
		}
		if !p.literal(" , ") {
			return false
		}
	}
}

// members are the kinds of members that an object has.
type members [256]bool

// member reads one object that may be a call. Inside the wrapper its name need
// not be a tool's.
func (p *parser) member(depth int) (seen members, ok bool) {
	if !p.literal("{ ") {
		return seen, false
	}
	for {
		key, ok := p.readString(24)
		kind := memberKinds[key]
		if !ok || kind == 0 || !p.literal(" : ") {
			return seen, false
		}
		if kind == 'f' && p.peek() == '"' {
			kind = 'n'
		}
		if !p.content(kind, depth) {
			return seen, false
		}
		seen[kind] = true
		if p.literal(" }") || p.complete && !p.need(1) {
			named := seen['n'] || seen['o']
			return seen, seen['l'] || seen['f'] || named && seen['a'] || seen['o'] && p.prompted
		}
		if !p.literal(" , ") {
			return seen, false
		}
	}
}

// content reads the value of a member of the given kind.
func (p *parser) content(kind byte, depth int) (ok bool) {
	const wrapped = 2 // depth inside the wrapper
	switch c := p.peek(); {
	case kind == 'l':
		return depth == 0 && p.list(wrapped)
	case kind == 'f':
		if depth%wrapped == 0 {
			_, ok = p.member(depth + 1)
		}
		return ok
	case kind == 'a' && c != '"':
		_, ok = p.json()
		return ok || p.literal("null")
	case (kind == 'a' || kind == 't') && c == '"':
		if ok = p.string(); ok {
			p.pos++
		}
		return ok
	case kind == 's' && c != '"':
		_, ok = p.token()
		return ok
	}
	at := p.pos
	name, ok := p.readString(128)
	if ok && (kind == 'n' || kind == 'o') && depth < wrapped && !(p.prompted && p.lenient) && p.findTool(name) == nil {
		p.pos = at
		return false
	}
	return ok
}

// readString reads a JSON string of at most limit bytes.
func (p *parser) readString(limit int) (string, bool) {
	start := p.pos
	if !p.take('"') {
		return "", false
	}
	for p.need(1) && p.pos-start <= limit {
		switch c := p.buf[p.pos]; {
		case c == '\\':
			if !p.need(2) {
				return "", false
			}
			p.pos++
		case c == '"':
			p.pos++
			var s string
			err := json.Unmarshal(p.buf[start:p.pos], &s)
			return s, err == nil
		}
		p.pos++
	}
	return "", false
}

// A call is one that was found.
type call struct {
	id      string // as the model wrote it; "" if it did not
	name    string
	input   string // a JSON object, unless broken or unreadable
	thought string // as the action form has it

	isValid     bool // names an offered tool and has what that requires
	unknownTool bool // names none
	repaired    bool // was no JSON
	broken      bool // input is no JSON object
	unreadable  bool // input is all of what was written
}

// objects reads calls in every variant of JSON that models write. Depth is how
// many objects and lists stand around it.
func (p *parser) objects(raw string, depth int) ([]call, bool) {
	if depth > 4 {
		return nil, false
	}
	if strings.HasPrefix(raw, "[") {
		var list []json.RawMessage
		if !decodeLenient(raw, &list) {
			return nil, false
		}
		var calls []call
		for _, item := range list {
			got, ok := p.objects(string(item), depth+1)
			if !ok {
				return nil, false
			}
			calls = append(calls, got...)
		}
		return calls, len(calls) > 0
	}
	var m map[string]json.RawMessage
	if !strings.HasPrefix(raw, "{") || !decodeLenient(raw, &m) {
		return nil, false
	}
	if list, ok := m["tool_calls"]; ok {
		return p.objects(string(list), depth+1)
	}
	calls, ok := p.callsIn(m, depth)
	if ok && len(calls) == 1 && calls[0].id == "" {
		calls[0].id = callID(m)
	}
	if ok && len(calls) == 1 {
		_ = json.Unmarshal(m["thought"], &calls[0].thought)
	}
	return calls, ok
}

// decodeLenient reads JSON into v, mended if it has to be.
func decodeLenient(raw string, v any) bool {
	return json.Unmarshal([]byte(raw), v) == nil || json.Unmarshal([]byte(escapeControls(raw)), v) == nil
}

// callID returns the id that a model gave its call.
func callID(m map[string]json.RawMessage) (id string) {
	for _, key := range []string{"id", "call_id"} {
		if json.Unmarshal(m[key], &id) == nil && id != "" {
			break
		}
	}
	return id
}

// callsIn reads one object as a call, or the call inside it.
func (p *parser) callsIn(m map[string]json.RawMessage, depth int) ([]call, bool) {
	for _, key := range []string{"function", "function_call"} {
		if inner, ok := m[key]; ok && inner[0] == '{' {
			return p.objects(string(inner), depth+1)
		}
	}
	var name string
	for _, key := range []string{"name", "tool", "tool_name", "function"} {
		if v, ok := m[key]; ok && json.Unmarshal(v, &name) == nil && name != "" {
			break
		}
	}
	for _, key := range []string{"arguments", "input", "parameters", "tool_input", "args", "tool_args"} {
		if v, ok := m[key]; ok {
			c, ok := p.buildJSONCall(name, string(v))
			return []call{c}, ok
		}
	}
	c, ok := p.buildJSONCall(name, "")
	return []call{c}, ok
}

// buildJSONCall makes a call of a name and of arguments as JSON: an object, or a string
// that holds one.
func (p *parser) buildJSONCall(name, raw string) (call, bool) {
	if inner := ""; strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &inner) == nil {
		raw = inner
	}
	input, ok := llm.Arguments(raw)
	if !ok {
		input, ok = llm.Arguments(escapeControls(raw))
	}
	mended := false
	if !ok && p.lenient {
		if fixed, whole := schema.RepairWhole([]byte(raw)); whole {
			input, ok = llm.Arguments(string(fixed))
			mended = ok
		}
	}
	if name == "" {
		return call{}, false
	}
	c := call{name: name, input: string(input), broken: !ok, repaired: mended}
	if c.broken {
		c.input = raw
	}
	tool := p.findTool(name)
	if c.unknownTool = tool == nil; c.unknownTool {
		return c, true
	}
	c.name = tool.Name
	var given map[string]json.RawMessage
	c.isValid = !c.broken && json.Unmarshal(input, &given) == nil && !slices.ContainsFunc(decodeSchema(tool).Required, func(key string) bool {
		_, ok := given[key]
		return !ok
	})
	return c, true
}

// findTool returns the tool that name means; nil if there is none. Kimi calls
// functions.NAME:0.
func (p *parser) findTool(name string) *llm.Tool {
	bare := strings.TrimPrefix(name, "functions.")
	if rest := strings.TrimRight(bare, "0123456789"); rest != bare && strings.HasSuffix(rest, ":") {
		bare = rest[:len(rest)-1]
	}
	for i := range p.tools {
		if t := &p.tools[i]; t.Name == name || t.Name == bare {
			return t
		}
	}
	return nil
}

// escapeControls escapes the line breaks and other control characters that models leave
// bare inside JSON strings. Valid JSON comes back as it is.
func escapeControls(raw string) string {
	if json.Valid([]byte(raw)) {
		return raw
	}
	var b strings.Builder
	var scan schema.Scanner
	for _, c := range []byte(raw) {
		bare := c < 0x20 && scan.InString() && !scan.Escaped()
		if scan.Step(c); !bare {
			b.WriteByte(c)
			continue
		}
		escaped, _ := json.Marshal(string(rune(c)))
		b.Write(escaped[1 : len(escaped)-1])
	}
	return b.String()
}
