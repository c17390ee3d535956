package undo

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxRestored is the size of the largest file that is brought back, in bytes.
const maxRestored = MaxBytes

// A Step is what a restore does to one path.
type Step struct {
	Path  Name
	Now   State  // what stands there
	To    State  // what it becomes
	Asks  string // why it is done only if the user says so, such as "changed since"; "": it is done
	Never string // why it cannot be done; "" if it can
}

// A Plan is what it takes to bring files back to how they were before a record.
type Plan struct {
	From      int    // number of the first record that is undone
	Steps     []Step // by path; without what is as it was
	Uncovered []Uncovered
	Partial   string // why more may have changed; "" if not
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return p == nil || len(p.Steps) == 0 }

// Count returns how many of the steps are done, with those that ask if so wanted.
func (p *Plan) Count(asked bool) (n int) {
	for _, s := range p.Steps {
		if s.Never == "" && (asked || s.Asks == "") {
			n++
		}
	}
	return n
}

// A course is what became of a path in several records.
type course struct {
	first, last State
	elsewhere   bool // it was changed in between, by something else
	open        bool // what came of it is not known
}

// Plan returns what brings the files back to how they were before the record of a number.
// Nothing is changed.
func (h *History) Plan(from int) (*Plan, error) {
	if h == nil {
		return nil, errors.New("no files are kept here")
	}
	p := &Plan{From: from}
	courses := map[Name]*course{}
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
				known = &course{first: c.Before, last: c.Before}
				courses[c.Path] = known
			}
			known.elsewhere = known.elsewhere || !known.last.Same(c.Before)
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

// step returns what brings one path back.
func (h *History) step(file Name, c *course) (Step, error) {
	s := Step{Path: file, To: c.first}
	if _, folder, _ := h.rootOf(string(file)); folder == "" && !local(string(file)) {
		s.Never = "it is in no folder of this conversation"
		return s, nil
	}
	if s.Never = h.outOfReach(string(file)); s.Never != "" {
		s.Now = State{Kind: Other} // nobody looks
		return s, nil
	}
	var err error
	if s.Now, err = h.state(string(file), maxRestored, false); err != nil {
		s.Now, s.Never = State{Kind: Other}, err.Error()
		return s, nil
	}
	if c.last.Sum == "" && s.Now.Kind == File { // it is known by its stamp
		if now, there, err := h.seePath(string(file)); err == nil && there {
			s.Now.Stamp = now.mark()
		}
	}
	switch {
	case s.Now.Kind == Other:
		s.Never = "it is no regular file now"
	case !s.To.restorable():
		s.Never = "what it was is not kept"
	case s.Now.Same(c.last) && !c.open && c.elsewhere:
		s.Asks = "also changed by something else"
	case s.Now.Same(c.last) && !c.open:
	case c.open:
		s.Asks = "parley ended while it was changed"
	case s.Now.Kind == Absent:
		s.Asks = "deleted since"
	default:
		s.Asks = "changed since"
	}
	if s.Never == "" && s.Now.Kind == File && s.Now.Sum == "" && s.Asks == "" {
		s.Asks = "too large to be kept: it could not be brought back"
	}
	return s, nil
}

// local reports whether a path leads to something in the workspace.
func local(file string) bool {
	return file != "" && file != "." && path.Clean(file) == file && !path.IsAbs(file) && file != ".." && !strings.HasPrefix(file, "../") && !strings.ContainsRune(file, 0)
}

// Texts returns the content of the file of a step now and as it becomes; nil where there is
// no file, or its content is not known.
func (h *History) Texts(s Step) (now, to []byte) {
	if s.Now.Kind == File && s.Now.Sum != "" {
		if content, _, err := readFile(h.workspace, string(s.Path), maxRestored); err == nil && sumOf(content) == s.Now.Sum {
			now = content
		}
	}
	if s.To.Kind == File && s.To.Kept {
		to, _ = h.store.get(s.To.Sum)
	}
	return now, to
}
