package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// homeToolchains holds the files and directories below the home directory that builds read:
// toolchains and their downloads. None holds secrets; git's config is here and its
// credentials are not.
var homeToolchains = []string{
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
	"bin", ".local/bin", ".local/lib",
	"go", "sdk", // Go
	".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".rustup",
	".nvm", ".volta", ".bun/bin", ".deno/bin", ".local/share/pnpm", // JavaScript
	".pyenv", ".local/share/uv", ".local/share/virtualenvs", ".virtualenvs", "miniconda3", "anaconda3",
	".rbenv", ".rvm", ".gem/ruby", ".asdf", ".local/share/mise", ".sdkman",
	".m2/repository", ".gradle/wrapper", ".gradle/caches", ".dotnet", ".nuget/packages", ".ghcup", ".elan",
}

// toolchainVariables name the directories of toolchains.
var toolchainVariables = []string{"GOROOT", "GOPATH", "GOMODCACHE", "RUSTUP_HOME", "JAVA_HOME", "VIRTUAL_ENV", "NVM_DIR", "PNPM_HOME"}

// ReadablePaths returns what a command usually reads beside the system and the workspace:
// toolchains in the home directory and on the PATH of environ. Secrets, which are elsewhere
// in the home directory, are not in it.
func ReadablePaths(environ []string) []string {
	var named []string
	home := ""
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "HOME":
			home = value
		case name == "PATH", slices.Contains(toolchainVariables, name):
			named = append(named, filepath.SplitList(value)...)
		}
	}
	if filepath.IsAbs(home) {
		for _, path := range homeToolchains {
			named = append(named, filepath.Join(home, path))
		}
	}
	var out []string
	for _, path := range named {
		path = filepath.Clean(path)
		if filepath.IsAbs(path) && !exposesSecrets(path, home) && !linksToSecrets(path, home) && exists(path) && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// secretDirs holds the directories below the home directory that [ReadablePaths] never
// returns, whatever a variable says.
var secretDirs = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".password-store", ".netrc", ".config", ".local/share", ".local/state",
}

// exposesSecrets reports whether reading path would expose secrets of home: path is home,
// contains it, or is or contains one of secretDirs.
func exposesSecrets(path, home string) bool {
	if home == "" {
		return path == "/"
	}
	if isWithin(home, path) {
		return true
	}
	return slices.ContainsFunc(secretDirs, func(s string) bool {
		s = filepath.Join(home, s)
		return isWithin(s, path) || path == s
	})
}

// linksToSecrets reports whether a path without secrets of home is a link, or leads through one,
// to some.
func linksToSecrets(path, home string) bool {
	real := resolved(path)
	if real == path || home == "" {
		return real == "/"
	}
	realHome := resolved(home)
	return exposesSecrets(real, realHome) || slices.ContainsFunc(secretDirs, func(s string) bool {
		return isWithin(real, filepath.Join(realHome, s)) && !isWithin(path, filepath.Join(home, s))
	})
}

// dropReplaceable drops the paths to read or write that lead through a directory that a command
// can write to: there is nothing to add to that, and where a command has put a link in the place
// of such a path, the next one would be given what that leads to.
func (p *policy) dropReplaceable() {
	dirs := []string{resolved(p.Workspace)}
	for _, dir := range p.Directories {
		dirs = append(dirs, resolved(dir))
	}
	var writable []string // of WritePaths
	for _, path := range p.WritePaths {
		writable = append(writable, resolved(path))
	}
	p.ReadPaths = slices.DeleteFunc(slices.Clone(p.ReadPaths), func(path string) bool { return passes(path, slices.Concat(dirs, writable)) })
	p.WritePaths = slices.DeleteFunc(slices.Clone(p.WritePaths), func(path string) bool {
		real := resolved(path) // under another name it may be in the list again
		return passes(path, slices.Concat(dirs, slices.DeleteFunc(slices.Clone(writable), func(dir string) bool { return dir == real })))
	})
}

// passes reports whether path, or a link on the way of it, is in one of dirs, which have no links
// in them.
func passes(path string, dirs []string) bool {
	const maxLinks = 40
	separator := string(filepath.Separator)
	done, todo := separator, strings.Split(path, separator)
	for links := 0; len(todo) > 0; {
		step := todo[0]
		todo, done = todo[1:], filepath.Join(done, step) // it has no links before step, so that .. is the directory above
		if slices.ContainsFunc(dirs, func(dir string) bool { return isWithin(done, dir) }) {
			return true
		}
		to, err := os.Readlink(done)
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return true
		}
		if done = filepath.Dir(done); filepath.IsAbs(to) {
			done = separator
		}
		todo = append(strings.Split(to, separator), todo...)
	}
	return false
}

// resolved returns path without links if it is there, else as it is, cleaned.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// check reports why p cannot be enforced: it would restrict nothing. Directories in
// WritePaths follow the rules of a workspace; problem says why one is none.
func check(p Policy, problem func(dir string) string) error {
	if !filepath.IsAbs(p.Workspace) {
		return fmt.Errorf("workspace %q is not absolute", p.Workspace)
	}
	if why := problem(filepath.Clean(p.Workspace)); why != "" {
		return fmt.Errorf("the folder is no workspace: it %s. Start in a project's folder", why)
	}
	for _, path := range p.WritePaths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue // one file, by its name
		}
		if why := problem(filepath.Clean(path)); why != "" {
			return fmt.Errorf("%s cannot be changed as a whole: it %s", path, why)
		}
	}
	for _, path := range p.Protected {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("protected path %q leads out of the workspace", path)
		}
	}
	return nil
}
