package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"parley/tools/act"
	"strings"
	"sync"
	"testing"
)

// echo is an external tool that answers with its arguments.
func echo(name, schema string) External {
	return External{
		Name: name, Description: "says it again", Schema: json.RawMessage(schema),
		Plan: func(_ context.Context, input json.RawMessage) (*act.Action, error) {
			return &act.Action{Access: act.AccessRun, Title: name, Do: func(context.Context, func(string)) act.Outcome {
				return act.Outcome{Text: string(input)}
			}}, nil
		},
	}
}

func TestExternalArguments(t *testing.T) {
	const city = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`
	const units = `{"type":"object","properties":{"units":{"type":"string","default":"metric"},"days":{"type":"integer","default":3}},"required":["units","days"]}`
	const refs = `{"type":"object","properties":{"unit":{"$ref":"#/$defs/a~1b"},"at":{"$ref":"#/$defs/at","default":{"days":1}},"days":{"type":"integer"}},
		"$defs":{"a/b":{"$ref":"#/$defs/unit"},"unit":{"type":"string","enum":["metric","us"],"default":"us"},"at":{"type":"object","properties":{"days":{"type":"integer","default":3},"next":{"$ref":"#/$defs/at"}},"required":["days"]}},
		"required":["unit","at"]}`
	const loop = `{"type":"object","properties":{"x":{"$ref":"#"}},"$ref":"#"}`
	tests := []struct {
		name, schema, input string
		want, err           string
	}{
		{"valid", city, `{"city":"Brno","days":2}`, `{"city":"Brno","days":2}`, ""},
		{"put right", city, `{"city":"Brno","days":"2"}`, `{"city":"Brno","days":2}`, ""},
		{"nothing", city, ``, "", "bad arguments for ext"},
		{"default of a required argument", units, `{}`, `{"days":3,"units":"metric"}`, ""},
		{"default, given", units, `{"days":1,"units":"us"}`, `{"days":1,"units":"us"}`, ""},
		{"default, within", `{"type":"object","properties":{"at":` + units + `}}`, `{"at":{"days":2}}`, `{"at":{"days":2,"units":"metric"}}`, ""},
		{"default of an optional argument", `{"type":"object","properties":{"a":{"default":1}}}`, `{}`, `{}`, ""},
		{"default of another type", `{"type":"object","properties":{"a":{"type":"integer","default":"many"}},"required":["a"]}`, `{}`, "", "bad arguments for ext"},
		{"default by reference", refs, `{"days":"2"}`, `{"at":{"days":1},"days":2,"unit":"us"}`, ""},
		{"default within a reference", refs, `{"at":{"next":{"next":{"days":"7"}}},"unit":"metric"}`, `{"at":{"days":3,"next":{"days":3,"next":{"days":7}}},"unit":"metric"}`, ""},
		{"wrong type by reference", refs, `{"unit":7}`, "", "bad arguments for ext"},
		{"wrong type behind a reference to itself", `{"type":"object","properties":{"x":{"$ref":"#"},"n":{"type":"integer"}}}`, `{"x":{"x":{"n":"a"}}}`, "", "x.x.n: expected integer"},
		{"reference to nothing", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none","default":1},"b":{"$ref":"#/$defs/none"},"d":{"$ref":"#anchor"}},"required":["a"]}`, `{"b":{"c":null},"d":{"a":null}}`, `{"a":1,"b":{"c":null},"d":{"a":null}}`, ""},
		{"wrong type", city, `{"city":7}`, "", "ext takes city (string, required), days (integer)"},
		{"broken", city, `{"city":`, "", "not valid JSON"},
		{"list", `{"type":"object"}`, `[1]`, "", "one JSON object"},
		{"extra", city, `{"city":"Brno","<b>":1}`, `{"<b>":1,"city":"Brno"}`, ""},
		{"no schema", ``, `{"a":[1,2.50]}`, `{"a":[1,2.50]}`, ""},
		{"broken schema", `{"type":`, `{"a":1}`, `{"a":1}`, ""},
		{"schema of a list", `{"type":"array"}`, `{"a":1}`, `{"a":1}`, ""},
		{"schema that is no schema", `{"type":"object","properties":7,"required":"x"}`, `{"a":1}`, `{"a":1}`, ""},
		{"bad pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`, `{"a":"1"}`, `{"a":"1"}`, ""},
		{"endless schema", loop, `{"x":{"x":{}}}`, `{"x":{"x":{}}}`, ""},
		{"schema elsewhere", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/s.json"}}}`, `{"a":1}`, `{"a":1}`, ""},
		{"deep schema", strings.Repeat(`{"items":`, 500) + "{}" + strings.Repeat("}", 500), `{"a":1}`, `{"a":1}`, ""},
	}
	for _, test := range tests {
		f := open(t, nil)
		if err := f.AddExternal(echo("ext", test.schema)); err != nil {
			t.Fatal(err)
		}
		action, err := f.Plan(t.Context(), "ext", test.input)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %v, want %s", test.name, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if out := action.Run(t.Context(), nil); out.Text != test.want || action.Tool != "ext" || string(action.Input) != test.want {
			t.Errorf("%s: got %s, action %+v, want %s", test.name, out.Text, action, test.want)
		}
	}
}

