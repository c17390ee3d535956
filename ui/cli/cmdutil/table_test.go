package cmdutil

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// Columns are as wide as their widest cell on a terminal; no spaces follow the last one.
func TestColumns(t *testing.T) {
	lines := func(table [][]string) string {
		var b strings.Builder
		if err := WriteTable(&b, 0, slices.Values(table)); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	got := lines([][]string{{"1ng7", "now", "demo"}, {"x", "12 min", "what 日本 is"}, {"日本", "é", ""}})
	want := "1ng7  now     demo\nx     12 min  what 日本 is\n日本  é\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := lines(nil); got != "" {
		t.Errorf("no rows: got %q", got)
	}
}

// BenchmarkColumns writes a list of a long history.
func BenchmarkColumns(b *testing.B) {
	table := slices.Repeat([][]string{{"1ng7gdwz27v71", "6 d", "openai/gpt-6.1-sol", "$0.12", "What the tests of this folder say"}}, 10_000)
	for b.Loop() {
		_ = WriteTable(io.Discard, 0, slices.Values(table))
	}
}
