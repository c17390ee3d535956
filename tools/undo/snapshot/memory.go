package snapshot

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/tools/folders"
	"parley/tools/gitignore"
	"parley/tools/undo"
)

// A memory is the last snapshot of the workspace. Calls bring it up to date by looking only at names that
// changed, so that they do not walk the workspace. The snapshot before a call then holds only the differences
// between its time and now: see [snapshot.base].
type memory struct {
	mu       sync.Mutex // held while the snapshot is brought up to date
	list     *folders.List
	mark     folders.Mark // names that changed since have to be looked at
	now      *snapshot    // nil: none
	at       time.Time    // of the walk
	began    bool         // a walk has begun
	pending  map[string]bool
	linked   map[string]bool    // files with several names, which may change unseen
	overlays map[*snapshot]bool // snapshots before calls that have not ended
	storing  atomic.Bool        // contents are stored in the background
}

// Bounds of a memory.
const (
	storedAtOnce  = 1_000         // contents
	maxStoring    = time.Minute   // reading ahead
	maxUnwatched  = 1_000         // folders whose files are all looked at before and after each call
	maxRemembered = 6 * time.Hour // then the workspace is walked again, long before Prune may remove contents
)

// An earlier is an entry before it changed.
type earlier struct {
	*entry // nil: none
	listed bool
	why    undo.Uncovered
}

// remember walks the workspace in the background, for later calls. If it is remembered, what changed is read.
func (h *History) remember() {
	m := &h.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil && h.refresh(h.ctx) {
		go h.storeAll()
		return
	}
	if m.began || !h.begin() {
		return
	}
	m.began = true
	if m.list == nil {
		m.list = folders.Open(h.dir)
	}
	list := m.list
	go func() {
		defer h.done()
		mark, err := list.Sync(h.ctx)
		var l *snapshot
		if err == nil {
			l, err = h.workspace.snapshot(h.ctx, nil)
		}
		if _, unwatched, _ := list.Since(mark); err == nil && len(unwatched) > maxUnwatched { // a call walks it: only the cache is filled
			h.fillCache(l, maxStoring)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.began = false; err != nil || l.partial != "" || m.list != list {
			return
		}
		l.unstored = map[string]undo.Uncovered{}
		m.began, m.now, m.mark, m.at, l.byDir = true, l, mark, time.Now(), nil
		m.pending, m.linked, m.overlays = map[string]bool{}, map[string]bool{}, map[*snapshot]bool{}
		for _, e := range l.entries {
			m.consider(e)
		}
		go h.storeAll()
	}()
}

// fillCache stores the contents of a snapshot that is not remembered, within a time.
func (h *History) fillCache(l *snapshot, within time.Duration) {
	ctx, cancel := context.WithTimeout(h.ctx, within)
	defer cancel()
	defer h.release(l)
	h.storeContents(ctx, l)
}

// storeAll stores the contents that no call has needed yet, for at most maxStoring, and waits for half of it. One
// call of it runs at a time.
func (h *History) storeAll() {
	m := &h.memory
	if !h.begin() {
		return
	}
	defer h.done()
	if !m.storing.CompareAndSwap(false, true) {
		return
	}
	defer m.storing.Store(false)
	for end := time.Now().Add(maxStoring); time.Now().Before(end) && h.ctx.Err() == nil; {
		began := time.Now()
		m.mu.Lock()
		git := openGit(h.dir)
		if m.now != nil {
			h.storePending(h.ctx, git)
		}
		more := m.now != nil && len(m.pending) > 0
		git.close()
		m.mu.Unlock()
		if !more {
			return
		}
		select {
		case <-time.After(time.Since(began)): // at most half of the time
		case <-h.ctx.Done():
		}
	}
}

// storePending stores the next contents that are pending, and describes those that are left.
func (h *History) storePending(ctx context.Context, git *gitObjects) (left string) {
	m := &h.memory
	part := &snapshot{began: time.Now().UnixNano(), git: git}
	var listed []entry
	for file := range m.pending {
		if listed = append(listed, *m.now.entries[file]); len(listed) == storedAtOnce {
			break
		}
	}
	part.byDir = [][]entry{listed}
	h.storeContents(ctx, part)
	maps.Copy(m.now.unstored, part.unstored)
	for i := range listed {
		m.now.entries[listed[i].path] = &listed[i]
		m.consider(&listed[i])
	}
	if n := len(m.pending); n > 0 {
		left = fmt.Sprintf("%d of its %d files were not reached in time", n, len(m.now.entries))
	}
	return left
}

// forget lets the next call walk the workspace again.
func (m *memory) forget() { m.now, m.began = nil, false }

// close ends the memory of a workspace without histories.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget()
	if m.list != nil {
		m.list.Close()
		m.list = nil
	}
}

