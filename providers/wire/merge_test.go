package wire_test

import (
	"encoding/json"
	"testing"

	"parley/providers/wire"
)

// TestMerge checks how extra fields change those of a request.
func TestMerge(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		name        string
		body, extra object
		want        string
	}{
		{"a new field", object{"a": 1}, object{"b": 2}, `{"a":1,"b":2}`},
		{"another value", object{"a": 1}, object{"a": "x"}, `{"a":"x"}`},
		{"an object is merged", object{"a": object{"b": 1, "c": 1}}, object{"a": object{"c": 2}}, `{"a":{"b":1,"c":2}}`},
		{"an object in the place of a value", object{"a": 1}, object{"a": object{"c": 2}}, `{"a":{"c":2}}`},
		{"a list is added to", object{"tools": []any{1}}, object{"tools": []any{2}}, `{"tools":[1,2]}`},
		{"so are tables of TOML", object{"tools": []any{object{"a": 1}}}, object{"tools": []object{{"b": 2}}}, `{"tools":[{"a":1},{"b":2}]}`},
		{"and lists of one type", object{"stop": []string{"x"}}, object{"stop": []any{"y"}}, `{"stop":["x","y"]}`},
		{"a conversation is replaced", object{"contents": []any{1}, "input": []any{1}}, object{"contents": []any{2}, "input": []any{2}}, `{"contents":[2],"input":[2]}`},
	} {
		before, _ := json.Marshal(tt.body["a"])
		inner, _ := tt.body["a"].(object)
		wire.Merge(tt.body, tt.extra)
		if got, _ := json.Marshal(tt.body); string(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if after, _ := json.Marshal(inner); inner != nil && string(after) != string(before) {
			t.Errorf("%s: the object itself was changed: %s", tt.name, after)
		}
	}
}
