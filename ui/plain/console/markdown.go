package console

import (
	"fmt"
	"strings"
	"time"

	"parley/tools/lazy"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// How long text waits for the end of its sentence, and code for its last line,
// before it is read out anyway.
const (
	SentenceWait = 3 * time.Second
	CodeWait     = 5 * time.Second
)

// longestEnding exceeds the bytes of a sentence end, including its quotes.
const longestEnding = 16

// longest is the maximum number of bytes of a line that wait for the end of a sentence.
const longest = 4 << 10

// A Markdown turns Markdown that arrives in pieces into text that can be read out
// from the first line to the last: whole sentences, links as "text (url)", tables
// row by row with their column names, and code blocks announced with their
// length. The rest stays as the model wrote it.
type Markdown struct {
	clean sanitize.Stream
	line  string    // unread part of the source line
	begun bool      // the beginning of the line was read out
	seen  int       // bytes of line already searched for the end of a sentence
	since time.Time // when the oldest waiting text arrived
	blank bool      // the last line was empty
	head  string    // a line that may be a table header; "" if none waits
	names []string  // columns of the open table; nil for none
	code  *code     // the open code block; nil for none
}

// A code is an open code block.
type code struct {
	fence     string // the opening fence
	indent    int    // indentation of the fence
	lang      string
	pending   []string // lines waiting for the end
	lines     int
	announced bool // the block was announced, and lines are read out as they arrive
}

var (
	fences    = lazy.NewRegexp("^( *(?:> ?|[-*+] +|[0-9]+[.)] +)?)(```+|~~~+)[ \t]*([^\\s`]*)[^`]*$")
	delimiter = lazy.NewRegexp(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	ruler     = lazy.NewRegexp(`^ {0,3}([-*_=][ \t]*){3,}$`)
	marker    = lazy.NewRegexp(`^\s*(?:(?:>|[-*+]|#{1,6}|[0-9]+[.)])\s+)*`)
	ending    = lazy.NewRegexp(`[.!?…]["'”’)\]*_]*\s|[。！？]`)
	link      = lazy.NewRegexp(`(!?)\[([^\[\]]*)\]\(<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?(?:\s+"[^"]*")?\)`)
	bold      = lazy.NewRegexp(`(^|[^0-9A-Za-z_*])(?:\*\*(\S(?:.*?\S)?)\*\*|__(\S(?:.*?\S)?)__\b)`)
)

// Add adds a piece and returns the text that can be read out now.
func (m *Markdown) Add(piece string, now time.Time) string {
	return m.take(m.clean.Add(piece).String(), now)
}

func (m *Markdown) take(text string, now time.Time) string {
	if text == "" {
		return ""
	}
	if !m.waits() {
		m.since = now
	}
	var out strings.Builder
	m.line += text
	for {
		line, rest, whole := strings.Cut(m.line, "\n")
		if !whole {
			break
		}
		m.line, m.seen = rest, 0
		out.WriteString(m.whole(line))
		m.since = now
	}
	out.WriteString(m.sentences())
	return out.String()
}

// End returns the remaining text at the end of the input.
func (m *Markdown) End(now time.Time) string {
	out := m.take(m.clean.End().String(), now)
	if m.line != "" || m.begun {
		line := m.line
		m.line = ""
		out += m.whole(line)
	}
	if m.head != "" {
		out += m.plain(m.head)
		m.head = ""
	}
	out += m.closeTable()
	if m.code != nil {
		out += m.closeCode()
	}
	*m = Markdown{}
	return out
}

// waits reports whether any text is unread.
func (m *Markdown) waits() bool {
	return m.line != "" || m.head != "" || m.code != nil && len(m.code.pending) > 0
}

// Due returns when Late has text to read out; zero if nothing waits.
func (m *Markdown) Due() time.Time {
	switch {
	case !m.waits():
		return time.Time{}
	case m.code != nil:
		return m.since.Add(CodeWait)
	}
	return m.since.Add(SentenceWait)
}

// Late returns text that has waited too long.
func (m *Markdown) Late(now time.Time) string {
	if due := m.Due(); due.IsZero() || now.Before(due) {
		return ""
	}
	m.since = now
	if c := m.code; c != nil {
		out := ""
		if !c.announced && len(c.pending) > 0 {
			out = c.announce("")
		}
		return out
	}
	out := ""
	if m.head != "" {
		out, m.head = m.plain(m.head), ""
	}
	if first := strings.TrimLeft(m.line, " "); m.names != nil || strings.HasPrefix(first, "|") || strings.HasPrefix(first, "```") || strings.HasPrefix(first, "~~~") {
		return out // a row or a fence has no meaning before it is complete
	}
	i := strings.LastIndexAny(m.line, " \t") + 1
	out += m.part(i)
	return out
}

// part reads out the first n bytes of the line.
func (m *Markdown) part(n int) string {
	if n == 0 {
		return ""
	}
	text := spoken(m.line[:n])
	m.line, m.seen, m.begun, m.blank = m.line[n:], 0, true, false
	return text
}

// sentences reads out the complete sentences of the arriving line.
func (m *Markdown) sentences() string {
	if m.code != nil || m.names != nil || m.head != "" || strings.Contains(m.line, "|") {
		return ""
	}
	from := 0
	if strings.TrimLeft(m.line, " \t") == "" {
		return ""
	}
	if !m.begun {
		from = len(marker.FindString(m.line))
		if rest := m.line[from:]; strings.HasPrefix(rest, "```") || strings.HasPrefix(rest, "~~~") {
			return ""
		}
	}
	if len(m.line) > longest {
		return m.part(max(strings.LastIndexAny(m.line, " \t")+1, len(m.line)-longest))
	}
	from = max(from, min(m.seen, len(m.line))-longestEnding)
	m.seen = len(m.line)
	ends := ending.FindAllStringIndex(m.line[from:], -1)
	for i := len(ends) - 1; i >= 0; i-- {
		if n := from + ends[i][1]; balanced(m.line[:n]) {
			return m.part(n)
		}
	}
	return ""
}

// balanced reports whether text has no open markup that must be read as a
// whole: a code span, bold text, a link.
func balanced(text string) bool {
	return strings.Count(text, "`")%2 == 0 && strings.Count(text, "**")%2 == 0 &&
		strings.LastIndex(text, "[") <= strings.LastIndex(text, "]") && strings.LastIndex(text, "](") <= strings.LastIndex(text, ")")
}

// whole reads out a complete line.
func (m *Markdown) whole(line string) string {
	if m.code != nil {
		return m.codeLine(line)
	}
	if m.begun { // the rest of the line
		m.begun = false
		return spoken(line) + "\n"
	}
	out := ""
	if m.names != nil {
		if strings.Contains(line, "|") {
			return m.row(line)
		}
		out = m.closeTable()
	}
	if head := m.head; head != "" {
		m.head = ""
		if names := cells(head); delimiter.MatchString(line) && strings.Contains(line, "-") && len(cells(line)) == len(names) {
			m.names = names
			return fmt.Sprintf("Table, %s: %s.\n", format.Plural(len(names), "column"), strings.Join(names, ", "))
		}
		out += m.plain(head)
	}
	if f := fences.FindStringSubmatch(line); f != nil {
		m.code = &code{fence: f[2], indent: len(f[1]), lang: f[3]}
		return out
	}
	if strings.Contains(line, "|") {
		m.head = line
		return out
	}
	return out + m.plain(line)
}

// plain reads out a line of text.
func (m *Markdown) plain(line string) string {
	if strings.TrimSpace(line) == "" {
		if m.blank {
			return ""
		}
		m.blank = true
		return "\n"
	}
	if ruler.MatchString(line) {
		return "" // it separates visually, and blank lines already do that
	}
	m.blank = false
	return spoken(line) + "\n"
}

// row reads out a row of the open table.
func (m *Markdown) row(line string) string {
	values := cells(line)
	var parts []string
	for i, value := range values {
		if i < len(m.names) && m.names[i] != "" {
			value = m.names[i] + ": " + value
		}
		parts = append(parts, value)
	}
	return strings.Join(parts, "; ") + "\n"
}

func (m *Markdown) closeTable() string {
	if m.names == nil {
		return ""
	}
	m.names, m.blank = nil, false
	return "End of table.\n"
}

// cells returns the cells of a table row.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if !strings.HasSuffix(line, `\|`) {
		line = strings.TrimSuffix(line, "|")
	}
	var out []string
	for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, "\x00"), "|") {
		out = append(out, strings.TrimSpace(spoken(strings.ReplaceAll(cell, "\x00", "|"))))
	}
	return out
}

