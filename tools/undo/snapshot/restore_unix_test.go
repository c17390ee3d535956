//go:build unix

package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	_ "parley/providers/llmtest/heap"
	"parley/tools/act"
	"parley/tools/places"
	"parley/tools/undo"

	"golang.org/x/sys/unix"
)

// A desk is a workspace with a history. Its tests run in a bubble of synctest: no time passes while
// files are read, so no snapshot is late.
type desk struct {
	*testing.T
	dir string
	*History
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	base := fastDir(t)
	d := &desk{T: t, dir: filepath.Join(base, "work")}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		write(t, filepath.Join(d.dir, name), content)
	}
	h, err := openStore(filepath.Join(base, "data", "undo")).history("one", d.dir)
	if err != nil {
		t.Fatal(err)
	}
	d.History, h.memory.began = h, true // each call walks
	return d
}

// shell runs a command as a call.
func (d *desk) shell(line string) undo.Record {
	d.Helper()
	w := d.Watch(act.FileCall{ID: "c", Title: line})
	begin(d.T, w)
	run(d.T, d.dir, "sh", "-c", line)
	return end(d.T, w)
}

func (d *desk) write(name, content string) {
	d.Helper()
	write(d.T, filepath.Join(d.dir, name), content)
}

// read returns what a file holds; "none" if there is none.
func (d *desk) read(name string) string {
	b, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		return "none"
	}
	return string(b)
}

// back restores to before a record, and returns what was skipped, as "path: why".
func (d *desk) back(n int, asked bool) (plan *undo.Plan, skipped string) {
	d.Helper()
	plan, err := d.Plan(n)
	if err != nil {
		d.Fatal(err)
	}
	_, left, err := d.Restore(plan, asked, 0, "undo")
	if err != nil {
		d.Fatal(err)
	}
	var all []string
	for _, s := range left {
		all = append(all, fmt.Sprintf("%s: %s", s.Path, s.Why))
	}
	return plan, strings.Join(all, "\n")
}

// TestChangedByHand: what somebody else changed since is overwritten or deleted only if the
// user says so, and can be brought back then.
func TestChangedByHand(t *testing.T) {
	for name, tt := range map[string]struct {
		command string // the call's
		hand    func(d *desk)
		want    string // why it asks
	}{
		"changed since":     {"echo model > a", func(d *desk) { d.write("a", "hand") }, "a: changed since"},
		"deleted since":     {"echo model > a", func(d *desk) { os.Remove(filepath.Join(d.dir, "a")) }, "a: deleted since"},
		"mode since":        {"echo model > a", func(d *desk) { os.Chmod(filepath.Join(d.dir, "a"), 0o600) }, "a: changed since"},
		"new one, changed":  {"echo model > b", func(d *desk) { d.write("b", "hand") }, "b: changed since"},
		"between two calls": {"true", func(d *desk) { d.write("a", "hand"); d.shell("echo second > a") }, ""},
		"deleted one again": {"rm a", func(d *desk) { d.write("a", "hand") }, "a: changed since"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, map[string]string{"a": "old\n"})
				d.shell(tt.command)
				tt.hand(d)
				before := treeOf(t, d.dir, nil)
				if _, skipped := d.back(1, false); skipped != tt.want {
					t.Errorf("skipped %q, want %q", skipped, tt.want)
				}
				if tt.want == "" {
					if d.read("a") != "hand" {
						t.Errorf("what stood before the first change of a call is %q now", d.read("a"))
					}
					return
				}
				if diff := diffOf(before, treeOf(t, d.dir, nil)); diff != "" {
					t.Errorf("changed without being asked:\n%s", diff)
				}
				d.back(1, true)
				if d.read("a") != "old\n" || d.read("b") != "none" {
					t.Errorf("a is %q, b %q", d.read("a"), d.read("b"))
				}
				records := d.Records()
				d.back(records[len(records)-1].N, false)
				if diff := diffOf(before, treeOf(t, d.dir, nil)); diff != "" {
					t.Errorf("the undo of that:\n%s", diff)
				}
			})
		})
	}
}

