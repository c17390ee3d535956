package tui

import (
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
)

// Typing /save once summarized the conversation, with a paid request, because its
// letters occur in the description of /compact. A command that was only found by
// its description must not run, however it is entered.
func TestFoundCommandsDoNotRun(t *testing.T) {
	t.Parallel()
	for typed, found := range map[string]string{"free": "compact", "foo": "fold-output", "cmpct": "compact", "last": "retry"} {
		for name, enter := range map[string]func(*stage){
			"slash":   func(s *stage) { s.Type("/" + typed).Shows(found).Press("enter") },
			"palette": func(s *stage) { s.Press("ctrl+p").Type(typed).Shows(found).Press("enter") },
		} {
			t.Run(name+" "+typed, func(t *testing.T) {
				s := setUp(t, 100, 40, llmtest.Say("first answer"), llmtest.Say("never"))
				s.ask("hello", "first answer")
				s.idle()
				enter(s)
				s.WaitForText("Unknown command /" + typed)
				if n := len(s.fake.Requests()); n != 1 || s.m.chat.Turn != nil || s.m.overlay.Dialog == nil {
					t.Errorf("%d requests, a turn %v, the list %v", n, s.m.chat.Turn != nil, s.m.overlay.Dialog != nil)
				}
			})
		}
	}
	t.Run("an arrow key chooses", func(t *testing.T) {
		s := setUp(t, 100, 40)
		s.Type("/tokens").Press("down", "enter").WaitForText("Usage")
	})
}

// If the list has rows, but the line names none of them, a second enter sends the line. An enter after
// another key, or in a list not opened with a slash, does not.
func TestSecondEnterSendsFromTheList(t *testing.T) {
	t.Parallel()
	const unknown = "Unknown command /conect · enter again sends it as text"
	t.Run("slash", func(t *testing.T) {
		s := setUp(t, 100, 40, llmtest.Say("understood"))
		s.Type("/conect").Press("enter").WaitForText(unknown)
		s.Press("left").Lacks(unknown).Press("enter").Shows(unknown)
		if n := len(s.fake.Requests()); n != 0 || s.m.overlay.Dialog == nil {
			t.Errorf("%d requests, the list %v", n, s.m.overlay.Dialog != nil)
		}
		s.Press("enter").WaitForText("understood")
		if got := s.m.App.Session.History()[0].Text(); got != "/conect" {
			t.Errorf("the model got %q", got)
		}
	})
	t.Run("several begin so", func(t *testing.T) {
		s := setUp(t, 100, 40)
		s.Type("/mod").Press("enter").WaitForText("Several: ")
		s.Press("enter").Shows("Several: ").Lacks("sends it as text")
	})
	t.Run("palette", func(t *testing.T) {
		s := setUp(t, 100, 40)
		s.Press("ctrl+p").Type("conect").Press("enter").WaitForText("Unknown command /conect").Lacks("sends it as text")
		s.Press("enter").Shows("Unknown command /conect")
		if s.m.overlay.Dialog == nil || s.m.chat.Turn != nil {
			t.Error("the second enter did something")
		}
	})
}

// A prefix of a single command's names runs it, with and without a list.
func TestBeginningsRun(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"/usa", "/USAGE", "/usage"} {
		t.Run(typed, func(t *testing.T) {
			s := setUp(t, 80, 30)
			s.Type(typed).Press("enter").WaitForText("Usage (last 30 days)")
		})
		t.Run("pasted "+typed, func(t *testing.T) {
			s := setUp(t, 80, 30)
			s.Do(func() { s.m.input.Composer.SetValue(typed) }).Press("enter").WaitForText("Usage (last 30 days)")
		})
	}
}

// A complete model name is used even if no list contains it and others resemble it.
func TestNamedModelWins(t *testing.T) {
	t.Parallel()
	opened := func(o *Options) {
		open := o.App.Models.Open
		o.App.Models.Open = func(name string) (llm.Endpoint, error) {
			if name == "mo/m1" {
				m, err := open("fake/two")
				m.Name = name
				return m, err
			}
			return open(name)
		}
		o.App.Models.Choices = func() []app.ModelChoice {
			return []app.ModelChoice{{Name: "fake/one", Ready: true}, {Name: "fake/mo/m1", Ready: true}, {Name: "mo/m10", Ready: true}, {Name: "mo/m1-mini", Ready: true}}
		}
	}
	for name, enter := range map[string]func(*stage){
		"slash":        func(s *stage) { s.Type("/model mo/m1").Press("enter") },
		"palette":      func(s *stage) { s.Press("ctrl+p").Type("model mo/m1").Press("enter") },
		"pasted":       func(s *stage) { s.Do(func() { s.m.input.Composer.SetValue("/model mo/m1") }).Press("enter") },
		"another name": func(s *stage) { s.Type("/models mo/m1").Press("enter") },
		"list not known": func(s *stage) {
			s.Do(func() { s.m.App.Models.Choices = func() []app.ModelChoice { return nil } }).Type("/model mo/m1").Press("enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 100, 30, opened)
			enter(s)
			s.WaitForText("Model: fake/one → mo/m1")
		})
	}
	for name, enter := range map[string]func(*stage){
		"compare by slash": func(s *stage) { s.Type("/compare mo/m1").Press("enter") },
		"compare pasted":   func(s *stage) { s.Do(func() { s.m.input.Composer.SetValue("/compare mo/m1") }).Press("enter") },
	} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 100, 30, opened)
			enter(s)
			s.WaitFor(func() bool { return slices.Equal(s.m.App.Compared.Models, []string{"fake/one", "mo/m1"}) })
		})
	}
	t.Run("the list offers it", func(t *testing.T) {
		s := setUpWith(t, 100, 30, opened)
		s.Do(func() {
			s.m.App.Models.Live = func() []app.ModelChoice {
				return []app.ModelChoice{{Name: "fake/one", Ready: true}, {Name: "fake/mo/m1", Ready: true}, {Name: "mo/other", Ready: true}}
			}
		})
		s.Press("ctrl+x", "m").WaitForText("mo/other").Type("mo/m1").WaitForText("as typed")
		s.Press("enter").WaitForText("Model: fake/one → mo/m1")
	})
	t.Run("hidden ones too", func(t *testing.T) {
		s := setUpWith(t, 100, 30, opened)
		s.m.App.Models.Live = func() []app.ModelChoice {
			return []app.ModelChoice{{Name: "fake/one", Ready: true}, {Name: "fake/mo/m1", Ready: true}, {Name: "mo/m1", Ready: true, Retired: true}}
		}
		s.Press("ctrl+x", "m").WaitForText("show hidden (1)").Type("mo/m1").WaitForScreen(func(screen string) bool { return strings.Contains(screen, "› mo/m1") })
		s.Press("enter").WaitForText("Model: fake/one → mo/m1")
	})
}
