package schema

import (
	"encoding/json"
	"testing"
)

// Where no other schema applies to a value, unevaluated properties and items are the additional
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
