package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/tui/overlay"
)

// lengthy returns an answer with more rows than the screen.
func lengthy() string {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "row %d of it\n\n", i)
	}
	return text.String() + "the end"
}

// While a question is open, the conversation can be scrolled. A question longer
// than its window keeps the page keys for itself.
func TestScrollsBehindQuestions(t *testing.T) {
	t.Parallel()
	wheel := func(y int) tea.Msg { return tea.MouseWheelMsg{X: 5, Y: y, Button: tea.MouseWheelUp} }
	for name, c := range map[string]struct {
		rows  int // height of the question
		input any
		moves bool
	}{
		"a page":                      {1, "pgup", true},
		"a line":                      {1, "shift+up", true},
		"to the beginning":            {1, "ctrl+home", true},
		"the wheel over it":           {1, wheel(2), true},
		"the wheel over the question": {1, wheel(20), true},
		"up":                          {1, "up", false},
		"a page of a long one":        {80, "pgup", false},
		"a line above a long one":     {80, "shift+up", true},
		"the wheel above a long one":  {80, wheel(0), true},
		"the wheel over a long one":   {80, wheel(20), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUpWith(t, 80, 24, func(o *Options) { o.Config.Mouse = true }, llmtest.Say(lengthy()))
			s.ask("go", "the end")
			s.idle()
			s.Send(&app.Confirm{Text: strings.TrimSpace(strings.Repeat("Really?\n", c.rows)), Yes: "yes", No: "no"})
			s.WaitForText("Really?")
			top := func() string { return strings.Join(strings.Split(s.Screen(), "\n")[:2], "\n") }
			before := top()
			if key, ok := c.input.(string); ok {
				s.Press(key)
			} else {
				s.Send(c.input)
			}
			if moved := top() != before; moved != c.moves || !strings.Contains(s.Screen(), "Really?") {
				t.Errorf("moved %v, want %v:\n%s", moved, c.moves, s.Screen())
			}
		})
	}
}

// Keys of the program work over every dialog, and close none.
func TestKeysAboveDialogs(t *testing.T) {
	s := setUp(t, 80, 24)
	count := func(want tea.Msg) (n int) {
		for _, msg := range s.Messages() {
			if msg == want {
				n++
			}
		}
		return n
	}
	for key, want := range map[string]tea.Msg{"ctrl+z": tea.Suspend(), "ctrl+l": tea.ClearScreen()} {
		for title, open := range map[string][]string{"Commands": {"ctrl+p"}, "Keys": {"f1"}, "Model": {"ctrl+x", "m"}} {
			s.Press(open...).WaitForText(title)
			before := count(want)
			s.Press(key).WaitFor(func() bool { return count(want) == before+1 })
			s.Shows(title)
			s.Press("esc").WaitForText("Ask anything")
		}
	}
}

// Two quick presses of esc arrive as one key: in a dialog they leave or deny as a single esc does.
func TestTwoQuickEscInDialogs(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Call(llm.Part{ID: "1", Name: "shell", Input: `{"command":"touch b"}`}), llmtest.Say("fine"))
	for title, open := range map[string][]string{"Commands": {"ctrl+p"}, "Keys": {"f1"}, "Model": {"ctrl+x", "m"}, "Usage": {"ctrl+x", "u"}} {
		s.Press(open...).WaitForText(title)
		s.Press("alt+esc").WaitForText("Ask anything")
	}
	s.ask("do it", "Run this command?")
	s.Send(overlay.DrawnMsg{})
	s.Press("alt+esc").WaitForText("fine")
	if _, err := os.Stat(filepath.Join(s.dir, "b")); err == nil {
		t.Error("the command ran")
	}
}

