package gitignore

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		rules string
		path  string // a directory if it ends with "/"
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
		{"*.log/", "a.log", false},
		{"*.log/", "a.log/", true},
		{"/*.log", "sub/a.log", false},
		{"*.l?g", "a.lag", true},
		{"*~", "a~", true},
		{strings.Repeat("*a", 9), strings.Repeat("a", 9), false},
	} {
		path, dir := strings.CutSuffix(test.path, "/")
		if got := Parse(".", test.rules).Match(path, dir); got != test.want {
			t.Errorf("%q on %q: got %v, want %v", test.rules, test.path, got, test.want)
		}
	}
}

// The files of directories further down come later, and hold only there.
func TestBelow(t *testing.T) {
	rules := Parse(".", "*.tmp\n/only").Append(Parse("sub", "!keep.tmp\n/only\nx/y"))
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
		{"sub", false},
	}
	for _, test := range tests {
		if got := rules.Match(test.path, false); got != test.want {
			t.Errorf("%s: got %v, want %v", test.path, got, test.want)
		}
	}
}

// Rules of one directory do not get into those of its neighbor.
func TestAndKeepsBoth(t *testing.T) {
	above := Parse(".", "a\nb\nc")
	left, right := above.Append(Parse("l", "x")), above.Append(Parse("r", "y"))
	if !left.Match("l/x", false) || left.Match("r/y", false) || !right.Match("r/y", false) || len(above) != 3 {
		t.Errorf("got %v and %v", left, right)
	}
}

func TestRulesAreBounded(t *testing.T) {
	rules := Rules{}.Append(make(Rules, maxRules+5)).Append(make(Rules, 5))
	if len(rules) != maxRules {
		t.Errorf("%d rules", len(rules))
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("*.log\n!keep.log\n/out/\na/**\n[a-c]?\n{a,b}", "a/keep.log")
	f.Add(`**/**/*a*a*a*b`, strings.Repeat("a/", 50))
	f.Add("[a\n\\\n{", "x")
	f.Add("**/**/**/a", "a/a/a")
	f.Fuzz(func(t *testing.T, text, path string) {
		rules := Parse(".", text)
		for _, dir := range []bool{true, false} {
			rules.Match(path, dir)
			rules.Append(Parse("sub", text)).Match("sub/"+path, dir)
			// One more rule that brings everything back always does.
			if len(rules) < maxRules && rules.Append(Parse(".", "!**")).Match("x", dir) {
				t.Errorf("%q: x stays ignored", text)
			}
		}
	})
}
