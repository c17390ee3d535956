package adaptertest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// roundTrip checks that State goes back byte for byte, and that calls and results go back in order.
func (w Wire) roundTrip(t *testing.T) {
	first := Answer{Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "I need both."},
		{Kind: llm.Text, Text: "Let me look."},
		{Kind: llm.Call, ID: "call_1", Name: "read", Input: `{"path":"a.go"}`},
		{Kind: llm.Call, ID: "call_2", Name: "list", Input: `{}`},
	}, Reason: llm.Calls}
	if !w.Thinks {
		first.Parts = first.Parts[1:]
	}
	signed := slices.IndexFunc(first.Parts, func(p llm.Part) bool { return slices.Contains(w.Carries, p.Kind) })
	if signed >= 0 {
		first.Parts[signed].State = json.RawMessage(opaque)
	}
	s := serve(t, w.events(w.Encode(first), 0),
		w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	model := w.Open(t, s.URL)
	req := ask("Read and list")
	got := llmtest.Collect(t, model.Stream(t.Context(), req))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	written := llm.Message{Role: llm.RoleAssistant, Origin: w.Origin, Parts: got.Parts}
	req.Messages = append(req.Messages, written, results(written))
	var changes []llm.Change
	req.Messages, changes = llm.Portable(req.Messages, w.Origin)
	if len(changes) > 0 {
		t.Errorf("its own history was changed: %v", changes)
	}
	if got := llmtest.Collect(t, model.Stream(t.Context(), req)); got.Err != nil {
		t.Fatal(got.Err)
	}
	body := s.request(t, 1)
	if signed >= 0 && !bytes.Contains(body, []byte(opaque[1:len(opaque)-1])) {
		t.Errorf("the state did not go back: %s", body)
	}
	checkPaired(t, w.read(t, body), []string{"read", "list"})
}

// results returns a result for every call of m.
func results(m llm.Message) llm.Message {
	out := llm.Message{Role: llm.RoleTool}
	for _, c := range m.Calls() {
		out.Parts = append(out.Parts, llm.Part{Kind: llm.Result, ID: c.ID, Name: c.Name, Text: "result of " + c.Name})
	}
	return out
}

// checkPaired checks that a request contains these calls, in one message, and their results
// directly after them, linked by ids.
func checkPaired(t *testing.T, req llm.Request, names []string) {
	t.Helper()
	at := slices.IndexFunc(req.Messages, func(m llm.Message) bool { return len(m.Calls()) > 0 })
	if at < 0 {
		t.Fatalf("no calls in %+v", req.Messages)
	}
	calls := req.Messages[at].Calls()
	var answers []llm.Part
	for _, m := range req.Messages[at+1:] {
		for _, p := range m.Parts {
			if p.Kind == llm.Result {
				answers = append(answers, p)
			}
		}
	}
	if len(calls) != len(names) || len(answers) != len(names) {
		t.Fatalf("%d calls and %d results, want %d: %+v", len(calls), len(answers), len(names), req.Messages)
	}
	for i, name := range names {
		if calls[i].Name != name || calls[i].ID != answers[i].ID || !strings.Contains(answers[i].Text, "result of "+name) {
			t.Errorf("call %+v has the result %+v", calls[i], answers[i])
		}
	}
}

// foreign checks that a conversation with another provider can be continued.
func (w Wire) foreign(t *testing.T) {
	other := llm.Message{Role: llm.RoleAssistant, Origin: "elsewhere", Parts: []llm.Part{
		{Kind: llm.Thinking, Text: "A foreign thought", State: json.RawMessage(`"foreign-signature"`)},
		{Kind: llm.Text, Text: "One moment."},
		{Kind: llm.Opaque, State: json.RawMessage(`{"foreign":"item"}`)},
		{Kind: llm.Call, ID: "functions.read:0", Name: "read", Input: `{"path":"a"}`},
		{Kind: llm.Call, ID: strings.Repeat("long", 30), Name: "list", Input: ""},
	}}
	req := ask("Start")
	req.Messages = append(req.Messages, other, results(other), llm.Message{
		Role: llm.RoleAssistant, Origin: "elsewhere", Parts: []llm.Part{{Kind: llm.Text, Text: "Both are there."}},
	}, llm.UserText("Go on"))
	req.Messages, _ = llm.Portable(req.Messages, w.Origin)
	s := serve(t, w.events(w.Encode(Answer{Parts: []llm.Part{{Kind: llm.Text, Text: "Done."}}, Reason: llm.Stop}), 0))
	if got := llmtest.Collect(t, w.Open(t, s.URL).Stream(t.Context(), req)); got.Err != nil {
		t.Fatal(got.Err)
	}
	body := s.request(t, 0)
	if bytes.Contains(body, []byte("oreign")) {
		t.Errorf("foreign state or thinking was sent: %s", body)
	}
	got := w.read(t, body)
	checkPaired(t, got, []string{"read", "list"})
	for _, want := range []string{"One moment.", "Both are there.", "Go on"} {
		if !slices.ContainsFunc(got.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), want) }) {
			t.Errorf("%q is gone from %+v", want, got.Messages)
		}
	}
}