// An unknown command is sent to the model only after a second enter. Paths, and text after a space,
// are sent at once. A command that cannot run now keeps the typed text, too.
func TestMistypedCommands(t *testing.T) {
	t.Parallel()
	const again = " · enter again sends it as text"
	for typed, want := range map[string]string{
		"/nosuch":              "Unknown command /nosuch. ctrl+p lists them" + again,
		"/modle":               "Unknown command /modle. Did you mean /mode or /model?" + again,
		"/modle gpt":           "Unknown command /modle. Did you mean /mode or /model?" + again,
		"/modle gpt\nnow":      "Unknown command /modle. Did you mean /mode or /model?" + again,
		"/mod":                 "Did you mean /mode or /model?",
		"/qiut":                "Did you mean /quit?",
		"/sav3":                "Unknown command /sav3. Did you mean /save?" + again,
		"/wrod more words":     "Unknown command /wrod. ctrl+p lists them" + again,
		"/the file is what":    "Unknown command /the. Did you mean /theme?" + again,
		"/etc is a folder":     "Unknown command /etc. ctrl+p lists them" + again,
		"/stop it":             `/stop takes no argument: remove "it"`,
		"/wrod\nmore lines":    "",
		"/wrod more\nlines":    "",
		"/usr/bin/env":         "",
		"/usr/bin/env is what": "",
		"/etc/hosts is broken": "",
		"/notes.txt is empty":  "",
		" /nosuch":             "",
	} {
		for name, enter := range map[string]func(*stage){
			"pasted": func(s *stage) { s.Do(func() { s.m.input.Composer.SetValue(typed) }).Press("enter") },
			"typed":  func(s *stage) { s.Type(typed).Press("enter") },
		} {
			if name == "typed" && (typed == "/mod" || typed == "/stop it" || typed == "/the file is what" || strings.Contains(typed, "\n")) {
				continue // the palette, which has one line, shows commands with this prefix
			}
			t.Run(name+" "+typed, func(t *testing.T) {
				s := setUp(t, 130, 24, llmtest.Say("understood"))
				enter(s)
				if want == "" {
					s.WaitForText("understood")
					return
				}
				s.WaitForText(want)
				if typed == "/stop it" {
					return
				}
				if got := s.m.input.Composer.Value(); got != typed || s.m.chat.Turn != nil || len(s.m.App.Session.History()) > 0 {
					t.Errorf("the composer holds %q, and the model got %v", got, s.m.App.Session.History())
				}
				s.Press("enter").WaitForText("understood")
				if got := s.fake.Requests()[0].Messages[0].Text(); got != typed {
					t.Errorf("the model got %q, want %q", got, typed)
				}
			})
		}
	}
}

// A refused draft is refused again after the draft was changed meanwhile.
func TestMistypedCommandAgain(t *testing.T) {
	s := setUp(t, 100, 24)
	for range 2 {
		s.Type("/nosuch").Press("enter").WaitForText("Unknown command /nosuch")
		s.Press("ctrl+c").WaitForText("Input cleared")
	}
	if s.m.chat.Turn != nil || len(s.m.App.Session.History()) > 0 {
		t.Errorf("the model got %v", s.m.App.Session.History())
	}
}

// The palette opened with a slash reports it too, and leaves no bare command.
func TestSlashLeaves(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"history ": "", "history": "", "clear": "", "history full": "/history full", "histo": "/histo"} {
		t.Run(typed, func(t *testing.T) {
			s := setUp(t, 80, 24)
			if s.Type("/" + typed).Press("esc"); s.m.input.Composer.Value() != want {
				t.Errorf("/%s leaves %q, want %q", typed, s.m.input.Composer.Value(), want)
			}
		})
	}
	t.Run("a slip", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("/nosuch").Press("enter").WaitForText("Unknown command /nosuch")
	})
}

// Aliases run their commands, and are not names of other commands.
func TestOtherNames(t *testing.T) {
	own := map[string]bool{}
	for _, a := range actions(flows.Commands()) {
		for _, name := range a.Names() {
			if own[name] {
				t.Errorf("%s is the name of two", name)
			}
			own[name] = true
		}
	}
	s := setUpWith(t, 80, 30, func(o *Options) { o.App.Models.Choices = catalogued })
	s.Type("/models").Press("enter").WaitForText("gpt-x")
	s.Press("esc").Press("ctrl+p").Type("/models").Press("enter").WaitForText("gpt-x")
}

