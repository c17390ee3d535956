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
	maxSnapshotBytes    = 8 << 20
	maxSnapshotEntries = 4096
)

// A snapshot is what the protected paths of a workspace hold before a command.
// All access is through root: a link that the command leaves leads nowhere.
type snapshot struct {
	root      *os.Root
	paths     []string                        // protected, relative, with slashes
	newGitDirs       map[string]bool                 // git directories that have appeared
	states    map[string]map[string]fileState // of git directories that were there, by their names and the files'
	outside       []*snapshot                     // of the repository elsewhere that the workspace is a worktree of
	isOutside bool                            // it is one of these: all is told, and nothing undone
	searchedDirs    []string                        // directories that were there, and looked into
	layoutParts     []string                        // files that make a git directory with others, which were not there
	searchComplete  bool                            // they are all there were
	since     time.Time                       // when it was taken, by the clock of files
	began     time.Time                       // when it was taken, by the clock that is never set
	findDeadline     time.Time                       // when no more is looked for what was moved away
	before    map[string]node                 // of these, and of the directories that they are in
	mountedReadOnly   bool                            // what was there at the start is read-only, for the command
	quarantine     quarantine                           // where goes what is in the way
	openDirs      []*os.File
	bytes     int
	entries   int
	namesChecked   int // names that were, whether they run anything
}

// A node is a file, a directory or nothing.
type node struct {
	mode     fs.FileMode
	info     fs.FileInfo // to be found again by; nil if absent
	absent   bool
	data     []byte // content of a file, target of a link
	size     int64
	children map[string]node // of a directory; nil for one on the way to a protected path
	tooLarge  bool            // too large to be remembered
}

// newSnapshot is one of root in which nothing is remembered yet.
func (p Policy) newSnapshot(root *os.Root) *snapshot {
	s := &snapshot{
		root: root, before: map[string]node{}, newGitDirs: map[string]bool{}, since: fileTimeNow(), began: time.Now(),
		searchedDirs: p.searchedDirs, layoutParts: p.layoutParts, searchComplete: p.searchComplete,
	}
	if p.searchedAt > 0 {
		s.since = time.Unix(0, int64(p.searchedAt)) // of the search, before which nothing is new
	}
	for _, name := range p.Protected {
		s.paths = append(s.paths, path.Clean(name))
	}
	return s
}

// takeSnapshot remembers what is protected in root. Mounted says that what is there is read-only for
// the command: then its content need not be remembered.
func (p Policy) takeSnapshot(root *os.Root, mounted bool) *snapshot {
	s := p.newSnapshot(root)
	s.mountedReadOnly = mounted
	for _, p := range s.paths {
		for _, dir := range parentDirs(p) {
			if _, known := s.before[dir]; known {
				continue
			}
			s.before[dir] = s.readNode(dir, false)
			s.keepOpen(dir)
		}
		s.before[p] = s.readNode(p, !mounted)
	}
	s.saveStates()
	for _, dir := range p.outsideGitDirs {
		if root, err := os.OpenRoot(dir); err == nil {
			far := &snapshot{root: root, isOutside: true}
			far.saveState(".")
			s.outside = append(s.outside, far)
		}
	}
	return s
}

// saveStates keeps what git goes on with in the repositories that are there.
func (s *snapshot) saveStates() {
	for _, p := range s.paths {
		if path.Base(p) == "config" {
			s.saveState(path.Dir(p))
		}
	}
}

// maxOpenDirs is how many directories are kept open.
const maxOpenDirs = 200

// keepOpen keeps a directory open for as long as the snapshot is needed: the number of
// one that was removed would be given to another, which then passed for it.
func (s *snapshot) keepOpen(dir string) {
	if len(s.openDirs) < maxOpenDirs && s.before[dir].mode.IsDir() {
		if f, err := s.root.Open(dir); err == nil {
			s.openDirs = append(s.openDirs, f)
		}
	}
}

// parentDirs are the directories that p is in, the topmost first.
func parentDirs(p string) []string {
	var dirs []string
	for i, r := range p {
		if r == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}

func (s *snapshot) readNode(name string, deep bool) node {
	info, err := s.root.Lstat(name)
	if err != nil {
		return node{absent: true}
	}
	n := node{mode: info.Mode(), info: info, size: info.Size()}
	s.entries++
	switch {
	case s.entries > maxSnapshotEntries, strings.Count(name, "/") > maxLevels:
		n.tooLarge = true
	case n.mode.IsRegular() && s.mountedReadOnly:
	case n.mode.IsRegular():
		if s.bytes += int(min(n.size, maxSnapshotBytes+1)); s.bytes > maxSnapshotBytes {
			n.tooLarge = true
			break
		}
		n.data, err = s.root.ReadFile(name)
	case n.mode&fs.ModeSymlink != 0:
		n.data, err = s.readLink(name)
	case n.mode.IsDir() && deep:
		n.children = map[string]node{}
		var names []string
		names, err = s.listNames(name, -1)
		for _, child := range names {
			n.children[child] = s.readNode(name+"/"+child, true)
		}
	}
	if err != nil {
		n.tooLarge = true
	}
	return n
}

func (s *snapshot) readLink(name string) ([]byte, error) {
	link, err := s.root.Readlink(name)
	return []byte(link), err
}

// listNames returns the names in a directory, in order, no more than most of them if that
// is positive.
func (s *snapshot) listNames(name string, most int) ([]string, error) {
	all, err := readNames(s.root, name, most)
	slices.Sort(all)
	return all, err
}

// isUnchanged reports whether name is still what it was. It reads no more than that.
func (s *snapshot) isUnchanged(was node, name string) bool {
	info, err := s.root.Lstat(name)
	if err != nil {
		return was.absent && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR))
	}
	const what = fs.ModeType | fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid
	if was.absent || info.Mode()&what != was.mode&what {
		return false
	}
	switch {
	case was.tooLarge:
		return was.mode.IsDir() || info.Size() == was.size
	case was.mode.IsRegular():
		if info.Size() != was.size {
			return false
		}
		data, err := s.root.ReadFile(name)
		return err == nil && bytes.Equal(data, was.data)
	case was.mode&fs.ModeSymlink != 0:
		link, err := s.readLink(name)
		return err == nil && bytes.Equal(link, was.data)
	case was.children != nil:
		names, err := s.listNames(name, len(was.children)+1)
		if err != nil || len(names) != len(was.children) {
			return false
		}
		for _, child := range names {
			if n, ok := was.children[child]; !ok || !s.isUnchanged(n, name+"/"+child) {
				return false
			}
		}
	}
	return true
}
