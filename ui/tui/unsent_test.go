package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/tui/input"
)

// until returns a turn that sends text, and fails once release is closed.
func until(release chan struct{}, text string) llmtest.Turn {
	return func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: text}})
		<-release
		return &llm.Error{Fault: llm.Server, Message: "boom"}
	}
}

// stored returns the text of the stored draft, as a program finds it that starts after this one was
// killed right after the next save.
func (s *stage) stored(t *testing.T) string {
	t.Helper()
	s.Send(input.SaveDraftMsg{})
	s.Do(func() { s.m.input.SaveDraftNow() })
	d, _, err := s.m.App.Library.Drafts().Take(s.m.App.DraftKey())
	if err != nil {
		t.Fatal(err)
	}
	return d.Text
}

// Text that becomes the draft without a key is stored like typed text.
func TestReturnedTextIsStored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(s *stage, release chan struct{})
		want string
	}{
		"a queued message behind a failure": {func(s *stage, release chan struct{}) {
			s.ask("one", "half")
			s.Type("two").Press("enter").WaitForText("queued")
			s.Send(input.SaveDraftMsg{})
			close(release)
			s.WaitForText("boom").WaitForText(band + "two")
		}, "two"},
		"a message to edit": {func(s *stage, release chan struct{}) {
			s.ask("one", "half")
			close(release)
			s.WaitForText("boom")
			s.Send(input.SaveDraftMsg{})
			s.Press("esc", "esc").WaitForText("Edit which message?").Press("enter").WaitForText("Editing an earlier message")
		}, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			s := setUp(t, 80, 24, until(release, "half"))
			tt.do(s, release)
			if got := s.stored(t); got != tt.want {
				t.Errorf("stored %q, want %q", got, tt.want)
			}
		})
	}
}

// While the history is shown, the draft is still the text written before: it is stored, and
// returned prompts go before it.
func TestDraftBehindTheHistory(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"history: one": {"ctrl+r", "o", "n", "e"}, band + "one": {"up"}} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Say("first"))
			s.ask("one", "first")
			s.idle()
			s.Type("a draft").Press(keys...).WaitForText(name)
			if got := s.stored(t); got != "a draft" {
				t.Errorf("stored %q", got)
			}
		})
	}
	t.Run("a search when messages come back", func(t *testing.T) {
		release := make(chan struct{})
		s := setUp(t, 80, 24, until(release, "half"))
		s.ask("one", "half")
		s.Type("two").Press("enter").WaitForText("queued")
		s.Type("a draft").Press("ctrl+r", "o", "n", "e")
		close(release)
		s.WaitForText("boom").WaitForText(band + "two").Shows("a draft")
	})
}

// A message that is too long to be sent becomes the draft again, whether the question about it is answered
// or left. The conversation neither shows nor contains it.
func TestTooLongIsDraftAgain(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("long ", 400))
	for name, key := range map[string]string{"stop": "2", "esc": "esc"} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 80, 24, func(o *Options) {
				model := llm.Endpoint{Model: llmtest.New(llmtest.Say("fine"), llmtest.Say("fine again")), Name: "fake/one", Strategy: "native", Context: 300}
				o.App.Session = session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory})})
			})
			for _, said := range []string{"", "hello"} {
				if said != "" {
					s.Type(said).Press("enter").WaitForText("fine")
					s.idle()
				}
				s.Paste(long)
				s.clock.Add(time.Second) // enter right after a paste is part of it
				s.Press("enter").WaitForText("Too long for fake/one")
				s.seen().Press(key).WaitForText("Not sent: your message is in the input again")
				if got := s.m.input.Composer.Value(); got != long {
					t.Errorf("the draft is %.30q", got)
				}
				if got := len(s.m.App.Session.History()); got != len(said)/2 || strings.Contains(s.Screen(), "Stopped") {
					t.Errorf("%d messages are left, and the screen is\n%s", got, s.Screen())
				}
				s.Press("ctrl+u")
			}
		})
	}
}

