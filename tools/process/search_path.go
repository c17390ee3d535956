package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A SearchPath resolves programs that parley runs on its own. It leaves out relative folders and those
// in the workspace, whose files may be anybody's.
type SearchPath struct {
	List      string // of folders, as PATH has it
	Workspace string // absolute; "", or all of the disk, is none
	others    string // further workspaces, absolute, with NUL between them
}

// workspaces are the directories that models have worked in, absolute, as they are called and without
// links. An editor has several of them open in one process that was started in none.
var workspaces struct {
	mu   sync.Mutex
	dirs []string
}

// AddWorkspace has OutsideWorkspace find no program in dir, which is absolute, from now on: what was
// put there stays.
func AddWorkspace(dir string) {
	workspaces.mu.Lock()
	defer workspaces.mu.Unlock()
	for _, dir := range []string{filepath.Clean(dir), resolved(dir)} {
		if filepath.Dir(dir) != dir && !slices.Contains(workspaces.dirs, dir) {
			workspaces.dirs = append(workspaces.dirs, dir)
		}
	}
}

// OutsideWorkspace returns where programs are looked up that parley runs by itself: list, as PATH has
// it, without the working directory and what AddWorkspace was told, unless the user's own programs, or
// the system's, may lie there.
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

// Directories returns the directories from which a program may be run.
func (p SearchPath) Directories() []string {
	return slices.DeleteFunc(filepath.SplitList(p.List), func(directory string) bool {
		return !filepath.IsAbs(directory) || p.Excludes(directory)
	})
}

// String returns the folders from which a program may be run, as PATH has them. A program that is
// started needs them as its PATH: it, or the line that names its interpreter, looks up others.
func (p SearchPath) String() string {
	return strings.Join(p.Directories(), string(os.PathListSeparator))
}

// Find returns the absolute path of a program; "" if there is none that can be run. A link in a good
// folder may lead into the workspace.
func (p SearchPath) Find(name string) string {
	for _, directory := range filepath.SplitList(p.List) {
		if !filepath.IsAbs(directory) {
			continue
		}
		file, err := exec.LookPath(filepath.Join(directory, name)) // checks permissions, and adds the extensions of Windows
		if err == nil && !p.Excludes(directory) && !p.Excludes(file) {
			return file
		}
	}
	return ""
}

// Excludes reports whether path lies in a workspace, or leads there.
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

// resolved returns path without links, if it is there.
func resolved(path string) string {
	if plain, err := filepath.EvalSymlinks(path); err == nil {
		return plain
	}
	return filepath.Clean(path)
}

// Variables returns those of environ, a list of NAME=value, whose names are among passed, in upper
// case. One that ends with _ stands for all that begin with it; the case in environ does not matter.
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
