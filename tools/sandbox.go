package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"parley/tools/act"
	"parley/tools/process"
)

// A SandboxConfig is the section [sandbox] of the configuration. The zero value
// sandboxes commands where the system can, and asks for approval where it
// cannot.
type SandboxConfig struct {
	Off      bool     `toml:"off"`      // commands are not sandboxed, so each needs approval
	Required bool     `toml:"required"` // no command runs unsandboxed
	Read     []string `toml:"read"`     // more files and directories that commands may read; ~/ is the home directory
	Write    []string `toml:"write"`    // more files and directories that commands may change
	Env      []string `toml:"env"`      // more variables that commands get, by exact name
}

// Validate returns an error for contradicting or invalid settings.
func (c SandboxConfig) Validate() error {
	if c.Off && c.Required {
		return errors.New("sandbox.required and sandbox.off exclude each other")
	}
	for _, list := range []struct {
		key   string
		paths []string
	}{{"read", c.Read}, {"write", c.Write}} {
		for _, path := range list.paths {
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
				return fmt.Errorf("sandbox.%s: %q begins neither with / nor with ~/", list.key, path)
			}
		}
	}
	for _, name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("sandbox.env: %q is no name of a variable", name)
		}
	}
	return nil
}

// EnableSandbox runs all commands in a sandbox from now on, also those of the views of s; see Sandbox. What commands of
// an earlier parley left that was killed is taken away first, as TakeSandboxNotices then says.
func (s *Set) EnableSandbox(cfg SandboxConfig) {
	s.cmdSandbox = commandSandbox{SandboxConfig: cfg}
	if left := process.Sandbox.Finish(s.realDir); left != "" {
		_, _ = s.notices.Write([]byte(left))
	}
	s.cmdSandbox.probe = sync.OnceValue(func() process.Backend {
		if cfg.Off {
			return process.Backend{Reason: "it is turned off (sandbox.off)"}
		}
		if err := process.Sandbox.Check(process.SandboxPolicy{Workspace: s.realDir, WritePaths: AbsolutePaths(cfg.Write)}, s.places.WorkspaceProblem); err != nil {
			return process.Backend{Reason: err.Error()}
		}
		return process.Sandbox.Probe()
	})
}

// Sandbox waits until the system's sandbox is known and returns it; if none is available, Reason says
// why. Before EnableSandbox and for a nil s it is zero, and commands run without a sandbox.
func (s *Set) Sandbox() process.Backend {
	if s == nil {
		return process.Backend{}
	}
	return s.cmdSandbox.backend()
}

// A commandSandbox is the sandbox of a workspace's commands.
type commandSandbox struct {
	SandboxConfig
	probe func() process.Backend // nil: commands are not sandboxed
}

// backend returns the sandbox of this system.
func (b *commandSandbox) backend() process.Backend {
	if b.probe == nil {
		return process.Backend{}
	}
	return b.probe()
}

// isActive reports whether commands are sandboxed.
func (b *commandSandbox) isActive() bool { return b.backend().Available() }

// SandboxPolicy returns the permissions of commands, also for programs that other packages
// start.
func (w *workspace) SandboxPolicy(network bool) process.SandboxPolicy {
	w.folders.open(w.realDir)
	p := process.Sandbox.Policy(w.realDir, commandEnvironment(os.Environ(), w.cmdSandbox.Env))
	p.ReadPaths = slices.Concat(p.ReadPaths, AbsolutePaths(w.cmdSandbox.Read), w.readable)
	p.WritePaths = AbsolutePaths(w.cmdSandbox.Write)
	if w.problem == "" { // otherwise commands are not sandboxed
		for _, f := range w.places.Within(w.realDir) { // files that commands cannot change
			p.Protected = append(p.Protected, f.Path)
		}
	}
	p.Network, p.Notices = network, &w.notices
	p.Directories, p.ReadOnly = (&Set{workspace: w}).Directories(), directoryPlaces(w)
	if dir, err := w.cacheDir(); err == nil {
		p.WritePaths = append(p.WritePaths, dir)
		p.Env = append(p.Env, "XDG_CACHE_HOME="+dir, "GOCACHE="+filepath.Join(dir, "go-build"), "npm_config_cache="+filepath.Join(dir, "npm"))
	}
	return p
}

// A heldList keeps the sandbox's list of a workspace's folders from its first command on.
type heldList struct {
	mu   sync.Mutex
	stop func() // nil if there is no list
}

func (h *heldList) open(dir string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		h.stop = process.Sandbox.Follow(dir)
	}
}

func (h *heldList) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != nil {
		h.stop()
	}
	h.stop = nil
}

// directoryPlaces returns the absolute paths of credentials and start files in added directories.
func directoryPlaces(w *workspace) (paths []string) {
	for _, f := range addedDirectories(w) {
		for _, p := range w.places.Within(f.dir) {
			paths = append(paths, filepath.Join(f.dir, filepath.FromSlash(p.Path)))
		}
	}
	return paths
}

// cacheDir returns the workspace's cache directory for sandboxed commands. They
// cannot use the user's own caches, because programs outside the sandbox would
// run files left there.
func (w *workspace) cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(w.realDir))
	dir := filepath.Join(base, "parley", "sandbox", hex.EncodeToString(sum[:8]))
	return dir, os.MkdirAll(dir, 0o700)
}

// AbsolutePaths resolves symbolic links in paths and replaces ~/ by the home directory. It leaves out
// relative paths, and those in an unknown home directory. It returns nil for none.
func AbsolutePaths(paths []string) []string {
	var out []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			path = filepath.Join(home, rest)
		}
		if filepath.IsAbs(path) {
			out = append(out, filepath.Clean(path))
		}
	}
	return out
}

// newCommand returns argv in the workspace, not yet started: in the sandbox, or in a
// session of its own. LetGo releases the helper's resources; nil if there is no helper.
func (w *workspace) newCommand(ctx context.Context, r *runningCommand, argv []string) (cmd *exec.Cmd, letGo func(), err error) {
	p, start := process.SandboxPolicy{Workspace: w.realDir}, process.Sandbox.Supervise
	if r.policy != nil {
		p, start = *r.policy, process.Sandbox.Command
		p.Notices = &r.undone
	} else {
		p.Env = commandEnvironment(os.Environ(), w.cmdSandbox.Env)
	}
	p.Ready = act.Ready(ctx)
	return r.Command(start, p, argv)
}
