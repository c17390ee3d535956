package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// A workspace can be a worktree of a repository that is elsewhere. Its commands
// may read that, and with namespaces write what a commit writes: objects, branches
// and the worktree's own index. What configures git stays as it is.

// worktreeConfigSetting matches the setting with which git reads a worktree's own config.
var worktreeConfigSetting = lazy.NewRegexp(`(?im)\bworktreeconfig\b`)

// submodulesDir holds, in a worktree's own git directory, the git directories of its
// submodules, with hooks and config: existing ones are read-only, and new ones are reported.
const submodulesDir = "modules"

// allowWorktree lets commands use the repository that the workspace is a worktree of. The
// repository itself must confirm that: files of the workspace may be a stranger's.
func (p *policy) allowWorktree(mounts bool) {
	to, ok := strings.CutPrefix(readConfig(filepath.Join(p.Workspace, ".git")), "gitdir:")
	own := strings.TrimSpace(to)
	if !ok || !filepath.IsAbs(own) || !isRealDir(own) {
		return
	}
	common := filepath.Dir(filepath.Dir(own))
	switch {
	case filepath.Base(filepath.Dir(own)) != "worktrees",
		strings.TrimSpace(readConfig(filepath.Join(own, "gitdir"))) != filepath.Join(p.Workspace, ".git"),
		strings.TrimSpace(readConfig(filepath.Join(own, "commondir"))) != "../..",
		isWithin(common, p.Workspace), isWithin(p.Workspace, common), !isRealDir(filepath.Join(common, "objects")):
		return
	}
	p.ReadPaths = append(p.ReadPaths, common)
	fixed := filepath.Join(own, "config.worktree") // where it is absent it cannot be kept so
	if !mounts || p.LongRunning || !exists(fixed) && worktreeConfigSetting.MatchString(readConfig(filepath.Join(common, "config"))) {
		return
	}
	p.readOnlyFiles = append(p.readOnlyFiles, fixed, filepath.Join(own, "commondir"), filepath.Join(own, "gitdir"), filepath.Join(own, submodulesDir))
	p.outsideGitDirs = append(p.outsideGitDirs, own, common)
	for _, path := range []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs"), filepath.Join(common, "logs")} {
		if isRealDir(path) {
			p.WritePaths = append(p.WritePaths, path)
		}
	}
}

// isRealDir reports whether path is a directory and goes through no link.
func isRealDir(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real != path {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// allowDirectories lets commands read and change p.Directories. What is read-only in there is so for the
// whole run, as for a program that lasts. With mounts that is git's
// directories and what else is protected. Without them it is
// each entry that has something of that in it, and nothing can be made beside the entries.
func (p *policy) allowDirectories(mounts bool) error {
	p.WritePaths, p.ReadPaths, p.inDirectories = slices.Clip(p.WritePaths), slices.Clip(p.ReadPaths), map[string][]string{}
	for _, dir := range p.Directories {
		inner := policy{Policy: Policy{Workspace: dir, Protected: Protected()}}
		for _, path := range p.ReadOnly {
			if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
				inner.Protected = append(inner.Protected, filepath.ToSlash(rel))
			}
		}
		if err := inner.protectRepositories(); err != nil {
			return err
		}
		inner.Protected = withLinkTargets(dir, inner.Protected)
		p.inDirectories[dir] = inner.Protected
		if !mounts {
			p.ReadPaths = append(p.ReadPaths, dir)
			p.WritePaths = append(p.WritePaths, inner.splitWorkspace().WritePaths...)
			continue
		}
		p.WritePaths = append(p.WritePaths, dir)
		for _, path := range inner.Protected {
			for _, part := range append(parentDirs(path), path) {
				if part == path || filepath.Base(part) == ".git" {
					p.readOnlyParts = append(p.readOnlyParts, filepath.Join(dir, part))
				}
			}
		}
	}
	return nil
}

// splitWorkspace makes each entry of the workspace without protected paths writable, and not
// the workspace directory itself: rules can only add.
func (p policy) splitWorkspace() policy {
	entries, _ := os.ReadDir(p.Workspace)
	p.ReadPaths, p.WritePaths = append(slices.Clone(p.ReadPaths), p.Workspace), slices.Clone(p.WritePaths)
	for _, e := range entries {
		holds := slices.ContainsFunc(p.Protected, func(path string) bool { return isWithin(filepath.Clean(path), e.Name()) })
		if !holds && e.Type()&fs.ModeSymlink == 0 {
			p.WritePaths = append(p.WritePaths, filepath.Join(p.Workspace, e.Name()))
		}
	}
	p.Workspace = ""
	return p
}
