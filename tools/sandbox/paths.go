package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// homeToolchains are the files and directories below the home directory that builds read:
// toolchains and their downloads. None has secrets: git's config is included, its
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

// ReadablePaths returns the paths that commands usually read besides the system and the
// workspace: toolchains in the home directory and on the PATH of environ. Secrets elsewhere
// in the home directory are not included.
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

// secretDirs are the directories below the home directory that [ReadablePaths] never
// returns, even if a variable names them.
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

// linksToSecrets reports whether a path outside of home's secrets leads to some through a link.
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
// can write to. They are writable already, and a command could replace such a path by a link,
// giving the next command access to its target.
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
		real := resolved(path) // the same directory may be listed under another name
		return passes(path, slices.Concat(dirs, slices.DeleteFunc(slices.Clone(writable), func(dir string) bool { return dir == real })))
	})
}

// passes reports whether path, or a link in it, is in one of dirs, which are without links.
func passes(path string, dirs []string) bool {
	const maxLinks = 40
	separator := string(filepath.Separator)
	done, todo := separator, strings.Split(path, separator)
	for links := 0; len(todo) > 0; {
		step := todo[0]
		todo, done = todo[1:], filepath.Join(done, step) // no links precede step, so that .. is the parent
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

// resolved returns path without links if it exists, else path cleaned.
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

// check returns why p cannot be enforced, because it would restrict nothing.
// Directories in WritePaths follow the rules of a workspace; problem says why a
// directory cannot be one.
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
			continue // a single file named explicitly
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
