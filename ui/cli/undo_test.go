package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/undo"
)

// A call that was under way when parley ended is told when the conversation is continued, until
// another one came behind it.
func TestUnfinishedCall(t *testing.T) {
	dir, lib := t.TempDir(), session.MemoryStore()
	defer lib.Close()
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	log := lib.Create(session.Info{Dir: dir})
	if err := log.Put(session.Node{Seq: 1, Message: llm.UserText("hello")}); err != nil {
		t.Fatal(err)
	}
	s := session.New(session.Options{Log: log, Tools: set, Undo: undo.Open(filepath.Join(t.TempDir(), "undo"))})
	defer s.Close()
	begun := func(title string) *undo.Watch {
		w := session.Files(s).Watch(undo.Call{ID: title, Title: title})
		if err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	begun("make \x1b[31mall") // and parley is killed
	if got := unfinishedCall(s); !strings.Contains(got, `"make ␛[31mall" ran`) {
		t.Errorf("told %q", got)
	}
	if _, err := begun("true").End(); err != nil {
		t.Fatal(err)
	}
	if got := unfinishedCall(s); got != "" {
		t.Errorf("told %q", got)
	}
}
