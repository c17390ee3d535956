package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"

	"parley/tools/diff"
)

// spelled returns a line as its kind, its numbers and its text.
func spelled(l diff.Line) string {
	if l.Kind == diff.Other {
		return "? " + l.Text()
	}
	out := fmt.Sprintf("%c %d %d %s", l.Kind, l.Old, l.New, l.Text())
	if l.File != "" {
		out += " of " + l.File
	}
	return out
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "? "},
		{"one hunk", "--- a/x\n+++ b/x\n@@ -3,2 +3,2 @@ func f() {\n same\n-old\n+new\n",
			"a 0 0 --- a/x|b 0 0 +++ b/x of x|@ 3 3 @@ -3,2 +3,2 @@ func f() {|  3 3 same|- 4 0 old|+ 0 4 new"},
		{"counts of one are left out", "@@ -1 +1 @@\n-a\n+b\n", "@ 1 1 @@ -1 +1 @@|- 1 0 a|+ 0 1 b"},
		{"a new file", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a", "a 0 0 --- /dev/null|b 0 0 +++ b/x of x|@ 0 1 @@ -0,0 +1 @@|+ 0 1 a"},
		{"a file that is gone", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a", "a 0 0 --- a/x|b 0 0 +++ /dev/null of x|@ 1 0 @@ -1 +0,0 @@|- 1 0 a"},
		{"names with a time", "--- x\t2026-11-20 10:00\n+++ x\t2026-11-20 10:01\n", "a 0 0 --- x\t2026-11-20 10:00|b 0 0 +++ x\t2026-11-20 10:01 of x"},
		{"content like names", "@@ -1,2 +1,3 @@\n--- a/x\n+++ b/x\n+++ b/y\n keep", "@ 1 1 @@ -1,2 +1,3 @@|- 1 0 -- a/x|+ 0 1 ++ b/x|+ 0 2 ++ b/y|  2 3 keep"},
		{"content like a hunk", "@@ -1,2 +1,2 @@\n@@ -99,9 +99,9 @@\n @@ -99,9 +99,9 @@\n+x", "@ 1 1 @@ -1,2 +1,2 @@|  1 1 @@ -99,9 +99,9 @@|  2 2 @@ -99,9 +99,9 @@|? +x"},
		{"content after the hunk's last line", "@@ -1 +1 @@\n a\n+b\n-c\n d", "@ 1 1 @@ -1 +1 @@|  1 1 a|? +b|? -c|?  d"},
		{"fewer lines than the hunk says", "@@ -1,9 +1,9 @@\n a\n--- a/x\n+++ b/x", "@ 1 1 @@ -1,9 +1,9 @@|  1 1 a|- 2 0 -- a/x|+ 0 2 ++ b/x"},
		{"no newline at the end", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
			"@ 1 1 @@ -1 +1 @@|- 1 0 a|\\ 0 0 \\ No newline at end of file|+ 0 1 b|\\ 0 0 \\ No newline at end of file"},
		{"an empty context line without its space", "@@ -1,2 +1,2 @@\n\n a\n", "@ 1 1 @@ -1,2 +1,2 @@|  1 1 |  2 2 a"},
		{"no sign", "@@ -1 +1 @@\n\u241bx\n", "@ 1 1 @@ -1 +1 @@|  1 1 \u241bx"},
		{"broken headers", "@@ -x,1 +1,1 @@\n@@ -1,-4 +1,1 @@\n@@ 1 1 @@\n@@ -1 +1\n @@ -1 +1 @@\n@@@ -1 +1 @@\n@@ -99999999999999999999 +1 @@",
			"? @@ -x,1 +1,1 @@|? @@ -1,-4 +1,1 @@|? @@ 1 1 @@|? @@ -1 +1|?  @@ -1 +1 @@|? @@@ -1 +1 @@|? @@ -99999999999999999999 +1 @@"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for l := range diff.Lines(c.in) {
				got = append(got, spelled(l))
			}
			if got := strings.Join(got, "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestGuess(t *testing.T) {
	for line, want := range map[string]diff.Kind{
		"": diff.Context, " a": diff.Context, "+a": diff.Added, "-a": diff.Removed, "---": diff.Removed, "++++": diff.Added, "@@ f @@": diff.Hunk,
		"--- a/x": diff.OldName, "+++ b/x": diff.NewName, `\ No newline at end of file`: diff.Note, "@a": diff.Other, "diff --git a/x b/x": diff.Other,
	} {
		if got := diff.Guess(line); got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
}

// A hunk that is left in the middle continues after a header with the rest of it.
func TestRest(t *testing.T) {
	const head, body = "@@ -3,3 +7,4 @@", " a\n-b\n+c\n+d\n e"
	var whole diff.Reader
	whole.Read(head)
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		var rest diff.Reader
		if got := rest.Read(whole.Rest()).Kind; got != diff.Hunk {
			t.Fatalf("%s is %c", whole.Rest(), got)
		}
		copied := whole
		for _, line := range lines[i:] {
			if got, want := rest.Read(line), copied.Read(line); got != want {
				t.Errorf("from line %d on: %+v, want %+v", i, got, want)
			}
		}
		whole.Read(line)
	}
	if got, want := whole.Rest(), "@@ -6,0 +11,0 @@"; got != want || whole.Inside() {
		t.Errorf("at the end %s is left, want %s", got, want)
	}
}

// A diff between two texts, read back, is both of them, whatever they hold.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n")
	f.Add("-- a/x\n@@ -1 +1 @@\n", "++ b/x\n\\ No newline\n")
	f.Add("", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if before == after || strings.Contains(before+after, "\r") {
			t.Skip()
		}
		edits := udiff.Lines(before, after)
		text, err := udiff.ToUnified("a/x", "b/x", before, edits, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var old, new []string
		for l := range diff.Lines(text) {
			if l.Kind == diff.Removed || l.Kind == diff.Context {
				if old = append(old, l.Text()); l.Old != len(old) {
					t.Errorf("line %d of the old text has the number %d", len(old), l.Old)
				}
			}
			if l.Kind == diff.Added || l.Kind == diff.Context {
				if new = append(new, l.Text()); l.New != len(new) {
					t.Errorf("line %d of the new text has the number %d", len(new), l.New)
				}
			}
			if l.Kind == diff.Other {
				t.Errorf("%q was not read", l.Raw)
			}
		}
		if got, want := strings.Join(old, "\n"), strings.TrimSuffix(before, "\n"); got != want {
			t.Errorf("the old text is %q, want %q in\n%s", got, want, text)
		}
		if got, want := strings.Join(new, "\n"), strings.TrimSuffix(after, "\n"); got != want {
			t.Errorf("the new text is %q, want %q in\n%s", got, want, text)
		}
	})
}
