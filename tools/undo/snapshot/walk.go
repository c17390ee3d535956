package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"parley/tools/gitignore"
	"parley/tools/openat"
	"parley/tools/undo"
)

// A fileStat holds the metadata from stat(2) that reveal a change of a file.
type fileStat struct {
	kind          undo.Kind
	mode          uint32
	size          int64
	mtime, ctime  int64 // in ns
	inode, device uint64
	linked        bool // it has several names
}

func fileStatOf(i openat.Info) fileStat {
	s := fileStat{undo.Other, i.Permissions, i.Size, i.Modified, i.Changed, i.Inode, i.Device, false}
	switch i.Type {
	case 0:
		s.kind, s.linked = undo.File, i.Links > 1
	case fs.ModeDir:
		s.kind, s.size = undo.Directory, 0
	case fs.ModeSymlink:
		s.kind, s.mode, s.size = undo.Link, 0, 0
	}
	return s
}

// statIn returns the metadata of an entry of d, without ignored.
func statIn(d openat.Dir, name string) (s pathInfo, err error) {
	info, err := d.Stat(name)
	if s.fileStat = fileStatOf(info); err == nil && s.kind == undo.Link {
		var target string
		target, err = d.Link(name)
		s.target = undo.Name(target)
	}
	return s, err
}

// readIn reads a regular file of at most most bytes in d into buf, which it may replace by a larger one; a larger
// file is errFileGrew. It follows no link and never blocks.
func readIn(d openat.Dir, name string, most int64, buf []byte) ([]byte, fileStat, error) {
	f, err := d.OpenFile(name)
	if err != nil {
		return nil, fileStat{}, err
	}
	defer f.Close()
	s := fileStatOf(f.Info)
	if s.size > most {
		return nil, s, errFileGrew
	}
	content := bytes.NewBuffer(buf[:0])
	content.Grow(int(s.size) + bytes.MinRead)
	if _, err = content.ReadFrom(io.LimitReader(f, most+1)); err == nil && int64(content.Len()) > most {
		err = errFileGrew
	}
	return content.Bytes(), s, err
}

// A pathInfo is the result of a walk for one path.
type pathInfo struct {
	fileStat
	ignored bool      // git ignores it
	target  undo.Name // of a link
}

// A walk lists a workspace with several goroutines, without reading files. It does not follow
// links, and leaves out .git, ignored directories and other file systems.
type walk struct {
	ctx    context.Context
	skip   openat.Info // parley's own directory, which is left out
	device uint64
	inGit  bool      // apply .gitignore
	before *snapshot // list exactly the directories that this snapshot lists; nil: apply the ignore rules

	deadline   time.Time   // of ctx; zero: none
	truncated  atomic.Bool // the walk ended early
	expected   int         // estimated number of entries
	mu         sync.Mutex
	entries    map[string]*entry
	byDir      [][]entry        // entries, one slice per directory
	listedDirs map[string]bool  // directories listed completely
	uncovered  []undo.Uncovered // directories left out
	todo       []subdir         // stack of directories to visit
	visiting   int              // goroutines visiting a directory, which may add to todo

	todoChanged *sync.Cond // on mu: todo has grown, or visiting is 0
}

// maxEntries bounds the entries of a walk.
const maxEntries = 400_000

// run walks d, whose rules are the ignore rules from the directories above it.
func (k *walk) run(d *openDir) error {
	k.entries, k.listedDirs = make(map[string]*entry, k.expected), map[string]bool{}
	k.todoChanged = sync.NewCond(&k.mu)
	d.users.Store(1) // the caller closes it
	k.visit(d)
	if len(k.todo) > 0 {
		var others sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), 4) - 1 {
			others.Go(k.visitTodo)
		}
		k.visitTodo()
		others.Wait()
	}
	if k.truncated.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// deadlinePassed reports whether the walk must end, and records that.
func (k *walk) deadlinePassed() bool {
	late := deadlinePassed(k.ctx, k.deadline)
	if late {
		k.truncated.Store(true)
	}
	return late
}

// deadlinePassed reports whether ctx has ended or its deadline has passed; on a busy machine ctx
// may end late.
func deadlinePassed(ctx context.Context, deadline time.Time) bool {
	return ctx.Err() != nil || !deadline.IsZero() && !time.Now().Before(deadline)
}

// An entry is a path of a snapshot, and where its content is stored.
type entry struct {
	path string
	pathInfo
	contentSource
	hasContent bool // contentSource is valid
}

// clockInterval is the number of entries between two checks of the clock.
const clockInterval = 128

// An openDir is a directory being listed. It stays open until its subdirectories are open.
type openDir struct {
	openat.Dir
	rel   string          // its path relative to the workspace
	rules gitignore.Rules // rules for its entries
	users atomic.Int32    // its visit, plus its subdirectories in walk.todo
}