// TestHandBetweenCalls: a change by hand between two calls that changed the same file asks.
func TestHandBetweenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{"a": "old\n"})
		d.shell("echo one > a")
		d.write("a", "hand\n")
		d.shell("echo two > a")
		if _, skipped := d.back(1, false); skipped != "a: also changed by something else" || d.read("a") != "two\n" {
			t.Errorf("skipped %q, a is %q", skipped, d.read("a"))
		}
		if _, skipped := d.back(2, false); skipped != "" || d.read("a") != "hand\n" {
			t.Errorf("skipped %q, a is %q", skipped, d.read("a"))
		}
	})
}

// TestUnseenIsNeverDeleted: what parley did not see being made stays, also in a folder that it
// did see, and so does that folder.
func TestUnseenIsNeverDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{"a": "old\n"})
		d.shell("mkdir -p made/deep; echo x > made/deep/x; echo y > made/y")
		d.write("made/deep/hand", "by hand\n")
		d.write("elsewhere", "by hand\n")
		_, skipped := d.back(1, false)
		if d.read("made/deep/hand") != "by hand\n" || d.read("elsewhere") != "by hand\n" || d.read("made/deep/x") != "none" || d.read("made/y") != "none" {
			t.Errorf("%v", treeOf(t, d.dir, nil))
		}
		if !strings.Contains(skipped, "made: directory not empty") {
			t.Errorf("skipped %q", skipped)
		}
	})
}

// TestUserEditsDuringApproval: what a user changes while they are asked is theirs.
func TestUserEditsDuringApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{"a": "old\n", "b": "old\n"})
		w := d.Watch(act.FileCall{ID: "c", Title: "echo model > b"})
		w.Coverage()
		d.write("a", "hand\n")
		time.Sleep(maxSnapshotAge + 1)
		begin(t, w)
		d.write("b", "model\n")
		if r := end(t, w); len(r.Changes) != 1 || r.Changes[0].Path != "b" {
			t.Errorf("%+v", r.Changes)
		}
	})
}

// TestLinksAreNotFollowed: a link that was put in the place of a folder leads nothing astray,
// neither inside of the workspace nor out of it.
func TestLinksAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, target := range []string{"other", "../outside", "/"} {
			d := newDesk(t, map[string]string{"dir/a": "old\n", "other/a": "other\n"})
			write(t, filepath.Join(d.dir, "../outside/a"), "outside\n")
			d.shell("echo model > dir/a; echo more > dir/b")
			if err := os.Rename(filepath.Join(d.dir, "dir"), filepath.Join(d.dir, "away")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(d.dir, "dir")); err != nil {
				t.Fatal(err)
			}
			_, skipped := d.back(1, true)
			if d.read("other/a") != "other\n" || d.read("../outside/a") != "outside\n" || d.read("away/a") != "model\n" || d.read("other/b") != "none" {
				t.Errorf("%s: written through a link: %s", target, skipped)
			}
			if !strings.Contains(skipped, places.ErrNotDirectory.Error()) {
				t.Errorf("%s: skipped %q", target, skipped)
			}
		}
	})
}

// TestHostileRecords: a history that was tampered with reaches nothing outside.
func TestHostileRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"../outside/a", "/etc/passwd", "dir/../../outside/a", "", ".", "..", "a\x00b", "dir//a"} {
			d := newDesk(t, map[string]string{"dir/a": "old\n"})
			write(t, filepath.Join(d.dir, "../outside/a"), "outside\n")
			sum, err := d.store.put([]byte("evil\n"))
			if err != nil {
				t.Fatal(err)
			}
			r := undo.Record{Title: "x", Root: undo.Name(d.History.dir), Changes: []undo.Change{{Path: undo.Name(name), Before: undo.State{Kind: undo.File, Mode: 0o644, Sum: sum, Stored: true, Size: 5}}}}
			if err := d.put(&r); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, filepath.Dir(d.dir), map[string]bool{"data": true})
			d.back(1, true)
			if diff := diffOf(before, treeOf(t, filepath.Dir(d.dir), map[string]bool{"data": true})); diff != "" {
				t.Errorf("%q:\n%s", name, diff)
			}
		}
	})
}

