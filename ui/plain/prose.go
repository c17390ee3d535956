package plain

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"parley/tools/sanitize"
	"parley/ui/format"
)

// How long text waits for the end of its sentence, and code for its last line,
// before it is read out all the same.
const (
	sentenceWait = 3 * time.Second
	codeWait     = 5 * time.Second
)

// longestEnding is more bytes than the end of a sentence has, with its quotes.
const longestEnding = 16

// longest is how many bytes of a line wait for the end of a sentence.
const longest = 4 << 10

// A prose turns Markdown that arrives in pieces into text that can be read out
// from the first line to the last: by whole sentences, links as "text (url)",
// tables row by row with the names of their columns, code blocks announced with
// their length. Otherwise it stays as the model wrote it.
type prose struct {
	clean sanitize.Stream
	line  string    // of the source, as far as it was not read out
	begun bool      // its beginning was
	seen  int       // bytes of line that were searched for the end of a sentence
	since time.Time // when the first of what waits came
	blank bool      // the last line was empty
	head  string    // a line that may be the head of a table; "" if none waits
	names []string  // columns of the open table; nil if none is
	code  *code     // the open code block; nil if none is
}

// A code is a block of code that is not closed yet.
type code struct {
	fence  string // that opened it
	indent int    // of the fence
	lang   string
	held   []string // lines that wait for the end
	lines  int
	told   bool // it was announced, and lines are read out as they come
}

var (
	fences    = regexp.MustCompile("^( *(?:> ?|[-*+] +|[0-9]+[.)] +)?)(```+|~~~+)[ \t]*([^\\s`]*)[^`]*$")
	delimiter = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
	ruler     = regexp.MustCompile(`^ {0,3}([-*_=][ \t]*){3,}$`)
	marker    = regexp.MustCompile(`^\s*(?:(?:>|[-*+]|#{1,6}|[0-9]+[.)])\s+)*`)
	ending    = regexp.MustCompile(`[.!?…]["'”’)\]*_]*\s|[。！？]`)
	link      = regexp.MustCompile(`(!?)\[([^\[\]]*)\]\(<?([^()<>\s]*(?:\([^()\s]*\)[^()<>\s]*)*)>?(?:\s+"[^"]*")?\)`)
	bold      = regexp.MustCompile(`(^|[^0-9A-Za-z_*])(?:\*\*(\S(?:.*?\S)?)\*\*|__(\S(?:.*?\S)?)__\b)`)
)

// add takes a piece and returns what can be read out now.
func (p *prose) add(piece string, now time.Time) string {
	return p.take(p.clean.Add(piece).String(), now)
}

func (p *prose) take(text string, now time.Time) string {
	if text == "" {
		return ""
	}
	if !p.waits() {
		p.since = now
	}
	var out strings.Builder
	p.line += text
	for {
		line, rest, whole := strings.Cut(p.line, "\n")
		if !whole {
			break
		}
		p.line, p.seen = rest, 0
		out.WriteString(p.whole(line))
		p.since = now
	}
	out.WriteString(p.sentences())
	return out.String()
}

// end returns what is left when the text is over.
func (p *prose) end(now time.Time) string {
	out := p.take(p.clean.End().String(), now)
	if p.line != "" || p.begun {
		line := p.line
		p.line = ""
		out += p.whole(line)
	}
	if p.head != "" {
		out += p.plain(p.head)
		p.head = ""
	}
	out += p.closeTable()
	if p.code != nil {
		out += p.closeCode()
	}
	*p = prose{}
	return out
}

// waits reports whether there is text that was not read out.
func (p *prose) waits() bool {
	return p.line != "" || p.head != "" || p.code != nil && len(p.code.held) > 0
}

// due is when late has something to read out; zero if nothing waits.
func (p *prose) due() time.Time {
	switch {
	case !p.waits():
		return time.Time{}
	case p.code != nil:
		return p.since.Add(codeWait)
	}
	return p.since.Add(sentenceWait)
}

// late returns what has waited too long.
func (p *prose) late(now time.Time) string {
	if due := p.due(); due.IsZero() || now.Before(due) {
		return ""
	}
	p.since = now
	if c := p.code; c != nil {
		out := ""
		if !c.told && len(c.held) > 0 {
			out = c.announce("")
		}
		return out
	}
	out := ""
	if p.head != "" {
		out, p.head = p.plain(p.head), ""
	}
	if first := strings.TrimLeft(p.line, " "); p.names != nil || strings.HasPrefix(first, "|") || strings.HasPrefix(first, "```") || strings.HasPrefix(first, "~~~") {
		return out // a row, or a fence, is nothing before it is whole
	}
	i := strings.LastIndexAny(p.line, " \t") + 1
	out += p.part(i)
	return out
}

// part reads out the first n bytes of the line.
func (p *prose) part(n int) string {
	if n == 0 {
		return ""
	}
	text := spoken(p.line[:n])
	p.line, p.seen, p.begun, p.blank = p.line[n:], 0, true, false
	return text
}

