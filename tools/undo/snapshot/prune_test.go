package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/tools/undo"
)

// TestPrune: what is old goes, then the oldest until enough is free; a content goes with the
// last history that has it, and one that nothing has and that is young stays.
func TestPrune(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		before time.Time
		most   int64
		want   string // histories that are left
		kept   int    // contents
	}{
		"nothing":     {now.Add(-undo.MaxAge), undo.MaxStored, "a b c", 5},
		"what is old": {now.Add(-36 * time.Hour), undo.MaxStored, "c", 3},
		"everything":  {now.Add(time.Hour), undo.MaxStored, "", 0},
		"the oldest":  {now.Add(-undo.MaxAge), 150_000, "b c", 4},
		"no room":     {now.Add(-undo.MaxAge), 0, "", 2}, // young ones may be about to be used
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(filepath.Join(t.TempDir(), "undo"))
			put := func(content string) undo.State {
				sum, err := s.put([]byte(content))
				if err != nil {
					t.Fatal(err)
				}
				return undo.State{Kind: undo.File, Sum: sum, Stored: true}
			}
			shared := put("shared")
			for i, session := range []string{"a", "b", "c"} {
				h, err := s.history(session, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				s.bundles.closeOwn() // as after the end of a process
				own := put(noise(i))
				if err := h.put(&undo.Record{Title: "x", Root: undo.Name(h.dir), Changes: []undo.Change{{Path: "f", Before: own}, {Path: "g", Before: shared}}}); err != nil {
					t.Fatal(err)
				}
				old := now.Add(-time.Duration(3-i) * 24 * time.Hour)
				at, _ := s.bundles.find(own.Sum, false)
				for _, path := range []string{h.file, at.path} {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.bundles.closeOwn()
			put("nothing has it")
			done, err := s.Prune(tt.before, tt.most)
			if err != nil {
				t.Fatal(err)
			}
			histories, err := s.histories()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, h := range histories {
				names = append(names, h.name)
			}
			slices.Sort(names)
			objects, err := s.objects()
			if got := strings.Join(names, " "); got != tt.want || len(objects) != tt.kept || err != nil {
				t.Errorf("left %q and %d contents, want %q and %d (%+v, %v)", got, len(objects), tt.want, tt.kept, done, err)
			}
		})
	}
}

