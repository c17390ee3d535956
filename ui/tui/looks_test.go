package tui

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/overlay"
)

// approvalOnly is a turn that asks about one command in the sandbox.
func approvalOnly(yield func(session.Event) bool) {
	yield(session.ApprovalRequest{Call: llm.Part{Kind: llm.Call, ID: "1", Name: "shell", Input: `{"command":"npm install"}`}, Action: &act.Action{Tool: "shell", Access: act.AccessRun, Command: "npm install", Sandboxed: true}})
}

// scenes are the first screens that a user sees, and those with decisions.
var scenes = []struct {
	name string
	with func(*Options)
	play func(*stage)
}{
	{"first", unchanged, func(s *stage) { s.WaitForText("Hello").Press("down") }},
	{"whichkey", unchanged, func(s *stage) { s.WaitForText("Hello").Press("ctrl+x").Send(leaderMsg(1)) }},
	{"commands", unchanged, func(s *stage) { s.WaitForText("Hello").Press("ctrl+p").WaitForText("Suggested") }},
	{"code", unchanged, func(s *stage) {
		s.ask("show me", "new")
		s.idle()
	}},
	{"approval", unchanged, func(s *stage) {
		s.Send(app.Play(func(context.Context) iter.Seq[session.Event] { return approvalOnly }))
		s.WaitForText("Run this command?").Send(overlay.DrawnMsg{})
		s.clock.Add(time.Second)
		s.Press("down")
	}},
	{"question", unchanged, func(s *stage) {
		s.WaitForText("Hello").Send(&app.ModelQuestion{Text: "Which database should the store use? It is written at every key, and read at each start.", Count: "1 of 2", Choices: []app.Item{
			{Title: "SQLite", Detail: "one file and no server; the rest of this project uses it"}, {Title: "Postgres", Detail: "needs a server"}, {Title: "None"},
		}})
		s.WaitForText("Which database")
		s.seen().Press("down")
	}},
	{"models", unchanged, func(s *stage) { s.WaitForText("Hello").Press("ctrl+x", "m").WaitForText("fake/two") }},
	{"doctor", func(o *Options) { o.App.Machine.Checkup = aCheckup }, func(s *stage) { s.Type("/doctor").Press("enter").WaitForText("✓ openai") }},
	{"connect", (&keyring{}).needs, func(s *stage) {
		s.WaitForText("Hello").Type("/connect openai").Press("enter").WaitForText("OpenAI API key").Paste(keyCanary).WaitForText("20 characters")
	}},
}

// looks lists the backgrounds: dark, light, the terminal's 16 colors, and none.
var looks = []string{"plain", "dark", "light", "terminal"}

const codeAnswer = "Two blocks:\n\n```go\n// Hello greets.\nfunc Hello(name string) (n int, err error) {\n\treturn fmt.Println(\"hello\", name, 42)\n}\n```\n\n```diff\n-old\n+new\n```\n"

// The first scenes look right at every size, on dark and light backgrounds, with the terminal's 16
// colors, and without colors. A golden of one size contains the colors. At other sizes every look
// has the same text; all are tested only with PARLEY_LONG=1, and none with the race detector. No
// scene has a color that is not a role of its theme, of 256.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, look := range looks {
		th, ok := theme.ByName(look)
		if !ok {
			t.Fatalf("there is no theme %s", look)
		}
		for _, size := range [][2]int{{80, 24}, {50, 15}, {120, 40}, {240, 80}} {
			if size[0] != 80 && look != "plain" && !long || llmtest.Race && (size[0] != 80 || look == "dark" || look == "light") {
				continue
			}
			for _, scene := range scenes {
				layout := fmt.Sprintf("%s-%dx%d", scene.name, size[0], size[1])
				t.Run(look+"/"+layout, func(t *testing.T) {
					s := setUpWith(t, size[0], size[1], func(o *Options) {
						o.Config.Theme = look
						firstScreenFiles(t, o, "Refactor the store", "Hello")
						scene.with(o)
					}, llmtest.Say(codeAnswer))
					scene.play(s)
					if size[0] == 80 {
						s.StyledGolden("looks/" + scene.name + "-" + look)
					} else {
						s.Golden("looks/" + layout)
					}
					for _, sgr := range sequences.FindAllString(s.Styled(), -1) {
						for _, color := range colors.FindAllString(sgr, -1) {
							if !slices.Contains(themeColors(th.Indexed()), color) {
								t.Errorf("%s is no color of this look", color)
							}
						}
					}
				})
			}
		}
	}
}

// sequences matches the sequences that style text.
var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// colors matches the colors of text and of its background.
var colors = regexp.MustCompile(`[34]8;[25](;\d+)+|\b(3|4|9|10)\d\b`)

// themeColors returns the colors of all roles of a theme.
func themeColors(th *theme.Theme) (list []string) {
	for _, group := range []any{*th, th.Syntax, th.Diff} {
		roles := reflect.ValueOf(group)
		for i := range roles.NumField() {
			if !roles.Field(i).CanInterface() {
				continue
			}
			if style, ok := roles.Field(i).Interface().(lipgloss.Style); ok {
				list = append(list, colors.FindAllString(style.Render("x"), -1)...)
			}
		}
	}
	return list
}
