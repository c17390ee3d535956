package diffview

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// bracketed puts the emphasized ranges in brackets.
func bracketed(s string, loud []byteRange) string {
	var b strings.Builder
	at := 0
	for _, r := range loud {
		b.WriteString(s[at:r.from] + "[" + s[r.from:r.to] + "]")
		at = r.to
	}
	return b.String() + s[at:]
}

func TestChangedWords(t *testing.T) {
	for _, c := range []struct{ name, a, b, wantA, wantB string }{
		{"one word", "return nil, err", "return nil, fmt", "return nil, [err]", "return nil, [fmt]"},
		{"a number in a name", "x1 := f(a)", "x2 := f(a)", "[x1] := f(a)", "[x2] := f(a)"},
		{"something more", "run(ctx)", "run(ctx, 3)", "run(ctx)", "run(ctx[, 3])"},
		{"something less", "if a && b {", "if a {", "if a [&& b ]{", "if a {"},
		{"spaces go with the words around them", "a := old thing here", "a := some new here", "a := [old thing] here", "a := [some new] here"},
		{"indentation", "x()", "    x()", "x()", "[    ]x()"},
		{"other scripts are words", "名前 = 日本語", "名前 = 中文", "名前 = [日本語]", "名前 = [中文]"},
		{"marks stay on their letters", "x = 'e\u0301'", "x = 'e'", "x = '[e\u0301]'", "x = '[e]'"},
		{"the same", "x", "x", "x", "x"},
		{"nothing in common", "alpha beta", "gamma(delta)", "", ""},
		{"only a bracket in common", "}", "return values(of, this) }", "", ""},
		{"nothing", "", "x", "", ""},
		{"only space", "  ", " ", "", ""},
		{"too long", strings.Repeat("x", maxHighlightBytes+1), "x", "", ""},
		{"too many words", strings.Repeat("x ", maxWords), "x", "", ""},
		{"as many words as are compared", strings.Repeat("x+", maxWords/2), strings.Repeat("x+", maxWords/2), strings.Repeat("x+", maxWords/2), strings.Repeat("x+", maxWords/2)},
		{"as long as is compared", strings.Repeat("x", maxHighlightBytes), strings.Repeat("x", maxHighlightBytes), strings.Repeat("x", maxHighlightBytes), strings.Repeat("x", maxHighlightBytes)},
		{"the other is too long", "x", strings.Repeat("x", maxHighlightBytes+1), "", ""},
		{"half in common", "ab cd", "ab xy", "ab [cd]", "ab [xy]"},
		{"less than half", "ab cde", "ab xyz", "", ""},
		{"a quarter of the longer line", "ab", "ab cdefgh", "ab", "ab[ cdefgh]"},
		{"less than a quarter", "ab", "ab cdefghi", "", ""},
		{"a space between changed and kept words", "a bb c", "a dd c", "a [bb] c", "a [dd] c"},
		{"a space at the end", "a b", "a b ", "a b", "a b[ ]"},
		{"a name with all that belongs to it", "a_1é+bcdefg", "a_2é+bcdefg", "[a_1é]+bcdefg", "[a_2é]+bcdefg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			work := wordsWork
			was, is, ok := changedWords(c.a, c.b, &work)
			if ok != (c.wantA != "") {
				t.Fatalf("the lines are the same one: %v", ok)
			}
			a, b := bracketed(c.a, was), bracketed(c.b, is)
			if ok && (a != c.wantA || b != c.wantB) {
				t.Errorf("got  %s and %s\nwant %s and %s", a, b, c.wantA, c.wantB)
			}
		})
	}
	for before, after := range map[int]int{48: 48, 49: 0, 50: 1} {
		work := before
		if _, _, ok := changedWords("a b c d", "a b c e", &work); ok != (before >= 49) || work != after {
			t.Errorf("7 × 7 words with work for %d: compared %v, %d left, want %d", before, ok, work, after)
		}
	}
}

// As many words as possible are kept, and the same on both sides.
func TestLongestCommon(t *testing.T) {
	var most func(x, y string) int
	most = func(x, y string) int {
		switch {
		case x == "" || y == "":
			return 0
		case x[0] == y[0]:
			return 1 + most(x[1:], y[1:])
		}
		return max(most(x[1:], y), most(x, y[1:]))
	}
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, random.IntN(8))
		for i := range b {
			b[i] = "abc"[random.IntN(3)]
		}
		return string(b)
	}
	keep := func(s string, in []bool) (kept string) {
		for i := range s {
			if in[i] {
				kept += s[i : i+1]
			}
		}
		return kept
	}
	for range 2000 {
		x, y := word(), word()
		inX, inY := longestCommon(strings.Split(x, ""), strings.Split(y, ""))
		if a, b := keep(x, inX), keep(y, inY); a != b || len(a) != most(x, y) {
			t.Errorf("%q and %q: got %q and %q, want %d letters", x, y, a, b, most(x, y))
		}
	}
}

// Ranges are inside of the line, in order, and at the borders of characters.
// The text outside of them is the same on both sides.
func FuzzChangedWords(f *testing.F) {
	f.Add("return nil, err", "return  fmt.Errorf(\"%w\", err)")
	f.Add("日本語 e\u0301\u0301 👨‍👩‍👧", "日本 e\u0301 👨‍👩‍👦")
	f.Fuzz(func(t *testing.T, a, b string) {
		work := wordsWork
		was, is, ok := changedWords(a, b, &work)
		if !ok {
			return
		}
		kept := func(s string, loud []byteRange) string {
			var b strings.Builder
			at := 0
			for _, r := range loud {
				if r.from < at || r.to <= r.from || r.to > len(s) {
					t.Fatalf("%q has the reach %v after %d", s, r, at)
				}
				b.WriteString(s[at:r.from])
				at = r.to
			}
			return strings.ReplaceAll(b.String()+s[at:], " ", "")
		}
		if x, y := kept(a, was), kept(b, is); x != y {
			t.Fatalf("%q and %q keep %q and %q", a, b, x, y)
		}
	})
}
