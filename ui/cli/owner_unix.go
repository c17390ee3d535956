//go:build unix

package cli

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// returnFiles has what root makes for parley in somebody else's home folder, as with sudo -E, be
// theirs at the end, who could not use parley otherwise. AtEnd is called when nothing is written
// any more. For everybody but root it does nothing.
func returnFiles() (atEnd func()) {
	if os.Geteuid() != 0 {
		return func() {}
	}
	var after []func()
	began := time.Now().Add(-fileClock)
	home := os.Getenv("HOME")
	for name, in := range map[string]string{"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache"} {
		dir := filepath.Join(cmp.Or(os.Getenv(name), filepath.Join(home, in)), "parley")
		if !filepath.IsAbs(dir) {
			continue
		}
		at := dir
		_, err := os.Stat(at)
		for ; err != nil && at != filepath.Dir(at); _, err = os.Stat(at) {
			at = filepath.Dir(at)
		}
		root, err := os.OpenRoot(at) // now: what has this name at the end may be a link of the owner's
		if err != nil {
			continue
		}
		info, err := root.Stat(".")
		rel, wrong := filepath.Rel(at, dir)
		if err != nil || wrong != nil {
			_ = root.Close()
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid == 0 || info.Mode()&os.ModeSticky != 0 {
			_ = root.Close()
			continue
		}
		after = append(after, func() {
			defer root.Close()
			chownTree(root, rel, owner, began)
		})
	}
	return func() {
		for _, give := range after {
			give()
		}
	}
}

// fileClock is by how much the clock that stamps files may lag.
const fileClock = 20 * time.Millisecond

// chownTree gives away the folders on the way to dir, and what is below it, where it was written
// since then. It goes through no link.
func chownTree(root *os.Root, dir string, owner *syscall.Stat_t, since time.Time) {
	give := func(path string) {
		if f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
			chownFile(f, owner, since)
		}
	}
	way := ""
	for part := range strings.SplitSeq(dir, "/") {
		way = filepath.Join(way, part)
		if info, err := root.Lstat(way); err != nil || !info.IsDir() {
			return
		}
		give(way)
	}
	_ = fs.WalkDir(root.FS(), dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || d.Type().IsRegular()) {
			give(path)
		}
		return nil
	})
}

// chownFile gives f away, unless it is somebody's already, and closes it. A file that has another
// name may be one of root's that a user linked to, and one that is older one that was moved here.
func chownFile(f *os.File, owner *syscall.Stat_t, since time.Time) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.IsDir() && !info.Mode().IsRegular() || info.ModTime().Before(since) {
		return
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid == 0 && (info.IsDir() || s.Nlink == 1) {
		_ = f.Chown(int(owner.Uid), int(owner.Gid))
	}
}
