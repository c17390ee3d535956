package tools

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"parley/providers/schema"
)

// sampleSchema has an argument of every type.
func sampleSchema(t testing.TB) *argumentSchema {
	t.Helper()
	s, err := newArgumentSchema(json.RawMessage(`{"type":"object","properties":{
		"path":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"flag":{"type":"boolean"},
		"list":{"type":"array","items":{"type":"string"}},"nested":{"type":"object","additionalProperties":{"type":"integer"}},
		"deep":{"type":"object","properties":{"limit":{"type":"integer"}},"required":["limit"],"additionalProperties":false}
		},"required":["path"],"additionalProperties":false}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArguments(t *testing.T) {
	tests := []struct {
		name, input string
		want        string // the arguments, or
		err         string // a part of the error
	}{
		{name: "plain", input: `{ "path": "a", "count": 5 }`, want: `{"count":5,"path":"a"}`},
		{name: "number as text", input: `{"path":"a","count":"5","ratio":" 0.5 "}`, want: `{"count":5,"path":"a","ratio":0.5}`},
		{name: "whole number with a point", input: `{"path":"a","count":5.0}`, want: `{"count":5,"path":"a"}`},
		{name: "boolean as text", input: `{"path":"a","flag":"true"}`, want: `{"flag":true,"path":"a"}`},
		{name: "boolean of Python", input: `{"path":"a","flag":"True"}`, want: `{"flag":true,"path":"a"}`},
		{name: "list as text", input: `{"path":"a","list":"[\"x\"]"}`, want: `{"list":["x"],"path":"a"}`},
		{name: "object as text", input: `{"path":"a","deep":"{\"limit\":\"7\"}"}`, want: `{"deep":{"limit":7},"path":"a"}`},
		{name: "everything as text", input: `"{\"path\":\"a\"}"`, want: `{"path":"a"}`},
		{name: "null for an optional one", input: `{"path":"a","count":null}`, want: `{"path":"a"}`},
		{name: "text that looks like a number stays text", input: `{"path":"5"}`, want: `{"path":"5"}`},
		{name: "the last of two wins, and is shown", input: `{"path":"a","path":"b"}`, want: `{"path":"b"}`},
		{name: "markup is not escaped", input: `{"path":"<a>&"}`, want: `{"path":"<a>&"}`},
		{name: "large numbers stay exact", input: `{"path":"a","count":9007199254740993}`, want: `{"count":9007199254740993,"path":"a"}`},

		{name: "empty", input: ``, err: `path: missing, expected string`},
		{name: "null", input: `null`, err: `path: missing, expected string`},
		{name: "null for a required one", input: `{"path":null}`, err: `path: expected string, got null`},
		{name: "cut off", input: `{"path":"a`, err: `not valid JSON`},
		{name: "more behind it", input: `{"path":"a"} and so on`, err: `not valid JSON: "and so on" follows the end`},
		{name: "two objects", input: `{"path":"a"}{"path":"b"}`, err: `follows the end`},
		{name: "a list", input: `["a"]`, err: `must be one JSON object`},
		{name: "a text", input: `"a"`, err: `must be one JSON object`},
		{name: "wrong type", input: `{"path":5}`, err: `path: expected string, got number 5`},
		{name: "wrong type further down", input: `{"path":"a","deep":{"limit":"x"}}`, err: `deep.limit: expected integer, got string "x"`},
		{name: "not a number", input: `{"path":"a","count":"five"}`, err: `count: expected integer, got string "five"`},
		{name: "half a number", input: `{"path":"a","count":5.5}`, err: `count: expected integer, got number 5.5`},
		{name: "a number too large for JSON", input: `{"path":"a","ratio":1e999}`, err: `not valid JSON`},
		{name: "an object for a text", input: `{"path":{"a":{"b":null}}}`, err: `path: expected string, got an object with 1 properties`},
		{name: "a list for a number", input: `{"path":"a","count":[1,null]}`, err: `count: expected integer, got an array of 2 items`},
		{name: "unknown", input: `{"path":"a","paht":"b"}`, err: `paht: unexpected property, there are path, count`},
		{name: "unknown but for its case", input: `{"PATH":"a"}`, err: `PATH: unexpected property`},
		{name: "deeper than the decoder goes", input: strings.Repeat("[", 20_000), err: `not valid JSON`},
		{name: "long values are not repeated", input: `{"path":"a","count":"` + strings.Repeat("x", 10_000) + `"}`, err: `count: expected integer, got string "xxx`},
	}
	sample := sampleSchema(t)
	for _, test := range tests {
		got, err := parseArguments(sample, test.input)
		switch {
		case test.err == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.err == "" && string(got) != test.want:
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: got %s, %v, want %q", test.name, got, err, test.err)
		case err != nil && strings.ContainsAny(err.Error(), "<>%") || err != nil && strings.Contains(err.Error(), "map["):
			t.Errorf("%s: the error shows values as Go does: %v", test.name, err)
		case err != nil && len(err.Error()) > 1000:
			t.Errorf("%s: the error has %d bytes", test.name, len(err.Error()))
		}
	}
}

// TestMisfit checks that no error of any keyword shows how the validator sees
// values and schemas.
func TestMisfit(t *testing.T) {
	for _, tt := range []struct{ schema, args, want string }{
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["a"]}`, `{"a":null}`, "a: expected string or number, got null"},
		{`{"properties":{"a":{"enum":["x","y"]}}}`, `{"a":{"b":1}}`, `a: expected one of "x", "y", got an object with 1 properties`},
		{`{"properties":{"a":{"minimum":1.5}}}`, `{"a":1}`, "a: expected at least 1.5, got number 1"},
		{`{"properties":{"a":{"not":{"type":"object"}}}}`, `{"a":{"b":null}}`, "a: must not be object"},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[null,null]}`, "a: "},
		{`{"properties":{"a":{"unevaluatedProperties":false}}}`, `{"a":{"b":1}}`, "a.b: unexpected property"},
	} {
		_, resolved := externalSchema(json.RawMessage(tt.schema))
		if resolved == nil {
			t.Fatalf("%s is not checked", tt.schema)
		}
		_, err := parseArguments(resolved, tt.args)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "reflect") || strings.Contains(err.Error(), "map[") || strings.Contains(err.Error(), "schema") {
			t.Errorf("%s for %s: %v, want %q", tt.args, tt.schema, err, tt.want)
		}
	}
}

