package undo

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

// mark returns what tells a file whose content is not read.
func (s stamp) mark() string { return fmt.Sprintf("%d %d %d", s.inode, s.mtime, s.ctime) }

// maxCompared is how many bytes of what a command made or changed are read, in all. Other
// files are known by their time and size.
const maxCompared = 256 << 20

// A comparison is what became of a workspace between two looks.
type comparison struct {
	*workspace
	before, after *look
	rest          int64 // bytes that may still be read
	changes       []Change
	uncovered     []Uncovered
}

// compare returns what changed, by path.
func (w *workspace) compare(before, after *look) *comparison {
	c := &comparison{workspace: w, before: before, after: after, rest: maxCompared}
	for file, was := range before.found {
		is, there := after.found[file]
		switch {
		case there && unchanged(was.seen, is.seen, before):
		case there:
			c.changed(was, is.seen)
		case c.gone(file):
			c.add(Change{Path: Name(file), Before: c.stateBefore(was)})
		}
	}
	for file, is := range after.found {
		if _, there := before.found[file]; !there && c.new(file) {
			c.add(Change{Path: Name(file), After: c.stateAfter(file, is.seen)})
		}
	}
	c.uncovered = append(c.uncovered, before.left...)
	for _, u := range after.left {
		if !before.omits(string(u.Path)) {
			c.uncovered = append(c.uncovered, u)
		}
	}
	slices.SortFunc(c.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(c.uncovered, func(a, b Uncovered) int { return cmp.Compare(a.Path, b.Path) })
	return c
}

// unchanged reports whether a path is what it was, as far as can be told without reading it.
func unchanged(was, is seen, before *look) bool {
	switch {
	case was.kind != is.kind || was.mode != is.mode || was.target != is.target:
		return false
	case was.kind != File:
		return true
	}
	return was.stamp == is.stamp && was.ctime < before.began-clockError
}

// changed looks at the content of a file that may have changed, or notes what else did.
func (c *comparison) changed(was *entry, is seen) {
	file := was.file
	if was.kind == File && is.kind == File && was.mode == is.mode {
		if c.sameContent(was, is) {
			return
		}
	}
	change := Change{Path: Name(file), After: c.stateAfter(file, is)}
	change.Before = c.stateBefore(was)
	if change.Before.Same(change.After) {
		return
	}
	c.add(change)
}

// sameContent reports whether a file has the content that it had.
func (c *comparison) sameContent(was *entry, is seen) bool {
	if !was.kept {
		return was.stamp == is.stamp
	}
	if was.size != is.size {
		return false
	}
	content, _, err := readFile(c.workspace, was.file, was.size)
	if err != nil {
		return false
	}
	if was.sum != "" {
		return sumOf(content) == was.sum
	}
	return blobOf(content) == was.git
}

// gone reports whether a path that is not there any more was deleted, and not left out.
func (c *comparison) gone(file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		switch above, there := c.after.found[dir]; {
		case c.isTop(dir), there && above.kind == Folder:
			return c.after.folders[dir]
		case there: // something else stands in the place of a folder
			return true
		}
	}
}

// new reports whether a path that was not seen before was made since.
func (c *comparison) new(file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if above, there := c.before.found[dir]; c.isTop(dir) || there && above.kind == Folder {
			return c.before.folders[dir]
		}
	}
}

// isTop reports whether a directory is the workspace, or one that was added to it.
func (c *comparison) isTop(dir string) bool {
	if dir == "." || dir == "/" {
		return true
	}
	_, folder, _ := c.rootOf(dir)
	return dir == folder
}

func (c *comparison) add(change Change) { c.changes = append(c.changes, change) }

// stateBefore returns what a path was. A content that only git holds is kept from now on.
func (c *comparison) stateBefore(was *entry) State {
	file := was.file
	s := State{Kind: was.kind, Mode: was.mode, Size: was.size, Target: was.target}
	if was.kind != File {
		if was.kind == Other {
			c.uncovered = append(c.uncovered, Uncovered{Path: Name(file), Why: "it was no regular file"})
		}
		return s
	}
	switch {
	case !was.kept:
		why := cmp.Or(c.before.unkept[file].Why, "it was not kept")
		c.uncovered = append(c.uncovered, Uncovered{Path: Name(file), Size: was.size, Why: why})
		s.Stamp = was.mark()
		return s
	case was.sum != "":
		s.Sum, s.Kept = was.sum, true
		return s
	}
	content, err := c.before.git.read(was.git)
	if err == nil {
		s.Sum, err = c.store.put(content)
	}
	if err != nil {
		c.uncovered = append(c.uncovered, Uncovered{Path: Name(file), Size: was.size, Why: err.Error()})
		s.Stamp = was.mark()
	}
	s.Kept = err == nil
	return s
}

// stateAfter returns what a path is now.
func (c *comparison) stateAfter(file string, is seen) State {
	most := min(c.rest, MaxBytes)
	s, err := c.stateOf(file, is, most, false)
	if err != nil { // it changes at this moment: what it is at the undo counts as a change by hand
		return State{Kind: is.kind, Mode: is.mode, Size: is.size, Stamp: is.mark()}
	}
	if s.Sum != "" {
		c.rest -= s.Size
	}
	return s
}
