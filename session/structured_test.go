package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/schema"
	"parley/providers/schema/fit"
	. "parley/session"
	"parley/tools"
	"parley/tools/act"
)

// city holds the schema most of these tests ask for.
const city = `{"type":"object","properties":{"name":{"type":"string"},"people":{"type":"integer","minimum":1}},"required":["name","people"],"additionalProperties":false}`

func structured(events []Event) (out []string) {
	for _, e := range events {
		if s, ok := e.(StructuredOutput); ok {
			out = append(out, string(s.JSON))
		}
	}
	return out
}

func TestStructured(t *testing.T) {
	const right = `{"name":"Brno","people":400000}`
	tests := []struct {
		name   string
		schema string // "" is city
		turns  []llmtest.Turn
		want   string
		asked  int // requests
		steps  int
		err    error
		reason llm.Reason
	}{
		{name: "right", turns: []llmtest.Turn{llmtest.Say(right)}, want: right, asked: 1, reason: llm.Stop},
		{name: "made compact", turns: []llmtest.Turn{llmtest.Say("{\n  \"name\": \"Brno\",\n", "  \"people\": 400000\n}\n")}, want: right, asked: 1, reason: llm.Stop},
		{name: "in a fence, with words around it", turns: []llmtest.Turn{llmtest.Say("Here it is:\n\n```json\n" + right + "\n```\n\nAnything else?")}, want: right, asked: 1, reason: llm.Stop},
		{name: "slightly broken", turns: []llmtest.Turn{llmtest.Say(`{name: 'Brno', "people": 400000,}`)}, want: right, asked: 1, reason: llm.Stop},
		{name: "a number in quotes", turns: []llmtest.Turn{llmtest.Say(`{"name":"Brno","people":"400000"}`)}, want: right, asked: 1, reason: llm.Stop},
		{name: "wrong, then right", turns: []llmtest.Turn{llmtest.Say(`{"name":"Brno"}`), llmtest.Say(right)}, want: right, asked: 2, reason: llm.Stop},
		{name: "prose, nothing, then right", turns: []llmtest.Turn{llmtest.Say("Brno, of course."), llmtest.Say(), llmtest.Say(right)}, want: right, asked: 3, reason: llm.Stop},
		{name: "always wrong", turns: []llmtest.Turn{llmtest.Say("1"), llmtest.Say("[]"), llmtest.Say(`{"name":5}`)}, asked: 3, err: ErrSchema},
		{name: "half of it is not repaired", turns: []llmtest.Turn{llmtest.Say(`{"name":"Brno","people":4`), llmtest.Say(right)}, want: right, asked: 2, reason: llm.Stop},
		{name: "no request is left to ask again", turns: []llmtest.Turn{llmtest.Say("no")}, asked: 1, steps: 1, err: ErrSchema},
		{name: "cut at its limit", turns: []llmtest.Turn{end(llm.Length, right)}, asked: 1, reason: llm.Length},
		{name: "refused", turns: []llmtest.Turn{end(llm.Refused, "I will not.")}, asked: 1, reason: llm.Refused},
		{name: "a tool before it", turns: []llmtest.Turn{llmtest.Call(call("1", "read", `{"path":"a.txt"}`)), llmtest.Say(right)}, want: right, asked: 2, reason: llm.Stop},
		{name: "not an object", schema: `{"type":"array","items":{"type":"integer"}}`, turns: []llmtest.Turn{llmtest.Say(`{"value":[1,2]}`)}, want: `[1,2]`, asked: 1, reason: llm.Stop},
		{name: "not an object, and not of a type", schema: `{"enum":["yes","no"]}`, turns: []llmtest.Turn{llmtest.Say(`{"value":"yes"}`)}, want: `"yes"`, asked: 1, reason: llm.Stop},
		{name: "an object with a value", schema: `{"type":"object","properties":{"value":{"type":"integer"}}}`, turns: []llmtest.Turn{llmtest.Say(`{"value":5}`)}, want: `{"value":5}`, asked: 1, reason: llm.Stop},
		{name: "not valid UTF-8", schema: `{"type":"string"}`, turns: []llmtest.Turn{llmtest.Say("\"a\x9bb\"")}, want: "\"a\uFFFDb\"", asked: 1, reason: llm.Stop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.schema == "" {
				tt.schema = city
			}
			want, err := fit.Repairer{}.Parse([]byte(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			set, _ := workspace(t)
			fake := llmtest.New(tt.turns...)
			s := New(Options{Model: endpoint("a/m", fake), Tools: set, Policy: tools.NewPolicy(act.ModeAsk), AnswerSchema: want, Schemas: fit.Repairer{}, MaxSteps: tt.steps})
			events := play(context.Background(), s, allow, say("Which city?"))
			got := structured(events)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || got[0] != tt.want) {
				t.Errorf("structured %q, want %q", got, tt.want)
			}
			done := doneOf(t, events)
			if !errors.Is(done.Err, tt.err) || done.Reason != tt.reason {
				t.Errorf("done with %q, %v; want %q, %v", done.Reason, done.Err, tt.reason, tt.err)
			}
			if n := len(fake.Requests()); n != tt.asked {
				t.Errorf("%d requests, want %d", n, tt.asked)
			}
			for _, req := range fake.Requests() {
				if req.AnswerSchema == nil || string(req.AnswerSchema.JSON) != tt.schema {
					t.Errorf("a request asks for %+v", req.AnswerSchema)
				}
			}
			if err := valid(s.History()); err != nil {
				t.Error(err)
			}
		})
	}
}

