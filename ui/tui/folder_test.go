package tui

import (
	"os"
	"path/filepath"
	"testing"
)

// A user who started in the wrong directory can change to another one: by its name,
// or to that of a stored conversation.
func TestFolder(t *testing.T) {
	entered := ""
	s := setUpWith(t, 80, 24, func(o *Options) { o.App.Restart = func(dir, _, _ string) { entered = dir } })
	s.Type("/cd nowhere").Press("enter").WaitForText("no such file")
	s.Press("ctrl+u").Type("/cd a.txt").Press("enter").WaitForText("is not a folder")
	if entered != "" {
		t.Fatalf("went to %q", entered)
	}
	if err := os.Mkdir(filepath.Join(s.dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Press("ctrl+u").Type("/cd " + filepath.Join(s.dir, "project")).Press("enter")
	s.WaitFor(func() bool { return entered == filepath.Join(s.dir, "project") })
}

// If the program cannot restart in another directory, /cd reports it.
func TestFolderIsFixed(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Type("/cd /").Press("enter").WaitForText("• The folder is fixed here")
}
