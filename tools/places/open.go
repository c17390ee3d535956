package places

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotDirectory reports that a part of a path is a file or a link.
var ErrNotDirectory = errors.New("a part of the path is no folder")

// OpenBelow opens the directory name in at. It never follows a link, even if one is created
// meanwhile. The error is [fs.ErrNotExist] if nothing exists there, ErrNotDirectory if it is not a
// directory.
func OpenBelow(at *os.Root, name string) (*os.Root, error) {
	was, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !was.IsDir() {
		return nil, ErrNotDirectory
	}
	below, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := below.Stat("."); err != nil || !os.SameFile(was, is) { // replaced by a link meanwhile
		below.Close()
		return nil, errors.Join(err, ErrNotDirectory)
	}
	return below, nil
}

// OpenParent opens the directory of a path in root, which has no "..", each part as in OpenBelow, and
// returns the last part. With missing, it creates missing directories.
func OpenParent(root *os.Root, path string, missing bool) (parent *os.Root, base string, err error) {
	dir, base := filepath.Split(path)
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(filepath.ToSlash(dir), "/"), "/") {
		if name == "" {
			break
		}
		below, err := OpenBelow(at, name)
		if missing && errors.Is(err, fs.ErrNotExist) {
			if err = at.Mkdir(name, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
				below, err = OpenBelow(at, name)
			}
		}
		at.Close()
		if err != nil {
			return nil, "", err
		}
		at = below
	}
	return at, base, nil
}
