package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/tui/composer"
	"parley/ui/uitest"
)

// Text of a server or a model is a prompt when it is sent unread: whatever its
// beginning, it runs no command and nothing in the shell.
func TestOthersWordsDoNotRun(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a line for the shell":             "!touch ran",
		"a command":                        "/mode yolo",
		"behind what is not shown":         "\x00!touch ran",
		"a command behind what is not":     "\u009b/mode yolo",
		"a command with a long argument":   "/mode yolo" + strings.Repeat(" x", 40_000),
		"a shell line with a long command": "!touch ran" + strings.Repeat(" x", 40_000),
	} {
		for how, bring := range map[string]func(*stage){
			"a server's prompt": func(s *stage) { s.Send(app.Draft(text)) },
			"taken back from the queue": func(s *stage) {
				s.m.App.Session.Queue.Add(llm.Part{Kind: llm.Text, Text: text})
				s.Send(composer.UnqueueMsg{Text: text, Edit: true})
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				ran := ""
				s := setUpWith(t, 80, 24, func(o *Options) {
					o.App.Machine.Shell = func(_ context.Context, _, command string, _ func(string)) act.Outcome {
						ran = command
						return act.Outcome{}
					}
				}, llmtest.Say("I see"), llmtest.Say("again"))
				bring(s)
				s.Press("enter").WaitForText("I see")
				s.idle()
				want := " " + strings.TrimLeft(text, "\x00\u009b")
				if got := s.fake.Requests()[0].Messages; got[len(got)-1].Text() != want {
					t.Errorf("the model got %.60q, want %.60q", got[len(got)-1].Text(), want)
				}
				s.Press("up", "enter").WaitForText("again")
				s.idle()
				if mode := s.m.App.Session.Policy().Mode(); ran != "" || mode != act.ModeAsk {
					t.Errorf("ran %q, mode %s", ran, mode)
				}
			})
		}
	}
}

// An edited answer does not run either, and contains only the user's changes.
func TestEditedAnswerDoesNotRun(t *testing.T) {
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Machine.Shell = func(context.Context, string, string, func(string)) act.Outcome {
			t.Error("it ran")
			return act.Outcome{}
		}
	}, llmtest.Say("!touch ran"))
	s.ask("say it", "!touch ran")
	s.idle()
	s.Press("tab", "e").WaitForText("Editing an earlier message")
	s.Type(" please").Press("enter").WaitForText("New branch")
	path := s.m.App.Session.Path()
	if got, want := path[len(path)-1].Text(), "!touch ran please"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
}

// A stashed draft can be found again in the history, also after a restart.
func TestStashIsRemembered(t *testing.T) {
	s := setUp(t, 80, 24)
	s.Type("for later").Press("ctrl+x", "s")
	s.WaitFor(func() bool {
		past, err := s.m.App.Library.Prompts(10)
		return err == nil && len(past) == 1 && past[0].Text == "for later"
	})
}

// A chip that is too long to be opened shows a hint how to open it.
func TestLongChip(t *testing.T) {
	s := setUp(t, 120, 24)
	s.Paste(strings.Repeat("line\n", 20_000))
	s.Press("tab").WaitForText("100.0 KB is too large for the input · ctrl+g open")
}

// The wheel moves the transcript wherever the pointer is.
func TestWheelOverTheComposer(t *testing.T) {
	s := setUp(t, 40, 10, llmtest.Say(strings.Repeat("line\n\n", 30)+"the end"))
	s.ask("go on", "the end")
	s.idle()
	s.Send(tea.MouseWheelMsg{X: 5, Y: 8, Button: tea.MouseWheelUp})
	s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "the end") })
}

// Text typed after a slash is a command only if one is chosen: leaving the
// palette runs nothing and loses nothing.
func TestSlashRunsNothingUnchosen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys []string
		want string
	}{
		"left":              {[]string{"/", "mode yolo", "esc"}, "/mode yolo"},
		"a path, left":      {[]string{"/", "usr/bin/env", "esc"}, "/usr/bin/env"},
		"a slip, by enter":  {[]string{"/", "mdoe yolo", "enter"}, "/mdoe yolo"},
		"closed by ctrl+c":  {[]string{"/", "mode yolo", "ctrl+c"}, ""},
		"and a dialog then": {[]string{"/", "mode yolo", "ctrl+c", "ctrl+p", "mode yolo", "esc"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, 80, 24)
			for _, key := range c.keys {
				if _, err := uitest.Key(key); err == nil {
					s.Press(key)
					continue
				}
				s.Type(key)
			}
			if got, mode := s.m.input.Composer.Value(), s.m.App.Session.Policy().Mode(); got != c.want || mode != act.ModeAsk {
				t.Errorf("the composer holds %q, want %q; the mode is %s", got, c.want, mode)
			}
		})
	}
}