// consider records what has to be done for an entry before the next call.
func (m *memory) consider(e *entry) {
	delete(m.pending, e.path)
	delete(m.linked, e.path)
	if _, refused := m.now.unstored[e.path]; e.kind == undo.File && !e.hasContent && !refused {
		m.pending[e.path] = true
	}
	if e.kind == undo.File && e.linked {
		m.linked[e.path] = true
	}
}

// set changes an entry, which is nil for an absent path.
func (m *memory) set(file string, e *entry, listed bool) {
	was := m.now.entries[file]
	for l := range m.overlays {
		if _, known := l.earlier[file]; !known {
			l.earlier[file] = earlier{was, m.now.listedDirs[file], m.now.unstored[file]}
		}
	}
	delete(m.now.unstored, file)
	delete(m.now.listedDirs, file)
	if e == nil {
		delete(m.now.entries, file)
		delete(m.pending, file)
		delete(m.linked, file)
		return
	}
	m.now.entries[file] = e
	if listed {
		m.now.listedDirs[file] = true
	}
	m.consider(e)
}

// before returns the snapshot before a call, with the contents stored; nil if the workspace is not remembered.
func (h *History) before(ctx context.Context) *snapshot {
	m := &h.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil || !h.refresh(ctx) {
		return nil
	}
	l := &snapshot{base: m.now, earlier: map[string]earlier{}, git: openGit(h.dir)}
	l.partial = h.storePending(ctx, l.git)
	l.listedAt = time.Now()
	l.coverage = (&snapshot{unstored: m.now.unstored, uncovered: m.now.uncovered, partial: l.partial}).summary()
	m.overlays[l] = true
	return l
}

// release ends a snapshot before a call.
func (h *History) release(l *snapshot) {
	if l == nil {
		return
	}
	l.git.close()
	if l.base != nil {
		h.memory.mu.Lock()
		defer h.memory.mu.Unlock()
		delete(h.memory.overlays, l)
	}
}

// after returns what a call may have changed: the snapshots before and after it.
func (h *History) after(ctx context.Context, l *snapshot) (before, after *snapshot, err error) {
	m := &h.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	before = &snapshot{entries: map[string]*entry{}, listedDirs: map[string]bool{}, unstored: map[string]undo.Uncovered{}, partial: l.partial, git: l.git}
	if m.now != l.base || !h.refresh(ctx) {
		// Everything is looked at, as without a memory.
		before.entries, before.listedDirs, before.uncovered, before.unstored = maps.Clone(l.base.entries), maps.Clone(l.base.listedDirs), l.base.uncovered, maps.Clone(l.base.unstored)
		for file, was := range l.earlier {
			before.set(file, was)
		}
		after, err = h.workspace.snapshot(ctx, before)
		return before, after, err
	}
	after = &snapshot{entries: map[string]*entry{}, listedDirs: map[string]bool{}, uncovered: m.now.uncovered, listedAt: time.Now()}
	before.uncovered = l.base.uncovered
	for file, was := range l.earlier {
		if was.entry != nil && was.entry == m.now.entries[file] {
			continue
		}
		for at := file; ; at = path.Dir(at) {
			is := earlier{m.now.entries[at], m.now.listedDirs[at], undo.Uncovered{}}
			after.set(at, is)
			if was, changed := l.earlier[at]; changed {
				is = was
			}
			before.set(at, is)
			if at == "." {
				break
			}
		}
	}
	return before, after, nil
}

// set sets the state of a path.
func (l *snapshot) set(file string, is earlier) {
	delete(l.entries, file)
	delete(l.listedDirs, file)
	if is.entry != nil {
		l.entries[file] = is.entry
	}
	if is.listed {
		l.listedDirs[file] = true
	}
	if l.unstored != nil && is.why.Why != "" {
		l.unstored[file] = is.why
	}
}

