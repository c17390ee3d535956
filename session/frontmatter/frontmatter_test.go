package frontmatter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode"

	"parley/session/frontmatter"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		name, text, head, body string
		line                   int
		err                    string
	}{
		{"none", "hello\n---\n", "", "hello\n---\n", 1, ""},
		{"empty", "", "", "", 1, ""},
		{"whole", "---\na: b\n---\nbody\n", "a: b\n", "body\n", 4, ""},
		{"nothing in it", "---\n---\nbody", "", "body", 3, ""},
		{"byte order mark and CRLF", "\ufeff---\r\na: b\r\n---\r\nbody", "a: b\r\n", "body", 4, ""},
		{"no end", "---\na: b\nbody", "", "---\na: b\nbody", 1, "1: the front matter does not end: a line of --- is missing"},
		{"ended by dots", "---  \na: b\n... \nbody", "a: b\n", "body", 4, ""},
		{"ended by the end", "---\na: b\n---", "a: b\n", "", 4, ""},
		{"a line alone", "---", "", "---", 1, ""},
		{"a longer line", "----\n---\n", "", "----\n---\n", 1, ""},
		{"a rule further down", "\n---\n---\n", "", "\n---\n---\n", 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head, body, line, err := frontmatter.Split(tt.text)
			if head != tt.head || body != tt.body || line != tt.line {
				t.Errorf("got %q, %q, %d", head, body, line)
			}
			if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestParse holds what is read of what people write, as JSON.
func TestParse(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a text", "description: Review a change", `{"description":"Review a change"}`},
		{"comments and blank lines", "# first\n\na: b # behind\nc: d#e", `{"a":"b","c":"d#e"}`},
		{"a colon that wants quotes", "description: Use when: the tests fail", `{"description":"Use when: the tests fail"}`},
		{"a star and an at sign", "a: *.go\nb: @file\nc: `x`", "{\"a\":\"*.go\",\"b\":\"@file\",\"c\":\"`x`\"}"},
		{"brackets that are no list", "argument-hint: [file] [mode]", `{"argument-hint":"[file] [mode]"}`},
		{"quotes that are a part", `a: "x" and "y"`, `{"a":"\"x\" and \"y\""}`},
		{"quotes", `a: "x: #\n\u00e9\q"` + "\nb: 'it''s'", `{"a":"x: #\né\\q","b":"it's"}`},
		{"quotes over lines", "a: \"one\n  two\n\n  three\"\nb: c", `{"a":"one two\nthree","b":"c"}`},
		{"a text over lines", "a: one\n  two # no\n  three\nb: c", `{"a":"one two three","b":"c"}`},
		{"a text below", "a:\n  one\n  two\nb: c", `{"a":"one two","b":"c"}`},
		{"a block", "a: |\n  one\n    two\n\n  three\n\nb: c", `{"a":"one\n  two\n\nthree\n","b":"c"}`},
		{"a block without its end", "a: |-\n  one\n\n", `{"a":"one"}`},
		{"a block with all of its end", "a: |+\n  one\n\nb: c", `{"a":"one\n\n","b":"c"}`},
		{"a block that says its indentation", "a: |2\n   one\n  two", `{"a":" one\ntwo\n"}`},
		{"a folded block", "a: >\n  one\n  two\n\n  three\n", `{"a":"one two\nthree\n"}`},
		{"a block with keys and dashes", "a: |\n  k: v\n  - x\n  # no comment\nb: c", `{"a":"k: v\n- x\n# no comment\n","b":"c"}`},
		{"an arrow", "a: > 3 items\nb: |pipe", `{"a":"> 3 items","b":"|pipe"}`},
		{"a list", "tools:\n  - read\n  - 'grep'\nb: c", `{"tools":["read","grep"],"b":"c"}`},
		{"a list that is not indented", "tools:\n- read\n- grep\nb: c", `{"tools":["read","grep"],"b":"c"}`},
		{"a list in brackets", `tools: [read, "a, b", ]  # x`, `{"tools":["read","a, b"]}`},
		{"a list in brackets over lines", "tools: [\n  read,\n  grep\n]\nb: c", `{"tools":["read","grep"],"b":"c"}`},
		{"a map", "metadata:\n  author: me\n  deep:\n    k: v\nb: c", `{"metadata":{"author":"me","deep":{"k":"v"}},"b":"c"}`},
		{"a map in brackets", `options: {temperature: 0.2, stop: ["a"], "x y": 'z'}`, `{"options":{"temperature":0.2,"stop":["a"],"x y":"z"}}`},
		{"maps in a list", "a:\n  - name: x\n    n: 1\n  - name: y\n", `{"a":[{"name":"x","n":1},{"name":"y"}]}`},
		{"lists in a list", "a:\n  - - 1\n    - 2\n  - - 3\n", `{"a":[[1,2],[3]]}`},
		{"kinds", "a: 3\nb: '3'\nc: true\nd: ~\ne:\nf: 1.5e3\ng: 007", `{"a":3,"b":"3","c":true,"d":null,"e":null,"f":1.5e3,"g":"007"}`},
		{"a key in quotes", `"a b": c`, `{"a b":"c"}`},
		{"an address", "a: https://example.com/x?y=1", `{"a":"https://example.com/x?y=1"}`},
		{"nothing", "# nothing\n", `{}`},
		{"no key", "a: b\njust text\n", "2: a key and a colon are expected, as in description: text"},
		{"a list alone", "- a\n", "1: a key and a colon are expected, as in description: text"},
		{"twice", "a: b\nc: d\na: e", `3: the key "a" is there twice`},
		{"a tab", "a:\n\tb: c", "2: it is indented with a tab: use spaces"},
		{"too far", "a: 'b'\n  c: d", "2: it is indented more than the line above it"},
		{"not far enough", "  a: b\nc: d", "2: it is indented less than what it belongs to"},
		{"an anchor", "a: &x\n  b: c", "1: anchors and tags of YAML are not supported here"},
		{"a list that does not end", "a: b\ntools: [read, edit\nc: d", `2: "[" is not closed: "]" is missing, or quotes around a text`},
		{"a map that does not end", "a: {b: c", `1: "{" is not closed: "}" is missing, or quotes around a text`},
		{"a bell", "a: b\nc: \a", "2: it contains the control character U+0007"},
		{"an alias", "a: &x b\nc: *x", `{"a":"&x b","c":"*x"}`},
		{"a bomb", "a: &x\n  - b\nc: [*x, *x]", "1: anchors and tags of YAML are not supported here"},
		{"a tag", "a: !!str b", "1: anchors and tags of YAML are not supported here"},
		{"an exclamation", "a: !important: read it", `{"a":"!important: read it"}`},
		{"two documents", "a: b\n---\nc: d", "2: a second document begins"},
		{"a key that is a list", "? [a]\n: b", "1: a key and a colon are expected, as in description: text"},
		{"a dash below keys", "a:\n  b: c: d\n  e: |\n    f: g: h\n- x", "5: it is indented more than the line above it"},
		{"colons in a map in a list", "a:\n  - b: c: d\n    e: 3\n  - f: *", `{"a":[{"b":"c: d","e":3},{"f":"*"}]}`},
		{"a colon before a block", "a: b: c\nd: |\n  e: f: g\nh: 3", `{"a":"b: c","d":"e: f: g\n","h":3}`},
		{"quotes without an end", `a: 'tis so`, `{"a":"'tis so"}`},
		{"NUL", "a: b\nc: \x00", "2: it contains a NUL byte"},
		{"NUL at once", "\x00a: b", "1: it contains a NUL byte"},
		{"other line breaks", "a: b\r\nc: d\re\n", `{"a":"b","c":"de"}`},
		{"not a character", "a: \uffff", "1: it contains the control character U+FFFF"},
		{"largest", "a: b\n#" + strings.Repeat("x", 256<<10-6), `{"a":"b"}`},
		{"too large", "a: b\n#" + strings.Repeat("x", 256<<10-5), "1: it has more than 256 KB"},
		{"deepest", nested(19), strings.Repeat(`{"a":`, 20) + `"b"` + strings.Repeat("}", 20)},
		{"one deeper", nested(20), "21: values are nested too deeply"},
		{"an empty key", `"": b`, "1: a key and a colon are expected, as in description: text"},
		{"words of YAML", "a: null\nb: \"true\"\nc: yes\nd: 1e5\ne: .5\nf: false\ng: -0", `{"a":null,"b":"true","c":"yes","d":1e5,"e":".5","f":false,"g":-0}`},
		{"signs of HTML", "<a>: '&'", `{"<a>":"&"}`},
		{"too deep", strings.Repeat("a: \n", 1) + nested(40), "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := frontmatter.Parse(tt.text, 1)
			got := string(v.JSON())
			if err != nil {
				got = err.Error()
				var line *frontmatter.Error
				if !errors.As(err, &line) || line.Line < 1 {
					t.Errorf("the error has no line: %v", err)
				}
			}
			if got != tt.want && (err == nil || !strings.HasSuffix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func nested(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String() + strings.Repeat(" ", n+1) + "a: b"
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"x: read grep":                     {"read", "grep"},
		"x: Read, Bash(git log, *) , Grep": {"Read", "Bash(git log, *)", "Grep"},
		"x: Bash(git log:*) Read":          {"Bash(git log:*)", "Read"},
		"x: [a, b]":                        {"a", "b"},
		"x:\n - a\n - b":                   {"a", "b"},
		"x:":                               nil,
		"x: |\n  a\n  b\tc":                {"a", "b", "c"},
		"x: a(b c":                         {"a(b c"},
		"x: a) b":                          {"a)", "b"},
		"x: a, b c,":                       {"a", "b c"},
		"x: [a, '', b]":                    {"a", "b"},
		"x: \"with, quotes\"":              {"with", "quotes"},
	} {
		v, err := frontmatter.Parse(text, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := v.Get("x")
		if got := x.Words(); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Every text comes back from the quotes and the block that hold it.
func TestRoundTrip(t *testing.T) {
	whole := func(s string) bool {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == '\ufeff' || r == '\ufffe' || r == '\uffff' { // YAML allows none of them
				return 'x'
			}
			return r
		}, strings.ToValidUTF8(s, ""))
		quoted, _ := json.Marshal(s)
		v, err := frontmatter.Parse("a: "+string(quoted), 1)
		a, _ := v.Get("a")
		if err != nil || a.Text != s {
			t.Logf("%q as %s: %q, %v", s, quoted, a.Text, err)
			return false
		}
		return true
	}
	if err := quick.Check(whole, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"a: b", "a:\n - b", "a: |\n  x\n", "a: [b, {c: d}]", "- a: b", "a: \"\\u00e9\"", "a: 'x", "a: >+2\n   x", "\ta: b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := frontmatter.Parse(text, 1)
		if err != nil {
			var line *frontmatter.Error
			if !errors.As(err, &line) || line.Line < 1 || line.Line > strings.Count(text, "\n")+1 {
				t.Errorf("no line of the text: %v", err)
			}
			return
		}
		if !json.Valid(v.JSON()) {
			t.Errorf("no JSON: %s", v.JSON())
		}
	})
}
