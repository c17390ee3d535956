package tui

import (
	"fmt"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/undo"
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
						return []app.Item{{Title: "github", Value: "github", Detail: "ready"}, {Title: "login docs", Value: "login docs"}, {Title: "echo", Value: "echo", Detail: "stopped"}}
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

// A changedFolder is the history of a conversation that changed 5,000 files.
type changedFolder struct{ undo.NoHistory }

func (changedFolder) Warm()                    {}
func (changedFolder) AddDirectories(...string) {}
func (changedFolder) Close()                   {}
func (changedFolder) Texts(undo.Step) (now, to []byte) {
	return []byte("one\ntwo\nthree\n"), []byte("one\n2\n")
}
func (changedFolder) Records() []undo.Record {
	file := func(n int) undo.State { return undo.State{Kind: undo.File, Size: int64(n), Sum: fmt.Sprint(n)} }
	r := undo.Record{N: 1, Changes: []undo.Change{
		{Path: "a/very/long/path/that/has/no/room/here.go", Before: file(1), After: file(2)},
		{Path: "a\x1b[31m.txt", Before: file(1), After: undo.State{Kind: undo.Link}},
		{Path: "a.txt", Before: file(1), After: file(1)}, // as before
	}}
	for n := range 5000 {
		r.Changes = append(r.Changes, undo.Change{Path: undo.Name(fmt.Sprintf("f%04d.go", n)), Before: file(1), After: file(2)})
	}
	return []undo.Record{r}
}

// After a turn the column lists the first changed files of the conversation with the numbers of their lines.
func TestColumnOfChangedFiles(t *testing.T) {
	s := setUpWith(t, 160, 40, func(o *Options) {
		set, err := tools.Open(o.App.Directory)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		o.App.Session = session.New(session.Options{
			Model: o.App.Session.Model(), Tools: set, Log: o.App.Library.Create(session.Info{Dir: o.App.Directory}), Now: o.App.Now, EstimateTokens: func(string) int { return 0 },
			Files: func(string, string) act.Files { return changedFolder{} },
		})
	}, llmtest.Say("the first answer"))
	s.ask("change them", "the first answer")
	s.idle()
	s.WaitForText("Changed files").Golden("column-files-160x40")
	if sum, err := s.m.App.Library.Get(app.ChangesKey(s.m.App.Session.ID())); sum != "" || err != nil {
		t.Errorf("the sum of the first of many files is %q, %v", sum, err)
	}
}
