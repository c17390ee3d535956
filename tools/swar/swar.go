// Package swar processes eight bytes of a text at once: SIMD within a register, as described
// at https://graphics.stanford.edu/~seander/bithacks.html#ZeroInWord.
package swar

import "math/bits"

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// Load returns the eight bytes of s at i, the first one lowest.
func Load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// Equal marks the bytes of x that equal c. Only the lowest mark, and whether there are any, is
// reliable.
func Equal(x uint64, c byte) (marks uint64) {
	x ^= ones * uint64(c)
	return (x - ones) &^ x & high
}

// Below marks the bytes of x less than c, which is at most 0x80. See Equal about marks.
func Below(x uint64, c byte) (marks uint64) { return (x - ones*uint64(c)) &^ x & high }

// NonASCII marks the bytes of x that are 0x80 or more.
func NonASCII(x uint64) (marks uint64) { return x & high }

// First returns the index of the lowest marked byte; marks must not be 0.
func First(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }
