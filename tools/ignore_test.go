package tools

import (
	"strings"
	"testing"
)

func TestIgnores(t *testing.T) {
	tests := []struct {
		rules string
		path  string // a folder if it ends with "/"
		want  bool
	}{
		{"*.log", "a.log", true},
		{"*.log", "deep/down/a.log", true},
		{"*.log", "a.logs", false},
		{"build", "build/", true},
		{"build", "sub/build", true},
		{"build/", "build/", true},
		{"build/", "build", false},
		{"/build", "build", true},
		{"/build", "sub/build", false},
		{"a/b", "a/b", true},
		{"a/b", "x/a/b", false},
		{"a/*.c", "a/x.c", true},
		{"a/*.c", "a/b/x.c", false},
		{"**/b", "b", true},
		{"**/b", "a/b", true},
		{"a/**", "a/", false},
		{"a/**", "a/x", true},
		{"a/**", "a/x/y", true},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/x/y/b", true},
		{"*.log\n!keep.log", "keep.log", false},
		{"!keep.log\n*.log", "keep.log", true},
		{"# note\n\n  \n", "# note", false},
		{`\#x`, "#x", true},
		{`\!x`, "!x", true},
		{"a ", "a", true},
		{`a\ `, "a ", true},
		{"a\r\n", "a", true},
		{"\uFEFFa", "a", true},
		{"[ab].c", "a.c", true},
		{"[!ab].c", "c.c", true},
		{"[!ab].c", "a.c", false},
		{"[ab", "a", false},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"{a,b}", "a", false},
		{"{a,b}", "{a,b}", true},
		{"{a,b}*", "{a,b}c", true},
		{"{a,b}*", "ac", false},
		{"/", "a", false},
		{"!", "a", false},
	}
	for _, test := range tests {
		path, dir := strings.CutSuffix(test.path, "/")
		if got := parseIgnores(".", test.rules).match(path, dir); got != test.want {
			t.Errorf("%q on %q: got %v, want %v", test.rules, test.path, got, test.want)
		}
	}
}

// The files of folders further down come later, and hold only there.
func TestNestedIgnores(t *testing.T) {
	rules := append(parseIgnores(".", "*.tmp\n/only"), parseIgnores("sub", "!keep.tmp\n/only\nx/y")...)
	tests := []struct {
		path string
		want bool
	}{
		{"keep.tmp", true},
		{"sub/keep.tmp", false},
		{"sub/deep/keep.tmp", false},
		{"sub/other.tmp", true},
		{"only", true},
		{"sub/only", true},
		{"other/only", false},
		{"sub/x/y", true},
		{"x/y", false},
		{"subway/keep.tmp", true},
	}
	for _, test := range tests {
		if got := rules.match(test.path, false); got != test.want {
			t.Errorf("%s: got %v, want %v", test.path, got, test.want)
		}
	}
}

func FuzzIgnores(f *testing.F) {
	f.Add("*.log\n!a\n/b/\nc/**", "a/b.log")
	f.Add("[a\n\\\n{", "x")
	f.Add("**/**/**/a", "a/a/a")
	f.Fuzz(func(t *testing.T, rules, path string) {
		ignored := parseIgnores(".", rules)
		for _, dir := range []bool{true, false} {
			// One more rule that brings everything back always does.
			if append(ignored[:len(ignored):len(ignored)], parseIgnores(".", "!**")...).match("x", dir) {
				t.Errorf("%q: x stays ignored", rules)
			}
			ignored.match(path, dir)
		}
	})
}
