package config

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
	Items []inner          `toml:"items"`
	More  []inner          `toml:"more"`
	On    bool             `toml:"on"`
	Ratio float64          `toml:"ratio"`
	Never string           `toml:"-"`
	flaw  error
}

type inner struct {
	Color string `toml:"color"`
}

func (s *sample) Validate() error { return s.flaw }

type clash struct{ here, there string }

func (c clash) Error() string              { return c.here + " and another" }
func (c clash) Keys() (here, there string) { return c.here, c.there }

// An itemFlaw is about the nth of the items.
type itemFlaw struct {
	n   int
	key string
}

func (f itemFlaw) Error() string               { return "items: no" }
func (f itemFlaw) Item() (string, int, string) { return "items", f.n, f.key }

func TestDecode(t *testing.T) {
	tests := []struct {
		name, text string
		flaw       error
		want       string
	}{
		{name: "nothing"},
		{name: "all shapes", text: "name = 'a'\nsizes = [1, 2]\n[box]\ncolor = 'red'\n[boxes.x]\ncolor = 'blue'\n"},
		{name: "unknown", text: "\nnme = 'a'\n", want: `2: unknown key "nme": did you mean "name"?`},
		{name: "nothing near", text: "zzzzzz = 1\n", want: `1: unknown key "zzzzzz": there are name, sizes, box, boxes, items, more, on, ratio`},
		{name: "unknown below a name of one's own", text: "[boxes.x]\ncolr = 'red'\n", want: `2: unknown key "boxes.x.colr": did you mean "color"?`},
		{name: "of a table", text: "color = 'red'\n", want: `1: unknown key "color": color goes into [box]`},
		{name: "behind a table", text: "[box]\nname = 'a'\n", want: `2: unknown key "box.name": name goes above the first [table]`},
		{name: "in a list of tables", text: "[[items]]\n  colr = 'red'\n", want: `2: unknown key "items.colr": did you mean "color"?`},
		{name: "in a table with a comment", text: "\n[box] # big = 1\ncolr = 'red'\n", want: `3: unknown key "box.colr": did you mean "color"?`},
		{name: "unknown table", text: "name = 'a'\n[zzzzzz.deep]\nx = 1\n", want: `2: unknown key "zzzzzz": there are name, sizes, box, boxes, items, more, on, ratio`},
		{name: "never read", text: "- = 'a'\n", want: `1: unknown key "-": there are name, sizes, box, boxes, items, more, on, ratio`},
		{name: "byte order mark", text: "\ufeffname = 'a'\n"},
		{name: "flaw after a byte order mark", text: "\ufeffname = 'a'\n", flaw: errors.New("name: no"), want: "1: name: no"},
		{name: "no table", text: "boxes = 1\n", want: "1: boxes has to be a table"},
		{name: "a number for a text", text: "\nname = 1\n", want: "2: name has to be text, and is a number"},
		{name: "a list for a text", text: "[boxes.x]\ncolor = ['red']\n", want: "2: boxes.x.color has to be text, and is a list"},
		{name: "a date for a text", text: "name = 1979-05-27\n", want: "1: name has to be text, and is a date"},
		{name: "tables for a text", text: "[[name]]\nx = 1\n", want: "1: name has to be text, and is a list of tables"},
		{name: "a table for a text", text: "[name]\nx = 1\n", want: "1: name has to be text, and is a table"},
		{name: "a text for a list", text: "sizes = 'x'\n", want: "1: sizes has to be a list, and is text"},
		{name: "texts for numbers", text: "sizes = ['x']\n", want: "1: sizes has to be a whole number, and is text"},
		{name: "a fraction for a number", text: "sizes = [1.5]\n", want: "1: sizes has to be a whole number, and is a decimal number"},
		{name: "a number for a table", text: "box = 1\n", want: "1: box has to be a table, and is a number"},
		{name: "a flag for a table", text: "boxes.x = true\n", want: "1: boxes.x has to be a table, and is a boolean"},
		{name: "a text for a flag", text: "on = 'x'\n", want: "1: on has to be true or false, and is text"},
		{name: "a text for a fraction", text: "ratio = 'x'\n", want: "1: ratio has to be a number, and is text"},
		{name: "a text for a list of tables", text: "items = 'x'\n", want: "1: items has to be a list, and is text"},
		{name: "flaw of a key", text: "[box]\n\ncolor = 'red'\n", flaw: errors.New("box.color = \"red\": no"), want: `3: box.color = "red": no`},
		{name: "flaw of a key by dots", text: "box.color = 'red'\n", flaw: errors.New("box.color: no"), want: "1: box.color: no"},
		{name: "flaw of a table", text: "\n[boxes.x]\ncolor = 'red'\n", flaw: errors.New("boxes.x: no"), want: "2: boxes.x: no"},
		{name: "flaw of an indented key", text: "[box]\n  color = 'red'\n", flaw: errors.New("box.color: no"), want: "2: box.color: no"},
		{name: "flaw of what its table does not say", text: "\n[boxes.x]\n", flaw: errors.New("boxes.x.color: missing"), want: "2: boxes.x.color: missing"},
		{name: "flaw of one with a longer name before it", text: "[boxes.x]\n[box]\n", flaw: errors.New("box: no"), want: "2: box: no"},
		{name: "flaw of a table by a key in it", text: "name = 'a'\nbox.color = 'red'\n", flaw: errors.New("box: no"), want: "2: box: no"},
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

// TestItems: an error about one of a list of tables has the line of its key, or of its table.
func TestItems(t *testing.T) {
	const text = "[[more]]\ncolor = 'red'\n[[items]]\ncolor = \"\"\"\n= x\n\"\"\"\n\n  [[ items ]]\n  color = 'blue'\n[box]\ncolor = 'red'\n[[items]]\n"
	for _, test := range []struct {
		text string
		flaw itemFlaw
		want string
	}{
		{text, itemFlaw{1, ""}, "3: items: no"},
		{text, itemFlaw{1, "color"}, "4: items: no"},
		{text, itemFlaw{1, "shade"}, "3: items: no"},
		{text, itemFlaw{2, ""}, "8: items: no"},
		{text, itemFlaw{2, "color"}, "9: items: no"},
		{text, itemFlaw{3, "color"}, "12: items: no"},
		{text, itemFlaw{4, ""}, "3: items: no"},
		{"\nitems = [{color = 'red'}]", itemFlaw{1, "color"}, "2: items: no"},
		{"name = 'a'", itemFlaw{1, "color"}, " items: no"},
	} {
		if err := Decode(test.text, &sample{flaw: test.flaw}); err == nil || err.Error() != test.want {
			t.Errorf("%v of %q: got %v, want %s", test.flaw, test.text, err, test.want)
		}
	}
}

func TestBounds(t *testing.T) {
	const deep = "tables in one another, more than 500"
	for _, test := range []struct{ name, text, want string }{
		{"large", strings.Repeat("#", 1<<20), ""},
		{"too large", strings.Repeat("#", 1<<20+1), " it has more than 1 MiB"},
		{"braces", "# " + strings.Repeat("{", 500), ""},
		{"too many braces", "\n\n# " + strings.Repeat("{", 501), "3: " + deep},
		{"closed braces", "# " + strings.Repeat("{}", 501), ""},
		{"dots", "# " + strings.Repeat(".", 500), ""},
		{"too many dots", "\n" + strings.Repeat("a.", 501) + "a = 1", "2: " + deep},
		{"dots of several keys", strings.Repeat("#"+strings.Repeat(".", 300)+"\n", 2), ""},
		{"dots after a key", "#" + strings.Repeat(".", 300) + "=" + strings.Repeat(".", 300) + " " + strings.Repeat(".", 300), ""},
	} {
		got := ""
		if err := Decode(test.text, &sample{}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// A value that is no TOML is not repeated: its quotes were forgotten, and it may be
// a key.
func TestNoValueIsTold(t *testing.T) {
	tests := []struct{ text, want string }{
		{"name = tCanarySecretKey", "1:8: expected a value; text stands in quotes"},
		{"name = fCanarySecretKey", "1:8: expected a value; text stands in quotes"},
		{"name = sk-canary", "1:8: expected a value; text stands in quotes"},
		{"name = [tCanarySecretKey]", "1:9: expected a value; text stands in quotes"},
		{"name = nCanarySecretKey\n", "1:8: expected a value; text stands in quotes"},
		{"name = iCanary", "1:8: expected a value; text stands in quotes"},
		{"name = 4711canary", "1:12: expected a top-level item to end with a newline, comment, or EOF, but got 'c' instead"},
		{"name = 47_11_canary", "1:8: Invalid integer …: underscores must be surrounded by digits"},
		{"name = 0047114711", "1:8: Invalid integer …: cannot have leading zeroes"},
		{"name = 47114711471147114711471147", "1:8: a number is out of range for int64"},
		{"name = 4711.4711e", "1:8: Invalid float value: …"},
		{"name = 4711-47-11", "1:8: invalid datetime: …"},
		{`name = "canary\xZZ"`, "1:9: expected two hexadecimal digits after '\\x', but got … instead"},
		{`name = "canary\uZZ"`, "1:9: expected four hexadecimal digits after '\\u', but got … instead"},
		{`name = "can\ary"`, "1:9: invalid escape in string '\\a'"},
		{"name = 'a'\nname = 'b'", "2:12: Key 'name' has already been defined."},
		{"name = 'canary", "1:14: unexpected EOF; expected \"'\""},
	}
	for _, test := range tests {
		err := Decode(test.text, &sample{})
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.text, err, test.want)
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
