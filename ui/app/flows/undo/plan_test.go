package undo

import (
	"fmt"
	"strings"
	"testing"

	store "parley/tools/undo"
)

// The question before a restore names each file with a letter, as git status does, and its special circumstances.
func TestPlanText(t *testing.T) {
	file, folder, link := store.State{Kind: store.File, Mode: 0o644, Sum: "a"}, store.State{Kind: store.Directory}, store.State{Kind: store.Link, Target: "to"}
	for _, tt := range []struct {
		step store.Step
		want string
	}{
		{store.Step{Path: "a", Now: folder, To: store.State{}}, "D a/"},
		{store.Step{Path: "a", To: folder}, "A a/"},
		{store.Step{Path: "a", To: link}, "A a → to"},
		{store.Step{Path: "a", Now: link}, "D a"},
		{store.Step{Path: "a\nb", Now: folder, To: link}, `M "a\nb" → to`},
		{store.Step{Path: "a", Now: file, To: file, Blocked: "too large"}, "M a (cannot be restored: too large)"},
		{store.Step{Path: "a", Now: folder, To: link, ConfirmReason: "changed since"}, "M a (changed since)"},
		{store.Step{Path: "a", Now: file, To: store.State{Kind: store.File, Mode: 0o755, Sum: "a"}}, "M a (mode 0644 → 0755)"},
	} {
		if got := fmt.Sprintf("%s %s%s", stepSign(tt.step), displayName(tt.step.Path), stepNote(tt.step)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.step, got, tt.want)
		}
	}
	p := &store.Plan{Steps: []store.Step{{Path: "a", Now: folder}, {Path: "b", Now: file, To: file, Blocked: "too large"}}, Partial: "no Git"}
	const head = "Restore files to the state before?\n  D a/\n  M b (cannot be restored: too large)\n"
	for uncovered, want := range map[int]string{0: "", 1: "\nNot covered:\n  u0: ignored\n", 10: "  u9: ignored\n", 12: "  u9: ignored\n  and 2 more\n"} {
		p.Uncovered = nil
		for i := range uncovered {
			p.Uncovered = append(p.Uncovered, store.Uncovered{Path: store.Name(fmt.Sprint("u", i)), Why: "ignored"})
		}
		got := planText(nil, p, "before")
		if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, want+"\nMore may have changed: no Git") || strings.Count(got, "ignored") != min(uncovered, 10) || strings.Contains(got, "Not covered") != (uncovered > 0) {
			t.Errorf("%d files not covered: %q", uncovered, got)
		}
	}
}

// Restored files are counted without folders, unless there are only folders.
func TestCounts(t *testing.T) {
	file, folder := store.State{Kind: store.File}, store.State{Kind: store.Directory}
	for _, tt := range []struct {
		before, after store.State
		want          string
	}{
		{file, file, "1 file"}, {store.State{}, file, "1 file"}, {file, store.State{}, "1 file"},
		{folder, store.State{}, "folders"}, {store.State{}, folder, "folders"}, {folder, file, "folders"},
	} {
		if got := countChanges([]store.Change{{Before: tt.before, After: tt.after}}); got != tt.want {
			t.Errorf("%s to %s: %q, want %q", tt.before.Describe(), tt.after.Describe(), got, tt.want)
		}
		step := store.Step{Now: tt.after, To: tt.before}
		if got := fileCount([]store.Step{step}); got != tt.want {
			t.Errorf("step from %s to %s: %q, want %q", tt.after.Describe(), tt.before.Describe(), got, tt.want)
		}
		step.ConfirmReason = "changed since"
		blocked := store.Step{Now: file, To: file, Blocked: "too large"}
		if got := fileCount([]store.Step{step, blocked}); got != "folders" {
			t.Errorf("a step that needs another question is counted: %q", got)
		}
	}
}
