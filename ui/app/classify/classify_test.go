package classify

import (
	"strings"
	"testing"

	"parley/ui/app"
)

// The screen and plain lines parse a line in the same way.
func TestEntered(t *testing.T) {
	commands := []app.Command{{Name: "model", Aliases: []string{"models"}}, {Name: "mode"}, {Name: "theme"}, {Name: "compact", Aliases: []string{"summarize"}, MultilineArg: "edit"}, {Name: "stop"}, {Name: "system", MultilineArg: "*"}}
	isPrompt := func(text string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
		return strings.HasPrefix(text, "/") && (name == "review" || name == "th" || name == "files:read")
	}
	for text, want := range map[string]Line{
		"":                       {},
		"hello":                  {},
		" /model":                {},
		"/":                      {},
		"/etc/hosts":             {},
		"/notes.txt":             {},
		"/model":                 {Kind: Command, Command: 0, Name: "model"},
		"/MODEL x":               {Kind: Command, Command: 0, Name: "MODEL", Arg: "x"},
		"/models  a b ":          {Kind: Command, Command: 0, Name: "models", Arg: "a b"},
		"/mode":                  {Kind: Command, Command: 1, Name: "mode"},
		"/the":                   {Kind: Command, Command: 2, Name: "the"},
		"/th":                    {Kind: PromptFile},
		"/review x":              {Kind: PromptFile},
		"/files:read a":          {Kind: PromptFile},
		"/the file":              {Kind: Mistyped, Problem: "Unknown command /the. Did you mean /theme?"},
		"/mod":                   {Kind: Mistyped, Problem: "Unknown command /mod. Did you mean /model or /mode?"},
		"/modle":                 {Kind: Mistyped, Problem: "Unknown command /modle. Did you mean /model or /mode?"},
		"/xyzzy":                 {Kind: Mistyped, Problem: "Unknown command /xyzzy.", Unlike: true},
		"/xyzzy a\nb":            {},
		"/modle a\nb":            {Kind: Mistyped, Problem: "Unknown command /modle. Did you mean /model or /mode?"},
		"/model a\nb":            {},
		"/compact edit a\nb":     {Kind: Command, Command: 3, Name: "compact", Arg: "edit a\nb"},
		"/compact edit\na\nb":    {Kind: Command, Command: 3, Name: "compact", Arg: "edit a\nb"},
		"/compact edited\na":     {},
		"/system *\n* two":       {Kind: Command, Command: 5, Name: "system", Arg: "*\n* two"},
		"/plan":                  {Kind: Command, Command: 1, Name: "mode", Arg: "plan"},
		"/agents":                {Kind: Mistyped, Hint: elsewhere("agents")},
		"/import":                {Kind: Mistyped, Hint: elsewhere("import")},
		"/logout":                {Kind: Mistyped, Hint: elsewhere("logout")},
		"/logout now":            {Kind: Mistyped, Problem: "Unknown command /logout.", Unlike: true},
		"!ls -l":                 {Kind: Shell, Arg: "ls -l"},
		"! git log\ngit status ": {Kind: Shell, Arg: "git log\ngit status"},
	} {
		if got := Entered(text, commands, isPrompt); got != want {
			t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// TestTakesLines: only commands that say so accept an argument of several lines; other such text is a message.
func TestTakesLines(t *testing.T) {
	commands := []app.Command{{Name: "compact", Aliases: []string{"summarize"}, MultilineArg: "edit"}, {Name: "rename"}}
	for text, want := range map[string]bool{
		"/compact edit a\nb": true, "/summarize edit a\n\nb": true, "/compact edit a": true,
		"/compact a\nb": false, "/compact\nedit": false, "/compact editor\nb": false, "/rename edit\nb": false, "compact edit a\nb": false,
	} {
		if got := AllowsMultiline(text, commands); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if _, _, ok := parseCommand(text, commands); ok != want && strings.Contains(text, "\n") {
			t.Errorf("%q is a command: %v", text, ok)
		}
	}
}
