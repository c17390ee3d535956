package catalog

import (
	"strings"
	"testing"
)

func BenchmarkDecodeAll(b *testing.B) {
	files, _ := data.ReadDir("data")
	for b.Loop() {
		for _, f := range files {
			e := newEntry("data/" + f.Name())
			e.head()
			for _, r := range e.rows() {
				r.decode()
			}
		}
	}
}

func BenchmarkDecodeOne(b *testing.B) {
	for b.Loop() {
		e := newEntry("data/openai.toml")
		e.head()
		for _, r := range e.rows() {
			r.decode()
		}
	}
}

func BenchmarkDecodeHeads(b *testing.B) {
	files, _ := data.ReadDir("data")
	for b.Loop() {
		for _, f := range files {
			newEntry("data/" + f.Name()).head()
		}
	}
}

// The first guess, of a model that is not in the catalog.
func BenchmarkGuessFirst(b *testing.B) {
	for _, e := range entries() {
		e.rows()
	}
	for b.Loop() {
		namesByWord.Clear()
		Guess("mock/tok-1-rate-0")
	}
}

func BenchmarkEstimate(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\n\tif err != nil { return 你好, 12345 }\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Estimate(text)
	}
}