// release closes d once it is not used any more.
func (d *openDir) release() {
	if d.users.Add(-1) == 0 {
		d.Close()
	}
}

// A subdir is a directory that a walk will visit.
type subdir struct {
	parent *openDir
	name   string // in parent
	rel    string // its path relative to the workspace
}

// visitTodo visits directories until none is left and no other goroutine can find one.
func (k *walk) visitTodo() {
	for sub, ok := k.next(); ok; sub, ok = k.next() {
		if h, err := sub.parent.Open(sub.name); err == nil {
			d := &openDir{Dir: h, rel: sub.rel, rules: sub.parent.rules}
			d.users.Store(1)
			k.visit(d)
			d.release()
		} else if !errors.Is(err, fs.ErrNotExist) {
			k.addUncovered(undo.Uncovered{Path: undo.Name(sub.rel), Why: "it cannot be read"})
		}
		sub.parent.release()
		k.visited()
	}
}

// next takes a directory to visit, and waits while other goroutines may find one. Ok is false
// once there are none; otherwise visited must follow.
func (k *walk) next() (sub subdir, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.todo) == 0 && k.visiting > 0 {
		k.todoChanged.Wait()
	}
	if len(k.todo) == 0 {
		return subdir{}, false
	}
	sub, k.todo = k.todo[len(k.todo)-1], k.todo[:len(k.todo)-1]
	k.visiting++
	return sub, true
}

// visited records that the visit of a directory has ended.
func (k *walk) visited() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.visiting--; k.visiting == 0 {
		k.todoChanged.Broadcast()
	}
}

// visit lists the directory d, and adds its subdirectories to todo.
func (k *walk) visit(d *openDir) {
	if k.deadlinePassed() {
		return
	}
	listed, err := d.Entries(nil, 0)
	if err != nil {
		k.addUncovered(undo.Uncovered{Path: undo.Name(d.rel), Why: "it cannot be read"})
		return
	}
	k.addRules(d, listed)
	all := make([]entry, 0, len(listed))
	var below []subdir
	whole, prefix := true, ""
	if d.rel != "." {
		prefix = d.rel + "/"
	}
	for i := range listed {
		name := listed[i].Name
		if name == ".git" {
			continue
		}
		if i%clockInterval == clockInterval-1 && k.deadlinePassed() {
			whole = false
			break
		}
		s, err := statIn(d.Dir, name)
		if err != nil {
			continue // deleted meanwhile
		}
		file := prefix + name
		switch s.kind {
		case undo.Directory:
			if !k.shouldEnter(file, s.fileStat, d.rules) {
				continue
			}
			below = append(below, subdir{d, name, file})
		case undo.File:
			s.ignored = k.inGit && d.rules.Match(file, false)
		}
		all = append(all, entry{path: file, pathInfo: s})
	}
	k.add(d, all, below, whole)
}

// add adds the entries of a directory, and the subdirectories to visit. After maxEntries it adds no
// further directories to visit.
func (k *walk) add(d *openDir, all []entry, below []subdir, whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if whole {
		k.listedDirs[d.rel] = true
	}
	k.byDir = append(k.byDir, all)
	for i := range all {
		k.entries[all[i].path] = &all[i]
	}
	d.users.Add(int32(len(below)))
	k.todo = append(k.todo, below...)
	if len(k.entries) > maxEntries {
		for _, sub := range k.todo {
			k.uncovered = append(k.uncovered, undo.Uncovered{Path: undo.Name(sub.rel), Why: "there are too many files"})
			sub.parent.release()
		}
		k.todo = nil
	}
	k.todoChanged.Broadcast()
}

// shouldEnter reports whether to list a directory; if not, it records why.
func (k *walk) shouldEnter(dir string, s fileStat, rules gitignore.Rules) bool {
	if k.before != nil && k.before.listedDirs[dir] {
		return true
	}
	switch {
	case k.before != nil && k.before.isUnlisted(dir):
		return false
	case s.inode == k.skip.Inode && s.device == k.skip.Device && s.inode != 0:
		return false // parley's own directory
	case k.inGit && rules.Match(dir, true):
		k.addUncovered(undo.Uncovered{Path: undo.Name(dir), Why: ignoredByGit})
		return false
	case s.device != k.device:
		k.addUncovered(undo.Uncovered{Path: undo.Name(dir), Why: "it is on another file system"})
		return false
	}
	return true
}

// ignoredByGit is the reason of an ignored directory.
const ignoredByGit = "git ignores it"

func (k *walk) addUncovered(u undo.Uncovered) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uncovered = append(k.uncovered, u)
}

// addRules adds the ignore rules in a directory to those from above it.
func (k *walk) addRules(d *openDir, listed []openat.Entry) {
	if !k.inGit {
		d.rules = nil
	} else if openat.Has(listed, ".gitignore") {
		d.rules = d.rules.Append(gitignore.Parse(d.rel, gitignore.Text(d.Dir, ".gitignore")))
	}
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
