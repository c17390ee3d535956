package undo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/tools/gitignore"
)

// A source says where the content of a file is kept.
type source struct {
	git blobID // in git's object store, if sum is ""
	sum string // in the store
}

// A known is a file whose content was read, as it was then.
type known struct {
	stamp
	source
	settled bool      // it was older than the clock of files can be wrong by: the stamp tells every change
	checked time.Time // when its content was last found to be kept
}

// checkAfter is for how long a content that is kept is taken to be there: far below the time
// after which a content is pruned that nothing uses.
const checkAfter = 10 * time.Minute

// isKept reports whether the content of k is kept; the look is at a time.
func (w *workspace) isKept(k *known, at time.Time) bool {
	if k.sum == "" || at.Sub(k.checked) < checkAfter {
		return true
	}
	if !w.store.has(k.sum) {
		return false
	}
	k.checked = at
	return true
}

// A workspace is a folder with what is known of its files, which saves reading them again.
type workspace struct {
	store *Store
	dir   string // absolute, without links
	root  *os.Root

	mu      sync.Mutex
	known   map[string]*known
	looks   int                 // before calls, that read files now: who reads ahead waits for them
	idle    *sync.Cond          // on mu: looks is 0
	folders map[string]*os.Root // added to it, by their absolute paths; paths in them are absolute
}

// addFolder has a directory beside the workspace belong to it: single paths in there, which are
// absolute, are kept and restored. What commands change in it is not looked at.
func (w *workspace) addFolder(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir == "" || w.folders[dir] != nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		if w.folders == nil {
			w.folders = map[string]*os.Root{}
		}
		w.folders[dir] = root
	}
}

// rootOf returns the directory that a path is in, its absolute path, "" for the workspace, and the
// path in there. One of a directory that is not known leads nowhere.
func (w *workspace) rootOf(file string) (root *os.Root, dir, rel string) {
	if !path.IsAbs(file) {
		return w.root, "", file
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir, root := range w.folders {
		if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil && filepath.IsLocal(rel) {
			return root, dir, filepath.ToSlash(rel)
		}
	}
	return w.root, "", file
}

// workspaceAt returns the workspace in a folder.
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
	w := &workspace{store: s, dir: real, root: root, known: map[string]*known{}}
	w.idle = sync.NewCond(&w.mu)
	s.workspaces[real] = w
	return w, nil
}

// A look is a workspace at one moment, with the contents that can be brought back.
type look struct {
	found   map[string]*entry
	listed  [][]entry            // the same, by the folder that they are in
	folders map[string]bool      // that were seen whole
	left    []Uncovered          // folders that were not seen
	partial string               // why not all was seen; "": it was
	began   int64                // when, in ns
	at      time.Time            // when it had seen what is there
	unkept  map[string]Uncovered // files whose content is not kept
	git     *gitObjects
}

// omits reports whether a folder was there, or is now, and its content was not seen.
func (l *look) omits(dir string) bool {
	if s, there := l.found[dir]; there && s.kind == Folder && !l.folders[dir] {
		return true
	}
	return slices.ContainsFunc(l.left, func(u Uncovered) bool { return string(u.Path) == dir })
}

// clockError is by how much the clock that stamps files may be wrong, in ns: files that were
// changed so shortly before a look may change again without another stamp.
const clockError = int64(100 * time.Millisecond)

// see walks through the workspace until ctx ends.
func (w *workspace) see(ctx context.Context, before *look) (*look, error) {
	l := &look{began: time.Now().UnixNano()}
	dir, err := w.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	w.mu.Lock()
	k := walk{ctx: ctx, before: before, expected: min(len(w.known)*5/4, 10_000)}
	w.mu.Unlock()
	k.until, _ = ctx.Deadline()
	if own, err := os.Open(filepath.Dir(w.store.dir)); err == nil {
		k.skip, _ = statOpen(own)
		own.Close()
	}
	var rules gitignore.Rules
	rules, k.inGit = rulesAbove(w.dir)
	err = k.run(folderOf(dir), rules)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		l.partial, err = fmt.Sprintf("only %d files were looked at in time", len(k.found)), nil
	}
	l.found, l.listed, l.folders, l.left, l.at = k.found, k.listed, k.folders, k.left, time.Now()
	return l, err
}

// rulesAbove returns what git ignores in a folder because of what is above it, and whether it
// is in a repository.
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
	for i := len(up) - 1; i >= 0; i-- { // of the folders between
		texts = append(texts, readSmall(filepath.Join(base, ".gitignore")))
		base = up[i]
	}
	if prefix == "." {
		return gitignore.Parse(".", texts[0]), true
	}
	// What is said above is said of paths that begin above: patterns without a slash hold
	// here as well, those with one are for the part of the path below.
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

// errGrown says that a file is larger than it was.
var errGrown = errors.New("it has grown")

// errNotRegular says that something else than a file stands at its path.
var errNotRegular = errors.New("it is no regular file")

// readFile reads a regular file of at most so many bytes, and never waits.
func readFile(w *workspace, file string, most int64) ([]byte, stamp, error) {
	root, _, rel := w.rootOf(file)
	f, err := root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	defer f.Close()
	s, err := statOpen(f)
	if err != nil {
		return nil, s, err
	}
	if s.kind != File {
		return nil, s, errNotRegular
	}
	if s.size > most {
		return nil, s, errGrown
	}
	var content bytes.Buffer
	content.Grow(int(s.size) + bytes.MinRead)
	if _, err := content.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, s, err
	}
	if int64(content.Len()) > most {
		return nil, s, errGrown
	}
	return content.Bytes(), s, nil
}
