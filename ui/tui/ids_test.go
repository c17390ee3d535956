package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/uitest"
)

// shownAgain returns a screen with the same conversation, opened again.
func (s *stage) shownAgain(t *testing.T, w, h int, text string) string {
	t.Helper()
	again := newModel(s.m.options())
	again.Tick = s.m.Tick
	d := uitest.New(t, again, w, h)
	again.Send = func(msg tea.Msg) { d.Deliver(msg) }
	return conversation(d.WaitForText(text).Screen())
}

// Blocks were once identified by the address of their turn. Addresses are
// reused once the previous turn is collected, and calls then appeared in an
// earlier turn.
func TestBlocksStayInTheirTurns(t *testing.T) {
	turns, height := 25, 400
	if long {
		turns, height = 60, 900
	}
	var script []llmtest.Turn
	for i := range turns {
		script = append(script,
			// many servers restart their numbering with each answer
			llmtest.Call(llm.Part{ID: "call_0", Name: "read", Input: fmt.Sprintf(`{"path":"file%d.txt"}`, i)}),
			llmtest.Think(fmt.Sprintf("thought %d", i), fmt.Sprintf("answer %d.", i)))
	}
	s := setUp(t, 110, height, script...)
	for i := range turns {
		name := filepath.Join(s.dir, fmt.Sprintf("file%d.txt", i))
		if err := os.WriteFile(name, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s.ask(fmt.Sprintf("prompt %d.", i), fmt.Sprintf("answer %d.", i))
		s.idle()
		runtime.GC()
	}
	live := conversation(s.Screen())
	for i, turn := range strings.Split(live, "prompt ")[1:] {
		call, answer := fmt.Sprintf("file%d.txt", i), fmt.Sprintf("answer %d.", i)
		if strings.Count(turn, ".txt") != 1 || !strings.Contains(turn, call) || !strings.Contains(turn, answer) {
			t.Errorf("turn %d does not show its own call, %s:\n%s", i, call, turn)
		}
	}
	if stored := s.shownAgain(t, 110, height, fmt.Sprintf("answer %d.", turns-1)); stored != live {
		t.Errorf("shown again:\n%s\nwant\n%s", stored, live)
	}
}

// Calls that share an id, and calls without one, show in the order in which they
// arrived, each once.
func TestCallsWithoutIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "same"} {
		t.Run("id "+id, func(t *testing.T) {
			calls := func(_ context.Context, _ llm.Request, out *llm.Out) error {
				for i, path := range []string{"a.txt", "none.txt"} {
					out.Send(llm.Delta{Block: fmt.Sprint(i), Part: llm.Part{Kind: llm.Call, ID: id, Name: "read", Input: fmt.Sprintf(`{"path":%q}`, path)}})
				}
				out.Send(llm.Finish{Reason: llm.Calls})
				return nil
			}
			s := setUp(t, 80, 40, calls, llmtest.Say("done with it"))
			s.ask("read both", "done with it")
			s.idle()
			live := conversation(s.Screen())
			if strings.Count(live, "read none.txt") != 1 || strings.Count(live, "read a.txt") != 1 || strings.Contains(live, "○") {
				t.Errorf("each call shows once, and has ended:\n%s", live)
			}
			if stored := s.shownAgain(t, 80, 40, "done with it"); stored != live {
				t.Errorf("shown again:\n%s\nwant\n%s", stored, live)
			}
		})
	}
}
