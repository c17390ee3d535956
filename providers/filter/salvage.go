package filter

import (
	"cmp"
	"strings"

	"parley/providers/schema"
	"parley/tools/lazy"
)

// maxMention bounds the distance in bytes to the end mark, if a mark at the start of a line is not
// followed by a call: the text may be about calls.
const maxMention = 2 << 10

// salvage reads markup from start that is not a valid call, up to its end. It repairs broken JSON;
// if that fails, the call is unreadable. It returns false and consumes nothing if the text after
// the mark looks like prose about it, or if another mark begins before the end.
func (p *parser) salvage(s *callSyntax, start int) ([]call, bool) {
	read, starved := p.pos, p.starved
	p.pos, p.starved = start+len(s.mark()), false
	name, named := p.tagName(s)
	from := p.pos
	limit := p.looksLikeCall()
	if !named || limit < 0 || !p.toEnd(s, limit) {
		p.pos, p.starved = read, starved || p.starved
		return nil, false
	}
	body := strings.TrimSuffix(string(p.buf[from:p.pos]), s.endMark())
	if calls, ok := p.repairCalls(name, body); ok && limit == 0 {
		return calls, true
	}
	name = cmp.Or(name, p.cutIn, findName(body))
	return []call{{name: name, input: string(p.buf[start:p.pos]), unreadable: true}}, true
}

// repairCalls returns the calls in broken JSON: the arguments of tool name or, if name is "", the
// calls themselves.
func (p *parser) repairCalls(name, body string) ([]call, bool) {
	fixed, whole := schema.RepairWhole([]byte(body))
	if !whole || !strings.ContainsAny(string(fixed[:1]), "{[") {
		return nil, false
	}
	if name == "" {
		calls, ok := p.objects(string(fixed), 0)
		for i := range calls {
			ok = ok && !calls[i].unknownTool // the name may be part of the repaired text
			calls[i].repaired = true
		}
		return calls, ok
	}
	c, ok := p.buildJSONCall(name, string(fixed))
	c.repaired = true
	return []call{c}, ok && !c.broken
}

// tagName reads the rest of a tag that starts with the mark of s, and returns its name; false if it
// has none. For other syntaxes it returns "".
func (p *parser) tagName(s *callSyntax) (name string, ok bool) {
	if s.open != "" || !s.forms[0].tag {
		return "", true
	}
	tag, ok := p.until(">", 256)
	if ok {
		name, ok = attribute(s.forms[0].open, tag)
	}
	return name, ok
}

// looksLikeCall returns the maximum distance in bytes from the mark to the end of the call: 0 for
// no limit, -1 if it is not a call.
func (p *parser) looksLikeCall() int {
	at := p.pos
	p.skipSpace()
	next := p.peek()
	p.pos = at
	switch {
	case next != 0 && strings.IndexByte("{[<\"`", next) >= 0:
		return 0
	case p.line:
		return maxMention
	}
	return -1
}

// toEnd skips text through the end mark of s or, without a limit, to the end of a response that
// ended normally.
func (p *parser) toEnd(s *callSyntax, limit int) bool {
	end := p.pos + limit
	for {
		switch {
		case limit == 0 && !p.seek("<"):
			return p.complete
		case limit > 0 && !p.seekBefore(end, '<'):
			return false
		case s.endMark() != "" && p.literal(s.endMark()):
			return true
		case p.literal(s.mark()):
			return false
		}
		p.pos++
	}
}

// seekBefore moves to the next c before end; false if there is none.
func (p *parser) seekBefore(end int, c byte) bool {
	for ; p.pos < end && p.need(1); p.pos++ {
		if p.buf[p.pos] == c {
			return true
		}
	}
	return false
}

// endMark returns the mark at the end of s; "" for none.
func (s *callSyntax) endMark() string {
	if s.open != "" {
		return s.end
	}
	return s.forms[0].end
}

var nameInBody = lazy.NewRegexp(`["']?\b(?:tool_name|name|tool|function)["']?\s*[:=]\s*["']([\w.:/-]{1,64})["']`)

// findName returns the name in an unreadable call; "tool_call" if it has none.
func findName(body string) string {
	if m := nameInBody.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return "tool_call"
}
