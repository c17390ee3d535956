package conversation

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	_ "parley/session/storetest/copies"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/classify"

	"parley/ui/uitest/apptest"
)

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

// ask sends prompts to a model that gives these answers; an answer without text fails.
func ask(t *testing.T, s *session.Session, name string, exchanges ...[2]string) {
	t.Helper()
	for _, e := range exchanges {
		turn := llmtest.Say(e[1])
		if e[1] == "" {
			turn = llmtest.Fail(&llm.Error{Fault: llm.Authentication, Message: "no"})
		}
		s.SetModel(llm.Endpoint{Name: name, Origin: "fake", Model: llmtest.New(turn)})
		for range s.Turn(t.Context(), text(e[0])) {
		}
	}
}

// A new conversation keeps mode, model and effort, and calls BeforeSwitch first.
func TestNewConversation(t *testing.T) {
	a := apptest.New(t, Register)
	left := ""
	a.FrontEnd.BeforeSwitch = func() { left = a.Session.ID() }
	a.Session.Policy().SetMode(act.ModeAuto)
	a.Session.Next.SetEffort(llm.EffortLow)
	old := a.Session
	e := apptest.Run(t, a, "/new")
	if apptest.See(e).SessionOpened == nil || apptest.See(e).SessionOpened.Previous != old || a.Session == old || left != old.ID() {
		t.Fatalf("%+v", e)
	}
	if s := a.Session; s.Policy().Mode() != act.ModeAuto || s.Next.Effort() != llm.EffortLow {
		t.Errorf("mode %s, effort %s", s.Policy().Mode(), s.Next.Effort())
	}
	a.Session.Policy().SetMode(act.ModeEdits)
	if apptest.Run(t, a, "/new"); a.Session.Policy().Mode() != act.ModeAsk {
		t.Errorf("the approval of all edits stays for another conversation: mode %s", a.Session.Policy().Mode())
	}
}

// TestRename: a conversation gets the title that is given, and keeps its own without one.
func TestRename(t *testing.T) {
	a := apptest.New(t, Register)
	ask(t, a.Session, "fake/a", [2]string{"hi", "hello"})
	for _, tt := range []struct{ line, says, title string }{
		{"/rename blue whales", "Renamed to blue whales", "blue whales"},
		{"/rename", "Type /rename and a title", "blue whales"},
	} {
		e := apptest.See(apptest.Run(t, a, tt.line))
		if got := a.Session.Title(); e.Toast != tt.says || got != tt.title {
			t.Errorf("%s: says %q, the title is %q", tt.line, e.Toast, got)
		}
	}
}

// A stored conversation is not opened if a prompt was sent while it was read.
func TestOpenedTooLate(t *testing.T) {
	a := apptest.New(t, Register)
	own, busy := a.Session, false
	a.FrontEnd.Busy = func() bool { return busy }
	read := apptest.See(a.OpenSession("another", 0)).Prepare(context.Background())
	busy = true
	if e := read(); apptest.See(e).SessionOpened != nil || a.Session != own || apptest.See(e).Toast == "" {
		t.Errorf("%+v", e)
	}
}

// A conversation that was just left is opened again only after it is closed, so that parley does not find it locked.
func TestBackAtOnce(t *testing.T) {
	a := apptest.New(t, Register)
	left := apptest.See(apptest.Run(t, a, "/new")).SessionOpened
	if left == nil {
		t.Fatal("no conversation was left")
	}
	resumed := make(chan struct{})
	resume := a.Opening.Resume
	a.Opening.Resume = func(id string) (*session.Session, string, error) {
		close(resumed)
		return resume(id)
	}
	opened := make(chan func() app.Effect)
	prepare := apptest.See(a.OpenSession("another", 0)).Prepare
	go func() { opened <- prepare(context.Background()) }()
	select {
	case <-resumed:
		t.Error("opened before the one that was left is closed")
	default:
	}
	left.Close()
	if e := (<-opened)(); apptest.See(e).SessionOpened == nil {
		t.Errorf("%+v", e)
	}
}

