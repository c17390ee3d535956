package flows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "parley/session/storetest/copies"
	"parley/tools/permission"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/uitest/apptest"
)

func init() { permission.Register() }

// newApp returns an application with all flows and an empty conversation.
func newApp(t *testing.T) *app.App { return apptest.New(t, flows.Register) }

func TestCommandsAreComplete(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, c := range flows.Commands() {
		if c.Help == "" || c.Run == nil || !slices.Contains(app.Groups, c.Group) {
			t.Errorf("%s has no help, no group, or does nothing", c.Name)
		}
		for _, name := range c.Names() {
			if names[name] {
				t.Errorf("%s is the name of two", name)
			}
			names[name] = true
		}
		for _, key := range c.Keys {
			if keys[key] {
				t.Errorf("%s runs two", key)
			}
			keys[key] = true
		}
	}
}

func TestCommands(t *testing.T) {
	for line, want := range map[string]string{
		"/next-mode":            "Approval mode: auto",
		"/mode read-only":       "Approval mode: read-only",
		"/mode yolo":            "Approval mode: yolo",
		"/mode loud":            `Unknown approval mode "loud"`,
		"/effort high":          "Reasoning effort: high",
		"/effort default":       "Reasoning effort: provider default",
		"/effort huge":          `Unknown reasoning effort "huge"`,
		"/less-effort":          "Reasoning effort: low",
		"/thinking":             "Reasoning effort: off",
		"/history stateless":    "History: stateless",
		"/history none":         `Unknown history mode "none"`,
		"/fork":                 "The conversation is empty",
		"/tree":                 "No branches yet. /rewind edits a message",
		"/rename A title":       "The conversation is empty",
		"/retry":                "Nothing to retry",
		"/next-model":           "No other recent model",
		"/compare fake/b":       "Next prompt goes to fake/m and fake/b · /compare turns it off",
		"/compare a b a":        "Next prompt goes to a (1 of 2) and b and a (2 of 2)",
		"/mcp":                  "No MCP servers. Add one",
		"/prompt":               "No MCP servers. Add one",
		"/folder":               "The folder is fixed here",
		"/model fake/m":         "Already using fake/m",
		"/resume whales beside": "",
	} {
		if got := apptest.Toast(apptest.Run(t, newApp(t), line)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s said %q, want %q", line, got, want)
		}
	}
}

// An argument of a command without arguments is rejected with its value, for all names of the command.
func TestNoArgument(t *testing.T) {
	for _, c := range flows.Commands() {
		for _, name := range c.Names() {
			line, want := "/"+name+" foo", fmt.Sprintf(`/%s takes no argument: remove "foo"`, name)
			named := c.As(name)
			e, refused := named.Refuse("", "foo")
			if refused != (c.Arg == "") || refused && (apptest.Toast(e) != want || apptest.See(e).Text != line) {
				t.Errorf("%s: %v, said %q, keeps %q", line, refused, apptest.Toast(e), apptest.See(e).Text)
			}
		}
	}
}

// A rejected line can be corrected, whichever check rejects it, and when.
func TestRefusedLines(t *testing.T) {
	for line, want := range map[string]bool{
		"/quit foo": true, "/export md x": true, "/manual nothing": true, "/doctor now": true, "/rename A title": true, "/mode loud": true, "/effort huge": true, "/history none": true, "/web sometimes": true,
		"/tools nosuch off": true, "/jobs 7": true, "/set temperature hot": true, "/set budget 5": true, "/compact foo": true, "/budget day much": true,
		"/persona nosuch": true, "/add-dir remove nosuch": true, "/attach nosuch.txt": true, "/model far/away": true, "/compare far/away": true,
		"/mode auto": false, "/effort low": false, "/history full": false, "/web off": false, "/model fake/n": false, "/compare fake/b": false, "/set temperature 1": false, "/quit": false,
	} {
		if e := apptest.Run(t, newApp(t), line); (apptest.See(e).Text == line) != want || !want && apptest.See(e).Text != "" {
			t.Errorf("%s: said %q, keeps %q", line, apptest.Toast(e), apptest.See(e).Text)
		}
	}
}

// A rejected line shows the reason.
func TestRefusals(t *testing.T) {
	for line, want := range map[string]string{
		"/export md x":    "the conversation is empty",
		"/manual nothing": `no page "nothing" in the manual: /manual lists them`,
		"/doctor now":     `/doctor takes no argument: remove "now"`,
	} {
		if e := apptest.See(apptest.Run(t, newApp(t), line)); e.Err == nil || e.Err.Error() != want {
			t.Errorf("%s: %v, want %q", line, e.Err, want)
		}
	}
}
