package filter

import (
	"slices"
	"strings"
	"sync"

	"parley/tools/lazy"
)

// A parser reads calls of a syntax.
type parser struct {
	source
	options
	first bool   // only white space precedes it in the message
	line  bool   // it is at the beginning of a line
	cutIn string // tool of the call whose arguments ended too early; "" for none
}

// parsed is the result of a parser.
type parsed struct {
	calls   []call
	isJSON  bool // JSON content, which counts only without a native call
	wrapped bool // the tool_calls wrapper, which is rarely written by chance
	action  bool // the action form
	fenced  bool // in a code fence
}

// add appends the next result.
func (f *parsed) add(got parsed) {
	first := len(f.calls) == 0
	f.calls = append(f.calls, got.calls...)
	f.isJSON = f.isJSON || got.isJSON
	f.wrapped, f.action = (first || f.wrapped) && got.wrapped, (first || f.action) && got.action
}

// allValid reports whether every call names an offered tool and has its required arguments.
func (f *parsed) allValid() bool {
	return !slices.ContainsFunc(f.calls, func(c call) bool { return !c.isValid })
}

// mayBeData reports whether JSON may be data instead of a call: it names no tool, and its arguments
// are not an object.
func (f *parsed) mayBeData() bool {
	return !f.wrapped && !f.action && slices.ContainsFunc(f.calls, func(c call) bool { return c.unknownTool && c.broken })
}

// anyRepaired reports whether the JSON of a call was repaired.
func (f *parsed) anyRepaired() bool {
	return slices.ContainsFunc(f.calls, func(c call) bool { return c.repaired })
}

// parse reads calls of syntax s at the start of the text; if s is nil, JSON or a fence.
func (p *parser) parse(s *callSyntax) (f parsed, ok bool) {
	switch {
	case s != nil:
		start := p.pos
		f.calls, ok = p.markedCalls(s)
		if cut := p.starved && p.complete && p.cutIn != ""; !ok && p.lenient {
			if f.calls, ok = p.salvage(s, start); !ok && cut { // marks in it are part of the value
				p.pos, ok = len(p.buf), true
				f.calls = []call{{name: p.cutIn, input: string(p.buf[start:]), unreadable: true}}
			}
		}
	case p.peek() == '`' || p.peek() == '~':
		f, ok = p.fence()
	default:
		f, ok = p.bareJSON()
	}
	return f, ok && len(f.calls) > 0
}

// fence reads a code fence that contains only calls.
func (p *parser) fence() (f parsed, ok bool) {
	c, n := p.peek(), 0
	for p.take(c) {
		n++
	}
	mark := strings.Repeat(string(c), n)
	if _, ok := p.until("\n", 40); n < 3 || !ok {
		return f, false
	}
	f.fenced = true
	for p.skipSpace(); !p.literal(mark); p.skipSpace() {
		if len(f.calls) > 0 && !p.need(1) && p.complete { // a stop sequence removed the closing fence
			break
		}
		got, ok := p.insideFence()
		if !ok {
			return f, false
		}
		f.add(got)
	}
	return f, true
}

// insideFence reads a call in a fence. After other text it must be JSON, since markup in a fence is
// then an example.
func (p *parser) insideFence() (parsed, bool) {
	for i := range callSyntaxes {
		if !p.first {
			break
		}
		start := p.pos
		if p.literal(callSyntaxes[i].mark()) {
			p.pos = start
			return p.parse(&callSyntaxes[i])
		}
	}
	if c := p.peek(); c != '{' && c != '[' {
		return parsed{}, false
	}
	return p.parse(nil)
}

// markedCalls reads the calls of s with the marks around them.
func (p *parser) markedCalls(s *callSyntax) (calls []call, ok bool) {
	if !p.literal(s.open) {
		return nil, false
	}
	for {
		end := p.pos
		p.skipSpace()
		switch {
		case len(calls) == 0:
		case p.anyOf(s.end), !p.need(1):
			return calls, true
		case s.open == "" || s.end == "": // an end mark is not required
			p.pos = end
			return calls, true
		case p.literal(s.open): // the model did not close the last one
			p.skipSpace()
		}
		got, ok := p.readForm(s)
		if !ok {
			return nil, false
		}
		calls = append(calls, got...)
	}
}

// readForm reads a call in the first matching form of s.
func (p *parser) readForm(s *callSyntax) ([]call, bool) {
	for _, f := range s.forms {
		switch {
		case f.args == "" && f.keys == nil:
			if c := p.peek(); c == '{' || c == '[' || c == '`' {
				return p.object()
			}
		case f.tag && p.literal(f.open):
			return p.taggedCall(f, s)
		case !f.tag && p.literal(f.open):
			return p.namedCall(f, s)
		}
	}
	return nil, false
}

// taggedCall reads a call after the beginning of its tag.
func (p *parser) taggedCall(f *form, s *callSyntax) ([]call, bool) {
	tag, ok := p.until(">", 256)
	name, named := attribute(f.open, tag)
	if !ok || !named {
		return nil, false
	}
	if strings.HasSuffix(tag, "/") && !strings.HasSuffix(f.open, "=") { // <invoke name="list"/>
		return []call{p.buildCall(name, nil)}, true
	}
	return p.arguments(f, s, name)
}

