package files

import (
	"strings"
	"testing"
)

func TestIgnores(t *testing.T) {
	for _, c := range []struct {
		rules string
		path  string // a folder if it ends with "/"
		want  bool
	}{
		{"*.log", "a.log", true},
		{"*.log", "deep/down/a.log", true},
		{"*.log", "a.logs", false},
		{"*.log/", "a.log", false},
		{"*.log/", "a.log/", true},
		{"/*.log", "sub/a.log", false},
		{"*.l?g", "a.lag", true},
		{"*~", "a~", true},
		{"build", "build/", true},
		{"build", "sub/build", true},
		{"build/", "build", false},
		{"/build", "sub/build", false},
		{"a/b", "x/a/b", false},
		{"a/*.c", "a/b/x.c", false},
		{"**/b", "a/b", true},
		{"a/**", "a/", false},
		{"a/**", "a/x/y", true},
		{"a/**/b", "a/b", true},
		{"*.log\n!keep.log", "keep.log", false},
		{"!keep.log\n*.log", "keep.log", true},
		{"# note\n\n  \n", "# note", false},
		{`\#x`, "#x", true},
		{"a ", "a", true},
		{`a\ `, "a ", true},
		{"a\r\n", "a", true},
		{"\uFEFFa", "a", true},
		{"[!ab].c", "a.c", false},
		{"[ab", "a", false},
		{"{a,b}*", "ac", false},
		{"/", "a", false},
		{"!", "a", false},
		{strings.Repeat("*a", 9), strings.Repeat("a", 9), false},
	} {
		path, dir := strings.CutSuffix(c.path, "/")
		if got := parseIgnores(".", c.rules).match(path, dir); got != c.want {
			t.Errorf("%q on %q: got %v, want %v", c.rules, c.path, got, c.want)
		}
	}
	below := parseIgnores("sub", "/x\ny")
	for path, want := range map[string]bool{"x": false, "sub/x": true, "sub/a/x": false, "sub/a/y": true, "subway/y": false, "sub": false} {
		if got := below.match(path, false); got != want {
			t.Errorf("in sub, on %q: got %v, want %v", path, got, want)
		}
	}
}
