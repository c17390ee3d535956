package dialog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
	"parley/ui/tui/diffview"
)

// The diff of the selected row stands below the list where there is room, and says what it leaves out.
func TestPreview(t *testing.T) {
	for _, c := range []struct {
		name                   string
		files, lines, rows     int
		selected, want, absent string
	}{
		{"room", 2, 0, 24, "f0", "1 - was|  1 + is|  2   same", "more"},
		{"many files", 5000, 0, 24, "f0", "1 - was", "f12"},
		{"many lines", 2, 50, 24, "f0", "⋯ 40 more lines (enter)", "line 13"},
		{"of another row", 2, 0, 24, "f1", "f1", "was"},
		{"no room", 20, 0, 13, "f0", "f0", "was"},
	} {
		var items []dialog.Item
		for i := range c.files {
			items = append(items, dialog.Item{Title: fmt.Sprint("f", i), Value: fmt.Sprint("f", i)})
		}
		p := dialog.Pick("Changes", items, theme.Plain())
		text := fmt.Sprintf("--- a/f0\n+++ b/f0\n@@ -1,2 +1,%d @@\n-was\n+is\n same\n", 2+c.lines)
		for i := range c.lines {
			text += fmt.Sprintf("+line %d\n", i)
		}
		d := diffview.Read(text, dialog.MaxPreview)
		p.SetPreview(c.selected, &d)
		view := strings.Join(rows(t, p, 80, c.rows), "|")
		if !strings.Contains(view, c.want) || strings.Contains(view, c.absent) {
			t.Errorf("%s: want %q, and not %q:\n%s", c.name, c.want, c.absent, strings.ReplaceAll(view, "|", "\n"))
		}
	}
}

// A page shows a patch as the conversation does, can be searched, and copies what it was made of.
func TestPatchPage(t *testing.T) {
	const patch = "--- a/f.go\n+++ b/f.go\n@@ -1,2 +1,3 @@\n func a() {\n-\told()\n+\tnew() \x1b[31m\n+\tmore()\n"
	p := dialog.Pages("Changes", []format.Part{{Title: "f.go", Source: patch, Patch: true}}, theme.Plain())
	view := strings.Join(rows(t, p, 60, 12), "\n")
	for _, want := range []string{"    1   func a() {", "    2 -     old()", "    2 +     new()", "    3 +     more()"} {
		if !strings.Contains(view, want) {
			t.Errorf("no %q in\n%s", want, view)
		}
	}
	if strings.ContainsAny(view, "\x1b@") {
		t.Errorf("raw text in\n%s", view)
	}
	press(t, p, "/", "more", "enter")
	if view := strings.Join(rows(t, p, 60, 12), "\n"); !strings.Contains(view, "›   3 +     more()") {
		t.Errorf("the search does not lead to it:\n%s", view)
	}
}

// A line about a file that cannot be compared is no diff, and shown.
func TestPageWithoutDiff(t *testing.T) {
	const text = `"logo.png": binary, 8 → 7 bytes`
	p := dialog.Pages("Changes", []format.Part{{Title: "logo.png", Source: text + "\n", Lines: []format.Line{{Text: text}}, Patch: true}}, theme.Plain())
	if view := strings.Join(rows(t, p, 60, 12), "\n"); !strings.Contains(view, text) {
		t.Errorf("no %q in\n%s", text, view)
	}
}

// A page has the beginning of a very long diff, and says how much it leaves out.
func TestLongPatchPage(t *testing.T) {
	text := "--- a/f.go\n+++ b/f.go\n@@ -1 +1,60000 @@\n" + strings.Repeat("+\tcall(1, \"text\")\n", 60_000)
	p := dialog.Pages("Changes", []format.Part{{Title: "f.go", Source: text, Patch: true}}, theme.Dark())
	press(t, p, "end")
	if view := strings.Join(rows(t, p, 80, 24), "\n"); !strings.Contains(view, "⋯ 50001 more lines") {
		t.Errorf("the end is\n%s", view)
	}
}