// codeLine handles a line of the open code block.
func (m *Markdown) codeLine(line string) string {
	c := m.code
	rest := strings.TrimLeft(line, " ")
	if fence := strings.TrimRight(rest, " \t"); len(fence) >= len(c.fence) && strings.Trim(fence, c.fence[:1]) == "" {
		return m.closeCode()
	}
	line = line[min(len(line)-len(rest), c.indent):]
	c.lines++
	if c.announced {
		return exactly + line + "\n"
	}
	c.pending = append(c.pending, line)
	return ""
}

func (m *Markdown) closeCode() string {
	c := m.code
	m.code, m.blank = nil, false
	if c.announced {
		return fmt.Sprintf("End of code, %s.\n", format.Plural(c.lines, "line"))
	}
	return c.announce(", "+format.Plural(c.lines, "line")) + "End of code.\n"
}

// announce reads out the pending lines of a block after an announcement.
func (c *code) announce(length string) string {
	out := "Code"
	if c.lang != "" {
		out += ", " + c.lang
	}
	out += length + ":\n"
	for _, line := range c.pending {
		out += exactly + line + "\n"
	}
	c.announced, c.pending = true, nil
	return out
}

// spoken returns a line without purely visual markup. Code in it stays unchanged.
func spoken(line string) string {
	var out strings.Builder
	for i, piece := range strings.Split(line, "`") {
		if i > 0 {
			out.WriteByte('`')
		}
		if i%2 == 0 {
			piece = links(piece)
			if strings.Contains(piece, "**") || strings.Contains(piece, "__") {
				piece = bold.ReplaceAllString(piece, "$1$2$3")
			}
		}
		out.WriteString(piece)
	}
	return out.String()
}

// links returns text with its links in spoken form.
func links(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return link.ReplaceAllStringFunc(text, func(m string) string {
		f := link.FindStringSubmatch(m)
		text, url := strings.TrimSpace(f[2]), f[3]
		switch {
		case f[1] == "!" && text == "":
			return "image (" + url + ")"
		case f[1] == "!":
			return "image: " + text + " (" + url + ")"
		case text == url || text == "":
			return url
		}
		return text + " (" + url + ")"
	})
}
