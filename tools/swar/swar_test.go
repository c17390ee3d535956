package swar_test

import (
	"math/rand/v2"
	"testing"

	"parley/tools/swar"
)

// The first mark, and whether there are any, is what a look at each byte says: of each pair of
// bytes side by side, between random ones.
func TestMarks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for pair := range 1 << 16 {
		var text [10]byte
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		at := pair % 8
		text[at+1], text[at+2] = byte(pair>>8), byte(pair)
		x := swar.Load(string(text[:]), 1)
		for _, c := range []byte{0, 1, ' ', '"', '&', '\\', 0x7f, 0x80, 0xff} {
			check(t, text[1:9], swar.Equal(x, c), func(b byte) bool { return b == c })
		}
		for _, c := range []byte{0, 1, ' ', 0x7f, 0x80} {
			check(t, text[1:9], swar.Below(x, c), func(b byte) bool { return b < c })
		}
		check(t, text[1:9], swar.NonASCII(x), func(b byte) bool { return b >= 0x80 })
		check(t, text[1:9], swar.Equal(x, '"')|swar.Below(x, ' ')|swar.NonASCII(x), func(b byte) bool { return b == '"' || b < ' ' || b >= 0x80 })
	}
}

func check(t *testing.T, text []byte, marks uint64, is func(byte) bool) {
	t.Helper()
	for i, b := range text {
		if is(b) {
			if marks == 0 || swar.First(marks) != i {
				t.Fatalf("% x: marks %016x, want the first one at %d", text, marks, i)
			}
			return
		}
	}
	if marks != 0 {
		t.Fatalf("% x: marks %016x, want none", text, marks)
	}
}
