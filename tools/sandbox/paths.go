package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/places"
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
		if filepath.IsAbs(path) && !exposesSecrets(path, home) && exists(path) && !slices.Contains(out, path) {
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Check reports why p cannot be enforced: it would restrict nothing. Directories in
// WritePaths follow the rules of a workspace.
func (p Policy) Check() error { return p.CheckAgainst(places.New(os.Getenv)) }

// CheckAgainst does as Check, with a table that was made before.
func (p Policy) CheckAgainst(table *places.Table) error {
	if !filepath.IsAbs(p.Workspace) {
		return fmt.Errorf("workspace %q is not absolute", p.Workspace)
	}
	if why := table.WorkspaceProblem(filepath.Clean(p.Workspace)); why != "" {
		return fmt.Errorf("the folder is no workspace: it %s. Start in a project's folder", why)
	}
	for _, path := range p.WritePaths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue // one file, by its name
		}
		if why := table.WorkspaceProblem(filepath.Clean(path)); why != "" {
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
