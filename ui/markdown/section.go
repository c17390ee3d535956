package markdown

import (
	"strings"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// Limits of a section, in bytes.
const (
	maxSection = 64 << 10 // it ends here at the latest
	judged     = 256      // of a line decide whether a section may end before it
	lastWords  = 8 << 10  // before the latest end, where a section ends inside of a line
)

// A Section is a part of a long text that renders by itself, so that no more of
// the text need be held rendered than is in sight. The zero value is the first
// section of a text.
//
// A section ends before a paragraph, a heading or the like if there is one in its
// second half, else before a line, else inside of one. Where it ends hangs on the
// text alone, and is known once the line behind it has begun: a text that arrives
// in pieces gets the sections that it has as a whole.
type Section struct {
	Joined bool // no blank line stands before it

	head   string // the opening line of the code block that it begins in; "" for none
	fence  string // the same of the block that is open at from
	filled bool   // the line before from is not blank
	from   int    // where the first line begins that is not passed yet
	looked int    // up to where its end was looked for
}

// Cut looks for the end of the section in text, which begins where the section
// does, and holds at least what it held before. It returns the end and the
// section that begins there; 0 if the end has not come yet.
func (s *Section) Cut(text string) (end int, next Section) {
	for s.from < min(len(text), maxSection) {
		n := strings.IndexByte(text[s.looked:], '\n') + 1
		if n == 0 {
			s.looked = len(text)
		} else {
			n += s.looked - s.from
		}
		if n == 0 && len(text)-s.from < judged {
			break
		}
		line := text[s.from:min(len(text), s.from+judged)]
		if n > 0 {
			line = line[:min(n, judged)]
		}
		if end, joined := s.ends(line); end {
			return s.from, Section{Joined: joined, head: s.fence, fence: s.fence}
		}
		if n == 0 {
			break
		}
		s.pass(line)
		s.from += n
		s.looked = s.from
	}
	if len(text) < maxSection {
		return 0, Section{}
	}
	const at = maxSection - lastWords
	return at + breakIn(text[at:maxSection]), Section{Joined: true, head: s.fence, fence: s.fence}
}

// ends reports whether the section may end before line, which begins at from: the
// longer it is, the less is asked of that.
func (s *Section) ends(line string) (end, joined bool) {
	if s.from < maxSection/2 || blank(line) {
		return false, false
	}
	switch {
	case s.fence == "" && !s.filled && !strings.ContainsAny(line[:1], " \t") && marker([]byte(line)) == 0:
		return true, false // a block of its own begins
	case s.fence != "" && s.filled && !closes(s.fence, line):
		return s.from > maxSection*3/4, true
	}
	return s.from > maxSection*7/8, s.filled
}

// pass notes what a line opens or closes.
func (s *Section) pass(line string) {
	if s.filled = !blank(line); s.fence == "" {
		s.fence = opens(line)
	} else if closes(s.fence, line) {
		s.fence = ""
	}
}

// InCode reports whether the section begins inside of a code block.
func (s *Section) InCode() bool { return s.head != "" }

// Doc returns a Doc to which the text of the section is to be appended. Its Source
// and its Lines begin with what repeats the opening line of a code block: see
// Source and Head.
func (s *Section) Doc(th *theme.Theme) *Doc {
	d := New(th)
	d.append(s.head)
	return d
}

// Source returns the text of the section, whose Doc is d.
func (s *Section) Source(d *Doc) string { return d.Source()[len(s.head):] }

// EndAt is that of the section's Doc, n counted as in Source.
func (s *Section) EndAt(d *Doc, n int) bool { return d.EndAt(len(s.head) + n) }

// Head returns how many of the first lines of the section's Doc are not to be
// shown.
func (s *Section) Head() int {
	if s.head == "" {
		return 0
	}
	fence := strings.TrimSpace(s.head)
	words := infoWords(strings.TrimLeft(fence, fence[:1]))
	if len(words) == 0 || sanitize.Line(words[0]) == "" {
		return 0
	}
	return 1 // the language
}

// Fenced returns the code blocks of the section, whose text is given, printable or
// not.
func (s *Section) Fenced(text string) []Code {
	if s.head == "" && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	return Fenced(s.head + text)
}

// opens returns the line that opens a code block, "" if line does not. How far it
// is indented does not matter, since in a list that may be far: what is more than
// it may be at the top level is left out.
func opens(line string) string {
	body := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(body, "```") && !strings.HasPrefix(body, "~~~") || !strings.HasSuffix(body, "\n") {
		return ""
	}
	if body[0] == '`' && strings.Contains(strings.TrimLeft(body, "`"), "`") {
		return ""
	}
	if indent := len(line) - len(body); indent <= 3 && strings.HasPrefix(line, strings.Repeat(" ", indent)) {
		return line
	}
	return body
}

// closes reports whether line closes the code block that fence opens.
func closes(fence, line string) bool {
	fence = strings.TrimLeft(fence, " ")
	length := len(fence) - len(strings.TrimLeft(fence, fence[:1]))
	body := strings.TrimSpace(line)
	return len(body) >= length && strings.Trim(body, fence[:1]) == ""
}
