package markdown

import (
	"strings"
	"sync"
	"unicode/utf8"

	"parley/tools/diff"
	"parley/tools/sanitize"
)

// A grammar describes a language to a scanner: where comments and strings begin and
// end, and which words are reserved.
type grammar struct {
	names string // of the language, in info strings and as file extensions, separated by spaces
	spans []span // in the order they are tried
	words string // reserved words, separated by spaces
	types string // names of types that are built in, separated by spaces
	named bool   // names that begin with a capital are types, unless they are called
	calls bool   // a name before a parenthesis is called or defined
	fold  bool   // reserved words may be in any case
	inner string // characters that may be inside a word, besides letters, digits and _
	diff  bool   // the first character of a line colors all of it
}

// A span is text between two delimiters.
type span struct {
	open, close string // an empty close is the end of the line
	role        role
	raw         bool // a backslash escapes nothing
	long        bool // goes on in the next line
	apart       bool // begins only where a word could
}

// A scanner styles the lines of one code block, in order. Its only state between lines
// is the string or comment that a line ends in, so that a line is styled once, when it is
// complete, in linear time.
type scanner struct {
	grammar *grammar
	words   map[string]role // reserved words and built-in types; of all scanners of the language
	inside  *span
}

// newScanner returns a scanner for a language. Lines of an unknown one have no styles.
func newScanner(lang string) *scanner {
	l, known := languages()[strings.ToLower(lang)]
	if !known {
		return &scanner{}
	}
	return &scanner{grammar: l.grammar, words: l.words()}
}

// A codeLanguage is a grammar with the roles of its words, which are made on first use and
// shared by all scanners.
type codeLanguage struct {
	grammar *grammar
	words   func() map[string]role
}

// languages holds the languages by name. Of two with the same name it is the first.
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

// longLine is the length of the longest line, in bytes, that is styled and whose tabs go to
// tab stops. Longer ones are data.
const longLine = 2 << 10

// uncolored returns a long line, or a part of one, sanitized and with tabs as four spaces.
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
	plain := 0 // where the text not yet in runs begins
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

// nameRole returns the role of a name that is not reserved, by what follows it.
func (s *scanner) nameRole(w, rest string) role {
	switch {
	case s.grammar.calls && (strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "!(")):
		return function
	case s.grammar.named && len(w) > 1 && w[0] >= 'A' && w[0] <= 'Z' && strings.ToUpper(w) != w:
		return typeName
	}
	return plainText
}

// spanRest returns how many bytes of line belong to the open span sp, with its closing
// delimiter, and sets s.inside if it continues in the next line.
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
