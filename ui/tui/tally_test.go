package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/uitest"
)

func TestPace(t *testing.T) {
	text := func(tokens int) llm.Message {
		return llm.Message{Model: "a/b", Parts: []llm.Part{{Kind: llm.Text, Text: strings.Repeat("word", tokens)}}}
	}
	for _, tt := range []struct {
		name        string
		streamed    int
		output      int
		first, took time.Duration
		want        string
	}{
		{"a steady stream", 500, 500, time.Second, 6 * time.Second, "100 tok/s"},
		{"a fast service", 2000, 2000, 200 * time.Millisecond, 1200 * time.Millisecond, "2000 tok/s"},
		{"too short to tell", 20, 20, time.Second, 1300 * time.Millisecond, ""},
		{"held back and sent at once", 20_000, 20_000, 5 * time.Second, 5600 * time.Millisecond, ""},
		{"held back and sent quickly", 2000, 2000, 10 * time.Second, 11 * time.Second, ""},
		{"faster than anything", 20_000, 20_000, 10 * time.Millisecond, time.Second, ""},
		{"thinking that was not sent", 100, 5000, 30 * time.Second, 32 * time.Second, "50 tok/s"},
		{"no count of the provider's", 500, 0, time.Second, 6 * time.Second, ""},
		{"a call alone", 0, 40, time.Second, 3 * time.Second, ""},
	} {
		var sum tally
		sum.add(text(tt.streamed), llm.Usage{Input: 10, Output: tt.output}, llm.Stop, tt.first, tt.took)
		var got string
		for part := range strings.SplitSeq(sum.footer(0), " · ") {
			if strings.HasSuffix(part, "tok/s") {
				got = part
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Each prompt gets a footer of its own, one that waited in the queue too, and a
// conversation that is shown again has the same ones.
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
	s.Type("two").Press("enter").Type("three").Press("enter").WaitForText("queued")
	close(release)
	s.WaitForText("Allow shell")
	s.Send(paintedMsg{})
	s.Press("esc").WaitForText("last answer") // which says no
	s.idle()
	s.clock.Add(time.Minute) // what was said above the composer goes
	live := conversation(s.Send(toastOverMsg{}).Screen())
	if n := strings.Count(live, "fake/one · "); n != 3 {
		t.Errorf("%d footers, want 3:\n%s", n, live)
	}

	again := newModel(s.m.options())
	again.later = s.m.later
	d := uitest.New(t, again, 80, 50)
	again.send = func(msg tea.Msg) { d.Send(msg) }
	if stored := conversation(d.WaitForText("last answer").Screen()); stored != live {
		t.Errorf("shown again:\n%s\nwant\n%s", stored, live)
	}
}

// conversation is what a screen shows above the composer.
func conversation(screen string) string {
	rows := strings.Split(screen, "\n")
	for i, row := range rows {
		if rows[i] = strings.TrimRight(row, " "); strings.HasPrefix(row, "› Ask anything") {
			return strings.Join(rows[:i], "\n")
		}
	}
	return screen
}
