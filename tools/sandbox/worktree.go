package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A workspace can be a worktree of a repository that is elsewhere. Its commands
// may read that, and with namespaces write what a commit writes: objects, branches
// and the worktree's own index. What configures git stays as it is.

// extended is the setting with which git reads a worktree's own settings.
var extended = regexp.MustCompile(`(?im)\bworktreeconfig\b`)

// submodules are in a worktree's own git directory the git directories of its submodules,
// with hooks and settings: they cannot be written, and new ones are told.
const submodules = "modules"

// joinWorktree lets commands use the repository that the workspace is a worktree
// of. That it is one, the repository itself must say: what is in the workspace
// may be a stranger's.
func (p *Policy) joinWorktree(mounts bool) {
	to, ok := strings.CutPrefix(settings(filepath.Join(p.Workspace, ".git")), "gitdir:")
	own := strings.TrimSpace(to)
	if !ok || !filepath.IsAbs(own) || !folder(own) {
		return
	}
	common := filepath.Dir(filepath.Dir(own))
	switch {
	case filepath.Base(filepath.Dir(own)) != "worktrees",
		strings.TrimSpace(settings(filepath.Join(own, "gitdir"))) != filepath.Join(p.Workspace, ".git"),
		strings.TrimSpace(settings(filepath.Join(own, "commondir"))) != "../..",
		within(common, p.Workspace), within(p.Workspace, common), !folder(filepath.Join(common, "objects")):
		return
	}
	p.Read = append(p.Read, common)
	fixed := filepath.Join(own, "config.worktree") // where it is absent it cannot be kept so
	if !mounts || p.Lasting || !exists(fixed) && extended.MatchString(settings(filepath.Join(common, "config"))) {
		return
	}
	p.still = append(p.still, fixed, filepath.Join(own, "commondir"), filepath.Join(own, "gitdir"), filepath.Join(own, submodules))
	p.far = append(p.far, own, common)
	for _, path := range []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs"), filepath.Join(common, "logs")} {
		if folder(path) {
			p.Write = append(p.Write, path)
		}
	}
}

// directory reports whether path is a directory and goes through no link.
func folder(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
