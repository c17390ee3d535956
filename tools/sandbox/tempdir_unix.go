//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const tempPrefix = "parley-sandbox-"

// makeTempDir creates a private temp directory, unless the policy names one. It also removes the empty ones that killed
// programs left: a directory in use is locked.
func makeTempDir(p *policy) (remove func(), err error) {
	if p.TempDir != "" {
		return func() {}, nil
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range left {
		if lock, err := lockDir(dir); err == nil {
			_ = os.Remove(dir)
			lock.Close()
		}
	}
	for {
		dir, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(dir)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.ENOENT) {
			continue // another parley took it for one that was left
		}
		p.TempDir, err = filepath.EvalSymlinks(dir)
		return func() { _ = os.RemoveAll(dir); lock.Close() }, err
	}
}

// lockDir locks a directory until the result is closed or this process has ended. Some file systems cannot.
func lockDir(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	lock := os.NewFile(uintptr(fd), dir)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}
