package tools

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"parley/tools/sanitize"
)

const scotland = "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"

func TestOutput(t *testing.T) {
	tests := []struct {
		name, in, want string
		notes          string
	}{
		{name: "plain", in: "a\tb\nä 😀\n", want: "a\tb\nä 😀\n"},
		{name: "color", in: "\x1b[1;31mred\x1b[0m", want: "red", notes: "[2 control characters or escape sequences removed]"},
		{name: "title", in: "a\x1b]0;title\x07b", want: "ab", notes: "[1 control character or escape sequences removed]"},
		{name: "link", in: "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", want: "text", notes: "[2 control characters or escape sequences removed]"},
		{name: "device control", in: "a\x1bP$qm\x1b\\b", want: "ab", notes: "[1 control character or escape sequences removed]"},
		{name: "character set", in: "\x1b(Ba\x1bcb", want: "ab", notes: "[2 control characters or escape sequences removed]"},
		{name: "never closed", in: "a\x1b]8;;http://x\nb", want: "a]8;;http://x\nb", notes: "[1 control character or escape sequences removed]"},
		{name: "never closed, at the end", in: "a\x1b]8;;http://x", want: "a]8;;http://x", notes: "[1 control character or escape sequences removed]"},
		{name: "broken", in: "\x1b[3\x01m", want: "[3m", notes: "[2 control characters or escape sequences removed]"},
		{name: "alone", in: "a\x1b", want: "a", notes: "[1 control character or escape sequences removed]"},
		{name: "in front of another", in: "\x1b\x1b[31ma", want: "a", notes: "[2 control characters or escape sequences removed]"},
		{name: "too long", in: "\x1b]" + strings.Repeat("x", 5000), want: "]" + strings.Repeat("x", 5000), notes: "[1 control character or escape sequences removed]"},
		{name: "too long, and closed", in: "\x1b[" + strings.Repeat("1", 5000) + "m", want: "[" + strings.Repeat("1", 5000) + "m", notes: "[1 control character or escape sequences removed]"},
		{name: "C1", in: "a\u009b31mb", want: "a31mb", notes: "[1 control character or escape sequences removed]"},
		{name: "backspace and bell", in: "a\bb\ac\x00d\x7f", want: "abcd", notes: "[4 control characters or escape sequences removed]"},
		{name: "CRLF", in: "a\r\nb", want: "a\nb"},
		{name: "progress", in: "10%\r20%\r\n", want: "10%\n20%\n"},
		{name: "CR at the end", in: "a\r", want: "a\n"},
		{name: "not UTF-8", in: "a\xffb\xc3", want: "a\uFFFDb\uFFFD", notes: "[2 bytes shown as \uFFFD: not UTF-8]"},
		{name: "tags", in: "a" + "\U000E0068\U000E0069" + "b", want: "ab", notes: "[2 invisible characters removed]"},
		{name: "flag", in: "x" + scotland + "y", want: "x" + scotland + "y"},
		{name: "flag with more behind it", in: "🏴" + strings.Repeat("\U000E0061", 20), want: "🏴", notes: "[20 invisible characters removed]"},
		{name: "family", in: "👨‍👩‍👧‍👦", want: "👨‍👩‍👧‍👦"},
		{name: "zero width", in: "a\u200Bb\u2060c\uFEFF", want: "abc", notes: "[3 invisible characters removed]"},
	}
	for _, test := range tests {
		for cut := 0; cut <= len(test.in); cut += 1 + len(test.in)/50 {
			var c sanitize.Output
			got := c.Write([]byte(test.in[:cut])) + c.Write([]byte(test.in[cut:])) + c.Close()
			if got != test.want {
				t.Errorf("%s, cut at %d: got %q, want %q", test.name, cut, got, test.want)
				break
			}
			if notes := strings.Join(removalNotes(&c), " "); notes != test.notes {
				t.Errorf("%s, cut at %d: got notes %s, want %s", test.name, cut, notes, test.notes)
				break
			}
		}
	}
}

func FuzzCleaner(f *testing.F) {
	for _, seed := range []string{"\x1b[31mred", "\x1b]0;x\x07\r\n", "\xe2\x80", scotland, "\x1b\x1b\\", "\x1bP\x1b"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		var whole sanitize.Output
		want := whole.Write(in) + whole.Close()
		if !utf8.ValidString(want) {
			t.Fatalf("%q became %q, which is not UTF-8", in, want)
		}
		for _, r := range want {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q became %q", in, want)
			}
		}
		size = 1 + max(size, -size)%7
		var pieces sanitize.Output
		var got strings.Builder
		for rest := in; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			got.WriteString(pieces.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(pieces.Close())
		if got.String() != want {
			t.Fatalf("%q in pieces of %d: got %q, want %q", in, size, got.String(), want)
		}
	})
}

func TestVisible(t *testing.T) {
	tests := []struct {
		in, want string
		dropped  int
	}{
		{"plain ä", "plain ä", 0},
		{"a\U000E0041\U000E007Fb", "ab", 2},
		{scotland, scotland, 0},
		{"葛\U000E0100城", "葛\U000E0100城", 0}, // a variant of a Han character
		{"a\U000E0100\U000E0101", "a", 2},
		{"葛\U000E0100\U000E0101\U000E0102", "葛\U000E0100", 2}, // no more than one
		{"\u00AD\u200B\u2060\uFEFF", "", 4},
		{"❤️ 1️⃣", "❤️ 1️⃣", 0},
	}
	for _, test := range tests {
		if got, dropped := sanitize.RemoveHidden(test.in); got != test.want || dropped != test.dropped {
			t.Errorf("%q: got %q and %d, want %q and %d", test.in, got, dropped, test.want, test.dropped)
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
