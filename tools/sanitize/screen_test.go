package sanitize_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/tools/sanitize"
)

// screens lists outputs and what a terminal shows of them at their end.
var screens = []struct{ name, in, want string }{
	{"plain", "a\tb\nä 😀\n\n", "a\tb\nä 😀\n\n"},
	{"CRLF", "a  \r\nb\r\n", "a  \nb\n"},
	{"carriage return", "10%\r20%\r\n", "20%\n"},
	{"carriage return at the end", "a\nb\r", "a\nb"},
	{"a shorter line over a longer one", "downloading\rdone\n", "doneloading\n"},
	{"blanks over a longer line", "downloading\rdone       \nx  \n", "done       \nx  \n"},
	{"erase to the end", "downloading\r\x1b[Kdone\n", "done\n"},
	{"erase behind", "downloading\rdone\x1b[0K\n", "done\n"},
	{"erase before", "abcdef\b\b\x1b[1Kx\n", "    xf\n"},
	{"erase the line", "abc\x1b[2Kx\n", "   x\n"},
	{"erase the line, column 1", "abc\x1b[2K\x1b[Gx\n", "x\n"},
	{"backspaces", "|\b/\b-\b\\\bdone\n", "done\n"},
	{"overstrike", "N\bNA\bA _\bx\n", "NA x\n"},
	{"cursor up", "a 1%\nb 1%\n\x1b[2Aa 2%\nb 2%\n", "a 2%\nb 2%\n"},
	{"cursor up, erase", "layer 1\nlayer 2\n\x1b[1A\x1b[2K\rready\nend\n", "layer 1\nready\nend\n"},
	{"previous line", "a\nb\n\x1b[Fc\n", "a\nc\n"},
	{"up and erase the screen", "a\nb\nc\n\x1b[3A\x1b[Jdone\n", "done\n"},
	{"up beyond the beginning", "a\n\x1b[99Ab\n", "b\n"},
	{"up keeps the column", "ab\ncd\x1b[Ax\n", "abx\ncd"},
	{"down", "a\nb\n\x1b[2Ax\x1b[2B\rc\n", "x\nb\nc\n"},
	{"left and right", "abc\x1b[2Dx\x1b[3Cy\n", "axc  y\n"},
	{"clear", "old\nold\n\x1b[H\x1b[2Jnew\n", "new\n"},
	{"redraw from home", "\x1b[H1 of 2\x1b[K\nx\n\x1b[H2 of 2\x1b[K\n\x1b[J", "2 of 2\n"},
	{"position", "abc\x1b[1;2Hx\x1b[2;1Hd\n", "axc\nd\n"},
	{"position far below", "a\x1b[90;1Hb\n", "a\nb\n"},
	{"colors stay out", "\x1b[32m10%\x1b[0m\r\x1b[32m99%\x1b[0m\n", "99%\n"},
	{"wide", "下载 10%\r下载 20%\n", "下载 20%\n"},
	{"narrow over wide", "下载中\ra\n", "a 载中\n"},
	{"wide over narrow", "abc\r下\n", "下c\n"},
	{"half of a wide one", "下载\x1b[2Gx\n", " x载\n"},
	{"marks", "e\u0301a\rx\u0301\n", "x\u0301a\n"},
	{"tab", "a\tb\rxy\tc\n", "xy\tc\n"},
	{"tab overwritten", "a\tb\rabcd\n", "abcd    b\n"},
	{"never closed", "a\x1b]8;;http://x\nb\rc", "a]8;;http://x\nc"},
	{"a private sequence", "\x1b[?25la\x1b[?25h\n", "a\n"},
	{"a sequence in two rows", "x\x1b[2\nK", "x[2\nK"},
	{"progress bar", strings.Repeat("\r|####    | 50%", 200) + "\r\x1b[Kdone\n", "done\n"},
	{"long line", strings.Repeat("x ", 20_000) + "\n", strings.Repeat("x ", 20_000) + "\n"},
	{"long line above", "a\nb\x1b[A" + strings.Repeat("x", 1500) + "\n", "a" + strings.Repeat("x", 999) + "\nb\n" + strings.Repeat("x", 501) + "\n"},
	{"many lines", strings.Repeat("line\n", 1000) + "\x1b[1Aend \n", strings.Repeat("line\n", 999) + "end \n"},
	{"many lines at once, over another", "ab\rc" + strings.Repeat("line\n", 300) + "\x1b[99Aend \n", "cline\n" + strings.Repeat("line\n", 200) + "end \n" + strings.Repeat("line\n", 97) + "line"},
}

func play(pieces ...string) (text string, s sanitize.Screen) {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(s.Write([]byte(p)))
	}
	b.WriteString(s.Close())
	return b.String(), s
}

