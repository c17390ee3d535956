package sandbox

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestQuarantineIsPruned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	defer removeAll(root, ".") // also what is read-only
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	age := func(d time.Duration) string { return now.Add(-d).Format(timestampFormat) }
	for _, name := range []string{"mine", age(0), age(29 * 24 * time.Hour), age(31 * 24 * time.Hour)} {
		err := root.MkdirAll(name+"/.git/hooks", 0o700)
		if err == nil {
			err = root.Chmod(name+"/.git", 0o500)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	there := func(name string) bool { _, err := root.Lstat(name); return err == nil }
	h := quarantine{path: dir}
	h.prune(now)
	if !there("mine") || !there(age(0)) || !there(age(29*24*time.Hour)) || there(age(31*24*time.Hour)) {
		t.Error("what is old goes, and nothing else")
	}
	for i := range maxQuarantineDirs + 10 {
		if err := root.Mkdir(age(time.Duration(i+1)*time.Minute), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.prune(now)
	if !there(age((maxQuarantineDirs + 10) * time.Minute)) {
		t.Error("what is new went because there was much of it")
	}
	if there(age(29 * 24 * time.Hour)) {
		t.Error("what is older than a day stayed though there was much that is newer")
	}
}

// Only small regular files are read, and pipes are not waited for.
func TestReadsOnlySmallFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(unix.Mkfifo(dir+"/pipe", 0o600), os.WriteFile(dir+"/file", []byte("text"), 0o600), os.Symlink("file", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe", "link", "missing", "."} {
		if text, err := readRegular(root, name, 100); err == nil {
			t.Errorf("%s: %q", name, text)
		}
	}
	if f, err := root.OpenFile("pipe", openNoWait, 0); err != nil { // put in the place of a file
		t.Error(err)
	} else if text, whole := readOpen(f, 100); whole {
		t.Errorf("%q", text)
	}
	if text, err := readRegular(root, "file", 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := readRegular(root, "file", 3); err == nil {
		t.Errorf("a file that grew: %q", text)
	}
}