// An edit of an earlier message that is not sent leaves the conversation unchanged and stays open: its text
// is in the input, and esc restores the text written before.
func TestTooLongEditGoesOn(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := llm.Endpoint{Model: llmtest.New(llmtest.Say("first"), llmtest.Say("second"), llmtest.Say("third")), Name: "fake/one", Strategy: "native", Context: 300}
		o.App.Session = session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory})})
	})
	s.ask("one", "first")
	s.idle()
	s.ask("two", "second")
	s.idle()
	s.Type("a draft").Press("ctrl+p").WaitForText("Commands").Type("rewind").Press("enter").WaitForText("Edit which message?")
	s.Press("down", "enter").WaitForText("Editing an earlier message")
	s.Paste(strings.TrimSpace(strings.Repeat(" long", 400)))
	s.clock.Add(time.Second)
	for range 2 { // twice
		s.Press("enter").WaitForText("Too long for fake/one").Lacks("second")
		s.seen().Press("2").WaitForText("Not sent: your message is in the input again").Shows("Editing an earlier message", "second")
		if got := s.m.input.Composer.Value(); !strings.HasPrefix(got, "one") || !strings.HasSuffix(got, "long") || len(s.m.App.Session.History()) != 4 {
			t.Fatalf("%.30q, %d messages\n%s", got, len(s.m.App.Session.History()), s.Screen())
		}
	}
	s.Press("esc").Lacks("Editing").Shows(band + "a draft")
	s.Press("ctrl+p").WaitForText("Commands").Type("rewind").Press("enter").WaitForText("Edit which message?")
	s.Press("down", "enter").WaitForText("Editing an earlier message").Type("!").Press("enter").WaitForText("third")
	s.idle()
	if got := s.m.App.Session.History(); len(got) != 2 || got[0].Text() != "one!" {
		t.Errorf("%d messages: %+v", len(got), got)
	}
}

// A fork after a message that was not sent contains the displayed messages, and so does the store once
// the message is a stored draft.
func TestForkBehindGivenBack(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := llm.Endpoint{Model: llmtest.New(llmtest.Say("fine")), Name: "fake/one", Strategy: "native", Context: 300}
		o.App.Session = session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory})})
	})
	s.ask("hello", "fine")
	s.idle()
	s.Paste(strings.TrimSpace(strings.Repeat("long ", 400)))
	s.clock.Add(time.Second)
	s.Press("enter").WaitForText("Too long for fake/one")
	s.seen().Press("esc").WaitForText("Not sent: your message")
	id := s.m.App.Session.ID()
	s.WaitFor(func() bool {
		about, _, err := s.m.App.Library.Read(id)
		return err == nil && about.Head == s.m.App.Session.Head()
	})
	s.Press("ctrl+u", "ctrl+x", "f").WaitForText("a copy")
	if got := s.m.App.Session.History(); len(got) != 2 || s.m.App.Session.ID() == id {
		t.Errorf("the fork holds %d messages\n%s", len(got), s.Screen())
	}
}

// A message queued before another one comes before it in the draft.
func TestTooLongStaysInOrder(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		model := llm.Endpoint{Model: llmtest.New(llmtest.Say("fine")), Name: "fake/one", Strategy: "native", Context: 300}
		o.App.Session = session.New(session.Options{Model: model, Attended: true, Now: o.App.Now, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory})})
	})
	s.m.App.Session.Queue.Add(llm.Part{Kind: llm.Text, Text: strings.Repeat("long ", 400)})
	s.m.App.Session.Queue.Add(llm.Part{Kind: llm.Text, Text: "short"})
	s.Type("hello").Press("enter").WaitForText("Too long for fake/one")
	s.clock.Add(time.Second)
	s.seen().Press("esc").WaitForText("Not sent: your message")
	if got := s.stored(t); !strings.HasPrefix(got, "long ") || !strings.HasSuffix(got, "short") {
		t.Errorf("the draft is %.20q … %.20q", got, got[max(len(got)-20, 0):])
	}
}

