package prompted

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"parley/providers/schema"
)

// A lexer follows one action while its JSON arrives, and passes thought and
// answer on as far as they have come. It gives up, at broken, where the text
// stops being JSON; what it passed on until then stands.
type lexer struct {
	emit func(field role, text string)

	scan         schema.Scanner
	expect       byte // at the top level: 'k' key, ':' colon, 'v' value, ',' comma
	raw          bool // a string held control characters, which only Repair takes
	broken       bool
	key          []byte          // of the member that is being read
	field        role            // what it is
	value        []byte          // a number or word that is the answer
	nestedAnswer bool            // the answer is an object or list, and passed on as JSON
	isCall       bool            // there was a member of a call
	emitted      [inner + 1]bool // a member that says this was passed on whole

	decoder decoder
	text    []byte // to emit
}

// newLexer returns the lexer of an action whose first bracket was read already.
func newLexer(emit func(role, string)) *lexer {
	l := &lexer{emit: emit, expect: 'k'}
	l.scan.Step('{')
	return l
}

// feed reads s up to the end of the action and returns how many bytes it took.
func (l *lexer) feed(s string) (n int, done bool) {
	for n < len(s) && !l.broken && !done {
		if run := l.plainRun(s[n:]); run > 0 {
			if passes := l.emits(); passes && len(l.text) == 0 && n+run == len(s) {
				l.emit(l.field, s[n:])
			} else if passes {
				l.text = append(l.text, s[n:n+run]...)
			}
			n += run
			continue
		}
		done = l.step(s[n])
		n++
	}
	l.flush()
	if l.broken {
		return len(s), false
	}
	return n, done
}

// plainRun reads the bytes at the beginning of s that mean themselves, in a string.
// Most of a reply is such.
func (l *lexer) plainRun(s string) int {
	if !l.scan.InString() || l.scan.Escaped() || len(l.decoder.escape) > 0 || l.decoder.high != 0 || l.scan.Depth() == 1 && l.expect == 'k' {
		return 0
	}
	n := 0
	for n < len(s) && s[n] != '"' && s[n] != '\\' && s[n] >= 0x20 {
		n++
	}
	return n
}

// emits reports whether what is being read is passed on.
func (l *lexer) emits() bool {
	return l.nestedAnswer || l.scan.Depth() == 1 && (l.field == thought || l.field == answer)
}

func (l *lexer) flush() {
	if len(l.text) > 0 {
		l.emit(l.field, string(l.text))
		l.text = l.text[:0]
	}
}

// step reads c, and reports whether it ends the action.
func (l *lexer) step(c byte) (done bool) {
	top, quoted := l.scan.Depth() == 1, l.scan.InString()
	matches := l.scan.Step(c)
	switch {
	case quoted:
		l.inString(c, top)
	case c == '"':
		l.beginString(top)
	case c == '{' || c == '[':
		if top {
			l.broken = l.expect != 'v'
			l.expect = ','
			l.nestedAnswer = l.field == answer
		}
		l.emitByte(c)
	case c == '}' || c == ']':
		l.broken = !matches || top && l.expect != ',' && l.expect != 'k'
		return !l.broken && l.closeBracket(c)
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		l.emitByte(c)
	case top:
		l.outsideString(c)
	default:
		l.broken = !strings.ContainsRune(",:+-.0123456789eEtrufalsn", rune(c))
		l.emitByte(c)
	}
	return false
}

// emitByte hands a byte on that belongs to an answer which is an object or list.
func (l *lexer) emitByte(c byte) {
	if l.nestedAnswer && !l.broken {
		l.text = append(l.text, c)
	}
}

// beginString begins a string.
func (l *lexer) beginString(top bool) {
	l.decoder = decoder{}
	l.emitByte('"')
	if !top {
		return
	}
	switch l.expect {
	case 'k':
		l.key = l.key[:0]
	case 'v':
	default:
		l.broken = true
	}
}

