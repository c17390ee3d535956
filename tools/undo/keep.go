package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// smallFile is up to which size, in bytes, files are read in the order in which they were listed,
// which saves opening their folders: larger ones come after them, by size.
const smallFile = 64 << 10

// keep finds the contents of the files that were seen: in git, or else in the store, the small
// ones first. What is not kept when ctx ends is named.
func (w *workspace) keep(ctx context.Context, l *look) {
	w.mu.Lock()
	w.looks++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.looks--; w.looks == 0 {
			w.idle.Broadcast()
		}
	}()
	if l.git == nil {
		l.git = openGit(w.dir)
	}
	l.unkept = map[string]Uncovered{}
	r := reader{workspace: w, look: l, git: l.git, ctx: ctx}
	r.until, _ = ctx.Deadline()
	late := r.findKnown()
	r.run()
	if n := r.late() + late; n > 0 && l.partial == "" {
		l.partial = fmt.Sprintf("%d of its %d files were not reached in time", n, len(l.found))
	}
}

// readAhead does so for no call yet: what it reads is known to the next look. It gives way to those
// that a call waits for, and leaves l as it is, which may be a call's meanwhile.
func (w *workspace) readAhead(ctx context.Context, l *look) {
	r := reader{workspace: w, look: l, git: openGit(w.dir), ctx: ctx, ahead: true}
	defer r.git.close()
	r.until, _ = ctx.Deadline()
	r.findKnown()
	r.run()
}

// A reader reads files of a look with several goroutines.
type reader struct {
	*workspace
	look  *look
	git   *gitObjects
	todo  []*entry
	ctx   context.Context
	until time.Time    // as ctx says; zero: any time
	ahead bool         // no call waits for it: look is only read
	next  atomic.Int64 // of todo
	done  atomic.Int64 // of todo, how many
	total atomic.Int64 // bytes that are kept for this look
	mu    sync.Mutex   // guards what is not kept
}

// late returns how many files there was no time for.
func (r *reader) late() int { return len(r.todo) - int(r.done.Load()) }

// findKnown finds the files whose content is kept already, and puts the others in the order in
// which they are to be read. It returns how many there was no time for.
func (r *reader) findKnown() (late int) {
	var large []*entry
	var small, total int64
	now, n := time.Now(), 0
	r.workspace.mu.Lock()
	for _, listed := range r.look.listed {
		if isLate(r.ctx, r.until) {
			break
		}
		n += len(listed)
		for i := range listed {
			e := &listed[i]
			if e.kind == Other {
				r.leave(e, Uncovered{Path: Name(e.file), Why: "it is no regular file"})
			}
			if e.kind != File {
				continue
			}
			switch from, ok := r.findSource(e, now); {
			case ok:
				r.setSource(e, from)
				if from.sum != "" {
					total += e.size
				}
			case e.size > smallFile:
				large = append(large, e)
			default:
				r.todo, small = append(r.todo, e), small+e.size
			}
		}
	}
	r.workspace.mu.Unlock()
	bySize := func(a, b *entry) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.file, b.file)) }
	if small+total > MaxBytes && !isLate(r.ctx, r.until) {
		slices.SortFunc(r.todo, bySize) // not all of them will be kept
	}
	slices.SortFunc(large, bySize)
	r.todo = append(r.todo, large...)
	r.total.Store(total)
	return len(r.look.found) - n
}

// setSource notes where the content of a file is kept.
func (r *reader) setSource(e *entry, from source) {
	if !r.ahead {
		e.source, e.kept = from, true
	}
}

// leave notes that the content of a file is not kept.
func (r *reader) leave(e *entry, u Uncovered) {
	if !r.ahead {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.look.unkept[e.file] = u
	}
}

// findSource returns where the content of a file is kept, if it was read as it is now. The workspace
// is locked.
func (r *reader) findSource(e *entry, now time.Time) (from source, ok bool) {
	k := r.known[e.file]
	if k == nil || !k.settled || k.stamp != e.stamp || !r.isKept(k, now) {
		return source{}, false
	}
	return k.source, true
}

// chunk is how many files one goroutine takes at a time: they are often in one folder.
const chunk = 16

