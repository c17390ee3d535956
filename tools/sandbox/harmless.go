package sandbox

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What git makes in a repository that is new runs nothing, and may stay: hooks
// that are samples, settings that name no program, and what leads to them. All
// else that appears where git is configured does not stay.

// maxNamesChecked is how much that is new is looked at, before the rest is no longer
// taken for what git has made.
const maxNamesChecked = 20_000

// isHarmless reports whether what has appeared at a protected path of a git directory
// runs nothing.
func (s *snapshot) isHarmless(name string) bool {
	dir := path.Dir(name)
	switch path.Base(name) {
	case ".git":
		return s.gitFileStaysInside(name)
	case "hooks":
		return s.isGitDir(dir) && s.allEntries(name, func(hook string) bool {
			return strings.HasSuffix(hook, ".sample") && s.mode(hook).IsRegular()
		})
	case "config", "config.worktree":
		text, ok := s.readSmall(name)
		return ok && s.isGitDir(dir) && isHarmlessConfig(text, func(to string) bool { return s.staysInside(dir, to) })
	case "commondir":
		text, ok := s.readSmall(name)
		return ok && path.Base(path.Dir(dir)) == "worktrees" && strings.TrimSpace(text) == "../.." && s.isGitDir(path.Join(dir, "../.."))
	case "worktrees":
		return s.isGitDir(dir) && s.allEntries(name, s.isHarmlessGitDir)
	case "modules":
		return s.isGitDir(dir) && s.allEntries(name, func(module string) bool {
			return s.isHarmlessGitDir(module) || !s.exists(path.Join(module, "HEAD")) && s.allEntries(module, s.isHarmlessGitDir)
		})
	}
	return false
}

// isHarmlessGitDir reports whether nothing in a git directory inside of another, which is
// new, is set to run anything.
func (s *snapshot) isHarmlessGitDir(gitFolder string) bool {
	if !s.mode(gitFolder).IsDir() || !s.mode(path.Join(gitFolder, "HEAD")).IsRegular() {
		return false
	}
	s.newGitDirs[gitFolder] = true
	for _, name := range gitConfigPaths(gitFolder) {
		if s.exists(name) && !s.isHarmless(name) {
			return false
		}
	}
	return true
}

// isGitDir reports whether dir is a git directory that was looked at.
func (s *snapshot) isGitDir(dir string) bool {
	return s.newGitDirs[dir] || slices.Contains(s.paths, path.Join(dir, "config"))
}

// gitFileStaysInside reports whether a .git that is a file leads to a git directory in the
// workspace.
func (s *snapshot) gitFileStaysInside(name string) bool {
	text, ok := s.readSmall(name)
	to, isLink := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	return ok && isLink && s.staysInside(path.Dir(name), strings.TrimSpace(to))
}

// staysInside reports whether a path, seen from dir, leads through no link to where
// it says, and that is in the workspace.
func (s *snapshot) staysInside(dir, to string) bool {
	if !filepath.IsAbs(to) {
		to = filepath.Join(s.root.Name(), dir, to)
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil || real != filepath.Clean(to) {
		return false
	}
	inside, err := filepath.Rel(s.root.Name(), real)
	return err == nil && filepath.IsLocal(inside)
}

func (s *snapshot) mode(name string) fs.FileMode {
	info, err := s.root.Lstat(name)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode()
}

func (s *snapshot) exists(name string) bool {
	_, err := s.root.Lstat(name)
	return err == nil
}

// allEntries reports whether a directory is one, and small, and good says yes to all that
// is in it.
func (s *snapshot) allEntries(dir string, good func(name string) bool) bool {
	const most = 100
	if !s.mode(dir).IsDir() {
		return false
	}
	names, err := s.listNames(dir, most+1)
	if s.namesChecked += len(names); s.namesChecked > maxNamesChecked || strings.Count(dir, "/") > maxLevels {
		return false
	}
	return err == nil && len(names) <= most && !slices.ContainsFunc(names, func(name string) bool { return !good(path.Join(dir, name)) })
}

// readSmall is the content of a small regular file.
func (s *snapshot) readSmall(name string) (string, bool) {
	info, err := s.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfigBytes {
		return "", false
	}
	data, err := s.root.ReadFile(name)
	return string(data), err == nil
}

// The form that git gives to settings it writes. In others, which a user
// could have written as well, something could hide.
var (
	sectionLine = regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?: "([^"\\]*)")?\]$`)
	settingLine = regexp.MustCompile(`^[ \t]+([A-Za-z][A-Za-z0-9-]*) = ([^"\\;#]*)$`)
)

// harmlessSettings are the settings that run nothing, whatever their value; * is any name
// in quotes.
var harmlessSettings = []string{
	"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase",
	"core.precomposeunicode", "core.symlinks", "core.autocrlf", "core.eol",
	"extensions.objectformat", "extensions.refstorage", "user.name", "user.email", "init.defaultbranch",
	"remote.*.url", "remote.*.fetch", "branch.*.remote", "branch.*.merge", "branch.*.rebase",
	"submodule.*.url", "submodule.*.active", "submodule.active",
}

// isHarmlessConfig reports whether git's settings in text run nothing. Inside says
// whether a directory that they name is in the workspace.
func isHarmlessConfig(text string, inside func(folder string) bool) bool {
	return allSettings(text, func(key, value string) bool {
		if key == "core.worktree" {
			return inside(value)
		}
		return slices.Contains(harmlessSettings, key) && !(strings.HasSuffix(key, ".url") && (strings.Contains(value, "::") || strings.HasPrefix(value, "-")))
	})
}

// allSettings reports whether text is settings in the form that git writes, and good
// says yes to each. Keys are in lower case, with * for a name in quotes.
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
