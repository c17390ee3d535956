package ability

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The target of images and videos is checked before they are paid for, by the same rules: a directory is allowed for
// several files only.
func TestCheckTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("there.png", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", "link.png"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	out, err := os.Create("stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	os.Stdout = out
	for _, test := range []struct {
		to, format string
		several    bool
		words      string // "" if it can be saved
	}{
		{"", "text", false, ""},
		{"new.png", "json", false, ""},
		{filepath.Join("folder", "new.png"), "text", false, ""},
		{"folder", "text", true, ""},
		{"folder", "text", false, "--to folder: this is a folder"},
		{"there.png", "text", true, "--to: there.png already exists"},
		{"link.png", "text", false, "already exists"},
		{filepath.Join("none", "new.png"), "text", false, "none: no such folder"},
		{filepath.Join("there.png", "new.png"), "text", true, "there.png"},
		{"-", "text", false, ""},
		{"-", "json", false, "--to - and -o json"},
	} {
		err := CheckTarget(test.to, test.format, test.several)
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("--to %q -o %s: %v, want %q", test.to, test.format, err, test.words)
		}
	}
	if left, _ := filepath.Glob(".parley-*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
