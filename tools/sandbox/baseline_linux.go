package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A baseline is what configured or ran programs in a workspace before the commands that run there
// now. It is also the content of a journal.
type baseline struct {
	Workspace string
	Lasting   bool                            // only programs run that last as long as the user works
	Mounted   bool                            // what exists of Protected is read-only for the commands
	Protected []string                        // relative to Workspace, with slashes; missing ones too
	GitDirs   []string                        // git directories
	Links     []string                        // links above Protected
	Layout    []string                        // existing parts of gitDirLayout in directories that are no git directories
	Found     map[string]saved                // what existed of Protected; unless Mounted, with all that is in it and the directories above
	States    map[string]map[string]fileState // state files by git directory and file
}

// A saved file is one of a baseline.
type saved struct {
	Mode fs.FileMode
	Size int64
	Data []byte // of a link its target, of a file its content unless the baseline is Mounted
	Lost bool   // it could not be read, or was too large
}

// Bounds of what a baseline holds. Git's hooks and config are a few kilobytes.
const (
	maxSavedBytes = 8 << 20
	maxSavedFiles = 4096
	maxLevels     = 64 // nesting of directories
)

// save adds what exists of a protected path to the baseline.
func (k *keeper) save(name string) {
	if !k.before.Mounted {
		for _, dir := range parentDirs(name) {
			if _, known := k.before.Found[dir]; !known {
				k.saveFile(dir, false)
			}
		}
	}
	k.saveFile(name, true)
}

func (k *keeper) saveFile(name string, deep bool) {
	info, err := k.root.Lstat(name)
	if err != nil {
		return
	}
	was := saved{Mode: info.Mode(), Size: info.Size()}
	k.savedBytes += was.Size
	switch {
	case was.Mode&fs.ModeSymlink != 0:
		was.Data, err = k.readLink(name)
	case k.before.Mounted:
	case len(k.before.Found) >= maxSavedFiles, strings.Count(name, "/") > maxLevels, was.Mode.IsRegular() && k.savedBytes > maxSavedBytes:
		was.Lost = true
	case was.Mode.IsRegular():
		was.Data, err = readRegular(k.root, name, was.Size)
	case was.Mode.IsDir() && deep:
		var children []string
		children, err = k.names(name, -1)
		for _, child := range children {
			k.saveFile(name+"/"+child, true)
		}
	case was.Mode.IsDir(): // held open, it is found again wherever it is moved
		k.held[name], err = k.root.Open(name)
	}
	was.Lost = was.Lost || err != nil
	k.before.Found[name] = was
}

// isAs reports whether name is as it was. It reads no more than it was.
func (k *keeper) isAs(was saved, name string) bool {
	info, err := k.root.Lstat(name)
	if err != nil {
		return false
	}
	const what = fs.ModeType | fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid
	data := was.Data
	switch {
	case k.held[name] != nil: // the modes of others of such a directory may change
		wanted, err := k.held[name].Stat()
		return err == nil && os.SameFile(wanted, info) && info.Mode().Perm()&0o700 == was.Mode.Perm()&0o700
	case info.Mode()&what != was.Mode&what:
		return false
	case was.Mode&fs.ModeSymlink != 0:
		data, err = k.readLink(name)
	case was.Mode.IsRegular() && info.Size() != was.Size:
		return false
	case was.Mode.IsRegular() && !was.Lost:
		data, err = readRegular(k.root, name, was.Size)
	}
	return err == nil && bytes.Equal(data, was.Data)
}

// isWhole reports whether a protected path, all that is in it, and the directories above it are as they were.
func (k *keeper) isWhole(name string) bool {
	for p, was := range k.before.Found {
		switch {
		case p != name && !isWithin(p, name) && !isWithin(name, p):
		case !k.isAs(was, p):
			return false
		case k.held[p] == nil && was.Mode.IsDir() && !was.Lost && (p == name || isWithin(p, name)):
			children, err := k.names(p, -1)
			if err != nil || slices.ContainsFunc(children, func(child string) bool { _, known := k.before.Found[p+"/"+child]; return !known }) {
				return false
			}
		}
	}
	return true
}

// putBack makes a protected path, all that is in it, and the directories above it as they were.
func (k *keeper) putBack(name string, c *changes) {
	k.takeNew(name, name, c)
	for _, p := range slices.Sorted(maps.Keys(k.before.Found)) { // parents come first
		was := k.before.Found[p]
		if p != name && !isWithin(p, name) && !isWithin(name, p) || k.isAs(was, p) {
			continue
		}
		shown := name
		if k.held[p] != nil {
			shown = p
		}
		c.note(shown, k.put(was, p))
	}
}

