package markdown

import (
	"strings"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// Limits of a section, in bytes.
const (
	maxSection  = 64 << 10
	probedBytes = 256     // how much of a line decides whether a section may end before it
	breakRange  = 8 << 10 // the last part of a section, in which it may end within a line
)

// A Section is a part of a long text that renders by itself, so that only what is in
// sight has to be rendered. The zero value is the first section of a text.
//
// A section ends before a paragraph, a heading or the like if there is one in its
// second half, else before a line, else within one. Where it ends depends on the text
// alone, and is known once the next line has begun: a text that arrives in pieces has the
// same sections as when it is parsed whole.
type Section struct {
	Joined bool // it continues the section before, without a blank line

	opening   string // opening line of the code block that it begins in; "" for none
	fence     string // opening line of the code block that is open at from
	afterText bool   // the line before from is not blank
	from      int    // offset of the first line that was not handled yet
	searched  int    // offset up to which the end of that line was searched
}

// Cut searches text, which begins with the section and may have grown since the last call,
// for the end of the section. It returns that, in bytes, and the section that begins there;
// 0 if the end has not arrived yet.
func (s *Section) Cut(text string) (end int, next Section) {
	for s.from < min(len(text), maxSection) {
		n := strings.IndexByte(text[s.searched:], '\n') + 1
		if n == 0 {
			s.searched = len(text)
		} else {
			n += s.searched - s.from
		}
		if n == 0 && len(text)-s.from < probedBytes {
			break
		}
		line := text[s.from:min(len(text), s.from+probedBytes)]
		if n > 0 {
			line = line[:min(n, probedBytes)]
		}
		if end, joined := s.ends(line); end {
			return s.from, Section{Joined: joined, opening: s.fence, fence: s.fence}
		}
		if n == 0 {
			break
		}
		s.advance(line)
		s.from += n
		s.searched = s.from
	}
	if len(text) < maxSection {
		return 0, Section{}
	}
	const at = maxSection - breakRange
	return at + breakPoint(text[at:maxSection]), Section{Joined: true, opening: s.fence, fence: s.fence}
}

// ends reports whether the section ends before line, which begins at from, and whether the
// next one is joined to it. The longer the section is, the more places are accepted.
func (s *Section) ends(line string) (end, joined bool) {
	if s.from < maxSection/2 || blank(line) {
		return false, false
	}
	switch {
	case s.fence == "" && !s.afterText && !strings.ContainsAny(line[:1], " \t") && marker([]byte(line)) == 0:
		return true, false // a new block begins
	case s.fence != "" && s.afterText && !closesFence(s.fence, line):
		return s.from > maxSection*3/4, true
	}
	return s.from > maxSection*7/8, s.afterText
}

// advance updates fence and afterText with a line.
func (s *Section) advance(line string) {
	if s.afterText = !blank(line); s.fence == "" {
		s.fence = openingFence(line)
	} else if closesFence(s.fence, line) {
		s.fence = ""
	}
}

// InCode reports whether the section begins within a code block.
func (s *Section) InCode() bool { return s.opening != "" }

// Doc returns a Doc to which the text of the section is to be appended. If the section begins
// in a code block, the Doc begins with the opening line of that, which Source and Head are
// for.
func (s *Section) Doc(th *theme.Theme) *Doc {
	d := New(th)
	d.append(s.opening)
	return d
}

// Source returns the text of the section, whose Doc is d.
func (s *Section) Source(d *Doc) string { return d.Source()[len(s.opening):] }

// EndAt is [Doc.EndAt] of the section's Doc, with n counted in Source.
func (s *Section) EndAt(d *Doc, n int) bool { return d.EndAt(len(s.opening) + n) }

// Head returns how many of the first lines of the section's Doc repeat earlier ones, and are
// not to be shown.
func (s *Section) Head() int {
	if s.opening == "" {
		return 0
	}
	fence := strings.TrimSpace(s.opening)
	words := infoWords(strings.TrimLeft(fence, fence[:1]))
	if len(words) == 0 || sanitize.Line(words[0]) == "" {
		return 0
	}
	return 1 // the language
}

// Fenced returns the code blocks of the section with this text, not sanitized.
func (s *Section) Fenced(text string) []Code {
	if s.opening == "" && !strings.Contains(text, "```") && !strings.Contains(text, "~~~") {
		return nil
	}
	return Fenced(s.opening + text)
}

// openingFence returns the line that opens a code block, "" if line does not. It may be
// indented by any number of spaces, as in a list: more than are allowed at the top level are
// left out.
func openingFence(line string) string {
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

// closesFence reports whether line closes the code block that fence opens.
func closesFence(fence, line string) bool {
	fence = strings.TrimLeft(fence, " ")
	length := len(fence) - len(strings.TrimLeft(fence, fence[:1]))
	body := strings.TrimSpace(line)
	return len(body) >= length && strings.Trim(body, fence[:1]) == ""
}
