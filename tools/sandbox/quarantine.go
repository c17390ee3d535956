package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of the files moved to quarantine after one command. Any others stay in
// the workspace under another name.
const (
	maxQuarantineBytes   = 64 << 20
	maxQuarantineEntries = 4096
	maxLevels            = 64 // nesting of directories
)

// Lifetime in quarantine. A large quarantine keeps only the latest directories,
// but everything of the last day, so that commands cannot force the deletion of
// content.
const (
	maxQuarantineAge  = 30 * 24 * time.Hour
	minQuarantineAge  = 24 * time.Hour
	maxQuarantineDirs = 100
	pruneTimeout      = 200 * time.Millisecond // the next command continues
)

// quarantine receives files that replaced a protected path. They may be the user's own work
// from outside the sandbox.
type quarantine struct {
	root      *os.Root // nil: everything stays in the workspace
	path      string   // path of root outside of the sandbox
	dir       string   // directory of this command in root; "" until needed
	locations []string // where things were moved, for the notice
	pending   []movedPath
	deadline  time.Time // end of copying
	bytes     int64
	entries   int
}

// movedPath is on its way to quarantine.
type movedPath struct {
	from        *os.Root
	aside, name string // relative to from; name is the original one
}

// makeQuarantineDir creates the quarantine directory, unless the policy names one. Without a
// cache directory it is a temporary directory, which remove removes only if it is empty.
func makeQuarantineDir(p *policy) (remove func(), err error) {
	if p.QuarantineDir != "" || p.LongRunning || len(p.Protected) == 0 {
		if p.QuarantineDir != "" {
			err = os.MkdirAll(p.QuarantineDir, 0o700)
		}
		return func() {}, err
	}
	if base, err := os.UserCacheDir(); err == nil {
		// Next to the directories that commands may write.
		sum := sha256.Sum256([]byte(p.Workspace))
		dir := filepath.Join(base, "parley", "undone", hex.EncodeToString(sum[:8]))
		if os.MkdirAll(dir, 0o700) == nil {
			p.QuarantineDir = dir
			return func() {}, nil
		}
	}
	if p.QuarantineDir, err = os.MkdirTemp("", "parley-undone-"); err != nil {
		return nil, err
	}
	dir := p.QuarantineDir
	return func() { _ = os.Remove(dir) }, nil
}

// timestampFormat formats timestamps so that they sort by time.
const timestampFormat = "20060102-150405.000000000"

// timestamp returns the current time in this format, precise enough to be
// unique.
func timestamp() string { return time.Now().UTC().Format(timestampFormat) }

// prune removes old directories.
func (h *quarantine) prune(now time.Time) {
	all, _ := readNames(h.root, ".", -1)
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(b, a) }) // the latest first
	kept, until := 0, time.Now().Add(pruneTimeout)
	for _, name := range all {
		if time.Now().After(until) {
			return
		}
		at, err := time.Parse(timestampFormat, name)
		if err != nil {
			continue // not created by the quarantine
		}
		age := now.Sub(at)
		if kept++; age > maxQuarantineAge || kept > maxQuarantineDirs && age > minQuarantineAge {
			_ = removeAll(h.root, name)
		}
	}
}

// moveAside renames name, in one step, to a harmless name.
func (h *quarantine) moveAside(from *os.Root, name string) (string, error) {
	to := name + ".undone-" + timestamp()
	return to, from.Rename(name, to)
}

// add schedules a path that moveAside renamed for flush.
func (h *quarantine) add(from *os.Root, aside, name string) {
	h.pending = append(h.pending, movedPath{from, aside, name})
}

// flush moves scheduled paths to quarantine. Paths that are too large, or would take too
// long, stay aside: otherwise a command could leave so many files that the helper is
// killed before it has finished.
func (h *quarantine) flush() {
	h.deadline = time.Now().Add(quarantineTimeout)
	for _, m := range h.pending {
		if h.copyMoved(m) != nil || removeAll(m.from, m.aside) != nil {
			h.addLocation(filepath.Join(m.from.Name(), m.aside))
		}
	}
	h.pending = nil
}

