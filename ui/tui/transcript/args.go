package transcript

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// An argField is a string argument of a call.
type argField struct {
	name  string
	text  strings.Builder // the bytes received so far, up to the limit
	whole bool            // the string is complete
}

// An argsReader reads the strings of a JSON object that arrives in pieces. Each byte is
// read once. Input that is not an object has no fields.
type argsReader struct {
	limitOf func(name string) int // how many bytes of a field are kept
	fields  []*argField           // in order of arrival

	seen          string // input read so far
	state         func(*argsReader, string) int
	depth         int              // nesting of the skipped value
	name          strings.Builder  // of the next field
	dest          *strings.Builder // receives the current string; nil to skip it
	limit         int
	next          func(*argsReader, string) int // state after that string
	escape        string                        // the part of an escape read so far
	highSurrogate rune                          // the first half of a pair of \u escapes
}

// read reads input, which must begin with the input of the last call. If it does not,
// read starts again and returns true.
func (a *argsReader) read(input string) (anew bool) {
	if a.state == nil || !strings.HasPrefix(input, a.seen) { // fast for the same memory
		*a = argsReader{limitOf: a.limitOf, state: (*argsReader).expectObject}
		anew = true
	}
	rest := input[len(a.seen):]
	a.seen = input
	for rest != "" {
		rest = rest[a.state(a, rest):]
	}
	return anew
}

// The following states consume some bytes of s and return how many.
// expectObject expects the object.
func (a *argsReader) expectObject(s string) int {
	switch s[0] {
	case ' ', '\t', '\n', '\r':
	case '{':
		a.state = (*argsReader).expectName
	default:
		a.state = (*argsReader).skipRest
	}
	return 1
}

// skipRest skips everything after the object.
func (a *argsReader) skipRest(s string) int { return len(s) }

// expectName expects the name of a field.
func (a *argsReader) expectName(s string) int {
	switch s[0] {
	case '"':
		a.name.Reset()
		a.beginString(&a.name, maxName, (*argsReader).expectValue)
	case '}':
		a.state = (*argsReader).skipRest
	}
	return 1
}

// Limits: bytes of a name, and fields of an object.
const (
	maxName   = 256
	maxFields = 64
)

// expectValue expects the value of the field.
func (a *argsReader) expectValue(s string) int {
	switch s[0] {
	case ':', ' ', '\t', '\n', '\r':
	case '"':
		most := a.limitOf(a.name.String())
		if most == 0 || len(a.fields) == maxFields {
			a.beginString(nil, 0, (*argsReader).expectName)
			break
		}
		f := &argField{name: a.name.String()}
		a.fields = append(a.fields, f)
		a.beginString(&f.text, most, (*argsReader).expectName)
	default:
		a.depth = 0
		a.state = (*argsReader).skipValue
		return 0
	}
	return 1
}

// skipValue skips a value that is not a string.
func (a *argsReader) skipValue(s string) int {
	for i := range len(s) {
		switch s[i] {
		case '"':
			a.beginString(nil, 0, (*argsReader).skipValue)
			return i + 1
		case '{', '[':
			a.depth++
		case ',', '}', ']':
			if a.depth == 0 {
				a.state = (*argsReader).expectName
				return i
			}
			if s[i] != ',' {
				a.depth--
			}
		}
	}
	return len(s)
}

// beginString starts reading a string, after its opening quote.
func (a *argsReader) beginString(into *strings.Builder, most int, next func(*argsReader, string) int) {
	a.dest, a.limit, a.next, a.state = into, most, next, (*argsReader).readString
}

// readString reads the characters of a string.
func (a *argsReader) readString(s string) int {
	i := 0
	for i < len(s) && s[i] != '"' && s[i] != '\\' {
		i++
	}
	if i > 0 {
		a.put(s[:i])
		return i
	}
	if s[0] == '\\' {
		a.state = (*argsReader).readEscape
		return 1
	}
	a.put("")
	if n := len(a.fields); n > 0 && a.dest == &a.fields[n-1].text {
		a.fields[n-1].whole = true
	}
	a.state = a.next
	return 1
}

// escapes maps each one-character escape to its value, except those that stand for themselves.
var escapes = map[byte]string{'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}

// readEscape reads the rest of an escape, after the backslash.
func (a *argsReader) readEscape(s string) int {
	a.escape += s[:1]
	if a.escape[0] == 'u' && len(a.escape) < len("u1234") {
		return 1
	}
	code := a.escape
	a.escape, a.state = "", (*argsReader).readString
	if code[0] != 'u' {
		if known, ok := escapes[code[0]]; ok {
			code = known
		}
		a.put(code)
		return 1
	}
	unit, err := strconv.ParseUint(code[1:], 16, 16)
	if err != nil {
		a.put(`\` + code)
		return 1
	}
	a.putUTF16(rune(unit))
	return 1
}

// putUTF16 adds the value of a \u escape: a character, or half of a surrogate pair.
func (a *argsReader) putUTF16(r rune) {
	if whole := utf16.DecodeRune(a.highSurrogate, r); a.highSurrogate != 0 && whole != '\uFFFD' {
		a.highSurrogate = 0
		a.put(string(whole))
		return
	}
	a.put("") // the pending half has no counterpart
	if r >= 0xd800 && r < 0xdc00 {
		a.highSurrogate = r
		return
	}
	a.put(string(r))
}

// put adds s to the current string.
func (a *argsReader) put(s string) {
	if a.highSurrogate != 0 {
		a.highSurrogate = 0
		s = "\uFFFD" + s
	}
	if a.dest == nil {
		return
	}
	if room := a.limit - a.dest.Len(); len(s) > room {
		s = s[:max(room, 0)]
	}
	a.dest.WriteString(s)
}

// titleArgs lists the arguments that can be the title of a call, best first.
var titleArgs = []string{"command", "cmd", "pattern", "query", "url", "path", "file_path", "filename", "file", "directory", "name", "question", "task"}

// titleRank returns the index of an argument in titleArgs, or len(titleArgs) if it is not listed.
func titleRank(name string) int {
	for i, t := range titleArgs {
		if t == name {
			return i
		}
	}
	return len(titleArgs)
}

// title returns the received argument with the lowest titleRank, or "" if there is none.
func (a *argsReader) title() string {
	best, rank := "", len(titleArgs)
	for _, f := range a.fields {
		if r := titleRank(f.name); r < rank {
			best, rank = f.text.String(), r
		}
	}
	return strings.ToValidUTF8(best[:min(len(best), maxTitleBytes)], "\uFFFD")
}

// titleInputBytes is how many bytes of complete arguments are read to find the title,
// which is near the beginning.
const titleInputBytes = 4 << 10

// titleOf returns the title of a call with these arguments, or "" for none.
func titleOf(input string) string {
	a := argsReader{limitOf: func(name string) int {
		if titleRank(name) < len(titleArgs) {
			return maxTitleBytes
		}
		return 0
	}}
	a.read(input[:min(len(input), titleInputBytes)])
	return a.title()
}
