//go:build unix

package undo

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A call has the walk that goes on already, if it has just begun and no other call began since.
func TestCallTakesTheWalkThatGoesOn(t *testing.T) {
	tests := []struct {
		name  string
		since time.Duration // since the walk began
		other bool          // another call has begun meanwhile
		taken bool
	}{
		{name: "just begun", taken: true},
		{name: "begun long ago", since: 2 * fresh},
		{name: "another call began", other: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := fastDir(t)
			h, err := Open(filepath.Join(fastDir(t), "undo")).History("one", dir)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			goesOn := &aheadWalk{began: time.Now().Add(-tt.since), stop: func() {}, done: make(chan struct{})}
			if tt.taken {
				goesOn.began = goesOn.began.Add(time.Hour) // however busy the machine is
			}
			goesOn.look, goesOn.err = h.workspace.see(t.Context(), nil)
			h.ahead.walk = goesOn
			if tt.other {
				other := h.Watch(Call{ID: "other", Paths: []string{"file"}})
				if err := other.Begin(); err != nil {
					t.Fatal(err)
				}
			}
			w := h.Watch(Call{ID: "command"})
			if tt.taken {
				close(goesOn.done) // the call waits for it
			}
			if said := w.Coverage(); said != "" {
				t.Error(said)
			}
			if (w.look == goesOn.look) != tt.taken || goesOn.taken != tt.taken || !w.look.found["file"].kept {
				t.Errorf("taken: %v, kept: %v", w.look == goesOn.look, w.look.found["file"].kept)
			}
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
			if r, err := w.End(); err != nil || len(r.Changes) != 1 || !r.Changes[0].Before.Kept {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
