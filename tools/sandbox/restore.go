package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How long is spent after a command: on finding directories that were moved away, on
// looking for repositories, on copying to the shelf. Tests, on machines that do much
// else, have time.
var (
	maxFinding   = time.Second
	maxSearching = time.Second
	maxShelving  = 500 * time.Millisecond
)

// maxStrangers is how many new names in a protected directory are moved out of it one
// by one. With more the directory is.
const maxStrangers = 256

// changes are the protected paths that were not what they had been.
type changes struct {
	restored, lost []string
	armed          []string // files that name programs for git to run
	unseen         []string // directories that were not looked into, where a new repository may be
}

func (c *changes) note(name string, err error) {
	list := &c.restored
	if err != nil {
		list = &c.lost
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// restore undoes what has changed since. What was mounted read-only cannot have
// been changed by the command: if it is different now, a user did that, and it
// stays. Nothing is removed: it waits for the shelf, so that what a command has left
// takes no longer than to rename it.
func (s *snapshot) restore() (c changes) {
	s.until = time.Now().Add(maxFinding)
	for _, p := range s.paths {
		if !s.ways(p, &c) {
			continue
		}
		was := s.before[p]
		if s.mounted && !was.absent && was.mode&fs.ModeSymlink == 0 || s.same(was, p) || was.absent && s.inert(p) {
			continue
		}
		c.note(p, s.mend(was, p))
	}
	s.appeared(&c)
	return c
}

// appeared does for repositories that have appeared what restore does for those
// that were there: what configures them does not stay, unless it is inert. A
// repository that was further away than is looked, and so only seems to be new,
// is told by its directories, none of which has changed since.
func (s *snapshot) appeared(c *changes) {
	if !slices.Contains(s.paths, ".git/config") {
		return
	}
	now := time.Now()
	s.settle(now.Sub(s.began), now.Round(0).Sub(s.began.Round(0)))
	r := repos{root: s.root, workspace: s.root.Name(), protected: slices.Clone(s.paths)}
	r.aside = map[string]bool{}
	for _, m := range s.shelf.waiting {
		r.aside[m.aside] = true
	}
	w := search{repos: &r, since: s.since, all: s.searched, until: time.Now().Add(maxSearching)}
	w.begin(s.looked)
	c.unseen = unseen(w.run(), s.searched)
	for _, gitFolder := range r.git {
		s.git[gitFolder] = true
	}
	for _, p := range r.protected[len(s.paths):] {
		if _, err := s.root.Lstat(p); errors.Is(err, fs.ErrPermission) {
			unseal(s.root, path.Dir(p))
		}
		if !s.there(p) || !s.fresh(p) || s.inert(p) {
			continue
		}
		if r.bare[path.Dir(p)] {
			p = s.newest(path.Dir(p), p)
		}
		c.note(p, s.mend(node{absent: true}, p))
	}
	s.compareStates(slices.DeleteFunc(r.git, func(dir string) bool { return r.bare[dir] && !r.lies(filepath.Join(r.workspace, dir)) }), c)
	for _, far := range s.far {
		far.compareStates([]string{"."}, c)
	}
}

// unseen are the directories, of those that a search left out, where something new may
// be that would not have been left out before.
func unseen(left []visit, searched bool) (dirs []string) {
	for _, v := range left {
		if searched || v.new {
			dirs = append(dirs, v.dir)
		}
	}
	return dirs
}

// newest is what of a directory laid out as a git directory is new: without it the directory
// is none, and what is of another use in it can stay. Else it is what.
func (s *snapshot) newest(dir, what string) string {
	for _, name := range layout {
		name = path.Join(dir, name)
		if s.there(name) && !slices.Contains(s.parts, name) && (s.searched || s.changed(name)) {
			return name
		}
	}
	return what
}

// fresh reports whether p, which nobody had seen before, can have come since the
// snapshot: in any case if all was looked at, else by the time that it, or a directory
// that it is in, was changed at.
func (s *snapshot) fresh(p string) bool {
	return s.searched || slices.ContainsFunc(append(above(p), p), s.changed)
}

// changed reports whether name itself was changed since the snapshot, by the time
// that no command can set.
func (s *snapshot) changed(name string) bool {
	info, err := s.root.Lstat(name)
	return err == nil && !changedAt(info).Before(s.since)
}

// settle takes since back by as much as the clock was set back: the steady one has
// gone further.
func (s *snapshot) settle(steady, clock time.Duration) {
	s.since = s.since.Add(min(0, clock-steady))
}

// ways puts back the directories on the way to p. It reports whether p can be reached.
func (s *snapshot) ways(p string, c *changes) bool {
	for _, dir := range above(p) {
		changed, err := s.folder(dir)
		if changed {
			c.note(dir, err)
		}
		if now, err := s.root.Stat(dir); err != nil || !now.IsDir() {
			return false
		}
	}
	return true
}

// made says which protected paths are there that were not; "" if none are.
func (s *snapshot) made() string {
	var all []string
	for _, p := range s.paths {
		if _, err := s.root.Lstat(p); err == nil && s.before[p].absent {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "[CAUTION: " + strings.Join(all, ", ") + " was made while the program ran; look at it before you use it]\n"
}

var errRemoved = errors.New("removed, with all that is not protected in it")

// directory puts a directory on the way to a protected path back, where something else
// has taken its place. A new directory may stay.
func (s *snapshot) folder(dir string) (changed bool, err error) {
	was := s.before[dir]
	info, err := s.root.Lstat(dir)
	switch {
	case err != nil && was.absent:
		return false, nil
	case was.absent && info.IsDir():
		return false, s.root.Chmod(dir, info.Mode().Perm()|0o700) // so that what is in it can be seen
	case was.mode.IsDir() && err == nil && os.SameFile(was.info, info):
		if info.Mode().Perm()&0o700 == was.mode.Perm()&0o700 {
			return false, nil
		}
		return true, s.root.Chmod(dir, was.mode.Perm())
	case s.mounted && !was.absent && was.mode&fs.ModeSymlink == 0:
		return false, nil // no command can move what is mounted on
	case was.mode.IsDir():
		return true, s.bring(was, dir)
	case !s.same(was, dir):
		return true, s.mend(was, dir)
	}
	return false, nil
}

// bring moves a directory back to where it was, or makes an empty one.
func (s *snapshot) bring(was node, dir string) error {
	now, missing := s.root.Lstat(dir)
	from, found := s.find(was.info)
	if missing == nil && (found || !now.IsDir()) {
		aside, err := s.shelf.aside(s.root, dir)
		if err != nil {
			return err
		}
		if inner, ok := strings.CutPrefix(from, dir+"/"); ok {
			from = aside + "/" + inner
		}
		defer s.shelf.put(s.root, aside, dir)
	}
	if found {
		if err := s.root.Rename(from, dir); err != nil {
			return err
		}
		return s.root.Chmod(dir, was.mode.Perm())
	}
	if missing != nil || !now.IsDir() {
		if err := s.root.Mkdir(dir, was.mode.Perm()|0o700); err != nil {
			return err
		}
	}
	return errRemoved
}

// find looks for a directory everywhere in the workspace, until it takes too long.
func (s *snapshot) find(folder fs.FileInfo) (name string, ok bool) {
	queue := []string{"."}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		dir, err := s.root.Open(at)
		if err != nil {
			continue
		}
		for err == nil && time.Now().Before(s.until) {
			var entries []fs.DirEntry
			entries, err = dir.ReadDir(part)
			for _, e := range entries {
				if !e.IsDir() {
					continue
				}
				child := path.Join(at, e.Name())
				if info, err := s.root.Lstat(child); err == nil && os.SameFile(folder, info) {
					dir.Close()
					return child, true
				}
				queue = append(queue, child)
			}
		}
		dir.Close()
	}
	return "", false
}

// mend makes name what it was, and leaves alone what in it still is.
func (s *snapshot) mend(was node, name string) error {
	now, err := s.root.Lstat(name)
	there := err == nil
	switch {
	case s.same(was, name):
		return nil
	case was.unknown:
		return errors.New("too large to be remembered")
	case there && now.IsDir() && was.children != nil:
		return s.mendFolder(was, name)
	}
	if there {
		aside, err := s.shelf.aside(s.root, name)
		if err != nil {
			return err
		}
		defer s.shelf.put(s.root, aside, name)
	}
	switch {
	case was.absent:
		return nil
	case was.mode.IsRegular():
		return s.write(was, name)
	case was.mode&fs.ModeSymlink != 0:
		return s.root.Symlink(string(was.data), name)
	case was.mode.IsDir():
		if err := s.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		return s.mendFolder(was, name)
	}
	return errors.New("not a file")
}

func (s *snapshot) mendFolder(was node, name string) error {
	if err := s.root.Chmod(name, 0o700); err != nil {
		return err
	}
	names, err := s.list(name, len(was.children)+maxStrangers+1)
	if len(names) > len(was.children)+maxStrangers {
		names, err = s.anew(was, name)
	}
	for _, child := range names {
		n, ok := was.children[child]
		if !ok {
			n = node{absent: true}
		}
		err = errors.Join(err, s.mend(n, name+"/"+child))
	}
	for child, n := range was.children {
		if !slices.Contains(names, child) {
			err = errors.Join(err, s.mend(n, name+"/"+child))
		}
	}
	return errors.Join(err, s.root.Chmod(name, was.mode.Perm()))
}

// anew makes a directory in place of one with too many names in it, which is set
// aside, and takes back what was in it before. It returns the names of that.
func (s *snapshot) anew(was node, name string) (names []string, err error) {
	aside, err := s.shelf.aside(s.root, name)
	if err != nil {
		return nil, err
	}
	s.shelf.put(s.root, aside, name)
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	for child, n := range was.children {
		if !n.absent && s.root.Rename(aside+"/"+child, name+"/"+child) == nil {
			names = append(names, child)
		}
	}
	return names, nil
}

// write writes a file by its side first: name is never half of it.
func (s *snapshot) write(was node, name string) error {
	side := name + ".parley-" + stamp()
	f, err := s.root.OpenFile(side, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(was.data)
	if err = errors.Join(err, f.Chmod(was.mode.Perm()), f.Close()); err == nil {
		err = s.root.Rename(side, name)
	}
	if err != nil {
		_ = s.root.Remove(side)
	}
	return err
}

// sentence says what restore did, and where now is what was in the way; "" if it
// did nothing.
func sentence(c changes, kept []string) string {
	var b strings.Builder
	if len(c.restored) > 0 {
		b.WriteString("[the sandbox undid changes of " + several(c.restored) + ": no command may change them")
		if len(kept) > 0 {
			b.WriteString("; what was there is kept in " + several(kept))
		}
		b.WriteString("]\n")
	}
	if len(c.lost) > 0 {
		b.WriteString("[CAUTION: " + several(c.lost) + " was changed and could not be restored")
		if len(kept) > 0 && len(c.restored) == 0 {
			b.WriteString("; what was there is kept in " + several(kept))
		}
		b.WriteString("]\n")
	}
	if len(c.armed) > 0 {
		b.WriteString("[CAUTION: " + several(c.armed) + " is new and names programs for git to run; look at it before you use git there]\n")
	}
	if len(c.unseen) > 0 {
		b.WriteString("[CAUTION: the sandbox could not look at all that is new, for repositories that run programs; it left out " + several(c.unseen) + "]\n")
	}
	return b.String()
}

// several are names, of very many the first.
func several(names []string) string {
	const most = 100
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
