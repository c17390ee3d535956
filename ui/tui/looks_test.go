package tui

import (
	"testing"

	"parley/providers/llmtest"
)

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
