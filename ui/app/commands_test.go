package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/prompts"
	_ "parley/session/storetest/copies"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/format"
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
		s := session.New(session.Options{Model: endpoint("fake/m"), Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(session.Info{})})
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

// toastOf returns what e shows for a moment, as a screen does.
func toastOf(e Effect) string {
	if see(e).Err != nil {
		return format.Capital(RefusalText(see(e).Err))
	}
	return see(e).Toast
}

// run carries out a line such as "/mode auto", and its effects, beside and
// after it.
func run(t *testing.T, a *App, line string) Effect {
	t.Helper()
	name, arg, _ := ParseCommand(line)
	i := slices.IndexFunc(Commands(), func(c Command) bool { return c.Named(name) })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	e := Commands()[i].Do(a, arg)
	if see(e).Prepare != nil {
		e = see(e).Prepare(context.Background())()
	}
	if see(e).Async != nil {
		e = see(e).Async(context.Background())
	}
	return e
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
		if got := toastOf(run(t, newApp(t), line)); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s said %q, want %q", line, got, want)
		}
	}
}

// An argument of a command that takes none is refused with its value, by each of the command's names.
func TestNoArgument(t *testing.T) {
	for _, c := range Commands() {
		for _, name := range c.Names() {
			line, want := "/"+name+" foo", fmt.Sprintf(`/%s takes no argument: remove "foo"`, name)
			named := c.As(name)
			e, refused := named.Refuse("", "foo")
			if refused != (c.Arg == "") || refused && (toastOf(e) != want || see(e).Text != line) {
				t.Errorf("%s: %v, said %q, keeps %q", line, refused, toastOf(e), see(e).Text)
			}
		}
	}
}

// A line that is refused is there to be corrected, whatever finds what is wrong with it, and when.
func TestRefusedLines(t *testing.T) {
	for line, want := range map[string]bool{
		"/quit foo": true, "/rename A title": true, "/mode loud": true, "/effort huge": true, "/history none": true, "/web sometimes": true,
		"/tools nosuch off": true, "/jobs 7": true, "/set temperature hot": true, "/set budget 5": true, "/compact foo": true, "/budget day much": true,
		"/persona nosuch": true, "/add-dir remove nosuch": true, "/attach nosuch.txt": true, "/model far/away": true, "/compare far/away": true,
		"/mode auto": false, "/effort low": false, "/history full": false, "/web off": false, "/model fake/n": false, "/compare fake/b": false, "/set temperature 1": false, "/quit": false,
	} {
		if e := run(t, newApp(t), line); (see(e).Text == line) != want || !want && see(e).Text != "" {
			t.Errorf("%s: said %q, keeps %q", line, toastOf(e), see(e).Text)
		}
	}
}

func TestSwitchOfModel(t *testing.T) {
	a := newApp(t)
	if e := a.UseModel("fake/other"); see(e).Event != nil || see(e).Toast != "Model: fake/m → fake/other" {
		t.Errorf("in an empty conversation: %+v", e)
	}
	a.UseModel("fake/m")
	own := a.Session.Model()
	own.Model = llmtest.New(llmtest.Say("an answer"))
	a.Session.SetModel(own)
	for range a.Session.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: "hello"}) {
	}
	e := a.UseModel("fake/other")
	if _, ok := see(e).Event.(session.ModelSwitched); !ok || see(e).Toast != "" || a.Session.Model().Name != "fake/other" || !slices.Equal(a.Recent, []string{"fake/other", "fake/m"}) {
		t.Errorf("%+v; recent %q", e, a.Recent)
	}
	if e := a.UseModel("far/away"); see(e).Failed == nil || a.Session.Model().Name != "fake/other" {
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
	a.BeforeSwitch = func() { left = a.Session.ID() }
	run(t, a, "/mode auto")
	run(t, a, "/effort low")
	old := a.Session
	e := run(t, a, "/new")
	if see(e).SessionOpened == nil || see(e).SessionOpened.Previous != old || a.Session == old || left != old.ID() {
		t.Fatalf("%+v", e)
	}
	if s := a.Session; s.Policy().Mode() != act.ModeAuto || s.Effort() != llm.EffortLow {
		t.Errorf("mode %s, effort %s", s.Policy().Mode(), s.Effort())
	}
}

