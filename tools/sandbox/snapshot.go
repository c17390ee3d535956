package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of a snapshot. Git's hooks and config are a
// few kilobytes; larger content can be recognized as changed and not restored.
const (
	maxSnapshotBytes   = 8 << 20
	maxSnapshotEntries = 4096
)

// snapshot holds the state of a workspace's protected paths before a command. All access is
// through root: a link that the command leaves leads nowhere.
type snapshot struct {
	root            *os.Root
	paths           []string                        // protected, relative, with slashes
	newGitDirs      map[string]bool                 // git directories that were created since
	states          map[string]map[string]fileState // state files by git directory and file
	outside         []*snapshot                     // of the repository elsewhere that the workspace is a worktree of
	isOutside       bool                            // it is one of these: changes are reported, and none is undone
	searchResult                                    // before the command
	since           time.Time                       // file time of the snapshot
	began           time.Time                       // monotonic time of the snapshot
	findDeadline    time.Time                       // end of the search for moved directories
	before          map[string]node                 // state of the paths and their parents
	mountedReadOnly bool                            // existing paths are read-only for the command
	quarantine      quarantine                      // receives what was put in the place of a path
	openDirs        []*os.File
	spent           struct {
		bytes, entries int // by readNode
		namesChecked   int // by allEntries
	}
}

// node describes a file, a directory or nothing.
type node struct {
	mode     fs.FileMode
	info     fs.FileInfo // identifies it after a move; nil if absent
	absent   bool
	data     []byte // content of a file, target of a link
	size     int64
	children map[string]node // of a directory; nil for the parent of a protected path
	tooLarge bool            // content is not held
}

// newSnapshot returns an empty snapshot of root.
func (p policy) newSnapshot(root *os.Root) *snapshot {
	s := &snapshot{
		root: root, before: map[string]node{}, newGitDirs: map[string]bool{}, since: fileTimeNow(), began: time.Now(), searchResult: p.searchResult,
	}
	if p.searchedAt > 0 {
		s.since = time.Unix(0, int64(p.searchedAt)) // anything new is newer than the search
	}
	for _, name := range p.Protected {
		s.paths = append(s.paths, path.Clean(name))
	}
	return s
}

// takeSnapshot records the protected paths of root. With mounted, existing paths are
// read-only for the command, and their content need not be held.
func (p policy) takeSnapshot(root *os.Root, mounted bool) *snapshot {
	s, lasting := p.newSnapshot(root), p.LongRunning
	s.mountedReadOnly = mounted
	for _, p := range s.paths {
		for _, dir := range parentDirs(p) {
			if _, known := s.before[dir]; known {
				continue
			}
			s.before[dir] = s.readNode(dir, false)
			if !lasting {
				s.keepOpen(dir)
			}
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

// saveStates records the state files of existing repositories.
func (s *snapshot) saveStates() {
	for _, p := range s.paths {
		if path.Base(p) == "config" {
			s.saveState(path.Dir(p))
		}
	}
}

// maxOpenDirs bounds the directories that are kept open.
const maxOpenDirs = 200

// keepOpen keeps a directory open for the life of the snapshot: the inode number of a
// removed one could be reused, and the new directory pass for it.
func (s *snapshot) keepOpen(dir string) {
	if len(s.openDirs) < maxOpenDirs && s.before[dir].mode.IsDir() {
		if f, err := s.root.Open(dir); err == nil {
			s.openDirs = append(s.openDirs, f)
		}
	}
}

// parentDirs returns the directories above p, the topmost first.
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
	s.spent.entries++
	switch {
	case s.spent.entries > maxSnapshotEntries, strings.Count(name, "/") > maxLevels:
		n.tooLarge = true
	case n.mode.IsRegular() && s.mountedReadOnly:
	case n.mode.IsRegular():
		if s.spent.bytes += int(min(n.size, maxSnapshotBytes+1)); s.spent.bytes > maxSnapshotBytes {
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

// listNames returns the names in a directory, sorted; at most so many if most is positive.
func (s *snapshot) listNames(name string, most int) ([]string, error) {
	all, err := readNames(s.root, name, most)
	slices.Sort(all)
	return all, err
}

// isUnchanged reports whether name is still what it was. It reads no more than it was.
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

// Watch detects new repositories in a workspace while a long-running program runs. Create it
// by [NewWatch].
type Watch struct {
	mu     sync.Mutex
	policy policy // with the baseline's repositories
	states map[string]map[string]fileState
	began  time.Time
}

// NewWatch returns a watch with the current repositories as its baseline.
func NewWatch(workspace string) *Watch {
	w := &Watch{policy: policy{Policy: Policy{Workspace: workspace}}}
	w.acceptLocked()
	return w
}

// Accept makes the current repositories the new baseline (the user or an unsandboxed command
// created them).
func (w *Watch) Accept() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acceptLocked()
}

func (w *Watch) acceptLocked() {
	w.policy = policy{Policy: Policy{Workspace: w.policy.Workspace, Protected: Protected()}}
	w.policy.protectRepositories()
	w.states, w.began = nil, time.Now()
	if root, err := os.OpenRoot(w.policy.Workspace); err == nil {
		defer root.Close()
		s := w.policy.newSnapshot(root)
		s.saveStates()
		w.states = s.states
	}
}

// QuarantineNew moves the configuration of new repositories to quarantine, unless it runs
// nothing, and returns a notice about it; "" without any.
func (w *Watch) QuarantineNew() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, err := os.OpenRoot(w.policy.Workspace)
	if err != nil {
		return ""
	}
	defer root.Close()
	s := w.policy.newSnapshot(root)
	s.states, s.began = w.states, w.began
	var c changes
	s.restoreNewRepositories(&c)
	s.quarantine.flush()
	w.acceptLocked()
	return describeChanges(c, s.quarantine.locations)
}
