//go:build unix

package snapshot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/undo"

	"golang.org/x/sys/unix"
)

// TestDelta applies deltas as git-scm.com/docs/gitformat-pack describes them.
func TestDelta(t *testing.T) {
	hello, long := "hello", strings.Repeat("0123456789", 7000)
	size := "\xf0\xa2\x04" // of long
	for _, tt := range []struct{ name, base, delta, want string }{
		{"all of the base", hello, "\x05\x05\x90\x05", "hello"},
		{"a part of it", hello, "\x05\x03\x91\x01\x03", "ell"},
		{"new text", hello, "\x05\x07\x90\x04\x03abc", "hellabc"},
		{"nothing", hello, "\x05\x00", ""},
		{"64 KiB, which no size says", long, size + "\x80\x80\x04\x80", long[:1<<16]},
		{"two bytes of offset and size", long, size + "\x80\x02\xb3\x10\x20\x00\x01", long[0x2010:0x2110]},
		{"the base is of another size", hello, "\x04\x05\x90\x05", "-"},
		{"it makes less than it says", hello, "\x05\x06\x90\x05", "-"},
		{"it makes more than it says", hello, "\x05\x04\x90\x05", "-"},
		{"it copies beyond the end", hello, "\x05\x05\x91\x01\x05", "-"},
		{"new text that is cut", hello, "\x05\x03\x03ab", "-"},
		{"an unknown instruction", hello, "\x05\x01\x00a", "-"},
		{"an instruction that is cut", hello, "\x05\x01\x90", "-"},
		{"a size that is cut", hello, "\x05\x85", "-"},
		{"larger than what is kept", hello, "\x05\x81\x80\x80\x20", "-"},
	} {
		got, err := applyDelta([]byte(tt.base), []byte(tt.delta))
		if err != nil {
			got = []byte("-")
		}
		if string(got) != tt.want {
			t.Errorf("%s: %.20q, %v; want %.20q", tt.name, got, err, tt.want)
		}
	}
}

