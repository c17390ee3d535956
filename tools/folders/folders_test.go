package folders

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// walked returns the folders that a walk finds, and the files with what stat(2) says of them.
func walked(t testing.TB, dir string) (folders []string, files map[string]string) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		rel = filepath.ToSlash(rel)
		if err != nil || rel == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files[rel] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
			return nil
		}
		files[rel] = info.Mode().String()
		folders = append(folders, rel)
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	return folders, files
}

// All returns the folders of the list, without the workspace itself, relative to it and with slashes, parents first. It
// waits for the first walk. Complete is false if ctx ended before, if there are more than 200,000 folders, or
// if some are more than 64 levels deep.
func (l *List) All(ctx context.Context) (folders []string, complete bool) {
	err := l.wait(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	folders = make([]string, 0, len(l.nodes))
	l.eachPath(func(_ int32, path string) { folders = append(folders, path) })
	return folders, err == nil && !l.cut
}

// eachPath passes each folder below the workspace, parents first.
func (t *tree) eachPath(f func(n int32, path string)) {
	var visit func(dir int32, prefix string)
	visit = func(dir int32, prefix string) {
		for n := t.nodes[dir].child; n != 0; n = t.nodes[n].next {
			path := prefix + t.nodes[n].name
			f(n, path)
			if t.nodes[n].child != 0 {
				visit(n, path+"/")
			}
		}
	}
	visit(0, "")
}

func synced(t testing.TB, l *List) Mark {
	t.Helper()
	m, err := l.Sync(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkAll compares the list with a walk.
func checkAll(t testing.TB, l *List) {
	t.Helper()
	synced(t, l)
	got, complete := l.All(context.Background())
	for i, folder := range got {
		if above := path.Dir(folder); above != "." && !slices.Contains(got[:i], above) && i < 1000 {
			t.Fatalf("%s is listed before %s", folder, above)
		}
	}
	want, _ := walked(t, l.dir)
	missing := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return slices.Contains(got, p) })
	extra := slices.DeleteFunc(slices.Clone(got), func(p string) bool { return slices.Contains(want, p) })
	if !complete || len(missing)+len(extra) > 0 || len(got) != len(want) {
		t.Fatalf("the list (complete: %v) of %d folders lacks %q, and has %q", complete, len(want), missing, extra)
	}
}

// A storm changes a workspace at random.
type storm struct {
	*rand.Rand
	dir string
}

func (s storm) path() string {
	name := s.dir
	for range 1 + s.IntN(4) {
		name = filepath.Join(name, string(rune('a'+s.IntN(4))))
	}
	return name
}

func (s storm) step() {
	p := s.path()
	switch s.IntN(12) {
	case 0, 1, 2:
		_ = os.MkdirAll(p, 0o755)
	case 3, 4:
		_ = os.Rename(p, s.path())
	case 5:
		_ = os.Remove(p)
	case 6:
		if s.IntN(4) == 0 {
			_ = os.RemoveAll(p)
		}
	case 7:
		exchange(p, s.path())
	case 8: // out of the workspace and back
		out := s.dir + ".out" + string(rune('0'+s.IntN(3)))
		if s.IntN(2) == 0 {
			_ = os.Rename(p, out)
		} else {
			_ = os.Rename(out, p)
		}
	case 9:
		_ = os.Chmod(p, 0o700+fs.FileMode(s.IntN(8)))
	case 10:
		_ = os.MkdirAll(p+"/.git/hooks", 0o755)
	default:
		_ = os.WriteFile(p+".txt", []byte(strings.Repeat("x", s.IntN(100))), 0o600)
	}
}

// TestStorms changes a workspace by several goroutines at once, and compares the list with a walk, Since with
// the files, and Changed with both.
func TestStorms(t *testing.T) {
	limits, seeds := []int{1000, 20, 0}, uint64(4)
	if runtime.GOOS != "linux" {
		limits, seeds = []int{0}, 1 // nothing is watched
	}
	for _, limit := range limits {
		t.Run(fmt.Sprint(limit, " watches"), func(t *testing.T) {
			o := standard()
			o.watches = limit
			for seed := range seeds {
				dir := filepath.Join(t.TempDir(), "workspace")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				l := open(dir, o)
				for range 6 {
					mark := synced(t, l)
					_, before := walked(t, dir)
					var mu sync.Mutex
					appeared := map[string]bool{}
					stop := l.Changed(func(path string) {
						mu.Lock()
						defer mu.Unlock()
						appeared[path] = true
					})
					var all sync.WaitGroup
					for i := range uint64(3) {
						all.Go(func() {
							s := storm{rand.New(rand.NewPCG(seed, i)), dir}
							for range 100 {
								s.step()
							}
						})
					}
					all.Wait()
					checkAll(t, l)
					stop()
					checkSince(t, l, mark, before)
					for p := range before {
						appeared[p] = true
					}
					_, now := walked(t, dir)
					for p := range now {
						if !appeared[p] {
							t.Fatalf("seed %d: %s was not reported", seed, p)
						}
					}
				}
				l.Close()
			}
		})
	}
}

// checkSince checks that Since returns all that differs from an earlier walk.
func checkSince(t *testing.T, l *List, m Mark, before map[string]string) {
	t.Helper()
	changed, unwatched, ok := l.Since(m)
	if !ok {
		return
	}
	_, now := walked(t, l.dir)
	named := func(p string) bool {
		for ; p != "."; p = path.Dir(p) {
			if slices.Contains(changed[path.Dir(p)], path.Base(p)) || slices.Contains(unwatched, path.Dir(p)) {
				return true
			}
		}
		return false
	}
	for p := range now {
		if before[p] != now[p] && !named(p) {
			t.Fatalf("the change of %s is missing in %q, unwatched %q", p, changed, unwatched)
		}
	}
	for p := range before {
		if now[p] == "" && !named(p) {
			t.Fatalf("the removal of %s is missing in %q, unwatched %q", p, changed, unwatched)
		}
	}
}

// standard returns the options of Open.
func standard() options {
	return options{watches: systemWatches() / 4, folders: maxFolders, queue: 200_000, now: time.Now, after: time.After}
}

// TestSince names the changes of every kind, once Sync has returned.
func TestSince(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs events")
	}
	dir := t.TempDir()
	for _, name := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "a/b/file")
	kept, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	l := open(dir, standard())
	defer l.Close()
	for _, test := range []struct {
		name   string
		change func() error
		want   string
	}{
		{"nothing", func() error { return nil }, "map[]"},
		{"written by one who keeps it open", func() error { _, err := kept.WriteString("x"); return err }, "map[a/b:[file]]"},
		{"attributes", func() error { return os.Chmod(file, 0o700) }, "map[a/b:[file]]"},
		{"times", func() error { return os.Chtimes(file, time.Unix(0, 0), time.Unix(0, 0)) }, "map[a/b:[file]]"},
		{"folder renamed", func() error { return os.Rename(dir+"/a", dir+"/c/d") }, "map[.:[a] c:[d]]"},
		{"written in it", func() error { _, err := kept.WriteString("x"); return err }, "map[c/d/b:[file]]"},
		{"new folder", func() error { return os.MkdirAll(dir+"/e/f/g", 0o755) }, "map[.:[e]]"},
		{"deleted", func() error { return os.RemoveAll(dir + "/c/d/b") }, "map[c/d:[b] c/d/b:[file]]"},
		{"link", func() error { return os.Symlink("/etc", dir+"/link") }, "map[.:[link]]"},
	} {
		m := synced(t, l)
		if err := test.change(); err != nil {
			t.Fatal(err)
		}
		synced(t, l)
		if changed, unwatched, ok := l.Since(m); fmt.Sprint(changed) != test.want || len(unwatched) > 0 || !ok {
			t.Errorf("%s: Since = %v, %q, %v; want %s", test.name, changed, unwatched, ok, test.want)
		}
	}
	if _, _, ok := l.Since(0); ok {
		t.Error("the zero mark has all changes")
	}
}

