package tools

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// A span is a place in a text, in bytes.
type span struct{ start, end int }

// A target is a text in which places to edit are looked for.
type target struct {
	text  string
	plain string // text with LF line ends; made when first needed
}

// lf is the text with LF line ends.
func (t *target) lf() string {
	if t.plain == "" {
		t.plain = toLF(t.text)
	}
	return t.plain
}

func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// find returns the places of old in the text, in order. Places that overlap
// are all found, unless every one is to be replaced. An old text that has CR of
// its own is looked for as it is first.
func (t *target) find(old string, all bool) []span {
	if strings.Contains(old, "\r") {
		if places := occurrences(t.text, old, all); len(places) > 0 {
			return places
		}
		old = toLF(old)
	}
	places := occurrences(t.lf(), old, all)
	if len(t.lf()) == len(t.text) {
		return places
	}
	for i, at := 0, (offsets{text: t.text}); i < len(places); i++ {
		// Overlapping places begin, but need not end, in order.
		places[i].start = at.raw(places[i].start)
		end := at
		places[i].end = end.raw(places[i].end)
	}
	return places
}

// maxSpans is how many places one edit may have; more are not looked for.
const maxSpans = 100_000

func occurrences(text, old string, all bool) []span {
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

// offsets maps ascending offsets in a text with LF line ends to the text as it
// is.
type offsets struct {
	text       string
	plain, pos int // the same place in both
}

// raw is where the offset plain is in the text as it is. A line end counts as
// one byte, so that a place that begins with one takes in its CR.
func (o *offsets) raw(plain int) int {
	for {
		i := strings.Index(o.text[o.pos:], "\r\n")
		if i < 0 || o.plain+i >= plain {
			o.pos += plain - o.plain
			o.plain = plain
			return o.pos
		}
		o.pos += i + 2
		o.plain += i + 1
	}
}

// endsWith reports whether the text ends with stem, whatever its line ends.
func (t *target) endsWith(stem string) bool { return strings.HasSuffix(t.lf(), toLF(stem)) }

// length is how many bytes stem, with which the text ends, has in it.
func (t *target) length(stem string) int {
	plain := len(t.lf()) - len(toLF(stem))
	at := offsets{text: t.text}
	return len(t.text) - at.raw(plain)
}

// ends gives new the line ends of the place p: those in it, or else of the
// first line of the text.
func (t *target) ends(p span, new string) string {
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

// maxPlaces is how many places a refusal names.
const maxPlaces = 10

// ambiguous says on which lines the places are.
func (t *target) ambiguous(places []span) error {
	if len(places) == maxSpans {
		return errors.New("old occurs far too often")
	}
	var lines []string
	for i, p := range places {
		if i == maxPlaces {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, fmt.Sprint(1+strings.Count(t.text[:p.start], "\n")))
	}
	return fmt.Errorf("old occurs %d times, on lines %s; add lines around it until it occurs once, or set all",
		len(places), strings.Join(lines, ", "))
}

// numbered is how read shows a line.
var numbered = regexp.MustCompile(`(?m)^ *\d+\t`)

// unmatched says why old may not have been found: where the text is the same
// but for white space, or that old has line numbers in it.
func (t *target) unmatched(old string) error {
	if bare := numbered.ReplaceAllString(old, ""); bare != old && len(t.find(bare, false)) > 0 {
		return errors.New("old is not in the file; leave out the line numbers that read puts in front of lines")
	}
	lines, want := strings.Split(t.lf(), "\n"), squeezed(strings.Split(toLF(old), "\n"))
	if len(want) == 0 {
		return errors.New("old is not in the file; it is only white space")
	}
	first, last, ok := loosely(lines, want)
	if !ok {
		return errors.New("old is not in the file, not even with other white space; read it again and copy the text exactly")
	}
	if last-first >= maxPlaces {
		return fmt.Errorf("old is not in the file as it is given, but the same with other white space is on lines %d to %d; read them and copy them exactly", first+1, last+1)
	}
	return fmt.Errorf("old is not in the file as it is given, but the same with other white space is on line %d; there it is\n%s",
		first+1, clip(strings.Join(lines[first:last+1], "\n"), 2000))
}

// squeezed returns lines without white space and invisible characters, and
// without those that hold nothing else.
func squeezed(lines []string) []string {
	var out []string
	for _, line := range lines {
		if s := squeeze(line); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func squeeze(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || invisible(r) {
			return -1
		}
		return r
	}, line)
}

// loosely finds the first run of lines that is want but for white space and
// empty lines; the outer lines of want may be parts.
func loosely(lines, want []string) (first, last int, ok bool) {
	var text []string
	var numbers []int
	for i, line := range lines {
		if s := squeeze(line); s != "" {
			text, numbers = append(text, s), append(numbers, i)
		}
	}
	for i := 0; i+len(want) <= len(text); i++ {
		if similar(text[i:i+len(want)], want) {
			return numbers[i], numbers[i+len(want)-1], true
		}
	}
	return 0, 0, false
}

func similar(text, want []string) bool {
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
