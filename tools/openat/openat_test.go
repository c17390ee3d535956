package openat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools/places"
)

// tree returns a directory with a/b/c, a/file and links to both, and the directory opened.
func tree(t *testing.T) (string, Dir) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "a", "a/link": "file", "a/absent": "none"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Skipf("%s is no link: %v, %v", name, info, err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := Open(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return dir, d
}

// No part of a path is followed if it is a link.
func TestOpen(t *testing.T) {
	_, d := tree(t)
	for _, test := range []struct {
		path string
		want error
	}{
		{".", nil}, {"a", nil}, {"a/b", nil}, {"a/b/c", nil},
		{"none", fs.ErrNotExist}, {"a/none", fs.ErrNotExist}, {"none/b", fs.ErrNotExist},
		{"link", places.ErrNotDirectory}, {"link/b", places.ErrNotDirectory}, {"a/file", places.ErrNotDirectory}, {"a/absent", places.ErrNotDirectory},
	} {
		below, err := d.Open(test.path)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.path, err, test.want)
		}
		if err == nil {
			below.Close()
		}
	}
}

// Entries have names and types, in the order of their names.
func TestEntries(t *testing.T) {
	dir, d := tree(t)
	a, err := d.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	before := Entry{"before", 0}
	got, err := a.Entries([]Entry{before}, 0)
	if want := []Entry{before, {"absent", fs.ModeSymlink}, {"b", fs.ModeDir}, {"file", 0}, {"link", fs.ModeSymlink}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	if !Has(got[1:], "file") || Has(got[1:], "fil") {
		t.Error("Has finds other names than there are")
	}
	var want []string
	for i := range 700 {
		name := fmt.Sprintf("%04d%s", i, strings.Repeat("x", i%200))
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, "a/b/c", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := d.Open("a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	many, err := c.Entries(nil, 0)
	var names []string
	for _, e := range many {
		names = append(names, e.Name)
	}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("got %d names (%v), want %d", len(names), err, len(want))
	}
}

// A part of a large directory is read without the rest.
func TestSomeEntries(t *testing.T) {
	dir, d := tree(t)
	for i := range 2500 {
		if err := os.WriteFile(filepath.Join(dir, "a/b/c", fmt.Sprint("file", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][2]int{"a/b/c": {100, 2000}, "a": {4, 4}} {
		at, err := d.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		some, err := at.Entries(nil, 100)
		if len(some) < want[0] || len(some) > want[1] || err != nil || !slices.IsSortedFunc(some, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: got %d entries (%v)", path, len(some), err)
		}
		at.Close()
	}
}

// Only regular files are opened.
func TestOpenFile(t *testing.T) {
	_, d := tree(t)
	a, err := d.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f, err := a.OpenFile("file")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if string(text) != "text" || f.Size != 4 || err != nil {
		t.Errorf("got %q of %d bytes (%v)", text, f.Size, err)
	}
	f.Close()
	for _, name := range []string{"b", "link", "absent", "none"} {
		if f, err := a.OpenFile(name); err == nil {
			t.Errorf("%s was opened", name)
			f.Close()
		}
	}
	if info, err := a.Stat("file"); info.Type != 0 || info.Size != 4 || info.Modified == 0 || err != nil {
		t.Errorf("got %+v, %v", info, err)
	}
	if info, err := a.Stat("."); info.Type != fs.ModeDir || err != nil {
		t.Errorf("got %+v, %v", info, err)
	}
	if target, err := a.Link("link"); target != "file" || err != nil {
		t.Errorf("got %q, %v", target, err)
	}
	if _, err := a.Stat("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
