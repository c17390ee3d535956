package swar_test

import (
	"math/rand/v2"
	"strconv"
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

func TestDigits(t *testing.T) {
	for _, text := range []string{
		"00000000", "12345678", "99999999", "00000009", "90000000", "1764288/", "1764288:", "/7642881", ":7642881", "1764 288", "-1234567", "1234567\xb1", "\x001234567",
	} {
		want, err := strconv.ParseUint(text, 10, 64)
		if n, ok := swar.Digits(swar.Load(text, 0)); ok != (err == nil) || ok && n != want {
			t.Errorf("%q: got %d, %t, want %d, %v", text, n, ok, want, err)
		}
	}
	for place := range 8 { // each digit at each place, and each byte
		for b := range 256 {
			text := []byte("73519264")
			text[place] = byte(b)
			want, err := strconv.ParseUint(string(text), 10, 64)
			if n, ok := swar.Digits(swar.Load(string(text), 0)); ok != (err == nil) || ok && n != want {
				t.Errorf("%q: got %d, %t, want %d, %v", text, n, ok, want, err)
			}
		}
	}
}
