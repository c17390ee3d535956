package undo

import (
	"context"
	"io"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"parley/tools/gitignore"
)

// A fileStat holds the metadata that show a change of a file, from stat(2).
type fileStat struct {
	kind          Kind
	mode          uint32
	size          int64
	mtime, ctime  int64 // in ns
	inode, device uint64
}

// A pathInfo holds what a walk finds out about a path.
type pathInfo struct {
	fileStat
	ignored bool // git ignores it
	target  Name // of a link
}

// A walk lists a workspace with several goroutines, without reading files. It follows no link, and
// leaves out .git, ignored directories and other file systems.
type walk struct {
	ctx    context.Context
	skip   fileStat // directory to leave out: parley's own
	device uint64
	inGit  bool      // .gitignore counts
	before *snapshot // the directories that it lists are listed again, and no others of its time; nil: by the rules

	deadline   time.Time   // of ctx; zero: none
	truncated  atomic.Bool // it ended early
	expected   int         // estimated number of entries
	mu         sync.Mutex
	entries    map[string]*entry
	byDir      [][]entry       // entries, one slice per directory
	listedDirs map[string]bool // directories that were listed completely
	uncovered  []Uncovered     // directories that were left out
	pending    sync.WaitGroup
	slots      chan struct{} // one for each additional goroutine
}

// maxEntries bounds the entries of a walk.
const maxEntries = 400_000

// run walks root. Rules are the ignore rules from above it.
func (k *walk) run(root dirHandle, rules gitignore.Rules) error {
	top, err := root.statSelf()
	if err != nil {
		return err
	}
	k.device, k.entries, k.listedDirs = top.device, make(map[string]*entry, k.expected), map[string]bool{}
	k.slots = make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)-1)
	k.visit(root, ".", rules)
	k.pending.Wait()
	if k.truncated.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// deadlinePassed reports whether the walk must end, and notes that it does.
func (k *walk) deadlinePassed() bool {
	late := deadlinePassed(k.ctx, k.deadline)
	if late {
		k.truncated.Store(true)
	}
	return late
}

// deadlinePassed reports whether ctx has ended, or its deadline has passed: on a busy machine the
// timer of ctx itself can be late.
func deadlinePassed(ctx context.Context, deadline time.Time) bool {
	return ctx.Err() != nil || !deadline.IsZero() && !time.Now().Before(deadline)
}

// An entry is a path of a snapshot, and where its content is stored.
type entry struct {
	path string
	pathInfo
	contentSource
	hasContent bool // contentSource is set
}

// clockInterval is the number of entries between two checks of the clock.
const clockInterval = 128

// A subdir is an open directory that a walk will visit.
type subdir struct {
	dirHandle
	path string // relative to the workspace
}

// visit lists the directory f, whose path is dir, and those below it.
func (k *walk) visit(f dirHandle, dir string, rules gitignore.Rules) {
	if k.deadlinePassed() {
		return
	}
	names, err := f.names()
	if err != nil {
		k.addUncovered(Uncovered{Path: Name(dir), Why: "it cannot be read"})
		return
	}
	rules = k.addRules(f, dir, names, rules)
	all := make([]entry, 0, len(names))
	var below []subdir
	whole, prefix := true, ""
	if dir != "." {
		prefix = dir + "/"
	}
	for i, name := range names {
		if name == ".git" {
			continue
		}
		if i%clockInterval == clockInterval-1 && k.deadlinePassed() {
			whole = false
			break
		}
		s := pathInfo{}
		if s.fileStat, err = f.stat(name); err != nil {
			continue // deleted meanwhile
		}
		file := prefix + name
		switch s.kind {
		case Folder:
			if !k.shouldEnter(file, s.fileStat, rules) {
				continue
			}
			if sub, err := f.open(name); err == nil {
				below = append(below, subdir{sub, file})
			} else {
				k.addUncovered(Uncovered{Path: Name(file), Why: "it cannot be read"})
			}
		case Link:
			s.target, _ = f.link(name)
		case File:
			s.ignored = k.inGit && rules.Match(file, false)
		}
		all = append(all, entry{path: file, pathInfo: s})
	}
	full := k.add(dir, all, whole)
	for _, sub := range below {
		switch {
		case full:
			k.addUncovered(Uncovered{Path: Name(sub.path), Why: "there are too many files"})
			sub.close()
		default:
			k.visitSubdir(sub, rules)
		}
	}
}

// add adds the entries of a directory, and reports whether maxEntries is reached.
func (k *walk) add(dir string, all []entry, whole bool) (full bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if whole {
		k.listedDirs[dir] = true
	}
	k.byDir = append(k.byDir, all)
	for i := range all {
		k.entries[all[i].path] = &all[i]
	}
	return len(k.entries) > maxEntries
}

// shouldEnter reports whether to list a directory; if not, it notes why.
func (k *walk) shouldEnter(dir string, s fileStat, rules gitignore.Rules) bool {
	if k.before != nil && k.before.listedDirs[dir] {
		return true
	}
	switch {
	case k.before != nil && k.before.isUnlisted(dir):
		return false
	case s.inode == k.skip.inode && s.device == k.skip.device && k.skip.inode != 0:
		return false // parley's own
	case k.inGit && rules.Match(dir, true):
		k.addUncovered(Uncovered{Path: Name(dir), Why: ignoredByGit})
		return false
	case s.device != k.device:
		k.addUncovered(Uncovered{Path: Name(dir), Why: "it is on another file system"})
		return false
	}
	return true
}

// ignoredByGit is the reason of an ignored directory.
const ignoredByGit = "git ignores it"

// visitSubdir visits a directory, in a goroutine of its own if one is free.
func (k *walk) visitSubdir(sub subdir, rules gitignore.Rules) {
	select {
	case k.slots <- struct{}{}:
		k.pending.Go(func() {
			defer func() { <-k.slots }()
			defer sub.close()
			k.visit(sub.dirHandle, sub.path, rules)
		})
	default:
		defer sub.close()
		k.visit(sub.dirHandle, sub.path, rules)
	}
}

func (k *walk) addUncovered(u Uncovered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uncovered = append(k.uncovered, u)
}

// addRules returns the ignore rules of a directory: those from above and its own.
func (k *walk) addRules(f dirHandle, dir string, names []string, rules gitignore.Rules) gitignore.Rules {
	if !k.inGit {
		return nil
	}
	for _, name := range names {
		if name == ".gitignore" {
			rules = rules.Append(gitignore.Parse(dir, readSmall(path.Join(f.path, name))))
		}
	}
	return rules
}

// readSmall returns the text of an ignore file; "" if it cannot be read.
func readSmall(name string) string {
	f, err := openRegular(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, gitignore.MaxSize))
	if err != nil {
		return ""
	}
	return string(text)
}
