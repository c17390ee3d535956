package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"parley/tools/act"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	tests := []struct {
		name          string
		before, write string
		want, told    string
	}{
		{"plain", "a\n", "b\n", "b\n", "wrote f, 1 line"},
		{"no final newline", "a\n", "b\nc", "b\nc", "wrote f, 2 lines"},
		{"to nothing", "a\n", "", "", "wrote f, 0 lines"},
		{"CRLF", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n", "wrote f, 2 lines\n[kept CRLF line ends]"},
		{"CRLF that is given", "a\r\n", "b\r\nc\n", "b\r\nc\n", "wrote f, 2 lines"},
		{"mixed line ends", "a\r\nb\n", "c\n", "c\n", "wrote f, 1 line"},
		{"byte order mark", "\uFEFFa\n", "b\n", "\uFEFFb\n", "wrote f, 1 line\n[kept the byte order mark]"},
		{"both", "\uFEFFa\r\n", "b\n", "\uFEFFb\r\n", "wrote f, 1 line\n[kept CRLF line ends and the byte order mark]"},
	}
	for _, test := range tests {
		f := open(t, map[string]string{"f": test.before})
		f.must("read", "path", "f")
		if got := f.must("write", "path", "f", "content", test.write); got != test.told {
			t.Errorf("%s: told %q, want %q", test.name, got, test.told)
		}
		if got := f.content("f"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCreate(t *testing.T) {
	f := open(t, map[string]string{"file": "x"})
	if got := f.must("write", "path", "a/b/c", "content", "x\n"); got != "created a/b/c, 1 line" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(f.at("a/b/c")); err != nil || info.Mode().Perm()&0o600 != 0o600 || info.Mode().Perm()&0o133 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	f.fails("write", []any{"path", "file/below", "content", "x"}, "file is no folder")
	f.fails("write", []any{"path", "a", "content", "x"}, "a is a folder")
	f.fails("write", []any{"path", ".", "content", "x"}, "is a folder")
	// The model need not read a file that it wrote itself.
	f.must("write", "path", "a/b/c", "content", "y\n")
}

func TestWritesThatAreRefused(t *testing.T) {
	f := open(t, map[string]string{"known": "a\n", "unknown": "a\n", "fixed": "a\n", "binary": "a\x00", "empty": ""})
	f.must("read", "path", "known")
	if err := os.Chmod(f.at("fixed"), 0o444); err != nil {
		t.Fatal(err)
	}
	f.fails("write", []any{"path", "unknown", "content", "b"}, "you have not read it; read it first")
	f.fails("write", []any{"path", "known", "content", "a\n"}, "already has exactly this content")
	f.fails("write", []any{"path", "fixed", "content", "b"}, "read-only (mode 0444)")
	f.fails("edit", []any{"path", "fixed", "old", "a", "new", "b"}, "read-only (mode 0444)")
	f.fails("edit", []any{"path", "binary", "old", "a", "new", "b"}, "not text")
	f.fails("edit", []any{"path", "absent", "old", "a", "new", "b"}, "absent does not exist; to create a file use write")
	f.must("write", "path", "empty", "content", "nothing was lost\n")
}

// A change by somebody else is seen by content, also in the same second and
// with the same size.
func TestConflicts(t *testing.T) {
	change := func(f fixture) {
		info, err := os.Stat(f.at("f"))
		if err != nil {
			f.t.Fatal(err)
		}
		write(f.t, f.at("f"), "theirs\n")
		if err := os.Chtimes(f.at("f"), info.ModTime(), info.ModTime()); err != nil {
			f.t.Fatal(err)
		}
	}
	calls := map[string]string{
		"write": args("path", "f", "content", "mine\n"),
		"edit":  args("path", "f", "old", "before", "new", "mine"),
	}
	for name, input := range calls {
		f := open(t, map[string]string{"f": "before\n"})
		f.must("read", "path", "f")
		action, err := f.Plan(t.Context(), name, input)
		if err != nil {
			t.Fatal(err)
		}
		change(f)
		if _, err := f.Plan(t.Context(), name, input); err == nil || !strings.Contains(err.Error(), "has changed since you last read it; read it again") {
			t.Errorf("%s, planned after the change: %v", name, err)
		}
		out := action.Run(t.Context(), nil)
		if !out.Failed || !strings.Contains(out.Text, "has changed since this was planned") {
			t.Errorf("%s, planned before the change: %+v", name, out)
		}
		if got := f.content("f"); got != "theirs\n" {
			t.Errorf("%s: the file is now %q", name, got)
		}
	}
}

func TestCreateWhatSomebodyElseCreated(t *testing.T) {
	f := open(t, nil)
	action, err := f.Plan(t.Context(), "write", args("path", "f", "content", "mine"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, f.at("f"), "theirs")
	if out := action.Run(t.Context(), nil); !out.Failed || f.content("f") != "theirs" {
		t.Errorf("got %+v, the file is %q", out, f.content("f"))
	}
}

func TestModesAndLinksAreKept(t *testing.T) {
	f := open(t, map[string]string{"script": "a\n", "target": "a\n", "one": "a\n"})
	if err := os.Chmod(f.at("script"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", f.at("link")); err != nil {
		t.Skip(err)
	}
	outside := filepath.Join(t.TempDir(), "other")
	if err := os.Link(f.at("one"), outside); err != nil {
		t.Skip(err)
	}
	f.must("edit", "path", "script", "old", "a", "new", "b")
	f.must("edit", "path", "link", "old", "a", "new", "b")
	told := f.must("edit", "path", "one", "old", "a", "new", "b")

	if info, err := os.Stat(f.at("script")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("script: %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(f.at("link")); err != nil || to != "target" || f.content("target") != "b\n" {
		t.Errorf("link to %q, %v, which is %q", to, err, f.content("target"))
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "a\n" || !strings.Contains(told, "2 hard links") {
		t.Errorf("the file outside is %q, %v, and this was told: %s", b, err, told)
	}
}

// A reader sees the old content or the new one, never something between, and
// no temporary file stays.
func TestWritesAreWhole(t *testing.T) {
	t.Parallel()
	contents := []string{strings.Repeat("a", 20_000) + "\n", strings.Repeat("b", 40_000) + "\n"}
	f := open(t, map[string]string{"f": contents[0]})
	f.must("read", "path", "f")
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			b, err := os.ReadFile(f.at("f"))
			if err != nil || string(b) != contents[0] && string(b) != contents[1] {
				t.Errorf("read %d bytes, %v", len(b), err)
				return
			}
		}
	})
	for i := range 8 {
		f.must("write", "path", "f", "content", contents[(i+1)%2])
	}
	close(stop)
	reading.Wait()
	if entries, _ := os.ReadDir(f.Root()); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// A process that is killed in the middle of writes leaves the old content or the
// new one, and at most one temporary file.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	contents := [2]string{strings.Repeat("a", 300_000) + "\n", strings.Repeat("b", 200_000) + "\n"}
	if dir := os.Getenv("PARLEY_TEST_WRITES"); dir != "" { // the process to be killed
		set, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{Set: set, t: t}
		f.must("read", "path", "f")
		for i := 0; ; i++ {
			f.do("write", "path", "f", "content", contents[i%2])
		}
	}
	rounds, seen := 6, map[string]int{}
	if long {
		rounds = 300
	}
	for i := range rounds {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "f"), "old\n")
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileWriting$")
		cmd.Env = append(os.Environ(), "PARLEY_TEST_WRITES="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for at := time.Now(); time.Since(at) < time.Minute; time.Sleep(time.Millisecond) { // it writes
			if info, err := os.Stat(filepath.Join(dir, "f")); err == nil && info.Size() > 10 {
				break
			}
		}
		time.Sleep(time.Duration(i%5*2) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || string(b) != contents[0] && string(b) != contents[1] {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) > 2 {
			t.Errorf("left: %v", entries)
		}
		seen[string(b)]++
	}
	if len(seen) == 0 {
		t.Error("nothing was written")
	}
}

// Of edits that were planned on the same content only one is carried out.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	f := open(t, map[string]string{"f": "x\n"})
	var actions []*act.Action
	for i := range 8 {
		a, err := f.Plan(t.Context(), "edit", args("path", "f", "old", "x", "new", fmt.Sprint("x", i)))
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, a)
	}
	var running sync.WaitGroup
	worked := make(chan string, len(actions))
	for _, a := range actions {
		running.Go(func() {
			if out := a.Run(context.Background(), nil); !out.Failed {
				worked <- a.Diff
			}
		})
	}
	running.Wait()
	if len(worked) != 1 {
		t.Fatalf("%d edits went through", len(worked))
	}
	if diff := <-worked; !strings.Contains(diff, "+"+f.content("f")) {
		t.Errorf("the file is %q, the diff was %s", f.content("f"), diff)
	}
}

func TestUnified(t *testing.T) {
	ten := numberedLines(10)
	tests := []struct{ name, before, after, want string }{
		{"same", "a\n", "a\n", ""},
		{"in the middle", ten, strings.Replace(ten, "line 5\n", "five\n", 1),
			"@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n line 8\n"},
		{"at the end", ten, ten + "more\n", "@@ -8,3 +8,4 @@\n line 8\n line 9\n line 10\n+more\n"},
		{"at the begin", ten, "more\n" + ten, "@@ -1,3 +1,4 @@\n+more\n line 1\n line 2\n line 3\n"},
		{"two places", ten, strings.NewReplacer("line 1\n", "one\n", "line 10\n", "ten\n").Replace(ten),
			"@@ -1,4 +1,4 @@\n-line 1\n+one\n line 2\n line 3\n line 4\n@@ -7,4 +7,4 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n"},
		{"a repeated line", "a\na\na\n", "a\na\n", "@@ -1,3 +1,2 @@\n-a\n a\n a\n"},
		{"no newline at the end", "a\nb", "a\nc", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{"only the newline at the end", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"everything gone", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
	}
	for _, test := range tests {
		want := test.want
		if want != "" {
			want = "--- a/f\n+++ b/f\n" + want
		}
		if got := unifiedDiff("f", true, test.before, test.after); got != want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", test.name, got, want)
		}
	}
}

// Beyond what is compared line by line the diff is still whole.
func TestUnifiedOfLargeTexts(t *testing.T) {
	t.Parallel()
	before := numberedLines(100_000)
	after := strings.ReplaceAll(strings.Replace(before, "line 1\n", "one\n", 1), "line 99999\n", "last\n")
	got := unifiedDiff("f", true, before, after)
	removed, added := strings.Count(got, "\n-line"), strings.Count(got, "\n+line")
	if removed != added+2 || !strings.Contains(got, "\n+last\n") || !strings.Contains(got, "\n+one\n") {
		t.Errorf("%d lines removed, %d added", removed, added)
	}
	small := unifiedDiff("f", true, before, strings.Replace(before, "line 70000\n", "x\n", 1))
	if want := "--- a/f\n+++ b/f\n@@ -69997,7 +69997,7 @@\n"; !strings.HasPrefix(small, want) {
		t.Errorf("got %q, want %q", small[:min(200, len(small))], want)
	}
}

// The same test as for people: nothing is remembered by time.
func TestReadAfterChangeAllowsEdit(t *testing.T) {
	f := open(t, map[string]string{"f": "a\n"})
	f.must("read", "path", "f")
	write(t, f.at("f"), "b\n")
	os.Chtimes(f.at("f"), time.Unix(0, 0), time.Unix(0, 0))
	f.fails("edit", []any{"path", "f", "old", "b", "new", "c"}, "changed since you last read it")
	f.must("read", "path", "f")
	f.must("edit", "path", "f", "old", "b", "new", "c")
	f.must("edit", "path", "f", "old", "c", "new", "d") // its own edit is no change by others
}
