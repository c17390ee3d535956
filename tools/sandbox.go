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
	"sync/atomic"

	"parley/tools/act"
	"parley/tools/process"
)

// A SandboxConfig is how commands are held; the section [sandbox] of the
// configuration. The zero value holds them where the system can, and asks where
// it cannot.
type SandboxConfig struct {
	Off      bool     `toml:"off"`      // commands are not held, and so ask each time
	Required bool     `toml:"required"` // no command runs that is not held
	Read     []string `toml:"read"`     // further files and directories commands may read; ~/ is the home directory
	Write    []string `toml:"write"`    // further ones they may change
	Env      []string `toml:"env"`      // further variables they get, by their exact names
}

// Validate reports what no configuration may say.
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

// EnableSandbox runs all commands in a sandbox from now on, also those of the views of s; see Sandbox.
func (s *Set) EnableSandbox(cfg SandboxConfig) {
	s.cmdSandbox = commandSandbox{SandboxConfig: cfg, watch: new(atomic.Pointer[process.RepositoryWatch])}
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

// Sandbox waits until the sandbox of this system is known, and returns it; if there is none, Reason says
// why. It is zero, and commands run without a sandbox, before EnableSandbox and for a nil s.
func (s *Set) Sandbox() process.Backend {
	if s == nil {
		return process.Backend{}
	}
	return s.cmdSandbox.backend()
}

// WatchBeside provides for a program that runs beside commands of s: from now on, and without end,
// each command looks for repositories that have appeared in between, in the workspace and in added
// directories. Where commands are not held it does nothing.
func (s *Set) WatchBeside() {
	s.watchRepositories()
	if s.cmdSandbox.isActive() {
		watchDirectories(s.workspace, true) // without end
	}
}

// watchRepositories has each command look for repositories that a program beside it has made.
func (w *workspace) watchRepositories() {
	if w.cmdSandbox.isActive() && w.cmdSandbox.watch.Load() == nil {
		watch := process.Sandbox.NewWatch(w.realDir)
		w.cmdSandbox.watch.CompareAndSwap(nil, &watch)
	}
}

// quarantineNew sets aside what a program beside has made for git to run, and tells it.
func (b *commandSandbox) quarantineNew() string {
	if b.watch == nil || b.watch.Load() == nil {
		return ""
	}
	return strings.TrimSpace((*b.watch.Load()).QuarantineNew())
}

// acceptRepositories takes what a command has made that was not held: a user has let it.
func (b *commandSandbox) acceptRepositories() {
	if b.watch != nil && b.watch.Load() != nil {
		(*b.watch.Load()).Accept()
	}
}

// A commandSandbox is how the commands of a workspace are held.
type commandSandbox struct {
	SandboxConfig
	probe func() process.Backend                   // nil: they are not held
	watch *atomic.Pointer[process.RepositoryWatch] // to nil: no program runs beside; nil: none can
}

// backend returns the sandbox of this system.
func (b *commandSandbox) backend() process.Backend {
	if b.probe == nil {
		return process.Backend{}
	}
	return b.probe()
}

// isActive reports whether commands are held.
func (b *commandSandbox) isActive() bool { return b.backend().Available() }

// SandboxPolicy returns what commands may do, also for programs that others start. Where one may
// run beside commands of the workspace, WatchBeside comes first.
func (w *workspace) SandboxPolicy(network bool) process.SandboxPolicy {
	p := process.Sandbox.Policy(w.realDir, commandEnvironment(os.Environ(), w.cmdSandbox.Env))
	p.ReadPaths = slices.Concat(p.ReadPaths, AbsolutePaths(w.cmdSandbox.Read), w.readable)
	p.WritePaths = AbsolutePaths(w.cmdSandbox.Write)
	if w.problem == "" { // else nothing is held there
		for _, f := range w.places.Within(w.realDir) { // which keep their content whatever a command does
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

// directoryPlaces returns the places with credentials and start files in added directories, absolute.
func directoryPlaces(w *workspace) (paths []string) {
	for _, f := range addedDirectories(w) {
		for _, p := range w.places.Within(f.dir) {
			paths = append(paths, filepath.Join(f.dir, filepath.FromSlash(p.Path)))
		}
	}
	return paths
}

// cacheDir returns where held commands keep what they have built and fetched. The
// user's own caches are not for them: what a command leaves there, programs
// outside of the sandbox would run. Each workspace has its own.
func (w *workspace) cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(w.realDir))
	dir := filepath.Join(base, "parley", "sandbox", hex.EncodeToString(sum[:8]))
	return dir, os.MkdirAll(dir, 0o700)
}

// AbsolutePaths returns paths as they are on the disk, with ~/ replaced by the home directory, and
// leaves out relative ones, and those in a home directory that is not known. It returns nil for none.
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

// newCommand returns argv in the workspace, not yet started: in the sandbox, or else in a
// session of its own. LetGo, nil where there is no helper, ends what the helper
// keeps.
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
