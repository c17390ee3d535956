package tui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/chat"
	"parley/ui/tui/input"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panels"
	"parley/ui/uitest"
)

func contains(want ...string) func(string) bool {
	return func(screen string) bool {
		for _, w := range want {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	}
}

func lacks(what string) func(string) bool {
	return func(screen string) bool { return !strings.Contains(screen, what) }
}

func TestConversations(t *testing.T) {
	s := setUp(t, 100, 30, llmtest.Say("answer one"), llmtest.Say("answer two"), llmtest.Say("answer three"))
	s.ask("about whales", "answer one")
	s.idle()
	s.Press("ctrl+x", "n").WaitForScreen(lacks("answer one"))
	s.ask("about ships", "answer two")
	s.idle()
	s.Press("ctrl+x", "l").WaitForScreen(contains("about whales", "about ships", "current"))
	s.Type("whales").WaitForText("1 of 2")
	s.Press("enter").WaitForScreen(contains("▌ about whales", "answer one"))
	s.ask("go on", "answer three")
	if got := s.fake.Requests()[2].Messages; len(got) != 3 || got[0].Text() != "about whales" {
		t.Errorf("the conversation goes on with %+v", got)
	}
	s.idle()
	s.Press("ctrl+x", "l").Type("answer two").WaitForScreen(contains("in messages", "about ships"))
	s.Press("enter").WaitForScreen(contains("▌ about ships"))
}

func TestBranchesOnTheScreen(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("first answer"), llmtest.Say("second answer"), llmtest.Say("third answer"))
	s.ask("one", "first answer")
	s.idle()
	s.Press("tab").Press("r").WaitForText("second answer") // a second answer
	s.idle()
	s.Lacks("first answer")
	s.Press("esc")
	s.Press("ctrl+x", "t").WaitForScreen(contains("Branches", "first answer", "second answer"))
	s.Press("up").Press("enter").WaitForScreen(lacks("Branches")).Shows("first answer")
	s.Press("ctrl+x", "f").WaitForText("a copy")
	s.ask("more", "third answer")
	if got := s.fake.Requests()[2].Messages; len(got) != 3 || got[1].Text() != "first answer" {
		t.Errorf("the copy goes on with %+v", got)
	}
	s.idle()
	s.Press("ctrl+x", "l").WaitForScreen(contains("Conversations", "2"))
}

func TestAttachments(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("seen"), llmtest.Say("again"))
	path := filepath.Join(s.dir, "a.txt")
	s.Paste("'" + path + "'").WaitForText("[a.txt, 2 lines") // as a terminal does with a dragged file
	s.ask("what is this", "seen")
	s.Shows("what is this", "[a.txt")
	parts := s.fake.Requests()[0].Messages[0].Parts
	if len(parts) != 2 || !strings.Contains(parts[0].Text, "alpha\nbeta") || parts[1].Text != "what is this" {
		t.Errorf("the request holds %+v", parts)
	}
	s.idle()
	s.ask("and @"+path+", too?", "again")
	s.Shows("and @")
	last := s.fake.Requests()[1].Messages
	parts = last[len(last)-1].Parts
	if len(parts) != 2 || !strings.Contains(parts[0].Text, "alpha\nbeta") {
		t.Errorf("the second request holds %+v", parts)
	}
	t.Run("backspace takes one off", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Paste("/attach " + path)
		s.clock.Add(time.Second)
		s.Press("enter").WaitForText("[a.txt")
		s.Press("backspace").WaitForScreen(lacks("[a.txt"))
	})
	t.Run("what is not there is told", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Paste("/attach nothing.png")
		s.clock.Add(time.Second)
		s.Press("enter").WaitForText("nothing.png: no such file")
	})
	t.Run("hidden files elsewhere are not brought along by a mention", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("fine"))
		secret := filepath.Join(t.TempDir(), ".ssh", "id")
		if err := errors.Join(os.MkdirAll(filepath.Dir(secret), 0o700), os.WriteFile(secret, []byte("key"), 0o600)); err != nil {
			t.Fatal(err)
		}
		s.ask("look at @"+secret, "fine")
		if parts := s.fake.Requests()[0].Messages[0].Parts; len(parts) != 1 {
			t.Errorf("the request holds %+v", parts)
		}
	})
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	lib := session.MemoryStore()
	defer lib.Close()
	fake := llmtest.New(llmtest.Say("ok"))
	open := func() *stage {
		log := lib.Create(session.Info{})
		s := &stage{fake: fake, clock: &clock{}}
		s.m = newModel(Options{Config: Default(), Panels: panels.New, App: app.Options{Flows: flows.Register, Session: session.New(session.Options{
			Model: llm.Endpoint{Model: fake, Name: "fake/one", Origin: "fake"}, Log: log}), Library: lib, Directory: "/work"}})
		s.m.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
		s.Driver = uitest.New(t, s.m, 80, 24)
		s.m.Send = func(msg tea.Msg) { s.Driver.Deliver(msg) }
		return s
	}
	s := open()
	s.Type("half a thought").Send(input.SaveDraftMsg{})
	s.Driver.Close()

	s = open() // as after a crash, without a clean exit
	s.WaitForText(band + "half a thought")
	s.Press("enter").WaitForText("ok")
	s.idle()
	s.WaitFor(func() bool {
		_, ok, _ := lib.Drafts().Take("folder:/work")
		return !ok
	})
	s.Driver.Close()

	s = open()
	s.WaitForText(band + "Ask anything")
	s.Press("up").WaitForText(band + "half a thought") // in the history of every conversation
	s.Driver.Close()
}

