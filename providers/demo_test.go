package providers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"parley/providers/agentcli"
	"parley/providers/catalog"
	"parley/providers/llm"
)

// workspace holds the files that the tools of a demo conversation see.
type workspace map[string]string

var offered = []llm.Tool{
	{Name: "list", Description: "List a folder.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	{Name: "read", Description: "Read a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "edit", Description: "Edit a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"}},"required":["path","old","new"]}`)},
}

// run answers a call as parley's tools do.
func (w workspace) run(t *testing.T, call llm.Part) llm.Part {
	t.Helper()
	result := llm.Part{Kind: llm.Result, ID: call.ID, Name: call.Name}
	arguments, ok := llm.Arguments(call.Input)
	if !ok {
		t.Fatalf("%s: arguments %q", call.Name, call.Input)
	}
	text, path := string(arguments), ""
	for file := range w {
		if strings.Contains(text, fmt.Sprintf("%q", file)) {
			path = file
		}
	}
	switch {
	case call.Name == "list":
		for _, file := range slices.Sorted(maps.Keys(w)) {
			result.Text += fmt.Sprintf("%s\t%d\n", file, len(w[file]))
		}
	case path == "":
		result.Text, result.Failed = "There is no such file.", true
	case call.Name == "read":
		for i, line := range strings.Split(strings.TrimSuffix(w[path], "\n"), "\n") {
			result.Text += fmt.Sprintf("%6d\t%s\n", i+1, line)
		}
	default:
		result.Text = "Edited " + path + "."
	}
	return result
}

// The demo answers through the real adapter: a conversation with tools, one with two parallel calls
// and one with two rounds.
func TestDemoConversation(t *testing.T) {
	e, err := Open(Default(), "demo", OpenOptions{Getenv: env(), Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	files := workspace{"a.txt": "alpha\n", "b.txt": "beta\nBETA\n"}
	var history []llm.Message
	for _, turn := range []struct {
		ask   string
		calls string // names, by round
		want  []string
	}{
		{"hello, my name is Ada", "", []string{"Hello!", "offline demo"}},
		{"list the files", "list", []string{"a.txt\t6", "b.txt\t10"}},
		{"read a.txt and b.txt", "read read", []string{"### read a.txt", "alpha", "### read b.txt", "BETA"}},
		{"replace alpha with omega in a.txt", "read; edit", []string{"`alpha`", "`omega`", "Edited a.txt."}},
		{"read missing.txt", "read", []string{"There is no such file."}},
		{"what did I ask before?", "", []string{"my name is Ada", "read missing.txt"}},
	} {
		history = append(history, llm.UserText(turn.ask))
		var rounds []string
		var answer llm.Message
		for {
			var reason llm.Reason
			if answer, reason = once(t, e, history); len(answer.Calls()) > 0 != (reason == llm.Calls) {
				t.Errorf("%q: %d calls, but the answer ends with %s", turn.ask, len(answer.Calls()), reason)
			}
			history = append(history, answer)
			if len(answer.Calls()) == 0 {
				break
			}
			var names []string
			results := llm.Message{Role: llm.RoleTool}
			for _, call := range answer.Calls() {
				names = append(names, call.Name)
				results.Parts = append(results.Parts, files.run(t, call))
			}
			rounds = append(rounds, strings.Join(names, " "))
			history = append(history, results)
		}
		if got := strings.Join(rounds, "; "); got != turn.calls {
			t.Errorf("%q: calls %q, want %q", turn.ask, got, turn.calls)
		}
		for _, want := range turn.want {
			if !strings.Contains(answer.Text(), want) {
				t.Errorf("%q:\n%s\n\nlacks %q", turn.ask, answer.Text(), want)
			}
		}
	}
}

func once(t *testing.T, e llm.Endpoint, history []llm.Message) (llm.Message, llm.Reason) {
	t.Helper()
	var d llm.Draft
	var finish llm.Finish
	var usage llm.Usage
	for event, err := range e.Stream(t.Context(), llm.Request{Messages: history, Tools: offered}) {
		if err != nil {
			t.Fatal(err)
		}
		switch event := event.(type) {
		case llm.Delta:
			d.Add(event)
		case llm.Usage:
			usage = event
		case llm.Finish:
			finish = event
		}
	}
	if usage.Input == 0 || usage.Output == 0 || !usage.Priced || usage.Cost != 0 {
		t.Errorf("usage %+v", usage)
	}
	return llm.Message{Role: llm.RoleAssistant, Origin: e.Origin, Model: e.Name, Parts: d.Complete()}, finish.Reason
}

func TestDemoThinksUnlessTold(t *testing.T) {
	e, err := Open(Default(), "demo", OpenOptions{Getenv: env(), Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	for effort, want := range map[llm.Effort]bool{"": true, llm.EffortOff: false, llm.EffortHigh: true} {
		thought := false
		for event, err := range e.Stream(t.Context(), llm.Request{Effort: effort, Messages: []llm.Message{llm.UserText("why is the sky blue?")}}) {
			if err != nil {
				t.Fatal(err)
			}
			d, ok := event.(llm.Delta)
			thought = thought || ok && d.Kind == llm.Thinking
		}
		if thought != want {
			t.Errorf("effort %q: it thinks: %v, want %v", effort, thought, want)
		}
	}
}

// The demo explains how to add a provider, so it must know exactly those that can be added.
func TestDemoKnowsTheProviders(t *testing.T) {
	e, err := Open(Default(), "demo", OpenOptions{Getenv: env(), Instant: true})
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := once(t, e, []llm.Message{llm.UserText("how do I add an API key?")})
	local, _ := once(t, e, []llm.Message{llm.UserText("how do I use a local model?")})
	for _, p := range catalog.Heads() {
		if _, built := familyOf(p.Kind); built && p.Local && p.Kind != kindDemo && !strings.Contains(local.Text(), p.BaseURL) {
			t.Errorf("the answer on local models lacks %s of %s", p.BaseURL, p.ID)
		} else if p.Local || slices.Contains(agentcli.Kinds, p.Kind) {
			continue // needs no key
		} else if len(p.Variables) > 0 {
			continue // needs more than a key; parley connect prompts for it
		} else if shown := strings.Contains(answer.Text(), p.KeyEnv[0]); shown != built {
			t.Errorf("the answer names %s of %s: %v, want %v", p.KeyEnv[0], p.ID, shown, built)
		}
	}
}
