package files

import (
	"context"
	"io/fs"
	"os"
	"path"

	"parley/tools/gitignore"
	"parley/tools/openat"
)

// A walk reads a directory tree level by level.
type walk struct {
	root   openat.Dir
	lists  [][]entry // one for each directory that has entries
	bytes  int
	looked int // directory entries seen, whether stored or not

	entries []openat.Entry // of the last directory
	kept    []keptName     // of the last directory
	text    []byte         // their paths
	parent  openat.Dir     // last directory whose subdirectories were read; root at first
	above   string         // path of parent, with a slash after it
}

// A keptName is an entry whose path ends at end in walk.text.
type keptName struct {
	end    int
	folder bool
}

// A folder is a directory to read, with the ignore rules of the directories above it.
type folder struct {
	path  string // "." for the root
	rules gitignore.Rules
}

// read returns the files in dir. It calls publish with the files found so far
// after each directory. An unreadable directory counts as empty.
func read(ctx context.Context, dir string, publish func([][]entry)) [][]entry {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer top.Close()
	root, err := openat.Open(top, ".")
	if err != nil {
		return nil
	}
	defer root.Close()
	const soon = 1000 // names that are published before all of a large directory is read
	w := walk{root: root, parent: root}
	if w.folder(ctx, folder{path: "."}, soon); len(w.entries) >= soon {
		publish(w.lists)
	}
	w = walk{root: root, parent: root}
	defer w.leaveParent()
	for todo := []folder{{path: "."}}; len(todo) > 0 && ctx.Err() == nil && !w.full(); todo = todo[1:] {
		todo = append(todo, w.folder(ctx, todo[0], 0)...)
		publish(w.lists)
	}
	return w.lists
}

func (w *walk) full() bool { return w.looked >= maxEntries || w.bytes >= maxBytes }

// open opens a directory. Its parent stays open for the next one, which is probably in it as well.
func (w *walk) open(file string) (d openat.Dir, err error) {
	above, name := path.Split(file)
	if above != w.above {
		w.leaveParent()
		parent := w.root
		if above != "" {
			if parent, err = w.root.Open(above[:len(above)-1]); err != nil {
				return d, err
			}
		}
		w.parent, w.above = parent, above
	}
	return w.parent.Open(name)
}

func (w *walk) leaveParent() {
	if w.above != "" {
		w.parent.Close()
	}
	w.parent, w.above = w.root, ""
}

// folder stores the entries of f, or if most is positive about so many, and returns the directories among them.
func (w *walk) folder(ctx context.Context, f folder, most int) (below []folder) {
	dir, err := w.open(f.path)
	if err != nil {
		return nil // deleted, or not readable
	}
	defer dir.Close()
	w.entries, _ = dir.Entries(w.entries[:0], most) // includes the entries before an error
	known := w.entries
	if most > 0 {
		known = nil
	}
	f.rules = f.rules.Enter(dir, f.path, known)
	w.text, w.kept = w.text[:0], w.kept[:0]
	for _, e := range w.entries {
		if w.looked++; ctx.Err() != nil || w.full() {
			break
		}
		file := e.Name
		if f.path != "." {
			file = f.path + "/" + file
		}
		if e.Name == ".git" || !speakable(e.Name) || len(file) > maxPath || !isFile(e.Type) || f.rules.Match(file, e.IsDir()) {
			continue
		}
		w.text = append(w.text, file...)
		w.kept = append(w.kept, keptName{len(w.text), e.IsDir()})
	}
	if len(w.kept) == 0 {
		return nil
	}
	text, start, list := string(w.text), 0, make([]entry, len(w.kept)) // paths share memory, and none is lost to growth
	for i, k := range w.kept {
		list[i] = newEntry(text[start:k.end], k.folder)
		w.bytes += list[i].bytes()
		if start = k.end; k.folder {
			below = append(below, folder{list[i].path, f.rules})
		}
	}
	w.lists = append(w.lists, list)
	return below
}

// isFile reports whether a name of this type can be attached to a prompt: not a pipe or a device.
// A link may lead to a file.
func isFile(kind fs.FileMode) bool { return kind.IsDir() || kind == 0 || kind == fs.ModeSymlink }
