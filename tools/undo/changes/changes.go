// Package changes compares the files that a conversation changed with their versions before it.
package changes

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"parley/tools"
	"parley/tools/diff"
	"parley/tools/undo"
)

// maxCompared is the size of the largest file that is compared line by line, in bytes.
const maxCompared = 4 << 20

// A File is a changed file: Step.To is its state before the changes, Step.Now after them.
type File struct {
	undo.Step
	Added, Removed int       // lines; both 0 if they were not compared
	Note           string    // "new", "deleted", or why there are no lines; "" for an ordinary change
	Calls          int       // tool calls that changed it
	At             time.Time // of the last change
}

// Of returns the files that differ from before the first record of h, by path, and what the records do not cover.
func Of(h undo.History) ([]File, *undo.Plan, error) {
	plan, err := h.Plan(1)
	if err != nil {
		return nil, nil, err
	}
	return compare(h, plan.Steps, h.Records()), plan, nil
}

// In returns the files that the given records of h changed, by path, as they were after the last of them.
func In(h undo.History, records []undo.Record) []File { return compare(h, steps(records), records) }

// First returns the first n files of In for all records of h, and the number of all, without comparing the others.
func First(h undo.History, n int) (files []File, all int) {
	records := h.Records()
	steps := steps(records)
	return compare(h, steps[:min(n, len(steps))], records), len(steps)
}

// steps returns the changes that records made, by path.
func steps(records []undo.Record) []undo.Step {
	at := map[undo.Name]int{}
	var steps []undo.Step
	for _, r := range records {
		for _, c := range r.Changes {
			n, known := at[c.Path]
			if !known {
				n = len(steps)
				at[c.Path], steps = n, append(steps, undo.Step{Path: c.Path, To: c.Before})
			}
			steps[n].Now = c.After
		}
	}
	steps = slices.DeleteFunc(steps, func(s undo.Step) bool { return s.Now.Same(s.To) || isDirectory(s) })
	sort.Slice(steps, func(i, j int) bool { return steps[i].Path < steps[j].Path })
	return steps
}

func isDirectory(s undo.Step) bool {
	return s.Now.Kind == undo.Directory || s.To.Kind == undo.Directory
}

// compare counts the changed lines of each step, and the calls that made them.
func compare(h undo.History, steps []undo.Step, records []undo.Record) []File {
	files := make([]File, 0, len(steps))
	at := map[undo.Name]int{}
	for _, s := range steps {
		if isDirectory(s) {
			continue
		}
		at[s.Path] = len(files)
		files = append(files, fileOf(h, s))
	}
	for _, r := range records {
		for _, c := range r.Changes {
			if n, ok := at[c.Path]; ok && !r.Restore {
				files[n].Calls++
				files[n].At = r.At
			}
		}
	}
	return files
}

func fileOf(h undo.History, s undo.Step) File {
	f := File{Step: s}
	text, why := lines(h, s)
	for l := range diff.Lines(text) {
		switch l.Kind {
		case diff.Added:
			f.Added++
		case diff.Removed:
			f.Removed++
		}
	}
	switch {
	case s.To.Kind == undo.Absent && s.Now.Kind == undo.File:
		f.Note = strings.TrimSuffix("new, "+why, ", ")
	case s.Now.Kind == undo.Absent:
		f.Note = strings.TrimSuffix("deleted, "+why, ", ")
	default:
		f.Note = why
	}
	return f
}

// lines returns the unified diff of a step; without one, why there is none.
func lines(h undo.History, s undo.Step) (text, why string) {
	file := func(state undo.State) bool { return state.Kind == undo.File || state.Kind == undo.Absent }
	sizes := fmt.Sprintf("%d → %d bytes", s.To.Size, s.Now.Size)
	switch {
	case !file(s.Now) || !file(s.To):
		return "", s.To.Describe() + " → " + s.Now.Describe()
	case max(s.Now.Size, s.To.Size) > maxCompared:
		return "", "too large to compare, " + sizes
	}
	now, was := h.Texts(s)
	if now == nil && s.Now.Kind == undo.File && s.Now.Size > 0 || was == nil && s.To.Kind == undo.File && s.To.Size > 0 {
		return "", "content not kept, " + sizes
	}
	text = tools.FileDiff(string(s.Path), s.To.Kind == undo.File, was, now)
	switch head, rest, _ := strings.Cut(text, "\n"); {
	case text == "" && s.Now.Mode != s.To.Mode && s.Now.Kind == s.To.Kind:
		return "", fmt.Sprintf("mode %04o → %04o", s.To.Mode, s.Now.Mode)
	case text == "":
		return "", "empty"
	case rest == "": // the line that FileDiff writes for binary content
		return "", "binary, " + sizes
	case s.Now.Kind == undo.Absent:
		_, hunks, _ := strings.Cut(rest, "\n")
		return head + "\n+++ /dev/null\n" + hunks, ""
	}
	return text, ""
}

// Diff returns the change of f as a unified diff, which git apply accepts; for other changes, a line that describes it.
func (f *File) Diff(h undo.History) string {
	if text, _ := lines(h, f.Step); text != "" {
		return text
	}
	return fmt.Sprintf("%q: %s\n", string(f.Path), f.Note)
}
