package tui

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/store"
	"parley/tools/act"
	"parley/tools/process"
	"parley/ui/app/drafts"
)

// A call that was running when parley ended is shown as interrupted, with its known data.
func TestInterruptedCallIsShown(t *testing.T) {
	s := setUpWith(t, 100, 24, func(o *Options) {
		id, err := o.App.Library.Import(session.Info{}, []session.Node{
			{Seq: 1, Message: llm.UserText("run it")},
			{Seq: 2, Parent: 1, Message: llm.Message{Role: llm.RoleAssistant, Model: "fake/one", Parts: []llm.Part{{Kind: llm.Call, ID: "1", Name: "shell", Input: `{"command":"make"}`}}}},
			{Seq: 3, Parent: 2, Results: map[string]store.Outcome{"1": {Started: true}}, Message: llm.Message{Role: llm.RoleTool, Parts: []llm.Part{
				{Kind: llm.Result, ID: "1", Name: "shell", Text: "Interrupted: what it did is not known.", Failed: true}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if o.App.Session, _, err = o.App.Opening.Resume(id); err != nil {
			t.Fatal(err)
		}
	})
	s.WaitForText("Interrupted: what it did is not known.")
	if screen := s.Screen(); !strings.Contains(screen, "interrupted") || strings.Contains(screen, "stopped") {
		t.Errorf("the screen is\n%s", screen)
	}
}

// A command that the user stops has not failed.
func TestStoppedCommand(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Shell = func(ctx context.Context, _, _ string, progress func(string)) act.Outcome {
			progress("ready")
			<-ctx.Done()
			return act.Outcome{Text: "ready\n[canceled after 2s]", Notes: "[canceled after 2s]", Failed: true}
		}
	})
	s.Type("!make").Press("enter").WaitForText("ready").Press("esc").WaitForText("output of make")
	if screen := s.Screen(); !strings.Contains(screen, "⊘ ! make  stopped") || strings.Contains(screen, "failed") {
		t.Errorf("the screen is\n%s", screen)
	}
}

// A command that the user typed is recorded while it runs. If its process is gone, it is
// attached as interrupted, once. If it runs in another window, or its output is stored, it
// is not attached.
func TestInterruptedCommandIsAttached(t *testing.T) {
	t.Parallel()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	lib := session.MemoryStore()
	defer lib.Close()
	stored := drafts.Drafts{Store: lib, Directory: "/work", Now: time.Now, Alive: process.Alive}
	key := "folder:/work"
	for _, command := range []string{"make", "make install"} {
		stored.RecordShell(key, command)
	}
	stored.RecordShell(key, "over")()
	if _, ok := stored.Take(key); ok {
		t.Error("commands that run are no draft")
	}
	records := stored.Shells(key)
	if len(records) != 2 {
		t.Fatalf("recorded %+v", records)
	}
	records[0].PID = gone.Process.Pid
	if err := stored.SetShells(key, records); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the draft contains it
		d, ok := stored.Take("session:x")
		if !ok || len(d.Parts) != 1 || d.Parts[0].Name != "interrupted: make" || !strings.Contains(d.Parts[0].Text, "not known") {
			t.Errorf("the draft is %+v", d)
		}
	}
	if left := stored.Shells(key); len(left) != 1 || left[0].Command != "make install" {
		t.Errorf("left %+v", left)
	}
}
