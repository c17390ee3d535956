package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// A change keeps comments, order and spaces, and changes nothing else.
func TestEdited(t *testing.T) {
	for _, test := range []struct{ name, text, key, value, want string }{
		{"empty file", "", "model", `"a/b"`, "model = \"a/b\"\n"},
		{"empty file, in a table", "", "ui.theme", `"nord"`, "[ui]\ntheme = \"nord\"\n"},
		{"value", "# mine\nmodel   =  'a/b'   # why\nmode = \"ask\"\n", "model", `"c/d"`, "# mine\nmodel   =  \"c/d\"   # why\nmode = \"ask\"\n"},
		{"value with a #", "[ui]\nstatus_command = \"a # b\" # c\n", "ui.status_command", `"x"`, "[ui]\nstatus_command = \"x\" # c\n"},
		{"list of several lines", "fallback = [\n  \"a]\", # first\n  \"b\",\n] # end\nmode = \"ask\"\n", "fallback", `["c"]`, "fallback = [\"c\"] # end\nmode = \"ask\"\n"},
		{"text of several lines", "system = \"\"\"\none\n[ui]\n\"\"\"\nmode = \"ask\"\n", "system", `"x"`, "system = \"x\"\nmode = \"ask\"\n"},
		{"removed", "model = \"a/b\"\n# stays\nmode = \"ask\"\n", "mode", "", "model = \"a/b\"\n# stays\n"},
		{"new, in a table", "[ui]\n# dark\ntheme = \"dark\"\n\n[budget]\nday = 1\n", "ui.vim", "true", "[ui]\n# dark\ntheme = \"dark\"\nvim = true\n\n[budget]\nday = 1\n"},
		{"new, without a table", "# about\nmodel = \"a\"\n\n# the screen\n[ui]\nvim = true\n", "mode", `"ask"`, "# about\nmodel = \"a\"\nmode = \"ask\"\n\n# the screen\n[ui]\nvim = true\n"},
		{"new, above the first table", "# about\n\n# the screen\n[ui]\nvim = true\n", "mode", `"ask"`, "# about\n\nmode = \"ask\"\n\n# the screen\n[ui]\nvim = true\n"},
		{"beside the commented example", "# The mode.\n# mode = \"ask\"\n\n# Turns.\n# max_turns = 0\n", "mode", `"auto"`, "# The mode.\n# mode = \"ask\"\nmode = \"auto\"\n\n# Turns.\n# max_turns = 0\n"},
		{"beside the commented example of a table", "[ui]\n# theme = \"auto\"\n\n# vim = false\n\n[keys]\n# vim = 1\n", "ui.vim", "true", "[ui]\n# theme = \"auto\"\n\n# vim = false\nvim = true\n\n[keys]\n# vim = 1\n"},
		{"dotted", "ui.theme = \"dark\"\nmode = \"ask\"\n", "ui.vim", "true", "ui.theme = \"dark\"\nui.vim = true\nmode = \"ask\"\n"},
		{"quoted names", "[aliases]\n\"a b\" = \"x\"\n", `aliases."a b"`, `"y"`, "[aliases]\n\"a b\" = \"y\"\n"},
		{"in a table of several names", "[mcp.a]\ncommand = \"x\"\n", "mcp.b.command", `"y"`, "[mcp.a]\ncommand = \"x\"\n\n[mcp.b]\ncommand = \"y\"\n"},
		{"without a newline at the end", "model = \"a\"", "mode", `"ask"`, "model = \"a\"\nmode = \"ask\"\n"},
		{"lines of Windows", "\ufeffmodel = \"a\"\r\n[ui]\r\nvim = true\r\n", "ui.mouse", "false", "\ufeffmodel = \"a\"\r\n[ui]\r\nvim = true\r\nmouse = false\r\n"},
		{"in an inline table", "ui = { theme = \"dark\" }\n", "ui.vim", "true", "error: ui.vim is set in a way that cannot be changed here"},
		{"in a list of tables", "[[hooks]]\nevent = \"Stop\"\n", "hooks.event", `"x"`, "error: hooks.event is set in a way that cannot be changed here"},
	} {
		path, err := parseKey(test.key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := edited(test.text, path, test.value)
		if err != nil {
			got, _, _ = strings.Cut("error: "+err.Error(), ": edit")
		}
		if got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

func TestTOMLValue(t *testing.T) {
	type command struct{ Words []string }
	for _, test := range []struct {
		of         any
		text, want string
	}{
		{"", "nord", `"nord"`},
		{"", `"nord"`, `"nord"`},
		{"", `a "b"\`, `"a \"b\"\\"`},
		{"", "5", `"5"`},
		{"", "true", `"true"`},
		{true, "on", "true"},
		{true, "maybe", "use true or false"},
		{1, "7", "7"},
		{1, "many", "use a number"},
		{0.5, "0.8", "0.8"},
		{time.Second, "5m", `"5m"`},
		{[]string{}, "a/b, auto", `["a/b", "auto"]`},
		{[]string{}, "shell:git log *", `["shell:git log *"]`},
		{[]string{}, `["a", "b"]`, `["a", "b"]`},
		{[]string{}, "[]", "[]"},
		{command{}, "make test | tail", `"make test | tail"`},
		{command{}, `["make", "test"]`, `["make", "test"]`},
		{command{}, "true", `"true"`},
	} {
		got, err := tomlValue(reflect.TypeOf(test.of), test.text)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%T %s: got %s, want %s", test.of, test.text, got, test.want)
		}
	}
}

// A table is replaced, removed, or added after those of the same parent; the rest of the file does not change.
func TestWithTable(t *testing.T) {
	const b = "[mcp.b]\ncommand = \"y\"\n"
	for _, test := range []struct{ name, text, table, want string }{
		{"empty file", "", b, b},
		{"at the end", "model = \"a\"\n", b, "model = \"a\"\n\n" + b},
		{"after its parent's", "[mcp.a]\ncommand = \"x\"\n\n[ui]\nvim = true\n", b, "[mcp.a]\ncommand = \"x\"\n\n" + b + "\n[ui]\nvim = true\n"},
		{"above a comment", "[mcp.a]\ncommand = \"x\"\n\n# the screen\n[ui]\nvim = true\n", b, "[mcp.a]\ncommand = \"x\"\n\n" + b + "\n# the screen\n[ui]\nvim = true\n"},
		{"replaced", "model = \"a\"\n\n[mcp.b]\ncommand = \"old\"\nargs = [\"1\"]\n\n[ui]\nvim = true\n", b, "model = \"a\"\n\n[ui]\nvim = true\n\n" + b},
		{"removed", "[ui]\nvim = true\n\n[mcp.b]\ncommand = \"y\"\n\n[budget]\nday = 1\n", "", "[ui]\nvim = true\n\n[budget]\nday = 1\n"},
		{"removed with its own tables", "[mcp.b]\ncommand = \"y\"\n[mcp.b.env]\nA = \"1\"\n[ui]\nvim = true\n", "", "[ui]\nvim = true\n"},
		{"lines of Windows", "model = \"a\"\r\n", b, "model = \"a\"\r\n\r\n" + strings.ReplaceAll(b, "\n", "\r\n")},
	} {
		got, err := withTable(test.text, []string{"mcp", "b"}, test.table)
		if err != nil || got != test.want {
			t.Errorf("%s: %v, got\n%q\nwant\n%q", test.name, err, got, test.want)
		}
	}
}

// The settings are grouped as in the manual. Values that may be secret are not shown.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		path  string
		value any
		want  string
	}{
		{"providers.x.api_key", "abc", hidden},
		{"providers.x.api_key_env", "X_API_KEY", "X_API_KEY"},
		{"providers.x.api_key_command", "pass x", "pass x"},
		{"providers.x.headers.Accept", "abc", hidden},
		{"mcp.x.env.HOME", "abc", hidden},
		{"sandbox.x.env.HOME", "abc", "abc"},
		{"env.HOME", "abc", "abc"},
		{"budget.session_tokens", 5, "5"},
		{"model", "a\nb", "a␊b"},
		{"model", "", ""},
		{"model", nil, ""},
		{"fallback", []string{"a", "b"}, "a, b"},
		{"fallback", []string{}, ""},
		{"ui.vim", true, "true"},
		{"aliases", map[string]string{"a": "b"}, `a = "b"`},
	} {
		if got := valueText(strings.Split(test.path, "."), test.value); got != test.want {
			t.Errorf("%s = %v: %q, want %q", test.path, test.value, got, test.want)
		}
	}
	for text, want := range map[string]string{
		"":                                 "",
		"a = 1\n":                          "",
		"# One. Two.\n":                    "One.",
		"# One\n# and two. More\n":         "One and two.",
		"# Other.\n\n# One\n":              "One",
		"# a = 1\n# Mode of 1.5 things.\n": "a = 1 Mode of 1.5 things.",
	} {
		if got := commentBefore(text); got != want {
			t.Errorf("comment %q: %q, want %q", text, got, want)
		}
	}
}
