package folders

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"parley/tools/openat"
	"parley/tools/places"
)

// An event is a change of a name in a watched folder.
type event struct {
	kind   eventKind
	watch  int32
	cookie uint32 // joins movedAway and movedIn
	name   string
	isDir  bool
}

type eventKind uint8

const (
	changed eventKind = iota // its content or attributes
	created
	deleted
	movedAway
	movedIn
	unwatched // the watch has ended
	overflow  // events were lost
)

// takeIn takes in all events, and lists the folders that are due. The caller holds busy.
func (l *List) takeIn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for turn := 0; !l.closed; turn++ {
		if len(l.todo) == 0 || turn%32 == 0 { // the queue holds 16,384 events
			l.events = l.sys.read(l.events)
		}
		switch {
		case len(l.events) > l.queue:
			l.events = nil
			l.overflowed()
		case len(l.todo) > 0:
			n := l.todo[len(l.todo)-1]
			l.todo = l.todo[:len(l.todo)-1]
			l.list(n, false)
		case len(l.events) > 0:
			some := min(len(l.events), 64)
			for i := 0; i < some && len(l.todo) == 0; i++ {
				l.handle(l.events[0])
				l.events = l.events[1:]
			}
		case l.rescan != none:
			l.list(l.rescan, false)
			if l.rescan++; int(l.rescan) >= len(l.nodes) {
				l.rescan = none
			}
		case len(l.moving) > 0: // to somewhere outside of the workspace
			for _, from := range l.moving {
				l.todo = append(l.todo, from.node)
			}
			clear(l.moving)
		case len(l.appeared) > 0:
		default:
			l.events = nil
			if !l.isFull {
				l.isFull = true
				close(l.full)
			}
			l.startPolling()
			return
		}
		l.report()
	}
}

// none is the rescan of a list that needs none.
const none = -1

// overflowed has everything listed again.
func (l *List) overflowed() {
	l.missed, l.rescan = l.marks, 0
	for i := range l.nodes {
		l.nodes[i].flags |= fresh
	}
}

func (l *List) handle(e event) {
	n, known := l.byWatch[e.watch]
	switch {
	case e.kind == overflow:
		l.overflowed()
		return
	case !known:
		return
	case e.kind == unwatched:
		l.unwatch(n)
		l.todo = append(l.todo, n)
		return
	case e.name == "":
		return
	}
	l.note(n, e.name)
	l.appear(n, e.name)
	if !e.isDir {
		return
	}
	// The list may already be ahead of the event. So the event only tells which name to look at.
	c := l.find(n, e.name)
	from, known := l.moving[e.cookie]
	switch {
	case e.kind == movedAway && c != 0:
		l.moving[e.cookie] = place{c, n, e.name} // looked at when it arrives, or when no event is left
	case e.kind == movedIn && known && c == 0 && l.find(from.parent, from.name) == from.node && !l.isIn(n, from.node):
		delete(l.moving, e.cookie)
		l.detach(from.node)
		l.attach(from.node, n, e.name)
		l.setLeaf(from.node)
		l.renew(from.node)
		l.found(from.parent, from.name, true) // another folder may have its name
	case c != 0:
		l.todo = append(l.todo, c)
	case e.kind == created || e.kind == movedIn:
		l.found(n, e.name, true)
	}
}

// renew lists a folder again whose path has changed, and those in it, if there are subscribers.
func (l *List) renew(n int32) {
	l.nodes[n].flags |= fresh
	l.todo = append(l.todo, n)
	if len(l.subscribers) > 0 {
		for c := l.nodes[n].child; c != 0; c = l.nodes[c].next {
			l.renew(c)
		}
	}
}

// appear records that a name of a folder is to be reported, and whether it makes a repository of it.
func (l *List) appear(n int32, name string) {
	l.hold(n, name)
	if len(l.subscribers) == 0 {
		return
	}
	if n != 0 {
		name = l.path(n) + "/" + name
	}
	l.appeared = append(l.appeared, name)
}

