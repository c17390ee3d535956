package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A SearchPath resolves programs that parley runs on its own. It leaves out relative directories and
// those in the workspace, whose files are untrusted.
type SearchPath struct {
	List      string // directories, in the format of PATH
	Workspace string // absolute; "", or the root of the disk, excludes nothing
	others    string // more workspaces, absolute, separated by NUL
}

// workspaces are the absolute paths of directories that models have worked in, with and without links
// resolved. An editor opens several of them in one process that was started in none.
var workspaces struct {
	mu   sync.Mutex
	dirs []string
}

// AddWorkspace makes OutsideWorkspace permanently exclude programs in dir, an absolute path: files
// that a model put there may remain.
func AddWorkspace(dir string) {
	workspaces.mu.Lock()
	defer workspaces.mu.Unlock()
	for _, dir := range []string{filepath.Clean(dir), resolved(dir)} {
		if filepath.Dir(dir) != dir && !slices.Contains(workspaces.dirs, dir) {
			workspaces.dirs = append(workspaces.dirs, dir)
		}
	}
}

// OutsideWorkspace returns the search path for programs that parley runs by itself: list, in the
// format of PATH, without the working directory and directories passed to AddWorkspace, unless these
// contain the user's or the system's own programs.
func OutsideWorkspace(list string) SearchPath {
	p := SearchPath{List: list}
	home, err := os.UserHomeDir()
	holdsPrograms := func(dir string) bool {
		there := SearchPath{Workspace: dir}
		return err == nil && there.Excludes(home) || there.Excludes("/bin/sh")
	}
	if dir, err := os.Getwd(); err == nil && !holdsPrograms(dir) {
		p.Workspace = dir
	}
	workspaces.mu.Lock()
	dirs := slices.Clone(workspaces.dirs)
	workspaces.mu.Unlock()
	p.others = strings.Join(slices.DeleteFunc(dirs, holdsPrograms), "\x00")
	return p
}

// Directories returns the directories from which programs may run.
func (p SearchPath) Directories() []string {
	return slices.DeleteFunc(filepath.SplitList(p.List), func(directory string) bool {
		return !filepath.IsAbs(directory) || p.Excludes(directory)
	})
}

// String returns the directories from which programs may run, in the format of PATH. Started
// programs need it as their PATH, because they or their interpreter line look up others.
func (p SearchPath) String() string {
	return strings.Join(p.Directories(), string(os.PathListSeparator))
}

// Find returns the absolute path of a program; "" if none can be run. It rejects links into the
// workspace from an allowed directory.
func (p SearchPath) Find(name string) string {
	for _, directory := range filepath.SplitList(p.List) {
		if !filepath.IsAbs(directory) {
			continue
		}
		file, err := exec.LookPath(filepath.Join(directory, name)) // checks permissions, and adds Windows extensions
		if err == nil && !p.Excludes(directory) && !p.Excludes(file) {
			return file
		}
	}
	return ""
}

// Excludes reports whether path is in a workspace, directly or through links.
func (p SearchPath) Excludes(path string) bool {
	real := resolved(path)
	if p.Workspace != "" && filepath.Dir(p.Workspace) != p.Workspace &&
		(inDirectory(path, p.Workspace) || inDirectory(real, resolved(p.Workspace))) {
		return true
	}
	for dir := range strings.SplitSeq(p.others, "\x00") {
		if dir != "" && (inDirectory(path, dir) || inDirectory(real, dir)) {
			return true
		}
	}
	return false
}

func inDirectory(path, directory string) bool {
	rel, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(rel)
}

// resolved returns path without links if it exists.
func resolved(path string) string {
	if plain, err := filepath.EvalSymlinks(path); err == nil {
		return plain
	}
	return filepath.Clean(path)
}

// Variables returns those variables of environ, a list of NAME=value, whose names are in passed, in
// upper case. A name that ends with _ is a prefix; the case in environ does not matter.
func Variables(environ, passed []string) (kept []string) {
	for _, v := range environ {
		name, _, ok := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		if ok && slices.ContainsFunc(passed, func(p string) bool {
			return name == p || strings.HasSuffix(p, "_") && strings.HasPrefix(name, p)
		}) {
			kept = append(kept, v)
		}
	}
	return kept
}
