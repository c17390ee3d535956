//go:build unix

package snapshot

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/act"
	"parley/tools/undo"
)

// A node is what stands at a path, for the tests: by other means than those of the package.
type node struct {
	mode fs.FileMode
	sum  [32]byte
	link string
}

// treeOf returns all of a folder but .git and parts of it that nothing covers.
func treeOf(t testing.TB, dir string, except map[string]bool) map[string]node {
	t.Helper()
	all := map[string]node{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.Name() == ".git" || except[name]:
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := node{mode: info.Mode()}
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.sum = sha256.Sum256(b)
		case info.Mode()&fs.ModeSymlink != 0:
			n.link, err = os.Readlink(path)
		}
		all[name] = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// diffOf returns how two trees differ; "" if they do not.
func diffOf(want, got map[string]node) string {
	var out strings.Builder
	for name, w := range want {
		if g, ok := got[name]; !ok {
			fmt.Fprintf(&out, "%q is missing\n", name)
		} else if g != w {
			fmt.Fprintf(&out, "%q is %v %x %q, want %v %x %q\n", name, g.mode, g.sum[:4], g.link, w.mode, w.sum[:4], w.link)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&out, "%q should not be there\n", name)
		}
	}
	return out.String()
}

// fastDir returns a folder for the time of a test, in memory where the system has that.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "parley-undo-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		_ = os.RemoveAll(dir)
	})
	return dir
}

// run runs a program in dir.
func run(t testing.TB, dir string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeRepository makes a repository of n files, some of them of kinds that go wrong easily.
func makeRepository(t testing.TB, dir string, n int, packed bool) {
	t.Helper()
	run(t, dir, "git", "init", "-q", "--template=")
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.txt", i%7, i%31, i)), strings.Repeat(fmt.Sprintf("line %d\n", i), i%50+1))
	}
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n/build/\n.env\n")
	write(t, filepath.Join(dir, "crlf.txt"), "a\r\nb\r\n")
	write(t, filepath.Join(dir, ".gitattributes"), "*.txt text=auto\n")
	run(t, dir, "git", "add", "-A")
	run(t, dir, "git", "commit", "-q", "-m", "one")
	if packed {
		write(t, filepath.Join(dir, "d0/e0/f0.txt"), strings.Repeat("line 0 changed\n", 40))
		run(t, dir, "git", "commit", "-q", "-a", "-m", "two")
		run(t, dir, "git", "gc", "-q")
	}
	write(t, filepath.Join(dir, ".env"), "SECRET=1\n")
	write(t, filepath.Join(dir, "some.log"), "small and ignored\n")
	write(t, filepath.Join(dir, "build/out.o"), "ignored folder\n")
	write(t, filepath.Join(dir, "untracked\n\x1b[31m\xff.txt"), "a name to be afraid of\n")
}

// commands are what a shell may do; $A and $B are names.
var commands = []string{
	`printf 'x%s\n' "$$" >> "$A"`, `rm -f "$A"`, `mv -f "$A" "$B"`, `mkdir -p new/"$N" && echo made > new/"$N"/file`, `rm -rf d$D`,
	`chmod 755 "$A"`, `chmod 600 "$A"`, `ln -sf "$B" "$A"`, `cp -p "$A" "$B"`, `sed -i s/line/LINE/ d$D/*/*.txt`, `git checkout -q -- . 2>&1`,
	`git stash -q -u 2>&1; true`, `mv d$D moved$N`, `touch -d 2001-01-01 "$A"; echo same >> "$A"`, `truncate -s 0 "$A"`, `: > "$A"; chmod 444 "$A"`,
	`git add -A 2>/dev/null; git -c user.name=a -c user.email=a@b commit -q -m x 2>&1; true`, `mkdir -p empty$N`, `rmdir empty$N`, `chmod 555 d$D`, `find . -name '*1.txt' -not -path './.git/*' -delete`,
	`echo SECRET=$N > .env`, `rm -f .env some.log`, `rm -rf "$A"; mkdir -p "$A"/sub; echo now a folder > "$A"/sub/f`, `git gc -q 2>&1; true`, `printf '\r\nmore\r\n' >> crlf.txt`, `rm -rf new moved*`,
	`for i in $(seq 40); do echo $i > many$N-$i; done`, `true`, `git mv -k "$A" "$B" 2>/dev/null; true`,
}

// TestUndoToAnyPoint undoes random sequences of what tools and commands do, to random points,
// and undoes that again: all is as it was then, byte for byte. There are enough sequences for
// each command to begin one; with PARLEY_LONG=1 there are more, and some in 5,000 files, with
// PARLEY_LONG=all 200 of those, which take ten minutes.
func TestUndoToAnyPoint(t *testing.T) {
	undoSequences(t, len(commands), 20, false)
	t.Run("remembered", func(t *testing.T) { undoSequences(t, len(commands), 20, true) })
	if large := map[string]int{"1": 12, "all": 200}[os.Getenv("PARLEY_LONG")]; large > 0 {
		t.Run("more", func(t *testing.T) { undoSequences(t, 200, 40, false) })
		t.Run("more, remembered", func(t *testing.T) { undoSequences(t, 200, 40, true) })
		t.Run("large", func(t *testing.T) { undoSequences(t, large, 5000, true) })
	}
}

