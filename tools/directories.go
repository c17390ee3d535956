package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/tools/process"
)

// An addedDirectory is a further directory that file tools reach and commands may change. Its files are
// called by their absolute paths.
type addedDirectory struct {
	root *os.Root
	dir  string // absolute, without links

	mu      sync.Mutex
	watch   process.RepositoryWatch // detects what commands make there for git to run; nil: none has run
	running int                     // sandboxed commands that run now
}

// Directories returns the added directories, in the order in which they were added.
func (s *Set) Directories() (dirs []string) {
	if s == nil {
		return nil
	}
	for _, f := range addedDirectories(s.workspace) {
		dirs = append(dirs, f.dir)
	}
	return dirs
}

func addedDirectories(w *workspace) []*addedDirectory {
	if p := w.directories.Load(); p != nil {
		return *p
	}
	return nil
}

// CheckDirectory returns a directory, without links, that can be added, or says why it cannot.
func (s *Set) CheckDirectory(dir string) (real string, err error) {
	return checkDirectory(s.workspace, dir, s.Directories())
}

// checkDirectory does so where the directories in added are reached already.
func checkDirectory(w *workspace, dir string, added []string) (real string, err error) {
	if real, err = filepath.EvalSymlinks(dir); err == nil {
		real, err = filepath.Abs(real)
	}
	var absent *fs.PathError
	if errors.As(err, &absent) {
		err = absent.Err
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", quotePath(dir), err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", quotePath(real))
	}
	if why := w.places.WorkspaceProblem(real); why != "" {
		return "", fmt.Errorf("%s cannot be added: it %s", quotePath(real), why)
	}
	for _, other := range append([]string{w.realDir}, added...) {
		switch {
		case isWithin(real, other):
			return "", fmt.Errorf("%s is in %s, which tools reach already", quotePath(real), quotePath(other))
		case isWithin(other, real):
			return "", fmt.Errorf("%s cannot be added: it contains %s", quotePath(real), quotePath(other))
		}
	}
	return real, nil
}

