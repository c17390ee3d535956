package app

import (
	"context"
	"testing"

	"parley/providers/llm"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools/act"
)

// A new conversation keeps mode, model and effort, and calls BeforeSwitch first.
func TestNewConversation(t *testing.T) {
	a := newApp(t)
	left := ""
	a.BeforeSwitch = func() { left = a.Session.ID() }
	a.Session.Policy().SetMode(act.ModeAuto)
	a.Session.SetEffort(llm.EffortLow)
	old := a.Session
	e := run(t, a, "/new")
	if see(e).SessionOpened == nil || see(e).SessionOpened.Previous != old || a.Session == old || left != old.ID() {
		t.Fatalf("%+v", e)
	}
	if s := a.Session; s.Policy().Mode() != act.ModeAuto || s.Effort() != llm.EffortLow {
		t.Errorf("mode %s, effort %s", s.Policy().Mode(), s.Effort())
	}
	a.Session.Policy().SetMode(act.ModeEdits)
	if run(t, a, "/new"); a.Session.Policy().Mode() != act.ModeAsk {
		t.Errorf("the approval of all edits stays for another conversation: mode %s", a.Session.Policy().Mode())
	}
}

// A stored conversation is not opened if a prompt was sent while it was read.
func TestOpenedTooLate(t *testing.T) {
	a := newApp(t)
	own, busy := a.Session, false
	a.Busy = func() bool { return busy }
	read := see(a.OpenSession("another", 0)).Prepare(context.Background())
	busy = true
	if e := read(); see(e).SessionOpened != nil || a.Session != own || see(e).Toast == "" {
		t.Errorf("%+v", e)
	}
}

// A conversation that was just left is opened again only after it is closed, so that parley does not find it locked.
func TestBackAtOnce(t *testing.T) {
	a := newApp(t)
	left := see(run(t, a, "/new")).SessionOpened
	if left == nil {
		t.Fatal("no conversation was left")
	}
	resumed := make(chan struct{})
	resume := a.Resume
	a.Resume = func(id string) (*session.Session, string, error) {
		close(resumed)
		return resume(id)
	}
	opened := make(chan func() Effect)
	prepare := see(a.OpenSession("another", 0)).Prepare
	go func() { opened <- prepare(context.Background()) }()
	select {
	case <-resumed:
		t.Error("opened before the one that was left is closed")
	default:
	}
	left.Close()
	if e := (<-opened)(); see(e).SessionOpened == nil {
		t.Errorf("%+v", e)
	}
}
