package files

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"slices"

	"parley/tools/gitignore"
)

// A walk reads a directory tree level by level.
type walk struct {
	root   *os.Root // nothing outside of it is opened
	list   []entry
	bytes  int
	looked int // directory entries seen, whether stored or not
}

// A folder is a directory to read, with the ignore rules of the directories above it.
type folder struct {
	path  string // "." for the root
	rules gitignore.Rules
}

// read returns the files in dir. It calls publish with the files found so far
// after each directory. An unreadable directory counts as empty.
func read(ctx context.Context, dir string, publish func([]entry)) []entry {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	w := walk{root: root}
	for todo := []folder{{path: "."}}; len(todo) > 0 && ctx.Err() == nil && !w.full(); todo = todo[1:] {
		todo = append(todo, w.folder(ctx, todo[0])...)
		publish(w.list)
	}
	return w.list
}

func (w *walk) full() bool { return w.looked >= maxEntries || w.bytes >= maxBytes }

// folder stores the entries of f, and returns the directories among them.
func (w *walk) folder(ctx context.Context, f folder) (below []folder) {
	dir, err := w.root.OpenFile(f.path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil // deleted, or not readable
	}
	entries, _ := dir.ReadDir(maxEntries - w.looked) // includes the entries before an error
	dir.Close()
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	f.rules = w.rules(f, entries)
	for _, e := range entries {
		if w.looked++; ctx.Err() != nil || w.full() {
			break
		}
		path := e.Name()
		if f.path != "." {
			path = f.path + "/" + path
		}
		if e.Name() == ".git" || !speakable(e.Name()) || len(path) > maxPath || !isFile(e) || f.rules.Match(path, e.IsDir()) {
			continue
		}
		kept := newEntry(path, e.IsDir())
		w.list = append(w.list, kept)
		w.bytes += kept.bytes()
		if e.IsDir() {
			below = append(below, folder{path, f.rules})
		}
	}
	return below
}

// isFile reports whether e can be attached to a prompt: not a pipe or a device.
// A link may lead to a file.
func isFile(e fs.DirEntry) bool {
	return e.IsDir() || e.Type().IsRegular() || e.Type() == fs.ModeSymlink
}

// rules returns the ignore rules for f; entries are its entries, sorted by name.
func (w *walk) rules(f folder, entries []fs.DirEntry) gitignore.Rules {
	rules := f.rules
	for _, name := range gitignore.Files {
		i, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return cmp.Compare(e.Name(), name) })
		if !found || !entries[i].Type().IsRegular() {
			continue
		}
		text, err := w.text(f.path + "/" + name)
		if err != nil {
			continue
		}
		rules = rules.Append(gitignore.Parse(f.path, text))
	}
	return rules
}

// text returns the beginning of a file. The file may have become a pipe since it was listed.
func (w *walk) text(path string) (string, error) {
	f, err := w.root.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	b, err := io.ReadAll(io.LimitReader(f, gitignore.MaxSize))
	return string(b), err
}
