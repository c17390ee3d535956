package filter

import (
	"slices"
	"strings"
	"testing"
)

// TestSourceAwaits: a parser does not run for text that cannot matter to it, such as most of a long
// argument.
func TestSourceAwaits(t *testing.T) {
	words := strings.Repeat("word ", 1000)
	for _, tt := range []struct {
		name, text string
		parse      func(*source) (string, bool)
		most       int
	}{
		{"string", `{"a":"` + words + `"}`, (*source).readJSON, 10},
		{"escapes", `{"a":"` + strings.Repeat(words[:500]+`\n\"`, 10) + `"}`, (*source).readJSON, 60},
		{"tag", words + "</parameter>", func(s *source) (string, bool) { return s.until("</parameter>", 0) }, 10},
	} {
		s, woken := &source{}, 0
		rest := slices.Collect(slices.Chunk([]byte(tt.text), 5))
		s.pause = func(struct{}) bool {
			for woken++; len(rest) > 0; {
				piece := rest[0]
				if rest = rest[1:]; s.add(string(piece)) {
					return true
				}
			}
			return false
		}
		got, ok := tt.parse(s)
		if want := strings.TrimSuffix(tt.text, "</parameter>"); !ok || got != want {
			t.Errorf("%s: read %.40q, %v", tt.name, got, ok)
		}
		if woken > tt.most {
			t.Errorf("%s: woken %d times, want at most %d", tt.name, woken, tt.most)
		}
	}
}
