package settings

import (
	"errors"
	"strings"
	"testing"
)

// sample are settings of all shapes.
type sample struct {
	Name  string           `toml:"name"`
	Sizes []int            `toml:"sizes"`
	Box   inner            `toml:"box"`
	Boxes map[string]inner `toml:"boxes"`
	flaw  error
}

type inner struct {
	Color string `toml:"color"`
}

func (s *sample) Validate() error { return s.flaw }

type clash struct{ here, there string }

func (c clash) Error() string              { return c.here + " and another" }
func (c clash) Keys() (here, there string) { return c.here, c.there }

func TestDecode(t *testing.T) {
	tests := []struct {
		name, text string
		flaw       error
		want       string
	}{
		{name: "nothing"},
		{name: "all shapes", text: "name = 'a'\nsizes = [1, 2]\n[box]\ncolor = 'red'\n[boxes.x]\ncolor = 'blue'\n"},
		{name: "unknown", text: "\nnme = 'a'\n", want: `2: unknown key "nme": did you mean "name"?`},
		{name: "nothing near", text: "zzzzzz = 1\n", want: `1: unknown key "zzzzzz": there are name, sizes, box, boxes`},
		{name: "unknown below a name of one's own", text: "[boxes.x]\ncolr = 'red'\n", want: `2: unknown key "boxes.x.colr": did you mean "color"?`},
		{name: "no table", text: "boxes = 1\n", want: "1: boxes has to be a table"},
		{name: "flaw of a key", text: "[box]\n\ncolor = 'red'\n", flaw: errors.New("box.color = \"red\": no"), want: `3: box.color = "red": no`},
		{name: "flaw of a key by dots", text: "box.color = 'red'\n", flaw: errors.New("box.color: no"), want: "1: box.color: no"},
		{name: "flaw of a table", text: "\n[boxes.x]\ncolor = 'red'\n", flaw: errors.New("boxes.x: no"), want: "2: boxes.x: no"},
		{name: "flaw of what is not said", text: "name = 'a'\n", flaw: errors.New("box.color: missing"), want: " box.color: missing"},
		{name: "flaw of no key", text: "name = 'a'\n", flaw: errors.New("no, not so"), want: " no, not so"},
		{name: "clash", text: "name = 'a'\n[box]\ncolor = 'red'\n", flaw: clash{"box.color", "name"}, want: "3: box.color and another, in line 1"},
		{name: "clash with what is not said", text: "name = 'a'\n", flaw: clash{"name", ""}, want: "1: name and another"},
	}
	for _, test := range tests {
		got := ""
		if err := Decode(test.text, &sample{flaw: test.flaw}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// FuzzDecode: no text keeps the program busy, panics it, or is repeated in the
// error where it is a value.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "name = 'secret-4711'", "[box]\ncolor=1", "boxes = [", "a.b.c = {d = 1}", "\ufeffname = \"\\u0000\"", "[[boxes]]\nx = 1979-05-27"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := Decode(text, &sample{})
		if err != nil && strings.Contains(text, "= 'secret-4711'") && strings.Contains(err.Error(), "secret-4711") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
