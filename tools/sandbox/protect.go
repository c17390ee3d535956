package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// How much of the protected paths is remembered. Git's hooks and config are a
// few kilobytes; what goes beyond can be told for changed and not restored.
const (
	maxKept    = 8 << 20
	maxEntries = 4096
)

// A snapshot is what the protected paths of a workspace hold before a command.
// All access is through root: a link that the command leaves leads nowhere.
type snapshot struct {
	root    *os.Root
	paths   []string        // protected, relative, with slashes
	before  map[string]node // of these, and of the folders that they are in
	bytes   int
	entries int
}

// A node is a file, a folder or nothing.
type node struct {
	mode     fs.FileMode
	absent   bool
	data     []byte // content of a file, target of a link
	size     int64
	children map[string]node // of a folder; nil for one on the way to a protected path
	unknown  bool            // too large to be remembered
}

// take remembers paths in root.
func take(root *os.Root, paths []string) *snapshot {
	s := &snapshot{root: root, before: map[string]node{}}
	for _, p := range paths {
		p = path.Clean(p)
		s.paths = append(s.paths, p)
		for _, dir := range above(p) {
			s.before[dir] = s.read(dir, false)
		}
		s.before[p] = s.read(p, true)
	}
	return s
}

// above are the folders that p is in, the topmost first.
func above(p string) []string {
	var dirs []string
	for i, r := range p {
		if r == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

func (s *snapshot) read(name string, deep bool) node {
	info, err := s.root.Lstat(name)
	if err != nil {
		return node{absent: true}
	}
	n := node{mode: info.Mode(), size: info.Size()}
	s.entries++
	switch {
	case s.entries > maxEntries:
		n.unknown = true
	case n.mode.IsRegular():
		if s.bytes += int(min(n.size, maxKept+1)); s.bytes > maxKept {
			n.unknown = true
			break
		}
		n.data, err = s.root.ReadFile(name)
	case n.mode&fs.ModeSymlink != 0:
		n.data, err = s.target(name)
	case n.mode.IsDir() && deep:
		n.children = map[string]node{}
		var names []string
		names, err = s.list(name, -1)
		for _, child := range names {
			n.children[child] = s.read(name+"/"+child, true)
		}
	}
	if err != nil {
		n.unknown = true
	}
	return n
}

func (s *snapshot) target(name string) ([]byte, error) {
	link, err := s.root.Readlink(name)
	return []byte(link), err
}

// list returns the names in a folder, no more than most of them if that is
// positive.
func (s *snapshot) list(name string, most int) ([]string, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(most)
	if most > 0 && len(names) == 0 {
		err = nil // it says io.EOF
	}
	slices.Sort(names)
	return names, err
}

// restore undoes what has changed since. It returns the paths that it put back,
// and those that it could not.
func (s *snapshot) restore() (restored, lost []string) {
	note := func(name string, err error) {
		list := &restored
		if err != nil {
			list = &lost
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, p := range s.paths {
		reachable := true
		for _, dir := range above(p) {
			changed, err := s.folder(dir)
			if changed {
				note(dir, err)
			}
			if now, err := s.root.Stat(dir); err != nil || !now.IsDir() {
				reachable = false
				break
			}
		}
		if was := s.before[p]; reachable && !s.same(was, p) {
			note(p, s.put(was, p))
		}
	}
	return restored, lost
}

// folder puts a folder on the way to a protected path back, where something else
// has taken its place. A new folder may stay.
func (s *snapshot) folder(dir string) (changed bool, err error) {
	was := s.before[dir]
	info, err := s.root.Lstat(dir)
	switch {
	case err != nil && was.absent:
		return false, nil
	case err != nil:
		return true, s.put(was, dir)
	case info.IsDir() && was.absent:
		return false, s.root.Chmod(dir, info.Mode().Perm()|0o700) // so that what is in it can be seen
	case info.IsDir() && was.mode.IsDir():
		if info.Mode().Perm() == was.mode.Perm() {
			return false, nil
		}
		return true, s.root.Chmod(dir, was.mode.Perm())
	case !s.same(was, dir):
		return true, s.put(was, dir)
	}
	return false, nil
}

// same reports whether name is still what it was. It reads no more than that.
func (s *snapshot) same(was node, name string) bool {
	info, err := s.root.Lstat(name)
	if err != nil {
		return was.absent && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR))
	}
	const what = fs.ModeType | fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid
	if was.absent || info.Mode()&what != was.mode&what {
		return false
	}
	switch {
	case was.unknown:
		return was.mode.IsDir() || info.Size() == was.size
	case was.mode.IsRegular():
		if info.Size() != was.size {
			return false
		}
		data, err := s.root.ReadFile(name)
		return err == nil && bytes.Equal(data, was.data)
	case was.mode&fs.ModeSymlink != 0:
		link, err := s.target(name)
		return err == nil && bytes.Equal(link, was.data)
	case was.children != nil:
		names, err := s.list(name, len(was.children)+1)
		if err != nil || len(names) != len(was.children) {
			return false
		}
		for _, child := range names {
			if n, ok := was.children[child]; !ok || !s.same(n, name+"/"+child) {
				return false
			}
		}
	}
	return true
}

// put makes name what it was.
func (s *snapshot) put(was node, name string) error {
	if was.unknown {
		return errors.New("too large to be remembered")
	}
	if err := s.remove(name); err != nil || was.absent {
		return err
	}
	perm := was.mode.Perm()
	switch {
	case was.mode.IsRegular():
		if err := s.root.WriteFile(name, was.data, 0o600); err != nil {
			return err
		}
		return s.root.Chmod(name, perm)
	case was.mode&fs.ModeSymlink != 0:
		return s.root.Symlink(string(was.data), name)
	case was.mode.IsDir():
		if err := s.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		for child, n := range was.children {
			if err := s.put(n, name+"/"+child); err != nil {
				return err
			}
		}
		return s.root.Chmod(name, perm)
	}
	return errors.New("not a file")
}

// remove removes name with all that is in it, also from folders that nobody may
// change.
func (s *snapshot) remove(name string) error {
	if err := s.root.RemoveAll(name); err == nil {
		return nil
	}
	s.unlock(name)
	return s.root.RemoveAll(name)
}

func (s *snapshot) unlock(name string) {
	info, err := s.root.Lstat(name)
	if err != nil || !info.IsDir() {
		return
	}
	if s.root.Chmod(name, 0o700) != nil {
		return
	}
	names, _ := s.list(name, -1)
	for _, child := range names {
		s.unlock(name + "/" + child)
	}
}

// sentence says what restore did; "" if it did nothing.
func sentence(restored, lost []string) string {
	var b strings.Builder
	if len(restored) > 0 {
		b.WriteString("[the sandbox undid changes of " + strings.Join(restored, ", ") + ": no command may change them]\n")
	}
	if len(lost) > 0 {
		b.WriteString("[CAUTION: " + strings.Join(lost, ", ") + " was changed and could not be restored]\n")
	}
	return b.String()
}
