package undo

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxRestored is the size of the largest file that is restored, in bytes.
const maxRestored = MaxBytes

// A Step is what [History.Restore] does to one path.
type Step struct {
	Path          Name
	Now           State  // its current state
	To            State  // the state to restore
	ConfirmReason string // why the user has to confirm it, such as "changed since"; "": no need to
	Blocked       string // why it is impossible; "" if it is not
}

// A Plan holds the steps that restore files to their state before a record.
type Plan struct {
	From      int    // number of the first record to undo
	Steps     []Step // sorted by path; without paths that need no change
	Uncovered []Uncovered
	Partial   string // why the records may not have every change; "" if they do
}

// Empty reports whether p is nil or has no steps.
func (p *Plan) Empty() bool { return p == nil || len(p.Steps) == 0 }

// Count returns the number of steps that Restore carries out, with or without confirmation.
func (p *Plan) Count(confirmed bool) (n int) {
	for _, s := range p.Steps {
		if s.Blocked == "" && (confirmed || s.ConfirmReason == "") {
			n++
		}
	}
	return n
}

// A pathHistory sums up the changes of one path in several records.
type pathHistory struct {
	first, last    State
	changedOutside bool // something else changed it between two records
	open           bool // the last record did not end: its result is unknown
}

// Plan returns the steps that restore the files to their state before the record from. It changes
// nothing.
func (h *History) Plan(from int) (*Plan, error) {
	if h == nil {
		return nil, errors.New("no files are kept here")
	}
	p := &Plan{From: from}
	courses := map[Name]*pathHistory{}
	named := map[Name]bool{}
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
		s, err := h.step(file, c)
		if err != nil {
			return nil, err
		}
		if !s.Now.Same(s.To) {
			p.Steps = append(p.Steps, s)
		}
	}
	slices.SortFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.Path, b.Path) })
	return p, nil
}

// step returns the step of one path.
func (h *History) step(file Name, c *pathHistory) (Step, error) {
	s := Step{Path: file, To: c.first}
	if _, directory, _ := h.rootOf(string(file)); directory == "" && !isLocalPath(string(file)) {
		s.Blocked = "it is in no folder of this conversation"
		return s, nil
	}
	if s.Blocked = h.outOfReach(string(file)); s.Blocked != "" {
		s.Now = State{Kind: Other} // not read
		return s, nil
	}
	var err error
	if s.Now, err = h.state(string(file), maxRestored, false); err != nil {
		s.Now, s.Blocked = State{Kind: Other}, err.Error()
		return s, nil
	}
	if c.last.Sum == "" && s.Now.Kind == File { // states are compared by their stamp
		if now, there, err := h.statPath(string(file)); err == nil && there {
			s.Now.Stamp = now.String()
		}
	}
	switch {
	case s.Now.Kind == Other:
		s.Blocked = "it is no regular file now"
	case !s.To.restorable():
		s.Blocked = "what it was is not kept"
	case s.Now.Same(c.last) && !c.open && c.changedOutside:
		s.ConfirmReason = "also changed by something else"
	case s.Now.Same(c.last) && !c.open:
	case c.open:
		s.ConfirmReason = "parley ended while it was changed"
	case s.Now.Kind == Absent:
		s.ConfirmReason = "deleted since"
	default:
		s.ConfirmReason = "changed since"
	}
	if s.Blocked == "" && s.Now.Kind == File && s.Now.Sum == "" && s.ConfirmReason == "" {
		s.ConfirmReason = "too large to be kept: it could not be brought back"
	}
	return s, nil
}

// isLocalPath reports whether a path is relative, clean and inside the workspace.
func isLocalPath(file string) bool {
	return file != "" && file != "." && path.Clean(file) == file && !path.IsAbs(file) && file != ".." && !strings.HasPrefix(file, "../") && !strings.ContainsRune(file, 0)
}

// Texts returns the content of a step's file now and after the restore; nil where there is no
// file, or its content is unknown.
func (h *History) Texts(s Step) (now, to []byte) {
	if s.Now.Kind == File && s.Now.Sum != "" {
		if content, _, err := readFile(h.workspace, string(s.Path), maxRestored); err == nil && sumOf(content) == s.Now.Sum {
			now = content
		}
	}
	if s.To.Kind == File && s.To.Stored {
		to, _ = h.store.get(s.To.Sum)
	}
	return now, to
}
