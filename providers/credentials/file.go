package credentials

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/BurntSushi/toml"

	"parley/tools/atomicfile"
)

// maxFile bounds the size of a file to read, in bytes.
const maxFile = 1 << 20

// A secret is a provider's entry in the file: a key, or a command that prints it.
type secret struct {
	Key     string `toml:"api_key,omitempty"`
	Command string `toml:"api_key_command,omitempty"`
}

// header begins each file.
var header = map[string]string{
	indexName: "# Written by parley: what has a stored key, and where. It contains no keys.\n\n",
	fileName:  "# Written by parley. It contains keys: keep its mode 0600, and keep it out of repositories.\n\n",
}

// readTable reads a file with one table per provider; a missing file is empty. Errors do not quote
// its content.
func readTable[T any](path string) (map[string]T, error) {
	f, err := openOwn(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]T{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[string]T{}
	if _, err := toml.Decode(string(text), &all); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("%s:%d: this is not as parley wrote it: correct or delete it", path, parse.Position.Line)
		}
		return nil, fmt.Errorf("%s is not as parley wrote it: correct or delete it", path)
	}
	return all, nil
}

// openOwn opens a file that must be the user's own: a regular file, not a link. It removes the
// permissions of others.
func openOwn(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := checkFile(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		err = checkFile(path, opened) // it may be another file by now
	}
	if err == nil && runtime.GOOS != "windows" && opened.Mode().Perm()&0o077 != 0 {
		if err = f.Chmod(0o600); err != nil {
			err = fmt.Errorf("%s can be read by others (mode %04o): chmod 600 %[1]s", path, opened.Mode().Perm())
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkFile returns why a file must not be trusted with keys; nil if it may.
func checkFile(path string, info os.FileInfo) error {
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a link to another file, which may be shared: replace it with a regular file, or use api_key_command in config.toml", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: remove it, then run parley connect again", path)
	case !isOwnedByUser(info):
		return fmt.Errorf("%s belongs to another user: remove it, then run parley connect again", path)
	}
	return nil
}

// Exposed returns a warning about a file of keys that others could read so far; "" if there is
// none. It removes their permissions.
func (s *Store) Exposed() string {
	if s.dir == "" || runtime.GOOS == "windows" {
		return ""
	}
	info, err := os.Lstat(s.Path())
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	f, err := openOwn(s.Path())
	if err != nil {
		return err.Error()
	}
	f.Close()
	return fmt.Sprintf("%s could be read by others (mode %04o) and is now closed to them (0600). If others use this machine, replace the keys in it", s.Path(), info.Mode().Perm())
}

func (s *Store) readSecrets() (map[string]secret, error) { return readTable[secret](s.Path()) }

// changeSecrets rewrites the file of keys. The caller holds the lock.
func (s *Store) changeSecrets(change func(map[string]secret)) error {
	all, err := s.readSecrets()
	if err != nil {
		return err
	}
	change(all)
	if len(all) == 0 {
		if err := os.Remove(s.Path()); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return s.write(fileName, all)
}

// changeIndex rewrites the index. The caller holds the lock.
func (s *Store) changeIndex(change func(map[string]Entry)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := readTable[Entry](s.indexPath()) // another process may have changed it
	if err != nil {
		return err
	}
	change(all)
	s.index, s.version, s.looked = nil, fileVersion{}, time.Time{}
	return s.write(indexName, all)
}

// write replaces a file atomically, so that a reader sees the old or the new one.
func (s *Store) write(name string, all any) error {
	var text bytes.Buffer
	text.WriteString(header[name])
	encoder := toml.NewEncoder(&text)
	encoder.Indent = ""
	if err := encoder.Encode(all); err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(s.dir, name), text.Bytes())
}

// lockWait bounds the wait for another process that stores a key.
const lockWait = 5 * time.Second

// lock keeps other processes from changing the store until unlock. It makes the directory.
func (s *Store) lock() (unlock func(), err error) {
	if s.dir == "" {
		return nil, errors.New("there is no home folder to store a key in: set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if err := makePrivate(s.dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another parley stores a key at the moment"))
	defer cancel()
	return s.lockFile(ctx, lockName)
}

// LockRefresh blocks other processes that call it for the same entry until unlock, or until this
// process ends. It is for replacing a stored key automatically, which takes longer than storing
// one.
func (s *Store) LockRefresh(ctx context.Context, entry string) (unlock func(), err error) {
	short, err := s.lock() // makes the directory
	if err != nil {
		return nil, err
	}
	short()
	sum := sha256.Sum256([]byte(entry)) // an entry may be an invalid file name
	return s.lockFile(ctx, hex.EncodeToString(sum[:8])+".lock")
}

// lockFile locks a file until unlock. It waits for other processes until ctx ends. The next use of the
// index checks it on disk, since a process that held the lock may have changed it.
func (s *Store) lockFile(ctx context.Context, name string) (unlock func(), err error) {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = tryLock(f); err == nil {
			s.mu.Lock()
			s.looked = time.Time{}
			s.mu.Unlock()
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("%w (%s): try again", context.Cause(ctx), path)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
