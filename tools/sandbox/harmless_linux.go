package sandbox

import (
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// The files that git creates in a new repository run nothing, and may stay:
// sample hooks, config that names no program, and links to them. Any other new
// file in a place that configures git is removed.

// maxNamesChecked bounds the new names that are examined; any further ones do not count as
// git's own.
const maxNamesChecked = 20_000

// isHarmless reports whether a new protected path of a git directory runs nothing.
func (k *keeper) isHarmless(name string) bool {
	dir := path.Dir(name)
	switch path.Base(name) {
	case ".git", "config", "config.worktree", "commondir":
		text, ok := k.readSmall(name)
		return ok && (text == "" || k.isHarmlessText(name, text)) // it was just created, perhaps
	case "hooks":
		return k.isGitDir(dir) && k.allEntries(name, func(hook string) bool {
			return strings.HasSuffix(hook, ".sample") && k.mode(hook).IsRegular()
		})
	case "worktrees":
		return k.isGitDir(dir) && k.allEntries(name, k.isHarmlessGitDir)
	case "modules":
		return k.isGitDir(dir) && k.allEntries(name, func(module string) bool {
			return k.isHarmlessGitDir(module) && (k.exists(path.Join(module, "HEAD")) || k.allEntries(module, k.isHarmlessGitDir))
		})
	}
	return false
}

// isHarmlessText reports whether a new file of a git directory with this text runs nothing.
func (k *keeper) isHarmlessText(name, text string) bool {
	dir, line := path.Dir(name), strings.TrimSpace(text)
	switch path.Base(name) {
	case ".git": // it names a git directory in the workspace
		to, isLink := strings.CutPrefix(line, "gitdir:")
		return isLink && k.staysInside(dir, strings.TrimSpace(to))
	case "commondir":
		return path.Base(path.Dir(dir)) == "worktrees" && line == "../.." && k.isGitDir(path.Join(dir, "../.."))
	}
	return k.isGitDir(dir) && isHarmlessConfig(text, func(to string) bool { return k.staysInside(dir, to) })
}

// isHarmlessGitDir reports whether a new git directory inside of another, which may not be complete, runs nothing.
func (k *keeper) isHarmlessGitDir(gitDir string) bool {
	head := path.Join(gitDir, "HEAD")
	if !k.mode(gitDir).IsDir() || k.exists(head) && !k.mode(head).IsRegular() {
		return false
	}
	k.gitDirs[gitDir] = true
	for _, name := range gitConfigPaths(gitDir) {
		if k.exists(name) && !k.isHarmless(name) {
			return false
		}
	}
	return true
}

// isGitDir reports whether dir is a git directory that was examined.
func (k *keeper) isGitDir(dir string) bool {
	return k.gitDirs[dir] || slices.Contains(k.before.Protected, path.Join(dir, "config"))
}

// staysInside reports whether a path, relative to dir, goes through no link and is in the
// workspace.
func (k *keeper) staysInside(dir, to string) bool {
	if !filepath.IsAbs(to) {
		to = filepath.Join(k.root.Name(), dir, to)
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil || real != filepath.Clean(to) {
		return false
	}
	inside, err := filepath.Rel(k.root.Name(), real)
	return err == nil && filepath.IsLocal(inside)
}

// allEntries reports whether dir is a small directory and good holds for each entry.
func (k *keeper) allEntries(dir string, good func(name string) bool) bool {
	const most = 100
	if !k.mode(dir).IsDir() {
		return false
	}
	names, err := k.names(dir, most+1)
	if k.namesChecked += len(names); k.namesChecked > maxNamesChecked || strings.Count(dir, "/") > maxLevels {
		return false
	}
	return err == nil && len(names) <= most && !slices.ContainsFunc(names, func(name string) bool { return !good(path.Join(dir, name)) })
}

// readSmall returns the content of a small regular file; !ok for others.
func (k *keeper) readSmall(name string) (string, bool) {
	d, err := k.openParent(name)
	if err != nil {
		return "", false
	}
	defer d.Close()
	f, err := d.OpenFile(path.Base(name))
	if err != nil || f.Size > maxConfigBytes {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	return string(data), err == nil && len(data) <= maxConfigBytes
}

// Lines of config in git's own format. Other formats, which a user could have
// written, could hide something.
var (
	sectionLine = lazy.NewRegexp(`^\[([A-Za-z0-9-]+)(?: "([^"\\]*)")?\]$`)
	settingLine = lazy.NewRegexp(`^[ \t]+([A-Za-z][A-Za-z0-9-]*) = ([^"\\;#]*)$`)
)

// harmlessSettings lists settings that run nothing with any value; * stands for any name
// in quotes.
var harmlessSettings = []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
	"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol",
	"extensions.objectformat", "extensions.refstorage", "user.name", "user.email", "init.defaultbranch",
	"remote.*.url", "remote.*.fetch", "branch.*.remote", "branch.*.merge", "branch.*.rebase",
	"submodule.*.url", "submodule.*.active", "submodule.active",
}

// isHarmlessConfig reports whether git config in text runs nothing. Inside reports whether a
// directory that it names is in the workspace.
func isHarmlessConfig(text string, inside func(dir string) bool) bool {
	return allSettings(text, func(key, value string) bool {
		if key == "core.worktree" {
			return inside(value)
		}
		return slices.Contains(harmlessSettings, key) && !(strings.HasSuffix(key, ".url") && (strings.Contains(value, "::") || strings.HasPrefix(value, "-")))
	})
}

// allSettings reports whether text is config in git's own format, and good returns true for
// each setting. Keys are in lower case, with * for a name in quotes.
func allSettings(text string, good func(key, value string) bool) bool {
	where := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			where = strings.ToLower(m[1])
			if strings.Contains(line, `"`) {
				where += ".*"
			}
			continue
		}
		m := settingLine.FindStringSubmatch(line)
		if m == nil || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' }) {
			return false
		}
		if !good(where+"."+strings.ToLower(m[1]), strings.TrimSpace(m[2])) {
			return false
		}
	}
	return true
}
