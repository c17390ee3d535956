package tools

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"parley/tools/sanitize"
)

// A span is a byte range in a text.
type span struct{ start, end int }

// An editTarget is a text to edit.
type editTarget struct {
	text   string
	lfText string // text with LF line ends; computed on first use
}

// withLF returns the text with LF line ends.
func (t *editTarget) withLF() string {
	if t.lfText == "" {
		t.lfText = toLF(t.text)
	}
	return t.lfText
}

func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// findSpans returns the occurrences of old in the text, in order. Overlapping
// occurrences are all found, unless every one is to be replaced. An old text
// with CR in it is first matched as it is.
func (t *editTarget) findSpans(old string, all bool) []span {
	if strings.Contains(old, "\r") {
		if places := findOccurrences(t.text, old, all); len(places) > 0 {
			return places
		}
		old = toLF(old)
	}
	places := findOccurrences(t.withLF(), old, all)
	if len(t.withLF()) == len(t.text) {
		return places
	}
	for i, at := 0, (offsetMapper{text: t.text}); i < len(places); i++ {
		// Overlapping spans have ascending starts but not necessarily ascending
		// ends.
		places[i].start = at.toRaw(places[i].start)
		end := at
		places[i].end = end.toRaw(places[i].end)
	}
	return places
}

// maxSpans is the most occurrences found for one edit.
const maxSpans = 100_000

func findOccurrences(text, old string, all bool) []span {
	var places []span
	for from := 0; from <= len(text); {
		i := strings.Index(text[from:], old)
		if i < 0 || old == "" {
			return places
		}
		if len(places) == maxSpans {
			return places
		}
		start := from + i
		places = append(places, span{start, start + len(old)})
		from = start + 1
		if all {
			from = start + len(old)
		}
	}
	return places
}

// offsetMapper maps ascending offsets in the text with LF line ends to the original
// text.
type offsetMapper struct {
	text       string
	lfPos, pos int // the same position in both texts
}

// toRaw returns the offset in the original text for the offset plain. A CRLF counts
// as one byte, so that a span beginning with it includes the CR.
func (o *offsetMapper) toRaw(plain int) int {
	for {
		i := strings.Index(o.text[o.pos:], "\r\n")
		if i < 0 || o.lfPos+i >= plain {
			o.pos += plain - o.lfPos
			o.lfPos = plain
			return o.pos
		}
		o.pos += i + 2
		o.lfPos += i + 1
	}
}

// endsWith reports whether the text ends with stem, ignoring differences in
// line ends.
func (t *editTarget) endsWith(stem string) bool { return strings.HasSuffix(t.withLF(), toLF(stem)) }

// rawLength returns the byte length in the original text of its suffix stem.
func (t *editTarget) rawLength(stem string) int {
	plain := len(t.withLF()) - len(toLF(stem))
	at := offsetMapper{text: t.text}
	return len(t.text) - at.toRaw(plain)
}

// withLineEnds gives new the line ends of the span p, or of the first line of the
// text if p has none.
func (t *editTarget) withLineEnds(p span, new string) string {
	if strings.Contains(new, "\r") || !strings.Contains(new, "\n") {
		return new
	}
	near := t.text[p.start:p.end]
	i := strings.IndexByte(near, '\n')
	if i < 0 {
		near = t.text
		i = strings.IndexByte(near, '\n')
	}
	if i > 0 && near[i-1] == '\r' {
		return strings.ReplaceAll(new, "\n", "\r\n")
	}
	return new
}

// maxListedSpans is how many occurrences an error lists.
const maxListedSpans = 10

// ambiguousError lists the lines of the occurrences.
func (t *editTarget) ambiguousError(places []span) error {
	if len(places) == maxSpans {
		return errors.New("old occurs far too often")
	}
	var lines []string
	for i, p := range places {
		if i == maxListedSpans {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, fmt.Sprint(1+strings.Count(t.text[:p.start], "\n")))
	}
	return fmt.Errorf("old occurs %d times, on lines %s; add lines around it until it occurs once, or set all",
		len(places), strings.Join(lines, ", "))
}

// lineNumberPrefix matches the line numbers that read adds.
var lineNumberPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *\d+\t`) })

// notFoundError suggests why old was not found: a place that differs only in
// white space, or line numbers in old.
func (t *editTarget) notFoundError(old string) error {
	if bare := lineNumberPrefix().ReplaceAllString(old, ""); bare != old && len(t.findSpans(bare, false)) > 0 {
		return errors.New("old is not in the file; omit the line numbers that read puts in front of lines")
	}
	lines, want := strings.Split(t.withLF(), "\n"), collapseLines(strings.Split(toLF(old), "\n"))
	if len(want) == 0 {
		return errors.New("old is not in the file; it is only white space")
	}
	first, last, ok := findLoosely(lines, want)
	if !ok {
		return errors.New("text to replace not found (also ignoring white space and the forms of quotes and dashes); read the file again and copy the text exactly")
	}
	if last-first >= maxListedSpans {
		return fmt.Errorf("text to replace not found, but the same with other white space, quotes or dashes is on lines %d to %d; read them and copy them exactly", first+1, last+1)
	}
	return fmt.Errorf("text to replace not found, but the same with other white space, quotes or dashes is on line %d; there it is\n%s",
		first+1, truncate(strings.Join(lines[first:last+1], "\n"), 2000))
}

// collapseLines removes white space and invisible characters from lines, replaces typographic quotes and dashes, and
// drops lines that become empty.
func collapseLines(lines []string) []string {
	var out []string
	for _, line := range lines {
		if s := collapseSpace(line); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func collapseSpace(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || sanitize.IsHidden(r) {
			return -1
		}
		switch r {
		case '‘', '’', '‚', '‛', '′':
			return '\''
		case '“', '”', '„', '‟', '″', '«', '»':
			return '"'
		case '−':
			return '-'
		}
		if unicode.Is(unicode.Pd, r) {
			return '-'
		}
		return r
	}, line)
}

// findLoosely finds the first run of lines that equals want apart from white
// space and empty lines; the first and last line of want may be partial.
func findLoosely(lines, want []string) (first, last int, ok bool) {
	var text []string
	var numbers []int
	for i, line := range lines {
		if s := collapseSpace(line); s != "" {
			text, numbers = append(text, s), append(numbers, i)
		}
	}
	for i := 0; i+len(want) <= len(text); i++ {
		if equalLoosely(text[i:i+len(want)], want) {
			return numbers[i], numbers[i+len(want)-1], true
		}
	}
	return 0, 0, false
}

func equalLoosely(text, want []string) bool {
	n := len(want) - 1
	if n == 0 {
		return strings.Contains(text[0], want[0])
	}
	if !strings.HasSuffix(text[0], want[0]) || !strings.HasPrefix(text[n], want[n]) {
		return false
	}
	for i := 1; i < n; i++ {
		if text[i] != want[i] {
			return false
		}
	}
	return true
}
