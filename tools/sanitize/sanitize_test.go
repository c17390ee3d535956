package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var texts = []struct{ name, in, want string }{
	{"plain", "hello\n\tworld", "hello\n\tworld"},
	{"clipboard", "A\x1b]52;c;ZXZpbA==\x07B", "A␛]52;c;ZXZpbA==␇B"},
	{"title", "\x1b]0;root@prod\x07", "␛]0;root@prod␇"},
	{"unterminated escape swallows nothing", "text \x1b]8;;http://x\nmore\nmore", "text ␛]8;;http://x\nmore\nmore"},
	{"lone CR", "echo good\r\x1b[2Krm -rf ~", "echo good␍␛[2Krm -rf ~"},
	{"CRLF", "a\r\nb\r\r\nc\r", "a\nb␍\nc␍"},
	{"C1 as UTF-8", "\u009b31m \u0090q\u009c \u0085", "<U+009B>31m <U+0090>q<U+009C> <U+0085>"},
	{"C1 as a raw byte", "a\x9b31m", "a<U+009B>31m"},
	{"DEL", "a\x7f", "a<U+007F>"},
	{"NUL, BEL, BS", "\x00\a\b", "␀␇␈"},
	{"bidi", "\u202egpj.exe \u2066x\u2069 \u200f\u061c", "<U+202E>gpj.exe <U+2066>x<U+2069> <U+200F><U+061C>"},
	{"line separators", "a\u2028b\u2029", "a<U+2028>b<U+2029>"},
	{"zero width", "a\u200bb\ufeffc\u2060d\u00ade", "abcde"},
	{"tags spell nothing", "x\U000e0069\U000e0067\U000e006ey", "xy"},
	{"hangul and mongolian fillers", "a\u3164b\u115fc\u180ed\uffa0", "abcd"},
	{"invalid bytes", "a\xffb\xfe", "a\ufffdb\ufffd"},
	{"truncated sequence", "\xe2\x82A\xf0\x9f\x98", "\ufffdA\ufffd"},
	{"surrogate", "\xed\xa0\x80!", "\ufffd\ufffd<U+0080>!"},
	{"accents", "e\u0301 क्षि ไม้", "e\u0301 क्षि ไม้"},
	{"marks capped", "e" + strings.Repeat("\u0301", 10_000) + "x\u0301", "e" + strings.Repeat("\u0301", Marks) + "x\u0301"},
	{"family", "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"},
	{"skin tone and profession", "👩🏽‍⚕️ 🏳️‍🌈", "👩🏽‍⚕️ 🏳️‍🌈"},
	{"keycap, heart, copyright", "1️⃣ ❤️ ©️ ☎︎", "1️⃣ ❤️ ©️ ☎︎"},
	{"regional flags", "🇩🇪🇫🇷", "🇩🇪🇫🇷"},
	{"flag of Scotland", "🏴󠁧󠁢󠁳󠁣󠁴󠁿!", "🏴󠁧󠁢󠁳󠁣󠁴󠁿!"},
	{"a flag carries no other tags", "🏴\U000e0068\U000e0069", "🏴"},
	{"nothing after a whole flag", "🏴󠁧󠁢󠁳󠁣󠁴󠁿\U000e002a\U000e0067", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"},
	{"two selectors", "❤\ufe0f\ufe0f", "❤\ufe0f"},
	{"selector without a base", "a\ufe0f", "a"},
	{"joiner between letters", "a\u200db", "ab"},
	{"two joiners", "👩\u200d\u200d👩", "👩\u200d👩"},
	{"drawn and wide", "┌─┐ 日本語", "┌─┐ 日本語"},
}

func TestText(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(tt.in); got != tt.want {
				t.Errorf("Text(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			check(t, tt.in)
		})
	}
}

