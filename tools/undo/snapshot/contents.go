package snapshot

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

	"parley/tools/openat"
	"parley/tools/undo"
)

// smallFile is the size, in bytes, up to which files are read in listing order, which saves
// reopening their directories. Larger files follow, sorted by size.
const smallFile = 64 << 10

// storeContents ensures that the content of each file of l is in git or in the store, small
// files first, until ctx ends. It sets l.unstored, and l.partial if it did not get to all
// files.
func (w *workspace) storeContents(ctx context.Context, l *snapshot) {
	if l.git == nil {
		l.git = openGit(w.dir)
	}
	l.unstored = map[string]undo.Uncovered{}
	r := contentReader{workspace: w, snapshot: l, git: l.git, ctx: ctx}
	r.deadline, _ = ctx.Deadline()
	late := r.findStored()
	r.run()
	if n := r.missed() + late; n > 0 && l.partial == "" {
		l.partial = fmt.Sprintf("%d of its %d files were not reached in time", n, len(l.entries))
	}
}

// A contentReader reads the files of a snapshot with several goroutines.
type contentReader struct {
	*workspace
	snapshot *snapshot
	git      *gitObjects
	todo     []*entry
	ctx      context.Context
	deadline time.Time    // of ctx; zero if none
	next     atomic.Int64 // index in todo
	done     atomic.Int64 // number of files of todo done
	total    atomic.Int64 // bytes stored for this snapshot
	mu       sync.Mutex   // guards snapshot.unstored
}

// missed returns the number of files not read in time.
func (r *contentReader) missed() int { return len(r.todo) - int(r.done.Load()) }

// findStored records where the content of files is already stored, and sorts the others into todo.
// It returns the number of files not examined in time.
func (r *contentReader) findStored() (late int) {
	var large []*entry
	var small, total int64
	now, n := time.Now(), 0
	r.workspace.mu.Lock()
	for _, listed := range r.snapshot.byDir {
		if deadlinePassed(r.ctx, r.deadline) {
			break
		}
		n += len(listed)
		for i := range listed {
			e := &listed[i]
			if e.kind == undo.Other {
				r.setUnstored(e, undo.Uncovered{Path: undo.Name(e.path), Why: "it is no regular file"})
			}
			if e.kind != undo.File {
				continue
			}
			switch from, ok := r.cachedSource(e, now); {
			case ok:
				r.setStored(e, from)
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
	bySize := func(a, b *entry) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.path, b.path)) }
	if small+total > MaxBytes && !deadlinePassed(r.ctx, r.deadline) {
		slices.SortFunc(r.todo, bySize) // if MaxBytes is too small for all of them
	}
	slices.SortFunc(large, bySize)
	r.todo = append(r.todo, large...)
	r.total.Store(total)
	return len(r.snapshot.entries) - n
}

// setStored records where the content of a file is stored.
func (r *contentReader) setStored(e *entry, from contentSource) {
	e.contentSource, e.hasContent = from, true
}

// setUnstored records that the content of a file is not stored.
func (r *contentReader) setUnstored(e *entry, u undo.Uncovered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snapshot.unstored[e.path] = u
}

// cachedSource returns where the content of e is stored, if e has not changed since it was read.
// The caller locks the workspace.
func (r *contentReader) cachedSource(e *entry, now time.Time) (from contentSource, ok bool) {
	k := r.fileCache[e.path]
	if k == nil || !k.settled || k.fileStat != e.fileStat || !r.isStored(k, now) {
		return contentSource{}, false
	}
	return k.contentSource, true
}

// chunkSize is the number of files that one goroutine takes at a time: they often share a directory.
const chunkSize = 16

func (r *contentReader) run() {
	var all sync.WaitGroup
	for range min((len(r.todo)+chunkSize-1)/chunkSize, max(runtime.GOMAXPROCS(0), 2)) {
		all.Go(func() {
			b := readWorker{contentReader: r}
			defer b.close()
			for {
				end := int(r.next.Add(chunkSize))
				if end-chunkSize >= len(r.todo) {
					return
				}
				for _, e := range r.todo[end-chunkSize : min(end, len(r.todo))] {
					if deadlinePassed(r.ctx, r.deadline) {
						return
					}
					b.process(e)
					r.done.Add(1)
				}
			}
		})
	}
	all.Wait()
}

// A readWorker holds the open directory and the buffer of one goroutine of a contentReader.
type readWorker struct {
	*contentReader
	dir  string // directory of the last file, relative to the workspace
	open bool   // Dir is open
	openat.Dir
	buf []byte // for the content of files
}

func (b *readWorker) close() {
	if b.open {
		b.Dir.Close()
		b.open = false
	}
}

// process stores the content of one file, or records why it could not.
func (b *readWorker) process(e *entry) {
	from, why := contentSource{}, ""
	switch {
	case e.ignored && e.size >= maxIgnored:
		why = "git ignores it, and it is not small"
	case e.size > MaxBytes:
		why = "it is larger than 64 MB"
	}
	if why == "" {
		b.workspace.mu.Lock()
		known, ok := b.cachedSource(e, time.Now()) // another snapshot may have stored it
		b.workspace.mu.Unlock()
		if ok {
			b.setStored(e, known)
			if known.sum != "" {
				b.total.Add(e.size)
			}
			return
		}
		from, why = b.locate(e)
	}
	if why != "" {
		b.setUnstored(e, undo.Uncovered{Path: undo.Name(e.path), Size: e.size, Why: why})
		return
	}
	b.setStored(e, from)
	k := &cachedFile{fileStat: e.fileStat, contentSource: from, settled: e.ctime < b.snapshot.began-clockError, checked: time.Now()}
	b.workspace.mu.Lock()
	b.fileCache[e.path] = k
	b.workspace.mu.Unlock()
}

// locate reads a file that has not changed since the snapshot, and stores its content unless
// git has it. It returns where the content is, or why it is not stored.
func (b *readWorker) locate(e *entry) (from contentSource, why string) {
	content, now, err := b.read(e)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return from, "it cannot be read"
	case err != nil || now != e.fileStat:
		return from, "it changed while it was looked at"
	}
	if id := blobOf(content); b.git.has(id) {
		return contentSource{git: id}, ""
	}
	if b.total.Add(e.size) > MaxBytes {
		return from, "more than 64 MB in all"
	}
	if from.sum, err = b.store.put(content); err != nil {
		return from, "it could not be kept: " + err.Error()
	}
	return from, ""
}

// read returns the content of a file of the snapshot, which is valid until the next read.
func (b *readWorker) read(e *entry) ([]byte, fileStat, error) {
	if path.IsAbs(e.path) {
		return b.readFile(e.path, e.size)
	}
	dir, name := path.Split(e.path)
	if err := b.openDir(dir); err != nil {
		return nil, fileStat{}, err
	}
	content, s, err := readIn(b.Dir, name, e.size, b.buf)
	if cap(content) <= 1<<20 {
		b.buf = content
	}
	return content, s, err
}

// openDir opens a directory of the workspace without following links, unless it is open already.
func (b *readWorker) openDir(dir string) error {
	if b.open && b.dir == dir {
		return nil
	}
	b.close()
	at, err := openat.Open(b.root, cmp.Or(strings.TrimSuffix(dir, "/"), "."))
	b.Dir, b.dir, b.open = at, dir, err == nil
	return err
}
