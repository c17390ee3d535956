package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A backup has its name only once it is whole: whoever kills parley before that finds none, and
// one that is there is never replaced.
func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "b.tar.gz")
	said := errors.New("the disk is full")
	_, err := create(name, func(f *os.File) error {
		if _, err := f.WriteString("a part"); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(name); err == nil {
			t.Error("a part of it has its name")
		}
		if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		return said
	})
	if left, _ := os.ReadDir(dir); !errors.Is(err, said) || len(left) > 0 {
		t.Errorf("%v, left %v", err, left)
	}
	size, err := create(name, func(f *os.File) error { _, err := f.WriteString("all"); return err })
	if text, _ := os.ReadFile(name); err != nil || size != 3 || string(text) != "all" {
		t.Errorf("%q, %d, %v", text, size, err)
	}
	other := filepath.Join(dir, "other")
	_, err = create(other, func(*os.File) error { return os.WriteFile(other, []byte("somebody's"), 0o600) })
	_, again := create(name, func(*os.File) error { t.Error("it was begun"); return nil })
	for _, err := range []error{err, again} {
		if err == nil || !strings.Contains(err.Error(), "exists: choose another name") {
			t.Errorf("told %v", err)
		}
	}
	if text, _ := os.ReadFile(other); string(text) != "somebody's" {
		t.Errorf("it was replaced: %q", text)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

// Any name that the disk takes can be a backup's: what stands beside it meanwhile has a name of its own
// length. One that it does not take is told before anything is written.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("b", 255), strings.Repeat("b", 240) + ".tar.gz", "x" + strings.Repeat("é", 127)} {
		_, err := create(filepath.Join(dir, name), func(f *os.File) error {
			if base := filepath.Base(f.Name()); len(base) > 143 || !utf8.ValidString(base) {
				t.Errorf("written as %q", base)
			}
			return nil
		})
		if _, there := os.Lstat(filepath.Join(dir, name)); err != nil || there != nil {
			t.Errorf("%.20s…, %d bytes: %v, %v", name, len(name), err, there)
		}
	}
	if _, err := create(filepath.Join(dir, strings.Repeat("b", 256)), func(*os.File) error { t.Error("it was begun"); return nil }); err == nil {
		t.Error("a name of 256 bytes is taken")
	}
}

// What a backup unpacks to is bounded: in all, by files, by each of them, and by what it is made of.
func TestLimits(t *testing.T) {
	archive := func(files int, size int64) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		out := tar.NewWriter(z)
		add := func(name string, size int64, from io.Reader) {
			if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(out, from, size); err != nil {
				t.Fatal(err)
			}
		}
		about, _ := json.Marshal(manifest{Format: version})
		add(manifestName, int64(len(about)), bytes.NewReader(about))
		add(storeName, 100, bytes.NewReader(make([]byte, 100)))
		for i := range files {
			add(fmt.Sprint(undoName, "/objects/", i), size, bytes.NewReader(make([]byte, size)))
		}
		if err := errors.Join(out.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	most := limits{total: 1 << 20, files: 10, file: 200 << 10, ratio: 20, free: 100 << 10}
	for name, tt := range map[string]struct {
		files int
		size  int64
		most  limits
		want  string
	}{
		"little":          {3, 10 << 10, most, ""},
		"many files":      {11, 1, most, "over 10 files"},
		"a large file":    {1, 300 << 10, most, `307200 bytes in "undo/objects/0"`},
		"much in all":     {9, 190 << 10, limits{1 << 20, 10, 200 << 10, 2000, 100 << 10}, "over 1048576 bytes"},
		"zeros":           {2, 190 << 10, most, "over 20 times its own size"},
		"what is allowed": {2, 190 << 10, limits{1 << 20, 10, 200 << 10, 2000, 100 << 10}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := unpack(bytes.NewReader(archive(tt.files, tt.size)), t.TempDir(), tt.most)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
