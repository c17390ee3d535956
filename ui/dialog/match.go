package dialog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/sahilm/fuzzy"

	"parley/ui/theme"
)

// A hit is an item that matches; marks are the bytes of its title that do.
type hit struct {
	item  int
	marks []int
}

// subsequence reports whether the letters of query occur in s in their order.
// It is what most items of a long list fail, at no cost.
func subsequence(query, s string) bool {
	for _, r := range query {
		at := strings.IndexRune(s, r)
		if at < 0 {
			return false
		}
		s = s[at+utf8.RuneLen(r):]
	}
	return true
}

// ranked are those items whose titles match query by letters in their order, the
// best first.
func ranked(query string, items []int, title func(item int) string) []hit {
	if query == "" || len(items) == 0 {
		return nil
	}
	matches := fuzzy.FindFromNoSort(query, titles{items, title})
	slices.SortStableFunc(matches, func(a, b fuzzy.Match) int { return b.Score - a.Score })
	hits := make([]hit, len(matches))
	for i, m := range matches {
		hits[i] = hit{items[m.Index], m.MatchedIndexes}
	}
	return hits
}

// titles are some of the items, for the search.
type titles struct {
	items []int
	title func(item int) string
}

func (t titles) String(i int) string { return t.title(t.items[i]) }
func (t titles) Len() int            { return len(t.items) }

// mark underlines the characters of title that begin at the bytes in marks.
func mark(title string, marks []int, look lipgloss.Style, th *theme.Theme) string {
	var out strings.Builder
	plain := func(s string) {
		if s != "" {
			out.WriteString(look.Render(s))
		}
	}
	from, to := 0, 0 // of the marked characters that were not written yet
	for _, at := range marks {
		if at < to {
			continue // a second rune of the same character
		}
		if at > to {
			if to > from {
				out.WriteString(underlined(th.Accent, title[from:to]))
			}
			plain(title[to:at])
			from = at
		}
		char, _ := ansi.FirstGraphemeCluster(title[at:], ansi.GraphemeWidth)
		to = at + len(char)
	}
	if to > from {
		out.WriteString(underlined(th.Accent, title[from:to]))
	}
	plain(title[to:])
	return out.String()
}

// holds reports whether every word occurs in s.
func holds(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// initials reports whether each letter that matched begins a word or stands in
// the word of the letter before it. In a title that is a sentence, letters from
// anywhere mean nothing: most sentences hold any four of them.
func initials(title string, marks []int) bool {
	from := -1 // where the word of the last letter begins
	for _, at := range marks {
		start := strings.LastIndexFunc(title[:at], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if start >= 0 {
			_, size := utf8.DecodeRuneInString(title[start:])
			start += size
		} else {
			start = 0
		}
		if at != start && start != from {
			return false
		}
		from = start
	}
	return true
}

// occurrences are the bytes of title where words stand, whatever their case.
func occurrences(title string, words []string) []int {
	longer := func(r rune) bool { return utf8.RuneLen(unicode.ToLower(r)) != utf8.RuneLen(r) }
	if strings.ContainsFunc(title, longer) {
		return nil // a letter has another length in lower case: bytes shift
	}
	lower := strings.ToLower(title)
	var marks []int
	for _, w := range words {
		for from := 0; ; {
			at := strings.Index(lower[from:], w)
			if at < 0 || w == "" {
				break
			}
			for i := range w {
				marks = append(marks, from+at+i)
			}
			from += at + len(w)
		}
	}
	slices.Sort(marks)
	return slices.Compact(marks)
}
