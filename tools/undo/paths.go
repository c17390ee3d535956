package undo

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// A parent is the folder of a path, opened without following a link.
type parent struct {
	root *os.Root
	dir  *os.File
}

func (p *parent) close() {
	p.dir.Close()
	p.root.Close()
}

// errNoFolder says that a part of a path is no folder.
var errNoFolder = errors.New("a part of the path is no folder")

// openParent opens the folder of a path. Where a part of it is missing, or is no folder but
// perhaps a link to one, the error says so: fs.ErrNotExist or errNoFolder.
func (w *workspace) openParent(file string) (*parent, string, error) {
	root, known, rel := w.rootOf(file)
	if known == "" && path.IsAbs(file) {
		return nil, "", fs.ErrNotExist
	}
	dir, base := path.Split(rel)
	at, err := root.OpenRoot(".")
	if err != nil {
		return nil, "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if name == "" {
			break
		}
		below, err := openBelow(at, name)
		at.Close()
		if err != nil {
			return nil, "", err
		}
		at = below
	}
	f, err := at.Open(".")
	if err != nil {
		at.Close()
		return nil, "", err
	}
	return &parent{at, f}, base, nil
}

// openBelow opens a folder in another one, unless it is a link.
func openBelow(at *os.Root, name string) (*os.Root, error) {
	was, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !was.IsDir() {
		return nil, errNoFolder
	}
	below, err := at.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := below.Stat("."); err != nil || !os.SameFile(was, is) { // a link was put there
		below.Close()
		return nil, errors.Join(err, errNoFolder)
	}
	return below, nil
}

// seePath returns what stands at a path; not ok for nothing.
func (w *workspace) seePath(file string) (s seen, ok bool, err error) {
	p, base, err := w.openParent(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	defer p.close()
	return p.see(base)
}

// see returns what stands at a name in the folder; not ok for nothing.
func (p *parent) see(base string) (s seen, ok bool, err error) {
	d := folderOf(p.dir)
	s.stamp, err = d.stat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil && s.kind == Link {
		s.target, err = d.link(base)
	}
	return s, err == nil, err
}

// seePaths returns a look at a few paths and the folders above them.
func (w *workspace) seePaths(files []string, began int64) (*look, error) {
	l := &look{began: began, at: time.Now(), found: map[string]*entry{}, folders: map[string]bool{".": true}}
	for _, file := range files {
		_, top, _ := w.rootOf(file)
		for at := file; at != "." && at != top && at != "/"; at = path.Dir(at) {
			l.folders[path.Dir(at)] = true
			s, ok, err := w.seePath(at)
			if err != nil {
				return nil, err
			}
			if ok && l.found[at] == nil {
				one := []entry{{file: at, seen: s}}
				l.found[at], l.listed = &one[0], append(l.listed, one)
			}
		}
	}
	return l, nil
}

// state returns what stands at a path now. The content of a file of at most so many bytes is
// read; keep has it kept as well.
func (w *workspace) state(file string, most int64, keep bool) (State, error) {
	s, ok, err := w.seePath(file)
	if err != nil || !ok {
		return State{}, err
	}
	return w.stateOf(file, s, most, keep)
}

func (w *workspace) stateOf(file string, s seen, most int64, keep bool) (State, error) {
	out := State{Kind: s.kind, Mode: s.mode, Size: s.size, Target: s.target}
	if s.kind != File {
		return out, nil
	}
	out.Stamp = s.mark()
	if s.size > most {
		return out, nil
	}
	content, now, err := readFile(w, file, most)
	if errors.Is(err, errGrown) || errors.Is(err, fs.ErrPermission) {
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
		out.Kept = err == nil
		return out, err
	}
	out.Sum = sumOf(content)
	out.Kept = w.store.has(out.Sum)
	return out, nil
}
