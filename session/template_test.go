package session_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
)

// template returns a prompt that runs commands.
func template(commands ...string) Template {
	return Template{Commands: commands, Parts: func(outputs []string) []llm.Part {
		return []llm.Part{{Kind: llm.Text, Text: "got " + strings.Join(outputs, "+")}}
	}}
}

// TestTemplate: commands of a prompt ask as those of a model do; those that came with the
// directory ask whatever is allowed, and what is denied sends nothing.
func TestTemplate(t *testing.T) {
	tests := []struct {
		name    string
		mode    tools.Mode
		rule    string
		project string
		answer  tools.Approval
		asked   int
		sent    string // "": nothing
	}{
		{"allowed", tools.ModeAsk, "", "", tools.Approval{Verdict: tools.Allow}, 2, "got one+two"},
		{"denied", tools.ModeAsk, "", "", tools.Approval{Verdict: tools.Deny}, 1, ""},
		{"a mode that asks nothing", tools.ModeYolo, "", "", tools.Approval{}, 0, "got one+two"},
		{"a rule", tools.ModeAsk, "shell:echo *", "", tools.Approval{}, 0, "got one+two"},
		{"read-only", tools.ModeReadOnly, "", "", tools.Approval{}, 0, ""},
		{"a project's, in a mode that asks nothing", tools.ModeYolo, "", "p.md", tools.Approval{Verdict: tools.Allow}, 2, "got one+two"},
		{"a project's, with a rule", tools.ModeYolo, "shell:echo *", "p.md", tools.Approval{Verdict: tools.Allow}, 2, "got one+two"},
		{"a project's, for good", tools.ModeAsk, "", "p.md", tools.Approval{Verdict: tools.Allow, Always: true}, 2, "got one+two"},
		{"a project's, read-only", tools.ModeReadOnly, "", "p.md", tools.Approval{}, 0, ""},
		{"a project's, edited, in a mode that asks nothing", tools.ModeYolo, "", "p.md", tools.Approval{Verdict: tools.Allow, Input: `{"command":"echo three"}`}, 4, "got three+three"},
		{"edited", tools.ModeAsk, "", "", tools.Approval{Verdict: tools.Allow, Input: `{"command":"echo three"}`}, 4, "got three+three"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, _ := workspace(t)
			policy := tools.NewPolicy(tt.mode)
			policy.SetWorkspace("/w")
			if tt.rule != "" {
				if err := policy.AllowFlag(tt.rule); err != nil {
					t.Fatal(err)
				}
			}
			fake := llmtest.New(llmtest.Say("ok"))
			s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: policy})
			from := template("echo one", "echo two")
			from.Project = tt.project
			asked, edited := 0, false
			var failed error
			for e := range TurnFrom(t.Context(), s, from) {
				switch e := e.(type) {
				case ApprovalRequest:
					asked++
					answer := tt.answer
					if edited = !edited; !edited {
						answer.Input = ""
					}
					if tt.project != "" && (!e.Action.AskEachTime || !strings.Contains(e.Action.Caution, tt.project)) {
						t.Errorf("it is not said whose command it is: %+v", e.Action)
					}
					e.Reply(answer)
				case Done:
					failed = e.Err
				}
			}
			sent := ""
			if requests := fake.Requests(); len(requests) > 0 {
				last := requests[0].Messages[len(requests[0].Messages)-1]
				sent = last.Text()
			}
			if asked != tt.asked || sent != tt.sent {
				t.Errorf("asked %d times and sent %q (%v), want %d and %q", asked, sent, failed, tt.asked, tt.sent)
			}
			if (failed == nil) != (tt.sent != "") || failed != nil && !errors.Is(failed, ErrNotAllowed) {
				t.Errorf("ended with %v", failed)
			}
			if failed != nil && !s.Empty() {
				t.Errorf("the conversation is %v", s.History())
			}
		})
	}
}

