package filter

import (
	"regexp"
	"strings"
	"sync"

	"parley/providers/schema"
)

// maxMention bounds, in bytes, how far a mark is followed that begins a line but
// is not followed by what a call consists of: somebody may write about it.
const maxMention = 2 << 10

// rescue reads markup that begins at start, and whose inside is no call, up to
// its end: broken JSON is mended, and what cannot be mended is a call that cannot
// be read. It is false, and takes nothing, if what follows the mark looks like
// words about it, or if another mark begins before the end.
func (p *parser) rescue(s *shape, start int) ([]call, bool) {
	read, dry := p.pos, p.dry
	p.pos, p.dry = start+len(s.mark()), false
	name, named := p.tagName(s)
	from := p.pos
	limit := p.looksLikeCall()
	if !named || limit < 0 || !p.toEnd(s, limit) {
		p.pos, p.dry = read, dry || p.dry
		return nil, false
	}
	body := strings.TrimSuffix(string(p.buf[from:p.pos]), s.last())
	if calls, ok := p.mend(name, body); ok && limit == 0 {
		return calls, true
	}
	if name == "" {
		name = nameIn(body)
	}
	return []call{{name: name, input: string(p.buf[start:p.pos]), unreadable: true}}, true
}

// mend makes calls of broken JSON: the arguments of the tool called name, or with
// no name the calls themselves.
func (p *parser) mend(name, body string) ([]call, bool) {
	fixed, whole := schema.RepairWhole([]byte(body))
	if !whole || !strings.ContainsAny(string(fixed[:1]), "{[") {
		return nil, false
	}
	if name == "" {
		calls, ok := p.objects(string(fixed), 0)
		for i := range calls {
			ok = ok && !calls[i].unknown // a name may have been mended as well
			calls[i].mended = true
		}
		return calls, ok
	}
	c, ok := p.call(name, string(fixed))
	c.mended = true
	return []call{c}, ok && !c.broken
}

// tagName reads the rest of the tag that opens a call of s, where the mark is its
// beginning. It is false if there is none.
func (p *parser) tagName(s *shape) (name string, ok bool) {
	if s.open != "" || !s.forms[0].tag {
		return "", true
	}
	tag, ok := p.until(">", 256)
	if ok {
		name, ok = attribute(s.forms[0].open, tag)
	}
	return name, ok
}

// looksLikeCall returns within how many bytes the end of a call has to come whose
// mark was read: 0 is no limit, and below 0 it is none.
func (p *parser) looksLikeCall() int {
	at := p.pos
	p.space()
	next := p.next()
	p.pos = at
	switch {
	case next != 0 && strings.IndexByte("{[<\"`", next) >= 0:
		return 0
	case p.line:
		return maxMention
	}
	return -1
}

// toEnd goes on behind the mark that ends s, or, with no limit, to the end of an
// answer that ended well.
func (p *parser) toEnd(s *shape, limit int) bool {
	end := p.pos + limit
	for {
		switch {
		case limit == 0 && !p.seek("<"):
			return p.well
		case limit > 0 && !p.seekBefore(end, '<'):
			return false
		case s.last() != "" && p.literal(s.last()):
			return true
		case p.literal(s.mark()):
			return false
		}
		p.pos++
	}
}

// seekBefore goes on to the next c before end; false if there is none.
func (p *parser) seekBefore(end int, c byte) bool {
	for ; p.pos < end && p.need(1); p.pos++ {
		if p.buf[p.pos] == c {
			return true
		}
	}
	return false
}

// last is the mark that ends s; "" if there is none.
func (s *shape) last() string {
	if s.open != "" {
		return s.end
	}
	return s.forms[0].end
}

var nameInside = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`["']?\b(?:tool_name|name|tool|function)["']?\s*[:=]\s*["']([\w.:/-]{1,64})["']`)
})

// nameIn is the name in a call that cannot be read.
func nameIn(body string) string {
	if m := nameInside().FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return "tool_call"
}
