package tui

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/tools/act"
	"parley/ui/tui/composer"
	"parley/ui/tui/overlay"
)

// seen waits until the read gate of an approval has passed.
func (s *stage) seen() *stage {
	s.Send(overlay.DrawnMsg{})
	s.clock.Add(time.Second)
	return s
}

func touch(id, name string) llm.Part {
	return llm.Part{ID: id, Name: "shell", Input: `{"command":"touch ` + name + `"}`}
}

// Other dialogs open over an approval. When they are left, the approval returns
// unchanged: with its text and scroll position, and with its delays restarted.
func TestDialogsOverApprovals(t *testing.T) {
	t.Parallel()
	for title, open := range map[string][]string{
		"Commands": {"ctrl+p"}, "Keys": {"f1"}, "Model": {"ctrl+x", "m"}, "Usage": {"ctrl+x", "u"},
	} {
		t.Run(title, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")), llmtest.Say("fine"))
			ran := func() bool { _, err := os.Stat(filepath.Join(s.dir, "b")); return err == nil }
			s.ask("do it", "Run this command?")
			s.seen().Press("down").WaitForText("› a  Allow this session")
			s.Press(open...).WaitForText(title)
			s.clock.Add(time.Second)
			s.Press("esc").WaitForText("› a  Allow this session")
			s.Press("enter").Press("esc").Type("ya") // meant for the other dialog
			s.Send(overlay.DrawnMsg{})
			s.Press("enter").Press("esc").Type("ya")
			if ran() || !strings.Contains(s.Screen(), "Run this command?") {
				t.Fatalf("a key that was meant for another dialog answered:\n%s", s.Screen())
			}
			s.clock.Add(time.Second)
			s.Press("up").Type("n").Type("use c").WaitForText("› use c")
			s.Press("f1").WaitForText("Keys").Press("esc").WaitForText("› use c")
			s.seen().Press("enter").WaitForText("fine")
			if got := s.fake.Requests()[1].Messages[2].Parts[0].Text; ran() || !strings.Contains(got, "use c") {
				t.Errorf("the model was told %q", got)
			}
		})
	}
	t.Run("from the palette", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")), llmtest.Say("fine"))
		s.ask("do it", "Run this command?")
		s.seen().Press("ctrl+p").WaitForText("Commands").Type("context").Press("enter").WaitForText("next request:")
		s.Press("esc").WaitForText("Run this command?")
		s.seen().Type("y").WaitForText("fine")
	})
	t.Run("a leader is no answer", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")), llmtest.Say("fine"))
		s.ask("do it", "Run this command?")
		s.seen().Press("ctrl+x", "esc").Press("ctrl+x", "a").Press("ctrl+x", "y").Shows("Run this command?")
		s.clock.Add(time.Second)
		s.Press("ctrl+c").WaitForText("stopped")
	})
	t.Run("the turn ends below another dialog", func(t *testing.T) {
		s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")))
		s.ask("do it", "Run this command?")
		s.seen().Press("ctrl+p").WaitForText("Commands")
		s.m.chat.Stop()
		s.WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "waiting for you") })
		s.Press("esc").WaitForText("Ask anything")
	})
}

// Enter may end a text that the user is writing, and allows nothing then.
func TestEnterWhileWriting(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Call(touch("1", "b")), llmtest.Say("fine"))
	s.Paste("a draft").Send(doMsg(func() tea.Cmd { return s.m.dispatch(composer.Submission{Text: "do it"}, nil) })).WaitForText("Run this command?")
	s.seen().Press("enter").Shows("Run this command?")
	s.clock.Add(time.Second)
	if _, err := os.Stat(filepath.Join(s.dir, "b")); err == nil || !strings.Contains(s.Screen(), "↑ ↓ select") && !strings.Contains(s.Screen(), "y, n, a") {
		t.Errorf("something is selected though there is a draft:\n%s", s.Screen())
	}
	s.Press("down").Press("enter").WaitForText("fine")
}

// In an answer, running calls are above waiting ones.
func TestRunningStandsAboveWaiting(t *testing.T) {
	s := setUp(t, 80, 40, llmtest.Call(touch("1", "b"), touch("2", "c"),
		llm.Part{ID: "3", Name: "read", Input: `{"path":"a.txt"}`}, touch("4", "d")), llmtest.Say("fine"))
	s.ask("do it", "needs approval")
	for _, name := range []string{"b", "c", "d"} {
		s.WaitForText("$ touch " + name)
		waits := false
		for row := range strings.SplitSeq(s.Screen(), "\n") {
			runs := strings.Contains(row, "  running")
			if waits && runs {
				t.Errorf("a call runs below one that waits:\n%s", s.Screen())
			}
			waits = waits || strings.Contains(row, "needs approval")
		}
		s.seen().Press("enter")
	}
	s.WaitForText("fine")
}