func (l *lexer) inString(c byte, top bool) {
	if c < 0x20 {
		l.raw = true
	}
	l.emitByte(c)
	ends := !l.scan.InString()
	switch {
	case ends && top && l.expect == 'k':
		l.expect = ':'
		l.flush()
		l.field = roleOf(strings.ToLower(string(l.key)))
		l.isCall = l.isCall || l.field == name || l.field == args || l.field == inner
	case ends:
		if top {
			l.text = l.decoder.flushSurrogate(l.text)
			l.expect = ','
			l.flush()
			l.emitted[l.field] = true
		}
	case top && l.expect == 'k':
		l.key = append(l.key, c)
		l.broken = len(l.key) > 200
	case top && (l.field == thought || l.field == answer):
		l.text = l.decoder.step(l.text, c)
	}
}

// outsideString reads a byte of the top level that stands in no string.
func (l *lexer) outsideString(c byte) {
	switch {
	case c == ':' && l.expect == ':':
		l.expect, l.value = 'v', l.value[:0]
	case c == ',' && l.expect == ',':
		l.word()
		l.expect = 'k'
	case l.expect == 'v' || l.expect == ',' && len(l.value) > 0: // a number or a word
		l.expect = ','
		l.value = append(l.value, c)
		l.broken = !strings.ContainsRune("+-.0123456789eEtrufalsn", rune(c)) || len(l.value) > 400
	default:
		l.broken = true
	}
}

// word ends a number or word; as an answer it is passed on, unless it is null.
func (l *lexer) word() {
	if l.field == answer && len(l.value) > 0 && string(l.value) != "null" {
		l.text = append(l.text, l.value...)
		l.flush()
	}
	l.value = l.value[:0]
}

// closeBracket reads a bracket that closes something, and reports whether that was the
// action.
func (l *lexer) closeBracket(c byte) (done bool) {
	l.emitByte(c)
	switch l.scan.Depth() {
	case 0:
		l.word()
	case 1:
		l.emitted[l.field] = l.emitted[l.field] || l.nestedAnswer
		l.nestedAnswer = false
		l.flush()
	}
	return l.scan.Depth() == 0
}

// A decoder reads the inside of a JSON string, byte by byte.
type decoder struct {
	escape []byte // the escape that is being read
	high   rune   // the first half of a pair
}

// step reads a byte and adds to text what it completes.
func (d *decoder) step(text []byte, c byte) []byte {
	if len(d.escape) == 0 {
		if c == '\\' {
			d.escape = append(d.escape, c)
			return text
		}
		return append(d.flushSurrogate(text), c)
	}
	d.escape = append(d.escape, c)
	escape := d.escape
	if escape[1] == 'u' && len(escape) < 6 && (len(escape) == 2 || isHex(c)) {
		return text
	}
	d.escape = d.escape[:0]
	switch {
	case escape[1] != 'u':
		return appendEscape(d.flushSurrogate(text), escape)
	case !isHex(c): // no escape after all
		return append(d.flushSurrogate(text), escape...)
	}
	n, _ := strconv.ParseUint(string(escape[2:]), 16, 32)
	r := rune(n)
	switch {
	case d.high != 0 && r >= 0xDC00 && r < 0xE000:
		r = utf16.DecodeRune(d.high, r)
		d.high = 0
		return utf8.AppendRune(text, r)
	case r >= 0xD800 && r < 0xDC00:
		text = d.flushSurrogate(text)
		d.high = r
		return text
	}
	return utf8.AppendRune(d.flushSurrogate(text), r)
}

// flushSurrogate adds the first half of a pair that never came.
func (d *decoder) flushSurrogate(text []byte) []byte {
	if d.high == 0 {
		return text
	}
	d.high = 0
	return utf8.AppendRune(text, utf8.RuneError)
}

// appendEscape adds an escape of two bytes. Unknown ones are what they look like.
func appendEscape(text, escape []byte) []byte {
	switch c := escape[1]; c {
	case 'n':
		return append(text, '\n')
	case 't':
		return append(text, '\t')
	case 'r':
		return append(text, '\r')
	case 'b':
		return append(text, '\b')
	case 'f':
		return append(text, '\f')
	case '"', '\\', '/', '\'', '`':
		return append(text, c)
	}
	return append(text, escape...)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
