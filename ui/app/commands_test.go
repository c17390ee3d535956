package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
)

// newApp returns an application with a conversation that holds nothing, and models
// of any name but far/away.
func newApp(t *testing.T) *App {
	t.Helper()
	lib := session.MemoryStore()
	t.Cleanup(func() { lib.Close() })
	endpoint := func(name string) llm.Endpoint {
		return llm.Endpoint{Name: name, Origin: "fake", Efforts: []llm.Effort{llm.EffortOff, llm.EffortLow, llm.EffortHigh}}
	}
	create := func() *session.Session {
		s := session.New(session.Options{Model: endpoint("fake/m"), Policy: tools.NewPolicy(tools.ModeAsk), Log: lib.Create(session.Info{})})
		t.Cleanup(func() { s.Close() })
		return s
	}
	return New(Options{
		Session: create(), Library: lib, Getenv: func(string) string { return "" },
		Models: Models{Open: func(name string) (llm.Endpoint, error) {
			if name == "far/away" {
				return llm.Endpoint{}, errors.New("set FAR_API_KEY")
			}
			return endpoint(name), nil
		}},
		Opening: Opening{
			New:    func() (*session.Session, error) { return create(), nil },
			Resume: func(string) (*session.Session, string, error) { return create(), "", nil },
		},
	})
}

// run carries out a line such as "/mode auto", and what follows from it beside and
// behind it.
func run(t *testing.T, a *App, line string) Effect {
	t.Helper()
	name, arg, _ := ParseCommand(line)
	i := slices.IndexFunc(Commands(), func(c Command) bool { return c.Named(name) })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	e := Commands()[i].Do(a, arg)
	if e.Prepare != nil {
		e = e.Prepare(context.Background())()
	}
	if e.Async != nil {
		e = e.Async(context.Background())
	}
	return e
}

