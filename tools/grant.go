package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/tools/places"
	"parley/tools/process"
)

// ServerPolicy is SandboxPolicy for a long-running program, such as an MCP server. Key names the
// program, which gets its own cache, so that it does not run files that commands left in theirs.
// Env is its environment; own reports which variables the user has set for this program. If the
// directory is not used as a workspace, the program works in an empty one.
func (s *Set) ServerPolicy(key string, network bool, env []string, own func(name string) bool) (process.SandboxPolicy, error) {
	cache, err := serverCacheDir(key)
	if err != nil {
		return process.SandboxPolicy{}, err
	}
	p := s.SandboxPolicy(network)
	if s.problem != "" {
		if p.Workspace, p.Protected = filepath.Join(cache, "empty"), nil; os.MkdirAll(p.Workspace, 0o700) != nil {
			return process.SandboxPolicy{}, os.ErrPermission
		}
	}
	p.LongRunning = true
	p.WritePaths = append(AbsolutePaths(s.cmdSandbox.Write), cache)
	set := map[string]bool{}
	p.Env = nil
	for _, entry := range cacheVariables(cache, network) {
		if name, _, _ := strings.Cut(entry, "="); !own(name) {
			set[name] = true
			p.Env = append(p.Env, entry)
		}
	}
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !set[name] {
			p.Env = append(p.Env, entry)
		}
	}
	return p, nil
}

// serverCacheDir returns the cache directory of one program.
func serverCacheDir(key string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	dir := filepath.Join(base, "parley", "servers", hex.EncodeToString(sum[:8]))
	return dir, os.MkdirAll(dir, 0o700)
}

// cacheVariables returns the variables that make package runners keep their downloads in
// dir.
func cacheVariables(dir string, network bool) []string {
	at := func(name string) string { return filepath.Join(dir, name) }
	env := []string{
		"XDG_CACHE_HOME=" + dir, "npm_config_cache=" + at("npm"), "npm_config_update_notifier=false", "npm_config_prefer_offline=true", "npm_config_store_dir=" + at("pnpm"),
		"BUN_INSTALL_CACHE_DIR=" + at("bun"), "DENO_DIR=" + at("deno"), "UV_CACHE_DIR=" + at("uv"), "UV_TOOL_DIR=" + at("uv-tools"),
		"GOCACHE=" + at("go-build"),
	}
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.Stat(filepath.Join(home, ".local", "share", "uv", "python")); err != nil {
			env = append(env, "UV_PYTHON_INSTALL_DIR="+at("uv-python"))
		}
	}
	if !network {
		env = append(env, "npm_config_fetch_retries=0") // without a network, retries would only take time
	}
	return env
}

// GrantablePath returns the file or directory to allow so that a program confined by p can reach
// path: its project, its directory, or the file alone if the directory is not used as a workspace.
// It is "" if the program can reach path already, and for paths that need a deliberate decision:
// home directories, those of the system, and sensitive places.
func GrantablePath(p process.SandboxPolicy, path string, write bool) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = nearestExisting(path)
	}
	reachable := append([]string{p.Workspace}, p.WritePaths...)
	if !write {
		reachable = append(reachable, p.ReadPaths...)
	}
	if slices.ContainsFunc(reachable, func(dir string) bool { return dir != "" && isWithin(real, dir) }) {
		return ""
	}
	table := places.New(os.Getenv)
	if table.Of(real).Class != "" || real == string(filepath.Separator) || isSystemPath(real) {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		if table.WorkspaceProblem(real) != "" {
			return ""
		}
		return real
	}
	if dir := projectDir(filepath.Dir(real)); table.WorkspaceProblem(dir) == "" {
		return dir
	}
	return real
}

// isSystemPath reports whether a path belongs to the system: every command may read
// it and none may change it.
func isSystemPath(path string) bool {
	return slices.ContainsFunc([]string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix", "/proc", "/sys", "/dev", "/etc", "/System", "/Library"}, func(dir string) bool {
		return isWithin(path, dir)
	})
}

// nearestExisting returns path or its nearest existing parent, without links.
func nearestExisting(path string) string {
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			return real
		}
	}
}

// projectFiles mark the top directory of a project.
var projectFiles = []string{"package.json", "pyproject.toml", "go.mod", "Cargo.toml", "pyvenv.cfg", ".git"}

// projectDir returns the nearest directory at or above dir with a project file, or dir. For a
// package installed by npm it is the outermost node_modules, because packages import each other.
func projectDir(dir string) string {
	const modules = string(filepath.Separator) + "node_modules"
	if i := strings.Index(dir+string(filepath.Separator), modules+string(filepath.Separator)); i >= 0 {
		return dir[:i+len(modules)]
	}
	const far = 6
	at := dir
	for range far {
		for _, name := range projectFiles {
			if _, err := os.Lstat(filepath.Join(at, name)); err == nil {
				return at
			}
		}
		if at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	return dir
}

// isWithin reports whether an absolute path is dir or below it; both are clean.
func isWithin(path, dir string) bool {
	dir = strings.TrimSuffix(dir, string(filepath.Separator))
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}
