package compare

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/candidates"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
	"parley/ui/uitest/apptest"
)

// A host has one dialog at a time.
type host struct {
	dialog.Host
	open dialog.Dialog
}

func (h *host) Open(d dialog.Dialog) tea.Cmd { h.open = d; return nil }
func (h *host) Close()                       { h.open = nil }
func (h *host) Current() dialog.Dialog       { return h.open }

// A comparison opens a dialog, which gets the events of the models. Its end closes it and continues with an answer,
// or with the current one of the conversation.
func TestComparison(t *testing.T) {
	for n, want := range map[int]string{-1: "", 0: "a/a: no answer"} {
		a, h := apptest.New(t, nil), &host{}
		s := common.New(common.DefaultConfig(), func(string) string { return "" }, func() time.Time { return time.Unix(0, 0) })
		var effects []app.Effect
		d := &panel.Deps{Screen: s, Host: h, App: a, Perform: func(e app.Effect) tea.Cmd { effects = append(effects, e); return nil }}
		screen := chat.New(s, a)
		c := New(d, screen)[0].(*comparison)
		for _, msg := range []tea.Msg{session.CandidateEvent{}, session.Verdict{}} {
			if _, ok := c.Update(msg); !ok {
				t.Errorf("a late %T is not handled", msg)
			}
		}
		fake := func(name string) llm.Endpoint {
			return llm.Endpoint{Model: llmtest.New(llmtest.Say("x")), Name: name, Origin: name}
		}
		c.ask(&candidates.Prompt{Names: []string{"a/a", "b/b"}, Models: []llm.Endpoint{fake("a/a"), fake("b/b")}}, []llm.Part{{Kind: llm.Text, Text: "hi"}})
		s.Running.Wait()
		if screen.Turn.Model != "a/a + b/b" {
			t.Errorf("the turn is of %s", screen.Turn.Model)
		}
		shown := h.open.(*Dialog)
		shown.SetSize(100, 10)
		c.Update(session.CandidateEvent{N: 1, Event: llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "an answer"}}})
		if c.Update(session.Verdict{Judge: "j/j", Reason: "good"}); !strings.Contains(shown.View(), "an answer") || !strings.Contains(shown.View(), "Judge j/j") {
			t.Errorf("got\n%s", shown.View())
		}
		if _, ok := c.Update(tea.KeyPressMsg{}); ok {
			t.Error("a key is handled")
		}
		if shown.goOn(n); h.open != nil || len(effects) != 1 || apptest.Toast(effects[0]) != want {
			t.Errorf("%d: %T is open, effects %+v, want %q", n, h.open, effects, want)
		}
	}
}
