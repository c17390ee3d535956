package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"
)

// A new file has its name only once it is whole: if parley is killed before that, there is none, and
// one that is there is never replaced.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "b.tar.gz")
	said := errors.New("nothing to write")
	err := Create(name, func(f *os.File) error {
		if _, err := f.WriteString("a part"); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(name); err == nil {
			t.Error("a part of it has its name")
		}
		if !Unfinished(filepath.Base(f.Name())) {
			t.Errorf("%s does not say that it is not whole", f.Name())
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		return said
	})
	if left, _ := os.ReadDir(dir); !errors.Is(err, said) || len(left) > 0 {
		t.Errorf("%v, left %v", err, left)
	}
	if err := Create(name, writes("all")); err != nil || content(name) != "all" {
		t.Errorf("%q, %v", content(name), err)
	}
	other := filepath.Join(dir, "other")
	err = Create(other, func(*os.File) error { return os.WriteFile(other, []byte("somebody's"), 0o600) })
	again := Create(name, func(*os.File) error { t.Error("it was begun"); return nil })
	for _, err := range []error{err, again} {
		if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "already exists: give another name") {
			t.Errorf("told %v", err)
		}
	}
	if content(other) != "somebody's" {
		t.Errorf("it was replaced: %q", content(other))
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

// Any name that the disk takes can be that of a new file: what stands beside it meanwhile has a
// name of its own length. One that it does not take is told before anything is written.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("b", 255), strings.Repeat("b", 240) + ".tar.gz", "x" + strings.Repeat("é", 127)} {
		err := Create(filepath.Join(dir, name), func(f *os.File) error {
			if base := filepath.Base(f.Name()); len(base) > 143 || !utf8.ValidString(base) {
				t.Errorf("written as %q", base)
			}
			return nil
		})
		if _, there := os.Lstat(filepath.Join(dir, name)); err != nil || there != nil {
			t.Errorf("%.20s…, %d bytes: %v, %v", name, len(name), err, there)
		}
	}
	if err := Create(filepath.Join(dir, strings.Repeat("b", 256)), func(*os.File) error { t.Error("it was begun"); return nil }); err == nil {
		t.Error("a name of 256 bytes is taken")
	}
}

// Of many that make a file of one name at once one gets it, whole, and nothing is left of the
// others: also where a file system has no links.
func TestOneGetsTheName(t *testing.T) {
	defer func() { link = os.Link }()
	for _, makes := range []func(string, string) error{os.Link, func(string, string) error { return syscall.EPERM }} {
		link = makes
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		var all sync.WaitGroup
		made := make(chan string, 8)
		for i := range cap(made) {
			all.Go(func() {
				switch err := Create(name, writes(fmt.Sprint(i))); {
				case err == nil:
					made <- fmt.Sprint(i)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		all.Wait()
		left, _ := os.ReadDir(dir)
		if len(made) != 1 || content(name) != <-made || len(left) != 1 {
			t.Errorf("%d were made, of them one is %q; left %v", len(made)+1, content(name), left)
		}
	}
}

// A file that is replaced is for its owner only, in a folder that is made for it.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a", "b", "file")
	for _, text := range []string{"first", "second"} {
		if err := Replace(name, []byte(text)); err != nil || content(name) != text {
			t.Errorf("%q, %v", content(name), err)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

// An error of something else that is read or written meanwhile keeps its own words.
func TestOtherErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	err := Create(name, func(*os.File) error {
		_, err := os.Open(filepath.Join(filepath.Dir(name), "what is exported"))
		return err
	})
	if err == nil || strings.Contains(err.Error(), "saving") || !strings.Contains(err.Error(), "what is exported") {
		t.Errorf("told %v", err)
	}
}

func writes(text string) func(*os.File) error {
	return func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	}
}

func content(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}