func undoSequences(t *testing.T, sequences, files int, remembered bool) {
	template, packed := fastDir(t), fastDir(t)
	makeRepository(t, template, files, false)
	makeRepository(t, packed, files, true)
	for seed := range sequences {
		from := template
		if seed%2 == 1 {
			from = packed
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if remembered {
				undoSequence(t, uint64(seed), from, files, true)
				return
			}
			synctest.Test(t, func(t *testing.T) { undoSequence(t, uint64(seed), from, files, false) }) // no snapshot is late
		})
	}
}

func undoSequence(t *testing.T, seed uint64, template string, files int, remembered bool) {
	rnd := rand.New(rand.NewPCG(seed, 17))
	base := fastDir(t)
	dir := filepath.Join(base, "work")
	run(t, base, "cp", "-a", template, dir)
	store := openStore(filepath.Join(base, "data", "undo"))
	h, err := store.history("one", dir)
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		if rnd.IntN(8) == 0 {
			return []string{".env", "crlf.txt", "untracked\n\x1b[31m\xff.txt", "fresh.txt", "d0/fresh.txt"}[rnd.IntN(5)]
		}
		i := rnd.IntN(files)
		return fmt.Sprintf("d%d/e%d/f%d.txt", i%7, i%31, i)
	}
	points := map[int]map[string]node{} // before the record of a number
	var done []string
	if remembered {
		defer h.Close()
		points[1] = treeOf(t, dir, nil)
		remember(t, h)
	} else {
		h.memory.began = true // each call walks
	}
	for i := range 2 + rnd.IntN(4) {
		if i > 0 && rnd.IntN(3) == 0 {
			file := name()
			if info, err := os.Lstat(filepath.Join(dir, file)); err == nil && !info.Mode().IsRegular() {
				continue
			}
			before := treeOf(t, dir, nil)
			w := h.Watch(act.FileCall{ID: "w", Title: "write " + file, Paths: []string{file}})
			begin(t, w)
			points[len(h.Records())] = before
			if os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755) == nil {
				_ = os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, "written %d\n", rnd.Int()), 0o644)
			}
			end(t, w)
			done = append(done, "write "+file)
			continue
		}
		line := commands[rnd.IntN(len(commands))]
		if i == 0 {
			line = commands[seed%uint64(len(commands))]
		}
		before := treeOf(t, dir, nil)
		w := h.Watch(act.FileCall{ID: "s", Title: line})
		if why := w.Coverage(); why != "" && !strings.Contains(why, "in time") {
			t.Fatalf("not covered: %s", why)
		}
		begin(t, w)
		points[len(h.Records())] = before
		if remembered && i == 0 && w.(*Watch).snapshot.base == nil {
			t.Error("the workspace was walked")
		}
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "A="+name(), "B="+name(), fmt.Sprint("D=", rnd.IntN(7)), fmt.Sprint("N=", rnd.IntN(4)), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		_, _ = cmd.CombinedOutput() // it may well fail
		r := end(t, w)
		done = append(done, line)
		if r.Partial != "" {
			return // the machine is too busy to see all in 300 ms, which was told
		}
	}
	now := treeOf(t, dir, nil)
	for range 3 {
		n := 1 + rnd.IntN(len(h.Records())+1) // after the last one is the present state
		points[len(h.Records())+1] = now
		now = goTo(t, h, dir, n, points[n], done)
		done = append(done, fmt.Sprint("undo to ", n))
	}
}

// remember makes a call, after which the workspace is remembered.
func remember(t testing.TB, h *History) {
	t.Helper()
	w := h.Watch(act.FileCall{ID: "s", Title: "true"})
	if err := errors.Join(w.Begin(), w.End()); err != nil {
		t.Fatal(err)
	}
	known(t, h)
}

// known warms a history and waits until the workspace is remembered.
func known(t testing.TB, h *History) {
	t.Helper()
	h.Warm()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		h.memory.mu.Lock()
		known := h.memory.now != nil && len(h.memory.pending) == 0
		h.memory.mu.Unlock()
		if known {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the workspace is not remembered")
		}
	}
}

func begin(t *testing.T, w act.FileWatch) {
	t.Helper()
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, w act.FileWatch) undo.Record {
	t.Helper()
	r, err := ended(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goTo restores the files as they were before a record, checks that they are, and returns all
// that is there then.
func goTo(t *testing.T, h *History, dir string, n int, want map[string]node, done []string) (now map[string]node) {
	t.Helper()
	p, err := h.Plan(n)
	if err != nil {
		t.Fatal(err)
	}
	_, skipped, err := h.Restore(p, false, 0, "undo")
	if err != nil {
		t.Fatal(err)
	}
	uncovered := map[string]bool{}
	for _, u := range p.Uncovered {
		uncovered[string(u.Path)] = true
	}
	now = treeOf(t, dir, nil)
	got := now
	if len(uncovered) > 0 {
		got = treeOf(t, dir, uncovered)
	}
	for name := range maps.Clone(want) {
		for at := name; at != "."; at = filepath.Dir(at) {
			if uncovered[at] {
				delete(want, name)
			}
		}
	}
	if d := diffOf(want, got); d != "" {
		t.Errorf("restored to before %d of %q:\n%s%v", n, done, d, skipped)
	}
	return now
}

// ended ends w and returns its record.
func ended(w act.FileWatch) (undo.Record, error) {
	err := w.End()
	return w.(*Watch).record, err
}
