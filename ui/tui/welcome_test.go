package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/common"
)

// firstScreen returns a screen in a project with stored conversations, latest last.
func firstScreen(t *testing.T, w, h int, change func(*Options), titles ...string) *stage {
	t.Helper()
	return setUpWith(t, w, h, func(o *Options) {
		firstScreenFiles(t, o, titles...)
		change(o)
	}, llmtest.Say("fine"), llmtest.Say("fine again"))
}

// firstScreenFiles creates the project and the conversations.
func firstScreenFiles(t *testing.T, o *Options, titles ...string) {
	t.Helper()
	o.App.FirstScreen.Version = "1.2.0"
	for _, file := range [][2]string{{".git/HEAD", "ref: refs/heads/main\n"}, {"go.mod", "module m\n"}, {"README.md", "# m\n"}} {
		path := filepath.Join(o.App.Directory, file[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, title := range titles {
		log := o.App.Library.Create(session.Info{Dir: o.App.Directory, Model: "fake/one"})
		if err := log.Put(session.Node{Seq: 1, At: o.App.Now(), Message: llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: title}}}}); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func unchanged(*Options) {}

// A notice at the start, such as about outdated facts of models, is complete on the first
// screen of every size, and a toast in a resumed conversation, which has no first screen.
func TestFirstNotice(t *testing.T) {
	t.Parallel()
	const notice = "Prices and context windows of models are of 2026-11-20: parley models --update fetches new ones"
	words := func(s *stage) string { return strings.Join(strings.Fields(s.Screen()), " ") }
	for _, size := range [][2]int{{50, 15}, {80, 24}, {120, 40}, {240, 80}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := firstScreen(t, size[0], size[1], func(o *Options) { o.App.FirstScreen.Notice = notice })
			if s.WaitForText("2026-11-20"); !strings.Contains(words(s), notice) {
				t.Error(s.Screen())
			}
		})
	}
	t.Run("resumed", func(t *testing.T) {
		s := setUpWith(t, 80, 24, func(o *Options) {
			o.App.FirstScreen.Notice = notice
			for range o.App.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
			}
		}, llmtest.Say("fine"))
		if s.WaitForText("2026-11-20"); !strings.Contains(words(s), notice) {
			t.Error(s.Screen())
		}
	})
}

// The first screen shows the directory, the model, prompts to try, and conversations to
// continue, at every size.
func TestFirstScreen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{50, 15}, {80, 24}, {120, 40}, {240, 80}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := firstScreen(t, size[0], size[1], unchanged, "Refactor the store", "Why does the build fail on a clean machine when the cache is empty?", "Hello")
			s.WaitForText("Hello").Golden(fmt.Sprintf("first-%dx%d", size[0], size[1]))
		})
		t.Run(fmt.Sprintf("no key, %dx%d", size[0], size[1]), func(t *testing.T) {
			s := firstScreen(t, size[0], size[1], demoAnswers)
			s.WaitForText("add a key").Golden(fmt.Sprintf("first-nokey-%dx%d", size[0], size[1]))
		})
	}
}

// demoAnswers makes the demo answer because there is no key.
func demoAnswers(o *Options) {
	o.App.FirstScreen.NoKey = true
	demo := o.App.Session.Model()
	demo.Name = "demo/parley"
	o.App.Session.SetModel(demo)
}

func TestFirstScreenKeys(t *testing.T) {
	t.Parallel()
	t.Run("an example is sent", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged)
		s.WaitForText("Try").Press("down", "down", "down", "up").Shows("enter send").Press("enter").WaitForText("fine")
		if got := s.fake.Requests()[0].Messages[0].Parts[0].Text; got != "Suggest a commit message for my changes" {
			t.Errorf("sent %q", got)
		}
		if strings.Contains(s.Screen(), "Try") {
			t.Error("the first screen stays behind the first prompt")
		}
	})
	t.Run("a conversation is continued", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged, "An older one", "The latest")
		s.WaitForText("An older one").Press("down", "down", "up").Shows("enter continue").Press("enter")
		s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Continue") })
		s.ask("more", "fine")
		if got := s.fake.Requests()[0].Messages[0].Parts[0].Text; got != "The latest" {
			t.Errorf("continued %q", got)
		}
	})
	t.Run("letters, and enter behind them, are the prompt's", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged)
		s.WaitForText("Try").Press("down")
		s.ask("hello", "fine")
		if got := s.fake.Requests()[0].Messages[0].Parts[0].Text; got != "hello" {
			t.Errorf("sent %q", got)
		}
	})
	t.Run("up recalls a prompt where nothing is selected", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged, "asked before")
		s.WaitForText("asked before")
		s.m.input.Composer.Recall.Remember("asked before")
		s.Press("up")
		if got := s.m.input.Composer.Value(); got != "asked before" {
			t.Errorf("up wrote %q", got)
		}
	})
	t.Run("esc selects nothing", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged)
		s.WaitForText("Try").Press("down", "esc", "enter")
		if got := s.m.input.Composer.Value(); got != "" {
			t.Errorf("the composer holds %q", got)
		}
	})
	t.Run("nothing of it is shown on a resumed conversation", func(t *testing.T) {
		s := firstScreen(t, 80, 24, unchanged, "The latest")
		s.WaitForText("The latest").Press("down", "enter")
		s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "Try") })
		s.Press("ctrl+x", "n").WaitForText("Try")
	})
}

