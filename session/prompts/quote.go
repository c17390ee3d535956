package prompts

import (
	"strings"
)

// A quoter follows how a shell reads a command, as far as quotes go, so that what is put in
// stays what it is: a word, or a part of one.
type quoter struct {
	quotes []byte // that are open, each in a $( ) of the one before: '"', '\'' or 0
	escape bool   // a backslash is in front
	last   byte
}

func (q *quoter) top() *byte {
	if len(q.quotes) == 0 {
		q.quotes = []byte{0}
	}
	return &q.quotes[len(q.quotes)-1]
}

// read follows a text of the command's own.
func (q *quoter) read(text string) {
	for i := range len(text) {
		c, in := text[i], q.top()
		switch {
		case q.escape:
			q.escape = false
		case *in == '\'':
			if c == '\'' {
				*in = 0
			}
		case c == '\\':
			q.escape = true
		case c == '"' && *in == '"':
			*in = 0
		case c == '"' || c == '\'' && *in == 0:
			*in = c
		case c == '(' && q.last == '$':
			q.quotes = append(q.quotes, 0)
		case c == ')' && *in == 0 && len(q.quotes) > 1:
			q.quotes = q.quotes[:len(q.quotes)-1]
		}
		q.last = c
	}
}

// put returns a value as it has to be written here.
func (q *quoter) put(value string) string {
	q.escape, q.last = false, 0
	switch *q.top() {
	case '\'':
		return strings.ReplaceAll(value, "'", `'\''`)
	case '"':
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value)
	}
	return quoteWord(value)
}

// quoteWord returns a value as one word of a shell.
func quoteWord(value string) string {
	plain := func(r rune) bool { return isNameRune(r) || strings.ContainsRune("-+=:,./@%", r) }
	if value != "" && strings.TrimFunc(value, plain) == "" && value[0] != '=' {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// shell returns a command with its arguments: each stays one word, whatever is in it.
func (v *values) shell(nodes []node) string {
	var b strings.Builder
	q := &quoter{}
	for _, n := range nodes {
		switch {
		case n.kind == literal:
			q.read(n.text)
			b.WriteString(n.text)
		case n.kind == all && *q.top() == 0:
			var words []string
			for _, w := range v.words {
				words = append(words, quoteWord(w))
			}
			b.WriteString(strings.Join(words, " "))
			q.put("")
		case n.kind == position && n.index >= len(v.words) && *q.top() == 0:
		default:
			b.WriteString(q.put(v.value(n)))
		}
	}
	return b.String()
}
