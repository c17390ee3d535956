package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxSearched is how many folders are looked into for one that was moved away.
const maxSearched = 20000

// changes are the protected paths that were not what they had been.
type changes struct{ restored, lost []string }

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
// been changed by the command: if it is different now, a person did that, and it
// stays. Nothing is removed that does not go to the shelf.
func (s *snapshot) restore() (c changes) {
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
	if slices.Contains(s.paths, ".git/config") {
		s.appeared(&c)
	}
	return c
}

// appeared does for repositories that have appeared what restore does for those
// that were there: what configures them does not stay, unless it is inert. A
// repository that was further away than is looked, and so only seems to be new,
// is told by its folders, none of which has changed since.
func (s *snapshot) appeared(c *changes) {
	r := repos{root: s.root, workspace: s.root.Name(), protected: slices.Clone(s.paths)}
	r.search()
	s.git = append(s.git, r.git...)
	for _, p := range r.protected[len(s.paths):] {
		if s.there(p) && s.fresh(p) && !s.inert(p) {
			c.note(p, s.mend(node{absent: true}, p))
		}
	}
}

// fresh reports whether p, or a folder that it is in, has changed since the
// snapshot, by the time that nobody can set.
func (s *snapshot) fresh(p string) bool {
	return slices.ContainsFunc(append(above(p), p), func(name string) bool {
		info, err := s.root.Lstat(name)
		return err == nil && !changedAt(info).Before(s.since)
	})
}

// ways puts back the folders on the way to p. It reports whether p can be reached.
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

// folder puts a folder on the way to a protected path back, where something else
// has taken its place. A new folder may stay.
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

// bring moves a folder back to where it was, or makes an empty one.
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

// find looks for a folder everywhere in the workspace.
func (s *snapshot) find(folder fs.FileInfo) (name string, ok bool) {
	queue := []string{"."}
	for searched := 0; len(queue) > 0 && searched < maxSearched; searched++ {
		at := queue[0]
		queue = queue[1:]
		names, _ := s.list(at, -1)
		for _, child := range names {
			child = path.Join(at, child)
			info, err := s.root.Lstat(child)
			if err != nil || !info.IsDir() {
				continue
			}
			if os.SameFile(folder, info) {
				return child, true
			}
			queue = append(queue, child)
		}
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
	case there && now.Mode().IsRegular() && was.mode.IsRegular() && !was.absent:
		if err := s.shelf.copy(s.root, name, name); err == nil {
			return s.write(was, name)
		}
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
	names, err := s.list(name, -1)
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
		b.WriteString("[the sandbox undid changes of " + strings.Join(c.restored, ", ") + ": no command may change them")
		if len(kept) > 0 {
			b.WriteString("; what was there is kept in " + strings.Join(kept, ", "))
		}
		b.WriteString("]\n")
	}
	if len(c.lost) > 0 {
		b.WriteString("[CAUTION: " + strings.Join(c.lost, ", ") + " was changed and could not be restored")
		if len(kept) > 0 && len(c.restored) == 0 {
			b.WriteString("; what was there is kept in " + strings.Join(kept, ", "))
		}
		b.WriteString("]\n")
	}
	return b.String()
}