// TestUncoveredIsNamed: files that cannot be kept are named before the call, and left alone after it.
func TestUncoveredIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{"a": "old\n"})
		for i := range 3 {
			f, err := os.Create(filepath.Join(d.dir, fmt.Sprint("big", i)))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Truncate(400 << 20); err != nil { // without blocks
				t.Fatal(err)
			}
			f.Close()
		}
		w := d.Watch(act.FileCall{ID: "c", Title: "x"})
		if got := w.Coverage(); got != "3 files (1.2 GB) cannot be undone" {
			t.Errorf("told: %q", got)
		}
		begin(t, w)
		d.write("big0", "small now")
		d.write("a", "new")
		end(t, w)
		plan, skipped := d.back(1, true)
		if d.read("big0") != "small now" || d.read("a") != "old\n" || skipped != "big0: what it was is not kept" || len(plan.Uncovered) != 1 {
			t.Errorf("big0 is %.20q, a %q, skipped %q, uncovered %v", d.read("big0"), d.read("a"), skipped, plan.Uncovered)
		}
	})
}

// TestSpecialFilesAreNamed: a named pipe that a call removed cannot be undone and is named; a link
// is restored.
func TestSpecialFilesAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		err := errors.Join(unix.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600), os.Symlink("a", filepath.Join(d.dir, "link")), os.Mkdir(filepath.Join(d.dir, "dir"), 0o700))
		if err != nil {
			t.Fatal(err)
		}
		d.shell("rm pipe link; rmdir dir")
		plan, _ := d.back(1, true)
		if want := []undo.Uncovered{{Path: "pipe", Why: "it was no regular file"}}; !slices.Equal(plan.Uncovered, want) {
			t.Errorf("uncovered: %+v, want %+v", plan.Uncovered, want)
		}
		if to, err := os.Readlink(filepath.Join(d.dir, "link")); to != "a" {
			t.Errorf("the link leads to %q, %v", to, err)
		}
	})
}

// TestIgnoredFolders: a folder that git ignores is named, and left alone.
func TestIgnoredFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{".gitignore": "/node_modules/\n", "node_modules/m/a.js": "old\n", "a": "old\n", "small.log": "x"})
		run(t, d.dir, "git", "init", "-q")
		d.shell("echo new > a; rm -r node_modules; mkdir -p node_modules; echo new > node_modules/b.js")
		plan, skipped := d.back(1, false)
		if d.read("a") != "old\n" || d.read("node_modules/b.js") != "new\n" || skipped != "" {
			t.Errorf("a is %q, skipped %q", d.read("a"), skipped)
		}
		if len(plan.Uncovered) != 1 || plan.Uncovered[0] != (undo.Uncovered{Path: "node_modules", Why: ignoredByGit}) {
			t.Errorf("named: %+v", plan.Uncovered)
		}
	})
}

// TestRulesChange: what a command makes git ignore is seen all the same, and what git ignored
// before does not look new.
func TestRulesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{".gitignore": "/one/\n", "one/a": "1\n", "two/a": "2\n"})
		run(t, d.dir, "git", "init", "-q")
		before := treeOf(t, d.dir, nil)
		if r := d.shell("echo /two/ > .gitignore; echo changed > two/a"); len(r.Changes) != 2 {
			t.Errorf("%+v", r.Changes)
		}
		d.back(1, false)
		if diff := diffOf(before, treeOf(t, d.dir, nil)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestOwnDirectory: parley's own directory in the workspace is not part of it.
func TestOwnDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{"a": "old\n"})
		h, err := openStore(filepath.Join(d.dir, "data", "undo")).history("one", d.dir)
		if err != nil {
			t.Fatal(err)
		}
		d.History, h.memory.began = h, true
		d.shell("echo new > a")
		if r := d.shell("echo x > data/parley.db; echo y > b"); len(r.Changes) != 1 || r.Changes[0].Path != "b" {
			t.Errorf("%+v", r.Changes)
		}
	})
}

