package sanitize

import (
	"encoding/json"
	"reflect"
	"testing"
)

// JSON escapes what is not seen, and the value stays the same.
func TestJSON(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing to escape", `{"a":"é日本\n"}`, `{"a":"é日本\n"}`},
		{"C1 and DEL", "\"\u009b2J\u007f\"", `"\u009b2J\u007f"`},
		{"right to left", "\"\u202eabc\"", `"\u202eabc"`},
		{"beyond 16 bits", "\"\U000e0041\"", `"\udb40\udc41"`},
	} {
		got := string(JSON([]byte(tt.in)))
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(tt.in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%s: %v and %v, which is not the same: %v", tt.name, before, after, err)
		}
	}
}