// RestoreDirectories has file tools reach directories, and commands change them, in the place of those
// that were added before, also for the views of s. They are as CheckDirectory returned them, and as
// the user saw them: where a link stands by now, another directory than the one that DirectoryIDs told
// an id of, or another reason is against one, it is left out, as the error says.
func (s *Set) RestoreDirectories(ids map[string]string, dirs ...string) error {
	s.directoryMu.Lock()
	defer s.directoryMu.Unlock()
	before := addedDirectories(s.workspace)
	var now []*addedDirectory
	var reached []string
	var faults []error
	for _, dir := range dirs {
		real, err := checkDirectory(s.workspace, dir, reached)
		if err == nil && real != dir {
			err = fmt.Errorf("%s leads to %s now: add that if you want it", quotePath(dir), quotePath(real))
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		f, err := openAdded(before, real, ids[real])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		now, reached = append(now, f), append(reached, real)
	}
	s.directories.Store(&now)
	for _, f := range before { // what is open in them stays open
		if !slices.Contains(now, f) {
			f.root.Close()
		}
	}
	return errors.Join(faults...)
}

// openAdded opens a directory that has this id, "" for any, unless it is open.
func openAdded(before []*addedDirectory, dir, id string) (*addedDirectory, error) {
	root, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	f := &addedDirectory{root: root, dir: dir}
	if now := f.id(); id != "" && now != "" && now != id {
		root.Close()
		return nil, fmt.Errorf("%s is another folder than the one that was added: add it again if you want it", quotePath(dir))
	}
	if i := slices.IndexFunc(before, func(f *addedDirectory) bool { return f.dir == dir }); i >= 0 {
		root.Close()
		return before[i], nil
	}
	return f, nil
}

// id tells the directory from others; "" if that is not known.
func (f *addedDirectory) id() string {
	dir, err := f.root.Open(".")
	if err != nil {
		return ""
	}
	defer dir.Close()
	return directoryID(dir)
}

// DirectoryIDs returns what tells each added directory from another one that may stand at its path
// later, by their paths. Of some nothing may do so.
func (s *Set) DirectoryIDs() map[string]string {
	ids := map[string]string{}
	for _, f := range addedDirectories(s.workspace) {
		if id := f.id(); id != "" {
			ids[f.dir] = id
		}
	}
	return ids
}

// openDirectory opens a directory, unless a link took the place of something on the way to it.
func openDirectory(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	open, err := root.Stat(".")
	named, nameErr := os.Lstat(dir)
	real, realErr := filepath.EvalSymlinks(dir)
	if err = errors.Join(err, nameErr, realErr); err == nil && (real != dir || !os.SameFile(open, named)) {
		err = fmt.Errorf("%s changed just now", quotePath(dir))
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// DirectoryOf returns the added directory that the path of an action is in; "" for the workspace.
func (s *Set) DirectoryOf(file string) string {
	base, _ := splitPath(s.workspace, file)
	return base
}

// rootOf returns the directory that a path is in, as tools call paths, and the path in there.
func rootOf(w *workspace, file string) (root *os.Root, native string) {
	base, rel := splitPath(w, file)
	for _, f := range addedDirectories(w) {
		if f.dir == base {
			return f.root, filepath.FromSlash(rel)
		}
	}
	return w.root, filepath.FromSlash(rel)
}

// splitPath returns the added directory that a path is in, "" for the workspace, and the path in
// there.
func splitPath(w *workspace, file string) (base, rel string) {
	if native := filepath.FromSlash(file); filepath.IsAbs(native) {
		for _, f := range addedDirectories(w) {
			if isWithin(native, f.dir) {
				rel, _ := filepath.Rel(f.dir, native)
				return f.dir, filepath.ToSlash(rel)
			}
		}
	}
	return "", file
}

// joinPath undoes splitPath.
func joinPath(base, rel string) string {
	if base == "" {
		return rel
	}
	return path.Join(filepath.ToSlash(base), rel)
}

// toolPath returns how tools call an absolute path of the workspace or of an added directory; not
// ok for all others.
func toolPath(w *workspace, abs string) (file string, ok bool) {
	if rel, ok := w.relativeInside(abs); ok {
		return rel, true
	}
	abs = filepath.Clean(abs)
	rest := ""
	for dir := abs; len(addedDirectories(w)) > 0; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			whole := filepath.ToSlash(filepath.Join(real, rest))
			base, _ := splitPath(w, whole)
			return whole, base != ""
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
	return "", false
}

// watchDirectories watches added directories for what a command makes there for git to run. The notice
// is about what earlier commands that still run have made; end quarantines what this one made and
// returns a notice. Held is false for a command outside of the sandbox.
func watchDirectories(w *workspace, sandboxed bool) (notice string, end func() string) {
	directories := addedDirectories(w) // one that is removed meanwhile is looked at all the same
	each := func(look func(*addedDirectory, bool) string) string {
		var notices []string
		for _, f := range directories {
			notices = append(notices, look(f, sandboxed))
		}
		return strings.TrimSpace(strings.Join(notices, "\n"))
	}
	return each((*addedDirectory).begin), sync.OnceValue(func() string { return each((*addedDirectory).end) })
}

// begin does that in one of them. What was made while no command ran in the sandbox is the user's.
func (f *addedDirectory) begin(sandboxed bool) (notice string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.running > 0:
		notice = f.watch.QuarantineNew()
	case !sandboxed:
		return ""
	case f.watch == nil:
		f.watch = process.Sandbox.NewWatch(f.dir)
	default:
		f.watch.Accept()
	}
	if sandboxed {
		f.running++
	}
	return notice
}

func (f *addedDirectory) end(sandboxed bool) (notice string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case sandboxed:
		f.running--
		return f.watch.QuarantineNew()
	case f.running > 0:
		f.watch.Accept() // the user let the command make it
	}
	return ""
}