// Each conversation has its own draft: text written in one returns with that conversation, and
// appears in no other.
func TestDraftsOfConversations(t *testing.T) {
	t.Parallel()
	t.Run("a new one in the place of an empty one", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.m.App.Attached = []llm.Part{{Kind: llm.Text, Name: "a.txt", Text: "alpha"}}
		s.Type("hello").Press("ctrl+x", "n").Shows(band+"hello", "[a.txt")
	})
	t.Run("one with attachments alone", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Say("about whales"), llmtest.Say("about ships"))
		s.ask("whales", "about whales")
		s.idle()
		s.Do(func() {
			part := llm.Part{Kind: llm.Text, Name: "a.txt", Text: "alpha"}
			s.m.App.Attached = []llm.Part{part}
			s.m.perform(app.Attached(s.m.App.Attached))
		})
		s.Press("ctrl+x", "n").Lacks("[a.txt")
		s.ask("ships", "about ships")
		s.idle()
		s.Type("of ships").Press("ctrl+x", "l").WaitForText("whales").Type("whales").Press("enter")
		s.WaitForText("[a.txt").Shows("about whales").Lacks("of ships")
		s.Press("ctrl+x", "l").WaitForText("ships").Type("ships").Press("enter")
		s.WaitForText(band + "of ships").Lacks("[a.txt")
	})
}

// Editing an earlier message keeps the text and attachments from before: they return once the edit
// is sent or left, and the changed message goes to the history.
func TestEditKeepsTheDraft(t *testing.T) {
	t.Parallel()
	edit := func(s *stage) {
		s.Press("ctrl+p").WaitForText("Commands").Type("rewind").Press("enter").WaitForText("Edit which message?")
		s.Press("enter").WaitForText("Editing an earlier message").Shows(band + "one")
	}
	begin := func(t *testing.T) *stage {
		s := setUp(t, 80, 24, llmtest.Say("first"), llmtest.Say("second"))
		s.ask("one", "first")
		s.idle()
		return s
	}
	attach := func(s *stage) {
		s.Do(func() {
			s.m.App.Attached = []llm.Part{{Kind: llm.Text, Name: "a.txt", Text: "alpha"}}
		})
		s.Type("a draft").Shows("[a.txt")
		edit(s)
		s.Lacks("[a.txt").Lacks("a draft")
	}
	t.Run("left", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Press("esc").Shows("[a.txt", band+"a draft")
	})
	t.Run("sent", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Type(" more").Press("enter").WaitForText("second").Shows("[a.txt", band+"a draft")
		if got := s.fake.Requests()[1].Messages; len(got) != 1 || got[0].Text() != "one more" || len(got[0].Parts) != 1 {
			t.Errorf("sent %+v", got)
		}
	})
	t.Run("another conversation", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Press("ctrl+x", "n").Lacks("Editing").Lacks("[a.txt").Press("ctrl+x", "l").WaitForText("› one").Press("enter")
		s.WaitForText(band + "a draft").Shows("[a.txt")
	})
	stored := func(t *testing.T, s *stage, want string) {
		t.Helper()
		got := s.stored(t)
		if d, _, err := s.m.App.Library.Drafts().Take(s.m.App.DraftKey()); err != nil || got != want || len(d.Parts) != 1 || d.Parts[0].Name != "a.txt" {
			t.Errorf("stored %q with %+v, %v; want %q with a.txt", got, d.Parts, err, want)
		}
	}
	t.Run("the program ends", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Type(" more").Shows(band + "one more")
		s.Do(func() { s.m.quit() })
		stored(t, s, "a draft")
	})
	t.Run("the program ends, nothing was written before", func(t *testing.T) {
		s := begin(t)
		edit(s)
		s.Type(" more").Shows(band + "one more")
		s.Do(func() { s.m.quit() })
		if got := s.stored(t); got != "one more" {
			t.Errorf("stored %q", got)
		}
	})
	t.Run("the program is killed", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Type(" more").Shows(band + "one more")
		stored(t, s, "one more")
	})
	t.Run("what comes meanwhile", func(t *testing.T) {
		s := begin(t)
		attach(s)
		s.Do(func() {
			part := llm.Part{Kind: llm.Text, Name: "output of ls", Text: "x"}
			s.m.App.Attached = append(s.m.App.Attached, part)
		})
		s.Press("esc").Shows("[a.txt", "[output of ls")
	})
	t.Run("a stash of before", func(t *testing.T) {
		s := begin(t)
		s.Type("for later").Press("ctrl+x", "s")
		edit(s)
		s.Press("esc").Lacks("for later").Press("ctrl+x", "s").Shows(band + "for later")
	})
	t.Run("changes that are left", func(t *testing.T) {
		s := begin(t)
		edit(s)
		s.Type(" of many words").Press("esc").Lacks("of many words").Press("up").Shows(band + "one of many words")
	})
	t.Run("a draft is remembered", func(t *testing.T) {
		s := begin(t)
		s.Type("a draft")
		edit(s)
		s.WaitFor(func() bool {
			past, err := s.m.App.Library.Prompts(10)
			return err == nil && len(past) == 2 && past[1].Text == "a draft"
		})
	})
}

