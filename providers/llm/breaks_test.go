package llm_test

import (
	"reflect"
	"testing"

	. "parley/providers/llm"
)

// TestBreaks: a text continues the previous one unless a call, a result or the beginning of another
// message is between them.
func TestBreaks(t *testing.T) {
	sig := []byte(`{}`)
	a, b := text("and the"), text(" product of")
	for name, tt := range map[string]struct {
		between []Part
		want    string // of Text
		joined  bool   // by JoinedParts
	}{
		"nothing":               {nil, "and the product of", true},
		"a signature":           {[]Part{{Kind: Opaque, State: sig}}, "and the product of", true},
		"a signature of a text": {[]Part{{Kind: Text, State: sig}}, "and the product of", true},
		"thinking":              {[]Part{{Kind: Thinking, Text: "hm"}}, "and the product of", true},
		"a source":              {[]Part{{Kind: Source, URL: "https://a.example"}}, "and the product of", true},
		"an image":              {[]Part{{Kind: Media, Data: []byte{1}}}, "and the product of", false},
		"a call":                {[]Part{{Kind: Call, ID: "1", Remote: true}}, "and the\n\n product of", false},
		"a result":              {[]Part{{Kind: Result, ID: "1", Remote: true}}, "and the\n\n product of", false},
		"another message":       {[]Part{{Kind: Text, Begins: true}}, "and the\n\n product of", false},
	} {
		m := assistant("a", append(append([]Part{a}, tt.between...), b)...)
		before := assistant("a", append(append([]Part{a}, tt.between...), b)...)
		if got := m.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		parts := m.JoinedParts()
		if got := parts[0].Text == "and the product of"; got != tt.joined {
			t.Errorf("%s: joined as %+v", name, parts)
		}
		if !reflect.DeepEqual(m, before) {
			t.Errorf("%s: changed to %+v", name, m)
		}
		if m.Role = RoleUser; m.Text() != "and the\n\n product of" {
			t.Errorf("%s of a user: %q", name, m.Text())
		}
	}
}