// namedCall reads a call that begins with a bare name.
func (p *parser) namedCall(f *form, s *callSyntax) ([]call, bool) {
	name, ok := p.readName()
	if !ok {
		return nil, false
	}
	p.skipSpace()
	if f.id != "" && p.literal(f.id) {
		p.readName()
	}
	p.anyOf(f.args)
	p.skipSpace()
	if c := p.peek(); f.keys == nil && c != '{' && c != '`' {
		// DeepSeek before V3.1 writes the word "function", the mark, the name.
		if name, ok = p.readName(); !ok {
			return nil, false
		}
	}
	return p.arguments(f, s, name)
}

// arguments reads the text after the name, up to the end of the call.
func (p *parser) arguments(f *form, s *callSyntax, name string) ([]call, bool) {
	var c call
	p.skipSpace()
	if next := p.peek(); next == '{' || next == '`' {
		raw, ok := p.fenced()
		if !ok {
			p.cutIn = name
			return nil, false
		}
		if c, ok = p.buildJSONCall(name, raw); !ok {
			return nil, false
		}
	} else if f.keys == nil {
		return nil, false
	} else {
		params, ok := p.parameters(f, s)
		if !ok {
			p.cutIn = name
			return nil, false
		}
		c = p.buildCall(name, params)
	}
	p.skipSpace()
	if !p.anyOf(f.end) && (f.end != "" || f.keys != nil) && !p.isNext(s.end, s.open) {
		return nil, false
	}
	return []call{c}, true
}

// A param is a parameter as text.
type param struct {
	key, value string
	json       bool // the tag says that the value is JSON
}

func (p *parser) parameters(f *form, s *callSyntax) (params []param, ok bool) {
	next := []string{f.end, s.end, s.open} // what may follow a value
	for _, k := range f.keys {
		next = append(next, k.open)
	}
	for {
		p.skipSpace()
		i := slices.IndexFunc(f.keys, func(k key) bool { return p.literal(k.open) })
		if i < 0 {
			return params, true
		}
		k := f.keys[i]
		var a param
		if k.mid == "" {
			tag, closed := p.until(">", 256)
			name, named := attribute(k.open, tag)
			if !closed || !named {
				return nil, false
			}
			a = param{key: name, json: strings.Contains(tag, `string="false"`)}
		} else if a.key, ok = p.readName(); !ok || !p.literal(k.mid) {
			return nil, false
		}
		if a.value, ok = p.value(k.end, next, a.json); !ok {
			return nil, false
		}
		if f.pad {
			a.value = strings.TrimSuffix(strings.TrimPrefix(a.value, "\n"), "\n")
		}
		params = append(params, a)
	}
}

// value reads a value up to its end mark. Since a value may contain the mark, it ends at one
// followed by one of next. Without one, it may be truncated.
func (p *parser) value(end string, next []string, json bool) (string, bool) {
	if inner, ok := p.cdata(end); ok {
		return inner, true
	}
	for start := p.pos; ; {
		if _, ok := p.until(end, 0); !ok {
			return "", false
		}
		if stop := p.pos - len(end); p.isNext(next...) {
			return unescape(string(p.buf[start:stop]), json), true
		}
	}
}

// Marks of CDATA sections.
const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// cdata reads a value of CDATA sections and its end mark. If the value has another form, it
// consumes nothing.
func (p *parser) cdata(end string) (string, bool) {
	start, found := p.pos, false
	var b strings.Builder
	for p.skipSpace(); p.literal(cdataOpen); p.skipSpace() {
		inner, ok := p.until(cdataClose, 0)
		b.WriteString(inner)
		for ok && !p.isNext(end, cdataOpen) { // the section end is part of the text
			inner, ok = p.until(cdataClose, 0)
			b.WriteString(cdataClose + inner)
		}
		found = ok
		if !ok {
			break
		}
	}
	if !found || !p.literal(end) {
		p.pos = start
		return "", false
	}
	return b.String(), true
}

var entities = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&apos;", "'")
})

// unescape decodes XML entities in a value that is neither XML nor JSON.
func unescape(value string, json bool) string {
	if json || strings.IndexByte(value, '<') >= 0 {
		return value
	}
	return entities().Replace(value)
}

var nameAttribute = lazy.NewRegexp(`^\s(?:.*\s)?name\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// attribute returns the name in the rest of a tag that begins with open: all of rest after
// "<function=", the attribute after "<invoke".
func attribute(open, rest string) (name string, ok bool) {
	if strings.HasSuffix(open, "=") {
		name = strings.Trim(rest, " \"'")
		return name, name != ""
	}
	m := nameAttribute.FindStringSubmatch(rest) // the space before name= ends the name of the tag
	if m == nil || m[1]+m[2] == "" {
		return "", false
	}
	return m[1] + m[2], true
}

// fenced reads JSON, possibly in a code fence.
func (p *parser) fenced() (string, bool) {
	fence := p.anyOf("```json", "```")
	p.skipSpace()
	raw, ok := p.readJSON()
	if ok && fence {
		p.skipSpace()
		ok = p.literal("```") || !p.need(1)
	}
	return raw, ok
}

// object reads a JSON object or list between marks.
func (p *parser) object() ([]call, bool) {
	raw, ok := p.fenced()
	if !ok {
		return nil, false
	}
	return p.objects(raw, 0)
}