// end answers with text that ends for this reason.
func end(reason llm.Reason, text string) llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Text, Text: text}}, llm.Finish{Reason: reason})
}

// TestCorrection: the model is told what is wrong, the user that it was.
func TestCorrection(t *testing.T) {
	want, err := fit.Repairer{}.Parse([]byte(city))
	if err != nil {
		t.Fatal(err)
	}
	huge := strings.Repeat("long", 10_000)
	fake := llmtest.New(llmtest.Say(`{"name":"Brno","people":0}`), llmtest.Say(`{"`+huge+`":1}`), llmtest.Say(`{"name":"Brno","people":1}`))
	s := New(Options{Model: endpoint("a/m", fake), AnswerSchema: want, Schemas: fit.Repairer{}})
	events := play(context.Background(), s, allow, say("Which city?"))
	var notices, prompts []string
	for _, e := range events {
		switch e := e.(type) {
		case llm.Notice:
			notices = append(notices, e.Text)
		case Prompt:
			prompts = append(prompts, e.Message.Text())
		}
	}
	if len(notices) != 2 || !strings.Contains(notices[0], "people") || !strings.HasSuffix(notices[1], "(2 of 2)") {
		t.Errorf("notices %q", notices)
	}
	if len(prompts) != 3 || !strings.Contains(prompts[1], "people") || !strings.Contains(prompts[1], city) {
		t.Errorf("prompts %q", prompts)
	}
	if len(prompts) == 3 && len(prompts[2]) > 4096 {
		t.Errorf("the second correction has %d bytes", len(prompts[2]))
	}
	last := fake.Requests()[2].Messages
	if n := len(last); n != 5 || last[n-1].Role != llm.RoleUser {
		t.Errorf("the last request holds %+v", last)
	}
}

func TestSchema(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"object", city, ""},
		{"empty", `{}`, ""},
		{"recursive", `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`, ""},
		{"a property called type", `{"properties":{"type":{"type":"string"},"required":{"type":"boolean"},"properties":true}}`, ""},
		{"types", `{"type":["string","null"]}`, ""},
		{"byte order mark and white space", "\ufeff {\"type\":\"string\"}\n", ""},
		{"look-around in a pattern", `{"type":"string","pattern":"^(?!x)"}`, ""},
		{"draft 4 and 7", `{"definitions":{"a":{"minimum":0,"exclusiveMinimum":true}},"items":[{"type":"string"}],"dependencies":{"a":["b"]}}`, ""},
		{"own keywords", `{"type":"object","x-order":["a"],"nullable":true}`, ""},
		{"nothing", ``, "not a JSON Schema: not valid JSON"},
		{"not JSON", `{"type":`, "not valid JSON"},
		{"two values", `{} {}`, "not valid JSON"},
		{"list", `[{"type":"string"}]`, "expected object"},
		{"boolean", `true`, "expected object"},
		{"unknown type", `{"type":"strng"}`, "type: "},
		{"unknown type, nested", `{"properties":{"a":{"items":{"type":["text"]}}}}`, "properties.a.items.type"},
		{"required is no list", `{"properties":{"a":{"required":true}}}`, "properties.a.required"},
		{"a property is no schema", `{"properties":{"a":"string"}}`, "properties.a"},
		{"length below 0", `{"minLength":-1}`, "minLength"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fit.Repairer{}.Parse([]byte(tt.in))
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "":
				if got.Name == "" || len(got.JSON) == 0 || got.JSON[0] != '{' {
					t.Errorf("got %+v", got)
				}
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// FuzzStructured: whatever a model says, what comes out is one line of JSON that
// fits the schema, or ErrSchema.
func FuzzStructured(f *testing.F) {
	for _, text := range []string{`{"name":"Brno","people":4}`, "```json\n{name:'a',people:'5',}\n```", `{"value":[1]}`, "[1,", "\xff", "null", "\u2028"} {
		f.Add(city, text)
		f.Add(`{"type":"array","items":{"type":"integer"}}`, text)
	}
	f.Fuzz(func(t *testing.T, like, text string) {
		want, err := fit.Repairer{}.Parse([]byte(like))
		if err != nil {
			t.Skip("not a schema")
		}
		s := New(Options{Model: endpoint("a/m", llmtest.New(llmtest.Say(text))), AnswerSchema: want, Schemas: fit.Repairer{}, MaxSteps: 1})
		events := play(context.Background(), s, allow, say("go on"))
		got := structured(events)
		err = doneOf(t, events).Err
		switch {
		case errors.Is(err, ErrSchema) && len(got) == 0:
		case err != nil || len(got) != 1:
			t.Fatalf("structured %q, %v", got, err)
		case !json.Valid([]byte(got[0])) || !utf8.ValidString(got[0]) || strings.ContainsAny(got[0], "\r\n"):
			t.Errorf("not one line of JSON: %q", got[0])
		case schema.Validate(want.JSON, []byte(got[0])) != nil:
			t.Errorf("%s does not fit %s", got[0], like)
		}
	})
}