// A prompt that was sent while a stored conversation was read is not left alone.
func TestOpenedTooLate(t *testing.T) {
	a := newApp(t)
	own, busy := a.Session, false
	a.Busy = func() bool { return busy }
	read := see(a.OpenSession("another", 0)).Prepare(context.Background())
	busy = true
	if e := read(); see(e).SessionOpened != nil || a.Session != own || see(e).Toast == "" {
		t.Errorf("%+v", e)
	}
}

func TestTaste(t *testing.T) {
	a := newApp(t)
	configured := []string{"openai/*"}
	a.Prefs.Set("hidden", "openai/a", false)
	a.Prefs.Set("hidden", "far/b", true)
	for name, want := range map[string]bool{"openai/a": false, "openai/x/y": true, "far/b": true, "far/c": false} {
		if got, _ := a.Prefs.Behind(configured, "hidden").Match(name); got != want {
			t.Errorf("%s hidden: %t", name, got)
		}
	}
}

// A conversation that was just left is opened again only when it is closed: it is not
// held by another parley.
func TestBackAtOnce(t *testing.T) {
	a := newApp(t)
	left := see(run(t, a, "/new")).SessionOpened
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
	prepare := see(a.OpenSession("another", 0)).Prepare
	go func() { opened <- prepare(context.Background()) }()
	select {
	case <-resumed:
		t.Error("opened before the one that was left is closed")
	default:
	}
	left.Close()
	if e := (<-opened)(); see(e).SessionOpened == nil {
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
	if e := a.UseModel("fast"); !strings.Contains(see(e).Toast, "Already using fake/b") {
		t.Errorf("again: %+v", e)
	}
	if e := run(t, a, "/model fas"); see(e).View.Panel != PanelModels || see(e).View.Query != "fas" {
		t.Errorf("a part of it: %+v", e)
	}
}

// A model that cannot be asked is compared with none, and the next prompt goes to one.
func TestCompareOutOfReach(t *testing.T) {
	a := newApp(t)
	if e := run(t, a, "/compare far/away"); see(e).Err == nil || len(a.Compared) > 0 {
		t.Errorf("%+v; compared %q", e, a.Compared)
	}
	a.Compared = []string{"fake/m", "far/away"}
	if p, err := OpenCompared(a); err == nil || p != nil || len(a.Compared) > 0 {
		t.Errorf("%v, %v; compared %q", p, err, a.Compared)
	}
	if e := run(t, a, "/compare"); see(e).View.Panel != PanelCompare {
		t.Errorf("%+v", e)
	}
}

// /compare says how models are compared, and refuses what cannot be meant.
func TestCompareHow(t *testing.T) {
	a := newApp(t)
	for line, want := range map[string]string{
		"/compare a/1 a/2 a/3 a/4 a/5":  "5 models are too many to compare: use at most 4",
		"/compare --blnd a/1":           "unknown option --blnd: use --blind or --judge MODEL",
		"/compare a/1 --judge":          "--judge needs a model",
		"/compare a/1 --judge far/away": "set FAR_API_KEY",
	} {
		if e := run(t, a, line); see(e).Err == nil || see(e).Err.Error() != want || len(a.Compared) > 0 {
			t.Errorf("%s: %v, want %s", line, see(e).Err, want)
		}
	}
	if e := run(t, a, "/compare --blind --judge a/j"); see(e).View.Panel != PanelCompare || see(e).View.Query != "--blind --judge a/j" {
		t.Errorf("%+v", see(e).View)
	}
	e := run(t, a, "/compare --blind a/1 --judge=a/j")
	if want := "Next prompt goes to fake/m and a/1 · names hidden · judged by a/j · /compare turns it off"; see(e).Toast != want {
		t.Errorf("%q, want %q", see(e).Toast, want)
	}
	p, err := OpenCompared(a)
	if err != nil || !p.Blind || p.Judge == nil || p.Judge.Name != "a/j" || len(p.Models) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, name := range p.Names { // however they are shuffled
		if p.Models[i].Name != name {
			t.Errorf("%s is asked in the place of %s", p.Models[i].Name, name)
		}
	}
	if again, err := OpenCompared(a); again != nil || err != nil {
		t.Errorf("the next prompt goes to %+v", again)
	}
}

// While names are hidden nothing tells whose an answer is: neither labels, states, prices nor
// errors. The choice reveals them, and is kept.
func TestBlind(t *testing.T) {
	a := newApp(t)
	models := []llm.Endpoint{}
	p := &ComparedPrompt{Names: []string{"dear/one", "cheap/two", "lost/three"}, Blind: true}
	for i, name := range p.Names {
		model := llm.Endpoint{Name: name, Origin: name, Model: llmtest.New(llmtest.Script(
			llm.Delta{Block: "a", Part: llm.Part{Kind: llm.Text, Text: "an answer"}}, llm.Usage{Input: 1, Output: 1, Cost: 0.77, Priced: true}, llm.Finish{Reason: llm.Stop}))}
		if i == 2 {
			model.Model = llmtest.New(llmtest.Fail(&llm.Error{Fault: llm.Quota, Provider: "lost", Message: "buy more at lost.example"}))
		}
		models = append(models, model)
	}
	p.Models = models
	a.Unnamed = true
	list := NewComparison(p)
	for e := range p.Ask(t.Context(), a.Session, []llm.Part{{Kind: llm.Text, Text: "which?"}}) {
		if c, ok := e.(session.CandidateEvent); ok {
			list.Apply(c)
		}
	}
	for i, c := range list {
		said := c.Label + " " + c.State + " " + c.Outcome()
		if err := c.Failure(); err != nil {
			said += " " + ErrorText(err) + Hint(err)
		}
		if c.Label != session.CandidateLetter(i) || strings.Contains(said, "/") || strings.Contains(said, "$") || strings.Contains(said, "lost") {
			t.Errorf("answer %d tells %q", i, said)
		}
	}
	e := list.Choose(a, 1)
	if want := "Continuing with cheap/two · A was dear/one, B was cheap/two, C was lost/three"; see(e).Toast != want {
		t.Errorf("%q, want %q", see(e).Toast, want)
	}
	if a.Unnamed || a.Session.Model().Name != "cheap/two" || list[0].Label != "dear/one" {
		t.Errorf("the names stay hidden: %+v", list[0])
	}
	see(e).Async(t.Context())
	kept, err := a.Library.Comparisons().List(time.Time{}, time.Time{})
	if err != nil || len(kept) != 1 || kept[0].Winner != "cheap/two" || !slices.Equal(kept[0].Losers, []string{"dear/one"}) || !kept[0].Blind {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// Prompts and personas that are typed before it is known which there are, or while that becomes
// known, are found.
func TestPromptsBeforeTheyAreKnown(t *testing.T) {
	found := []prompts.Prompt{{Name: "greet", Body: "Hello"}, {Name: "critic", Settings: prompts.Settings{System: "Find faults."}}, {Name: "say", Program: prompts.Parley, Body: "Be {{tone:short|long}}"}}
	early := func() *App {
		a := newApp(t)
		a.FindPrompts = func() ([]prompts.Prompt, []error) { return found, nil }
		return a
	}
	a := early()
	if e := run(t, a, "/persona critic"); see(e).Err != nil || a.Session.Personas().Current().Name != "critic" {
		t.Errorf("%+v: the persona is %q", e, a.Session.Personas().Current().Name)
	}
	if e := run(t, early(), "/persona"); see(e).List == nil || len(see(e).List.Items) != 2 {
		t.Errorf("/persona: %+v", e)
	}
	a = early()
	a.Skills = func() ([]Skill, []error) { // which are asked for in mid-search
		ReadPrompts(a)()
		return nil, nil
	}
	e, ok := RunPromptCommand(a, "/greet")
	for ok && see(e).Prepare != nil {
		e = see(e).Prepare(t.Context())()
	}
	if !ok || see(e).Err != nil || see(e).Turn == nil {
		t.Errorf("/greet: %v, %+v", ok, e)
	}
	for _, line := range []string{"/critic", "/say tone=rude"} {
		if e, _ := RunPromptCommand(a, line); see(e).Err == nil || see(e).Text != line {
			t.Errorf("%s: %v, keeps %q", line, see(e).Err, see(e).Text)
		}
	}
}