// Nothing that only a model sees hides in what it is told of a tool, and it can
// always be sent to a provider.
func TestExternalIsToldPlainly(t *testing.T) {
	hidden := "\U000E0069\U000E0067"
	f := open(t, nil)
	ext := echo("ext", `{"$ref":"#/x","properties":{"a":{"type":"string","description":"b`+hidden+`\u001b[2Jc","enum":["x\u200by"]},"q\u001b":{}}}`)
	ext.Description = "does " + hidden + "\x1b]52;c;eA==\a it\r\n" + strings.Repeat("ž", 2*maxDescription)
	if err := f.AddExternal(ext, echo("huge", `{"type":"object","description":"`+strings.Repeat("x", maxSchema)+`"}`)); err != nil {
		t.Fatal(err)
	}
	all := f.Tools()
	got, huge := all[len(all)-2], all[len(all)-1]
	want := `{"$ref":"#/x","properties":{"a":{"description":"bc","enum":["xy"],"type":"string"}},"type":"object"}`
	if string(got.Schema) != want {
		t.Errorf("got %s, want %s", got.Schema, want)
	}
	if !strings.HasPrefix(got.Description, "does  it\nž") || len(got.Description) > 2*maxDescription+100 {
		t.Errorf("got %d bytes of description: %.40q", len(got.Description), got.Description)
	}
	if string(huge.Schema) != anyObject {
		t.Errorf("got %d bytes of schema", len(huge.Schema))
	}
}

func TestAddAndReplace(t *testing.T) {
	f := open(t, nil)
	own := len(f.Tools())
	names := func() string { return strings.Join(f.toolNames()[own:], " ") }
	steps := []struct {
		do   func() error
		want string
		err  string
	}{
		{func() error { return f.AddExternal(echo("mcp__a__x", ""), echo("mcp__b__y", "")) }, "mcp__a__x mcp__b__y", ""},
		{func() error { return f.AddExternal(echo("mcp__a__x", "")) }, "mcp__a__x mcp__b__y", ""},
		{func() error { return f.AddExternal(echo("shell", ""), echo("a b", ""), echo("", ""), echo("ok", "")) },
			"mcp__a__x mcp__b__y ok", `3 tools ignored (name taken or invalid): "shell", "a b", ""`},
		{func() error { return f.ReplaceExternal("mcp__a__", []External{echo("mcp__a__z", "")}) }, "mcp__a__z mcp__b__y ok", ""}, // by name, whichever came first,
		{func() error { return f.ReplaceExternal("mcp__", nil) }, "ok", ""},
	}
	for i, step := range steps {
		err := step.do()
		if got := fmt.Sprint(err); step.err != got && (step.err != "" || err != nil) {
			t.Errorf("step %d: got error %v, want %q", i, err, step.err)
		}
		if names() != step.want {
			t.Errorf("step %d: got %s, want %s", i, names(), step.want)
		}
	}
}

// While a turn runs, the model is told of the same tools.
func TestSnapshotStays(t *testing.T) {
	f := open(t, nil)
	if err := f.AddExternal(echo("one", "")); err != nil {
		t.Fatal(err)
	}
	turn := f.Snapshot()
	before := fmt.Sprint(turn.Tools())
	var changes sync.WaitGroup
	for i := range 8 {
		changes.Go(func() {
			name := fmt.Sprintf("two%d", i)
			if err := f.AddExternal(echo(name, "")); err != nil {
				t.Error(err)
			}
			if err := f.ReplaceExternal("one", nil); err != nil {
				t.Error(err)
			}
			if _, err := turn.Plan(t.Context(), "one", "{}"); err != nil {
				t.Error(err)
			}
			f.Tools()
		})
	}
	changes.Wait()
	if after := fmt.Sprint(turn.Tools()); after != before {
		t.Errorf("got %s, before %s", after, before)
	}
	if _, err := f.Plan(t.Context(), "one", "{}"); err == nil {
		t.Error("a tool that was taken away can be called")
	}
	if got := len(f.Tools()) - len(turn.Tools()); got != 7 {
		t.Errorf("%d more tools than before, want 7", got)
	}
}
