package sanitize_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/tools/sanitize"
)

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		text       string
		limit      int
		runes, all string // by characters, by bytes
	}{
		{"", 0, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "abc…"},
		{"žšč", 3, "žšč", "ž…"},
		{"žšč", 2, "žš…", "ž…"},
		{"žšč", 1, "ž…", "…"},
		{"abc", 0, "…", "…"},
		{"\x80\x80\x80\x80", 3, "\x80\x80\x80…", "…"},
		{"a\xffb", 2, "a\xff…", "a\xff…"},
	} {
		if got := sanitize.Truncate(c.text, c.limit); got != c.runes {
			t.Errorf("%q to %d characters: got %q, want %q", c.text, c.limit, got, c.runes)
		}
		if got := sanitize.TruncateBytes(c.text, c.limit); got != c.all {
			t.Errorf("%q to %d bytes: got %q, want %q", c.text, c.limit, got, c.all)
		}
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("žšč abc", 3)
	f.Add("a\xff\x80\x80", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit &= 0xFF
		for _, got := range []string{sanitize.Truncate(text, limit), sanitize.TruncateBytes(text, limit)} {
			kept, cut := strings.CutSuffix(got, "…")
			if got != text && (!cut || !strings.HasPrefix(text, kept)) || utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
		if got := sanitize.Truncate(text, limit); utf8.RuneCountInString(got) > limit+1 {
			t.Errorf("%q has more than %d characters", got, limit)
		}
	})
}
