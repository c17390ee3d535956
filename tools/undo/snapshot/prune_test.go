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
				own := put(noise(i))
				if err := h.put(&undo.Record{Title: "x", Root: undo.Name(h.dir), Changes: []undo.Change{{Path: "f", Before: own}, {Path: "g", Before: shared}}}); err != nil {
					t.Fatal(err)
				}
				old := now.Add(-time.Duration(3-i) * 24 * time.Hour)
				for _, path := range []string{h.file, s.objectPath(own.Sum)} {
					if err := os.Chtimes(path, old, old); err != nil {
						t.Fatal(err)
					}
				}
			}
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

// A content that a power cut left empty is kept anew.
func TestEmptyContent(t *testing.T) {
	s := openStore(t.TempDir())
	for range 2 {
		sum, err := s.put([]byte("alpha"))
		if err != nil {
			t.Fatal(err)
		}
		if content, err := s.get(sum); string(content) != "alpha" || err != nil {
			t.Errorf("%q, %v", content, err)
		}
		if err := os.Truncate(s.objectPath(sum), 0); err != nil {
			t.Fatal(err)
		}
	}
}
