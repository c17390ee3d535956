package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Path returns the path of the store: parley/parley.db in $XDG_DATA_HOME, or in
// ~/.local/share; on Windows, parley\data\parley.db in %LocalAppData%. It is an error if there is
// neither that variable nor a home directory.
func Path(getenv func(string) string) (string, error) {
	// A relative $XDG_DATA_HOME is invalid and must be ignored (XDG Base Directory).
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "parley", "parley.db"), nil
	}
	if dir := getenv("LOCALAPPDATA"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "parley", "data", "parley.db"), nil
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home := getenv(name); filepath.IsAbs(home) {
			return filepath.Join(home, ".local", "share", "parley", "parley.db"), nil
		}
	}
	return "", errors.New("nowhere to save conversations: set HOME or XDG_DATA_HOME to an absolute path")
}

// sidecars are the suffixes of SQLite's log and of the log's index.
var sidecars = []string{"-wal", "-shm"}

// prepareFile makes the directory and an empty file, both for their owner only, and
// returns the file's absolute path. SQLite gives the files beside it the same mode. A file
// that exists is not opened: closing it would drop the locks that other connections of this
// process hold on it.
func prepareFile(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("%w: check the folder, or set XDG_DATA_HOME to another", err)
	}
	if err := createEmpty(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: check the folder, or set XDG_DATA_HOME to another", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file: move it away, or set XDG_DATA_HOME to another folder", path)
	}
	makePrivate(path, info)
	for _, c := range sidecars {
		if info, err := os.Lstat(path + c); err == nil && info.Mode().IsRegular() {
			makePrivate(path+c, info)
		}
	}
	return path, nil
}

// makeDir makes dir and its missing parents. Directories made by root get the owner of
// their parent directory.
func makeDir(dir string) error {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		inheritOwner(missing[i])
	}
	return nil
}

// createEmpty makes an empty file for its owner only. If it exists, the error is fs.ErrExist.
func createEmpty(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	inheritOwner(path)
	return f.Close()
}

// makePrivate removes the permissions of everybody but the owner, which a restored backup
// may have. It fails silently if the file has another owner.
func makePrivate(path string, info fs.FileInfo) {
	if info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(path, info.Mode().Perm()&^0o077)
	}
}

// uri returns the URI by which SQLite opens a file. Every byte that is special in a URI, or
// not ASCII, is escaped.
func uri(path, query string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-~"
	slashed := filepath.ToSlash(path)
	var b strings.Builder
	b.WriteString("file://")
	if !strings.HasPrefix(slashed, "/") { // C:/…
		b.WriteByte('/')
	}
	for _, c := range []byte(slashed) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String() + "?" + query
}
