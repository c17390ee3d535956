package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/tui/composer"
	"parley/ui/tui/overlay"
	"parley/ui/tui/terminal"
	"parley/ui/uitest"
)

// A prompt sent while a conversation is being opened goes to that conversation. If it
// cannot be opened, the prompt becomes the draft.
func TestSentWhileOpening(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"opened": true, "not opened": false} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := setUpWith(t, 80, 24, func(o *Options) {
				resume := o.App.Opening.Resume
				o.App.Opening.Resume = func(id string) (*session.Session, string, error) {
					<-gate
					if !opens {
						return nil, "", errors.New("The disk is gone")
					}
					return resume(id)
				}
			}, llmtest.Say("about whales"), llmtest.Say("about ships"), llmtest.Say("about krill"))
			s.ask("whales", "about whales")
			s.idle()
			s.Press("ctrl+x", "n")
			s.ask("ships", "about ships")
			s.idle()
			s.Press("ctrl+x", "l").WaitForText("whales").Type("whales").Press("enter")
			s.WaitForScreen(func(screen string) bool {
				return strings.Contains(screen, "about ships") && !strings.Contains(screen, "about whales")
			})
			s.Type("what do they eat?").Press("enter").WaitForText("Sent as soon as that is done")
			close(gate)
			if opens {
				s.WaitForText("about krill").WaitForText("about whales")
				return
			}
			s.WaitForText("The disk is gone").Shows(band + "what do they eat?")
			if n := len(s.fake.Requests()); n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// packet handles keys that arrive in one packet: their effects come after the last of them.
func (s *stage) packet(t *testing.T, keys ...string) {
	t.Helper()
	s.Send(doMsg(func() tea.Cmd {
		var cmds []tea.Cmd
		for _, name := range keys {
			k, err := uitest.Key(name)
			if err != nil {
				t.Error(err)
			}
			_, cmd := s.m.Update(k)
			cmds = append(cmds, cmd)
		}
		return tea.Batch(cmds...)
	}))
}

// Keys in one packet with enter go to the view that it opens, and prompts stay in order.
func TestKeysBehindEnter(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
	s.Do(func() { s.m.input.Composer.SetValue("/history") })
	s.packet(t, "enter", "x", "y")
	s.Shows("Conversation history sent to the model  xy").Press("esc").Shows(band + "Ask anything")
	s.ask("hi", "half an answer")
	s.packet(t, "a", "enter", "b", "enter")
	queued, _ := s.m.App.Session.Queue.All()
	if len(queued) != 2 || queued[0].Text() != "a" || queued[1].Text() != "b" {
		t.Errorf("queued %+v", queued)
	}
}

// Keys in one packet with a choice, or with a key that leaves a dialog, go to the view that follows.
func TestKeysBehindChoices(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		open  []string // keys that open a dialog
		sees  string   // text of the dialog
		keys  []string // the choice, and the keys after it
		shows string
	}{
		"a list":              {[]string{"ctrl+x", "m"}, "Model", []string{"enter", "h", "i"}, band + "hi"},
		"a list that is left": {[]string{"ctrl+x", "m"}, "Model", []string{"esc", "h", "i"}, band + "hi"},
		"a report":            {[]string{"/", "u", "s", "a", "g", "e", "enter"}, "esc close", []string{"esc", "h", "i"}, band + "hi"},
		"help":                {[]string{"?"}, "esc close", []string{"esc", "h", "i"}, band + "hi"},
		"the palette":         {[]string{"ctrl+p"}, "Commands", []string{"h", "i", "s", "t", "o", "r", "y", "enter", "x", "y"}, "sent to the model  xy"},
		"conversations":       {[]string{"ctrl+x", "l"}, "Conversations", []string{"esc", "h", "i"}, band + "hi"},
		"the way back":        {[]string{"esc", "esc"}, "choose", []string{"esc", "h", "i"}, band + "hi"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Say("about whales"))
			s.ask("whales", "about whales")
			s.idle()
			s.Press(c.open...).WaitForText(c.sees)
			s.packet(t, c.keys...)
			s.WaitForText(c.shows)
		})
	}
}

// A yes to a summary that arrives while the next turn already runs does not start a
// second turn: questions of the running one can be answered.
func TestSummaryWhileATurnRuns(t *testing.T) {
	s := setUp(t, 80, 24, llmtest.Say("the answer"),
		llmtest.Fail(&llm.Error{Fault: llm.ContextOverflow, Provider: "fake", Message: "too long"}),
		llmtest.Call(llm.Part{ID: "1", Name: "shell", Input: `{"command":"echo one"}`}), llmtest.Say("all done"))
	s.m.App.Session.Policy().SetMode(act.ModeAsk)
	s.ask("first", "the answer")
	s.idle()
	s.ask("second", "y summarize")
	s.Send(doMsg(func() tea.Cmd { return s.m.dispatch(composer.Submission{Text: "third"}, nil) })).WaitForText("needs approval")
	s.seen().Press("y").WaitForText("Stop the running turn first").WaitForText("Allow once")
	s.Send(overlay.DrawnMsg{})
	s.clock.Add(time.Second)
	s.Type("y").WaitForText("all done")
}

// A prompt sent while a conversation is being opened is kept if the user leaves first.
func TestQuitWhileOpening(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	s := setUpWith(t, 80, 24, func(o *Options) {
		resume := o.App.Opening.Resume
		o.App.Opening.Resume = func(id string) (*session.Session, string, error) {
			<-gate
			return resume(id)
		}
	}, llmtest.Say("about whales"), llmtest.Say("about ships"))
	s.ask("whales", "about whales")
	s.idle()
	s.Press("ctrl+x", "n")
	s.ask("ships", "about ships")
	s.idle()
	s.Press("ctrl+x", "l").WaitForText("whales").Type("whales").Press("enter")
	s.WaitForScreen(func(screen string) bool {
		return strings.Contains(screen, "about ships") && !strings.Contains(screen, "about whales")
	})
	s.Type("what do they eat?").Press("enter").WaitForText("Sent as soon as that is done")
	s.Send(terminal.SignalMsg{}).WaitForScreen(func(screen string) bool { return s.Quit() && strings.Contains(screen, band+"what do they eat?") })
}

// An edited queued message returns to its place. Text written after it was cleared or stashed is a
// new message.
func TestEditQueued(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys []string // after the second of three was taken back
		want string
	}{
		"edited":         {[]string{"!", "enter"}, "one, two!, three"},
		"behind a pause": {[]string{"space", "paste", "enter"}, "one, two pasted, three"},
		"cleared":        {[]string{"ctrl+u", "n", "enter"}, "one, three, n"},
		"stashed":        {[]string{"ctrl+x", "s", "n", "enter"}, "one, three, n"},
		"for later":      {[]string{"ctrl+x", "q"}, "one, three, two"},
	} {
		t.Run(name, func(t *testing.T) {
			s := setUp(t, 80, 24, llmtest.Hang("half an answer"))
			s.ask("hi", "half an answer")
			for _, text := range []string{"one", "two", "three"} {
				s.Type(text).Press("enter")
			}
			s.Press("up", "up", "enter").WaitForText(band + "two")
			for _, key := range tt.keys {
				if key == "paste" {
					s.Paste("pasted")
					s.clock.Add(time.Second)
					continue
				}
				s.Press(key)
			}
			queued, _ := s.m.App.Session.Queue.All()
			var got []string
			for _, m := range queued {
				got = append(got, m.Text())
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("%q wait, want %s", got, tt.want)
			}
		})
	}
}
