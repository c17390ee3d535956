package markdown

import (
	"strings"

	"parley/tools/sanitize"
	"parley/ui/theme"
)

// Limits of a section, in bytes.
const (
	maxSection  = 64 << 10
	probedBytes = 256     // bytes of a line examined to decide whether a section may end before it
	breakRange  = 8 << 10 // final range of a section in which it may end within a line
)

// A Section is a part of a long text that renders separately, so that only visible
// sections have to be rendered. The zero value is the first section of a text.
//
// A section ends before a block such as a paragraph or a heading if one begins in its
// second half; else before a line; else within a line. The end depends only on the text,
// and is known once the next line has begun. A text that arrives in pieces has the same
// sections as a text parsed as a whole.
type Section struct {
	Joined bool // the section continues the previous one, without a blank line

	opening   string // opening line of the code block in which the section begins; "" for none
	fence     string // opening line of the code block open at from; "" for none
	afterText bool   // the line before from is not blank
	from      int    // offset of the first unprocessed line
	searched  int    // offset up to which a newline was searched in that line
}

// Cut searches text for the end of the section. text begins with the section and may have
// grown since the last call. Cut returns the end, in bytes, and the section that begins
// there; 0 if the end has not arrived yet.
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
// next section is joined to it. The longer the section, the more positions are accepted.
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

// Doc returns a Doc for the text of the section, which the caller appends. If the section begins
// in a code block, the Doc begins with its opening line; Source and Head account for that.
func (s *Section) Doc(th *theme.Theme) *Doc {
	d := New(th)
	d.append(s.opening)
	return d
}

// Source returns the text of the section; d is its Doc.
func (s *Section) Source(d *Doc) string { return d.Source()[len(s.opening):] }

// EndAt calls [Doc.EndAt] of the section's Doc; n counts bytes of Source.
func (s *Section) EndAt(d *Doc, n int) bool { return d.EndAt(len(s.opening) + n) }

// Head returns the number of lines at the start of the section's Doc that repeat earlier
// ones and must not be shown.
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

// openingFence returns the opening line of a code block, or "" if line is not one. The line
// may be indented by any number of spaces, as in a list; spaces beyond the limit for
// top-level blocks are removed.
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