func TestNotSaved(t *testing.T) {
	s := setUp(t, 100, 24, llmtest.Say("an answer"))
	s.Send(chat.SavedMsg{Of: s.m.App.Session, Err: errors.New("database or disk is full")})
	s.WaitForScreen(contains("Not saved (database or disk is full)", "Messages are kept in memory"))
	s.ask("hi", "an answer")
	s.Shows("not saved")
	s.Send(chat.SavedMsg{Of: s.m.App.Session})
	s.WaitForText("everything is on disk again")
}

// A failure to save an earlier conversation is not reported for the open one.
func TestNotSavedBefore(t *testing.T) {
	s := setUp(t, 100, 24, llmtest.Say("an answer"), llmtest.Say("another one"))
	s.ask("hi", "an answer")
	s.idle()
	left := s.m.App.Session
	s.Press("ctrl+x", "n")
	s.Send(chat.SavedMsg{Of: left, Err: errors.New("database or disk is full")})
	s.ask("hello", "another one")
	s.Lacks("not saved")
}

func TestCompactOnTheScreen(t *testing.T) {
	overflow := llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow, Provider: "fake", Message: "maximum context length exceeded"})
	s := setUp(t, 80, 24, llmtest.Say("the answer"), overflow, llmtest.Say("They counted."), llmtest.Say("three"))
	s.ask("first", "the answer")
	s.idle()
	s.ask("second", "too long for")
	s.seen().Press("y").WaitForScreen(contains("summarized", "three"))
	requests := s.fake.Requests()
	last := requests[len(requests)-1].Messages
	if text := last[0].Text(); len(last) != 1 || !strings.Contains(text, "They counted.") || !strings.HasSuffix(text, "second") {
		t.Errorf("tried again with %+v", last)
	}
}

// TestRetryIsNamedWhereItWorks: a summary that fails after a complete answer leaves nothing
// to retry.
func TestRetryIsNamedWhereItWorks(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("the first answer"), llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "boom"}))
	s.ask("first", "the first answer")
	s.idle()
	s.ask("/compact", "boom")
	s.idle()
	if screen := s.Screen(); strings.Contains(screen, "retry") {
		t.Errorf("retry is named:\n%s", screen)
	}
	s.Press("ctrl+x", "r").WaitForText("Nothing to retry")
}

func TestUsagePanel(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Script(
		llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "ok"}},
		llm.Usage{Input: 1200, Output: 34, Cost: 0.5, Priced: true}, llm.Finish{Reason: llm.Stop}))
	s.ask("hi", "ok")
	s.idle()
	s.Press("ctrl+x", "u").WaitForScreen(contains("Last answer: 1.2k in · 34 out · $0.50", "By day"))
	s.Press("tab").WaitForScreen(contains("› By model"))
	s.Press("enter").WaitForScreen(lacks("By day"))
}

