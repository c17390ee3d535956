package print

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/ui/cli/cmdutil"
)

// eventsSchema reads docs/events.schema.json, and the names under its $defs.
func eventsSchema(t *testing.T) (whole *jsonschema.Resolved, object *jsonschema.Resolved, names []string) {
	t.Helper()
	data, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for name := range s.Defs {
		names = append(names, name)
	}
	if whole, err = s.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	var o jsonschema.Schema
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	o.OneOf, o.Ref = nil, "#/$defs/object"
	if object, err = o.Resolve(nil); err != nil {
		t.Fatal(err)
	}
	return whole, object, names
}

// eventCases are events of each type, with all fields and with as few as possible.
var eventCases = []session.Event{
	llm.Delta{Part: llm.Part{Kind: llm.Text, Text: "hello"}}, llm.Delta{Part: llm.Part{Kind: llm.Thinking, Text: "hm"}},
	llm.Delta{Part: llm.Part{Kind: llm.Source, URL: "https://a.example"}},
	session.Call{Part: llm.Part{Kind: llm.Call, ID: "c", Name: "read", Input: `{"path":"a"}`}},
	session.Call{Part: llm.Part{Kind: llm.Call, ID: "c", Name: "read", Input: `{"pa`}},
	session.Decision{ID: "c", Verdict: act.Allow}, session.Decision{ID: "c", Verdict: act.Deny},
	session.Result{Part: llm.Part{Kind: llm.Result, ID: "c", Name: "read", Text: "x"}},
	session.Response{Message: llm.Message{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}, {Kind: llm.Source, Name: "A", URL: "https://a.example"}, {Kind: llm.Source, URL: "https://b.example"}}},
		UsageKnown: true, Usage: llm.Usage{Input: 9, CacheRead: 1, Output: 2, Thinking: 1, Cost: 0.1, Priced: true}},
	session.Response{UsageKnown: true, Usage: llm.Usage{Estimated: true}, Message: llm.Message{Interrupted: true}},
	session.Response{Message: llm.Message{}},
	savedMedia{part: llm.Part{MIME: "image/png"}, path: "a.png"}, savedMedia{part: llm.Part{URL: "https://a.example/a.png"}}, savedMedia{err: errors.New("full")},
	session.StructuredOutput{JSON: []byte(`[1]`)},
	llm.Notice{Text: "told"}, llm.Retry{Attempt: 1, Wait: time.Second, Fault: llm.Server},
	session.Fallback{From: "a/b", To: "c/d", Fault: llm.Quota}, session.ModelSwitched{From: "a/b", To: "c/d"},
	session.ModelSwitched{From: "a/b", To: "c/d", Changes: []llm.Change{{}}}, session.Compacted{Messages: 3, Before: 10, After: 4}, session.Sandbox{Text: "the sandbox undid it"},
	session.Done{Reason: llm.Stop}, session.Done{Reason: llm.Calls}, session.Done{Reason: llm.Refused}, session.Done{Reason: llm.Length}, session.Done{Reason: llm.Other},
	session.Done{Err: &llm.Error{Fault: llm.RateLimit, Wait: time.Minute}}, session.Done{Err: errors.New("broken")}, session.Done{Err: session.ErrSteps},
}

// TestEventsFitSchema verifies that the objects of -o jsonl and -o json match
// docs/events.schema.json, and that the schema lists nothing that is never printed.
func TestEventsFitSchema(t *testing.T) {
	whole, one, names := eventsSchema(t)
	seen := map[string]bool{"object": true}
	fits := func(schema *jsonschema.Resolved, data []byte) map[string]any {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		return v
	}
	line := func(o cmdutil.Object) {
		t.Helper()
		name, _ := fits(whole, []byte(jsonLine(o)))["type"].(string)
		seen[name] = true
	}
	s := session.New(session.Options{Model: llm.Endpoint{Name: "demo/parley"}})
	about := []cmdutil.PrintOptions{{}, {Answer: 1, Answers: 2, Model: "a/b"}, {Demo: func(string) bool { return true }}}
	for _, o := range about {
		line(append(cmdutil.Object{"type", "start"}, description(o, s)...))
	}
	for _, e := range eventCases {
		for _, o := range objects(e, 1) {
			line(o)
		}
	}
	var lines strings.Builder
	l := &jsonlWriter{o: cmdutil.PrintOptions{Out: &lines}}
	for _, e := range eventCases {
		if err := l.event(e, 0); err != nil {
			t.Fatal(err)
		}
	}
	for text := range strings.Lines(lines.String()) {
		fits(whole, []byte(text))
	}
	if want := `"exit":0,"sources":[{"number":1,"title":"A","url":"https://a.example"},{"number":2,"title":"","url":"https://b.example"}]}`; !strings.Contains(lines.String(), want) {
		t.Errorf("no %s in %s", want, lines.String())
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("nothing prints %s", name)
		}
	}
	for _, o := range about {
		for _, last := range eventCases {
			if _, ok := last.(session.Done); !ok {
				continue
			}
			var out strings.Builder
			o.Out = &out
			w := newJSONWriter(o, s)
			for _, e := range append(eventCases[:len(eventCases)-8:len(eventCases)-8], last) {
				if err := w.event(e, 1); err != nil {
					t.Fatal(err)
				}
			}
			fits(one, []byte(out.String()))
		}
	}
	var early strings.Builder
	cmdutil.Failure(&early, io.Discard, "json", errors.New("no key"), 3)
	fits(one, []byte(early.String()))
	for _, wrong := range []string{`{"type":"text"}`, `{"type":"done","finish_reason":"stop"}`, `{"type":"tool_call","id":"c","name":"x","arguments":[]}`} {
		var v any
		if json.Unmarshal([]byte(wrong), &v); whole.Validate(v) == nil {
			t.Errorf("%s fits", wrong)
		}
	}
}