func TestCommandsAreComplete(t *testing.T) {
	names, keys := map[string]bool{}, map[string]bool{}
	for _, c := range Commands() {
		if c.Help == "" || c.Run == nil || !slices.Contains(Groups, c.Group) {
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
		"/mode":                 "Approval mode: auto",
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
		"/rewind":               "No message to edit yet",
		"/tree":                 "No branches yet. /rewind edits a message",
		"/rename A title":       "The conversation is empty",
		"/retry":                "Nothing to retry",
		"/next-model":           "No other recent model",
		"/compare fake/b":       "Next prompt goes to fake/m and fake/b · /compare turns it off",
		"/compare a b a":        "Next prompt goes to a (1 of 2) and b and a (2 of 2)",
		"/mcp":                  "No MCP servers. Add one",
		"/prompt":               "No MCP servers. Add one",
		"/permissions":          "No permission rules yet",
		"/folder":               "The folder is fixed here",
		"/export md somewhere":  "The conversation is empty",
		"/model fake/m":         "Already using fake/m",
		"/resume whales beside": "",
	} {
		if got := run(t, newApp(t), line); !strings.HasPrefix(got.Toast, want) || want == "" && got.Toast != "" {
			t.Errorf("%s said %q, want %q", line, got.Toast, want)
		}
	}
}

func TestSwitchOfModel(t *testing.T) {
	a := newApp(t)
	e := a.Use("fake/other")
	if _, ok := e.Event.(session.ModelSwitched); !ok || a.Session.Model().Name != "fake/other" || !slices.Equal(a.Recent, []string{"fake/other", "fake/m"}) {
		t.Errorf("%+v; recent %q", e, a.Recent)
	}
	if e := a.Use("far/away"); e.Failed == nil || a.Session.Model().Name != "fake/other" {
		t.Errorf("%+v with %s", e, a.Session.Model().Name)
	}
	run(t, a, "/next-model")
	if a.Session.Model().Name != "fake/m" || a.Recent[0] != "fake/other" {
		t.Errorf("%s, recent %q: going round changes no order", a.Session.Model().Name, a.Recent)
	}
}

// Another conversation takes over mode, model and effort, and says so before it does.
func TestNewConversation(t *testing.T) {
	a := newApp(t)
	left := ""
	a.Leaving = func() { left = a.Session.ID() }
	run(t, a, "/mode auto")
	run(t, a, "/effort low")
	old := a.Session
	e := run(t, a, "/new")
	if e.Entered == nil || e.Entered.Left != old || a.Session == old || left != old.ID() {
		t.Fatalf("%+v", e)
	}
	if s := a.Session; s.Policy().Mode() != tools.ModeAuto || s.Effort() != llm.EffortLow {
		t.Errorf("mode %s, effort %s", s.Policy().Mode(), s.Effort())
	}
}

// A prompt that was sent while a stored conversation was read is not left alone.
func TestOpenedTooLate(t *testing.T) {
	a := newApp(t)
	own, busy := a.Session, false
	a.Busy = func() bool { return busy }
	read := a.OpenSession("another", 0).Prepare(context.Background())
	busy = true
	if e := read(); e.Entered != nil || a.Session != own || e.Toast == "" {
		t.Errorf("%+v", e)
	}
}

func TestTaste(t *testing.T) {
	a := newApp(t)
	configured := []string{"openai/*"}
	a.SetTaste("hidden", "openai/a", false)
	a.SetTaste("hidden", "far/b", true)
	for name, want := range map[string]bool{"openai/a": false, "openai/x/y": true, "far/b": true, "far/c": false} {
		if got, _ := a.Taste("hidden", configured).Says(name); got != want {
			t.Errorf("%s hidden: %t", name, got)
		}
	}
}

// A conversation that was just left is opened again only when it is closed: it is not
// held by another parley.
func TestBackAtOnce(t *testing.T) {
	a := newApp(t)
	left := run(t, a, "/new").Entered
	if left == nil {
		t.Fatal("no conversation was left")
	}
	resumed := make(chan struct{})
	resume := a.Resume
	a.Resume = func(id string) (*session.Session, string, error) {
		close(resumed)
		return resume(id)
	}
	opened := make(chan func() Effect)
	prepare := a.OpenSession("another", 0).Prepare
	go func() { opened <- prepare(context.Background()) }()
	select {
	case <-resumed:
		t.Error("opened before the one that was left is closed")
	default:
	}
	left.Close()
	if e := (<-opened)(); e.Entered == nil {
		t.Errorf("%+v", e)
	}
}

// The next run begins with the model that was cycled to, though cycling leaves the order
// of the recent models alone.
func TestCycledModelIsKept(t *testing.T) {
	a := newApp(t)
	run(t, a, "/model fake/b")
	run(t, a, "/next-model")
	if kept, _ := a.Library.Get("models"); a.Session.Model().Name != "fake/m" || kept != "fake/m\nfake/b" {
		t.Errorf("the model is %s, kept is %q", a.Session.Model().Name, kept)
	}
	if run(t, a, "/next-model"); a.Session.Model().Name != "fake/b" {
		t.Errorf("the next one is %s", a.Session.Model().Name)
	}
}

// An alias switches to the model that it stands for, which is what is remembered.
func TestModelByAlias(t *testing.T) {
	a := newApp(t)
	a.Resolve = func(name string) string {
		if name == "fast" {
			return "fake/b"
		}
		return name
	}
	run(t, a, "/model fast")
	if kept, _ := a.Library.Get("models"); a.Session.Model().Name != "fake/b" || kept != "fake/b\nfake/m" {
		t.Errorf("the model is %s, kept is %q", a.Session.Model().Name, kept)
	}
	if e := a.Use("fast"); !strings.Contains(e.Toast, "Already using fake/b") {
		t.Errorf("again: %+v", e)
	}
	if e := run(t, a, "/model fas"); e.View.Panel != PanelModels || e.View.Query != "fas" {
		t.Errorf("a part of it: %+v", e)
	}
}

// A model that cannot be asked is compared with none, and the next prompt goes to one.
func TestCompareOutOfReach(t *testing.T) {
	a := newApp(t)
	if e := run(t, a, "/compare far/away"); e.Err == nil || len(a.Compared) > 0 {
		t.Errorf("%+v; compared %q", e, a.Compared)
	}
	a.Compared = []string{"fake/m", "far/away"}
	if _, models, err := TakeCompared(a); err == nil || len(models) > 0 || len(a.Compared) > 0 {
		t.Errorf("%v, %v; compared %q", models, err, a.Compared)
	}
	if e := run(t, a, "/compare"); e.View.Panel != PanelCompare {
		t.Errorf("%+v", e)
	}
}
