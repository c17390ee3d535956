package tui

import (
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/uitest"
)

// Started to choose a conversation, the screen opens the list with the query, and
// keeps the prompt for the chosen one.
func TestFindAtStart(t *testing.T) {
	s := setUp(t, 80, 30, llmtest.Say("about cats"), llmtest.Say("about dogs"))
	s.ask("cats", "about cats")
	s.idle()
	s.Press("ctrl+x", "n")
	s.ask("dogs", "about dogs")
	s.idle()
	words := "cats"
	o := s.m.options()
	o.App.Session, _ = o.App.Opening.New()
	o.App.Start.Find, o.App.Start.Prompt = &words, []llm.Part{{Kind: llm.Text, Text: "the prompt"}}
	again := newModel(o)
	again.Tick = s.m.Tick
	d := uitest.New(t, again, 80, 30)
	d.WaitForText("Conversations  cats").WaitForScreen(func(screen string) bool { return strings.Contains(screen, "› cats") })
	d.Press("enter").WaitForText(band + "the prompt").Shows("about cats")
	if n := len(s.fake.Requests()); n != 2 {
		t.Errorf("%d requests: the prompt was sent before a conversation was chosen", n)
	}
}

// The prompt of the command line is kept, with its files, if the chosen conversation or the directory
// already has a draft.
func TestFindWithDrafts(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(s *stage){
		"of the conversation": func(s *stage) { s.Type("of cats").Press("ctrl+x", "n").Lacks("of cats") },
		"of the folder":       func(s *stage) { s.Press("ctrl+x", "n").Lacks("about cats").Type("of the folder") },
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, 80, 30, llmtest.Say("about cats"))
			s.ask("cats", "about cats")
			s.idle()
			write(s)
			s.stored(t)
			o := s.m.options()
			o.App.Session, _ = o.App.Opening.New()
			o.App.Start.Find, o.App.Start.Prompt = new(string), []llm.Part{{Kind: llm.Text, Name: "a.txt", Text: "alpha"}, {Kind: llm.Text, Text: "the prompt"}}
			again := newModel(o)
			again.Tick = s.m.Tick
			d := uitest.New(t, again, 80, 30)
			d.WaitForText("Conversations").WaitForText("› cats").Press("enter").WaitForText(band+"the prompt").Shows("about cats", "[a.txt").Lacks("of the folder")
			if name == "of the conversation" {
				d.Shows("of cats")
			}
		})
	}
}

// With --fork the chosen conversation is copied and stays unchanged.
func TestFindToFork(t *testing.T) {
	s := setUp(t, 80, 30, llmtest.Say("about cats"))
	s.ask("cats", "about cats")
	s.idle()
	old := s.m.App.Session.ID()
	o := s.m.options()
	o.App.Session, _ = o.App.Opening.New()
	o.App.Start = app.Start{Find: new(string), Fork: true}
	again := newModel(o)
	again.Tick = s.m.Tick
	d := uitest.New(t, again, 80, 30)
	d.WaitForText("Conversations").WaitForText("› cats").Press("enter").WaitForScreen(lacks("› cats")).Shows("about cats")
	if id := again.App.Session.ID(); id == old || len(again.App.Session.History()) != 2 {
		t.Errorf("continues in %s with %d messages, not in a copy of %s", id, len(again.App.Session.History()), old)
	}
}

// The note about an exported conversation is shown with its file.
func TestExportNote(t *testing.T) {
	s := setUpWith(t, 100, 30, func(o *Options) {
		o.App.Export = func(_ *session.Session, format, path string) (string, string, error) {
			return "/home/me/" + format + "/" + path, " · keys masked in 1 text · the key of providers.x is not masked: it failed", nil
		}
	}, llmtest.Say("not a good idea"))
	s.ask("hello", "not a good idea")
	s.idle()
	s.Type("/export md out.md").Press("enter").WaitForText("Wrote /home/me/md/out.md · keys masked in")
	s.WaitForText("is not masked: it failed") // on a second row if the path is long
}

// Esc leaves browsing, as its hint says, and does not stop an answer; a second esc does.
func TestEscapeWhileBrowsing(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
	s.ask("hi", "half an answer")
	s.Press("tab").WaitForText("browse: esc back")
	s.Press("esc").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "browse:") })
	if s.m.chat.Turn == nil || s.m.chat.Turn.Stopped {
		t.Fatal("the answer was stopped")
	}
	s.Press("tab").Type("/half").WaitForText("search: esc back").Press("enter")
	s.Press("esc", "esc").WaitForScreen(lacks("search:")).Lacks("browse:")
	if s.m.chat.Turn == nil || s.m.chat.Turn.Stopped {
		t.Fatal("the answer was stopped")
	}
	s.Press("esc").WaitForText("Stopped")
}
