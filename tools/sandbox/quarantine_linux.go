package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/tools/openat"
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

// A quarantine receives what is taken away. It may be the user's own work from outside the sandbox.
type quarantine struct {
	path      string   // beside the directories that commands may write; "": everything stays in the workspace under another name
	dir       string   // of this keeper in path; "" until needed
	locations []string // where things were moved since the last notice
}

// undoneDir returns the directory of the quarantine of a workspace, and of its journals; "" if there is none.
func undoneDir(workspace string) string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(base, "parley", "undone", hex.EncodeToString(sum[:8]))
}

// timestampFormat formats timestamps so that they sort by time.
const timestampFormat = "20060102-150405.000000000"

// timestamp returns the current time in this format, precise enough to be
// unique.
func timestamp() string { return time.Now().UTC().Format(timestampFormat) }

// take moves name to quarantine, or aside if that is on another file system.
func (k *keeper) take(name string) error {
	err := k.moveOut(name)
	if errors.Is(err, fs.ErrPermission) {
		makeReadable(k.root, path.Dir(name))
		err = k.moveOut(name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) { // another parley may have been faster
		return nil
	}
	from, err := k.openParent(name)
	if err != nil {
		return err
	}
	defer from.Close()
	aside := name + ".undone-" + timestamp()
	if err := unix.Renameat(from.Fd(), path.Base(name), from.Fd(), path.Base(aside)); err != nil {
		return err
	}
	k.addLocation(filepath.Join(k.root.Name(), aside))
	return nil
}

// openParent opens the directory that a name is in, through no link: a command could lead it to files of the user.
func (k *keeper) openParent(name string) (openat.Dir, error) { return k.top.Open(path.Dir(name)) }

func (k *keeper) moveOut(name string) error {
	from, err := k.openParent(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if k.quarantine.path == "" {
		return errors.ErrUnsupported
	}
	for range 2 {
		if k.dir == "" {
			k.dir = timestamp()
		}
		kept := filepath.Join(k.quarantine.path, k.dir)
		err = os.MkdirAll(kept, 0o700)
		if err == nil {
			err = moveInto(kept, from.Fd(), name)
		}
		if err == nil {
			k.addLocation(kept)
			return nil
		}
		k.dir = "" // another of this name may be there
	}
	return err
}

// moveInto moves the last part of name, which is in from, to name in the directory kept. What was moved there before may
// be links: none leads out of it.
func moveInto(kept string, from int, name string) error {
	to, err := os.OpenRoot(kept)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	parent, err := to.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return unix.Renameat2(from, path.Base(name), int(parent.Fd()), path.Base(name), unix.RENAME_NOREPLACE)
}

func (k *keeper) addLocation(where string) {
	if !slices.Contains(k.locations, where) {
		k.locations = append(k.locations, where)
	}
}

// makeReadable makes dir, and all directories above it, readable.
func makeReadable(root *os.Root, dir string) {
	for _, name := range append(parentDirs(dir), dir) {
		info, err := root.Lstat(name)
		if err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			_ = root.Chmod(name, info.Mode().Perm()|0o700)
		}
	}
}

// prune removes old directories.
func (q *quarantine) prune(now time.Time) {
	root, err := os.OpenRoot(q.path)
	if err != nil {
		return
	}
	defer root.Close()
	all, _ := fs.ReadDir(root.FS(), ".")
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(b.Name(), a.Name()) }) // the latest first
	kept, until := 0, time.Now().Add(pruneTimeout)
	for _, e := range all {
		if time.Now().After(until) {
			return
		}
		at, err := time.Parse(timestampFormat, e.Name())
		if err != nil {
			continue // not created by the quarantine
		}
		age := now.Sub(at)
		if kept++; age > maxQuarantineAge || kept > maxQuarantineDirs && age > minQuarantineAge {
			_ = removeAll(root, e.Name())
		}
	}
}

// removeAll removes name with its content, also from read-only directories.
func removeAll(root *os.Root, name string) error {
	if err := root.RemoveAll(name); err == nil {
		return nil
	}
	_ = fs.WalkDir(root.FS(), name, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = root.Chmod(p, 0o700)
		}
		return nil
	})
	return root.RemoveAll(name)
}
