package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/tools/openat"
	"parley/ui/fuzzy"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree creates files, and directories for names that end with a slash. The text
// after "=" is the content.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		name, content, _ := strings.Cut(name, "=")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names returns files in the syntax of tree.
func names(found []File) string {
	var out []string
	for _, f := range found {
		if f.IsDirectory {
			f.Path += "/"
		}
		out = append(out, f.Path)
	}
	return strings.Join(out, " ")
}

// walked returns the index of a directory after its first walk.
func walked(t testing.TB, dir string) *Index {
	t.Helper()
	x := New(dir)
	t.Cleanup(x.Close)
	x.Go = func(walk func()) { walk() }
	x.refresh()
	return x
}

func TestWalk(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"by levels":          {[]string{"b/c/d", "a", "b/a"}, "a b/ b/a b/c/ b/c/d"},
		"hidden ones too":    {[]string{".env", ".github/ci.yml"}, ".env .github/ .github/ci.yml"},
		"but not git's":      {[]string{".git/config", "sub/.git/config", "sub/a"}, "sub/ sub/a"},
		"gitignore":          {[]string{".gitignore=*.log\n/out/\n", "a.log", "out/x", "sub/out/y", "sub/b.log"}, ".gitignore sub/ sub/out/ sub/out/y"},
		"gitignore below":    {[]string{"sub/.gitignore=x\n", "x", "sub/x", "sub/y"}, "sub/ x sub/.gitignore sub/y"},
		"ignore goes before": {[]string{".gitignore=*.pb.go\n", ".ignore=!a.pb.go\nvendor\n", "a.pb.go", "b.pb.go", "vendor/x"}, ".gitignore .ignore a.pb.go"},
		"unspeakable names":  {[]string{"a\nb", "a\x1b[2J", "\x1b[2J", "\xff", "ok"}, "ok"},
		"spaces":             {[]string{"a b/c d.txt"}, "a b/ a b/c d.txt"},
		"nothing":            {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name == "unspeakable names" {
				t.Skip("the system has no such names")
			}
			found, more := walked(t, tree(t, c.files...)).Find("", 100)
			if got := names(found); got != c.want || more {
				t.Errorf("got %s (more: %v)\nwant %s", got, more, c.want)
			}
		})
	}
}

func TestWalkOfAFolderThatIsNotThere(t *testing.T) {
	x := walked(t, filepath.Join(t.TempDir(), "gone"))
	if found, more := x.Find("", 10); len(found) > 0 || more {
		t.Errorf("found %v, more: %v", found, more)
	}
}

