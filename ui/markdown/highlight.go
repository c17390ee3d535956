package markdown

import (
	"strings"
	"sync"
	"unicode/utf8"

	"parley/tools/diff"
	"parley/tools/sanitize"
)

// A grammar describes a language to a scanner: the delimiters of comments and
// strings, and the reserved words.
type grammar struct {
	names string // names of the language, in info strings and as file extensions, separated by spaces
	spans []span // in the order in which they are tried
	words string // reserved words, separated by spaces
	types string // built-in types, separated by spaces
	named bool   // names that begin with a capital letter are types, unless they are called
	calls bool   // a name before a parenthesis is called or defined
	fold  bool   // reserved words are case-insensitive
	inner string // characters allowed inside a word besides letters, digits and _
	diff  bool   // the first character of a line determines its color
}

// A span is text between two delimiters.
type span struct {
	open, close string // an empty close stands for the end of the line
	role        role
	raw         bool // backslashes do not escape
	long        bool // may continue on the next line
	apart       bool // begins only at the start of a word
}

// A scanner styles the lines of one code block, in order. Its only state between lines is
// the string or comment that is open at the end of a line. So each line is styled once,
// when it is complete, in linear time.
type scanner struct {
	grammar *grammar
	words   map[string]role // reserved words and built-in types, shared by all scanners of the language
	inside  *span
}

// newScanner returns a scanner for a language. Lines of an unknown language have no styles.
func newScanner(lang string) *scanner {
	l, known := languages()[strings.ToLower(lang)]
	if !known {
		return &scanner{}
	}
	return &scanner{grammar: l.grammar, words: l.words()}
}

// A codeLanguage is a grammar with the roles of its words. They are computed on first use
// and shared by all scanners.
type codeLanguage struct {
	grammar *grammar
	words   func() map[string]role
}

// languages maps names to languages. If two have the same name, the first one wins.
var languages = sync.OnceValue(func() map[string]codeLanguage {
	all := map[string]codeLanguage{}
	for i := range grammars {
		l := codeLanguage{&grammars[i], sync.OnceValue(grammars[i].roles)}
		for name := range strings.FieldsSeq(l.grammar.names) {
			if _, known := all[name]; !known {
				all[name] = l
			}
		}
	}
	return all
})

// roles returns the roles of reserved words and built-in types.
func (g *grammar) roles() map[string]role {
	words := map[string]role{}
	for w := range strings.FieldsSeq(g.words) {
		words[w] = keyword
	}
	for w := range strings.FieldsSeq(g.types) {
		words[w] = typeName
	}
	return words
}

// clone returns a scanner with the same state.
func (s *scanner) clone() *scanner {
	c := *s
	return &c
}

// longLine is the maximum length, in bytes, of a line that is styled and whose tabs go to
// tab stops. Longer lines are assumed to be data.
const longLine = 2 << 10

// uncolored returns a long line, or a part of one, sanitized and with each tab as four spaces.
func uncolored(line string) string {
	return strings.ReplaceAll(sanitize.Text(strings.TrimRight(line, "\r\n")), "\t", "    ")
}

// line returns the runs of the next line.
func (s *scanner) line(line string) []styledRun {
	if len(line) > longLine+len("\r\n") {
		return []styledRun{{uncolored(line), textStyle{}}}
	}
	line = printable(line)
	switch {
	case s.grammar == nil:
		return []styledRun{{line, textStyle{}}}
	case s.grammar.diff:
		return []styledRun{{line, textStyle{role: diffRole(line)}}}
	}
	var runs []styledRun
	plain := 0 // start of the text not yet in runs
	for i := 0; i < len(line); {
		n, r := s.token(line, i)
		if r != plainText {
			if plain < i {
				runs = append(runs, styledRun{line[plain:i], textStyle{}})
			}
			runs = append(runs, styledRun{line[i : i+n], textStyle{role: r}})
			plain = i + n
		}
		i += n
	}
	if plain < len(line) {
		runs = append(runs, styledRun{line[plain:], textStyle{}})
	}
	return runs
}

func diffRole(line string) role {
	switch diff.Guess(line) {
	case diff.Added, diff.NewName:
		return good
	case diff.Removed, diff.OldName:
		return bad
	case diff.Hunk:
		return comment
	}
	return plainText
}

// token returns the length and the role of the token at i.
func (s *scanner) token(line string, i int) (int, role) {
	if s.inside != nil {
		sp := s.inside
		return s.spanRest(line[i:], sp), sp.role
	}
	for k := range s.grammar.spans {
		sp := &s.grammar.spans[k]
		if strings.HasPrefix(line[i:], sp.open) && !(sp.apart && i > 0 && line[i-1] != ' ') {
			n := len(sp.open)
			return n + s.spanRest(line[i+n:], sp), sp.role
		}
	}
	c := line[i]
	switch {
	case c >= '0' && c <= '9':
		return s.word(line, i, "."), number
	case s.isWordByte(c):
		n := s.word(line, i, s.grammar.inner)
		w := line[i : i+n]
		if s.grammar.fold {
			w = strings.ToLower(w)
		}
		if r, ok := s.words[w]; ok {
			return n, r
		}
		return n, s.nameRole(w, line[i+n:])
	}
	return 1, plainText
}

// nameRole returns the role of an unreserved name; rest is the text after it.
func (s *scanner) nameRole(w, rest string) role {
	switch {
	case s.grammar.calls && (strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "!(")):
		return function
	case s.grammar.named && len(w) > 1 && w[0] >= 'A' && w[0] <= 'Z' && strings.ToUpper(w) != w:
		return typeName
	}
	return plainText
}

// spanRest returns the number of bytes of line that belong to the open span sp, including
// its closing delimiter. It sets s.inside if the span continues on the next line.
func (s *scanner) spanRest(line string, sp *span) int {
	s.inside = nil
	if sp.close == "" {
		return len(line)
	}
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' && !sp.raw {
			i++
		} else if strings.HasPrefix(line[i:], sp.close) {
			return i + len(sp.close)
		}
	}
	if sp.long {
		s.inside = sp
	}
	return len(line)
}

// word returns the length of the word at i, in bytes.
func (s *scanner) word(line string, i int, inner string) int {
	n := 1
	for i+n < len(line) {
		c := line[i+n]
		if !s.isWordByte(c) && (c < '0' || c > '9') && strings.IndexByte(inner, c) < 0 {
			break
		}
		n++
	}
	return n
}

func (s *scanner) isWordByte(c byte) bool {
	return c|' ' >= 'a' && c|' ' <= 'z' || c == '_' || c == '#' || c == '@' || c >= utf8.RuneSelf
}
