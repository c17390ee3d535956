// Package snapshot keeps files before tools change them, their pre-images, outside of the project, and
// restores them:
//
//	Watch ──► snapshot ──► the tool runs ──► snapshot ──► Record, in the History of a conversation
//	              └──► pre-images, in the Store              │
//	                                                         └──► Plan ──► Restore, with a journal
//
// Contents that git has in its object store are not stored again; they are read without running
// git or any other program. Files that could not be stored are named before a tool runs. A file
// is never overwritten or deleted unless it is as parley saw it last, or the user confirmed it.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tools/gitignore"
	"parley/tools/openat"
	"parley/tools/undo"
)

// Bounds of a snapshot before a call.
const (
	MaxBytes        = 64 << 20               // of all contents that git does not have
	maxIgnored      = 256 << 10              // of an ignored file; larger ones are not stored
	maxSnapshotTime = 300 * time.Millisecond // longest delay of a call by its snapshot
)

// A contentSource is where the content of a file is stored.
type contentSource struct {
	git blobID // in git's object store; only if sum is ""
	sum string // in the store, SHA-256
}

// A cachedFile is a file whose content was read and stored, with its metadata at that time.
type cachedFile struct {
	fileStat
	contentSource
	settled bool      // it was older than clockError when read: any later change shows in fileStat
	checked time.Time // when its content was last seen in the store
}

// checkAfter is how long stored content is assumed to exist without a check, far less than the
// day for which Prune keeps unused content.
const checkAfter = 10 * time.Minute

// isStored reports whether the content of k is still stored at the given time.
func (w *workspace) isStored(k *cachedFile, at time.Time) bool {
	if k.sum == "" || at.Sub(k.checked) < checkAfter {
		return true
	}
	if !w.store.has(k.sum) {
		return false
	}
	k.checked = at
	return true
}

// A workspace is a directory with a cache of the files read in it, and the directories that the
// user added.
type workspace struct {
	store *Store
	dir   string // absolute, without links
	root  *os.Root

	mu          sync.Mutex
	fileCache   map[string]*cachedFile
	memory      memory
	histories   int                 // that are open
	directories map[string]*os.Root // added to it, by their absolute paths; paths in them are absolute
}

// addDirectory adds a directory outside of the workspace. Changes to named paths in it, which are
// absolute, are recorded and restored; changes by commands are not.
func (w *workspace) addDirectory(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir == "" || w.directories[dir] != nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		if w.directories == nil {
			w.directories = map[string]*os.Root{}
		}
		w.directories[dir] = root
	}
}