// sentences reads out the whole sentences of the line that is arriving.
func (p *prose) sentences() string {
	if p.code != nil || p.names != nil || p.head != "" || strings.Contains(p.line, "|") {
		return ""
	}
	from := 0
	if strings.TrimLeft(p.line, " \t") == "" {
		return ""
	}
	if !p.begun {
		from = len(marker.FindString(p.line))
		if rest := p.line[from:]; strings.HasPrefix(rest, "```") || strings.HasPrefix(rest, "~~~") {
			return ""
		}
	}
	if len(p.line) > longest {
		return p.part(max(strings.LastIndexAny(p.line, " \t")+1, len(p.line)-longest))
	}
	from = max(from, min(p.seen, len(p.line))-longestEnding)
	p.seen = len(p.line)
	ends := ending.FindAllStringIndex(p.line[from:], -1)
	for i := len(ends) - 1; i >= 0; i-- {
		if n := from + ends[i][1]; balanced(p.line[:n]) {
			return p.part(n)
		}
	}
	return ""
}

// balanced reports whether nothing in text is open that has to be read as a
// whole: a code span, bold text, a link.
func balanced(text string) bool {
	return strings.Count(text, "`")%2 == 0 && strings.Count(text, "**")%2 == 0 &&
		strings.LastIndex(text, "[") <= strings.LastIndex(text, "]") && strings.LastIndex(text, "](") <= strings.LastIndex(text, ")")
}

// whole reads out a line of which nothing is to come.
func (p *prose) whole(line string) string {
	if p.code != nil {
		return p.codeLine(line)
	}
	if p.begun { // its rest
		p.begun = false
		return spoken(line) + "\n"
	}
	out := ""
	if p.names != nil {
		if strings.Contains(line, "|") {
			return p.row(line)
		}
		out = p.closeTable()
	}
	if head := p.head; head != "" {
		p.head = ""
		if names := cells(head); delimiter.MatchString(line) && strings.Contains(line, "-") && len(cells(line)) == len(names) {
			p.names = names
			return fmt.Sprintf("Table, %s: %s.\n", format.Plural(len(names), "column"), strings.Join(names, ", "))
		}
		out += p.plain(head)
	}
	if m := fences.FindStringSubmatch(line); m != nil {
		p.code = &code{fence: m[2], indent: len(m[1]), lang: m[3]}
		return out
	}
	if strings.Contains(line, "|") {
		p.head = line
		return out
	}
	return out + p.plain(line)
}

// plain reads out a line of text.
func (p *prose) plain(line string) string {
	if strings.TrimSpace(line) == "" {
		if p.blank {
			return ""
		}
		p.blank = true
		return "\n"
	}
	if ruler.MatchString(line) {
		return "" // it divides for the eye, and the blank lines around it are there
	}
	p.blank = false
	return spoken(line) + "\n"
}

// row reads out a row of the open table.
func (p *prose) row(line string) string {
	values := cells(line)
	var parts []string
	for i, value := range values {
		if i < len(p.names) && p.names[i] != "" {
			value = p.names[i] + ": " + value
		}
		parts = append(parts, value)
	}
	return strings.Join(parts, "; ") + "\n"
}

func (p *prose) closeTable() string {
	if p.names == nil {
		return ""
	}
	p.names, p.blank = nil, false
	return "End of table.\n"
}

// cells are the texts of a row of a table.
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

// codeLine takes a line of the open code block.
func (p *prose) codeLine(line string) string {
	c := p.code
	rest := strings.TrimLeft(line, " ")
	if fence := strings.TrimRight(rest, " \t"); len(fence) >= len(c.fence) && strings.Trim(fence, c.fence[:1]) == "" {
		return p.closeCode()
	}
	line = line[min(len(line)-len(rest), c.indent):]
	c.lines++
	if c.told {
		return exactly + line + "\n"
	}
	c.held = append(c.held, line)
	return ""
}

func (p *prose) closeCode() string {
	c := p.code
	p.code, p.blank = nil, false
	if c.told {
		return fmt.Sprintf("End of code, %s.\n", format.Plural(c.lines, "line"))
	}
	return c.announce(", "+format.Plural(c.lines, "line")) + "End of code.\n"
}

// announce reads out what is there of a block, and says what it is.
func (c *code) announce(length string) string {
	out := "Code"
	if c.lang != "" {
		out += ", " + c.lang
	}
	out += length + ":\n"
	for _, line := range c.held {
		out += exactly + line + "\n"
	}
	c.told, c.held = true, nil
	return out
}

// spoken is a line without the signs that only the eye needs. Code in it stays as
// it is.
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

// links is text with the links in it as they are read out.
func links(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return link.ReplaceAllStringFunc(text, func(m string) string {
		f := link.FindStringSubmatch(m)
		text, url := strings.TrimSpace(f[2]), f[3]
		switch {
		case f[1] == "!" && text == "":
			return "picture (" + url + ")"
		case f[1] == "!":
			return "picture: " + text + " (" + url + ")"
		case text == url || text == "":
			return url
		}
		return text + " (" + url + ")"
	})
}