// The tokens of a first request besides its prompt are not counted again for each letter,
// but for any other event.
func TestFirstRequestIsCounted(t *testing.T) {
	counted, size := 0, 1200
	s := setUpWith(t, 80, 24, func(o *Options) {
		o.App.Context = func() []app.ContextItem {
			counted++
			return []app.ContextItem{{Name: "system prompt", Tokens: size}}
		}
	})
	fill := func() int { s.m.View(); return s.m.input.ContextTokens() }
	if got := fill(); got != size {
		t.Fatalf("a first request takes %d tokens, want %d", got, size)
	}
	before := counted
	for _, letter := range "hello" {
		s.m.Update(tea.KeyPressMsg{Code: letter, Text: string(letter)})
		fill()
	}
	if counted != before {
		t.Errorf("counted %d times for five letters", counted-before)
	}
	for _, msg := range []tea.Msg{tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: 'm', Text: "m"}, doMsg(func() tea.Cmd { return nil })} {
		size++
		if s.m.Update(msg); fill() != size {
			t.Errorf("after %T %v a first request takes %d tokens, want %d", msg, msg, fill(), size)
		}
	}
}

// In a low window, down selects only rows that are drawn, and enter takes the marked one.
func TestFirstScreenSelectsWhatIsDrawn(t *testing.T) {
	titles := []string{"The oldest", "An older one", "The latest"}
	marked := func(s *stage) string {
		for row := range strings.Lines(s.Screen()) {
			if name, ok := strings.CutPrefix(row, "›   "); ok {
				return strings.TrimSpace(name)
			}
		}
		return ""
	}
	for height := 6; height <= 24; height++ {
		t.Run(fmt.Sprint(height), func(t *testing.T) {
			s := firstScreen(t, 80, height, unchanged, titles...)
			s.Send(s.m.parts.broadcast(common.SessionsChangedMsg{})())
			drawn := 0
			for row := range strings.Lines(s.Screen()) {
				for _, name := range slices.Concat(titles, []string{"Explain", "Suggest", "Run the"}) {
					if strings.HasPrefix(row, "    "+name) {
						drawn++
					}
				}
			}
			var seen []string
			for range 7 {
				s.Press("down")
				switch name := marked(s); {
				case name == "" && drawn == 0:
				case !slices.Contains(seen, name):
					seen = append(seen, name)
				case name != seen[len(seen)-1]:
					t.Errorf("back at %q", name)
				}
			}
			if len(seen) != drawn || slices.Contains(seen, "") {
				t.Errorf("of %d rows down selects %q in\n%s", drawn, seen, s.Screen())
			}
			for i := len(seen) - 2; i >= 0; i-- {
				if s.Press("up"); marked(s) != seen[i] {
					t.Errorf("up from %q selects %q", seen[i+1], marked(s))
				}
			}
		})
	}
}

// A marked row stays marked when rows above it disappear, and its mark disappears with it.
func TestFirstScreenKeepsItsMark(t *testing.T) {
	s := firstScreen(t, 80, 24, unchanged, "Refactor the store", "Hello", "Hello")
	s.WaitForText("Refactor the store")
	s.Press("down", "down", "down")
	screen := func() string { s.m.View(); return s.Screen() }
	if !strings.Contains(screen(), "›   Refactor the store") {
		t.Fatal(screen())
	}
	found, err := s.m.App.Library.List(session.Query{})
	if err != nil || len(found) != 3 {
		t.Fatal(found, err)
	}
	remove := func(id string) {
		if err := s.m.App.Library.Trash(id); err != nil {
			t.Fatal(err)
		}
		s.Send(s.m.parts.broadcast(common.SessionsChangedMsg{})()) // as after a dialog has closed
	}
	if remove(found[0].ID); !strings.Contains(screen(), "›   Refactor the store") || strings.Count(screen(), "Hello") != 1 {
		t.Errorf("behind a row that went the mark is elsewhere:\n%s", screen())
	}
	s.Press("up")
	if !strings.Contains(screen(), "›   Hello") {
		t.Fatal(screen())
	}
	if remove(found[1].ID); strings.Contains(screen(), "›   Refactor") || strings.Contains(screen(), "Hello") {
		t.Errorf("the mark of a row that went is elsewhere:\n%s", screen())
	}
}

// The first screen stops offering a conversation that was deleted over it. A paste removes the
// mark of a row, as a letter does.
func TestFirstScreenIsOfNow(t *testing.T) {
	s := firstScreen(t, 80, 24, unchanged, "Refactor the store", "Hello")
	s.WaitForText("Hello").Press("down", "down", "down")
	if !strings.Contains(s.Screen(), "›   Explain") {
		t.Fatal(s.Screen())
	}
	s.Send(tea.PasteMsg{Content: "pasted"}).WaitForText("pasted")
	if strings.Contains(s.Screen(), "›   Explain") {
		t.Errorf("the mark stays:\n%s", s.Screen())
	}
	s.Press("ctrl+u", "down", "down", "down", "down").Send(s.m.parts.broadcast(common.SessionsChangedMsg{})()) // as after a dialog has closed
	if !strings.Contains(s.Screen(), "›   Suggest") {
		t.Errorf("the mark is lost:\n%s", s.Screen())
	}
	s.Press("esc", "ctrl+x", "l").WaitForText("Conversations").Press("delete").WaitForText("Deleted").Press("esc")
	s.WaitForText("Try")
	s.WaitFor(func() bool { return !strings.Contains(s.Screen(), "  Hello") })
}

// A conversation to continue has the lines that it changed, where there is room for its title.
func TestFirstScreenChanges(t *testing.T) {
	s := firstScreen(t, 80, 24, func(o *Options) {
		list, err := o.App.Library.List(session.Query{})
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		for _, is := range list {
			if err := o.App.Library.Set(app.ChangesKey(is.ID), "+24 −9"); err != nil {
				t.Fatal(err)
			}
		}
	}, "Fix the loop", strings.Repeat("A long title ", 6))
	s.WaitForText("+24 −9   now")
	if n := strings.Count(s.Screen(), "+24"); n != 1 {
		t.Errorf("%d rows have lines", n)
	}
}