// An edit that cannot be sent yet, because a turn began meanwhile, stays an edit.
func TestEditWhileATurnRuns(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Fail(&llm.Error{Fault: llm.Server, Message: "boom"}), llmtest.Hang("half"), llmtest.Say("second"))
	s.ask("one", "boom")
	s.Press("esc", "esc").WaitForText("Edit which message?").Press("enter").WaitForText("Editing an earlier message")
	s.Press("ctrl+x", "r").WaitForText("half")
	s.Type(" more").Shows(band+"one more").Press("enter").Shows(band+"one more", "Editing an earlier message")
	s.Press("ctrl+c")
	s.idle()
	s.Press("enter").WaitForText("second")
	s.idle()
	if path := s.m.App.Session.Path(); len(path) != 2 || path[0].Text() != "one more" {
		t.Errorf("the conversation is %+v", path)
	}
}

// The result of a user's command goes with the next prompt of the conversation in which it ran, even if
// another one is open by then.
func TestOutputBelongsToItsConversation(t *testing.T) {
	gate := make(chan struct{})
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Shell = func(context.Context, string, string, func(string)) act.Outcome {
			<-gate
			return act.Outcome{Text: "alpha"}
		}
	}, llmtest.Say("about whales"))
	s.ask("whales", "about whales")
	s.idle()
	left := "session:" + s.m.App.Session.ID()
	s.Type("!ls").Press("enter").WaitForText("! ls")
	s.Press("ctrl+x", "n").Lacks("about whales")
	close(gate)
	s.WaitForText("The output of ls is attached to the conversation in which it ran").Lacks("[output of ls")
	if d, _, err := s.m.App.Library.Drafts().Take(left); err != nil || len(d.Parts) != 1 {
		t.Errorf("stored %+v, %v", d, err)
	}
	if n := len(s.m.App.Attached); n != 0 {
		t.Errorf("%d attached", n)
	}
	if rest := s.m.App.Drafts().Shells(left); len(rest) != 0 {
		t.Errorf("on record as running: %+v", rest)
	}
	s.Press("ctrl+x", "l").WaitForText("› whales").Press("enter").WaitForText("[output of ls")
}

// Empty conversations share one draft, so the command's result goes with it.
func TestOutputOfAnEmptyConversation(t *testing.T) {
	gate := make(chan struct{})
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Shell = func(context.Context, string, string, func(string)) act.Outcome {
			<-gate
			return act.Outcome{Text: "alpha"}
		}
	})
	s.Type("!ls").Press("enter").WaitForText("! ls")
	s.Press("ctrl+x", "n").Lacks("! ls")
	close(gate)
	s.WaitForText("[output of ls")
}

// ctrl+c clears the draft, then stops a typed command, and only then quits.
func TestInterruptedShell(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Shell = func(ctx context.Context, _, _ string, _ func(string)) act.Outcome {
			<-ctx.Done()
			return act.Outcome{Text: "stopped here"}
		}
	})
	s.Type("!sleep 40").Press("enter").WaitForText("running · esc stops it")
	s.Type("a draft").Press("ctrl+c").Lacks("a draft").Shows("running · esc stops it")
	s.Press("ctrl+c").WaitForText("stopped here").Lacks("again to quit")
	s.Press("ctrl+c").Shows("Press ctrl+c again to quit")
}

// ctrl+c leaves a search in the history, as in a shell.
func TestInterruptedSearch(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("about whales"))
	s.ask("whales", "about whales")
	s.idle()
	s.Type("a draft").Press("ctrl+r", "w").Shows("history: w").Press("ctrl+c").Lacks("history: w").Shows(band + "a draft")
}

// A first message that is too long by itself does not lead to an offer to summarize.
func TestTooLongByItself(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow, Message: "too many tokens"}))
	s.ask("hello", "too many tokens")
	s.idle()
	s.WaitForText("This message is too long for the model").Lacks("Summarize")
}
