package frontmatter_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/frontmatter"
)

// TestReadFile: a file is read up to one byte more than wanted, and nothing but a file is read.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := errors.Join(os.WriteFile(path, []byte("1234"), 0o600), os.Symlink(path, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		most int
		want string
	}{{"a", 9, "1234"}, {"a", 4, "1234"}, {"a", 3, "1234"}, {"a", 2, "123"}, {"link", 9, "1234"}} {
		data, err := frontmatter.ReadFile(filepath.Join(dir, tt.name), tt.most)
		if string(data) != tt.want || err != nil {
			t.Errorf("%s, at most %d: %q, %v", tt.name, tt.most, data, err)
		}
	}
	if data, err := frontmatter.ReadFile(filepath.Join(dir, "none"), 9); !errors.Is(err, fs.ErrNotExist) || data != nil {
		t.Errorf("no file: %q, %v", data, err)
	}
	if data, err := frontmatter.ReadFile(dir, 9); err == nil || err.Error() != "read "+dir+": it is not a regular file" || data != nil {
		t.Errorf("a directory: %q, %v", data, err)
	}
}

// TestInDirectory: only a directory is looked into, and what is wrong with it is told.
func TestInDirectory(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("broken")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Symlink(dir, filepath.Join(dir, "link")), os.Symlink("loop", filepath.Join(dir, "loop"))); err != nil {
		t.Fatal(err)
	}
	for name, looks := range map[string]bool{".": true, "link": true, "file": false, "file/below": false, "none": false, "none/below": false} {
		looked := false
		err := frontmatter.InDirectory(filepath.Join(dir, name), func() error {
			looked = true
			return broken
		})
		if looked != looks || (err == broken) != looks || err != nil && err != broken {
			t.Errorf("%s: looked %v, %v", name, looked, err)
		}
	}
	if err := frontmatter.InDirectory(filepath.Join(dir, "loop"), func() error { return nil }); err == nil {
		t.Error("a link that leads nowhere is not told")
	}
}

// TestValues: the lines and the source of values.
func TestValues(t *testing.T) {
	v, err := frontmatter.Parse("a: b\nc:\n  - d\n  - 'e'\nf: [g,\n  h] # i\nj: {k: l}\nm: [n] o\np:\n  - [q]\nr: é[s]\n", 5)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	var show func(v frontmatter.Value)
	show = func(v frontmatter.Value) {
		fmt.Fprintf(&b, "%d:%d", v.Kind, v.Line)
		if v.Text != "" {
			fmt.Fprintf(&b, " %q", v.Text)
		}
		if v.Quoted {
			b.WriteString(" quoted")
		}
		for _, item := range v.Items {
			b.WriteString(" (")
			show(item)
			b.WriteString(")")
		}
		for _, f := range v.Fields {
			fmt.Fprintf(&b, " (%s %d: ", f.Key, f.Line)
			show(f.Value)
			b.WriteString(")")
		}
	}
	show(v)
	const want = `2:5 (a 5: 0:5 "b") (c 6: 1:7 (0:7 "d") (0:8 "e" quoted)) (f 9: 1:9 "[g,\n  h]" (0:9 "g") (0:10 "h"))` +
		` (j 11: 2:11 "{k: l}" (k 11: 0:11 "l")) (m 12: 0:12 "[n] o" quoted) (p 13: 1:14 (1:14 (0:14 "q"))) (r 15: 0:15 "é[s]")`
	if got := b.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, ok := v.Get("a"); !ok || got.Text != "b" {
		t.Errorf("a is %+v", got)
	}
	if got, ok := v.Get("x"); ok || got.Text != "" {
		t.Errorf("x is %+v", got)
	}
}
