package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo"
	"parley/tools/undo/snapshot"
)

// Added folders are part of a conversation: they stay with it, another one does not have them, and
// what is gone is left out and told. What tools change there can be undone; of what commands
// change there it is said that it cannot.
func TestFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, dir := workspace(t)
		beside, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(beside, "new.txt")
		store := MemoryStore()
		defer store.Close()
		log := store.Create(Info{Dir: dir})
		fake := llmtest.New(
			llmtest.Call(call("1", "write", `{"path":"`+file+`","content":"x\n"}`)),
			llmtest.Call(call("2", "shell", `{"command":"true"}`)), llmtest.Say("done"))
		s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeYolo), Log: log, Files: snapshot.Open(filepath.Join(t.TempDir(), "undo")).Files})
		if err := s.Directories.Set(beside); err != nil {
			t.Fatal(err)
		}
		for range s.Turn(t.Context(), say("go")) {
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		records := s.Files().(undo.History).Records()
		if len(records) != 2 || string(records[0].Directory) != beside || string(records[0].Changes[0].Path) != file || !strings.Contains(records[1].Partial, beside) {
			t.Errorf("records %+v", records)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := store.Resume(log.Session().ID)
		if err != nil {
			t.Fatal(err)
		}
		other := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: store.Create(Info{Dir: dir})})
		if err := other.Directories.Restore(other.Directories.Stored()...); err != nil || len(other.Directories.Reachable()) > 0 {
			t.Errorf("another conversation has %q: %v", other.Directories.Reachable(), err)
		}
		defer other.Close()
		s = New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: again})
		defer s.Close()
		if err := s.Directories.Restore(s.Directories.Stored()...); err != nil || !slices.Equal(s.Directories.Reachable(), []string{beside}) {
			t.Errorf("it has %q: %v", s.Directories.Reachable(), err)
		}
		if err := os.RemoveAll(beside); err != nil {
			t.Fatal(err)
		}
		if err := s.Directories.Set(); err != nil {
			t.Error(err)
		}
		if err := s.Directories.Set(beside); err == nil || len(s.Directories.Reachable()) > 0 || len(s.Directories.Stored()) > 0 {
			t.Errorf("it has %q: %v", s.Directories.Reachable(), err)
		}
	})
}

// A folder of a conversation that is gone stays with it while others are added, and is used again
// once it is back, as its model is told.
func TestMissingFolderIsKept(t *testing.T) {
	set, dir := workspace(t)
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gone, other := filepath.Join(temp, "gone"), filepath.Join(temp, "other")
	for _, dir := range []string{gone, other} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	store := MemoryStore()
	defer store.Close()
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: store.Create(Info{Dir: dir})})
	defer s.Close()
	if err := errors.Join(s.Directories.Set(gone), os.Rename(gone, other+"-aside")); err != nil {
		t.Fatal(err)
	}
	if err := s.Directories.Set(gone, other); err == nil || !slices.Equal(s.Directories.Stored(), []string{gone, other}) || !slices.Equal(s.Directories.Reachable(), []string{other}) || !slices.Equal(s.Directories.Missing(), []string{gone}) {
		t.Errorf("it has %q, and reaches %q: %v", s.Directories.Stored(), s.Directories.Reachable(), err)
	}
	for i, want := range []string{"hi", "hi<note>\nTools reach " + gone + " again, as before.\n</note>", "hi"} {
		if i == 1 {
			if err := os.Rename(other+"-aside", gone); err != nil {
				t.Fatal(err)
			}
		}
		play(t.Context(), s, allow, say("hi"))
		requests := fake.Requests()
		messages := requests[len(requests)-1].Messages
		got := ""
		for _, part := range messages[len(messages)-1].Parts {
			got += part.Text
		}
		if got != want {
			t.Errorf("prompt %d is %q, want %q", i, got, want)
		}
	}
	if !slices.Equal(s.Directories.Reachable(), []string{gone, other}) || len(s.Directories.Missing()) > 0 {
		t.Errorf("it reaches %q", s.Directories.Reachable())
	}
}

// A folder of a conversation that comes back is used again if it is the same one. Another one that
// stands at its path is not, until the user adds it.
func TestFolderThatComesBack(t *testing.T) {
	tests := []struct {
		name, notice string
		comeBack     func(gone, aside string) error
		same         bool
	}{
		{name: "the same one", same: true, notice: "Tools reach ", comeBack: func(gone, aside string) error { return os.Rename(aside, gone) }},
		{name: "another one", notice: "another folder than the one that was added", comeBack: func(gone, _ string) error { return os.Mkdir(gone, 0o755) }},
		{name: "a link", notice: "add that if you want it", comeBack: func(gone, aside string) error { return os.Symlink(aside, gone) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, dir := workspace(t)
			temp, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			gone, aside := filepath.Join(temp, "gone"), filepath.Join(temp, "aside")
			if err := os.Mkdir(gone, 0o755); err != nil {
				t.Fatal(err)
			}
			store := MemoryStore()
			defer store.Close()
			log := store.Create(Info{Dir: dir})
			fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
			if err := s.Directories.Add(gone); err != nil {
				t.Fatal(err)
			}
			play(t.Context(), s, allow, say("hi"))
			if err := errors.Join(s.Close(), os.Rename(gone, aside)); err != nil {
				t.Fatal(err)
			}
			again, err := store.Resume(log.Session().ID)
			if err != nil {
				t.Fatal(err)
			}
			s = New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: again})
			defer s.Close()
			if err := s.Directories.Restore(s.Directories.Stored()...); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("it is gone: %v", err)
			}
			if err := tt.comeBack(gone, aside); err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{true, false} {
				notices := ""
				for _, e := range play(t.Context(), s, allow, say("hi")) {
					if n, ok := e.(llm.Notice); ok {
						notices += n.Text
					}
				}
				if strings.Contains(notices, tt.notice) != want || slices.Contains(s.Directories.Reachable(), gone) != tt.same {
					t.Errorf("turn %d: %q is told, tools reach %q", i, notices, s.Directories.Reachable())
				}
			}
			if tt.name == "another one" {
				if err := s.Directories.Add(gone); err != nil || !slices.Equal(s.Directories.Reachable(), []string{gone}) {
					t.Errorf("added again: %v, tools reach %q", err, s.Directories.Reachable())
				}
				if err := s.Directories.Restore(s.Directories.Stored()...); err != nil || len(s.Directories.Missing()) > 0 {
					t.Errorf("restored: %v, missing are %q", err, s.Directories.Missing())
				}
			}
		})
	}
}