// takeNew takes away what is at or below p and was not in the baseline.
func (k *keeper) takeNew(p, name string, c *changes) {
	was, known := k.before.Found[p]
	if !known && k.exists(p) {
		c.note(name, k.take(p))
		return
	}
	if known && was.Mode.IsDir() && !was.Lost {
		children, err := k.names(p, -1)
		if errors.Is(err, fs.ErrPermission) {
			makeReadable(k.root, p)
			children, _ = k.names(p, -1)
		}
		for _, child := range children {
			k.takeNew(p+"/"+child, name, c)
		}
	}
}

// put makes name what it was.
func (k *keeper) put(was saved, name string) error {
	if k.held[name] != nil {
		return k.putDir(was, name)
	}
	info, err := k.root.Lstat(name)
	switch {
	case was.Lost:
		return errors.New("too large to be remembered")
	case err == nil && info.IsDir() && was.Mode.IsDir():
		return k.root.Chmod(name, was.Mode.Perm())
	case err == nil:
		if err := k.take(name); err != nil {
			return err
		}
	}
	switch {
	case was.Mode.IsDir():
		return errors.Join(k.root.Mkdir(name, 0o700), k.root.Chmod(name, was.Mode.Perm()))
	case was.Mode&fs.ModeSymlink != 0:
		return k.root.Symlink(string(was.Data), name)
	case was.Mode.IsRegular():
		return k.writeFile(was, name)
	}
	return errors.New("not a file")
}

var errRemoved = errors.New("removed, with all that is not protected in it")

// putDir moves a directory that is held open back to its place, or makes an empty one.
func (k *keeper) putDir(was saved, name string) error {
	f := k.held[name]
	wanted, err := f.Stat()
	if err != nil {
		return err
	}
	if info, err := k.root.Lstat(name); err == nil && os.SameFile(wanted, info) {
		return k.root.Chmod(name, was.Mode.Perm())
	} else if err == nil {
		if err := k.take(name); err != nil {
			return err
		}
	}
	parent, err := k.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	for range 3 { // a command may make another one meanwhile
		if err = moveOpen(f, parent, path.Base(name)); err == nil {
			return k.root.Chmod(name, was.Mode.Perm())
		}
		if !k.exists(name) || k.take(name) != nil {
			break
		}
	}
	if err = k.root.Mkdir(name, was.Mode.Perm()|0o700); err != nil {
		return err
	}
	f.Close()
	k.held[name], _ = k.root.Open(name)
	return errRemoved
}

// moveOpen moves the open directory f, wherever it is, to name in parent. The directory that it is in is opened and
// compared: a command may put a link in the place of any part of a path at any time.
func moveOpen(f, parent *os.File, name string) error {
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) // also in quarantine
	if err != nil {
		return err
	}
	dir, err := os.OpenFile(path.Dir(at), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	var wanted, is unix.Stat_t
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err = errors.Join(err, unix.Fstat(int(f.Fd()), &wanted), unix.Fstatat(int(dir.Fd()), path.Base(at), &is, unix.AT_SYMLINK_NOFOLLOW)); err != nil {
		return err
	}
	if real != path.Dir(at) || wanted.Dev != is.Dev || wanted.Ino != is.Ino {
		return fs.ErrNotExist
	}
	return unix.Renameat(int(dir.Fd()), path.Base(at), int(parent.Fd()), name)
}

// writeFile writes a temporary file and renames it, so that name is never incomplete.
func (k *keeper) writeFile(was saved, name string) error {
	side := name + ".parley-" + timestamp()
	f, err := k.root.OpenFile(side, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(was.Data)
	if err = errors.Join(err, f.Chmod(was.Mode.Perm()), f.Close()); err == nil {
		err = k.root.Rename(side, name)
	}
	if err != nil {
		_ = k.root.Remove(side)
	}
	return err
}

func (k *keeper) readLink(name string) ([]byte, error) {
	link, err := k.root.Readlink(name)
	return []byte(link), err
}

// names returns the names in a directory, sorted; at most most of them if that is positive.
func (k *keeper) names(dir string, most int) ([]string, error) {
	f, err := k.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(most)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(all)
	return all, err
}

// mode returns the type of a name; fs.ModeIrregular without one. Only names can leak if a command puts links above it.
func (k *keeper) mode(name string) fs.FileMode {
	info, err := k.top.Stat(name)
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Type
}

func (k *keeper) exists(name string) bool {
	_, err := k.top.Stat(name)
	return err == nil
}