// hold records that a folder has a name in it, if that makes a repository of it.
func (l *List) hold(n int32, name string) {
	if name == ".git" || name == "HEAD" {
		l.nodes[n].flags |= holds
	}
}

// found adds a folder, which is listed next.
func (l *List) found(parent int32, name string, isFresh bool) {
	if len(l.nodes)-len(l.unused) > l.folders || l.level(parent) >= maxLevels {
		if l.cut = true; len(l.leftOut) < 100 {
			l.leftOut = append(l.leftOut, l.path(parent)+"/"+name)
		}
		return
	}
	n := l.add(parent, name, l.marks)
	l.setLeaf(n)
	l.todo = append(l.todo, n)
	if isFresh {
		l.nodes[n].flags |= fresh
	}
}

// stores are the folders of a git directory that hold only data.
var stores = []string{"objects", "refs", "logs", "lfs"}

// setLeaf sets whether a folder is entered.
func (l *List) setLeaf(n int32) {
	at := &l.nodes[n]
	at.flags &^= leaf | inGit
	at.flags |= l.nodes[at.parent].flags & inGit
	if at.name == ".git" || at.flags&inGit != 0 && slices.Contains(stores, at.name) {
		at.flags |= leaf
	}
}

// drop removes a folder and those in it; 0 is none.
func (l *List) drop(n int32) {
	if n != 0 {
		l.remove(n, l.forget)
	}
}

// forget ends the watch of a folder.
func (l *List) forget(n int32) {
	if l.nodes[n].watch != 0 {
		l.sys.remove(l.nodes[n].watch)
	}
	l.unwatch(n)
	delete(l.stamps, n)
	if l.above.node == n {
		l.setAbove(none, dir{})
	}
}

// unwatch records that a folder has no watch.
func (l *List) unwatch(n int32) {
	if wd := l.nodes[n].watch; wd != 0 {
		delete(l.byWatch, wd)
		l.nodes[n].watch = 0
	}
}

// poll lists the folders that may change unseen and have changed. The caller holds busy.
func (l *List) poll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range slices.Collect(maps.Keys(l.stamps)) {
		if _, still := l.stamps[n]; still && !l.closed {
			l.list(n, true)
		}
		if i%256 == 255 {
			l.report()
		}
	}
}

// errUnsure reports that the folder above has to be looked at first.
var errUnsure = errors.New("the folder above has moved")

// openNode opens a folder in the one above, which must be the same as when it was listed: otherwise both are
// due. So whether the folder exists does not depend on the folders above it.
func (l *List) openNode(n int32) (dir, error) {
	if n == 0 {
		return l.open(l.top, ".")
	}
	parent := l.nodes[n].parent
	if l.above.node != parent {
		d, err := l.open(l.top, l.path(parent))
		if err == nil && d.Inode != l.nodes[parent].inode && parent != 0 {
			d.Close()
			err = fs.ErrNotExist
		}
		if isGone(err) {
			l.todo = append(l.todo, n, parent)
			return dir{}, errUnsure
		}
		if err != nil {
			return dir{}, err
		}
		l.setAbove(parent, d)
	}
	return l.open(l.above.Dir, l.nodes[n].name)
}

// open opens a folder in at.
func (l *List) open(at openat.Dir, path string) (d dir, err error) {
	if err = l.noTop; err != nil {
		return d, err
	}
	if d.Dir, err = at.Open(path); err != nil {
		return d, err
	}
	if d.Info, err = d.Stat("."); err != nil {
		d.Close()
	}
	return d, err
}

// setAbove keeps a folder open, for the folders in it.
func (l *List) setAbove(n int32, d dir) {
	if l.above.node >= 0 {
		l.above.Close()
	}
	l.above.node, l.above.dir = n, d
}

func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, places.ErrNotDirectory)
}