// TestSummary: the user reads before a call what of its changes cannot be undone.
func TestSummary(t *testing.T) {
	file := func(name string, size int64) undo.Uncovered { return undo.Uncovered{Path: undo.Name(name), Size: size} }
	folders := func(names ...string) (all []undo.Uncovered) {
		for _, name := range names {
			all = append(all, undo.Uncovered{Path: undo.Name(name), Why: "it cannot be read"})
		}
		return all
	}
	for _, tt := range []struct {
		is   snapshot
		want string
	}{
		{snapshot{}, ""},
		{snapshot{unstored: map[string]undo.Uncovered{"a": file("a", 1023)}}, "a (1023 B) cannot be undone"},
		{snapshot{unstored: map[string]undo.Uncovered{"a": file("a", 1<<20), "b": file("b", 1<<19)}}, "2 files (1.5 MB) cannot be undone"},
		{snapshot{partial: "not all was read"}, "the folder is large: not all was read; changes of others cannot be undone"},
		{snapshot{uncovered: folders("b", "a")}, "a, b cannot be undone"},
		{snapshot{uncovered: append(folders("b"), undo.Uncovered{Path: "out", Why: ignoredByGit})}, "b cannot be undone"},
		{snapshot{uncovered: folders("a", "b", "c", "d")}, "4 folders cannot be undone"},
		{snapshot{uncovered: folders("b"), unstored: map[string]undo.Uncovered{"a": file("a", 1<<30)}}, "a (1.0 GB) cannot be undone; b cannot be undone"},
		{snapshot{base: &snapshot{}, coverage: "as before", partial: "x"}, "as before"},
	} {
		if got := tt.is.summary(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestPlanAsks: what a plan says of one path, by what is there now.
func TestPlanAsks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		open  bool
		now   func(d *desk)
		asked string // why a plan asks
		block string // why it leaves the path alone
	}{
		{"as it became", false, func(*desk) {}, "", ""},
		{"parley ended meanwhile", true, func(*desk) {}, "parley ended while it was changed", ""},
		{"no file any more", false, func(d *desk) {
			os.Remove(filepath.Join(d.dir, "a"))
			if err := unix.Mkfifo(filepath.Join(d.dir, "a"), 0o600); err != nil {
				d.Fatal(err)
			}
		}, "", "it is no regular file now"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, map[string]string{"a": "old\n"})
			r := d.shell("echo new > a")
			r.Open = tt.open
			if err := d.put(&r); err != nil {
				t.Fatal(err)
			}
			tt.now(d)
			plan, err := d.Plan(1)
			if err != nil || len(plan.Steps) != 1 {
				t.Fatalf("%s: %+v, %v", tt.name, plan, err)
			}
			s := plan.Steps[0]
			if s.ConfirmReason != tt.asked || s.Blocked != tt.block {
				t.Errorf("%s: it asks %q and is blocked by %q, want %q and %q", tt.name, s.ConfirmReason, s.Blocked, tt.asked, tt.block)
			}
			wantNow := "new\n"
			if tt.block != "" {
				wantNow = ""
			}
			if now, to := d.Texts(s); string(now) != wantNow || string(to) != "old\n" {
				t.Errorf("%s: the texts are %q and %q", tt.name, now, to)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		if err := d.put(&undo.Record{Root: undo.Name(d.History.dir), Title: "make", Open: true}); err != nil {
			t.Fatal(err)
		}
		plan, err := d.Plan(1)
		if want := `parley ended while "make" ran, and what it changed is not known`; err != nil || plan.Partial != want {
			t.Errorf("got %q, %v; want %q", plan.Partial, err, want)
		}
	})
}

// TestTornLog: a line that parley did not finish takes no other one along.
func TestTornLog(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	open := func() *History {
		h, err := openStore(data).history("one", dir)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for i := range 3 {
		h := open()
		if err := h.put(&undo.Record{Root: undo.Name(h.dir), Title: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString("\n" + `{"torn":`)
		f.Close()
	}
	var titles string
	for _, r := range open().Records() {
		titles += fmt.Sprint(r.N, r.Title, " ")
	}
	if titles != "10 21 32 " {
		t.Errorf("the records are %q", titles)
	}
}

// TestContentsThatAreGone: a content whose bundle was removed or cut is stored again.
func TestContentsThatAreGone(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, headSize+1) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := openStore(t.TempDir())
			defer s.bundles.closeOwn()
			sum, err := s.put([]byte("alpha"))
			if err != nil {
				t.Fatal(err)
			}
			path := s.bundles.own.path
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * bundleChecked)
			if s.has(sum) {
				t.Errorf("%s: it is still there", name)
			}
			if _, err := s.put([]byte("alpha")); err != nil {
				t.Fatal(err)
			}
			if got, err := openStore(s.dir).get(sum); string(got) != "alpha" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		})
	}
}

// TestUsedContentsStay: content that is used counts as new, so that Prune keeps it.
func TestUsedContentsStay(t *testing.T) {
	s := openStore(t.TempDir())
	defer s.bundles.closeOwn()
	sum, err := s.put([]byte("alpha"))
	if err != nil {
		t.Fatal(err)
	}
	path, old := s.bundles.own.path, time.Now().Add(-2*renewAfter)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	other := openStore(s.dir)
	at, ok := other.bundles.find(sum, false)
	if !ok {
		t.Fatal("it is not there")
	}
	at.checked = old
	if !other.has(sum) {
		t.Error("it is not there")
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > renewAfter {
		t.Errorf("its bundle is from %v, %v", info.ModTime(), err)
	}
}

func TestPermissions(t *testing.T) {
	for mode, want := range map[uint32]fs.FileMode{0o100644: 0o644, 0o104755: fs.ModeSetuid | 0o755, 0o102755: fs.ModeSetgid | 0o755, 0o41777: fs.ModeSticky | 0o777} {
		if got := permissions(mode); got != want {
			t.Errorf("%o: %v, want %v", mode, got, want)
		}
	}
}
