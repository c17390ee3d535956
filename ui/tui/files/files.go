// Package files knows the names of the files in a directory, for completion.
//
//	names := files.New(directory)
//	defer names.Close()
//	found, more := names.Find("compo", 50)
//
// The first Find starts a walk in the background and answers from what it has
// seen so far; later ones start another when the last is old. The walk goes by
// levels, so that what lies near is known first, leaves out .git and what
// .gitignore and .ignore files say, follows no symbolic link, and is bounded in
// entries, memory and time. Nothing but names and ignore files is read.
package files

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/ui/fuzzy"
)

// The bounds of a walk.
const (
	maxEntries = 200_000
	maxBytes   = 64 << 20 // of all that is kept
	maxTime    = 30 * time.Second
)

// A walk is repeated when somebody asks, but not sooner than this after the
// last one, nor than rest times what that one took.
const (
	fresh = 3 * time.Second
	rest  = 10
)

// A File is a file or a directory. Its path is relative, with slashes.
type File struct {
	Path        string
	IsDirectory bool
}

// Index holds the names of the files in a directory. Its methods may be called from
// several goroutines.
type Index struct {
	Go  func(func()) // starts the walk, for those who watch over goroutines; nil: go
	Now func() time.Time

	folder string
	ctx    context.Context
	cancel context.CancelFunc
	walks  sync.WaitGroup

	mu      sync.Mutex // guards what follows
	list    []entry    // only ever appended to, so that a reader can keep a part
	walked  bool       // list is from a walk that ended
	walking bool
	next    time.Time // when a walk may begin
}

// New makes the index of a directory. It reads nothing yet.
func New(folder string) *Index {
	ctx, cancel := context.WithCancel(context.Background())
	return &Index{Now: time.Now, folder: folder, ctx: ctx, cancel: cancel}
}

// Close ends the walk and waits for it. What was found can still be asked for.
func (x *Index) Close() {
	x.mu.Lock()
	x.cancel() // no walk begins after it
	x.mu.Unlock()
	x.walks.Wait()
}

// Find returns up to limit files that match query, the best first. More says
// that the first walk goes on, and asking again may find more.
//
// A query matches by its letters in their order, whatever their case. First
// come names that are the query or begin with it, then paths that do, then
// those that contain it; short ones before long ones. One that ends with a
// slash lists a directory; an empty one everything, what lies near first.
func (x *Index) Find(query string, limit int) (found []File, more bool) {
	x.refresh()
	x.mu.Lock()
	list, more := x.list, !x.walked && x.walking
	x.mu.Unlock()
	return best(list, query, limit), more
}

// refresh starts a walk if it is time for one.
func (x *Index) refresh() {
	if !x.due() {
		return
	}
	run := func() {
		defer x.walks.Done()
		x.walk()
	}
	if x.Go != nil {
		x.Go(run)
		return
	}
	go run()
}

// due reports whether it is time for a walk, which then counts as begun.
func (x *Index) due() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.walking || x.ctx.Err() != nil || x.Now().Before(x.next) {
		return false
	}
	x.walking = true
	x.walks.Add(1)
	return true
}

// walk reads the directory. The first time, what it finds can be asked for at once;
// later, the old names stay until the new ones are whole.
func (x *Index) walk() {
	began := x.Now()
	var list []entry
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		ended := x.Now()
		if !x.walked || x.ctx.Err() == nil {
			x.list = list
		}
		x.walked, x.walking = true, false
		x.next = ended.Add(max(fresh, rest*ended.Sub(began)))
	}()
	ctx, cancel := context.WithTimeout(x.ctx, maxTime)
	defer cancel()
	list = read(ctx, x.folder, x.publish)
}

func (x *Index) publish(list []entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.walked {
		x.list = list
	}
}

// An entry is a file with what a search wants to know of it.
type entry struct {
	fuzzy.Path
	path   string
	folder bool
	letter uint64 // which occur in Lower
}

func newEntry(path string, folder bool) entry {
	low := strings.ToLower(path) // no copy if it is already
	return entry{
		Path: fuzzy.Path{Lower: low, Base: int32(strings.LastIndexByte(low, '/') + 1), Depth: uint16(strings.Count(low, "/"))},
		path: path, folder: folder, letter: fuzzy.Letters(low),
	}
}

// bytes returns about how much memory e takes.
func (e entry) bytes() int { return 64 + len(e.path) + len(e.Lower) }

// maxPath sets the longest path that is kept; systems have about this limit.
const maxPath = 4096

// speakable reports whether a file of this name can be asked for in a prompt,
// which holds no control characters.
func speakable(name string) bool {
	return utf8.ValidString(name) && strings.IndexFunc(name, unicode.IsControl) < 0
}
