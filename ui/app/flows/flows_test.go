package flows_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows"
)

// newApp returns an application with all flows and an empty conversation.
func newApp(t *testing.T) *app.App {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	s := session.New(session.Options{Model: llm.Endpoint{Name: "fake/m", Model: llmtest.New()}, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(session.Info{})})
	t.Cleanup(func() { s.Close() })
	o := app.Options{Session: s, Library: lib, Getenv: func(string) string { return "" }}
	flows.Register(&o)
	return app.New(o)
}

// run carries out a line such as "/export md", and what runs beside the front end.
func run(t *testing.T, a *app.App, line string) app.Effect {
	t.Helper()
	name, arg, _ := strings.Cut(line[1:], " ")
	at := slices.IndexFunc(a.Commands, func(c app.Command) bool { return c.Named(name) })
	if at < 0 {
		t.Fatalf("there is no %s", name)
	}
	e := a.Commands[at].Do(a, arg)
	if async, ok := e.(app.Async); ok {
		return async(context.Background())
	}
	return e
}

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

// A line that is refused is there to be corrected, with the reason.
func TestRefusedLines(t *testing.T) {
	for line, want := range map[string]string{
		"/export md x":    "the conversation is empty",
		"/manual nothing": `no page "nothing" in the manual: /manual lists them`,
		"/doctor now":     `/doctor takes no argument: remove "now"`,
	} {
		if e, _ := run(t, newApp(t), line).(app.Failure); e.Err == nil || e.Err.Error() != want || e.Line != line {
			t.Errorf("%s: %+v, want %q", line, e, want)
		}
	}
}