// TestCompactEdit: /compact edit puts the command that replaces the summary into the draft, with the lines of the
// summary; /compact undo returns to the state before it.
func TestCompactEdit(t *testing.T) {
	a := apptest.New(t, Register)
	if e := apptest.Run(t, a, "/compact edit"); apptest.Toast(e) == "" || apptest.See(e).Turn != nil {
		t.Errorf("an empty conversation: %+v", e)
	}
	fake := llmtest.New(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("## Goal\nCount.\n\n## Open\n3?"))
	a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Model: fake})
	for _, prompt := range []string{"one", "two"} {
		for range a.Session.Turn(context.Background(), llm.Part{Kind: llm.Text, Text: prompt + strings.Repeat(" long", 200)}) {
		}
	}
	if e := apptest.Run(t, a, "/compact edit"); apptest.See(e).Err == nil {
		t.Errorf("no summary yet: %+v", e)
	}
	if e := apptest.Run(t, a, "/compact nonsense"); apptest.See(e).Err == nil || apptest.See(e).Turn != nil {
		t.Errorf("an unknown action: %+v", e)
	}
	for range apptest.See(apptest.Run(t, a, "/compact")).Turn(context.Background()) {
	}
	e := apptest.Run(t, a, "/compact edit")
	if apptest.See(e).Text != "/compact edit ## Goal\nCount.\n\n## Open\n3?" || !classify.AllowsMultiline(apptest.See(e).Text, a.Commands) {
		t.Fatalf("the draft is %q", apptest.See(e).Text)
	}
	if e := apptest.Run(t, a, strings.Replace(apptest.See(e).Text, "3?", "3 and 4?", 1)); apptest.See(e).Err != nil || apptest.See(e).SessionOpened == nil {
		t.Fatalf("%+v", e)
	}
	if _, text, _ := a.Session.Branch.LastSummary(); text != "## Goal\nCount.\n\n## Open\n3 and 4?" {
		t.Errorf("the summary is %q", text)
	}
	apptest.Run(t, a, "/compact edit\n## Goal\nCount on.")
	if _, text, _ := a.Session.Branch.LastSummary(); text != "## Goal\nCount on." {
		t.Errorf("from the next line: the summary is %q", text)
	}
	if e := apptest.Run(t, a, "/compact undo"); apptest.See(e).Err != nil || apptest.See(e).SessionOpened == nil {
		t.Errorf("%+v", e)
	}
	if _, text, ok := a.Session.Branch.LastSummary(); ok || len(a.Session.History()) != 4 {
		t.Errorf("after undo: %q, %d messages", text, len(a.Session.History()))
	}
	if e := apptest.Run(t, a, "/compact undo"); apptest.See(e).Err != session.ErrNoSummary {
		t.Errorf("a second time: %+v", e)
	}
}

// The tree opens only if there are branches.
func TestTree(t *testing.T) {
	a := apptest.New(t, Register)
	if got, want := apptest.Run(t, a, "/tree"), app.Toast("No branches yet. /rewind edits a message"); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	ask(t, a.Session, "a/b", [2]string{"one", "1"}, [2]string{"two", "2"})
	if err := a.Session.Branch.Edit(a.Session.Path()[2].Seq); err != nil {
		t.Fatal(err)
	}
	ask(t, a.Session, "a/b", [2]string{"TWO", "2!"})
	if e := apptest.Run(t, a, "/tree"); apptest.See(e).View.Panel != app.PanelBranches {
		t.Errorf("got %+v", e)
	}
	if got := app.Author(llm.Message{Role: llm.RoleAssistant}); got != "answer" {
		t.Errorf("the author is %q", got)
	}
}

// A copy of the open conversation keeps its model and effort. In a copy from a summary, the waiting prompts move along.
func TestFork(t *testing.T) {
	for _, note := range []string{"", "Repaired"} {
		a := apptest.New(t, Register)
		asked := ""
		a.Options.Opening.Fork = func(id string, head int) (*session.Session, string, error) {
			asked = id
			s, err := a.Opening.New()
			return s, note, err
		}
		own := a.Session
		ask(t, own, "a/b", [2]string{"one", "1"})
		own.Next.SetEffort(llm.EffortHigh)
		e := apptest.Run(t, a, "/fork")
		want := note
		if want == "" {
			want = "Opened as a copy; the original is unchanged"
		}
		if apptest.See(e).Toast != want || asked != own.ID() || a.Session == own || a.Session.Model().Name != "a/b" || a.Session.Next.Effort() != llm.EffortHigh {
			t.Errorf("%+v: asked for %s, model %s, effort %s", e, asked, a.Session.Model().Name, a.Session.Next.Effort())
		}
	}
	a := apptest.New(t, Register)
	a.Options.Opening.Fork = func(id string, head int) (*session.Session, string, error) {
		s, err := a.Opening.New()
		return s, "", err
	}
	own := a.Session
	ask(t, own, "a/b", [2]string{"one", "1"}, [2]string{"two", ""})
	own.Queue.Add(text("three"))
	e := apptest.See(app.ContinueInFork(a, own.Head())).Prepare(t.Context())()
	if apptest.See(e).Turn == nil || a.Session == own || own.Queue.Len() != 0 || a.Session.Queue.Len() != 1 {
		t.Errorf("%+v: %d and %d prompts wait", e, own.Queue.Len(), a.Session.Queue.Len())
	}
	if path := own.Path(); path[len(path)-1].Message.Text() != "1" {
		t.Errorf("the prompt stays in the original: %q", path[len(path)-1].Message.Text())
	}
	a.FrontEnd.Busy = func() bool { return true }
	if e := app.ContinueInFork(a, 1); apptest.See(e).Toast != "Stop the running turn first" {
		t.Errorf("during a turn: %+v", e)
	}
}

