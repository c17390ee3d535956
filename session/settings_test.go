package session_test

import (
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
	"parley/tools/act"
)

// TestSettings: what is set stays with the conversation, on all branches, in copies and in the next
// run, with another model as well, and is in each request.
func TestSettings(t *testing.T) {
	set, _ := workspace(t)
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	fake := llmtest.New(llmtest.Say("a"), llmtest.Say("b"), llmtest.Say("c"))
	given := llm.Settings{Detail: "low", Web: true}
	s := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: lib.Create(Info{Dir: "/w"})})
	play(t.Context(), s, allow, say("one"))
	first := s.Head()
	play(t.Context(), s, allow, say("two"))
	for _, bad := range []map[string]string{{"temperature": "hot"}, {"temperature": "3"}, {"messages": "[]"}, {"top_p": "0.5", "seed": "x"}, {"note": strings.Repeat("x", 17<<10)}} {
		if _, err := s.OwnSettings.Change(setting(bad)); err == nil || len(s.OwnSettings.Get().Values) > 0 {
			t.Errorf("%.60v: %v, %+v", bad, err, s.OwnSettings.Get())
		}
	}
	now, err := s.OwnSettings.Change(setting(map[string]string{"temperature": "0.2", "detail": "high", "provider.order": `["x"]`, "seed": "7"}))
	if err != nil || now.Changed != `detail high · provider.order ["x"] · seed 7 · temperature 0.2` {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	if now, err = s.OwnSettings.Change(setting(map[string]string{"seed": ""})); err != nil || now.Changed != "seed default" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	if now, err = s.OwnSettings.Change(func(own *Settings) error { own.SetTool("shell", false); return nil }); err != nil || now.Changed != "tool shell off" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	s.SetModel(endpoint("fake/b", fake))
	if now, err := s.OwnSettings.Change(searching(false)); err != nil || now.Changed != "web search off" {
		t.Fatalf("%q, %v", now.Changed, err)
	}
	check := func(name string, s *Session, web bool) {
		t.Helper()
		_, req := s.Next.Request(say("three"))
		if req.Temperature == nil || *req.Temperature != 0.2 || req.Detail != "high" || req.Seed != nil || req.Web != web || fmt.Sprint(req.Options) != "map[provider.order:[x]]" {
			t.Errorf("%s sends %+v", name, req.Settings)
		}
		if len(req.Tools) != len(set.Tools())-1 || slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "shell" }) {
			t.Errorf("%s offers %d tools", name, len(req.Tools))
		}
	}
	check("the conversation", s, false)
	if err := s.Branch.Switch(first); err != nil {
		t.Fatal(err)
	}
	if err := s.Branch.Edit(1); err != nil {
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
		log, _, err := lib.ForkInto(lib, id, head)
		if err != nil {
			t.Fatal(err)
		}
		fork := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
		check(fmt.Sprint("a copy of ", head), fork, false)
		play(t.Context(), fork, allow, say("on"))
		copied := fork.ID()
		fork.Close()
		if log, err = lib.Resume(copied); err != nil {
			t.Fatal(err)
		}
		again := New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
		check(fmt.Sprint("a copy of ", head, ", later"), again, false)
		again.Close()
	}
	log, err := lib.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	s = New(Options{Model: endpoint("fake/a", fake), Settings: given, Tools: set, Policy: tools.NewPolicy(act.ModeAsk), Log: log})
	defer s.Close()
	check("the next run", s, false)
	if now, err := s.OwnSettings.Change(searching(false)); err != nil || now.Changed != "" {
		t.Errorf("what is set already is set again: %q, %v", now.Changed, err)
	}
	if _, err := s.OwnSettings.Change(setting(map[string]string{"temperature": "", "detail": "", "provider.order": ""})); err != nil {
		t.Fatal(err)
	}
	if _, req := s.Next.Request(); req.Temperature != nil || req.Detail != "low" || len(req.Options) > 0 {
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
				if _, err := s.OwnSettings.Change(func(own *Settings) error { own.SetTool(name, false); return own.Set("body."+name, "1") }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if own := s.OwnSettings.Get(); len(own.Values) != 2*each || len(own.Tools) != 2*each {
		t.Errorf("%d values and %d tools are set, want %d of each", len(own.Values), len(own.Tools), 2*each)
	}
}

// TestSwitched: a conversation that is continued with another model says what that one is not sent,
// as a switch within it does.
func TestSwitched(t *testing.T) {
	lib := MemoryStore()
	t.Cleanup(func() { lib.Close() })
	image := llm.Part{Kind: llm.Media, Name: "a.png", MIME: "image/png", Data: []byte("x")}
	pdf := llm.Part{Kind: llm.Media, Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}
	sees := endpoint("fake/sees", llmtest.New(llmtest.Say("seen")))
	sees.Vision, sees.Origin = true, "fake"
	log := lib.Create(Info{Dir: "/w"})
	s := New(Options{Model: sees, Log: log})
	if e, ok := s.Next.Switched(); ok {
		t.Errorf("nothing was said: %+v", e)
	}
	play(t.Context(), s, allow, say("look"), image, pdf, pdf)
	if e, ok := s.Next.Switched(); ok {
		t.Errorf("the same model: %+v", e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blind := endpoint("fake/blind", nil)
	blind.Blind, blind.Origin = true, "fake"
	again, err := lib.Resume(log.Session().ID)
	if err != nil {
		t.Fatal(err)
	}
	s = New(Options{Model: blind, Log: again})
	t.Cleanup(func() { s.Close() })
	e, ok := s.Next.Switched()
	var left []string
	for _, c := range e.Changes {
		left = append(left, fmt.Sprintf("%d %s", c.Count, c.What))
	}
	got := strings.Join(left, "; ")
	if want := "1 images not sent: this model takes none; 2 PDFs not sent: this model takes none"; !ok || e.From != "fake/sees" || e.To != "fake/blind" || got != want {
		t.Errorf("%t, from %s to %s: %s, want %s", ok, e.From, e.To, got, want)
	}
	s.SetModel(sees)
	if within := s.SetModel(blind); !slices.Equal(within.Changes, e.Changes) {
		t.Errorf("a switch within says %+v", within.Changes)
	}
}