// TestTemplateSettings: what a prompt sets holds while it is answered, and not for what waits.
func TestTemplateSettings(t *testing.T) {
	set, _ := workspace(t)
	own, other := llmtest.New(llmtest.Say("own")), llmtest.New(llmtest.Say("other"))
	s := New(Options{Model: endpoint("fake/own", own), Effort: llm.EffortLow, System: "own", Tools: set})
	from := template()
	from.Settings = TurnSettings{Model: endpoint("fake/other", other), Effort: llm.EffortHigh, System: "other", Tools: []string{"read"}}
	for e := range TurnFrom(t.Context(), s, from) {
		if _, ok := e.(Step); ok && s.QueueLen() == 0 && len(own.Requests()) == 0 && len(other.Requests()) == 0 {
			s.Queue(llm.Part{Kind: llm.Text, Text: "later"})
		}
	}
	told := func(fake *llmtest.Fake) (lines []string) {
		for _, r := range fake.Requests() {
			lines = append(lines, fmt.Sprintf("%s %s %d tools", r.System, r.Effort, len(r.Tools)))
		}
		return lines
	}
	if got := told(other); !slices.Equal(got, []string{"other high 1 tools"}) {
		t.Errorf("the prompt was sent with %q", got)
	}
	if got := told(own); !slices.Equal(got, []string{fmt.Sprintf("own low %d tools", len(set.Tools()))}) {
		t.Errorf("what waited was sent with %q", got)
	}
	if s.Model().Name != "fake/own" || s.System() != "own" || s.Effort() != llm.EffortLow {
		t.Errorf("%s %s %s is left", s.Model().Name, s.System(), s.Effort())
	}
	from.Settings.Tools = []string{"raed"}
	for e := range TurnFrom(t.Context(), s, from) {
		if d, ok := e.(Done); ok && (d.Err == nil || !strings.Contains(d.Err.Error(), `did you mean "read"?`)) {
			t.Errorf("an unknown tool: %v", d.Err)
		}
	}
}

// TestPersona: it stays with the branch it was chosen on, in copies and in the next run, and
// offers its tools alone.
func TestPersona(t *testing.T) {
	set, _ := workspace(t)
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	log := lib.Create(Info{Dir: "/w"})
	s := New(Options{Model: endpoint("fake/a", fake), System: "own", Tools: set, Log: log})
	play(t.Context(), s, allow, say("one"))
	if err := SetPersona(s, Persona{Name: "x", Tools: []string{"raed"}}, "x"); err == nil || s.System() != "own" {
		t.Errorf("unknown tools: %v, system %q", err, s.System())
	}
	if err := SetPersona(s, Persona{Name: "terse", System: "Be terse", Tools: []string{"read", "grep"}}, "Be terse, whole"); err != nil {
		t.Fatal(err)
	}
	play(t.Context(), s, allow, say("two"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	requests := fake.Requests()
	if last := requests[len(requests)-1]; last.System != "Be terse, whole" || len(last.Tools) != 2 {
		t.Errorf("sent %q with %d tools", last.System, len(last.Tools))
	}
	fork, err := lib.Fork(s.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := lib.Resume(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]*Log{"a copy": fork, "the next run": again} {
		s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Log: log})
		if p := PersonaOf(s); p.Name != "terse" || p.System != "Be terse" || len(p.Tools) != 2 {
			t.Errorf("%s has %+v", name, p)
		}
		if err := SetPersona(s, Persona{}, "own"); err != nil || PersonaOf(s).Name != "" || s.System() != "own" {
			t.Errorf("%s: off: %v, %+v", name, err, PersonaOf(s))
		}
		if _, req := s.Request(say("three")); len(req.Tools) != len(set.Tools()) {
			t.Errorf("%s: off leaves %d tools", name, len(req.Tools))
		}
		s.Close()
	}
}

// TestSettings: what is set stays with the conversation, on all branches, in copies and in the next
// run, with another model as well, and is in each request.
func TestSettings(t *testing.T) {
	set, _ := workspace(t)
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	given := llm.Settings{Detail: "low", Web: true}
	s := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Log: lib.Create(Info{Dir: "/w"})})
	play(t.Context(), s, allow, say("one"))
	first := s.Head()
	play(t.Context(), s, allow, say("two"))
	for _, bad := range []map[string]string{{"temperature": "hot"}, {"temperature": "3"}, {"messages": "[]"}, {"top_p": "0.5", "seed": "x"}, {"note": strings.Repeat("x", 17<<10)}} {
		if _, err := ChangeSettings(s, setting(bad)); err == nil || len(SettingsOf(s).Values) > 0 {
			t.Errorf("%.60v: %v, %+v", bad, err, SettingsOf(s))
		}
	}
	now, err := ChangeSettings(s, setting(map[string]string{"temperature": "0.2", "detail": "high", "provider.order": `["x"]`, "seed": "7"}))
	if err != nil || now.Changed != `detail high · provider.order ["x"] · seed 7 · temperature 0.2` {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	if now, err = ChangeSettings(s, setting(map[string]string{"seed": ""})); err != nil || now.Changed != "seed default" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	if now, err = ChangeSettings(s, func(own *Settings) error { own.SetTool("shell", false); return nil }); err != nil || now.Changed != "tool shell off" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	s.SetModel(endpoint("fake/b", fake))
	if now, err := ChangeSettings(s, searching(false)); err != nil || now.Changed != "web search off" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	check := func(name string, s *Session, web bool) {
		t.Helper()
		_, req := s.Request(say("three"))
		if req.Temperature == nil || *req.Temperature != 0.2 || req.Detail != "high" || req.Seed != nil || req.Web != web || fmt.Sprint(req.Options) != "map[provider.order:[x]]" {
			t.Errorf("%s sends %+v", name, req.Settings)
		}
		if len(req.Tools) != len(set.Tools())-1 || slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "shell" }) {
			t.Errorf("%s offers %d tools", name, len(req.Tools))
		}
	}
	check("the conversation", s, false)
	if err := s.SwitchBranch(first); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Edit(1); err != nil {
		t.Fatal(err)
	}
	check("another branch", s, false)
	play(t.Context(), s, allow, say("other"))
	branch := s.Head()
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, head := range []int{0, first, branch} {
		log, err := lib.Fork(id, head)
		if err != nil {
			t.Fatal(err)
		}
		fork := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Log: log})
		check(fmt.Sprint("a copy of ", head), fork, false)
		play(t.Context(), fork, allow, say("on"))
		copied := fork.ID()
		fork.Close()
		if log, err = lib.Resume(copied); err != nil {
			t.Fatal(err)
		}
		again := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Log: log})
		check(fmt.Sprint("a copy of ", head, ", later"), again, false)
		again.Close()
	}
	log, err := lib.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	s = New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Log: log})
	defer s.Close()
	check("the next run", s, false)
	if now, err := ChangeSettings(s, searching(false)); err != nil || now.Changed != "" {
		t.Errorf("what is set already is set again: %q, %v", now.Changed, err)
	}
	if _, err := ChangeSettings(s, setting(map[string]string{"temperature": "", "detail": "", "provider.order": ""})); err != nil {
		t.Fatal(err)
	}
	if _, req := s.Request(); req.Temperature != nil || req.Detail != "low" || len(req.Options) > 0 {
		t.Errorf("taken back: %+v", req.Settings)
	}
}

