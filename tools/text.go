package tools

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is how many characters one answer may hold, for every tool but read.
const maxText = 30_000

// truncate shortens text to about limit characters: its head and its tail, with a
// line between them that says how much is missing.
func truncate(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	var c headTail
	c.limit = limit
	c.write(text)
	return c.String()
}

// headTail keeps the head and the tail of what is written to it, in memory
// bounded by limit.
type headTail struct {
	limit     int // characters
	head      []byte
	tail      []byte
	headChars int    // characters in head
	total     int    // characters written
	gapNote   string // a line to stand below that which names the gap
}

func (c *headTail) write(text string) {
	c.total += utf8.RuneCountInString(text)
	for len(text) > 0 && c.headChars < c.limit/2 {
		_, size := utf8.DecodeRuneInString(text)
		c.head = append(c.head, text[:size]...)
		c.headChars++
		text = text[size:]
	}
	const widest = utf8.UTFMax
	keep := (c.limit - c.limit/2) * widest
	if len(text) > keep {
		text, c.tail = text[len(text)-keep:], c.tail[:0]
	}
	c.tail = append(c.tail, text...)
	if len(c.tail) > 2*keep {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keep:]...)
	}
}

// overflows reports whether text is the first that will not fit.
func (c *headTail) overflows(text string) bool {
	return c.total <= c.limit && c.total+utf8.RuneCountInString(text) > c.limit
}

// String is what is kept, with the gap named. It is valid UTF-8 if everything
// written was.
func (c *headTail) String() string {
	if c.total <= c.limit {
		return string(c.head) + string(c.tail)
	}
	tail := c.tail
	for n := utf8.RuneCount(tail); n > c.limit-c.limit/2; n-- {
		_, size := utf8.DecodeRune(tail)
		tail = tail[size:]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	missing := c.total - c.headChars - utf8.RuneCount(tail)
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s%s", c.head, missing, c.gapNote, tail)
}

// quotePath is a file name or path as it appears in answers: as it is if it can be
// told from what is around it, or quoted as in Go. The tools take both forms
// back, see unquote.
func quotePath(name string) string {
	odd := name == "" || strings.HasPrefix(name, `"`) || strings.TrimSpace(name) != name || !utf8.ValidString(name)
	if odd || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// unquotePath undoes shown.
func unquotePath(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// pluralize is a number with its noun.
func pluralize(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	plural := noun + "s"
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		plural = stem + "ies"
	}
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "ss") {
		plural = noun + "es"
	}
	return strconv.Itoa(n) + " " + plural
}

// note is a remark of a tool's, set apart from what it reports.
func note(format string, args ...any) string {
	return "[" + fmt.Sprintf(format, args...) + "]"
}

// removeInvisible drops from text the runes that nobody sees but a model reads: tags
// and variation selectors beyond the basic ones, in which whole sentences can
// be hidden, zero-width spaces and the like. Flags made of tags and variants of
// Han characters stay. It returns how many were dropped.
func removeInvisible(text string) (string, int) {
	if !strings.ContainsFunc(text, isInvisible) {
		return text, 0
	}
	var out strings.Builder
	dropped := 0
	var last rune // the rune before this one, dropped or not
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == blackFlag:
			size = flagLength(text[i:])
			out.WriteString(text[i : i+size])
		case !isInvisible(r), selector(r) && unicode.Is(unicode.Han, last):
			out.WriteString(text[i : i+size])
		default:
			dropped++
		}
		last = r
		i += size
	}
	return out.String(), dropped
}

func isInvisible(r rune) bool {
	switch {
	case r < 0x200B:
		return r == 0x00AD || r == 0x034F || r == 0x180E
	case r == 0x200B, 0x2060 <= r && r <= 0x2064, r == 0xFEFF:
		return true
	}
	return 0xE0000 <= r && r <= 0xE0FFF
}

func selector(r rune) bool { return 0xE0100 <= r && r <= 0xE01EF }

// blackFlag begins the flags of regions, such as Scotland's: the flag, up to six
// letters and digits as tags, and a closing tag.
const blackFlag = 0x1F3F4

// flagLength is the length of the flag that text begins with.
func flagLength(text string) int {
	end := utf8.RuneLen(blackFlag)
	for i, tags := end, 0; i < len(text) && tags <= 6; tags++ {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == 0xE007F && tags > 0:
			return i
		case 0xE0030 <= r && r <= 0xE0039, 0xE0061 <= r && r <= 0xE007A:
		default:
			return end
		}
	}
	return end
}