// rootOf returns the directory that contains a path, its absolute path ("" for the workspace), and
// the path relative to it. For an absolute path in no added directory it returns the workspace and
// the path, which fails to open.
func (w *workspace) rootOf(file string) (root *os.Root, dir, rel string) {
	if !path.IsAbs(file) {
		return w.root, "", file
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, root := range w.directories {
		if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil && filepath.IsLocal(rel) {
			return root, dir, filepath.ToSlash(rel)
		}
	}
	return w.root, "", file
}

// workspaceAt returns the workspace of a directory, shared by all its
// histories.
func (s *Store) workspaceAt(dir string) (*workspace, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.workspaces[real]; w != nil {
		return w, nil
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	w := &workspace{store: s, dir: real, root: root, fileCache: map[string]*cachedFile{}}
	s.workspaces[real] = w
	return w, nil
}

// A snapshot is the state of a workspace, or of some paths in it, at one moment.
type snapshot struct {
	entries    map[string]*entry
	byDir      [][]entry                 // the same entries, one slice per directory
	listedDirs map[string]bool           // directories whose entries are complete
	uncovered  []undo.Uncovered          // directories left out
	partial    string                    // why it is incomplete; "" if complete
	began      int64                     // Unix time, in ns
	listedAt   time.Time                 // when the listing was complete
	unstored   map[string]undo.Uncovered // files whose content is not stored, by path
	git        *gitObjects

	base     *snapshot          // of the memory: it differs from this snapshot only by earlier; nil: all is in entries
	earlier  map[string]earlier // by path
	coverage string             // summary, with base
}

// isUnlisted reports whether dir is a directory whose entries the snapshot lacks.
func (l *snapshot) isUnlisted(dir string) bool {
	if s, there := l.entries[dir]; there && s.kind == undo.Directory && !l.listedDirs[dir] {
		return true
	}
	return slices.ContainsFunc(l.uncovered, func(u undo.Uncovered) bool { return string(u.Path) == dir })
}

// clockError is the resolution of the file system's clock, in ns: a file changed this shortly
// before a snapshot may change again without a change of its times.
const clockError = int64(100 * time.Millisecond)

// snapshot lists the workspace until ctx ends, without reading files. Before is the snapshot to
// compare with, whose directories it lists; nil: it applies .gitignore.
func (w *workspace) snapshot(ctx context.Context, before *snapshot) (*snapshot, error) {
	l := &snapshot{began: time.Now().UnixNano()}
	dir, err := openat.Open(w.root, ".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	k := w.newWalk(ctx, before)
	var rules gitignore.Rules
	rules, k.inGit = rulesAbove(w.dir)
	err = k.run(&openDir{Dir: dir, rel: ".", rules: rules})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		l.partial, err = fmt.Sprintf("only %d files were looked at in time", len(k.entries)), nil
	}
	l.entries, l.byDir, l.listedDirs, l.uncovered, l.listedAt = k.entries, k.byDir, k.listedDirs, k.uncovered, time.Now()
	return l, err
}

// newWalk returns a walk in the workspace.
func (w *workspace) newWalk(ctx context.Context, before *snapshot) *walk {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := &walk{ctx: ctx, before: before, expected: min(len(w.fileCache)*5/4, 10_000)}
	k.deadline, _ = ctx.Deadline()
	if own, err := openat.OpenPath(filepath.Dir(w.store.dir)); err == nil {
		k.skip, _ = own.Stat(".")
		own.Close()
	}
	if top, err := openat.Open(w.root, "."); err == nil {
		info, _ := top.Stat(".")
		k.device = info.Device
		top.Close()
	}
	return k
}

// rulesAbove returns the ignore rules for dir from the directories above it and from
// .git/info/exclude, and reports whether dir is in a repository.
func rulesAbove(dir string) (gitignore.Rules, bool) {
	var up []string
	at := dir
	for gitDirAt(at) == "" {
		if at == filepath.Dir(at) {
			return nil, false
		}
		up, at = append(up, at), filepath.Dir(at)
	}
	prefix, err := filepath.Rel(at, dir)
	if err != nil {
		return nil, true
	}
	texts := []string{readSmall(filepath.Join(gitDirAt(at), "info", "exclude"))}
	base := at
	for i := len(up) - 1; i >= 0; i-- { // the directories in between
		texts = append(texts, readSmall(filepath.Join(base, ".gitignore")))
		base = up[i]
	}
	if prefix == "." {
		return gitignore.Parse(".", texts[0]), true
	}
	// Patterns with a slash are relative to the directory of their file; only those without one
	// apply in dir unchanged.
	var rules gitignore.Rules
	for _, text := range texts {
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if !strings.Contains(strings.TrimRight(strings.TrimSpace(line), "/"), "/") {
				kept.WriteString(line)
			}
		}
		rules = rules.Append(gitignore.Parse(".", kept.String()))
	}
	return rules, true
}

// errFileGrew reports a file larger than the limit of a read.
var errFileGrew = errors.New("it has grown")

// readFile reads a regular file of at most most bytes; a larger one is errFileGrew. It never blocks.
func (w *workspace) readFile(file string, most int64) ([]byte, fileStat, error) {
	p, base, err := w.openParent(file)
	if err != nil {
		return nil, fileStat{}, err
	}
	defer p.close()
	return readIn(p.Dir, base, most, nil)
}
