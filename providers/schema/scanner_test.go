package schema

import (
	"encoding/json"
	"testing"
)

func TestScanner(t *testing.T) {
	for _, test := range []struct {
		text     string
		ok       bool // every bracket closes the one opened last
		depth    int
		inString bool
		missing  string
	}{
		{`{"a":[1,{"b":"}]"}]}`, true, 0, false, ""},
		{`{"a":[{"b":1`, true, 3, false, "}]}"},
		{`["a\"]`, true, 1, true, "]"},
		{`["a\\"]`, true, 0, false, ""},
		{`{]`, false, 0, false, ""},
		{`}`, false, 0, false, ""},
	} {
		var s Scanner
		ok := true
		for i := range len(test.text) {
			ok = s.Step(test.text[i]) && ok
		}
		if ok != test.ok || s.Depth() != test.depth || s.InString() != test.inString || s.Missing() != test.missing {
			t.Errorf("%s: %v, depth %d, in a string %v, missing %q", test.text, ok, s.Depth(), s.InString(), s.Missing())
		}
	}
}

// Valid objects and arrays end at their last bracket and not before, and Missing closes them at any
// cut outside strings.
func FuzzScanner(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"}]"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || text[0] != '{' && text[0] != '[' {
			return
		}
		var s Scanner
		for i, c := range text {
			if i > 0 && s.Depth() == 0 && c > ' ' {
				t.Fatalf("%s ends before byte %d", text, i)
			}
			if !s.Step(c) {
				t.Fatalf("%s: byte %d closes nothing", text, i)
			}
		}
		if s.Depth() != 0 || s.InString() {
			t.Errorf("%s does not end", text)
		}
	})
}
