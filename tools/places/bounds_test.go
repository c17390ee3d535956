package places

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A directory of the system is none for a workspace; whether those below it are depends.
func TestSystemDirectories(t *testing.T) {
	tab, _ := table(t)
	for _, s := range systemDirs {
		dir := strings.Join(s.parts, "/")
		if !strings.HasPrefix(dir, "c:") {
			dir = "/" + dir
		}
		if why := tab.WorkspaceProblem(dir); why == "" {
			t.Errorf("%s: no reason", dir)
		}
		if why := tab.WorkspaceProblem(dir + "/x/y"); (why != "") != s.below {
			t.Errorf("%s/x/y: got %q, want a reason: %v", dir, why, s.below)
		}
	}
}

func TestReasons(t *testing.T) {
	tab, home := table(t)
	for dir, want := range map[string]string{
		"/": "is the whole file system, with your home folder", home: "is your home folder", filepath.Dir(home): "contains your home folder",
		"/home/somebody": "is the home folder of a user", "/users/somebody": "is the home folder of a user", "/private/var/root": "is the home folder of a user",
		"/etc": "belongs to the system", home + "/.ssh/x": "contains SSH keys", "/home/somebody/x": "", "/homes/somebody": "", "/private/var/roots": "",
	} {
		if got := tab.WorkspaceProblem(filepath.FromSlash(dir)); got != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
}

// A file with another name is in no place, so it need not be resolved.
func TestMayEndWith(t *testing.T) {
	home := t.TempDir()
	tab := New(environment(home, map[string]string{"NETRC": filepath.Join(home, "logins"), "CARGO_HOME": filepath.Join(home, "rust")}), filepath.Join(home, "Own.toml"))
	for name, want := range map[string]bool{".ssh": true, ".SSH": true, "Shadow": true, "logins": true, "own.toml": true, "credentials.toml": true, "notes": false, "sshd": false, "rust": false} {
		if got := tab.MayEndWith(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if more := tab.With(filepath.Join(home, "more")); !more.MayEndWith("more") || tab.MayEndWith("more") {
		t.Error("With changes the table that it copies, or not the copy")
	}
}

// Each place is listed once; absent ones only where they would count.
func TestWithinLists(t *testing.T) {
	home := t.TempDir()
	own := filepath.Join(home, "settings", "own.toml")
	tab := New(environment(home, map[string]string{"KUBECONFIG": own}), own)
	paths := func(dir string) (all []string) {
		for _, f := range tab.Within(dir) {
			all = append(all, f.Path)
		}
		return all
	}
	if got := paths(filepath.Join(home, "settings")); !slices.Equal(got, []string{"own.toml"}) {
		t.Errorf("settings: got %q", got)
	}
	if got := paths(own); len(got) > 0 {
		t.Errorf("a place itself: got %q", got)
	}
	got := paths(home)
	if slices.Sort(got); len(slices.Compact(slices.Clone(got))) != len(got) || !slices.Contains(got, ".ssh") || !slices.Contains(got, "settings/own.toml") {
		t.Errorf("home: got %q", got)
	}
}

// The parent of a path is opened through directories alone, and made if that is wanted.
func TestOpenParent(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	err := os.Symlink("a", filepath.Join(dir, "link"))
	info, errLink := os.Lstat(filepath.Join(dir, "link"))
	links := err == nil && errLink == nil && info.Mode().Type() == fs.ModeSymlink // Wine makes none
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct {
		path    string
		missing bool
		parent  string
		want    error
	}{
		{"x", false, ".", nil}, {"a/x", false, "a", nil}, {"a/b/x", false, "a/b", nil},
		{"none/x", false, "", fs.ErrNotExist}, {"new/deep/x", true, "new/deep", nil}, {"a/new/x", true, "a/new", nil},
		{"file/x", false, "", ErrNotDirectory}, {"file/x", true, "", ErrNotDirectory}, {"link/x", true, "", ErrNotDirectory},
	} {
		if tt.path == "link/x" && !links {
			continue
		}
		parent, base, err := OpenParent(root, filepath.FromSlash(tt.path), tt.missing)
		if !errors.Is(err, tt.want) || err == nil && base != "x" {
			t.Errorf("%s: got %q, %v; want %v", tt.path, base, err, tt.want)
		}
		if err != nil {
			continue
		}
		is, err := parent.Stat(".")
		wanted, err2 := os.Stat(filepath.Join(dir, filepath.FromSlash(tt.parent)))
		if err != nil || err2 != nil || !os.SameFile(is, wanted) {
			t.Errorf("%s: opened another directory than %s (%v, %v)", tt.path, tt.parent, err, err2)
		}
		parent.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing directory was made")
	}
}
