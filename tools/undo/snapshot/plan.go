package snapshot

import (
	"cmp"
	"fmt"
	"path"
	"sort"
	"strings"

	"parley/tools/undo"
)

// maxRestored is the size of the largest file that is restored, in bytes.
const maxRestored = MaxBytes

// A pathHistory sums up the changes of one path in several records.
type pathHistory struct {
	first, last    undo.State
	changedOutside bool // the path changed between two records
	open           bool // the last record did not end, so its result is unknown
}

// Plan implements undo.History.
func (h *History) Plan(from int) (*undo.Plan, error) {
	p := &undo.Plan{From: from}
	courses := map[undo.Name]*pathHistory{}
	named := map[undo.Name]bool{}
	for _, r := range h.Records() {
		if r.N < from {
			continue
		}
		p.Partial = cmp.Or(p.Partial, r.Partial)
		for _, u := range r.Uncovered {
			if !named[u.Path] {
				named[u.Path] = true
				p.Uncovered = append(p.Uncovered, u)
			}
		}
		for _, c := range r.Changes {
			known := courses[c.Path]
			if known == nil {
				known = &pathHistory{first: c.Before, last: c.Before}
				courses[c.Path] = known
			}
			known.changedOutside = known.changedOutside || !known.last.Same(c.Before)
			known.last, known.open = c.After, r.Open
		}
		if r.Open && r.Partial == "" && len(r.Changes) == 0 {
			p.Partial = fmt.Sprintf("parley ended while %q ran, and what it changed is not known", r.Title)
		}
	}
	for file, c := range courses {
		s := h.step(file, c)
		if !s.Now.Same(s.To) {
			p.Steps = append(p.Steps, s)
		}
	}
	sort.Slice(p.Steps, func(i, j int) bool { return p.Steps[i].Path < p.Steps[j].Path })
	return p, nil
}

// step returns the step of one path.
func (h *History) step(file undo.Name, c *pathHistory) undo.Step {
	s := undo.Step{Path: file, To: c.first}
	if _, directory, _ := h.rootOf(string(file)); directory == "" && !isLocalPath(string(file)) {
		s.Blocked = "it is in no folder of this conversation"
		return s
	}
	if s.Blocked = h.outOfReach(string(file)); s.Blocked != "" {
		s.Now = undo.State{Kind: undo.Other} // not readable
		return s
	}
	var err error
	if s.Now, err = h.state(string(file), maxRestored, false); err != nil {
		s.Now, s.Blocked = undo.State{Kind: undo.Other}, err.Error()
		return s
	}
	if c.last.Sum == "" && s.Now.Kind == undo.File { // compare states by their stamps
		if now, there, err := h.statPath(string(file)); err == nil && there {
			s.Now.Stamp = now.String()
		}
	}
	switch {
	case s.Now.Kind == undo.Other:
		s.Blocked = "it is no regular file now"
	case !restorable(s.To):
		s.Blocked = "what it was is not kept"
	case s.Now.Same(c.last) && !c.open && c.changedOutside:
		s.ConfirmReason = "also changed by something else"
	case s.Now.Same(c.last) && !c.open:
	case c.open:
		s.ConfirmReason = "parley ended while it was changed"
	case s.Now.Kind == undo.Absent:
		s.ConfirmReason = "deleted since"
	default:
		s.ConfirmReason = "changed since"
	}
	if s.Blocked == "" && s.Now.Kind == undo.File && s.Now.Sum == "" && s.ConfirmReason == "" {
		s.ConfirmReason = "too large to be kept: it could not be brought back"
	}
	return s
}

// isLocalPath reports whether a path is relative, clean and inside the workspace.
func isLocalPath(file string) bool {
	return file != "" && file != "." && path.Clean(file) == file && !path.IsAbs(file) && file != ".." && !strings.HasPrefix(file, "../") && !strings.ContainsRune(file, 0)
}

// Texts implements undo.History.
func (h *History) Texts(s undo.Step) (now, to []byte) {
	if s.Now.Kind == undo.File && s.Now.Sum != "" {
		if content, _, err := h.readFile(string(s.Path), maxRestored); err == nil && sumOf(content) == s.Now.Sum {
			now = content
		}
	}
	if now == nil && s.Now.Sum != "" { // an earlier state
		now, _ = h.store.get(s.Now.Sum)
	}
	if s.To.Kind == undo.File && s.To.Stored {
		to, _ = h.store.get(s.To.Sum)
	}
	return now, to
}

// restorable reports whether a restore can bring a path back to state s.
func restorable(s undo.State) bool { return s.Kind != undo.Other && (s.Kind != undo.File || s.Stored) }
