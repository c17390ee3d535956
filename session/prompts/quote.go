package prompts

import (
	"cmp"
	"strings"
)

// A quoter follows how a shell reads a command, as far as quotes go, so that what is put in
// stays what it is: a word, or a part of one. Where it cannot tell it says so.
type quoter struct {
	quotes  []byte // that are open, each in the parentheses of the one before: '"', '\'', '$' for $'…', or 0
	escape  bool   // a backslash precedes
	comment bool   // up to the end of the line
	less    int    // how many < precede
	braces  int    // of ${ } in double quotes that are open
	word    string // without quotes that is read, as far as it may be "case"
	last    byte
	unsure  string // the reason why nothing can be quoted from here on, such as "<<"; "": it can be
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
		q.doubt(c, *in)
		switch {
		case q.comment:
			q.comment = c != '\n'
		case q.escape:
			q.escape, c = false, '\\' // what it is does not count
		case *in == '$':
			q.escape = c == '\\'
			if c == '\'' {
				*in = 0
			}
		case *in == '\'':
			if c == '\'' {
				*in = 0
			}
		case c == '\\':
			q.escape = true
		case c == '#' && *in == 0 && (q.last == 0 || strings.IndexByte(" \t\n;&|()", q.last) >= 0):
			q.comment = true
		case c == '\'' && *in == 0 && q.last == '$':
			*in = '$'
		case c == '"' && *in == '"':
			*in = 0
		case c == '"' || c == '\'' && *in == 0:
			*in = c
		case c == '(' && (*in == 0 || q.last == '$'):
			q.quotes = append(q.quotes, 0)
		case c == ')' && *in == 0 && len(q.quotes) > 1:
			q.quotes = q.quotes[:len(q.quotes)-1]
		}
		q.last = c
	}
}

// doubt notes what begins with c, and has rules of its own for quotes.
func (q *quoter) doubt(c, in byte) {
	if q.comment || q.escape || in == '\'' || in == '$' {
		q.less, q.word = 0, ""
		return
	}
	switch {
	case q.less == 2 && c != '<': // <<< is none
		q.unsure = "<<"
	case c == '`':
		q.unsure = "`"
	case in == 0 && strings.IndexByte(" \t\n", c) >= 0 && q.word == "case" && len(q.quotes) > 1: // its patterns close parentheses
		q.unsure = "case in parentheses"
	case in == '"' && c == '{' && q.last == '$':
		q.braces++
	case in == '"' && c == '}' && q.braces > 0:
		q.braces--
	case in == '"' && q.braces > 0 && (c == '"' || c == '\''):
		q.unsure = "quotes in ${ }"
	}
	if q.less++; c != '<' || in != 0 {
		q.less = 0
	}
	if len(q.word) <= len("case") {
		q.word += string(c)
	}
	if in != 0 || strings.IndexByte(" \t\n;&|()", c) >= 0 {
		q.word = ""
	}
}

// put returns a value as it has to be written here.
func (q *quoter) put(value string) string {
	if q.comment {
		return strings.ReplaceAll(value, "\n", " ")
	}
	q.doubt('x', 0)
	if q.last = 'x'; q.escape { // the backslash is one
		q.escape = false
		return `\` + q.put(value)
	}
	switch *q.top() {
	case '$':
		return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value)
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

// shell returns a command with its arguments: each stays one word, whatever is in it. Unsure names
// the text after which an argument cannot be quoted; "" if all can be.
func (v *values) shell(nodes []node) (command, unsure string) {
	var b strings.Builder
	q := &quoter{}
	for _, n := range nodes {
		switch {
		case n.kind == literal:
			q.read(n.text)
			b.WriteString(n.text)
			continue
		case n.kind == all && *q.top() == 0 && !q.escape && !q.comment:
			var words []string
			for _, w := range v.words {
				words = append(words, quoteWord(w))
			}
			b.WriteString(strings.Join(words, " "))
			if q.doubt('x', 0); len(words) > 0 {
				q.last = 'x'
			}
		case n.kind == position && n.index >= len(v.words) && *q.top() == 0:
		default:
			b.WriteString(q.put(v.value(n)))
		}
		unsure = cmp.Or(unsure, q.unsure)
	}
	return b.String(), unsure
}
