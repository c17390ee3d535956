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

// A stamp is what tells a file from what it was, without reading it.
type stamp struct {
	kind          Kind
	mode          uint32
	size          int64
	mtime, ctime  int64 // in ns
	inode, device uint64
}

// A seen is what a walk saw at a path.
type seen struct {
	stamp
	ignored bool // git ignores it
	target  Name // of a link
}

// A walk goes through a workspace with several goroutines, and sees what stands there without
// reading it. It follows no link, and leaves out .git, ignored folders and other file systems.
type walk struct {
	ctx    context.Context
	skip   stamp // folder that is left out: the store's own
	device uint64
	inGit  bool  // what .gitignore says counts
	before *look // folders are gone into that were then, and left out that were; nil: by the rules

	until    time.Time   // when the walk ends at the latest, as ctx says; zero: never
	cut      atomic.Bool // it ended before all was seen
	expected int         // entries there were last time
	mu       sync.Mutex
	found    map[string]*entry
	listed   [][]entry       // what is in each folder
	folders  map[string]bool // that were listed whole
	left     []Uncovered     // folders that were not
	pending  sync.WaitGroup
	slots    chan struct{} // one for each further goroutine
}

// maxSeen is how many entries a walk sees at most.
const maxSeen = 400_000

// run walks through root. Rules are those that hold above it.
func (k *walk) run(root folder, rules gitignore.Rules) error {
	top, err := root.own()
	if err != nil {
		return err
	}
	k.device, k.found, k.folders = top.device, make(map[string]*entry, k.expected), map[string]bool{}
	k.slots = make(chan struct{}, min(runtime.GOMAXPROCS(0), 4)-1)
	k.visit(root, ".", rules)
	k.pending.Wait()
	if k.cut.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// late reports whether the walk is to end. A timer of ctx may be late itself where all
// processors are busy, so that the clock is asked as well.
func (k *walk) late() bool {
	late := isLate(k.ctx, k.until)
	if late {
		k.cut.Store(true)
	}
	return late
}

func isLate(ctx context.Context, until time.Time) bool {
	return ctx.Err() != nil || !until.IsZero() && !time.Now().Before(until)
}

// An entry is what was seen at one path, and where its content is kept.
type entry struct {
	file string
	seen
	source
	kept bool // it is a file, and source says where
}

// asked is how many entries are looked at between two looks at the clock.
const asked = 128

// A subfolder is a folder that a walk is to go into.
type subfolder struct {
	folder
	file string // its path in the workspace
}

// visit sees what is in the folder f, which is dir.
func (k *walk) visit(f folder, dir string, rules gitignore.Rules) {
	if k.late() {
		return
	}
	names, err := f.names()
	if err != nil {
		k.leave(Uncovered{Path: Name(dir), Why: "it cannot be read"})
		return
	}
	rules = k.addRules(f, dir, names, rules)
	all := make([]entry, 0, len(names))
	var below []subfolder
	whole, prefix := true, ""
	if dir != "." {
		prefix = dir + "/"
	}
	for i, name := range names {
		if name == ".git" {
			continue
		}
		if i%asked == asked-1 && k.late() {
			whole = false
			break
		}
		s := seen{}
		if s.stamp, err = f.stat(name); err != nil {
			continue // it is gone
		}
		file := prefix + name
		switch s.kind {
		case Folder:
			if !k.enters(file, s.stamp, rules) {
				continue
			}
			if sub, err := f.open(name); err == nil {
				below = append(below, subfolder{sub, file})
			} else {
				k.leave(Uncovered{Path: Name(file), Why: "it cannot be read"})
			}
		case Link:
			s.target, _ = f.link(name)
		case File:
			s.ignored = k.inGit && rules.Match(file, false)
		}
		all = append(all, entry{file: file, seen: s})
	}
	full := k.add(dir, all, whole)
	for _, sub := range below {
		switch {
		case full:
			k.leave(Uncovered{Path: Name(sub.file), Why: "there are too many files"})
			sub.close()
		default:
			k.descend(sub, rules)
		}
	}
}

// add notes what is in a folder, and reports whether that is enough.
func (k *walk) add(dir string, all []entry, whole bool) (full bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if whole {
		k.folders[dir] = true
	}
	k.listed = append(k.listed, all)
	for i := range all {
		k.found[all[i].file] = &all[i]
	}
	return len(k.found) > maxSeen
}

// enters reports whether a walk goes into a folder, and notes why not.
func (k *walk) enters(dir string, s stamp, rules gitignore.Rules) bool {
	if k.before != nil && k.before.folders[dir] {
		return true
	}
	switch {
	case k.before != nil && k.before.omits(dir):
		return false
	case s.inode == k.skip.inode && s.device == k.skip.device && k.skip.inode != 0:
		return false // parley's own
	case k.inGit && rules.Match(dir, true):
		k.leave(Uncovered{Path: Name(dir), Why: ignoredFolder})
		return false
	case s.device != k.device:
		k.leave(Uncovered{Path: Name(dir), Why: "it is on another file system"})
		return false
	}
	return true
}

// ignoredFolder is why a folder that git ignores is not covered.
const ignoredFolder = "git ignores it"

// descend goes into a folder, in a goroutine of its own if one is free.
func (k *walk) descend(sub subfolder, rules gitignore.Rules) {
	select {
	case k.slots <- struct{}{}:
		k.pending.Go(func() {
			defer func() { <-k.slots }()
			defer sub.close()
			k.visit(sub.folder, sub.file, rules)
		})
	default:
		defer sub.close()
		k.visit(sub.folder, sub.file, rules)
	}
}

func (k *walk) leave(u Uncovered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = append(k.left, u)
}

// addRules returns the rules that hold in a folder: those from above and its own.
func (k *walk) addRules(f folder, dir string, names []string, rules gitignore.Rules) gitignore.Rules {
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
