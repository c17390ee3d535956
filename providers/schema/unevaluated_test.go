package schema

import (
	"encoding/json"
	"testing"
)

// If no other schema applies to a value, unevaluated properties and items are the additional
// ones. Elsewhere the keyword is ignored.
func TestUnevaluated(t *testing.T) {
	for _, tt := range []struct{ schema, value, err string }{
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":1}`, "b: unexpected property, there are a"},
		{`{"properties":{"a":{}},"unevaluatedProperties":{"type":"string"}}`, `{"b":1}`, "b: expected string, got number 1"},
		{`{"prefixItems":[{}],"unevaluatedItems":{"type":"string"}}`, `[1,"a"]`, ""},
		{`{"prefixItems":[{}],"unevaluatedItems":{"type":"string"}}`, `[1,1]`, "[1]: expected string, got number 1"},
		{`{"allOf":[{"properties":{"b":{}}}],"unevaluatedProperties":false}`, `{"b":1}`, ""},
		{`{"unevaluatedProperties":false,"additionalProperties":true}`, `{"b":1}`, ""},
	} {
		got := ""
		if err := Validate(json.RawMessage(tt.schema), []byte(tt.value)); err != nil {
			got = err.Error()
		}
		if got != tt.err {
			t.Errorf("%s for %s: got %q, want %q", tt.value, tt.schema, got, tt.err)
		}
	}
}

// TestEqualNumbers: numbers are equal only if their exact values are.
func TestEqualNumbers(t *testing.T) {
	for _, test := range []struct {
		schema, value string
		valid         bool
	}{
		{`{"uniqueItems":true}`, `[1339212345678901248,1339212345678901249]`, true},
		{`{"uniqueItems":true}`, `[1339212345678901248,1339212345678901248]`, false},
		{`{"uniqueItems":true}`, `[100,1e2]`, false},
		{`{"uniqueItems":true}`, `[0.10,1E-1]`, false},
		{`{"uniqueItems":true}`, `[0,-0.0]`, false},
		{`{"uniqueItems":true}`, `[1,-1,10,0.1,1e400,1e401,1e99999999999999999999]`, true},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, false},
		{`{"enum":[9007199254740993]}`, `9007199254740993.0`, true},
		{`{"const":1.5}`, `15e-1`, true},
	} {
		if err := Validate(json.RawMessage(test.schema), []byte(test.value)); (err == nil) != test.valid {
			t.Errorf("%s by %s: %v", test.value, test.schema, err)
		}
	}
}

// TestReferences: the target of a reference is described, for every form of reference.
func TestReferences(t *testing.T) {
	for raw, want := range map[string]string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/My%20List%3Cint%3E"},"b":{"$ref":"#/$defs/50%25~1day"},"c":{"$ref":"#/$defs/50%"}},
			"$defs":{"My List<int>":{"type":"integer"},"50%/day":{"type":"string"},"50%":{"type":"boolean"}}}`: `{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"}}`,
		`{"$id":"https://x.example/s.json","type":"object","properties":{"a":{"$ref":"https://x.example/s.json#/$defs/n"},"b":{"$ref":"T"},"c":{"$ref":"https://elsewhere.example/"}},
			"$defs":{"n":{"type":"integer"},"t":{"$id":"T","type":"string"}}}`: `{"a":{"type":"integer"},"b":{"type":"string"},"c":{}}`,
		`{"$id":"T0","type":"object","properties":{"next":{"$ref":"T0"}}}`: `{"next":{"type":"object","properties":{"next":{"type":"object"}}}}`, // TypeBox
	} {
		if got := string(For(json.RawMessage(raw), Gemini)); got != `{"type":"object","properties":`+want+`}` {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
