package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	top := tree(t, "projects/main/src/a.go", "projects/fork/x", "projects/food/y", "projects/Fold/z", "projects/four", "projects/.forge/k", "projects/.hidden", "home/notes/day.md", "home/.config/p", "spaced/a b/c d/e")
	t.Setenv("HOME", filepath.Join(top, "home"))
	t.Setenv("USERPROFILE", filepath.Join(top, "home"))
	for _, test := range []struct {
		typed   string
		folders bool
		want    string
	}{
		{"../fo", true, "../food/ ../fork/"},
		{"../fo", false, "../food/ ../fork/ ../four"},
		{"../fork", true, "../fork/"},
		{"../fork/", false, "../fork/x"},
		{"../fork/", true, ""},
		{"../FOR", true, "../fork/"}, // no exact prefix: case is ignored
		{"../", true, "../Fold/ ../food/ ../fork/ ../main/"},
		{"../.", true, "../../ ../.forge/"},
		{"../.f", true, "../.forge/"},
		{"../.", false, "../../ ../.forge/ ../.hidden"},
		{"", false, "src/"},
		{"s", true, "src/"},
		{".", true, "../"},
		{"..", true, "../"},
		{"../nope", true, ""},
		{"../nope/", true, ""},
		{"../four/", true, ""}, // not a directory
		{"~", true, "~/"},
		{"~/", true, "~/notes/"},
		{"~/no", true, "~/notes/"},
		{"~/notes/d", false, "~/notes/day.md"},
		{"~/.", true, "~/../ ~/.config/"},
		{"~other/", true, ""},
		{"../../spaced/a b/c", true, "../../spaced/a b/c d/"},
		{filepath.ToSlash(top) + "/projects/fo", true, filepath.ToSlash(top) + "/projects/food/ " + filepath.ToSlash(top) + "/projects/fork/"},
		{"\x00", true, ""},
	} {
		if got := names(Complete(test.typed, Completion{Directory: filepath.Join(top, "projects", "main"), DirectoriesOnly: test.folders, Limit: 50})); got != test.want {
			t.Errorf("%q, folders %v: got %s, want %s", test.typed, test.folders, got, test.want)
		}
	}
}

// Names that a terminal must not get are omitted, links are followed, and the limit is respected.
func TestCompleteOddNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no such names")
	}
	top := tree(t, "a\x1b[2J/", "b\nc", "\xff", "real/", "file")
	for link, to := range map[string]string{"to": "real", "loop": "loop", "gone": "nowhere", "one": "file"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got := names(Complete("", Completion{Directory: top, Limit: 50})); got != "real/ to/ file gone loop one" {
		t.Errorf("got %s", got)
	}
	if got := names(Complete("", Completion{Directory: top, DirectoriesOnly: true, Limit: 1})); got != "real/" {
		t.Errorf("got %s", got)
	}
}

// A large directory is read in pieces, and the number of results is limited.
func TestCompleteLargeFolder(t *testing.T) {
	top := t.TempDir()
	for i := range 1100 {
		if err := os.Mkdir(filepath.Join(top, fmt.Sprintf("d%04d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := Complete("d10", Completion{Directory: top, DirectoriesOnly: true, Limit: 200}); len(got) != 100 {
		t.Errorf("got %d", len(got))
	}
	if got := Complete("", Completion{Directory: top, Limit: 200}); len(got) != 200 || got[199].Path != "d0199" {
		t.Errorf("got %d", len(got))
	}
}

func TestNamesFolder(t *testing.T) {
	for typed, want := range map[string]bool{"../x": true, "..": true, "./x": true, "~/x": true, "~": true, "/x": true, "": false, "x": false, ".git": false, "x/../y": false, "~x": false, "server:uri": false} {
		if MayLeaveWorkspace(typed) != want {
			t.Errorf("%q: got %v", typed, !want)
		}
	}
}

func FuzzComplete(f *testing.F) {
	top := tree(f, "a/b", "a b/c", ".x/y", "č")
	for _, typed := range []string{"", "a", "../", "~/.", "/", "a b/", "\\", "č", "\xff"} {
		f.Add(typed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if strings.Contains(typed, "..") || strings.HasPrefix(typed, "/") || strings.HasPrefix(typed, "~") {
			t.Skip("leads to folders that change")
		}
		for _, found := range Complete(typed, Completion{Directory: top, Limit: 5}) {
			if len(found.Path) < len(typed) || !strings.EqualFold(found.Path[:len(typed)], typed) {
				t.Errorf("%q becomes %q", typed, found.Path)
			}
		}
	})
}