// TestOverflow loses events, after which the list is complete, Since says so, and every name is reported.
func TestOverflow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs events")
	}
	dir := t.TempDir()
	o := standard()
	o.queue = 50
	l := open(dir, o)
	defer l.Close()
	m := synced(t, l)
	appeared := map[string]bool{}
	defer l.Changed(func(path string) { appeared[path] = true })()
	l.busy <- struct{}{} // nobody takes in events
	for i := range 100 {
		if err := os.MkdirAll(fmt.Sprintf("%s/%d/in", dir, i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/5/.envrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-l.busy
	checkAll(t, l)
	if _, _, ok := l.Since(m); ok {
		t.Error("Since has all changes after an overflow")
	}
	if !appeared["99/in"] || !appeared["5/.envrc"] {
		t.Error("names that appeared during the overflow are not reported")
	}
	m = synced(t, l)
	if err := os.WriteFile(dir+"/7/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synced(t, l)
	if changed, _, ok := l.Since(m); !ok || fmt.Sprint(changed) != "map[7:[file]]" {
		t.Errorf("after the overflow Since = %v, %v", changed, ok)
	}
}

// TestLimits leaves out folders above the limits, and says so.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	o := standard()
	o.folders = 10
	for i := range 20 {
		if err := os.Mkdir(fmt.Sprintf("%s/%d", dir, i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := open(dir, o)
	defer l.Close()
	if all, complete := l.All(context.Background()); len(all) != 10 || complete {
		t.Errorf("All = %d folders, complete: %v; want 10, false", len(all), complete)
	}
	if _, _, ok := l.Since(synced(t, l)); ok {
		t.Error("Since has all changes of an incomplete list")
	}
	deep := t.TempDir()
	if err := os.MkdirAll(filepath.Join(deep, strings.Repeat("d/", 80)), 0o755); err != nil {
		t.Fatal(err)
	}
	m := open(deep, standard())
	defer m.Close()
	if all, complete := m.All(context.Background()); len(all) != maxLevels || complete {
		t.Errorf("All = %d folders, complete: %v; want %d, false", len(all), complete, maxLevels)
	}
}

// TestPolling looks at folders without a watch as often as the clock says.
func TestPolling(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/a", 0o755); err != nil {
		t.Fatal(err)
	}
	o, tick, slept := standard(), make(chan time.Time), make(chan time.Duration, 1)
	o.watches = 0
	o.after = func(d time.Duration) <-chan time.Time { slept <- d; return tick }
	l := open(dir, o)
	defer l.Close()
	synced(t, l)
	found := make(chan string, 100)
	defer l.Changed(func(path string) { found <- path })()
	if d := <-slept; d < 10*time.Millisecond {
		t.Errorf("it waits for %v only", d)
	}
	if err := os.WriteFile(dir+"/a/.envrc", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tick <- time.Time{}
	<-slept
	for name := ""; name != "a/.envrc"; name = <-found {
	}
	if _, unwatched, _ := l.Since(synced(t, l)); len(unwatched) != 2 {
		t.Errorf("unwatched = %q; want . and a", unwatched)
	}
}

// TestEnter watches the inside of a repository on request.
func TestEnter(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/a/.git/hooks/more", 0o755); err != nil {
		t.Fatal(err)
	}
	l := open(dir, standard())
	defer l.Close()
	checkAll(t, l)
	l.Enter("a/.git/hooks")
	synced(t, l)
	all, _ := l.All(context.Background())
	slices.Sort(all)
	if want := []string{"a", "a/.git", "a/.git/hooks", "a/.git/hooks/more"}; !slices.Equal(all, want) {
		t.Errorf("All = %q; want %q", all, want)
	}
	found := map[string]bool{}
	defer l.Changed(func(path string) { found[path] = true })()
	if err := os.WriteFile(dir+"/a/.git/hooks/pre-commit", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a/.git/config", nil, 0o755); err != nil {
		t.Fatal(err)
	}
	synced(t, l)
	if !found["a/.git/hooks/pre-commit"] || found["a/.git/config"] {
		t.Errorf("reported: %v", found)
	}
}

// TestHolding finds repositories by the names in them, also ones that are made later, and not again once they are gone.
func TestHolding(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/.git", "a/deep/bare/refs", "none/git"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/deep/bare/HEAD")
	write("none/head")
	l := open(dir, standard())
	defer l.Close()
	check := func(want ...string) {
		t.Helper()
		if got, err := l.Holding(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	check("a/deep/bare", "b")
	write(".git")
	check(".", "a/deep/bare", "b")
	if runtime.GOOS == "windows" {
		return // a folder that is being read cannot be removed there
	}
	if err := os.RemoveAll(dir + "/a"); err != nil {
		t.Fatal(err)
	}
	check(".", "b")
}

// TestSharedAndClosed gives all callers the same list, and none after the last Close.
func TestSharedAndClosed(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(dir), Open(dir)
	if a != b {
		t.Error("two lists of one workspace")
	}
	a.Close()
	synced(t, b)
	b.Close()
	if _, err := b.Sync(context.Background()); err == nil {
		t.Error("Sync works after Close")
	}
	if c := Open(filepath.Join(dir, "none")); c != nil {
		if all, complete := c.All(context.Background()); len(all) > 0 || complete {
			t.Errorf("All of no workspace = %q, complete: %v", all, complete)
		}
		c.Close()
	}
}

// TestMany creates 40,000 folders at once, and bounds the memory of the list.
func TestMany(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 40,000 folders")
	}
	dir := t.TempDir()
	l := open(dir, standard())
	defer l.Close()
	synced(t, l)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 100 {
				for k := range 100 {
					if err := os.MkdirAll(fmt.Sprintf("%s/folder-%d/number-%d/in-%d", dir, i, j, k), 0o755); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	checkAll(t, l)
	var before, after runtime.MemStats
	o := standard()
	delete(lists.byDir, l.dir)
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := open(dir, o)
	synced(t, m)
	runtime.GC()
	runtime.ReadMemStats(&after)
	folders, _ := m.All(context.Background())
	if n := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(folders)); n > 8<<20/60_000. {
		t.Errorf("a folder takes %.0f bytes", n)
	}
	m.Close()
}
