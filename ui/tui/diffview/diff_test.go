package diffview

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseDiff(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"one hunk", "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ func f() {\n same\n-old\n+new\n", " 3 same|-4 old|+4 new"},
		{"a new file", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n", "+1 a|+2 b"},
		{"removed lines like headers", "@@ -1,2 +1,1 @@\n--- a/x\n keep\n", "-1 -- a/x| 1 keep"},
		{"two places", "@@ -1,1 +1,1 @@\n a\n@@ -9,1 +9,1 @@\n b\n", " 1 a|# ⋯| 9 b"},
		{"two files are named", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n b\n", "# x| 1 a|# y| 1 b"},
		{"no newline at the end", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
			"-1 a|# \\ No newline at end of file|+1 b|# \\ No newline at end of file"},
		{"not a diff", "hello\nworld", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var rows []string
			for _, ch := range Read(c.in, 0).changes {
				if ch.sign == 0 {
					rows = append(rows, "# "+ch.text)
					continue
				}
				rows = append(rows, fmt.Sprintf("%c%d %s", ch.sign, ch.line, ch.text))
			}
			if got := strings.Join(rows, "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
