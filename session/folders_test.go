package session_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/undo"
)

// Added folders are part of a conversation: they stay with it, another one does not have them, and
// what is gone is left out and told. What tools change there can be undone; of what commands
// change there it is said that it cannot.
func TestFolders(t *testing.T) {
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
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(tools.ModeYolo), Log: log, Undo: undo.Open(filepath.Join(t.TempDir(), "undo"))})
	if err := SetFolders(s, beside); err != nil {
		t.Fatal(err)
	}
	for range s.Turn(t.Context(), say("go")) {
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	records := Files(s).Records()
	if len(records) != 2 || string(records[0].Folder) != beside || string(records[0].Changes[0].Path) != file || !strings.Contains(records[1].Partial, beside) {
		t.Errorf("records %+v", records)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := store.Resume(log.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	other := New(Options{Model: endpoint("fake/a", fake), Tools: set, Log: store.Create(Info{Dir: dir})})
	if err := RestoreFolders(other, FoldersOf(other)...); err != nil || len(AddedFolders(other)) > 0 {
		t.Errorf("another conversation has %q: %v", AddedFolders(other), err)
	}
	defer other.Close()
	s = New(Options{Model: endpoint("fake/a", fake), Tools: set, Log: again})
	defer s.Close()
	if err := RestoreFolders(s, FoldersOf(s)...); err != nil || !slices.Equal(AddedFolders(s), []string{beside}) {
		t.Errorf("it has %q: %v", AddedFolders(s), err)
	}
	if err := os.RemoveAll(beside); err != nil {
		t.Fatal(err)
	}
	if err := SetFolders(s); err != nil {
		t.Error(err)
	}
	if err := SetFolders(s, beside); err == nil || len(AddedFolders(s)) > 0 || len(FoldersOf(s)) > 0 {
		t.Errorf("it has %q: %v", AddedFolders(s), err)
	}
}
