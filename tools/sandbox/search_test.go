package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A search that ends early returns the directories it left out.
func TestSearchLeavesOut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old/deep", "new/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	later := time.Now().Add(time.Hour)
	tests := []struct {
		name     string
		searched bool      // all was, before
		since    time.Time // newer directories are new
		until    time.Time
		want     []string
	}{
		{name: "in time", searched: true, since: time.Unix(1, 0), until: later},
		{name: "too late", searched: true, since: time.Unix(1, 0), until: time.Unix(1, 0), want: []string{".", "old"}},
		{name: "as before", since: time.Unix(1, 0), until: time.Unix(1, 0)},
	}
	for _, test := range tests {
		s := search{repositories: &repositories{root: root, workspace: dir}, since: test.since, deadline: test.until}
		s.start([]string{".", "old"})
		if got := unsearchedDirs(s.run(), test.searched); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// New directories go before those that are far away, and known ones
// go first.
func TestSearchOrder(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"a/b", "old/x", "was"} {
		if err := root.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	since := time.Now().Add(50 * time.Millisecond)
	for info, err := root.Stat("a"); err == nil && changeTime(info).Before(since); info, err = root.Stat("a") {
		if err := root.Chmod("a", 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := search{repositories: &repositories{root: root, workspace: dir}, since: since, deadline: time.Now().Add(time.Hour)}
	s.start([]string{".", "was"})
	if left := s.run(); len(left) > 0 {
		t.Errorf("left out %v", left)
	}
	if got := strings.Join(s.searchedDirs, " "); got != ". was a a/b old old/x" {
		t.Errorf("got %s", got)
	}
}

// A clock that is set back while a command runs hides no repository: existing ones
// are known. Where not all was searched, the steady clock decides what is new.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	w := NewWatch(dir)
	w.policy.searchedAt = int(time.Now().Add(time.Hour).UnixNano())
	file := filepath.Join(dir, "src/.git/config")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[core]\n\tfsmonitor = evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.QuarantineNew(); !strings.Contains(got, "undid changes of src/.git/config") {
		t.Errorf("it stays: %q", got)
	}
	s := snapshot{since: time.Unix(1000, 0)}
	if s.adjustSince(time.Minute, 3*time.Minute); s.since != time.Unix(1000, 0) {
		t.Errorf("set forward: %v", s.since)
	}
	if s.adjustSince(time.Minute, -time.Minute); s.since != time.Unix(880, 0) {
		t.Errorf("set back: %v", s.since)
	}
}
