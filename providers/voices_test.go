package providers_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/ui/app"
	"parley/ui/app/flows/consult"
	"parley/ui/app/flows/explore"
)

// A speaker is a party that gives answers in turn, and checks the requests for them.
type speaker struct {
	*party
	t       *testing.T
	answers []answer
	session *session.Session
	n       int // requests
}

// endpoint returns the endpoint of s.
func (s *speaker) endpoint() llm.Endpoint {
	e := s.Endpoint
	e.Model = s
	return e
}

// Stream implements llm.Model.
func (s *speaker) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		if s.n == len(s.answers) {
			s.t.Fatalf("%s is asked once more: %+v", s.party, req.Messages)
		}
		a := s.answers[s.n]
		s.n++
		a.n, a.calls = s.n, a.parts != nil
		s.says = s.speak(s.party, a)
		s.Endpoint.Model.Stream(ctx, req)(yield)
		c := &check{party: s.party, history: req.Messages, tools: req.Tools}
		s.check(c)
		c.complete()
		c.history = s.session.History()
		c.secrets()
		if len(c.problems) > 0 {
			s.t.Errorf("request %d to %s:\n- %s\n%s", s.n, s.party, strings.Join(c.problems, "\n- "), s.body)
		}
	}
}

// agentProgram returns a party that is a program without tools of parley. It gets the conversation as text.
func agentProgram(t *testing.T) *party {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	path := func(name string) string { return filepath.Join(dir, name) }
	llmtest.Executable(t, path("claude"), fmt.Sprintf("#!/bin/sh\ncat > %q\ncat %q\n", path("asked"), path("answer")))
	p := &party{kind: "claude-cli", model: "claude-opus-5-5"}
	p.speak = func(p *party, a answer) []string {
		text := fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[{"type":"text","text":%s}]}}`+"\n"+`{"type":"result","subtype":"success"}`+"\n", a.n, quoted(p.spoken(a)))
		if err := os.WriteFile(path("answer"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	p.check = func(c *check) {
		asked, err := os.ReadFile(path("asked"))
		if err != nil {
			c.fail("%v", err)
		}
		c.body = bytes.ReplaceAll(asked, []byte("\n    "), []byte("\n")) // what was said is indented
	}
	config := providers.Config{Providers: map[string]providers.Provider{p.kind: {Command: process.CommandLine{Words: []string{path("claude")}}}}}
	var err error
	if p.Endpoint, err = providers.Open(config, p.kind+"/"+p.model, providers.OpenOptions{Getenv: os.Getenv}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestVoices has a model of each wire format call another one with consult, and a helper with explore, whose calls a
// third one makes. The user asks the second one with /ask as well, and continues with it. Every request has to be valid
// by the rules of its format; the conversation gets the answers, and the ledger has each request once. Without
// PARLEY_LONG=1 it takes a part of the pairs.
func TestVoices(t *testing.T) {
	permission.Register()
	var all []*party
	for _, p := range append(parties(), &party{kind: "cerebras", model: "llama3.1-8b", format: prompted, gets: "prompt"}) {
		p.open(t)
		all = append(all, p)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	others := slices.Clip(all)
	if runtime.GOOS != "windows" {
		others = append(others, agentProgram(t))
	}
	for i, a := range all {
		for j, b := range others {
			if a.Name != b.Name && tried(a, b, i+j) {
				t.Run(a.String()+" and "+b.String(), func(t *testing.T) { testVoices(t, dir, a, b, all[(j+1)%len(all)]) })
			}
		}
	}
}

func testVoices(t *testing.T, dir string, main, other, small *party) {
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	speakers := []*speaker{
		{party: main, answers: []answer{
			{text: "I ask.", parts: []llm.Part{{Name: act.ConsultTool, Input: `{"question":"Is <it> right?"}`}, {Name: act.ExploreTool, Input: `{"task":"Find it."}`}}},
			{text: "Done."}, {text: "I read it."},
		}},
		{party: other, answers: []answer{{text: "It is <right>."}, {text: "I would not."}, {text: "I go on."}}},
		{party: small, answers: []answer{{text: "I look.", parts: []llm.Part{{Name: "read", Input: `{"path":"a.go"}`}, {Name: "list", Input: `{}`}}}, {text: "It is in a.go."}}},
	}
	open := func(name string) (llm.Endpoint, error) {
		for _, s := range speakers[1:] {
			if s.Name == name {
				return s.endpoint(), nil
			}
		}
		return llm.Endpoint{}, fmt.Errorf("no model %s", name)
	}
	lib := session.MemoryStore()
	defer lib.Close()
	s := session.New(session.Options{
		Model: speakers[0].endpoint(), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), System: "Be brief.", Log: lib.Create(session.Info{}),
		OpenModel: open, Config: session.Config{SmallModel: small.Name},
	})
	defer s.Close()
	for _, speaker := range speakers {
		speaker.t, speaker.session = t, s
	}
	flows := func(a *app.App) { consult.Register(a); explore.Register(a) }
	a := app.New(app.Options{
		Flows: flows, Session: s, Library: lib, Machine: app.Machine{ToolSet: func(string) act.Set { return set }},
		Models: app.Models{Open: open, Consult: &session.Consult{Model: other.Name}},
	})
	say := func(prompt string) {
		for e := range s.Turn(t.Context(), llm.Part{Kind: llm.Text, Text: prompt}) {
			switch e := e.(type) {
			case session.ApprovalRequest:
				e.Reply(act.Approval{Verdict: act.Deny})
				t.Errorf("%s: the user is asked about %+v", prompt, e.Action)
			case session.Done:
				if e.Err != nil {
					t.Fatalf("%s: %v", prompt, e.Err)
				}
			}
		}
	}
	say("What is this?")
	for range a.Command("ask").Do(other.Name + " Would you?").(app.Play)(t.Context()) {
	}
	say("And now?")
	s.SetModel(speakers[1].endpoint())
	say("You go on.")

	history := s.History()
	var results []string
	for _, m := range history {
		for _, p := range m.Parts {
			if p.Kind == llm.Result {
				results = append(results, p.Text)
			}
		}
	}
	if len(results) != 2 || !strings.HasPrefix(results[0], "It is <right>. "+other.tag()) || results[1] != "It is in a.go. "+small.tag()+"\n\nLooked at:\nread a.go:1-1\nlist" {
		t.Errorf("results %q", results)
	}
	if len(history) != 8 || !slices.ContainsFunc(history[4].Parts, func(p llm.Part) bool { return strings.Contains(p.Text, "I would not. "+other.tag()) }) || !reflect.DeepEqual(llm.Repair(history), history) {
		t.Errorf("the conversation is %+v", history)
	}
	sums, err := lib.Ledger().Sums(time.Time{}, time.Time{}, "purpose")
	purposes := map[string]int{}
	for _, of := range sums {
		purposes[of.Purpose] = of.Requests
	}
	if want := map[string]int{"answer": 4, "consult": 2, "explore": 2}; err != nil || !reflect.DeepEqual(purposes, want) {
		t.Errorf("the ledger has %v, %v, want %v", purposes, err, want)
	}
}
