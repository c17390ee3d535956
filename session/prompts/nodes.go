package prompts

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind is the kind of a node.
type kind int

const (
	literal  kind = iota
	all           // all arguments as typed
	position      // one argument
	named         // a named value
	command       // output of a command
	file          // a mention of a file
)

// A node is a part of a body.
type node struct {
	kind    kind
	text    string // of a literal or command, or the name of a value
	index   int    // of position, from 0
	line    int    // of the file
	preset  string // default of a name
	has     bool   // preset is set
	choices []string
	inner   []node // parts of a command or a file mention
}

// A reader parses a body.
type reader struct {
	*Prompt
	rest    string
	line    int
	before  rune // before rest; 0 at the beginning
	literal strings.Builder
	out     []node
}

// nodes returns the parts of the body. Its errors are of type *Error.
func (p *Prompt) nodes() ([]node, error) {
	r := &reader{Prompt: p, rest: p.Body, line: p.Line}
	for r.rest != "" {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	r.flush()
	return r.out, nil
}

// flush ends the current literal.
func (r *reader) flush() {
	if r.literal.Len() > 0 {
		r.out = append(r.out, node{kind: literal, text: r.literal.String()})
		r.literal.Reset()
	}
}

// take consumes n bytes.
func (r *reader) take(n int) string {
	text := r.rest[:n]
	r.line += strings.Count(text, "\n")
	r.before, _ = utf8.DecodeLastRuneInString(text)
	r.rest = r.rest[n:]
	return text
}

// add adds a node that spans n bytes.
func (r *reader) add(n int, is node) {
	r.flush()
	is.line = r.line
	r.take(n)
	r.out = append(r.out, is)
}

// next reads the next node.
func (r *reader) next() error {
	if n, plain := r.escape(); n > 0 {
		r.take(n)
		r.literal.WriteString(plain)
		return nil
	}
	if is, n := r.placeholder(r.rest, false); n > 0 {
		r.add(n, is)
		return nil
	}
	if n, inside := r.shell(); n > 0 {
		inner := r.parts(inside, true)
		r.add(n, node{kind: command, text: inside, inner: inner})
		return nil
	} else if n < 0 {
		return &Error{r.Path, r.line, "the command that begins here does not end"}
	}
	if n, path := r.mention(); n > 0 {
		r.add(n, node{kind: file, text: r.rest[:n], inner: r.parts(path, false)})
		return nil
	}
	_, size := utf8.DecodeRuneInString(r.rest)
	r.literal.WriteString(r.take(size))
	return nil
}

// escape parses an escaped character: a backslash before it, or a doubled $.
func (r *reader) escape() (n int, plain string) {
	if r.Program != Parley {
		return 0, ""
	}
	for _, e := range []string{`\$`, "\\!`", `\@`, `\{{`} {
		if strings.HasPrefix(r.rest, e) {
			return len(e), e[1:]
		}
	}
	if strings.HasPrefix(r.rest, "$$") {
		return 2, "$"
	}
	return 0, ""
}

// parts parses the placeholders within a command or a path.
func (r *reader) parts(text string, shell bool) (out []node) {
	line := r.line
	for text != "" {
		is, n := r.placeholder(text, shell)
		if n == 0 {
			at := strings.IndexAny(text[1:], "${") + 1
			if at == 0 {
				at = len(text)
			}
			is, n = node{kind: literal, text: text[:at]}, at
		}
		is.line = line
		line += strings.Count(text[:n], "\n")
		text = text[n:]
		out = append(out, is)
	}
	return out
}

// placeholder parses the placeholder at the beginning of text; n is 0 if there is none. In a
// command, undeclared names are the shell's.
func (r *reader) placeholder(text string, shell bool) (is node, n int) {
	switch {
	case text[0] == '$' && r.Program != Gemini:
		return r.dollar(text, shell)
	case strings.HasPrefix(text, "{{") && r.before != '$': // ${{ belongs to a workflow
		return r.braces(text)
	}
	return node{}, 0
}

// dollar parses $ARGUMENTS, $@, $1 and $NAME.
func (r *reader) dollar(text string, shell bool) (is node, n int) {
	rest := text[1:]
	name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isNameRune))]
	switch {
	case name == "ARGUMENTS":
		var i int
		if _, err := fmt.Sscanf(rest[len(name):], "[%d]", &i); err == nil && i >= 0 && i < 100 && strings.HasPrefix(rest[len(name):], fmt.Sprintf("[%d]", i)) {
			return node{kind: position, index: i}, 1 + len(name) + len(fmt.Sprintf("[%d]", i))
		}
		return node{kind: all}, 1 + len(name)
	case strings.HasPrefix(rest, "@") && r.Program != Claude && !shell:
		return node{kind: all}, 2
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		return node{kind: position, index: int(name[0] - '1')}, 2
	case name == "" || name[0] >= '0' && name[0] <= '9':
		return node{}, 0
	case slices.Contains(r.Arguments, name):
		return node{kind: named, text: name}, 1 + len(name)
	case !shell && len(name) > 1 && (r.Program == Parley || r.Program == Codex) && strings.ToUpper(name) == name && strings.ContainsFunc(name, unicode.IsLetter):
		return node{kind: named, text: name}, 1 + len(name)
	}
	return node{}, 0
}

