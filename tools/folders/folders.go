// Package folders remembers the folders of a workspace, so that no caller has to walk it.
//
//	Open ──► one walk, in the background ──► the list ◄── inotify; stat of folders without a watch
//	                                          │
//	      Holding · Sync, Since · Changed ◄──┘
//
// The kernel queues events within the calls that cause them. After a command has ended, [List.Sync]
// therefore takes in everything that the command did. A folder is first watched and then listed, so that
// nothing in it is missed. After an overflow of the queue everything is listed again.
//
// Links are not followed. Insides of .git folders are left out unless a caller asks with [List.Enter]. A
// watch costs about 1 KB of kernel memory, mostly for an inode that is cached anyway. At most half of the
// watches of the user, and at most 100,000, are taken. Folders without a watch, and those whose file
// system other machines may change, are looked at by Sync, and while [List.Changed] has subscribers. On
// systems other than Linux no folder has a watch.
//
// Changes by mmap are seen once the file is closed and unmapped, and changes by another hard link only
// in the folder of that link.
package folders

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/tools/openat"
)

// gather is how long events are awaited after the first one, so that many are taken in at once.
const gather = 5 * time.Millisecond

// Bounds of a list.
const (
	maxLevels  = 64
	maxFolders = 200_000
	maxWatches = 100_000
	maxChanged = 100_000 // names that Since can return
)

// A List holds the folders of a workspace. It is safe for concurrent use.
type List struct {
	options
	dir  string
	refs int           // guarded by lists
	busy chan struct{} // held while events are taken in and subscribers are called
	full chan struct{} // closed after the first walk
	over chan struct{} // closed by Close
	done chan struct{} // closed after the goroutine that waits for events has ended

	mu sync.Mutex // guards the following
	tree
	sys   system
	top   openat.Dir // the workspace
	noTop error      // why it could not be opened
	above struct {   // the folder that openNode opened last
		dir
		node int32 // none: closed
	}
	closed      bool
	isFull      bool                  // full is closed
	cut         bool                  // folders were left out
	byWatch     map[int32]int32       // folders by watch
	stamps      map[int32]openat.Info // of folders that may change unseen, when they were listed; zero: not known
	todo        []int32               // folders to list
	rescan      int32                 // the nodes from here on have to be listed again; none: no node
	events      []event               // not yet handled
	moving      map[uint32]place      // by cookie: folders that were moved away, but have not yet arrived
	marks       Mark                  // the last mark returned by Sync
	missed      Mark                  // changes after this mark or earlier ones may be unknown
	changes     map[string]map[string]Mark
	changeCount int
	subscribers []*func(string)
	appeared    []string // names to report
	leftOut     []string
	polling     bool
}

// An options holds what tests replace.
type options struct {
	watches int // limit
	folders int // limit
	queue   int // limit of events in memory
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
}

// A dir is an open folder with its metadata, which change with the names in it.
type dir struct {
	openat.Dir
	openat.Info
}

// A place is a folder by its node, at a path.
type place struct {
	node, parent int32
	name         string
}

// lists holds the open lists by the path of their workspace.
var lists struct {
	sync.Mutex
	byDir map[string]*List
}

// Open returns the list of the workspace dir, shared by all callers in this process. The first walk runs in
// the background. Close must follow.
func Open(dir string) *List {
	return open(dir, options{watches: min(systemWatches()/2, maxWatches), folders: maxFolders, queue: 200_000, now: time.Now, after: time.After})
}

func open(dir string, o options) *List {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	lists.Lock()
	defer lists.Unlock()
	l := lists.byDir[dir]
	if l == nil {
		l = &List{options: o, dir: dir, busy: make(chan struct{}, 1), full: make(chan struct{}), over: make(chan struct{}), done: make(chan struct{}), tree: newTree(), sys: openSystem(), todo: []int32{0}, rescan: none,
			byWatch: map[int32]int32{}, stamps: map[int32]openat.Info{}, moving: map[uint32]place{}, changes: map[string]map[string]Mark{}}
		l.above.node = none
		l.top, l.noTop = openat.OpenPath(dir)
		if lists.byDir == nil {
			lists.byDir = map[string]*List{}
		}
		lists.byDir[dir] = l
		go l.run()
	}
	l.refs++
	return l
}

// Close releases the list. The last Close ends it.
func (l *List) Close() {
	lists.Lock()
	defer lists.Unlock()
	if l.refs--; l.refs > 0 {
		return
	}
	delete(lists.byDir, l.dir)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	close(l.over)
	l.busy <- struct{}{}
	l.setAbove(none, dir{})
	l.sys.close()
	if l.noTop == nil {
		l.top.Close()
	}
	<-l.busy
	<-l.done
}

// run takes in events until the list is closed.
func (l *List) run() {
	defer close(l.done)
	for {
		l.busy <- struct{}{}
		l.takeIn()
		<-l.busy
		if !l.sys.wait() {
			return
		}
		time.Sleep(gather)
	}
}

