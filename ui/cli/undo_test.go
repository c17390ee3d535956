package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo"
	"parley/tools/undo/snapshot"
)

// A call that was running when parley ended is reported when the conversation is continued, until another call follows
// it or the user sends a message.
func TestUnfinishedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, lib := t.TempDir(), session.MemoryStore()
		defer lib.Close()
		set, err := tools.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		log := lib.Create(session.Info{Dir: dir})
		for seq := 1; seq <= 2; seq++ {
			if err := log.Put(session.Node{Seq: seq, Parent: seq - 1, Message: llm.UserText("hello")}); err != nil {
				t.Fatal(err)
			}
		}
		s := session.New(session.Options{Log: log, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files})
		defer s.Close()
		begun := func(title string, seq int) act.FileWatch {
			w := s.Files().Watch(act.FileCall{ID: title, Title: title, Seq: seq})
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			return w
		}
		begun("make \x1b[31mall", 2) // and parley is killed
		if got := unfinishedCall(s); !strings.Contains(got, `"make ␛[31mall" ran`) {
			t.Errorf("told %q", got)
		}
		if err := begun("true", 2).End(); err != nil {
			t.Fatal(err)
		}
		if got := unfinishedCall(s); got != "" {
			t.Errorf("told %q behind another call", got)
		}
		begun("make", 1) // the second message follows
		if got := unfinishedCall(s); got != "" {
			t.Errorf("told %q behind another prompt", got)
		}
	})
}

// dueStore is a store whose old versions are due for removal once.
type dueStore struct {
	undo.Store
	due, pruned int
}

func (s *dueStore) PruneDue() bool {
	s.due--
	return s.due >= 0
}

func (s *dueStore) Prune(time.Time, int64) (undo.Pruned, error) {
	s.pruned++
	return undo.Pruned{}, nil
}

// After a turn old versions of files are removed if that is due. A run without versions has nothing to remove.
func TestFinishOwed(t *testing.T) {
	lib := session.MemoryStore()
	defer lib.Close()
	versions := &dueStore{due: 1}
	finishOwed(lib, versions)
	finishOwed(lib, versions)
	finishOwed(lib, nil)
	if versions.pruned != 1 || versions.due != -1 {
		t.Errorf("pruned %d times, asked %d times", versions.pruned, 1-versions.due)
	}
}
