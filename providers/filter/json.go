package filter

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// memberKind returns the kind of a member that a JSON call may have; 0 for any other, which makes
// the object data. Kinds: n and o for a name, a for arguments, f for an inner call, l for a list of
// calls, t for a thought, s for ignored members.
func memberKind(key string) byte {
	switch key {
	case "name", "tool":
		return 'n'
	case "tool_name": // of the action form
		return 'o'
	case "arguments", "input", "parameters", "tool_input", "args", "tool_args":
		return 'a'
	case "thought":
		return 't'
	case "function", "function_call":
		return 'f'
	case "tool_calls":
		return 'l'
	case "type", "id", "call_id", "index":
		return 's'
	}
	return 0
}

// bareJSON reads one or more calls without marks. It fails at the first member that calls do not
// have and, unless the model was prompted, at the first unknown tool name, so that a JSON response
// is not buffered.
func (p *parser) bareJSON() (f parsed, ok bool) {
	f = parsed{isJSON: true, wrapped: true, action: true}
	for end := p.pos; ; end = p.pos {
		if len(f.calls) > 0 {
			p.skipSpace()
			p.anyOf(",", ";")
			p.skipSpace()
		}
		got, ok := p.bareObject()
		if !ok {
			if len(f.calls) > 0 { // text follows
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
	p.pos = start // its members are those of a call: read it again as a whole
	raw, ok := p.readJSON()
	if !ok {
		return f, false
	}
	f = parsed{isJSON: true, wrapped: seen['l'], action: seen['o']}
	f.calls, ok = p.objects(raw, 0)
	return f, ok
}

// list reads a list of calls, within depth other objects.
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

// members holds the kinds of members in an object.
type members [256]bool

// member reads one object that may be a call. Inside the tool_calls wrapper, any tool name is
// accepted.
func (p *parser) member(depth int) (seen members, ok bool) {
	if !p.literal("{ ") {
		return seen, false
	}
	for {
		key, ok := p.readString(24)
		kind := memberKind(key)
		if !ok || kind == 0 || !p.literal(" : ") {
			return seen, false
		}
		if kind == 'f' && p.peek() == '"' {
			kind = 'n'
		}
		if !p.memberValue(kind, depth) {
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

// memberValue reads the value of a member of the given kind.
func (p *parser) memberValue(kind byte, depth int) (ok bool) {
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
		_, ok = p.readJSON()
		return ok || p.literal("null")
	case (kind == 'a' || kind == 't') && c == '"':
		if ok = p.skipString(); ok {
			p.pos++
		}
		return ok
	case kind == 's' && c != '"':
		_, ok = p.readName()
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
func (p *source) readString(limit int) (string, bool) {
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

// A call is a call found in text.
type call struct {
	id      string // id written by the model; "" for none
	name    string
	input   string // a JSON object, unless broken or unreadable
	thought string // thought in the action form

	isValid     bool // it names an offered tool and has the required arguments
	unknownTool bool // it names no offered tool
	repaired    bool // its JSON was repaired
	broken      bool // input is not a JSON object
	unreadable  bool // input is the whole text of the call
}

// objects reads calls in all JSON variants that models write. Depth is the number of enclosing
// objects and lists.
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

// decodeLenient decodes JSON into v, escaping control characters if necessary.
func decodeLenient(raw string, v any) bool {
	return json.Unmarshal([]byte(raw), v) == nil || json.Unmarshal([]byte(escapeControls(raw)), v) == nil
}

// callID returns the model's id of its call; "" for none.
func callID(m map[string]json.RawMessage) (id string) {
	for _, key := range []string{"id", "call_id"} {
		if json.Unmarshal(m[key], &id) == nil && id != "" {
			break
		}
	}
	return id
}

// callsIn reads an object as a call, or the call inside it.
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

// buildJSONCall returns a call with a name and JSON arguments: an object, or a string that contains
// one. It returns false without a name.
func (p *parser) buildJSONCall(name, raw string) (call, bool) {
	for inner := ""; strings.HasPrefix(raw, `"`) && json.Unmarshal([]byte(raw), &inner) == nil; {
		raw = inner
	}
	input, ok := llm.Arguments(raw)
	if !ok {
		input, ok = llm.Arguments(escapeControls(raw))
	}
	repaired := false
	if !ok && p.lenient {
		if fixed, whole := schema.RepairWhole([]byte(raw)); whole {
			input, ok = llm.Arguments(string(fixed))
			repaired = ok
		}
	}
	if name == "" {
		return call{}, false
	}
	c := call{name: name, input: string(input), broken: !ok, repaired: repaired}
	if c.broken {
		c.input = raw
	}
	tool := p.findTool(name)
	if c.unknownTool = tool == nil; c.unknownTool {
		return c, true
	}
	c.name = tool.Name
	if c.broken {
		return c, true
	}
	required := decodeSchema(tool).Required
	if c.isValid = hasAll(input, required); !c.isValid {
		input = schema.RenameArguments(tool.Schema, input)
		c.input, c.isValid = string(input), hasAll(input, required)
	}
	return c, true
}

// hasAll reports whether an object has all members in names.
func hasAll(object json.RawMessage, names []string) bool {
	var given map[string]json.RawMessage
	return json.Unmarshal(object, &given) == nil && !slices.ContainsFunc(names, func(name string) bool {
		_, ok := given[name]
		return !ok
	})
}

// findTool returns the tool that a model means by name; nil if there is none.
func (p *parser) findTool(name string) *llm.Tool {
	names := make([]string, len(p.tools))
	for i := range p.tools {
		if names[i] = p.tools[i].Name; names[i] == name {
			return &p.tools[i]
		}
	}
	if i := slices.Index(names, schema.MatchTool(name, names)); i >= 0 {
		return &p.tools[i]
	}
	return nil
}

// escapeControls escapes line breaks and other control characters that models leave unescaped in
// JSON strings. Valid JSON is returned unchanged.
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