// noise returns 60 kB that do not become smaller.
func noise(seed int) string {
	b := make([]byte, 60_000)
	x := uint32(seed + 1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return string(b)
}

// FuzzGit reads what claims to be a pack or a delta: it may be refused, and never takes the
// program along.
func FuzzGit(f *testing.F) {
	f.Add([]byte{0x95, 0x0a, 0x78, 0x9c}, []byte("\x05\x05\x90\x05"))
	f.Add([]byte{0x65, 0x01, 0x78, 0x9c, 0x03, 0x00}, []byte("\x00\x00"))
	f.Add([]byte{0x75, 0xff, 0xff}, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, data, delta []byte) {
		_, _ = applyDelta([]byte("hello"), delta)
		file, err := os.Create(filepath.Join(t.TempDir(), "pack"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		budget := int64(1 << 20)
		_, _ = (&pack{index: file, data: file}).read(0, &budget, 0)
		_ = (&pack{index: file, data: file, fanout: [256]uint32{0: 4, 255: 4}}).find(blobID{})
	})
}

// TestOffsets: the offset of a delta's base has up to nine bytes; a longer or truncated one is
// refused.
func TestOffsets(t *testing.T) {
	for _, tt := range []struct {
		head string
		back int64
		n    int
	}{
		{"\x00", 0, 1},
		{"\x7f\x80", 127, 1},
		{"\x80\x00\x00", 128, 2},
		{"\xff\xff\x7f", 0x204080 - 1, 3},
		{strings.Repeat("\x80", 8) + "\x00", 0x0102040810204080, 9},
		{strings.Repeat("\x80", 9) + "\x00", -1, 9},
		{"\x80", -1, 1},
		{"", -1, 0},
	} {
		if back, n := offsetOf([]byte(tt.head)); back != tt.back || n != tt.n {
			t.Errorf("%x: %d in %d bytes, want %d in %d", tt.head, back, n, tt.back, tt.n)
		}
	}
}

// TestNotSeen: what a snapshot did not reach is not taken for deleted, however deep it is.
func TestNotSeen(t *testing.T) {
	folder, file := pathInfo{fileStat: fileStat{kind: undo.Directory}}, pathInfo{fileStat: fileStat{kind: undo.File, size: 1}}
	before := &snapshot{entries: map[string]*entry{}, listedDirs: map[string]bool{".": true, "a": true, "a/b": true, "a/b/c": true}}
	for name, s := range map[string]pathInfo{"a": folder, "a/b": folder, "a/b/c": folder, "a/b/c/f": file} {
		before.entries[name] = &entry{path: name, pathInfo: s}
	}
	for name, tt := range map[string]struct {
		a    pathInfo
		seen []string // folders that were listed
		want int      // paths that are gone
	}{
		"not listed":       {folder, []string{"."}, 0},
		"listed, without":  {folder, []string{".", "a"}, 3},
		"a link in it now": {pathInfo{fileStat: fileStat{kind: undo.Link}}, []string{"."}, 4}, // the first of them has changed
	} {
		after := &snapshot{entries: map[string]*entry{"a": {path: "a", pathInfo: tt.a}}, listedDirs: map[string]bool{}}
		for _, dir := range tt.seen {
			after.listedDirs[dir] = true
		}
		if c := (&workspace{}).compare(before, after); len(c.changes) != tt.want {
			t.Errorf("%s: %d changes: %+v", name, len(c.changes), c.changes)
		}
	}
}

// TestUnchanged: a stamp tells that a file is unchanged only if the file was older than the
// clock of files can be wrong by when it was looked at; else its content is compared.
func TestUnchanged(t *testing.T) {
	const began = int64(1e18)
	file := func(ctime int64) pathInfo {
		return pathInfo{fileStat: fileStat{kind: undo.File, mode: 0o644, size: 3, ctime: ctime}}
	}
	for name, tt := range map[string]struct {
		was, is pathInfo
		want    bool
	}{
		"an old file":              {file(began - 2*clockError), file(began - 2*clockError), true},
		"one changed just before":  {file(began - clockError/2), file(began - clockError/2), false},
		"another time":             {file(began - 2*clockError), file(began + 1), false},
		"a link that leads on":     {pathInfo{fileStat: fileStat{kind: undo.Link}, target: "a"}, pathInfo{fileStat: fileStat{kind: undo.Link}, target: "a"}, true},
		"a link to something else": {pathInfo{fileStat: fileStat{kind: undo.Link}, target: "a"}, pathInfo{fileStat: fileStat{kind: undo.Link}, target: "b"}, false},
		"a folder with more in it": {pathInfo{fileStat: fileStat{kind: undo.Directory, mtime: 1}}, pathInfo{fileStat: fileStat{kind: undo.Directory, mtime: 2}}, true},
	} {
		if got := unchanged(tt.was, tt.is, &snapshot{began: began}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTornBundle: what a power failure cut off, in the bundle or its index, is stored again. Everything before is
// still there.
func TestTornBundle(t *testing.T) {
	dir := t.TempDir()
	first := openStore(dir)
	t.Cleanup(first.bundles.closeOwn)
	var sums []string
	for _, content := range []string{"alpha", "beta", "gamma"} {
		sum, err := first.put([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	path := first.bundles.own.path
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(indexOf(path))
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(content) + 1 {
		for _, heads := range []int{0, 1, headSize, headSize + 5, len(index)} {
			for name, text := range map[string][]byte{path: content[:size], indexOf(path): index[:heads]} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := openStore(dir)
			for i, want := range []string{"alpha", "beta", "gamma"} {
				end, _ := first.bundles.find(sums[i], false)
				if got, err := s.get(sums[i]); int64(size) >= end.offset+int64(end.size) && (string(got) != want || err != nil) {
					t.Fatalf("cut to %d: %q, %v; want %q", size, got, err, want)
				}
				if _, err := s.put([]byte(want)); err != nil {
					t.Fatal(err)
				}
				if got, err := s.get(sums[i]); string(got) != want || err != nil {
					t.Fatalf("stored again: %q, %v; want %q", got, err, want)
				}
			}
			s.bundles.closeOwn()
			others, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
			for _, other := range others {
				if other != path && other != indexOf(path) {
					_ = os.Remove(other)
				}
			}
		}
	}
}

// TestEarlierStore reads and removes contents that an earlier version stored, each in its own file.
func TestEarlierStore(t *testing.T) {
	s := openStore(t.TempDir())
	sum := sumOf([]byte("alpha"))
	packed, err := compress([]byte("alpha"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.writeFile(s.objectPath(sum), packed, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.put([]byte("alpha")); err != nil || s.bundles.own != nil {
		t.Errorf("it is stored a second time: %v", err)
	}
	if content, err := s.get(sum); string(content) != "alpha" || err != nil {
		t.Errorf("get = %q, %v", content, err)
	}
	if done, err := s.Prune(time.Now().Add(time.Hour), 0); done.Objects != 1 || err != nil {
		t.Errorf("Prune = %+v, %v", done, err)
	}
}

// TestPruneWhileAppending: one process rewrites the bundle of another one, which loses nothing that it stores
// meanwhile; small bundles become one.
func TestPruneWhileAppending(t *testing.T) {
	dir := t.TempDir()
	writer := openStore(dir)
	var sums []string
	stored := make(chan struct{})
	go func() {
		defer close(stored)
		for i := range 300 {
			sum, err := writer.put([]byte(strings.Repeat("x", i)))
			if err != nil {
				t.Error(err)
			}
			sums = append(sums, sum)
		}
	}()
	pruner := openStore(dir)
	unwanted := func(string, time.Time) bool { return false }
	for ended := false; !ended; {
		select {
		case <-stored:
			ended = true
		default:
		}
		old := time.Now().Add(-48 * time.Hour)
		all, _ := filepath.Glob(filepath.Join(dir, "objects", "packs", "*"))
		for _, path := range all {
			_ = os.Chtimes(path, old, old)
		}
		if _, err := pruner.bundles.remove(unwanted, false); err != nil {
			t.Fatal(err)
		}
	}
	for i, sum := range sums {
		for name, s := range map[string]*Store{"the writer": writer, "the pruner": pruner, "another": openStore(dir)} {
			if content, err := s.get(sum); len(content) != i || err != nil {
				t.Fatalf("%s: content %d: %v", name, i, err)
			}
		}
	}
	if all, _ := filepath.Glob(filepath.Join(dir, "objects", "packs", "*"+bundleSuffix)); len(all) > 2 {
		t.Errorf("%d bundles", len(all))
	}
}
