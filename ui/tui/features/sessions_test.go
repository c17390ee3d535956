package features

import "testing"

// While a search is typed, its last word is a prefix, from two letters on.
func TestUnfinished(t *testing.T) {
	for words, want := range map[string]string{
		"": "", "z": "z", "ze": "ze*", "blue zebr": "blue zebr*", "zebra ": "zebra ", "zebra.": "zebra.", "zebr*": "zebr*",
		"go-li": "go-li*", "go-l": "go-l", "größ": "größ*", "e\u0301": "e\u0301*", "東京": "東京*", "x 12": "x 12*", `"blue wh"`: `"blue wh"`,
	} {
		if got := unfinished(words); got != want {
			t.Errorf("%q is looked for as %q, want %q", words, got, want)
		}
	}
}
