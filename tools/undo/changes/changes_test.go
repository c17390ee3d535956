package changes

import (
	"fmt"
	"strings"
	"testing"

	"parley/tools/undo"
)

// A history is a History with the given steps and contents.
type history struct {
	undo.NoHistory
	steps []undo.Step
	texts func(undo.Step) (now, to []byte)
}

func (h history) Plan(int) (*undo.Plan, error) { return &undo.Plan{From: 1, Steps: h.steps}, nil }
func (h history) Records() []undo.Record {
	r := undo.Record{N: 1}
	for _, s := range h.steps {
		r.Changes = append(r.Changes, undo.Change{Path: s.Path, Before: s.To, After: s.Now})
	}
	return []undo.Record{r}
}
func (h history) Texts(s undo.Step) (now, was []byte) { return h.texts(s) }
func file(size int64, mode uint32) undo.State {
	return undo.State{Kind: undo.File, Size: size, Mode: mode}
}
func step(path string, to, now undo.State) undo.Step {
	return undo.Step{Path: undo.Name(path), To: to, Now: now}
}
func texts(was, now string) func(undo.Step) (a, b []byte) {
	return func(undo.Step) (a, b []byte) { return []byte(now), []byte(was) }
}

func TestNotes(t *testing.T) {
	none := func(undo.Step) (now, to []byte) { return nil, nil }
	for name, c := range map[string]struct {
		step        undo.Step
		texts       func(undo.Step) (now, to []byte)
		note, patch string
	}{
		"lines":         {step("a", file(2, 0o644), file(2, 0o644)), texts("x\n", "y\n"), "", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"},
		"new":           {step("a", undo.State{}, file(2, 0o644)), texts("", "y\n"), "new", "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+y\n"},
		"new and empty": {step("a", undo.State{}, file(0, 0o644)), none, "new, empty", "\"a\": new, empty\n"},
		"deleted":       {step("a", file(2, 0o644), undo.State{}), texts("x\n", ""), "deleted", "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"},
		"binary":        {step("a", file(2, 0o644), file(3, 0o644)), texts("\x00x", "\x00xy"), "binary, 2 → 3 bytes", "\"a\": binary, 2 → 3 bytes\n"},
		"mode":          {step("a", file(2, 0o644), file(2, 0o755)), texts("x\n", "x\n"), "mode 0644 → 0755", "\"a\": mode 0644 → 0755\n"},
		"not kept":      {step("a", file(2, 0o644), file(2, 0o644)), none, "content not kept, 2 → 2 bytes", "\"a\": content not kept, 2 → 2 bytes\n"},
		"a link":        {step("a\x1b", file(2, 0o644), undo.State{Kind: undo.Link, Target: "b"}), none, "file → link", "\"a\\x1b\": file → link\n"},
		"50 MB":         {step("a", file(50<<20, 0o644), file(1, 0o644)), nil, "too large to compare, 52428800 → 1 bytes", "\"a\": too large to compare, 52428800 → 1 bytes\n"}, // its content is not read
	} {
		h := history{steps: []undo.Step{c.step}, texts: c.texts}
		files, _, err := Of(h)
		if err != nil || len(files) != 1 || files[0].Note != c.note || files[0].Diff(h) != c.patch {
			t.Errorf("%s: %+v, %v", name, files, err)
		}
	}
}

func TestManyFiles(t *testing.T) {
	h := history{texts: texts(strings.Repeat("line\n", 100)+"x\n", strings.Repeat("line\n", 100)+"y\n")}
	for i := range 5000 {
		h.steps = append(h.steps, step(fmt.Sprint("f", i), file(500, 0o644), file(500, 0o644)))
	}
	h.steps = append(h.steps, step("dir", undo.State{}, undo.State{Kind: undo.Directory}))
	files, _, err := Of(h)
	if err != nil || len(files) != 5000 || files[4999].Added != 1 || files[4999].Removed != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	read := 0
	within := h.texts
	h.texts = func(s undo.Step) (now, was []byte) { read++; return within(s) }
	if files, all := First(h, 3); all != 5000 || len(files) != 3 || files[2].Path != "f10" || files[2].Added != 1 || read != 3 {
		t.Errorf("%d files of %d, %d read", len(files), all, read)
	}
}
