package tools

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// maxText is how many characters one answer may have, for every tool but read.
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

// headTail keeps the head and the tail of the text written to it, at most limit
// characters.
type headTail struct {
	limit     int // characters
	head      []byte
	tail      []byte
	headChars int    // characters in head
	total     int    // characters written
	gapNote   string // a line to add below the line that marks the gap
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

// An unseenText is text read in pieces while its end may still change.
type unseenText struct {
	headTail        // final text since the last read
	seen     string // the changeable end as last read
}

// take returns the new text, including the changeable end rest, and the text read earlier that has vanished.
func (u *unseenText) take(rest string) (gone, text string) {
	text = u.String() + rest
	n := 0
	for n < min(len(text), len(u.seen)) && text[n] == u.seen[n] {
		n++
	}
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	gone, text = u.seen[n:], text[n:]
	*u = unseenText{headTail{limit: u.limit}, rest}
	return gone, text
}

// overflows reports whether text is the first to exceed the limit.
func (c *headTail) overflows(text string) bool {
	return c.total <= c.limit && c.total+utf8.RuneCountInString(text) > c.limit
}

// String returns the kept text, with the gap marked. It is valid UTF-8 if
// everything written was.
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

// quotePath returns a path as answers show it. The tools accept both forms; see unquotePath.
func quotePath(name string) string { return act.QuotePath(name) }

// unquotePath is the inverse of quotePath.
func unquotePath(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// pluralize returns a number with its noun.
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

// note returns a remark of a tool in brackets, to distinguish it from output.
func note(format string, args ...any) string {
	return "[" + fmt.Sprintf(format, args...) + "]"
}

// removalNotes returns remarks about text that was removed from a program's output.
func removalNotes(o *sanitize.Output) []string {
	var notes []string
	if o.Escapes > 0 {
		notes = append(notes, note("%s or escape sequences removed", pluralize(o.Escapes, "control character")))
	}
	if o.Invisible > 0 {
		notes = append(notes, note("%s removed", pluralize(o.Invisible, "invisible character")))
	}
	if o.Invalid > 0 {
		notes = append(notes, note("%s shown as \uFFFD: not UTF-8", pluralize(o.Invalid, "byte")))
	}
	return notes
}

// failedOutcome returns a failed Outcome with a message.
func failedOutcome(format string, args ...any) act.Outcome {
	return act.Outcome{Failed: true, Text: truncate(fmt.Sprintf(format, args...), maxText)}
}