// Fifteen approvals in a row, with random keys, other dialogs over them and resizes in
// between: nothing runs without an answer that allows it, every call has one result, and the
// next request is valid for a provider. With PARLEY_LONG=1 thirty, ten times over.
func TestManyApprovals(t *testing.T) {
	t.Parallel()
	calls, seeds := 15, uint64(1)
	if long {
		calls, seeds = 30, 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 13))
			var turns []llmtest.Turn
			for i := range calls / 3 {
				turns = append(turns, llmtest.Call(touch(fmt.Sprint(3*i), fmt.Sprint("f", 3*i)), touch(fmt.Sprint(3*i+1), fmt.Sprint("f", 3*i+1)), touch(fmt.Sprint(3*i+2), fmt.Sprint("f", 3*i+2))))
			}
			s := setUp(t, 80, 24, append(turns, llmtest.Say("all of it is done"))...)
			s.m.App.Session.Policy().SetMode(act.ModeAsk)
			blind := []string{"enter", "esc", "y", "a", "p", "e", "w", "n", "up", "down", "tab", "left", "x", "space", "pgdown", "ctrl+o"}
			over := [][]string{{"Commands", "ctrl+p"}, {"Keys", "f1"}, {"Model", "ctrl+x", "m"}, {"Usage", "ctrl+x", "u"}, {"", "ctrl+x", "esc"}, {"", "ctrl+x", "y"}} // by title; "" if none opens
			sizes := [][2]int{{80, 24}, {50, 15}, {120, 40}, {24, 9}}
			s.ask("do it", "$ touch f0")
			allowed := map[int]bool{}
			for i := range calls {
				asks := fmt.Sprintf("$ touch f%d", i)
				file := filepath.Join(s.dir, fmt.Sprint("f", i))
				there := func(when string) {
					t.Helper()
					if _, err := os.Stat(file); err == nil || !strings.Contains(s.Shows(asks).Screen(), asks) {
						t.Fatalf("call %d was answered %s:\n%s", i, when, s.Screen())
					}
				}
				s.Shows(asks)
				for range random.IntN(6) { // before it can have been read
					s.Press(blind[random.IntN(len(blind))])
				}
				there("before it was seen")
				if random.IntN(2) == 0 {
					other := over[random.IntN(len(over))]
					s.seen().Press(other[1:]...)
					if other[0] == "" { // a leader alone counts as typing
						s.Press("enter")
					} else {
						s.WaitForText(other[0]).Press("esc").Shows(asks).Press("enter").Press("esc")
					}
					there("by what was meant for another dialog")
				}
				size := sizes[random.IntN(len(sizes))]
				s.Resize(size[0], size[1]).Resize(80, 24)
				there("by another size")
				s.seen().seen()
				allowed[i] = random.IntN(2) == 0
				key := "esc"
				if allowed[i] {
					key = "y"
				}
				s.Press(key).WaitFor(func() bool { return !strings.Contains(s.Screen(), asks+"\n") || i == calls-1 })
			}
			s.WaitForText("all of it is done")
			results := map[string]int{}
			for _, m := range s.m.App.Session.History() {
				for _, p := range m.Parts {
					if p.Kind == llm.Result {
						results[p.ID]++
					}
				}
			}
			for i := range calls {
				_, err := os.Stat(filepath.Join(s.dir, fmt.Sprint("f", i)))
				if ran := err == nil; ran != allowed[i] {
					t.Errorf("call %d ran: %v, allowed: %v", i, ran, allowed[i])
				}
			}
			if len(results) != calls {
				t.Errorf("%d calls have a result, want %d", len(results), calls)
			}
			for id, n := range results {
				if n != 1 {
					t.Errorf("call %s has %d results", id, n)
				}
			}
		})
	}
}

// A call has the same title while it runs, after it was asked about, and when the
// conversation is opened again.
func TestTitleOfResumedCall(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Call(llm.Part{ID: "1", Name: "write", Input: `{"path":"m.txt","content":"one"}`}), llmtest.Say("fine"))
	title := func() string {
		for line := range strings.Lines(s.Screen()) {
			if _, rest, ok := strings.Cut(line, "✓ write"); ok {
				return strings.Fields(rest)[0]
			}
		}
		return ""
	}
	s.ask("make it", "Create m.txt?")
	s.seen().Type("y").WaitForText("fine")
	s.idle()
	live := title()
	s.Press("ctrl+x", "n").WaitForScreen(func(screen string) bool { return !strings.Contains(screen, "fine") })
	s.Press("ctrl+x", "l").WaitForText("Conversations").Type("make").Press("enter").WaitForText("✓ write")
	if stored := title(); live != "m.txt" || stored != live {
		t.Errorf("the title was %q, and is %q", live, stored)
	}
}