func (r *reader) run() {
	if r.ahead { // who waits sees the end of ctx
		defer context.AfterFunc(r.ctx, func() {
			r.workspace.mu.Lock()
			defer r.workspace.mu.Unlock()
			r.idle.Broadcast()
		})()
	}
	var all sync.WaitGroup
	for range min((len(r.todo)+chunk-1)/chunk, max(runtime.GOMAXPROCS(0), 2)) {
		all.Go(func() {
			b := bench{reader: r}
			defer b.close()
			for {
				end := int(r.next.Add(chunk))
				if end-chunk >= len(r.todo) {
					return
				}
				for _, e := range r.todo[end-chunk : min(end, len(r.todo))] {
					if r.giveWay(); isLate(r.ctx, r.until) {
						return
					}
					b.one(e)
					r.done.Add(1)
				}
			}
		})
	}
	all.Wait()
}

// giveWay waits until no call waits for a look, for who reads ahead.
func (r *reader) giveWay() {
	if !r.ahead {
		return
	}
	r.workspace.mu.Lock()
	defer r.workspace.mu.Unlock()
	for r.looks > 0 && r.ctx.Err() == nil {
		r.idle.Wait()
	}
}

// A bench is what one goroutine of a reader works with. The zero value with a reader is empty.
type bench struct {
	*reader
	dir  string // the folder of the last file, in the workspace
	open bool   // it is folder
	folder
	buf []byte // for the content of files
}

func (b *bench) close() {
	if b.open {
		b.folder.close()
		b.open = false
	}
}

// one finds or keeps the content of one file.
func (b *bench) one(e *entry) {
	from, why := source{}, ""
	switch {
	case e.ignored && e.size >= maxIgnored:
		why = "git ignores it, and it is not small"
	case e.size > MaxBytes:
		why = "it is larger than 64 MB"
	}
	if why == "" {
		b.workspace.mu.Lock()
		known, ok := b.findSource(e, time.Now()) // another look was faster
		b.workspace.mu.Unlock()
		if ok {
			b.setSource(e, known)
			if known.sum != "" {
				b.total.Add(e.size)
			}
			return
		}
		from, why = b.find(e)
	}
	if why != "" {
		b.leave(e, Uncovered{Path: Name(e.file), Size: e.size, Why: why})
		return
	}
	b.setSource(e, from)
	k := &known{stamp: e.stamp, source: from, settled: e.ctime < b.look.began-clockError, checked: time.Now()}
	b.workspace.mu.Lock()
	b.known[e.file] = k
	b.workspace.mu.Unlock()
}

// find reads a file that has not changed since it was seen, and keeps its content if git does
// not hold it; or says why it cannot.
func (b *bench) find(e *entry) (from source, why string) {
	content, now, err := b.content(e)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return from, "it cannot be read"
	case err != nil || now != e.stamp:
		return from, "it changed while it was looked at"
	}
	if id := blobOf(content); b.git.has(id) {
		return source{git: id}, ""
	}
	if b.total.Add(e.size) > MaxBytes {
		return from, "more than 64 MB in all"
	}
	if from.sum, err = b.store.put(content); err != nil {
		return from, "it could not be kept: " + err.Error()
	}
	return from, ""
}

// content reads a file of the look, for as long as nothing else is read.
func (b *bench) content(e *entry) ([]byte, stamp, error) {
	if path.IsAbs(e.file) {
		return readFile(b.workspace, e.file, e.size)
	}
	dir, name := path.Split(e.file)
	if err := b.enter(dir); err != nil {
		return nil, stamp{}, err
	}
	content, s, err := b.folder.read(name, e.size, b.buf)
	if cap(content) <= 1<<20 {
		b.buf = content
	}
	return content, s, err
}

// enter opens a folder of the workspace, and follows no link.
func (b *bench) enter(dir string) error {
	if b.open && b.dir == dir {
		return nil
	}
	b.close()
	f, err := b.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	at, err := folderOf(f).open(".")
	for name := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if err != nil || name == "" {
			break
		}
		above := at
		at, err = above.open(name)
		above.close()
	}
	b.folder, b.dir, b.open = at, dir, err == nil
	return err
}
