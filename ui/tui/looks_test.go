package tui

import (
	"context"
	"iter"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/ui/app"
	"parley/ui/tui/overlay"
)

// approvalOnly is a turn that asks about one command in the sandbox.
func approvalOnly(yield func(session.Event) bool) {
	yield(session.ApprovalRequest{Call: llm.Part{Kind: llm.Call, ID: "1", Name: "shell"}, Action: &tools.Action{Tool: "shell", Access: tools.AccessRun, Title: "npm install", Command: "npm install", Sandboxed: true}})
}

// What a user sees first looks right on dark and light backgrounds, with the terminal's 16
// colors, and without any.
func TestLooks(t *testing.T) {
	const code = "Two blocks:\n\n```go\n// Hello greets.\nfunc Hello(name string) (n int, err error) {\n\treturn fmt.Println(\"hello\", name, 42)\n}\n```\n\n```diff\n-old\n+new\n```\n"
	for _, look := range []string{"dark", "light", "terminal", "plain"} {
		for scene, play := range map[string]func(*stage){
			"first":    func(s *stage) { s.WaitForText("Hello").Press("down") },
			"whichkey": func(s *stage) { s.WaitForText("Hello").Press("ctrl+x").Send(leaderMsg(1)) },
			"commands": func(s *stage) { s.WaitForText("Hello").Press("ctrl+p").WaitForText("Suggested") },
			"code": func(s *stage) {
				s.ask("show me", "new")
				s.idle()
			},
			"approval": func(s *stage) {
				s.Send(app.Effect{Turn: func(context.Context) iter.Seq[session.Event] { return approvalOnly }})
				s.WaitForText("Run this command?").Send(overlay.PaintedMsg{})
				s.clock.Add(time.Second)
				s.Press("down")
			},
			"models": func(s *stage) { s.WaitForText("Hello").Press("ctrl+x", "m").WaitForText("fake/two") },
		} {
			t.Run(look+"/"+scene, func(t *testing.T) {
				s := setUpWith(t, 80, 24, func(o *Options) {
					o.Config.Theme = look
					firstScreenFiles(t, o, "Refactor the store", "Hello")
				}, llmtest.Say(code))
				play(s)
				s.StyledGolden("looks/" + scene + "-" + look)
			})
		}
	}
}
