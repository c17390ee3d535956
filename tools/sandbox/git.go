package sandbox

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// How far repositories are looked for.
const (
	maxFolders = 2000
	maxDepth   = 4
)

// configures is what decides in a git folder which programs git runs. Commondir
// says where the other files really are; below modules and worktrees are git
// folders of their own. Git renames a lock over everything else that it writes,
// so that not all but what it needs can be read-only.
func configures(gitFolder string) (all []string) {
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "worktrees", "modules"} {
		all = append(all, path.Join(gitFolder, name))
	}
	return all
}

// repositories adds to the protected paths those of all repositories that are
// there, the topmost first, if git is protected at all.
func repositories(workspace string, protected []string) []string {
	if !slices.Contains(protected, ".git/config") {
		return protected
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return protected // there is nothing to start a command in either
	}
	defer root.Close()
	r := repos{root: root, workspace: workspace, protected: slices.Clone(protected)}
	level := []string{"."}
	for folders, depth := 0, 0; depth <= maxDepth && len(level) > 0; depth++ {
		var below []string
		for _, dir := range level {
			if folders++; folders > maxFolders {
				return r.protected
			}
			below = append(below, r.look(dir)...)
		}
		level = below
	}
	return r.protected
}

// behind adds what protected links lead to, if that is in the workspace.
func behind(workspace string, protected []string) []string {
	all := slices.Clone(protected)
	for _, name := range protected {
		real, err := filepath.EvalSymlinks(filepath.Join(workspace, name))
		if err != nil {
			continue
		}
		inside, err := filepath.Rel(workspace, real)
		if err == nil && filepath.IsLocal(inside) && inside != "." && !slices.Contains(all, filepath.ToSlash(inside)) {
			all = append(all, filepath.ToSlash(inside))
		}
	}
	return all
}

// repos is a search for repositories.
type repos struct {
	root      *os.Root
	workspace string
	protected []string // relative to the workspace, with slashes
}

// look protects the repository that is in dir, if one is. It returns the folders
// in dir.
func (r *repos) look(dir string) (folders []string) {
	f, err := r.root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.Name() != ".git":
			if e.IsDir() {
				folders = append(folders, name)
			}
		case e.IsDir():
			r.protectGit(name)
		case e.Type().IsRegular():
			r.protect(name)
			if to, ok := strings.CutPrefix(r.line(name), "gitdir:"); ok {
				r.follow(dir, strings.TrimSpace(to))
			}
		case e.Type()&os.ModeSymlink != 0:
			r.protect(name)
			r.follow(dir, e.Name())
		}
	}
	return folders
}

// follow protects the git folder that is at path, seen from dir, if it is in the
// workspace.
func (r *repos) follow(dir, path string) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workspace, dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	if inside, err := filepath.Rel(r.workspace, real); err == nil && filepath.IsLocal(inside) {
		r.protectGit(filepath.ToSlash(inside))
	}
}

func (r *repos) protectGit(gitFolder string) {
	known := slices.Contains(r.protected, path.Join(gitFolder, "hooks")) && gitFolder != ".git"
	for _, name := range configures(gitFolder) {
		r.protect(name)
	}
	if common := r.line(path.Join(gitFolder, "commondir")); common != "" && !known {
		r.follow(gitFolder, common)
	}
}

// protect adds what is not protected already, in a folder of its own or by name.
func (r *repos) protect(name string) {
	if !slices.ContainsFunc(r.protected, func(p string) bool { return p == name || strings.HasPrefix(name, p+"/") }) {
		r.protected = append(r.protected, name)
	}
}

// line is the only line of a file; "" if there is none.
func (r *repos) line(name string) string {
	info, err := r.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return "" // nor is a pipe waited for
	}
	f, err := r.root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 8 << 10
	text, _ := io.ReadAll(io.LimitReader(f, most))
	return strings.TrimSpace(string(text))
}
