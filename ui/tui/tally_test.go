package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/tui/common"
	"parley/ui/tui/overlay"
	"parley/ui/uitest"
)

// Each prompt gets its own footer, even after it waited in the queue. A
// conversation shown again has the same footers.
func TestFootersOfQueuedPrompts(t *testing.T) {
	release := make(chan struct{})
	slow := func(_ context.Context, _ llm.Request, out *llm.Out) error {
		out.Send(llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "first answer"}})
		<-release
		out.Send(llm.Usage{Input: 11, Output: 2})
		out.Send(llm.Finish{Reason: llm.Stop})
		return nil
	}
	s := setUp(t, 80, 50, slow,
		llmtest.Call(llm.Part{ID: "1", Name: "read", Input: `{"path":"a.txt"}`}, llm.Part{ID: "2", Name: "list", Input: `{}`}),
		llmtest.Think("hm", "It holds *two* lines."),
		llmtest.Call(llm.Part{ID: "3", Name: "shell", Input: `{"command":"touch b"}`}), llmtest.Say("last answer"))
	s.ask("one", "first answer")
	s.Type("two").Press("ctrl+x", "q").WaitForText("queued").Type("three").Press("ctrl+x", "q").WaitFor(func() bool { return s.m.App.Session.Queue.Len() == 2 })
	close(release)
	s.WaitForText("Run this command?")
	s.Send(overlay.DrawnMsg{})
	s.Press("esc").WaitForText("last answer") // answers no
	s.idle()
	s.clock.Add(time.Minute) // toasts expire
	live := conversation(s.Send(common.ToastExpiredMsg{}).Screen())
	if n := strings.Count(live, "\n  one · "); n != 3 {
		t.Errorf("%d footers, want 3:\n%s", n, live)
	}

	again := newModel(s.m.options())
	again.Tick = s.m.Tick
	d := uitest.New(t, again, 80, 50)
	again.Send = func(msg tea.Msg) { d.Deliver(msg) }
	if stored := conversation(d.WaitForText("last answer").Screen()); stored != live {
		t.Errorf("shown again:\n%s\nwant\n%s", stored, live)
	}
}

// conversation returns the part of the screen above the composer.
func conversation(screen string) string {
	rows := strings.Split(screen, "\n")
	for i, row := range rows {
		if rows[i] = strings.TrimRight(row, " "); strings.HasPrefix(row, "▌ Ask anything") {
			return strings.Join(rows[:max(i-1, 0)], "\n")
		}
	}
	return screen
}
