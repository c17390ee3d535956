package tools

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/tools/sanitize"
)

func TestRemovalNotes(t *testing.T) {
	for notes, o := range map[string]sanitize.Output{
		"": {},
		"[2 control characters or escape sequences removed] [1 invisible character removed] [3 bytes shown as \uFFFD: not UTF-8]": {Escapes: 2, Invisible: 1, Invalid: 3},
	} {
		if got := strings.Join(removalNotes(&o), " "); got != notes {
			t.Errorf("got %q, want %q", got, notes)
		}
	}
}

func TestClip(t *testing.T) {
	tests := []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"ääääääääää", 10, "ääääääääää"},
		{"0123456789abcdef", 10, "01234\n[… 6 characters left out …]\nbcdef"},
		{strings.Repeat("ä", 20) + strings.Repeat("ö", 20), 10, "äääää\n[… 30 characters left out …]\nööööö"},
	}
	for _, test := range tests {
		if got := truncate(test.in, test.limit); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
		var pieces headTail
		pieces.limit = test.limit
		for _, r := range test.in {
			pieces.write(string(r))
		}
		if got := pieces.String(); got != test.want {
			t.Errorf("%q in pieces: got %q, want %q", test.in, got, test.want)
		}
	}
}

func TestClippedTakesLittleMemory(t *testing.T) {
	c := headTail{limit: 1000}
	line := strings.Repeat("ä", 997)
	for range 10_000 {
		c.write(line)
	}
	if kept := cap(c.head) + cap(c.tail); kept > 64<<10 {
		t.Errorf("%d bytes for 1000 characters", kept)
	}
	if got := c.String(); utf8.RuneCountInString(got) > 1100 || !strings.Contains(got, "[… 9969000 characters left out …]") {
		t.Errorf("got %d characters", utf8.RuneCountInString(got))
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read", "list", "grep", "main.go", "Makefile"}
	tests := []struct{ in, want string }{
		{"raed", "read"}, {"READ", "read"}, {"main.g", "main.go"}, {"makefile", "Makefile"},
		{"x", ""}, {"", ""}, {"something", ""}, {strings.Repeat("r", 1000), ""},
	}
	for _, test := range tests {
		if got := nearestName(test.in, names); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}