// errClosed reports a list that is closed.
var errClosed = errors.New("the list of folders is closed")

// wait waits for the first walk.
func (l *List) wait(ctx context.Context) error {
	select {
	case <-l.full:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.over:
		return errClosed
	}
}

// A Mark is a moment in the history of a list. The zero value is before all others.
type Mark uint32

// Sync takes in everything that happened before it was called, and returns a mark for Since. Subscribers of
// Changed were called before it returns. It must not be called by them.
func (l *List) Sync(ctx context.Context) (Mark, error) {
	if err := l.wait(ctx); err != nil {
		return 0, err
	}
	select {
	case l.busy <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-l.busy }()
	l.poll()
	l.takeIn()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, errClosed
	}
	l.marks++
	return l.marks, nil
}

// Since returns the names that were created, written, moved, deleted, or whose attributes were changed since m,
// by folder; "." is the workspace. The insides of a folder that appeared since m may be left out. Unwatched are
// folders whose files may have changed unseen. If ok is false, that holds for all folders.
func (l *List) Since(m Mark) (changed map[string][]string, unwatched []string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = map[string][]string{}
	for folder, names := range l.changes {
		for name, at := range names {
			if at >= m {
				changed[folder] = append(changed[folder], name)
			}
		}
	}
	for n := range l.stamps {
		unwatched = append(unwatched, l.path(n))
	}
	return changed, unwatched, m > l.missed && !l.cut && !l.closed
}

// note records a change of a name in a folder.
func (l *List) note(n int32, name string) {
	if l.nodes[n].born >= l.marks {
		return // Since returns the folder itself, or one that it is in
	}
	if l.changeCount >= maxChanged {
		l.changes, l.changeCount, l.missed = map[string]map[string]Mark{}, 0, l.marks
	}
	path := l.path(n)
	names := l.changes[path]
	if names == nil {
		names = map[string]Mark{}
		l.changes[path] = names
	}
	if names[name] == 0 {
		l.changeCount++
	}
	names[name] = l.marks
}

// Changed calls f for each name that is created, moved, written or deleted, or whose attributes change, and for each
// name in a folder that appears, with its path relative to the workspace, until stop is called. After an overflow of
// events, and in a folder without a watch that has changed, f is also called for names that have not changed. F is
// called by one goroutine at a time, soon after the event; it must not call Sync, Close or stop.
func (l *List) Changed(f func(path string)) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &f
	l.subscribers = append(slices.Clone(l.subscribers), s)
	l.startPolling()
	return func() {
		l.busy <- struct{}{}
		defer func() { <-l.busy }()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.subscribers = slices.DeleteFunc(slices.Clone(l.subscribers), func(t *func(string)) bool { return s == t })
	}
}

// Holding returns the folders that have, or had, a .git or a HEAD in them: the names that mark a repository.
func (l *List) Holding(ctx context.Context) (folders []string, err error) {
	_, err = l.Sync(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.nodes {
		if l.nodes[i].flags&holds != 0 && l.nodes[i].parent != free {
			folders = append(folders, l.path(int32(i)))
		}
	}
	slices.Sort(folders)
	return folders, err
}

// LeftOut returns folders that were left out because of their number or depth, at most 100 of them.
func (l *List) LeftOut() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.leftOut)
}

// report passes the names that appeared to the subscribers. It unlocks the list meanwhile.
func (l *List) report() {
	appeared, subscribers := l.appeared, l.subscribers
	l.appeared = nil
	l.mu.Unlock()
	defer l.mu.Lock()
	for _, a := range appeared {
		for _, f := range subscribers {
			(*f)(a)
		}
	}
}

// Enter lists and watches a folder that is in a .git folder or is one, with the folders in it, as long as it
// exists. Later calls do nothing until then. It may be called by a subscriber of Changed.
func (l *List) Enter(folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.makePath(folder); n > 0 && (l.nodes[n].flags&leaf != 0 || l.nodes[n].flags&inGit == 0) {
		l.nodes[n].flags = l.nodes[n].flags&^leaf | fresh | inGit
		if l.todo = append(l.todo, n); len(l.todo) == 1 { // otherwise the others are about to be listed
			go func() { _, _ = l.Sync(context.Background()) }()
		}
	}
}

// startPolling looks at the folders without a watch as long as there are any, and subscribers.
func (l *List) startPolling() {
	if l.polling || len(l.subscribers) == 0 || l.closed || len(l.stamps) == 0 {
		return
	}
	l.polling = true
	go func() {
		for more := true; more; {
			began := l.now()
			l.busy <- struct{}{}
			l.poll()
			l.takeIn()
			<-l.busy
			select {
			case <-l.after(max(19*l.now().Sub(began), 10*time.Millisecond)): // at most 5 % of a CPU
			case <-l.over:
			}
			l.mu.Lock()
			more = len(l.subscribers) > 0 && !l.closed && len(l.stamps) > 0
			l.polling = more
			l.mu.Unlock()
		}
	}()
}
