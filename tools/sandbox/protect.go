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
	"time"
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
	root      *os.Root
	paths     []string                        // protected, relative, with slashes
	git       map[string]bool                 // git directories that have appeared
	states    map[string]map[string]fileState // of git directories that were there, by their names and the files'
	far       []*snapshot                     // of the repository elsewhere that the workspace is a worktree of
	elsewhere bool                            // it is one of these: all is told, and nothing undone
	looked    []string                        // directories that were there, and looked into
	parts     []string                        // files that make a git directory with others, which were not there
	searched  bool                            // they are all there were
	since     time.Time                       // when it was taken, by the clock of files
	began     time.Time                       // when it was taken, by the clock that is never set
	until     time.Time                       // when no more is looked for what was moved away
	before    map[string]node                 // of these, and of the directories that they are in
	mounted   bool                            // what was there at the start is read-only, for the command
	shelf     shelf                           // where goes what is in the way
	held      []*os.File
	bytes     int
	entries   int
	checked   int // names that were, whether they run anything
}

// A node is a file, a directory or nothing.
type node struct {
	mode     fs.FileMode
	info     fs.FileInfo // to be found again by; nil if absent
	absent   bool
	data     []byte // content of a file, target of a link
	size     int64
	children map[string]node // of a directory; nil for one on the way to a protected path
	unknown  bool            // too large to be remembered
}

// snapshot is one of root in which nothing is remembered yet.
func (p Policy) snapshot(root *os.Root) *snapshot {
	s := &snapshot{
		root: root, before: map[string]node{}, git: map[string]bool{}, since: present(), began: time.Now(),
		looked: p.looked, parts: p.parts, searched: p.searched,
	}
	if p.since > 0 {
		s.since = time.Unix(0, int64(p.since)) // of the search, before which nothing is new
	}
	for _, name := range p.Protected {
		s.paths = append(s.paths, path.Clean(name))
	}
	return s
}

// take remembers what is protected in root. Mounted says that what is there is read-only for
// the command: then its content need not be remembered.
func (p Policy) take(root *os.Root, mounted bool) *snapshot {
	s := p.snapshot(root)
	s.mounted = mounted
	for _, p := range s.paths {
		for _, dir := range above(p) {
			if _, known := s.before[dir]; known {
				continue
			}
			s.before[dir] = s.read(dir, false)
			s.hold(dir)
		}
		s.before[p] = s.read(p, !mounted)
	}
	s.rememberStates()
	for _, dir := range p.far {
		if root, err := os.OpenRoot(dir); err == nil {
			far := &snapshot{root: root, elsewhere: true}
			far.remember(".")
			s.far = append(s.far, far)
		}
	}
	return s
}

// rememberStates keeps what git goes on with in the repositories that are there.
func (s *snapshot) rememberStates() {
	for _, p := range s.paths {
		if path.Base(p) == "config" {
			s.remember(path.Dir(p))
		}
	}
}

// maxHeld is how many directories are kept open.
const maxHeld = 200

// hold keeps a directory open for as long as the snapshot is needed: the number of
// one that was removed would be given to another, which then passed for it.
func (s *snapshot) hold(dir string) {
	if len(s.held) < maxHeld && s.before[dir].mode.IsDir() {
		if f, err := s.root.Open(dir); err == nil {
			s.held = append(s.held, f)
		}
	}
}

// above are the directories that p is in, the topmost first.
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
	n := node{mode: info.Mode(), info: info, size: info.Size()}
	s.entries++
	switch {
	case s.entries > maxEntries, strings.Count(name, "/") > maxLevels:
		n.unknown = true
	case n.mode.IsRegular() && s.mounted:
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

// list returns the names in a directory, in order, no more than most of them if that
// is positive.
func (s *snapshot) list(name string, most int) ([]string, error) {
	all, err := names(s.root, name, most)
	slices.Sort(all)
	return all, err
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
