package transcript

import (
	"encoding/json"
	"slices"
	"strings"
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

	seen  string // input of the last call
	at    int    // offset in seen up to which it was read
	state func(*argsReader, string) int
	depth int              // nesting of the skipped value
	name  strings.Builder  // of the next field
	dest  *strings.Builder // receives the current string; nil to skip it
	limit int
	next  func(*argsReader, string) int // state after that string
}

// read reads input, which must begin with the input of the last call. If it does not,
// read starts again and returns true.
func (a *argsReader) read(input string) (anew bool) {
	if a.state == nil || !strings.HasPrefix(input, a.seen) { // fast for the same memory
		*a = argsReader{limitOf: a.limitOf, state: (*argsReader).expectObject}
		anew = true
	}
	a.seen = input
	for a.at < len(input) {
		n := a.state(a, input[a.at:])
		if n < 0 {
			break
		}
		a.at += n
	}
	return anew
}

// The following states consume some bytes of s and return how many; -1 if they need more of them.
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
	n := strings.IndexAny(s, `"\\`)
	switch {
	case n < 0:
		n = len(s)
	case n == 0 && s[0] == '\\':
		return a.readEscape(s)
	case n == 0:
		if n := len(a.fields); n > 0 && a.dest == &a.fields[n-1].text {
			a.fields[n-1].whole = true
		}
		a.state = a.next
		return 1
	}
	a.put(s[:n])
	return n
}

// readEscape reads an escape, or two of them for the halves of a surrogate pair.
func (a *argsReader) readEscape(s string) int {
	size := len(`\n`)
	if strings.HasPrefix(s, `\u`) {
		size = len(`\u1234`)
	}
	if len(s) >= size && size > 2 && s[2]|' ' == 'd' && s[3] > '7' && strings.HasPrefix(`\u`, s[size:min(len(s), size+2)]) {
		size *= 2
	}
	if len(s) < size {
		return -1
	}
	var text string
	if json.Unmarshal([]byte(`"`+s[:size]+`"`), &text) != nil {
		text = s[1:size]
	}
	a.put(text)
	return size
}

// put adds s to the current string.
func (a *argsReader) put(s string) {
	if a.dest != nil {
		a.dest.WriteString(s[:max(min(len(s), a.limit-a.dest.Len()), 0)])
	}
}

// titleArgs lists the arguments that can be the title of a call, best first.
var titleArgs = []string{"command", "cmd", "pattern", "query", "url", "path", "file_path", "filename", "file", "directory", "name", "question", "task"}

// title returns the received argument that is listed first in titleArgs, or "" if there is none.
func (a *argsReader) title() string {
	for _, name := range titleArgs {
		if i := slices.IndexFunc(a.fields, func(f *argField) bool { return f.name == name }); i >= 0 {
			text := a.fields[i].text.String()
			return strings.ToValidUTF8(text[:min(len(text), maxTitleBytes)], "\uFFFD")
		}
	}
	return ""
}

// titleInputBytes is how many bytes of complete arguments are read to find the title,
// which is near the beginning.
const titleInputBytes = 4 << 10

// titleOf returns the title of a call with these arguments, or "" for none.
func titleOf(input string) string {
	a := argsReader{limitOf: func(name string) int {
		if slices.Contains(titleArgs, name) {
			return maxTitleBytes
		}
		return 0
	}}
	a.read(input[:min(len(input), titleInputBytes)])
	return a.title()
}