func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// braces parses {{args}}, {{name}}, {{name=value}} and {{name:one|other}}.
func (r *reader) braces(text string) (is node, n int) {
	inside, _, ok := strings.Cut(text[2:], "}}")
	n = 2 + len(inside) + 2
	if !ok || strings.Contains(inside, "\n") || r.Program != Parley && r.Program != Gemini {
		return node{}, 0
	}
	inside = strings.TrimSpace(inside)
	end := len(inside) - len(strings.TrimLeftFunc(inside, func(r rune) bool { return isNameRune(r) || r == '-' }))
	name, rest := inside[:end], inside[end:]
	switch {
	case name == "" || name[0] >= '0' && name[0] <= '9' || name[0] == '-':
		return node{}, 0
	case name == "args" && rest == "":
		return node{kind: all}, n
	case r.Program == Gemini:
		return node{}, 0
	case rest == "":
		return node{kind: named, text: name}, n
	case rest[0] == '=':
		return node{kind: named, text: name, preset: rest[1:], has: true}, n
	case rest[0] == ':':
		is = node{kind: named, text: name}
		for _, c := range strings.Split(rest[1:], "|") {
			if c = strings.TrimSpace(c); c != "" {
				is.choices = append(is.choices, c)
			}
		}
		if len(is.choices) > 0 {
			return is, n
		}
	}
	return node{}, 0
}

// shell parses !`command`, or !{command} of gemini-cli. N is 0 if there is none, and negative
// if it is not closed.
func (r *reader) shell() (n int, inside string) {
	if r.Program == Gemini {
		if !strings.HasPrefix(r.rest, "!{") {
			return 0, ""
		}
		return balanced(r.rest, 2)
	}
	if r.Program == Codex || !strings.HasPrefix(r.rest, "!`") || r.before != 0 && !unicode.IsSpace(r.before) && !strings.ContainsRune("([:>*|", r.before) {
		return 0, ""
	}
	end := strings.IndexByte(r.rest[2:], '`')
	if end < 0 {
		return -1, ""
	}
	return end + 3, r.rest[2 : 2+end]
}

// balanced returns the text up to the brace that closes the one before from.
func balanced(text string, from int) (n int, inside string) {
	depth := 1
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, text[from:i]
			}
		}
	}
	return -1, ""
}

// mention parses @path, or @{path} of gemini-cli; n is 0 if there is none. It does not
// check whether the file exists.
func (r *reader) mention() (n int, path string) {
	switch {
	case r.Program == Codex || r.rest[0] != '@':
		return 0, ""
	case r.Program == Gemini:
		if strings.HasPrefix(r.rest, "@{") {
			if n, path = balanced(r.rest, 2); n > 0 {
				return n, path
			}
		}
		return 0, ""
	case unicode.IsLetter(r.before) || unicode.IsDigit(r.before) || r.before != 0 && strings.ContainsRune(`@/\_.-`, r.before):
		return 0, ""
	}
	rest := r.rest[1:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		inside, _, closed := strings.Cut(rest[1:], rest[:1])
		if closed && inside != "" && !strings.Contains(inside, "\n") {
			return len(inside) + 3, inside
		}
		return 0, ""
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	return 1 + end, rest[:end] // a lone @ has no path and is text
}