// refresh brings the memory up to date; false if the whole workspace has to be looked at.
func (h *History) refresh(ctx context.Context) bool {
	m := &h.memory
	mark, err := m.list.Sync(ctx)
	if ctx.Err() != nil {
		return false // others may still use what is remembered
	}
	changed, unwatched, ok := m.list.Since(m.mark)
	if err != nil || !ok || len(unwatched) > maxUnwatched || time.Since(m.at) > maxRemembered {
		m.forget()
		return false
	}
	m.mark = mark
	look := map[string]map[string]bool{} // names by folder
	add := func(dir, name string) {
		if look[dir] == nil {
			look[dir] = map[string]bool{}
		}
		look[dir][name] = true
	}
	rulesChanged := false
	for dir, names := range changed {
		for _, name := range names {
			add(dir, name)
			rulesChanged = rulesChanged || name == ".gitignore"
		}
	}
	for file := range m.linked {
		add(path.Dir(file), path.Base(file))
	}
	u := update{History: h, b: readWorker{contentReader: &contentReader{workspace: h.workspace}}, gone: map[string]bool{}, rules: map[string]gitignore.Rules{}}
	defer u.b.close()
	for _, dir := range unwatched {
		if m.now.listedDirs[dir] && u.open(dir) == nil {
			listed, _ := u.b.Entries(nil, 0)
			for _, e := range listed {
				add(dir, e.Name)
			}
		}
	}
	if len(unwatched) > 0 {
		for file := range m.now.entries {
			if dir := path.Dir(file); slices.Contains(unwatched, dir) {
				add(dir, path.Base(file))
			}
		}
	}
	for dir, names := range look {
		for name := range names {
			u.look(dir, name)
		}
	}
	u.finish(ctx)
	if deadline, _ := ctx.Deadline(); len(u.fresh) > 0 && deadlinePassed(ctx, deadline) { // they were walked in part
		m.forget()
		return false
	}
	if rulesChanged { // other files may be ignored now
		m.at = time.Time{}
	}
	return true
}

// An update looks at names that changed.
type update struct {
	*History
	b     readWorker
	gone  map[string]bool // directories that were deleted or replaced
	found []entry
	fresh []entry                    // directories to walk
	rules map[string]gitignore.Rules // by directory
	inGit bool                       // set by rulesFor
}

// open opens a directory of the workspace.
func (u *update) open(dir string) error {
	if dir == "." {
		dir = ""
	}
	return u.b.openDir(dir)
}

func (u *update) look(dir, name string) {
	m := &u.memory
	if name == ".git" || !m.now.listedDirs[dir] {
		return
	}
	file := path.Join(dir, name)
	was := m.now.entries[file]
	e := entry{path: file}
	err := u.open(dir)
	if err == nil {
		e.pathInfo, err = statIn(u.b.Dir, name)
	}
	wasDir := was != nil && was.kind == undo.Directory
	switch {
	case wasDir: // also if it still exists: it may be new to the list, which then has no names in it
		u.gone[file] = true
	case was != nil && err != nil:
		m.set(file, nil, false)
	}
	switch {
	case err != nil:
	case e.kind == undo.Directory:
		u.fresh = append(u.fresh, e)
	default:
		u.found = append(u.found, e)
	}
}

// finish changes the entries that were looked at, and walks the directories that appeared.
func (u *update) finish(ctx context.Context) {
	m := &u.memory
	was := map[string]*entry{} // in directories that are walked again
	settled := time.Now().UnixNano() - clockError
	set := func(e *entry, listed bool) {
		if old := was[e.path]; old != nil && old.pathInfo == e.pathInfo && e.ctime < settled {
			e = old
		}
		m.set(e.path, e, listed)
	}
	if len(u.gone) > 0 {
		var gone []string
		for file := range m.now.entries {
			for at := file; at != "."; at = path.Dir(at) {
				if u.gone[at] {
					gone = append(gone, file)
					break
				}
			}
		}
		for _, file := range gone {
			was[file] = m.now.entries[file]
			m.set(file, nil, false)
		}
		m.now.uncovered = slices.DeleteFunc(slices.Clone(m.now.uncovered), func(left undo.Uncovered) bool {
			for at := string(left.Path); at != "."; at = path.Dir(at) {
				if u.gone[at] {
					return true
				}
			}
			return false
		})
	}
	for i := range u.found {
		e := &u.found[i]
		if e.kind == undo.File {
			rules := u.rulesFor(path.Dir(e.path))
			e.ignored = u.inGit && rules.Match(e.path, false)
		}
		m.set(e.path, e, false)
	}
	for _, e := range u.fresh {
		k := u.newWalk(ctx, nil)
		rules := u.rulesFor(path.Dir(e.path))
		if k.shouldEnter(e.path, e.fileStat, rules) && u.open(e.path) == nil {
			_ = k.run(&openDir{Dir: u.b.Dir, rel: e.path, rules: rules})
			set(&e, k.listedDirs[e.path])
			for file, found := range k.entries {
				set(found, k.listedDirs[file])
			}
		}
		m.now.uncovered = append(slices.Clip(m.now.uncovered), k.uncovered...)
	}
}

// rulesFor returns the ignore rules that apply in a directory of the workspace.
func (u *update) rulesFor(dir string) gitignore.Rules {
	rules, known := u.rules[dir]
	if known {
		return rules
	}
	if dir == "." {
		rules, u.inGit = rulesAbove(u.dir)
	} else {
		rules = u.rulesFor(path.Dir(dir))
	}
	if u.inGit {
		rules = rules.Append(gitignore.Parse(dir, readSmall(filepath.Join(u.dir, filepath.FromSlash(dir), ".gitignore"))))
	}
	u.rules[dir] = rules
	return rules
}