// TestPrivate: what is kept is for its owner only.
func TestPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, map[string]string{".env": "SECRET=1\n"})
		d.shell("echo > .env")
		n := 0
		err := filepath.Walk(d.store.dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			n++
			if info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			return nil
		})
		if err != nil || n < 6 {
			t.Errorf("%d files: %v", n, err)
		}
		if err := d.store.Remove("one"); err != nil {
			t.Fatal(err)
		}
		left, err := d.store.objects()
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// killedEnv names the step at which a helper process of TestKilled kills itself.
const killedEnv = "PARLEY_TEST_KILLED"

// TestMain runs the helper of TestKilled.
func TestMain(m *testing.M) {
	step, err := strconv.Atoi(os.Getenv(killedEnv))
	if err != nil {
		os.Exit(m.Run())
	}
	beforeChange = func() {
		if step--; step < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	h, err := openStore(os.Args[1]).history("one", os.Args[2])
	if err == nil {
		var p *undo.Plan
		if p, err = h.Plan(1); err == nil {
			_, _, err = h.Restore(p, true, 0, "undo")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

// TestKilled: a restore that is killed at any step, here at every other one and at all with
// PARLEY_LONG=1, leaves each file as it was or as it is to
// become, leaves nothing lying about, and the next start says which; going on restores all.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		for i := range 12 {
			files[fmt.Sprintf("d%d/f%d", i%3, i)] = fmt.Sprintf("content %d\n", i)
		}
		seed := newDesk(t, files)
		old := treeOf(t, seed.dir, nil)
		seed.shell("for i in 0 3 6 9; do echo changed >> d0/f$i; done; rm d1/f1 d1/f4; mkdir -p new/deep; echo n > new/deep/n; ln -s f2 d2/link; chmod 755 d2/f5; mv d2/f8 d2/moved")
		changed := treeOf(t, seed.dir, nil)
		ended, stride := false, 2
		if os.Getenv("PARLEY_LONG") != "" {
			stride = 1
		}
		for step := 0; step < 40 && !ended; step += stride {
			base := fastDir(t)
			run(t, base, "cp", "-a", filepath.Dir(seed.dir)+"/.", base)
			dir, data := filepath.Join(base, "work"), filepath.Join(base, "data", "undo")
			for _, name := range []string{logName, reachName} {
				name = filepath.Join(data, "sessions/one", name)
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, bytes.ReplaceAll(text, []byte(seed.History.dir), []byte(dir)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(os.Args[0], data, dir)
			cmd.Env = append(os.Environ(), killedEnv+"="+strconv.Itoa(step))
			out, err := cmd.CombinedOutput()
			ended = err == nil
			if err != nil && cmd.ProcessState.ExitCode() != -1 {
				t.Fatalf("step %d: %v\n%s", step, err, out)
			}
			h, err := openStore(data).history("one", dir)
			if err != nil {
				t.Fatal(err)
			}
			found, err := h.Recover()
			if err != nil || (found == nil) != ended {
				t.Fatalf("step %d: %+v, %v", step, found, err)
			}
			for name, is := range treeOf(t, dir, nil) {
				if is != old[name] && is != changed[name] && !is.mode.IsDir() {
					t.Errorf("step %d: %q is neither old nor new: %v", step, name, is)
				}
			}
			if found != nil && len(found.Changed) > 1 {
				t.Errorf("step %d: %+v", step, found)
			}
			p, err := h.Plan(1)
			if err != nil {
				t.Fatal(err)
			}
			if _, skipped, err := h.Restore(p, false, 0, "undo"); err != nil || len(skipped) > 0 {
				t.Errorf("step %d: going on: %v, %v", step, skipped, err)
			}
			if diff := diffOf(old, treeOf(t, dir, nil)); diff != "" {
				t.Errorf("step %d: after going on:\n%s", step, diff)
			}
			again, err := h.Recover()
			if again != nil || err != nil {
				t.Errorf("step %d: a second look: %+v, %v", step, again, err)
			}
		}
		if !ended {
			t.Error("the restore never came to its end")
		}
	})
}
