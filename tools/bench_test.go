package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// long runs races, kill loops and large trees at full length.
var long = os.Getenv("PARLEY_LONG") == "1"

// forest is a workspace with n source files, a tenth of them ignored, a hundred
// to a directory.
func forest(t testing.TB, n int) fixture {
	t.Helper()
	f := open(t, map[string]string{".gitignore": "*.log\n/build/\nnode_modules\n"})
	for i := range n {
		dir := f.at(fmt.Sprintf("pkg%02d/part%03d", i/5000, i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		name, text := fmt.Sprintf("file%06d.go", i), fmt.Sprintf("package part\n\n// File%06d is one of many.\nfunc File%06d() int { return %d }\n", i, i, i)
		if i%10 == 0 {
			name = fmt.Sprintf("file%06d.log", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// size is how many files the trees of the benchmarks have; 100 000 with PARLEY_LONG=1.
func size() int {
	if long {
		return 100_000
	}
	return 5_000
}

func BenchmarkSearches(b *testing.B) {
	f := forest(b, size())
	for _, bm := range []struct {
		name, tool string
		pairs      []any
	}{
		{"glob", "glob", []any{"pattern", "**/*99.go"}},
		{"glob/name", "glob", []any{"pattern", "pkg00/part001/*.go"}},
		{"grep", "grep", []any{"pattern", "File0+4999 "}},
		{"grep/literal", "grep", []any{"pattern", "no such text", "literal", true}},
		{"grep/glob", "grep", []any{"pattern", "return", "glob", "*99.go"}},
		{"list", "list", []any{"depth", 3}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.must(bm.tool, bm.pairs...)
			}
		})
	}
}
