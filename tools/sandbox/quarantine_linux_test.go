package sandbox

import (
	"os"
	"testing"
	"time"
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
