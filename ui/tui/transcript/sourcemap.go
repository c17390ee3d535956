package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A charMatch is a screen character found in the source.
type charMatch struct {
	at        int // byte offset in the row, without sequences
	from, end int // byte range in the source
}

// A sourceMapper maps rows, in order, to the source that they were rendered from.
// Rows have characters that the source lacks, such as bullets, borders, line
// numbers and the notes of folds. The source has characters that rows lack, such
// as markup, addresses and folded text.
type sourceMapper struct {
	src string
	at  int // end of the last match
}

// mapRow finds the characters of a row in the source, in order. A character that is not a
// letter or digit is found only before the next letter or digit.
func (t *sourceMapper) mapRow(line string) (all []charMatch) {
	run := 0 // end of the current run of letters and digits
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if unicode.IsSpace(r) {
			i += size
			continue
		}
		from := t.findSign(r)
		if isAlnum(r) && i >= run { // a single letter could match by accident
			if run = i + alnumPrefix(line[i:]); from >= 0 && !hasAlnumPrefix(t.src[from:], []rune(line[i:run])) {
				from = -1
			}
		}
		if isAlnum(r) && from < 0 {
			if from = t.findAhead(line[i:]); from < 0 {
				i = max(run, i+size)
				continue
			}
		}
		if from >= 0 {
			t.at = from + size
			all = append(all, charMatch{i, from, t.at})
		}
		i += size
	}
	return all
}

// isAlnum reports whether wrapping, borders and markup leave a character alone.
func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// alnumPrefix returns how many bytes at the start of s are letters and digits.
func alnumPrefix(s string) int {
	if n := strings.IndexFunc(s, func(r rune) bool { return !isAlnum(r) }); n >= 0 {
		return n
	}
	return len(s)
}

// findSign finds a character at or before the next letter or digit; -1 if it is
// not there.
func (t *sourceMapper) findSign(want rune) int {
	for i := t.at; i < len(t.src); {
		r, size := utf8.DecodeRuneInString(t.src[i:])
		switch {
		case r == want:
			return i
		case isAlnum(r):
			return -1
		}
		i += size
	}
	return -1
}

// How far ahead the rest of a row is searched in the source, by its number of letters. A few
// letters can match by accident.
const (
	maxKeyRunes  = 12
	maxLookahead = 8 << 10
)

var lookahead = [maxKeyRunes + 1]int{0, 16, 32, 64, 128, 256}

// findAhead finds the rest of a row further ahead in the source.
func (t *sourceMapper) findAhead(rest string) int {
	var key []rune
	for _, r := range rest {
		if len(key) == maxKeyRunes {
			break
		}
		if isAlnum(r) {
			key = append(key, r)
		}
	}
	reach := lookahead[len(key)]
	if reach == 0 {
		reach = maxLookahead
	}
	first := string(key[0])
	for i, stop := t.at, min(len(t.src), t.at+reach); i < stop; i += len(first) {
		n := strings.Index(t.src[i:stop], first)
		if n < 0 {
			return -1
		}
		if i += n; hasAlnumPrefix(t.src[i:], key) {
			return i
		}
	}
	return -1
}

// hasAlnumPrefix reports whether the letters and digits of s begin with key.
func hasAlnumPrefix(s string, key []rune) bool {
	for _, r := range s {
		if len(key) == 0 {
			break
		}
		if !isAlnum(r) {
			continue
		}
		if r != key[0] {
			return false
		}
		key = key[1:]
	}
	return len(key) == 0
}

// A sourceRange is the part of the source that a selected row shows.
type sourceRange struct{ from, end int }

// sourceRanges returns the ranges of the source shown by rows low..high: by the first row
// from byte from on, by the last row up to byte to. A completely selected row yields whole
// lines of the source, with markup and text that does not fit the screen, unless other
// rows show parts of these lines.
func sourceRanges(rows []string, src string, low, from, high, to int) (some []sourceRange) {
	t := sourceMapper{src: src}
	for _, row := range rows[:low] {
		t.mapRow(row)
	}
	var whole []bool
	before := []int{} // end of the match before each range
	for i := low; i <= high; i++ {
		was := t.at
		all := t.mapRow(rows[i])
		kept := all
		if i == low {
			for len(kept) > 0 && kept[0].at < from {
				kept = kept[1:]
			}
		}
		for i == high && len(kept) > 0 && kept[len(kept)-1].at >= to {
			kept = kept[:len(kept)-1]
		}
		if len(kept) > 0 {
			some = append(some, sourceRange{kept[0].from, kept[len(kept)-1].end})
			whole, before = append(whole, len(kept) == len(all)), append(before, was)
		}
	}
	next := len(src) + 1
	for _, row := range rows[high+1:] {
		if all := t.mapRow(row); len(all) > 0 {
			next = all[0].from
			break
		}
	}
	for i := len(some) - 1; i >= 0; i-- {
		p := &some[i]
		begun := p.from
		if whole[i] {
			if start := strings.LastIndexByte(src[:p.from], '\n') + 1; before[i] <= start {
				p.from = start
			}
			if n := strings.IndexByte(src[p.end:], '\n'); n >= 0 && p.end+n < next {
				p.end += n
			} else if n < 0 && next > len(src) {
				p.end = len(src)
			}
		}
		next = begun
	}
	return some
}

// quoteSource returns the source of the ranges. With markup the text between them is included.
// Without it that text may be folded and is left out.
func quoteSource(src string, some []sourceRange, markup bool) string {
	if len(some) == 0 {
		return ""
	}
	if markup {
		from, end := some[0].from, some[len(some)-1].end
		return src[from:includeFence(src, from, end)]
	}
	var b strings.Builder
	for i, p := range some {
		if i > 0 {
			between := src[max(some[i-1].end, 0):max(p.from, some[i-1].end)]
			if strings.TrimSpace(between) != "" {
				between = "\n"
			}
			b.WriteString(between)
		}
		b.WriteString(src[p.from:p.end])
	}
	return b.String()
}

// includeFence returns end, or the end of the closing fence after it if src[from:end] has an
// open one.
func includeFence(src string, from, end int) int {
	open := false
	for line := range strings.SplitSeq(src[from:end], "\n") {
		if isFence(line) {
			open = !open
		}
	}
	if rest := src[end:]; open && strings.HasPrefix(rest, "\n") {
		if line, _, _ := strings.Cut(rest[1:], "\n"); isFence(line) {
			return end + 1 + len(line)
		}
	}
	return end
}

func isFence(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
