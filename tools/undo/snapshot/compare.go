package snapshot

import (
	"cmp"
	"fmt"
	"path"
	"sort"

	"parley/tools/undo"
)

// String identifies the version of a file whose content is not read; see State.Stamp.
func (s fileStat) String() string { return fmt.Sprintf("%d %d %d", s.inode, s.mtime, s.ctime) }

// maxCompared bounds the bytes of new and changed files that are read after one command. Files
// beyond it are identified by their times and size.
const maxCompared = 256 << 20

// A comparison collects the changes between two snapshots of a workspace.
type comparison struct {
	*workspace
	before, after *snapshot
	bytesLeft     int64 // bytes that may still be read
	changes       []undo.Change
	uncovered     []undo.Uncovered
}

// compare returns the changes between two snapshots, sorted by path.
func (w *workspace) compare(before, after *snapshot) *comparison {
	c := &comparison{workspace: w, before: before, after: after, bytesLeft: maxCompared}
	for file, was := range before.entries {
		is, there := after.entries[file]
		switch {
		case there && unchanged(was.pathInfo, is.pathInfo, before):
		case there:
			c.addIfChanged(was, is.pathInfo)
		case c.wasDeleted(file):
			c.add(undo.Change{Path: undo.Name(file), Before: c.stateBefore(was)})
		}
	}
	for file, is := range after.entries {
		if _, there := before.entries[file]; !there && c.wasCreated(file) {
			c.add(undo.Change{Path: undo.Name(file), After: c.stateAfter(file, is.pathInfo)})
		}
	}
	c.uncovered = append(c.uncovered, before.uncovered...)
	for _, u := range after.uncovered {
		if !before.isUnlisted(string(u.Path)) {
			c.uncovered = append(c.uncovered, u)
		}
	}
	sort.Slice(c.changes, func(i, j int) bool { return c.changes[i].Path < c.changes[j].Path })
	sort.Slice(c.uncovered, func(i, j int) bool { return c.uncovered[i].Path < c.uncovered[j].Path })
	return c
}

// unchanged reports whether metadata alone shows that a path did not change.
func unchanged(was, is pathInfo, before *snapshot) bool {
	switch {
	case was.kind != is.kind || was.mode != is.mode || was.target != is.target:
		return false
	case was.kind != undo.File:
		return true
	}
	return was.fileStat == is.fileStat && was.ctime < before.began-clockError
}

// addIfChanged adds the change of a path whose metadata differ, unless its content, mode and kind
// are the same.
func (c *comparison) addIfChanged(was *entry, is pathInfo) {
	file := was.path
	if was.kind == undo.File && is.kind == undo.File && was.mode == is.mode {
		if c.sameContent(was, is) {
			return
		}
	}
	change := undo.Change{Path: undo.Name(file), After: c.stateAfter(file, is)}
	change.Before = c.stateBefore(was)
	if change.Before.Same(change.After) {
		return
	}
	c.add(change)
}

// sameContent reads a file and reports whether it has the content of the earlier snapshot.
func (c *comparison) sameContent(was *entry, is pathInfo) bool {
	if !was.hasContent {
		return was.fileStat == is.fileStat
	}
	if was.size != is.size {
		return false
	}
	content, _, err := c.readFile(was.path, was.size)
	if err != nil {
		return false
	}
	if was.sum != "" {
		return sumOf(content) == was.sum
	}
	return blobOf(content) == was.git
}

// wasDeleted reports whether a path missing in the later snapshot was deleted rather than left out.
func (c *comparison) wasDeleted(file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		switch above, there := c.after.entries[dir]; {
		case c.isRoot(dir), there && above.kind == undo.Directory:
			return c.after.listedDirs[dir]
		case there: // something else has replaced the directory
			return true
		}
	}
}

// wasCreated reports whether a path missing in the earlier snapshot is new rather than left out.
func (c *comparison) wasCreated(file string) bool {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if above, there := c.before.entries[dir]; c.isRoot(dir) || there && above.kind == undo.Directory {
			return c.before.listedDirs[dir]
		}
	}
}

// isRoot reports whether dir is the workspace or a directory added to it.
func (c *comparison) isRoot(dir string) bool {
	if dir == "." || dir == "/" {
		return true
	}
	_, directory, _ := c.rootOf(dir)
	return dir == directory
}

func (c *comparison) add(change undo.Change) { c.changes = append(c.changes, change) }

// stateBefore returns the state of a path before the call. It copies content that only git has
// into the store, and records a path that cannot be restored as uncovered.
func (c *comparison) stateBefore(was *entry) undo.State {
	file := was.path
	s := undo.State{Kind: was.kind, Mode: was.mode, Size: was.size, Target: was.target}
	if was.kind != undo.File {
		if was.kind == undo.Other {
			c.uncovered = append(c.uncovered, undo.Uncovered{Path: undo.Name(file), Why: "it was no regular file"})
		}
		return s
	}
	switch {
	case !was.hasContent:
		why := cmp.Or(c.before.unstored[file].Why, "it was not kept")
		c.uncovered = append(c.uncovered, undo.Uncovered{Path: undo.Name(file), Size: was.size, Why: why})
		s.Stamp = was.String()
		return s
	case was.sum != "":
		s.Sum, s.Stored = was.sum, true
		return s
	}
	content, err := c.before.git.read(was.git)
	if err == nil {
		s.Sum, err = c.store.put(content)
	}
	if err != nil {
		c.uncovered = append(c.uncovered, undo.Uncovered{Path: undo.Name(file), Size: was.size, Why: err.Error()})
		s.Stamp = was.String()
	}
	s.Stored = err == nil
	return s
}

// stateAfter returns the state of a path after the call.
func (c *comparison) stateAfter(file string, is pathInfo) undo.State {
	most := min(c.bytesLeft, MaxBytes)
	s, err := c.stateOf(file, is, most, false)
	if err != nil { // it is changing right now: the undo will treat this as a manual change
		return undo.State{Kind: is.kind, Mode: is.mode, Size: is.size, Stamp: is.String()}
	}
	if s.Sum != "" {
		c.bytesLeft -= s.Size
	}
	return s
}