// Large arguments are no bad ones: what the schema's check leaves out, the tool looks at.
// They take little more memory than the decoding.
func TestLargeArguments(t *testing.T) {
	_, large := externalSchema(json.RawMessage(`{"type":"object","properties":{
		"list":{"type":"array","items":{"type":"integer"}},"text":{"type":"string","pattern":"^[\\s\\S]{1,200}"},"last":{"type":"integer"}}}`))
	numbers := strings.Repeat("1,", 110e3) + "1"
	for _, tt := range []struct{ name, input, err string }{
		{"a list", `{"list":[` + numbers + `]}`, ""},
		{"a text", `{"text":"` + strings.Repeat("x", 400e3) + `"}`, ""},
		{"a text, and a problem", `{"text":"` + strings.Repeat("x", 400e3) + `","last":"x"}`, `last: expected integer, got string "x"`},
		{"a list, and a problem before", `{"last":"x","list":[` + numbers + `]}`, `last: expected integer, got string "x"`},
		{"a list with a problem", `{"list":["x",` + numbers[:40e3+1] + `]}`, `list[0]: expected integer, got string "x"`},
		{"a list with problems only", `{"list":[` + strings.Repeat(`"x",`, 30e3) + `"x"]}`, `list[0]: expected integer, got string "x"`},
	} {
		var err error
		decoding := allocated(func() { _, _ = decodeJSON(tt.input) })
		parsing := allocated(func() { _, err = parseArguments(large, tt.input) })
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		t.Logf("%s: decoding %.1f MB, parsing %.1f MB", tt.name, decoding/1e6, parsing/1e6)
		if parsing > 8*decoding { // it decodes twice, and encodes once; all problems told came to 26
			t.Errorf("%s: parsing allocates %.1f MB, decoding %.1f MB", tt.name, parsing/1e6, decoding/1e6)
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

func TestRefusedArgumentsSayWhatIsTaken(t *testing.T) {
	f := open(t, nil)
	f.fails("read", []any{"path", "a", "limit", 5000},
		"bad arguments for read: limit: expected at most 2000, got number 5000",
		"read takes path (string, required), offset (integer), limit (integer 1 to 2000)")
	f.fails("shell", []any{"command", "x", "timeout", 601}, "timeout", "1 to 600")
	f.fails("grep", []any{"context", 3}, `pattern: missing, expected string`)
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"path":"a"}`, `{"path":"a","count":"5","deep":"{}"}`, `"{}"`, `{"path":null,"list":[1]}`, "{", "1e5"} {
		f.Add(seed)
	}
	sample := sampleSchema(f)
	f.Fuzz(func(t *testing.T, input string) {
		got, err := parseArguments(sample, input)
		if err != nil {
			return
		}
		if err := schema.Validate(sample.raw, got); err != nil {
			t.Fatalf("%q became %q: %v", input, got, err)
		}
		again, err := parseArguments(sample, string(got))
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q became %q and then %q, %v", input, got, again, err)
		}
	})
}
