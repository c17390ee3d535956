package tools

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// A file is known by its name and by no other: on Windows .git can be opened as GIT~1, which no rule and
// no guard knows.
func TestShortNames(t *testing.T) {
	f := open(t, map[string]string{".git/config": "[core]\n", "a~1": "x"})
	root, err := os.OpenRoot(f.at(""))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]bool{".git": true, ".GIT": true, "a~1": true, "GIT~1": false} {
		if got := isListed(root, ".", name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if _, err := f.do("read", "path", "a~1"); err != "" {
		t.Errorf("a file with such a name is not read: %s", err)
	}
	if _, err := os.Stat(f.at("GIT~1")); err != nil || runtime.GOOS != "windows" {
		t.Skip("there are no short names here")
	}
	if _, err := f.do("read", "path", "GIT~1/config"); !strings.Contains(err, "short form") {
		t.Errorf("read by a short name: %q", err)
	}
}