func (h *quarantine) addLocation(where string) {
	if !slices.Contains(h.locations, where) {
		h.locations = append(h.locations, where)
	}
}

// copyMoved copies a moved path to quarantine.
func (h *quarantine) copyMoved(m movedPath) error {
	if h.root == nil {
		return errors.New("there is no quarantine")
	}
	if h.dir == "" {
		at := timestamp()
		if err := h.root.Mkdir(at, 0o700); err != nil {
			return err
		}
		h.dir = at
	}
	to := path.Join(h.dir, m.name)
	if err := h.root.MkdirAll(path.Dir(to), 0o700); err != nil {
		return err
	}
	if _, err := h.root.Lstat(to); err == nil {
		to += "." + timestamp()
	}
	if err := h.copyTree(rootedPath{m.from, m.aside}, rootedPath{h.root, to}, 0); err != nil {
		return err
	}
	h.addLocation(filepath.Join(h.path, h.dir))
	return nil
}

// rootedPath names a file in a root.
type rootedPath struct {
	*os.Root
	name string
}

// copyTree copies from, which is level levels below the moved path.
func (h *quarantine) copyTree(from, to rootedPath, level int) error {
	info, err := from.Lstat(from.name)
	if err != nil {
		return err
	}
	if h.entries++; h.entries > maxQuarantineEntries || level > maxLevels || time.Now().After(h.deadline) {
		return errors.New("too many files")
	}
	switch {
	case info.Mode().IsRegular():
		if h.bytes += info.Size(); h.bytes > maxQuarantineBytes {
			return errors.New("too large")
		}
		return h.copyFile(from, to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := from.Readlink(from.name)
		if err != nil {
			return err
		}
		return to.Symlink(link, to.name)
	case !info.IsDir():
		return nil // a pipe has no content
	}
	return h.copyDir(from, to, level)
}

// copyDir copies a directory. It opens each directory, because the cost of resolving a path
// grows with its depth.
func (h *quarantine) copyDir(from, to rootedPath, level int) error {
	if err := errors.Join(from.Chmod(from.name, 0o700), to.Mkdir(to.name, 0o700)); err != nil {
		return err
	}
	source, err := from.OpenRoot(from.name)
	if err != nil {
		return err
	}
	defer source.Close()
	copied, err := to.OpenRoot(to.name)
	if err != nil {
		return err
	}
	defer copied.Close()
	all, err := readNames(source, ".", maxQuarantineEntries+1)
	for _, child := range all {
		if err != nil {
			break
		}
		err = h.copyTree(rootedPath{source, child}, rootedPath{copied, child}, level+1)
	}
	return err
}

func (h *quarantine) copyFile(from, to rootedPath, info fs.FileInfo) error {
	if info.Mode().Perm()&0o400 == 0 {
		if err := from.Chmod(from.name, 0o600); err != nil {
			return err
		}
	}
	in, err := from.Open(from.name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(to.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, info.Size()+1))
	if err == nil && n != info.Size() {
		err = errors.New("changed meanwhile")
	}
	return errors.Join(err, out.Close())
}

// readNames returns the names in a directory, at most most if that is positive.
func readNames(root *os.Root, dir string, most int) ([]string, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// removeAll removes name with its content, also from read-only directories.
func removeAll(root *os.Root, name string) error {
	if err := root.RemoveAll(name); err == nil {
		return nil
	}
	makeWritable(root, name)
	return root.RemoveAll(name)
}

func makeWritable(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil || !info.IsDir() || root.Chmod(name, 0o700) != nil {
		return
	}
	all, _ := readNames(root, name, -1)
	for _, child := range all {
		makeWritable(root, name+"/"+child)
	}
}