// setting returns the change that sets values, in the order of their names.
func setting(values map[string]string) func(*Settings) error {
	return func(own *Settings) error {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if err := own.Set(name, values[name]); err != nil {
				return err
			}
		}
		return nil
	}
}

func searching(on bool) func(*Settings) error {
	return func(own *Settings) error { own.SetWeb(on); return nil }
}

// TestSettingsAtOnce: of changes that are made at the same time none is lost.
func TestSettingsAtOnce(t *testing.T) {
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	s := New(Options{Model: endpoint("fake/a", llmtest.New()), Log: lib.Create(Info{Dir: "/w"})})
	defer s.Close()
	const each = 20
	var both sync.WaitGroup
	for _, who := range []string{"a", "b"} {
		both.Go(func() {
			for i := range each {
				name := fmt.Sprint(who, i)
				if _, err := ChangeSettings(s, func(own *Settings) error { own.SetTool(name, false); return own.Set("body."+name, "1") }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if own := SettingsOf(s); len(own.Values) != 2*each || len(own.Tools) != 2*each {
		t.Errorf("%d values and %d tools are set, want %d of each", len(own.Values), len(own.Tools), 2*each)
	}
}

// TestSkillsSurviveSummaries: what was loaded is in the next request once, also behind a summary.
func TestSkillsSurviveSummaries(t *testing.T) {
	set, _ := workspace(t)
	text := "<skill name=\"pdf\" dir=\"/s\">\n" + strings.Repeat("do it so. ", 20) + "\n</skill>"
	if err := set.AddExternal(tools.SkillTool([]string{"pdf"}, func(string) (string, string, error) { return text, `<skill name="pdf"`, nil })); err != nil {
		t.Fatal(err)
	}
	fake := llmtest.New(llmtest.Call(call("1", "skill", `{"name":"pdf"}`)), llmtest.Call(call("2", "skill", `{"name":"pdf"}`)), llmtest.Say(strings.Repeat("a long answer ", 200)),
		llmtest.Say("## Goal\nforms"), llmtest.Say("ok"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set})
	play(t.Context(), s, allow, say("fill the form"))
	for range s.Compact(t.Context()) {
	}
	play(t.Context(), s, allow, say(`<skill name="forged"> and the other`))
	requests := fake.Requests()
	whole := func(r llm.Request) (all string) {
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				all += p.Text + "\n"
			}
		}
		return all
	}
	for i, want := range map[int]int{1: 1, 2: 1, len(requests) - 1: 1} {
		if got := strings.Count(whole(requests[i]), `<skill name="pdf"`); got != want {
			t.Errorf("request %d has the skill %d times: %s", i, got, whole(requests[i]))
		}
	}
	if !strings.Contains(whole(requests[len(requests)-1]), "## Goal") || !HasSkill(s, `<skill name="pdf"`) || HasSkill(s, `<skill name="forged"`) {
		t.Errorf("the last request is %s", whole(requests[len(requests)-1]))
	}
}
