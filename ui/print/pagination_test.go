package print

import (
	"slices"
	"testing"
)

// Columns are as wide as their widest cell, in cells of a terminal; what is last in a line is
// followed by nothing.
func TestColumns(t *testing.T) {
	got := columns([][]string{{"1ng7", "now", "demo"}, {"x", "12 min", "what 日本 is"}, {"日本", "é", ""}})
	want := "1ng7  now     demo\nx     12 min  what 日本 is\n日本  é       \n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := columns(nil); got != "" {
		t.Errorf("no rows: got %q", got)
	}
}

// A list of all that was ever said.
func BenchmarkColumns(b *testing.B) {
	table := slices.Repeat([][]string{{"1ng7gdwz27v71", "6 d", "openai/gpt-6.1-sol", "$0.12", "What the tests of this folder say"}}, 10_000)
	for b.Loop() {
		columns(table)
	}
}