// A directory is trusted only by a key pressed while everything that it would add
// is visible, never by a key typed before.
func TestTrust(t *testing.T) {
	var asked []bool
	long := "Do you trust this?\n" + strings.Repeat("one more line\n", 60) + "the end"
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Trust.Question = long
		o.App.Trust.Decide = func(yes bool) (string, error) { asked = append(asked, yes); return "with its words", nil }
	}, llmtest.Say("ok"))
	s.WaitForText("Do you trust this?")
	s.Type("yyy")
	s.Send(overlay.DrawnMsg{})
	s.clock.Add(time.Second)
	s.Type("y")
	if len(asked) > 0 {
		t.Fatalf("trusted unread: %v", asked)
	}
	for range 10 {
		s.Press("pgdown")
		s.Send(overlay.DrawnMsg{})
	}
	s.clock.Add(time.Second)
	s.Type("y").WaitForText("trusted")
	if len(asked) != 1 || !asked[0] {
		t.Errorf("decided %v", asked)
	}
	s.ask("hi", "ok")
	if got := s.fake.Requests()[0].System; got != "with its words" {
		t.Errorf("the system prompt is %q", got)
	}
}

func TestRewrite(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("the first answer"), llmtest.Say("fine"))
	s.ask("one", "the first answer")
	s.idle()
	s.Press("tab").Press("e").WaitForText("Editing an earlier message")
	s.Type(", mended").Press("enter").WaitForText("New branch created")
	s.Shows("the first answer, mended")
	s.ask("two", "fine")
	if got := s.fake.Requests()[1].Messages; len(got) != 3 || got[1].Text() != "the first answer, mended" {
		t.Errorf("the request holds %+v", got)
	}
	if n := len(s.m.App.Session.Branches()); n != 3 {
		t.Errorf("%d branches: the old answer stays as one", n)
	}
}

// A file that a message mentions is attached once, however often the message is edited.
func TestEditedMention(t *testing.T) {
	s := setUp(t, 100, 24, llmtest.Say("answer one"), llmtest.Say("answer two"))
	s.ask("read @"+filepath.Join(s.dir, "a.txt"), "answer one")
	s.idle()
	s.Press("esc", "esc").WaitForText("Edit which message")
	s.Shows("read @", "a.txt").Lacks("<file")
	s.Press("enter").WaitForText("Editing an earlier message")
	s.Press("enter").WaitForText("answer two")
	if got := s.fake.Requests()[1].Messages; len(got) != 1 || len(got[0].Parts) != 2 {
		t.Errorf("the edited message is %+v", got)
	}
	s.idle()
	s.Press("ctrl+x", "t").WaitForScreen(contains("Branches", "read @")).Lacks("<file")
}

// A mention of a missing file is reported, because the model gets only the name.
func TestMentionOfNothing(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"see @nofile, please": "No file nofile: sent as text",
		"mail me@nofile":      "",
		"in @/":               "",
	} {
		t.Run(prompt, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Say("fine"))
			s.Type(prompt).Press("enter").WaitForText("fine")
			if got := strings.Contains(s.Screen(), "sent as text"); got != (want != "") || !strings.Contains(s.Screen(), want) {
				t.Errorf("want %q on the screen\n%s", want, s.Screen())
			}
		})
	}
}

// A copy continues as the conversation would have.
func TestForkKeeps(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("answer one"), llmtest.Say("answer two"))
	s.ask("one", "answer one")
	s.idle()
	s.Press("alt+.").Press("alt+.").WaitForText("high")
	s.Press("ctrl+x", "f").WaitForText("a copy")
	s.ask("more", "answer two")
	if got := s.fake.Requests()[1].Effort; got != llm.EffortHigh {
		t.Errorf("the copy goes on with effort %q, want high", got)
	}
}

// An empty answer does not leave an empty screen, and can be retried.
func TestEmptyAnswer(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Think("hm"), llmtest.Say("answer two"))
	s.ask("one", "Empty answer from the model · ctrl+x r retry")
	s.idle()
	s.Press("ctrl+x", "r").WaitForText("answer two")
	s.Lacks("Empty answer")
	if got := s.fake.Requests()[1].Messages; len(got) != 1 {
		t.Errorf("the second request holds %+v", got)
	}
}
