// Package files indexes the names of the files in a directory, for completion.
//
//	names := files.New(directory)
//	defer names.Close()
//	names.Await()
//	found, more := names.Find("compo", 50)
//
// The first Await or Find starts a walk in the background. Find returns the matches found
// so far. Later calls start another walk if the last one is old. The walk goes
// level by level, so that files near the root are known first. It omits .git
// and files ignored by .gitignore and .ignore, follows no symbolic link, and
// has limits on entries, memory and time. It reads only names and ignore files.
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

// Limits of a walk.
const (
	maxEntries = 1_000_000
	maxBytes   = 64 << 20 // of all stored entries
	maxTime    = 30 * time.Second
)

// A Find repeats the walk no sooner than fresh after the last one, and no
// sooner than rest times its duration.
const (
	fresh = 3 * time.Second
	rest  = 10
)

// A File is a file or a directory. Its path is relative, with slashes.
type File struct {
	Path        string
	IsDirectory bool
}

// An Index holds the names of the files in a directory. Its methods may be called
// from several goroutines.
type Index struct {
	Go  func(func()) // starts the walk, for guarded goroutines; nil for a go statement
	Now func() time.Time

	folder string
	ctx    context.Context
	cancel context.CancelFunc
	walks  sync.WaitGroup

	mu      sync.Mutex // guards the following fields
	lists   [][]entry  // append-only, so that a reader can keep a part
	walked  bool       // lists is from a completed walk
	walking bool
	next    time.Time // earliest time of the next walk

	begun chan struct{} // closed by begin
	begin func()        // called once lists has the names in the directory itself
}

// New returns an index of a directory. It reads nothing yet.
func New(folder string) *Index {
	ctx, cancel := context.WithCancel(context.Background())
	begun := make(chan struct{})
	return &Index{Now: time.Now, folder: folder, ctx: ctx, cancel: cancel, begun: begun, begin: sync.OnceFunc(func() { close(begun) })}
}

// Close stops the walk and waits for it. Find still returns the names found.
func (x *Index) Close() {
	x.mu.Lock()
	x.cancel() // no walk begins after it
	x.mu.Unlock()
	x.walks.Wait()
}

// Find returns up to limit files that match query, best first. more reports
// that the first walk is still running, so that a later call may find more.
//
// A query matches if its letters occur in order, ignoring case. Names that equal
// the query or begin with it come first, then paths that do, then those that
// contain it; short ones before long ones. A query that ends with a slash lists
// a directory. An empty query lists everything, files near the root first.
func (x *Index) Find(query string, limit int) (found []File, more bool) {
	x.refresh()
	x.mu.Lock()
	lists, more := x.lists, !x.walked && x.walking
	x.mu.Unlock()
	return best(lists, query, limit), more
}

// Await starts a walk if one is due. It waits until Find knows the names in the directory itself.
func (x *Index) Await() {
	x.refresh()
	select {
	case <-x.begun:
	case <-x.ctx.Done():
	}
}

// refresh starts a walk if one is due.
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

// due reports whether a walk is due. If so, it marks it as running.
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

// walk reads the directory. The first walk publishes names as it finds them. During
// later walks, the old names stay until the new ones are complete.
func (x *Index) walk() {
	began := x.Now()
	var lists [][]entry
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		ended := x.Now()
		if !x.walked || x.ctx.Err() == nil {
			x.lists = lists
		}
		x.walked, x.walking = true, false
		x.next = ended.Add(max(fresh, rest*ended.Sub(began)))
	}()
	ctx, cancel := context.WithTimeout(x.ctx, maxTime)
	defer cancel()
	defer x.begin() // even if the directory cannot be read
	lists = read(ctx, x.folder, x.publish)
}

func (x *Index) publish(lists [][]entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.walked {
		x.lists = lists
		x.begin()
	}
}

// An entry is a file with data for searches.
type entry struct {
	fuzzy.Path
	path   string
	folder bool
	letter uint64 // bit set of the letters in Lower; see fuzzy.Letters
}

func newEntry(path string, folder bool) entry {
	low := strings.ToLower(path) // does not copy a lower-case path
	return entry{
		Path: fuzzy.Path{Lower: low, Base: int32(strings.LastIndexByte(low, '/') + 1), Depth: uint16(strings.Count(low, "/"))},
		path: path, folder: folder, letter: fuzzy.Letters(low),
	}
}

// bytes returns the approximate memory use of e.
func (e entry) bytes() int { return 64 + len(e.path) + len(e.Lower) }

// maxPath is the maximum length of a stored path, about the limit of systems.
const maxPath = 4096

// speakable reports whether a prompt, which contains no control characters, can
// name a file with this name.
func speakable(name string) bool {
	return utf8.ValidString(name) && strings.IndexFunc(name, unicode.IsControl) < 0
}