func TestWalkStaysInside(t *testing.T) {
	outside := tree(t, "secret")
	dir := tree(t, "sub/a")
	for link, to := range map[string]string{"out": outside, "sub/up": "..", ".gitignore": filepath.Join(outside, "secret")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	found, _ := walked(t, dir).Find("", 100)
	if got, want := names(found), ".gitignore out sub/ sub/a sub/up"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFindRanks(t *testing.T) {
	for _, c := range []struct {
		query string
		want  string
		files []string // best first
	}{
		{"keys", "all", []string{"keys", "keys.go", "ui/composer/keys.go", "keystore/a", "ui/my_keys.go", "ui/monkeys.go", "ui/keysets/b", "kernel/yes"}},
		{"main", "all", []string{"cmd/main.go", "main_test.go", "domain/x.go"}},
		{"README", "all", []string{"README.md", "docs/readme.txt"}},
		{"ui/comp", "all", []string{"ui/composer.go", "ui/composer_test.go", "pkg/ui/composer.go"}},
		{"uicomp", "all", []string{"ui/composer.go", "build/i/c/omp"}},
		{"src/", "all", []string{"src/z", "src/b/", "src/b/c"}},
		{"ünï", "all", []string{"Ünïcode.txt"}},
		{"zzz", "", []string{"a", "z", "zz"}},
		{"go.mod/", "", []string{"go.mod"}},
	} {
		list := []entry{}
		for _, f := range slices.Backward(c.files) {
			path, folder := strings.CutSuffix(f, "/")
			list = append(list, newEntry(path, folder))
		}
		want := strings.Join(c.files, " ")
		if c.want == "" {
			want = ""
		}
		if c.query == "src/" { // in list order
			slices.Reverse(list)
		}
		if got := names(best([][]entry{list}, c.query, 100)); got != want {
			t.Errorf("%q: got %s\nwant %s", c.query, got, want)
		}
		first := names(best([][]entry{list}, c.query, 1))
		if second, _, _ := strings.Cut(want, " "); first != second {
			t.Errorf("%q: the best is %s, want %s", c.query, first, second)
		}
	}
}

// The bounded search returns the same as sorting everything.
func TestFindIsSorting(t *testing.T) {
	list := many(3000)
	for _, query := range []string{"", "a", "go", "comp", "src/", "x1", "ut", "zq"} {
		var all []hit
		want := fuzzy.Letters(query)
		for i := range list {
			if score, ok := list[i].Match(query); ok && list[i].letter&want == want {
				all = append(all, hit{score, &list[i]})
			}
		}
		slices.SortStableFunc(all, func(a, b hit) int { return int(int64(a.score) - int64(b.score)) })
		for _, limit := range []int{1, 8, 50, 5000} {
			var want []string
			for _, h := range all[:min(limit, len(all))] {
				want = append(want, h.path)
			}
			var got []string
			for _, f := range best([][]entry{list}, query, limit) {
				got = append(got, f.Path)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, %d: got %q\nwant %q", query, limit, got, want)
			}
		}
	}
	if found := best([][]entry{list}, "a", 0); len(found) > 0 {
		t.Errorf("found %v within a limit of 0", found)
	}
}

func TestRefresh(t *testing.T) {
	dir := tree(t, "a")
	now := time.Unix(1e9, 0)
	x := New(dir)
	defer x.Close()
	x.Now = func() time.Time { return now }
	var pending []func()
	x.Go = func(walk func()) { pending = append(pending, walk) }
	find := func() string {
		found, more := x.Find("", 10)
		s := names(found)
		if more {
			s += " and more"
		}
		return s
	}
	run := func() {
		for _, walk := range pending {
			walk()
		}
		pending = nil
	}
	if got := find(); got != " and more" {
		t.Errorf("before the walk: %q", got)
	}
	find()
	if len(pending) != 1 {
		t.Fatalf("%d walks at once", len(pending))
	}
	run()
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	now = now.Add(fresh - 1)
	if got := find(); got != "a" || len(pending) != 0 {
		t.Errorf("soon after: %q, %d walks", got, len(pending))
	}
	now = now.Add(1)
	if got := find(); got != "a" || len(pending) != 1 {
		t.Errorf("while it walks again: %q, %d walks", got, len(pending))
	}
	run()
	if got := find(); got != "a b" {
		t.Errorf("after it walked again: %q", got)
	}
}

// The first names of a large directory are published before the others are read, without those that are ignored.
func TestSomeNamesArePublishedFirst(t *testing.T) {
	files := []string{".gitignore"}
	for i := range 5000 {
		files = append(files, fmt.Sprintf("%04d.txt", i), fmt.Sprintf("%04d.log", i))
	}
	dir := tree(t, files...)
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	lists := read(t.Context(), dir, func(lists [][]entry) { sizes = append(sizes, len(slices.Concat(lists...))) })
	if len(sizes) != 2 || sizes[0] == 0 || sizes[0] > 4000 || sizes[1] != 5001 || len(slices.Concat(lists...)) != 5001 {
		t.Errorf("published lists of %d", sizes)
	}
}

// The first list is not empty, however long the walk takes.
func TestAwait(t *testing.T) {
	for dir, want := range map[string]string{tree(t, "a", "b/c"): "a b/", filepath.Join(t.TempDir(), "none"): ""} {
		x := New(dir)
		x.Await()
		found, _ := x.Find("", 2)
		if got := names(found); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		x.Close()
		x.Await() // does not wait for a walk that never begins
	}
}

func TestCloseEndsTheWalk(t *testing.T) {
	x := New(tree(t, "a/b/c"))
	x.Find("", 1)
	x.Close()
	x.Find("", 1) // starts no walk, which goleak would report
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if list := read(ctx, x.folder, func([][]entry) { t.Error("published") }); len(list) > 0 {
		t.Errorf("read %v", list)
	}
}

func TestWalkIsBounded(t *testing.T) {
	w := walk{looked: maxEntries - 1}
	if w.full() {
		t.Error("full too early")
	}
	w.looked++
	if !w.full() {
		t.Error("as many entries as that are enough")
	}
	w = walk{bytes: maxBytes}
	if !w.full() {
		t.Error("as many bytes as that are enough")
	}
	root, err := os.OpenRoot(tree(t, "a", "b", "c", "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	top, err := openat.Open(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	w = walk{root: top, parent: top, looked: maxEntries - 3}
	w.folder(t.Context(), folder{path: "."}, 0)
	if w.looked > maxEntries || len(slices.Concat(w.lists...)) > 3 {
		t.Errorf("looked at %d, kept %v", w.looked, w.lists)
	}
}

// many returns a list like that of a large repository.
func many(n int) []entry {
	parts := []string{"src", "internal", "composer", "Util", "vendor", "github.com", "testdata", "ui", "session", "provider"}
	list := make([]entry, 0, n)
	for i := range n {
		path := fmt.Sprintf("%s/%s/%s%d/file_%d.go", parts[i%10], parts[i/10%10], parts[i/100%10], i/1000, i)
		list = append(list, newEntry(path, i%13 == 0))
	}
	return list
}

func TestFindAllocatesOnlyItsResult(t *testing.T) {
	for _, n := range []int{1000, 100_000} {
		list := many(n)
		for _, query := range []string{"", "e", "composer", "uicomp9", "FILE_99"} {
			if got := testing.AllocsPerRun(3, func() { best([][]entry{list}, query, 50) }); got > 3 {
				t.Errorf("%q in %d names: %v allocations", query, n, got)
			}
		}
	}
}

func BenchmarkFind(b *testing.B) {
	list := many(100_000)
	for _, query := range []string{"", "e", "go", "composer", "uicomp9", "src/internal", "file_99999"} {
		b.Run(fmt.Sprintf("%q", query), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				best([][]entry{list}, query, 50)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add("keys", "ui/composer/keys.go")
	f.Add("ÜİK", "ünïi̇k/\xff")
	f.Add("a/b/", "a/b/c")
	f.Fuzz(func(t *testing.T, query, path string) {
		found := best([][]entry{{newEntry(path, false)}}, query, 3)
		lower, same := strings.ToLower(path), strings.ToLower(query) // the index folds case like this, which does not cover all of Unicode
		if lower == same && len(query) <= maxPath && len(found) != 1 {
			t.Errorf("%q is not found by itself", path)
		}
		if len(found) > 0 && !subsequence(strings.ToLower(path), strings.ToLower(query)) {
			t.Errorf("%q is found by %q", path, query)
		}
	})
}

// subsequence reports whether the bytes of query occur in s in order.
func subsequence(s, query string) bool {
	for i := range len(query) {
		_, rest, found := strings.Cut(s, query[i:i+1])
		if !found {
			return false
		}
		s = rest
	}
	return true
}