// Unavailable commands come last, and the foot tells what they would do.
func TestPaletteOrder(t *testing.T) {
	s := setUp(t, 80, 40)
	s.Press("ctrl+p").WaitForText("Commands")
	rows := strings.Split(s.Screen(), "\n")
	at := func(name string) int {
		return slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(strings.TrimLeft(row, " ›"), name+" ") })
	}
	if at("stash") > at("stop") || at("mode") > at("retry") {
		t.Errorf("what cannot run stands first:\n%s", s.Screen())
	}
	s.Type("retry").WaitForText("Commands  retry").Shows("Retry the last message")
}

// Servers are asked only once in a while, unless one did not answer.
func TestServersAreAskedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found []app.ModelChoice
		wait  time.Duration
		want  int
	}{
		"at once":       {[]app.ModelChoice{{Name: "box/llama", Ready: true}}, time.Minute, 1},
		"later":         {[]app.ModelChoice{{Name: "box/llama", Ready: true}}, time.Hour, 2},
		"one is silent": {[]app.ModelChoice{{Name: "box/", Why: "server does not answer"}}, time.Minute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := setUpWith(t, 80, 30, func(o *Options) {
				o.App.Models.Live = func() []app.ModelChoice { asked++; return c.found }
			})
			for range 2 {
				s.Press("ctrl+x", "m").WaitForText(c.found[0].Name)
				s.Press("esc")
				s.clock.Add(c.wait)
			}
			if asked != c.want {
				t.Errorf("asked %d times, want %d", asked, c.want)
			}
		})
	}
}

// The effect of a key of the inspector is reported above its foot.
func TestInspectorSaysWhatItDid(t *testing.T) {
	list := exchanges(time.Date(2026, 11, 20, 16, 0, 0, 0, time.Local))
	s := setUpWith(t, 80, 24, wired(&list))
	s.Press("ctrl+x", "w").WaitForText("200 running").Press("end", "enter").WaitForText("POST https://")
	s.Press("c").WaitForText("curl command")
	s.Press("s").WaitForText("Wrote ")
}

// Two quick presses of esc that arrive as one key count as two on an empty line, and as one
// where esc has another effect.
func TestTwoQuickEscOnEmptyLine(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("fine"))
	s.ask("do it", "fine")
	s.idle()
	s.Press("alt+esc").WaitForText("Edit which message")
	s.Press("alt+esc").WaitForText("Ask anything")
	s.Press("tab").WaitForText("browse:")
	s.Press("alt+esc").Lacks("browse:").Lacks("Edit which message")
}

// A refused argument stays in the input, after the typed command name, and its value is reported.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"/exit foo":     `/exit takes no argument: remove "foo"`,
		"/stash foo":    `/stash takes no argument: remove "foo"`,
		"/clear now":    `/clear takes no argument: remove "now"`,
		"/mode loud":    `Unknown approval mode "loud": use`,
		"/effort huge":  `Unknown reasoning effort "huge": this model has`,
		"/theme purple": `Unknown theme "purple": use`,
		"/model a/b":    "Authentication failed (openai): no key",
	} {
		for way, enter := range map[string]func(*stage){
			"":                func(s *stage) { s.Do(func() { s.m.input.Composer.SetValue(line) }) },
			" in the palette": func(s *stage) { s.Type(line) },
		} {
			t.Run(line+way, func(t *testing.T) {
				s := setUp(t, 130, 24)
				enter(s)
				s.Press("enter").WaitForText(want)
				if got := s.m.input.Composer.Value(); got != line {
					t.Errorf("the input holds %q", got)
				}
			})
		}
	}
}

// The report about a refused line disappears with the next line.
func TestRefusalGoes(t *testing.T) {
	s := setUp(t, 130, 24)
	s.Type("/theme purple").Press("enter").WaitForText("Unknown theme")
	s.Press("ctrl+u").Type("/theme dark").Press("enter").WaitFor(func() bool { return !strings.Contains(s.Screen(), "Unknown theme") })
}
