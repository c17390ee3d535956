package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"parley/session/store"
	"parley/session/storetest"
	"parley/tools/undo/snapshot"
	"parley/ui/cli/cmd/backup"
)

// File histories in a backup apply only to the workspaces of its conversations. Restores of files that were in progress
// are left out.
func TestFilesOfABackup(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	s, nodes := storetest.Branched("one", "a/m", "a", "")
	if _, err := here.lib.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"log":     `{"n":1,"title":"a","root":"/work"}` + "\n" + `{"n":2,"title":"b","root":"/etc","changes":[{"path":"passwd"}]}` + "\n" + `{"n":3,"title":"c","root":"/work","folder":"/home","changes":[{"path":"/home/x"}]}`,
		"restore": `{"record":{"root":"/etc"}}`,
		"reach":   `{"roots":["/etc"],"folders":["/home"]}`,
	} {
		path := filepath.Join(here.undo, "sessions", "one", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done := there.restore(t, here.backup(t))
	if want := []backup.Refused{{Conversation: "one", Path: "/etc"}, {Conversation: "one", Path: "/home"}}; !reflect.DeepEqual(done.Refused, want) {
		t.Errorf("refused %v, want %v", done.Refused, want)
	}
	kept := filepath.Join(there.undo, "sessions", "one")
	if reach, err := os.ReadFile(filepath.Join(kept, "reach")); string(reach) != `{"roots":["/work"]}` {
		t.Errorf("it reaches %s: %v", reach, err)
	}
	if _, err := os.Lstat(filepath.Join(kept, "restore")); err == nil {
		t.Error("a restore that was on its way came along")
	}
}

// Jobs are restored without the path on the other machine where their video was to be saved.
func TestJobsOfABackup(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	if err := here.lib.Videos().Add(&store.Video{Prompt: "a cat", To: "/home/me/.profile"}); err != nil {
		t.Fatal(err)
	}
	there.restore(t, here.backup(t))
	jobs, err := there.lib.Videos().List()
	if err != nil || len(jobs) != 1 || jobs[0].Prompt != "a cat" || jobs[0].To != "" {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// A conversation that is unreadable here does not count as one that continued here.
func TestUnreadableIsNoCopy(t *testing.T) {
	here, there := newMachine(t), newMachine(t)
	s, nodes := storetest.Branched("one", "a/m", "a", "")
	if _, err := here.lib.Import(s, nodes); err != nil {
		t.Fatal(err)
	}
	data := here.backup(t)
	if err := there.lib.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := backup.Restore(bytes.NewReader(data), there.lib, there.undo, snapshot.Open(there.undo), there.dir)
	if err == nil || !strings.Contains(err.Error(), "one, which is here, could not be read") || done.Copies+done.Conversations+done.Same > 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