func TestLine(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"name.go", "name.go"},
		{"x\ny", "x␊y"},
		{"x\r\ny\tz", "x␊y z"},
		{"a\x1b[2Jb", "a␛[2Jb"},
		{"\u202egpj.exe", "<U+202E>gpj.exe"},
	} {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// A line stays as it is exactly if all of its bytes are printable ASCII, wherever they stand.
func TestLineOfEachByte(t *testing.T) {
	for at := range 17 {
		for b := range 256 {
			line := []byte(strings.Repeat("~ ", 9)[:17])
			line[at] = byte(b)
			if same := Line(string(line)) == string(line); same != (b >= ' ' && b <= '~') {
				t.Errorf("byte %#x at %d: %v", b, at, same)
			}
		}
	}
}

func TestCounted(t *testing.T) {
	in := "read this" + strings.Repeat("\U000e0041", 40) + " 👨‍👩‍👧‍👦"
	text, dropped := Counted(in)
	if text != "read this 👨‍👩‍👧‍👦" || dropped != 40 {
		t.Errorf("Counted = %q, %d, want the text and 40", text, dropped)
	}
	var s Stream
	s.Add(in)
	if s.Dropped() != 40 {
		t.Errorf("Stream.Dropped = %d, want 40", s.Dropped())
	}
}

// TestSource: what is handed on is what was seen, and what was seen instead of
// something else is left out.
func TestSource(t *testing.T) {
	tests := []struct {
		name, in, want string
		dropped        int
	}{
		{"plain", "ls -l\n\tx\n", "ls -l\n\tx\n", 0},
		{"the end of a paste", "ls\x1b[201~\nrm -rf ~", "ls[201~\nrm -rf ~", 1},
		{"the end of a paste in one byte", "ls\x9b201~ \u009b201~", "ls201~ 201~", 2},
		{"a pressed enter", "ls\rrm x\r\ny", "lsrm x\ny", 1},
		{"controls", "a\x00\x08\x7f\x03\x04b", "ab", 5},
		{"bidi", "\u202ea\u2066b\u2069\u200f", "ab", 4},
		{"zero width and tags", "a\u200bb\U000e0041\ufeffc\u00ad", "abc", 4},
		{"emoji stay", "👩‍👩‍👧‍👦 ❤️ 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "👩‍👩‍👧‍👦 ❤️ 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", 0},
		{"scripts stay", "e\u0301 क्षि ไม้ 日本語", "e\u0301 क्षि ไม้ 日本語", 0},
		{"no text", "a\xff", "a\ufffd", 0},
	}
	for _, tt := range tests {
		if got, dropped := Source(tt.in); got != tt.want || dropped != tt.dropped {
			t.Errorf("%s: Source(%q) = %q, %d, want %q, %d", tt.name, tt.in, got, dropped, tt.want, tt.dropped)
		}
	}
}

func TestPrintableTextIsNotCopied(t *testing.T) {
	s := strings.Repeat("plain text, no more.\n", 100)
	if n := testing.AllocsPerRun(10, func() { Text(s) }); n != 0 {
		t.Errorf("Text allocates %v times, want 0", n)
	}
	var st Stream
	if n := testing.AllocsPerRun(10, func() { st.Add(s) }); n != 0 {
		t.Errorf("Stream.Add allocates %v times, want 0", n)
	}
}

// check holds the properties of the package for one input.
func check(t *testing.T, in string) {
	t.Helper()
	whole := Text(in)
	if again := Text(whole); again != whole {
		t.Errorf("not idempotent: %q\n once %q\ntwice %q", in, whole, again)
	}
	if line := Line(in); Line(line) != line || strings.ContainsAny(line, "\n\t") {
		t.Errorf("Line(%q) = %q is not one settled line", in, line)
	}
	forbid(t, whole)
	source, _ := Source(in)
	if forbid(t, source); Text(source) != source {
		t.Errorf("Source(%q) = %q, which is shown as %q", in, source, Text(source))
	}
	var single Stream
	var b strings.Builder
	for i := range len(in) {
		b.WriteString(single.Add(in[i : i+1]).String())
		if len(single.pending) > 3 {
			t.Fatalf("%q: %d bytes held after %d", in, len(single.pending), i+1)
		}
	}
	if b.WriteString(single.End().String()); b.String() != whole {
		t.Errorf("byte by byte %q\n got %q\nwant %q", in, b.String(), whole)
	}
	for i := 0; i <= len(in); i += 1 + len(in)/64 {
		var s Stream
		if got := s.Add(in[:i]).String() + s.Add(in[i:]).String() + s.End().String(); got != whole {
			t.Errorf("cut at %d of %q\n got %q\nwant %q", i, in, got, whole)
		}
	}
}

// forbid fails if text holds anything a terminal would act on or hide.
func forbid(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("invalid UTF-8 in %q", text)
	}
	prev := rune(0)
	for _, r := range text {
		emoji := unicode.Is(pictographic, prev) || prev == emojiSelector || unicode.Is(unicode.Cf, prev)
		switch {
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0, unicode.Is(unicode.Bidi_Control, r):
			t.Errorf("%U in %q", r, text)
		case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			if !emoji && !strings.ContainsRune("#*0123456789", prev) && !visible(r) {
				t.Errorf("%U after %U in %q", r, prev, text)
			}
		}
		prev = r
	}
}

// visible format characters: hieroglyph and music layout is drawn.
func visible(r rune) bool { return r == 0x110bd || r == 0x110cd || r >= 0x13430 && r <= 0x1343f }

func FuzzText(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 4096 {
			t.Skip("quadratic check")
		}
		check(t, in)
	})
}

func BenchmarkText(b *testing.B) {
	for _, bm := range []struct{ name, text string }{
		{"ascii", strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 20_000)},
		{"cjk", strings.Repeat("日本語のテキスト。", 30_000)},
		{"escapes", strings.Repeat("\x1b[31mred\x1b[m ", 60_000)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				Text(bm.text)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \n\t": "", "a  b\r\n\x00c ": "a b c", "a\xff\xfeb": "a\uFFFDb", "\u0085a\u00a0b": "a b", "zero\u200bwidth": "zero\u200bwidth",
	} {
		if got := Words(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
