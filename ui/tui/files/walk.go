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

// A walk reads a directory and those below it, level by level.
type walk struct {
	root   *os.Root // nothing outside is opened
	list   []entry
	bytes  int
	looked int // entries of directories seen, whether kept or not
}

// A directory is one that has to be read, and the rules that hold above it.
type folder struct {
	path  string // "." is the first
	rules gitignore.Rules
}

// read returns what is in dir. Publish gets what was found so far, after each
// directory. A directory that cannot be read has nothing in it.
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

// directory keeps what is in f, and returns the directories among it.
func (w *walk) folder(ctx context.Context, f folder) (below []folder) {
	dir, err := w.root.OpenFile(f.path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil // gone, or not for us to see
	}
	entries, _ := dir.ReadDir(maxEntries - w.looked) // the entries before an error
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

// isFile reports whether e is something a prompt can bring along: no pipe, no
// device. A link may lead to a file.
func isFile(e fs.DirEntry) bool {
	return e.IsDir() || e.Type().IsRegular() || e.Type() == fs.ModeSymlink
}

// rules returns those that hold in f, which has these entries, sorted by name.
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

// text returns the beginning of a file. It may have become a pipe since it was seen.
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
