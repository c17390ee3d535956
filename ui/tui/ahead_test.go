package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/ui/app"
	"parley/ui/tui/terminal"
)

// A command in the composer never discards a draft: a command to be completed stashes it, and a failed
// one goes to the history.
func TestCommandBesideADraft(t *testing.T) {
	t.Parallel()
	t.Run("to be edited", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("a draft").Press("ctrl+p").WaitForText("Commands").Type("system edit").Press("enter").WaitForText(band + "/system")
		s.Press("ctrl+c").Lacks("/system").Press("ctrl+x", "s").Shows(band + "a draft")
	})
	t.Run("that failed", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Type("the next")
		s.Send(app.Failure{Err: errors.New("no such file"), Line: "/review it"}).Shows("No such file", band+"the next")
		s.Press("ctrl+c").Press("up", "up").Shows(band + "/review it")
	})
	t.Run("that failed, alone", func(t *testing.T) {
		s := setUp(t, 80, 24)
		s.Send(app.Failure{Err: errors.New("no such file"), Line: "/review it"}).Shows(band + "/review it")
	})
}

// While the files that a prompt mentions are fetched, the prompt stays before later ones, belongs
// to the conversation in which it was sent, and becomes the draft if the user leaves.
func TestSentWhileFetching(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (s *stage, gate chan struct{}) {
		gate = make(chan struct{})
		s = setUpWith(t, 80, 24, func(o *Options) {
			o.App.Machine.FetchFile = func(context.Context, string) (string, []byte, error) {
				<-gate
				return "a.txt", []byte("alpha"), nil
			}
		}, llmtest.Say("the first"), llmtest.Say("the second"))
		s.Type("see @https://example.com/a.txt").Press("enter").WaitForText(band + "Ask anything")
		return s, gate
	}
	t.Run("another prompt", func(t *testing.T) {
		s, gate := begin(t)
		s.Type("and then").Press("enter").WaitForText("Sent as soon as that is done")
		close(gate)
		s.WaitForText("the second")
		if got := s.fake.Requests()[0].Messages; len(got) != 1 || !strings.HasSuffix(got[0].Text(), "see @https://example.com/a.txt") {
			t.Errorf("sent first: %+v", got)
		}
	})
	t.Run("a mistyped command, and a draft", func(t *testing.T) {
		s, gate := begin(t)
		s.Type("/modle").Press("enter").WaitForText("Sent as soon as that is done").Type("the next")
		close(gate)
		s.WaitForText("Unknown command /modle").Shows(band + "the next")
	})
	t.Run("another conversation", func(t *testing.T) {
		s, gate := begin(t)
		s.Press("ctrl+x", "n")
		close(gate)
		s.WaitForText(band + "see @https://example.com/a.txt").Shows("Another conversation was opened")
		if n := len(s.fake.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("the end", func(t *testing.T) {
		s, gate := begin(t)
		s.Send(terminal.SignalMsg{}).WaitForScreen(func(screen string) bool {
			return s.Quit() && strings.Contains(screen, band+"see @https://example.com/a.txt")
		})
		close(gate)
	})
}
