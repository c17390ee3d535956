package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// An addedDirectory is a directory outside the workspace that file tools can reach and commands may
// change. Tools call its files by absolute paths.
type addedDirectory struct {
	root *os.Root
	dir  string // absolute, without links
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

// CheckDirectory returns dir without symbolic links, or an error if it cannot be added.
func (s *Set) CheckDirectory(dir string) (real string, err error) {
	return checkDirectory(s.workspace, dir, s.Directories())
}

// checkDirectory is CheckDirectory with the already added directories in added.
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

// RestoreDirectories replaces the added directories, also for the views of s. The directories are as
// CheckDirectory returned them and as the user saw them. It leaves out a directory, and names it in
// the error, if a link has replaced it, its id differs from the one in ids, or CheckDirectory rejects
// it now.
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
	for _, f := range before { // files opened through them stay usable
		if !slices.Contains(now, f) {
			f.root.Close()
		}
	}
	return errors.Join(faults...)
}

// openAdded opens dir unless it is open already. It fails if dir does not have
// this id; "" accepts any.
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

// id returns the directory's id; "" if unknown.
func (f *addedDirectory) id() string {
	dir, err := f.root.Open(".")
	if err != nil {
		return ""
	}
	defer dir.Close()
	return directoryID(dir)
}

// DirectoryIDs returns the ids of the added directories by path, to detect another directory at
// the same path later. Directories without an id are left out.
func (s *Set) DirectoryIDs() map[string]string {
	ids := map[string]string{}
	for _, f := range addedDirectories(s.workspace) {
		if id := f.id(); id != "" {
			ids[f.dir] = id
		}
	}
	return ids
}

// openDirectory opens a directory; it fails if a part of its path has become a symbolic link.
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

// DirectoryOf returns the added directory that contains an action's path; "" for the workspace.
func (s *Set) DirectoryOf(file string) string {
	base, _ := splitPath(s.workspace, file)
	return base
}

// rootOf returns the directory that contains a tool's path, and the path relative to it.
func rootOf(w *workspace, file string) (root *os.Root, native string) {
	base, rel := splitPath(w, file)
	for _, f := range addedDirectories(w) {
		if f.dir == base {
			return f.root, filepath.FromSlash(rel)
		}
	}
	return w.root, filepath.FromSlash(rel)
}

// splitPath returns the added directory that contains a path, "" for the workspace, and the path
// relative to it.
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

// joinPath is the inverse of splitPath.
func joinPath(base, rel string) string {
	if base == "" {
		return rel
	}
	return path.Join(filepath.ToSlash(base), rel)
}

// toolPath returns the name that tools use for an absolute path in the workspace or an added
// directory; ok is false for other paths.
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