// list watches and lists a folder; with ifChanged only if it has changed since it was last listed.
func (l *List) list(n int32, ifChanged bool) {
	if l.nodes[n].parent == free {
		return
	}
	d, err := l.openNode(n)
	if errors.Is(err, fs.ErrPermission) && n != 0 && l.nodes[n].born > 0 && len(l.subscribers) > 0 && l.above.node == l.nodes[n].parent && makeReadable(l.above.Dir, l.nodes[n].name) {
		d, err = l.openNode(n)
	}
	l.cut = l.cut || err != nil && n == 0
	switch {
	case err == errUnsure:
		return
	case isGone(err):
		l.drop(n)
		return
	case err != nil:
		l.forget(n)
		l.stamps[n] = openat.Info{}
		return
	}
	l.listOpen(n, d, ifChanged)
	if l.nodes[n].child != 0 {
		l.setAbove(n, d)
	} else {
		d.Close()
	}
}

func (l *List) listOpen(n int32, d dir, ifChanged bool) {
	before, known := l.stamps[n]
	if was := l.nodes[n].inode; was != 0 && was != d.Inode {
		l.replaced(n)
	}
	l.nodes[n].inode = d.Inode
	if l.nodes[n].flags&leaf != 0 {
		return
	}
	if known && before != d.Info {
		l.nodes[n].flags |= fresh
	} else if ifChanged {
		return
	}
	if l.watch(n, d); l.nodes[n].parent == free {
		return
	}
	at := &l.nodes[n]
	isFresh := at.flags&fresh != 0
	at.flags &^= fresh
	if delete(l.stamps, n); at.watch == 0 || l.sys.isShared(d) {
		if max(d.Modified, d.Changed) >= l.now().Add(-settles).UnixNano() {
			d.Info = openat.Info{}
		}
		l.stamps[n] = d.Info
	}
	for c := at.child; c != 0; c = l.nodes[c].next {
		l.nodes[c].flags &^= present
	}
	listed, err := d.Entries(nil, 0)
	for _, e := range listed {
		name, isDir := e.Name, e.IsDir()
		l.hold(n, name)
		c := int32(0)
		if isDir {
			c = l.find(n, name)
		}
		if known && c != 0 {
			l.todo = append(l.todo, c) // no event tells that it was replaced
		}
		if isFresh || isDir && c == 0 && l.isFull {
			l.appear(n, name)
		}
		if isDir && c == 0 {
			l.found(n, name, isFresh || l.isFull)
			c = l.find(n, name)
		}
		if c != 0 {
			l.nodes[c].flags |= present
		}
	}
	if err != nil {
		l.forget(n)
		l.stamps[n] = openat.Info{}
		return
	}
	for c := l.nodes[n].child; c != 0; {
		gone := c
		if c = l.nodes[c].next; l.nodes[gone].flags&present == 0 {
			l.drop(gone)
		}
	}
}

// replaced forgets a folder whose place another one has taken.
func (l *List) replaced(n int32) {
	for l.nodes[n].child != 0 {
		l.drop(l.nodes[n].child)
	}
	l.forget(n)
	l.nodes[n].inode = 0
	l.nodes[n].flags |= fresh
}

// watch watches the folder n, which is open as d.
func (l *List) watch(n int32, d dir) {
	for range 2 {
		at := &l.nodes[n]
		if at.watch == 0 && len(l.byWatch) >= l.watches {
			return
		}
		wd, err := l.sys.add(d)
		if err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				l.watches = len(l.byWatch)
			}
			l.forget(n)
			return
		}
		if wd == at.watch {
			return
		}
		if at.watch != 0 {
			l.replaced(n)
			at.inode = d.Inode
		}
		owner, taken := l.byWatch[wd]
		if !taken {
			if _, unseen := l.stamps[n]; unseen {
				l.missed = l.marks
			}
			at.watch, l.byWatch[wd] = wd, n
			return
		}
		other, err := l.openNode(owner)
		if err == nil {
			other.Close()
		}
		if err == errUnsure {
			l.todo = slices.Insert(l.todo, 0, n)
			return
		}
		if err == nil && other.Inode == d.Inode { // mounted at two places
			return
		}
		parent, name := l.nodes[owner].parent, l.nodes[owner].name
		l.drop(owner)
		if l.nodes[n].parent == free {
			l.todo = append(l.todo, parent)
			return
		}
		l.found(parent, name, true)
	}
}