// /cd restarts in a folder that exists, which may be chosen from those of earlier conversations.
func TestFolder(t *testing.T) {
	a := apptest.New(t, Register)
	if got := apptest.Run(t, a, "/cd x"); apptest.See(got).Err == nil || apptest.See(got).Err.Error() != "the folder is fixed here" {
		t.Errorf("without restarts: %+v", got)
	}
	base, to := t.TempDir(), ""
	a.Directory = filepath.Join(base, "work")
	for _, name := range []string{"work/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(a.Directory, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.Restart = func(dir, _, _ string) { to = dir }
	if e := apptest.Run(t, a, "/cd"); apptest.See(e).Toast != "No other folder known yet · /cd PATH opens one" {
		t.Errorf("no folder is known: %+v", e)
	}
	for line, want := range map[string]string{"/cd sub": filepath.Join(a.Directory, "sub"), "/cd ../other": filepath.Join(base, "other"), "/cd " + base: base} {
		if e := apptest.Run(t, a, line); !apptest.See(e).Quit || to != want {
			t.Errorf("%s: %+v, in %s", line, e, to)
		}
	}
	to = ""
	for _, line := range []string{"/cd missing", "/cd file"} {
		if e := apptest.Run(t, a, line); apptest.See(e).Err == nil || to != "" {
			t.Errorf("%s: %+v", line, e)
		}
	}
	for _, dir := range []string{"other", "gone", "work", "other"} {
		s := session.New(session.Options{Model: llm.Endpoint{Name: "a/b"}, Log: a.Library.Create(session.Info{Dir: filepath.Join(base, dir)})})
		ask(t, s, "a/b", [2]string{"one", "1"})
		s.Close()
	}
	l := apptest.See(apptest.Run(t, a, "/cd")).List
	if l == nil || len(l.Items) != 1 || l.Items[0].Value != filepath.Join(base, "other") {
		t.Fatalf("the folders are %+v", l)
	}
	if e := l.Choose(l.Items[0].Value); !apptest.See(e).Quit || to != filepath.Join(base, "other") {
		t.Errorf("%+v, in %s", e, to)
	}
	a.Machine.Jobs = running{"1. make"}
	e := apptest.Run(t, a, "/cd sub")
	if c := apptest.See(e).Confirm; c == nil || c.Text != "Changing the folder ends 1 command in the background:\n  1. make" {
		t.Errorf("with a background command: %+v", e)
	}
}

// running are background commands.
type running []string

func (r running) Running() []string { return r }

// Programs may refuse to quit at once.
func TestQuit(t *testing.T) {
	a := apptest.New(t, Register)
	if e := apptest.Run(t, a, "/quit"); !apptest.See(e).Quit {
		t.Errorf("got %+v", e)
	}
	a.Machine.Jobs = running{"1. make", "2. serve"}
	c := apptest.See(apptest.Run(t, a, "/exit")).Confirm
	if c == nil || c.Text != "Quitting ends 2 commands in the background:\n  1. make\n  2. serve" || c.Yes != "Quit" || !apptest.See(c.Accept()).Quit {
		t.Errorf("got %+v", c)
	}
}

// TestRetry: an answer that says nothing is dropped before the prompt is asked again, and the screen shows that.
func TestRetry(t *testing.T) {
	for name, tt := range map[string]struct {
		turn  llmtest.Turn
		drops bool
	}{
		"failed": {llmtest.Fail(&llm.Error{Fault: llm.Authentication, Message: "no"}), false},
		"empty":  {llmtest.Script(llm.Delta{Block: "t", Part: llm.Part{Kind: llm.Thinking, Text: "hm"}}, llm.Usage{Input: 5, Output: 1}, llm.Finish{Reason: llm.Stop}), true},
	} {
		a := apptest.New(t, Register)
		a.Session.SetModel(llm.Endpoint{Name: "fake/m", Origin: "fake", Model: llmtest.New(tt.turn)})
		for range a.Session.Turn(t.Context(), text("hi")) {
		}
		if e := apptest.See(apptest.Run(t, a, "/retry")); (e.SessionOpened != nil) != tt.drops || e.Turn == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
