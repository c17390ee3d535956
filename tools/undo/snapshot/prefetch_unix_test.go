//go:build unix

package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"parley/tools/act"
)

// A call has the walk that goes on already, if it has just begun and no other call began since.
func TestCallClaimsPrefetch(t *testing.T) {
	tests := []struct {
		name  string
		since time.Duration // since the walk began
		other bool          // another call has begun meanwhile
		taken bool
	}{
		{name: "just begun", taken: true},
		{name: "begun long ago", since: 2 * maxSnapshotAge},
		{name: "another call began", other: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := fastDir(t)
			h, err := openStore(filepath.Join(fastDir(t), "undo")).history("one", dir)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			goesOn := &prefetchWalk{began: time.Now().Add(-tt.since), stop: func() {}, done: make(chan struct{})}
			if tt.taken {
				goesOn.began = goesOn.began.Add(time.Hour) // however busy the machine is
			}
			goesOn.snapshot, goesOn.err = h.workspace.snapshot(t.Context(), nil)
			h.prefetch.walk = goesOn
			if tt.other {
				other := h.Watch(act.FileCall{ID: "other", Paths: []string{"file"}})
				if err := other.Begin(); err != nil {
					t.Fatal(err)
				}
			}
			w := h.Watch(act.FileCall{ID: "command"}).(*Watch)
			if tt.taken {
				close(goesOn.done) // the call waits for it
			}
			if said := w.Coverage(); said != "" {
				t.Error(said)
			}
			if (w.snapshot == goesOn.snapshot) != tt.taken || goesOn.claimed != tt.taken || !w.snapshot.entries["file"].hasContent {
				t.Errorf("taken: %v, kept: %v", w.snapshot == goesOn.snapshot, w.snapshot.entries["file"].hasContent)
			}
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
			if r, err := ended(w); err != nil || len(r.Changes) != 1 || !r.Changes[0].Before.Stored {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A walk that was begun for a call which has arrived can be had for as long as it is fresh. Files
// are read ahead meanwhile.
func TestWalkStaysWhileFresh(t *testing.T) {
	tests := map[string]struct {
		began bool          // another walk has just begun
		after time.Duration // the call is made so long after the walk
		other bool          // another call has begun meanwhile
		taken bool
	}{
		"at once":                 {taken: true},
		"a little later":          {after: maxSnapshotAge - time.Millisecond, taken: true},
		"too late":                {after: maxSnapshotAge + time.Millisecond},
		"another call began":      {other: true},
		"behind a walk":           {began: true, taken: true},
		"behind a walk, too late": {began: true, after: maxSnapshotAge + time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := fastDir(t)
				h, err := openStore(filepath.Join(fastDir(t), "undo")).history("one", dir)
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
				if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
					t.Fatal(err)
				}
				var began *prefetchWalk
				if tt.began { // and has not ended
					began = &prefetchWalk{began: time.Now(), stop: func() {}, done: make(chan struct{})}
					h.prefetch.walk = began
				}
				go h.Warm(t.Context())
				synctest.Wait()
				stays := func() *prefetchWalk {
					h.prefetch.mu.Lock()
					defer h.prefetch.mu.Unlock()
					return h.prefetch.walk
				}
				walk := stays()
				if tt.began {
					if walk != began {
						t.Fatal("a walk was begun beside one that had just begun")
					}
					walk.snapshot, walk.err = h.workspace.snapshot(t.Context(), nil)
					close(walk.done)
				}
				read := h.workspace.fileCache["file"] != nil
				time.Sleep(tt.after)
				synctest.Wait()
				if tt.after > maxSnapshotAge && !tt.began && stays() != nil {
					t.Error("a walk stays that no call can have")
				}
				if tt.other {
					if err := h.Watch(act.FileCall{ID: "other", Paths: []string{"file"}}).Begin(); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				w := h.Watch(act.FileCall{ID: "command"}).(*Watch)
				if said := w.Coverage(); said != "" {
					t.Error(said)
				}
				if (w.snapshot == walk.snapshot) != tt.taken || walk.claimed != tt.taken || !w.snapshot.entries["file"].hasContent {
					t.Errorf("taken: %v, kept: %v", w.snapshot == walk.snapshot, w.snapshot.entries["file"].hasContent)
				}
				if !tt.began && !read {
					t.Error("nothing was read ahead")
				}
				if err := w.Begin(); err != nil {
					t.Fatal(err)
				}
				if looked := w.snapshot; looked != walk.snapshot && tt.taken {
					t.Error("it looked again")
				}
			})
		})
	}
}

// TestWalkDuringACall holds that what was walked through while a call ran is not what the files were
// before the next one: that would be told of having changed them, and undo would bring back too much.
func TestWalkDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := fastDir(t)
		h, err := openStore(filepath.Join(fastDir(t), "undo")).history("one", dir)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		edit := h.Watch(act.FileCall{ID: "1", Seq: 1, Title: "edit", Paths: []string{"file"}})
		if err := edit.Begin(); err != nil {
			t.Fatal(err)
		}
		h.Warm(t.Context())
		if err := os.WriteFile(file, []byte("new text"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := edit.End(); err != nil {
			t.Fatal(err)
		}
		command := h.Watch(act.FileCall{ID: "2", Seq: 2, Title: "true"})
		if err := command.Begin(); err != nil {
			t.Fatal(err)
		}
		if r, err := ended(command); err != nil || len(r.Changes)+len(r.Uncovered) > 0 {
			t.Errorf("a command that did nothing: %+v, %+v, %v", r.Changes, r.Uncovered, err)
		}
	})
}