// TestScreen plays every output whole and at every cut, and what Rest shows is what Close returns.
func TestScreen(t *testing.T) {
	for _, tt := range screens {
		got, s := play(tt.in)
		if got != tt.want {
			t.Errorf("%s: got %.200q, want %.200q", tt.name, got, tt.want)
			continue
		}
		for cut := 0; cut <= len(tt.in); cut += 1 + len(tt.in)/300 {
			text, pieces := play(tt.in[:cut], tt.in[cut:])
			if text != got || pieces.Escapes != s.Escapes {
				t.Errorf("%s, cut at %d: got %.200q, want %.200q", tt.name, cut, text, got)
				break
			}
		}
		var live sanitize.Screen
		shown := live.Write([]byte(tt.in)) + live.Rest()
		if end := live.Close(); !strings.HasSuffix(tt.want, end) && end != "" || strings.IndexByte(tt.in, 0x1b) < 0 && shown != tt.want {
			t.Errorf("%s: live %.200q, at the end %.200q", tt.name, shown, tt.want)
		}
	}
	if _, s := play("a\rb\x1b[K\b\x1b[31m\x00"); s.Escapes != 2 {
		t.Errorf("%d controls removed, want the color and the NUL", s.Escapes)
	}
}

// TestScreenIsBounded plays moves made to cost much: what leaves is bounded by what came, and
// what is kept by a limit. Random pieces give what the whole gives.
func TestScreenIsBounded(t *testing.T) {
	pieces := []string{"\x1b[A", "\x1b[B", "\r", "\b", "x", "下", "\t", "\n", "\x1b[K", "\x1b[1K", "\x1b[2J", "\x1b[J", "\x1b[H", "\x1b[999;999H", "\x1b[99999C", "\x1b[3;9f", "e\u0301\u0301", strings.Repeat("long ", 40), "\x1b[9F", "\x1b[7G", "\x1b[?1h", "\xff", strings.Repeat("line\n", 150), strings.Repeat("long ", 500)}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		var in strings.Builder
		for range 2000 {
			n := len(pieces)
			if round%3 > 0 { // a few of them, again and again
				n = 1 + round%n
			}
			in.WriteString(pieces[(r.IntN(n)+round)%len(pieces)])
		}
		whole, _ := play(in.String())
		var s sanitize.Screen
		var got strings.Builder
		for rest := in.String(); rest != ""; {
			n := min(1+r.IntN(300), len(rest))
			got.WriteString(s.Write([]byte(rest[:n])))
			rest = rest[n:]
			if kept := len(s.Rest()); kept > 100<<10 {
				t.Fatalf("%d bytes are kept", kept)
			}
		}
		got.WriteString(s.Close())
		if got.String() != whole || !utf8.ValidString(whole) || len(whole) > 300*in.Len() {
			t.Fatalf("round %d: %d bytes in pieces, %d as a whole, of %d", round, got.Len(), len(whole), in.Len())
		}
	}
}

// TestScreenPassesOn: text that nothing can change any more is not split into characters.
func TestScreenPassesOn(t *testing.T) {
	for _, in := range []string{strings.Repeat("y", 32<<10), strings.Repeat("y\n", 16<<10)} {
		var s sanitize.Screen
		if n := testing.AllocsPerRun(10, func() { s.Write([]byte(in)) }); n > 150 {
			t.Errorf("%.10q: %v allocations for 32 KB", in, n)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, tt := range screens {
		f.Add(tt.in[:min(len(tt.in), 500)], 3)
	}
	f.Fuzz(func(t *testing.T, in string, size int) {
		whole, _ := play(in)
		var pieces []string
		for size = 1 + max(size, -size, 0)%7; in != ""; {
			n := min(size, len(in))
			pieces, in = append(pieces, in[:n]), in[n:]
		}
		if got, _ := play(pieces...); got != whole {
			t.Fatalf("%q in pieces: %q, whole: %q", pieces, got, whole)
		}
	})
}

func BenchmarkScreen(b *testing.B) {
	for _, piece := range []string{"a line of output as programs write it\n", "\x1b[32mok\x1b[0m a line with color\n", "\r 10% of it", "\x1b[A\x1b[B", "\x1b[1K", "下\x1b[A", "\x1b[90Gx\n"} {
		in := []byte(strings.Repeat(piece, 1<<20/len(piece)))
		b.Run(fmt.Sprintf("%q", piece), func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				var s sanitize.Screen
				for p := in; len(p) > 0; p = p[min(len(p), 32<<10):] {
					s.Write(p[:min(len(p), 32<<10)])
				}
				s.Close()
			}
		})
	}
}
