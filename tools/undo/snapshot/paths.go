package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"parley/tools/openat"
	"parley/tools/places"
	"parley/tools/undo"
)

// A parent is the directory of a path, opened without following links.
type parent struct {
	root *os.Root
	openat.Dir
}

func (p *parent) close() {
	p.Close()
	p.root.Close()
}

// openParent opens the directory of a path, and returns the last component. The error is
// fs.ErrNotExist if a component is missing, places.ErrNotDirectory if one is a link or a file.
func (w *workspace) openParent(file string) (*parent, string, error) {
	root, known, rel := w.rootOf(file)
	if known == "" && path.IsAbs(file) {
		return nil, "", fs.ErrNotExist
	}
	at, base, err := places.OpenParent(root, filepath.FromSlash(rel), false)
	if err != nil {
		return nil, "", err
	}
	d, err := openat.Open(at, ".")
	if err != nil {
		at.Close()
		return nil, "", err
	}
	return &parent{at, d}, base, nil
}

// statPath returns the metadata of a path without following a link; ok is false if it does not exist.
func (w *workspace) statPath(file string) (s pathInfo, ok bool, err error) {
	p, base, err := w.openParent(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, places.ErrNotDirectory) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	defer p.close()
	return p.stat(base)
}

// stat returns the metadata of an entry of p without following a link; ok is false if it does not exist.
func (p *parent) stat(base string) (s pathInfo, ok bool, err error) {
	s, err = statIn(p.Dir, base)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	return s, err == nil, err
}

// snapshotPaths returns a snapshot of some paths and the directories above them.
func (w *workspace) snapshotPaths(files []string, began int64) (*snapshot, error) {
	l := &snapshot{began: began, listedAt: time.Now(), entries: map[string]*entry{}, listedDirs: map[string]bool{".": true}}
	for _, file := range files {
		_, top, _ := w.rootOf(file)
		for at := file; at != "." && at != top && at != "/"; at = path.Dir(at) {
			l.listedDirs[path.Dir(at)] = true
			s, ok, err := w.statPath(at)
			if err != nil {
				return nil, err
			}
			if ok && l.entries[at] == nil {
				one := []entry{{path: at, pathInfo: s}}
				l.entries[at], l.byDir = &one[0], append(l.byDir, one)
			}
		}
	}
	return l, nil
}

// state returns the current state of a path. It hashes the content of a file of at most most
// bytes; with keep it stores the content as well.
func (w *workspace) state(file string, most int64, keep bool) (undo.State, error) {
	s, ok, err := w.statPath(file)
	if err != nil || !ok {
		return undo.State{}, err
	}
	return w.stateOf(file, s, most, keep)
}

// stateOf does as state for a path whose metadata are s.
func (w *workspace) stateOf(file string, s pathInfo, most int64, keep bool) (undo.State, error) {
	out := undo.State{Kind: s.kind, Mode: s.mode, Size: s.size, Target: s.target}
	if s.kind != undo.File {
		return out, nil
	}
	out.Stamp = s.String()
	if s.size > most {
		return out, nil
	}
	content, now, err := w.readFile(file, most)
	if errors.Is(err, errFileGrew) || errors.Is(err, fs.ErrPermission) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if now.inode != s.inode {
		return out, errors.New("it is changing right now")
	}
	out.Size, out.Stamp = int64(len(content)), ""
	if keep {
		out.Sum, err = w.store.put(content)
		out.Stored = err == nil
		return out, err
	}
	out.Sum = sumOf(content)
	out.Stored = w.store.has(out.Sum)
	return out, nil
}
