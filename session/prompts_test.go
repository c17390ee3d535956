package session_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
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
		mode    act.Mode
		rule    string
		project string
		answer  act.Approval
		asked   int
		sent    string // "": nothing
	}{
		{"allowed", act.ModeAsk, "", "", act.Approval{Verdict: act.Allow}, 2, "got one+two"},
		{"denied", act.ModeAsk, "", "", act.Approval{Verdict: act.Deny}, 1, ""},
		{"a mode that asks nothing", act.ModeYolo, "", "", act.Approval{}, 0, "got one+two"},
		{"a rule", act.ModeAsk, "shell:echo *", "", act.Approval{}, 0, "got one+two"},
		{"read-only", act.ModeReadOnly, "", "", act.Approval{}, 0, ""},
		{"a project's, in a mode that asks nothing", act.ModeYolo, "", "p.md", act.Approval{Verdict: act.Allow}, 2, "got one+two"},
		{"a project's, with a rule", act.ModeYolo, "shell:echo *", "p.md", act.Approval{Verdict: act.Allow}, 2, "got one+two"},
		{"a project's, for good", act.ModeAsk, "", "p.md", act.Approval{Verdict: act.Allow, Always: true}, 2, "got one+two"},
		{"a project's, read-only", act.ModeReadOnly, "", "p.md", act.Approval{}, 0, ""},
		{"a project's, edited, in a mode that asks nothing", act.ModeYolo, "", "p.md", act.Approval{Verdict: act.Allow, Input: `{"command":"echo three"}`}, 4, "got three+three"},
		{"edited", act.ModeAsk, "", "", act.Approval{Verdict: act.Allow, Input: `{"command":"echo three"}`}, 4, "got three+three"},
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
			from.Draft = Unsent{Message: llm.Message{Parts: []llm.Part{say("a file")}}, Command: "/prompt"}
			asked, edited := 0, false
			var failed error
			var back []string
			for e := range s.TurnFromTemplate(t.Context(), from) {
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
					if !e.Action.OfPrompt {
						t.Errorf("it is not said that no model asks: %+v", e.Action)
					}
					e.Reply(answer)
				case Unsent:
					back = append(back, e.Command+" with "+e.Message.Text())
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
			if returned := slices.Equal(back, []string{"/prompt with a file"}); returned != (failed != nil) || !returned && len(back) > 0 {
				t.Errorf("ended with %v, and the user has back %q", failed, back)
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
	s := New(Options{Model: endpoint("fake/own", own), Effort: llm.EffortLow, System: "own", Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	from := template()
	from.Settings = TurnSettings{Model: endpoint("fake/other", other), Effort: llm.EffortHigh, System: "other", Tools: []string{"read"}}
	for e := range s.TurnFromTemplate(t.Context(), from) {
		if _, ok := e.(Step); ok && s.Queue.Len() == 0 && len(own.Requests()) == 0 && len(other.Requests()) == 0 {
			s.Queue.Add(llm.Part{Kind: llm.Text, Text: "later"})
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
	if s.Model().Name != "fake/own" || s.Next.System() != "own" || s.Next.Effort() != llm.EffortLow {
		t.Errorf("%s %s %s is left", s.Model().Name, s.Next.System(), s.Next.Effort())
	}
	from.Settings.Tools = []string{"raed"}
	for e := range s.TurnFromTemplate(t.Context(), from) {
		if d, ok := e.(Done); ok && (d.Err == nil || !strings.Contains(d.Err.Error(), `did you mean "read"?`)) {
			t.Errorf("an unknown tool: %v", d.Err)
		}
	}
}

// TestTemplateSettingsChosen: what the user chooses while a prompt with settings of its own is
// answered stays, even where it is what the prompt uses.
func TestTemplateSettingsChosen(t *testing.T) {
	other := llmtest.New(llmtest.Say("other"))
	tests := []struct {
		name   string
		choose func(*Session)
		want   string
	}{
		{"nothing", func(*Session) {}, "fake/own low own"},
		{"its model", func(s *Session) { s.SetModel(endpoint("fake/other", other)) }, "fake/other low own"},
		{"its effort", func(s *Session) { s.Next.SetEffort(llm.EffortHigh) }, "fake/own high own"},
		{"its system prompt", func(s *Session) { s.Next.SetSystem("other") }, "fake/own low other"},
		{"another model, and back", func(s *Session) {
			s.SetModel(endpoint("fake/third", other))
			s.SetModel(endpoint("fake/other", other))
		}, "fake/other low own"},
		{"what is known of its model", func(s *Session) { s.Next.RefreshModel(endpoint("fake/other", other)) }, "fake/own low own"},
		{"what is known of the session's", func(s *Session) {
			known := endpoint("fake/own", other)
			known.Context = 7
			s.Next.RefreshModel(known)
		}, "fake/own low own of 7"},
	}
	for _, tt := range tests {
		s := New(Options{Model: endpoint("fake/own", other), Effort: llm.EffortLow, System: "own"})
		from := template()
		from.Settings = TurnSettings{Model: endpoint("fake/other", llmtest.New(llmtest.Say("other"))), Effort: llm.EffortHigh, System: "other"}
		for e := range s.TurnFromTemplate(t.Context(), from) {
			if _, ok := e.(Step); ok {
				tt.choose(s)
			}
		}
		got := fmt.Sprintf("%s %s %s", s.Model().Name, s.Next.Effort(), s.Next.System())
		if n := s.Model().Context; n > 0 {
			got += fmt.Sprintf(" of %d", n)
		}
		if got != tt.want {
			t.Errorf("%s: %s is left, want %s", tt.name, got, tt.want)
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
	s := New(Options{Model: endpoint("fake/a", fake), System: "own", Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
	play(t.Context(), s, allow, say("one"))
	if err := s.Personas.Set(Persona{Name: "x", Tools: []string{"raed"}}, "x"); err == nil || s.Next.System() != "own" {
		t.Errorf("unknown tools: %v, system %q", err, s.Next.System())
	}
	if err := s.Personas.Set(Persona{Name: "terse", System: "Be terse", Tools: []string{"read", "grep"}}, "Be terse, whole"); err != nil {
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
	fork, _, err := lib.ForkInto(lib, s.ID(), 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := lib.Resume(s.ID())
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]*Log{"a copy": fork, "the next run": again} {
		s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
		if p := s.Personas.Current(); p.Name != "terse" || p.System != "Be terse" || len(p.Tools) != 2 {
			t.Errorf("%s has %+v", name, p)
		}
		if err := s.Personas.Set(Persona{}, "own"); err != nil || s.Personas.Current().Name != "" || s.Next.System() != "own" {
			t.Errorf("%s: off: %v, %+v", name, err, s.Personas.Current())
		}
		if _, req := s.Next.Request(say("three")); len(req.Tools) != len(set.Tools()) {
			t.Errorf("%s: off leaves %d tools", name, len(req.Tools))
		}
		s.Close()
	}
}

// TestPersonaFollowsTheBranch: a branch is continued with its own persona at once, if that may be
// used.
func TestPersonaFollowsTheBranch(t *testing.T) {
	set, _ := workspace(t)
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	s := New(Options{Model: endpoint("fake/a", fake), System: "own", Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
	trusted := true
	s.Personas.Follow(func(p Persona) (string, bool) { return cmp.Or(p.System, "own"), p.Project == "" || trusted })
	play(t.Context(), s, allow, say("one"))
	play(t.Context(), s, allow, say("two"))
	terse := s.Head()
	if err := s.Personas.Set(Persona{Name: "terse", System: "Be terse", Tools: []string{"read", "grep"}, Project: "/w"}, "Be terse"); err != nil {
		t.Fatal(err)
	}
	check := func(what, system string, offered int) {
		t.Helper()
		if _, req := s.Next.Request(say("next")); req.System != system || len(req.Tools) != offered {
			t.Errorf("%s: %q with %d tools is sent, want %q with %d", what, req.System, len(req.Tools), system, offered)
		}
	}
	check("chosen", "Be terse", 2)
	if err := s.Branch.Edit(terse - 1); err != nil {
		t.Fatal(err)
	}
	check("in front of it", "own", len(set.Tools()))
	play(t.Context(), s, allow, say("another two"))
	other := s.Head()
	for _, step := range []struct {
		what    string
		seq     int
		trusted bool
		system  string
		tools   int
	}{
		{"back on its branch", terse, true, "Be terse", 2},
		{"on the other branch", other, true, "own", len(set.Tools())},
		{"not trusted any more", terse, false, "own", len(set.Tools())},
	} {
		trusted = step.trusted
		if err := s.Branch.Switch(step.seq); err != nil {
			t.Fatal(err)
		}
		check(step.what, step.system, step.tools)
	}
}

// TestSkillsSurviveSummaries: a loaded skill is in the next request once, also after a summary.
func TestSkillsSurviveSummaries(t *testing.T) {
	set, _ := workspace(t)
	text := "<skill name=\"pdf\" dir=\"/s\">\n" + strings.Repeat("do it so. ", 20) + "\n</skill>"
	if err := set.AddExternal(tools.SkillTool([]string{"pdf"}, func(string) (string, string, error) { return text, `<skill name="pdf"`, nil })); err != nil {
		t.Fatal(err)
	}
	fake := llmtest.New(llmtest.Call(call("1", "skill", `{"name":"pdf"}`)), llmtest.Call(call("2", "skill", `{"name":"pdf"}`)), llmtest.Say(strings.Repeat("a long answer ", 200)),
		llmtest.Say("## Goal\nforms"), llmtest.Say("ok"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk)})
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
	if !strings.Contains(whole(requests[len(requests)-1]), "## Goal") || !s.HasSkill(`<skill name="pdf"`) || s.HasSkill(`<skill name="forged"`) {
		t.Errorf("the last request is %s", whole(requests[len(requests)-1]))
	}
}

// TestSkillsAreLoadedAgain: a skill that the next request does not hold, because the history mode
// leaves out the turn that loaded it, is loaded again.
func TestSkillsAreLoadedAgain(t *testing.T) {
	set, _ := workspace(t)
	const mark = `<skill name="pdf"`
	load := llmtest.Call(call("1", "skill", `{"name":"pdf"}`))
	if err := set.AddExternal(tools.SkillTool([]string{"pdf"}, func(string) (string, string, error) { return mark + ">\ndo it so\n</skill>", mark, nil })); err != nil {
		t.Fatal(err)
	}
	fake := llmtest.New(load, llmtest.Say("ok"), load, load, llmtest.Say("ok"))
	s := New(Options{Model: endpoint("fake/a", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Config: Config{History: "stateless"}})
	play(t.Context(), s, allow, say("one"))
	if s.HasSkill(mark) {
		t.Error("the next prompt is said to have the skill, and is sent alone")
	}
	play(t.Context(), s, allow, say("two"))
	var results []bool // that are the skill's text
	for _, m := range s.History() {
		if m.Role == llm.RoleTool {
			results = append(results, strings.Contains(m.Parts[0].Text, "do it so"))
		}
	}
	if want := []bool{true, true, false}; !slices.Equal(results, want) {
		t.Errorf("the calls returned the skill: %v, want %v", results, want)
	}
}

// TestSearchTurnedOnMeanwhile: what a user sets while a prompt is answered that sets the same
// holds for later prompts too.
func TestSearchTurnedOnMeanwhile(t *testing.T) {
	var s *Session
	fake := llmtest.New(func(ctx context.Context, req llm.Request, out *llm.Out) error {
		if _, err := s.OwnSettings.Change(searching(true)); err != nil {
			t.Error(err)
		}
		return llmtest.Say("ok")(ctx, req, out)
	})
	s = New(Options{Model: endpoint("fake/a", fake)})
	from := template()
	from.Settings = TurnSettings{Web: true}
	for range s.TurnFromTemplate(t.Context(), from) {
	}
	if !s.Next.WebSearch() {
		t.Error("the user turned the search of the web on, and it is off behind the prompt")
	}
}

// A prompt file that was to replace a message, and is not sent, leaves the conversation as it was.
func TestTemplateOfAnEdit(t *testing.T) {
	s := New(Options{Model: endpoint("a/a", llmtest.New(llmtest.Say("one"), llmtest.Say("two")))})
	play(t.Context(), s, nil, say("first"))
	play(t.Context(), s, nil, say("second"))
	head := s.Head()
	if err := s.Branch.Edit(3); err != nil {
		t.Fatal(err)
	}
	from := Template{Commands: []string{"ls"}, Draft: Unsent{Command: "/prompt"}}
	var back []Unsent
	for e := range s.TurnFromTemplate(t.Context(), from) {
		if u, ok := e.(Unsent); ok {
			back = append(back, u)
		}
	}
	if len(back) != 1 || back[0].Edits != 3 || back[0].Command != "/prompt" || s.Head() != head {
		t.Errorf("given back %+v, at %d, not at %d", back, s.Head(), head)
	}
}
