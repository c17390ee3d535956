package tui

import (
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/ui/app"
)

// On wide screens a column shows the title, the context window, the plan and the servers of the conversation. A key
// hides it, and it stays hidden at the next start.
func TestColumn(t *testing.T) {
	const plan = `{"text":"# Plan\n- [x] Read the client\n- [>] Cap the wait \u001b[2J\n- [ ] Test it against a real server that answers slowly"}`
	servers := func(o *Options) {
		register := o.App.Flows
		o.App.Flows = func(a *app.App) {
			register(a)
			for i, c := range a.Commands {
				if c.Name == "mcp" {
					a.Commands[i].Args = func() []app.Item {
						return []app.Item{{Title: "github", Value: "github", Detail: "ready"}, {Title: "login docs", Value: "login docs"}, {Title: "echo", Value: "echo", Detail: "off"}}
					}
				}
			}
		}
	}
	s := setUpWith(t, 160, 40, servers, llmtest.Call(llm.Part{ID: "1", Name: "plan", Input: plan}), llmtest.Say("the first answer"), llmtest.Say("the second answer"))
	s.Lacks("Context")
	s.ask("plan it", "the first answer")
	s.idle()
	s.WaitForText("1 turn").Golden("column-160x40")
	s.ask("and now?", "the second answer")
	s.idle()
	s.WaitForText("2 turns").Shows("▸ Cap the wait ␛[2J")
	s.Press("ctrl+x", "z").Lacks("Context")
	if kept, err := s.m.App.Library.Get("column"); err != nil || kept != "off" {
		t.Errorf("stored %q, %v", kept, err)
	}
	s.Press("ctrl+x", "z").Shows("Context")
	s.Resize(159, 40).Lacks("Context")
	s.Resize(160, 40).Shows("Context")
}
