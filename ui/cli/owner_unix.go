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

// returnFiles gives files that root creates in another user's home, as with sudo -E, to that user, who could not use
// parley otherwise. AtEnd does so and must be called after the last write. Unless the user is root, it does nothing.
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
		root, err := os.OpenRoot(at) // opened now, because the owner could replace it by a link later
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

// fileClock is the greatest lag of the clock for file times.
const fileClock = 20 * time.Millisecond

// chownTree changes the owner of the directories on the path to dir, and of everything below dir that was written
// since. It follows no links.
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

// chownFile changes the owner of f, unless another user owns it, and closes f. It skips files with several names, which
// may be links to root's files, and older files, which may have been moved here.
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
