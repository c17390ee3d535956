package prompts_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/prompts"
)

// place returns where a program's files are.
func place(program prompts.Program) prompts.Place {
	return prompts.Place{Dir: "/p", Program: program}
}

func parse(t testing.TB, program prompts.Program, text string) (prompts.Prompt, error) {
	t.Helper()
	name := "/p/x.md"
	if program == prompts.Gemini {
		name = "/p/x.toml"
	}
	return prompts.Parse(place(program), name, []byte(text))
}

// shown returns an expansion as a line: the text, then its commands and the files it reads.
func shown(e prompts.Expansion) string {
	if len(e.Missing) > 0 {
		return fmt.Sprintf("missing %v", e.Missing)
	}
	var outputs []string
	var more string
	for i, c := range e.Commands {
		outputs = append(outputs, fmt.Sprintf("<%d>", i+1))
		more += fmt.Sprintf(" · %d runs %s", c.Line, c.Text)
	}
	if e.Mentions != "" {
		more += " · reads " + strings.Join(strings.Fields(e.Mentions), " ")
	}
	return e.Text(outputs...) + more
}

// TestExpand holds what each program's placeholders become.
func TestExpand(t *testing.T) {
	const (
		parley   = prompts.Parley
		claude   = prompts.Claude
		opencode = prompts.Opencode
		codex    = prompts.Codex
		gemini   = prompts.Gemini
	)
	toml := func(prompt string) string { return "prompt = '''\n" + prompt + "\n'''\n" }
	tests := []struct {
		name       string
		program    prompts.Program
		text, args string
		want       string
	}{
		{"nothing", parley, "Say hello", "", "Say hello"},
		{"no place for arguments", parley, "Say hello", "to  me", "Say hello\n\nto  me"},
		{"all", parley, "Fix $ARGUMENTS now", `a "b c"  d`, `Fix a "b c"  d now`},
		{"all, as shells have it", parley, "Fix $@", "a b", "Fix a b"},
		{"all, in braces", parley, "Fix {{args}} and {{ args }}", "a", "Fix a and a"},
		{"by number, from 1", parley, "$2 then $1, not $3.", `one "two words"`, "two words then one, not ."},
		{"nine of them", parley, "$1$9", "a b c d e f g h i", "ai"},
		{"money", parley, "It costs $10 or $100", "x", "It costs $10 or $100\n\nx"},
		{"by number, from 0", claude, "$ARGUMENTS[0]/$ARGUMENTS[1]", "a b", "a/b"},
		{"a name", parley, "Ask {{who}} about {{what}}", "Ann the old  house", "Ask Ann about the old  house"},
		{"a name that is given", parley, "Ask {{who}} about {{what}}", `what="a house" Ann`, "Ask Ann about a house"},
		{"a name without a value", parley, "Ask {{who}} about {{what}}", "Ann", "missing [{what []}]"},
		{"a name twice", parley, "{{a}} {{a=1}}", "", "1 1"},
		{"a name with a value of its own", parley, "In {{lang=plain English}}", "", "In plain English"},
		{"the same, given", parley, "In {{lang=plain English}}", "Czech", "In Czech"},
		{"choices", parley, "Be {{tone:short|friendly}}", "", "missing [{tone [short friendly]}]"},
		{"one of them", parley, "Be {{tone:short|friendly}}", "tone=FRIENDLY", "Be friendly"},
		{"none of them", parley, "Be\n{{tone:short|friendly}}", "rude", "/p/x.md:2: tone=rude: use one of short, friendly"},
		{"a name in capitals", parley, "Ask $WHO", "", "missing [{WHO []}]"},
		{"the same, given", codex, "Ask $WHO in $1", "WHO=Ann x", "Ask Ann in x"},
		{"capitals that are no name there", claude, "Ask $WHO, $HOME", "", "Ask $WHO, $HOME"},
		{"a name that is declared", claude, "---\narguments: issue who\n---\nFix $issue for $who, $other", "3 Ann", "Fix 3 for Ann, $other"},
		{"signs that stand for themselves", parley, "$$1 \\$ARGUMENTS \\{{args}} \\@x \\!`ls`", "", "$1 $ARGUMENTS {{args}} @x !`ls`"},
		{"braces of others", parley, "${{ secret }} {{ a.b }} {{1}} {{}} {{ x", "", "${{ secret }} {{ a.b }} {{1}} {{}} {{ x"},
		{"braces in other programs' files", claude, "{{name}}", "", "{{name}}"},
		{"digits that begin no name", parley, "$0 $0a $1a $12 {{0}} {{0a}} {{9a}} {{-a}}", "", "$0 $0a $1a $12 {{0}} {{0a}} {{9a}} {{-a}}"},
		{"numbers in brackets", claude, "$ARGUMENTS[99]|$ARGUMENTS[100]|$ARGUMENTS[-1]|$ARGUMENTS[ 1]|$ARGUMENTS[0", "a b", "|a b[100]|a b[-1]|a b[ 1]|a b[0"},
		{"choices that are none", parley, "{{a:|}} {{a: }}", "", "{{a:|}} {{a: }}"},
		{"choices with spaces", parley, "{{ a: x | y z |}}", "a='y z'", "y z"},
		{"a name with a dash", parley, "{{a-b}}", "x", "x"},
		{"braces over lines", parley, "{{a\n}}", "", "{{a\n}}"},
		{"two values of its own", parley, "{{a}} {{a=1}} {{a=2}}", "", "1 1 1"},
		{"choices at the second place", parley, "{{a}} {{a:x|y}}", "a=X", "x x"},
		{"arguments in place of values", parley, "{{a=1}} {{b=2}}", "x", "x 2"},
		{"the rest in place of a value", parley, "{{a=1}}", "x  y", "x  y"},
		{"one value is given", parley, "{{a=1}} {{b=2}}", "a=3 x  y", "3 x  y"},
		{"a name before a value", parley, "{{a}} {{b=2}}", "x  y", "x  y 2"},
		{"spaces alone", parley, "Say", "  ", "Say"},
		{"arguments alone", parley, "---\nsystem: s\n---\n", " Hello ", "Hello"},
		{"quotes in words", parley, "$1|$2|$3", `a="b c" don't 'd`, "a=b c|don't|'d"},
		{"quotes and more", parley, "$1|$2|$3", "'a'b  '' \"c'd\"", "ab||c'd"},
		{"capitals that are no names", codex, "$WHO $A $1A $_ $__ $Ab", "WHO=x", "x $A $1A $_ $__ $Ab"},
		{"gemini's placeholder alone", gemini, toml("{{x}} {{args=1}} $ARGUMENTS {{args}}"), "a", "{{x}} {{args=1}} $ARGUMENTS a"},

		{"commands after signs", parley, "(!`a` [!`b` x:!`c` >!`d` *!`e` |!`f` y!`g` .!`h`", "", "(<1> [<2> x:<3> ><4> *<5> |<6> y!`g` .!`h` · 1 runs a · 1 runs b · 1 runs c · 1 runs d · 1 runs e · 1 runs f"},
		{"commands over lines", parley, "a\n!`b\nc`\n!`d`", "", "a\n<1>\n<2> · 2 runs b\nc · 4 runs d"},
		{"choices in a command", parley, "!`a\n{{t:x|y}}`", "z", "/p/x.md:2: t=z: use one of x, y"},
		{"no arguments for a command", parley, "!`ls $ARGUMENTS $3`", "", "<1> · 1 runs ls  "},
		{"an empty argument", parley, "!`echo {{a}} $1`", "'' a= =b", "<1> · 1 runs echo '' ''"},
		{"an argument that zsh expands", parley, "!`echo $1`", "=ls", "<1> · 1 runs echo '=ls'"},
		{"a placeholder in the command's name", parley, "!`run{{a}}-b c{{a}}`", "1", "<1> · 1 runs run1-b c1"},
		{"gemini's command without an end", gemini, toml("!{ls {}"), "", "/p/x.toml:2: the command that begins here does not end"},

		{"files in quotes", parley, "See @\"a b.md\", @'c d', @'', @\"e\nf\" and @\"x", "", "See @\"a b.md\", @'c d', @'', @\"e\nf\" and @\"x · reads @\"a b.md\" @\"c d\""},
		{"files after signs", parley, "a@b .@c (@d) /@e _@f 1@g -@i @", "", "a@b .@c (@d) /@e _@f 1@g -@i @ · reads @d)"},
		{"a file with a space", parley, "@$1 @$2", "'a b' 'c \"d'", "@\"a b\" @'c \"d' · reads @\"a b\" @'c \"d'"},
		{"no file", parley, "@$1 x", "", "@$1 x"},
		{"gemini's file that is an argument", gemini, toml("@{a/{{args}}} @{b"), "c", "@a/c @{b · reads @a/c"},

		{"a command", parley, "Changes:\n!`git diff`\nEnd", "", "Changes:\n<1>\nEnd · 2 runs git diff"},
		{"a command that is named", parley, "Use `!` and `git` or x!`ls`", "", "Use `!` and `git` or x!`ls`"},
		{"a command with arguments", claude, "!`git log $ARGUMENTS -- $1`", `-n2 "a b" x;ls`, "<1> · 1 runs git log -n2 'a b' 'x;ls' -- -n2"},
		{"an argument in quotes", parley, "!`echo \"$1\" '$2'`", "$(ls) it's", "<1> · 1 runs echo \"\\$(ls)\" 'it'\\''s'"},
		{"an argument in a command in quotes", parley, "!`echo \"$(cat $1)\" $1`", "'a b'", "<1> · 1 runs echo \"$(cat 'a b')\" 'a b'"},
		{"the shell's own names", parley, "!`echo $HOME $USER`", "", "<1> · 1 runs echo $HOME $USER"},
		{"a name in a command", parley, "!`make {{target:a|b c}}`", "target='b c'", "<1> · 1 runs make 'b c'"},
		{"a command without an end", parley, "x\n!`git diff", "", "/p/x.md:2: the command that begins here does not end"},
		{"codex runs nothing", codex, "!`ls` @x", "", "!`ls` @x"},
		{"gemini's command", gemini, toml("See !{git log --format=%{x} {{args}}} and {{args}}"), "a b;", "See <1> and a b; · 2 runs git log --format=%{x} a 'b;'"},
		{"gemini's file", gemini, toml("@{docs/a.md} @x $1 !`ls`"), "", "@docs/a.md @x $1 !`ls` · reads @docs/a.md"},

		{"a file", opencode, "Look at @src/main.go, please", "", "Look at @src/main.go, please · reads @src/main.go,"},
		{"a file that is an argument", claude, "Look at @$1.", "main", "Look at @main. · reads @main."},
		{"a mail address", parley, "Write to me@example.com or @ home", "", "Write to me@example.com or @ home"},

		{"nothing is looked at twice", parley, "$1 {{x}} !`echo $1` $ARGUMENTS", "'!`ls` $1 @f {{x}}' x=$ARGUMENTS", "!`ls` $1 @f {{x}} $ARGUMENTS <1> '!`ls` $1 @f {{x}}' · 1 runs echo '!`ls` $1 @f {{x}}'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse(t, tt.program, tt.text)
			var e prompts.Expansion
			if err == nil {
				e, err = p.Expand(tt.args, nil)
			}
			got := shown(e)
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestValuesByName(t *testing.T) {
	p, err := parse(t, prompts.Parley, "{{a}} {{b}} $1")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := p.Expand("x a=1", map[string]string{"a": "2 $1", "b": ""}); err != nil || e.Text() != "2 $1  x" {
		t.Errorf("got %q, %v", e.Text(), err)
	}
	if got := fmt.Sprint(p.Fields()); got != "[{a []} {b []}]" {
		t.Errorf("fields %s", got)
	}
}

// TestParse holds what is read of each program's keys, and errors with their line.
func TestParse(t *testing.T) {
	tests := []struct {
		name    string
		program prompts.Program
		text    string
		want    string
	}{
		{"all keys", prompts.Parley, "---\ndescription: Review\nargument-hint: [file]\nmodel: a/b\neffort: low\ntools: read, grep\nsystem: |\n  Be short\nschema: {\"type\": \"object\"}\nother: x\n---\n\nGo\n",
			`Review | [file] | a/b | low | [read grep] | Be short | {"type": "object"} | Go (line 13) | ignored [other]`},
		{"a schema as a map", prompts.Parley, "---\nschema:\n  type: object\n  required: [a]\n---\nGo", ` |  |  |  | [] |  | {"type":"object","required":["a"]} | Go (line 6) | ignored []`},
		{"no tools", prompts.Parley, "---\ntools: []\n---\nGo", ` |  |  |  | [none] |  |  | Go (line 4) | ignored []`},
		{"Claude's", prompts.Claude, "---\ndescription: d\nallowed-tools: Bash(git:*)\nmodel: sonnet\neffort: high\n---\nGo", `d |  |  |  | [] |  |  | Go (line 7) | ignored [allowed-tools model effort]`},
		{"opencode's", prompts.Opencode, "---\ndescription: d\nagent: build\nmodel: anthropic/x\nsubtask: true\n---\nGo", `d |  | anthropic/x |  | [] |  |  | Go (line 7) | ignored [agent subtask]`},
		{"gemini's", prompts.Gemini, "description = \"d\"\nprompt = \"\"\"\nGo {{args}}\n\"\"\"\nx = 1\n", `d |  |  |  | [] |  |  | Go {{args}} (line 3) | ignored [x]`},
		{"a persona", prompts.Parley, "---\nsystem: Be short\n---\n", ` |  |  |  | [] | Be short |  |  (line 4) | ignored []`},
		{"nothing", prompts.Parley, "---\ndescription: d\n---\n\n", "/p/x.md: there is no prompt in it"},
		{"a bad effort", prompts.Parley, "---\neffort: huge\n---\nGo", `/p/x.md:2: effort: "huge": use one of`},
		{"bad front matter", prompts.Claude, "---\na: b\nnone\n---\nGo", "/p/x.md:3: a key and a colon are expected"},
		{"bad TOML", prompts.Gemini, "description = \"d\"\nprompt = nothing\n", "/p/x.toml:2:"},
		{"a schema that is none", prompts.Parley, "---\nschema: [1]\n---\nGo", "/p/x.md:2: schema: it is no JSON Schema"},
		{"a schema in JSON", prompts.Parley, "---\nschema: |\n  {\"type\": 1}\n---\nGo", ` |  |  |  | [] |  | {"type": 1} | Go (line 5) | ignored []`},
		{"a schema in YAML's brackets", prompts.Parley, "---\nschema: {type: object}\n---\nGo", ` |  |  |  | [] |  | {"type":"object"} | Go (line 4) | ignored []`},
		{"a schema that does not end", prompts.Parley, "---\nschema: |\n  {x\n---\nGo", "/p/x.md:2: schema: it is no JSON Schema"},
		{"a path of a model", prompts.Claude, "---\nmodel: a/b\narguments: x\n---\n\n \n  Go\n\n", ` |  | a/b |  | [] |  |  |   Go (line 7) | ignored []`},
		{"codex's", prompts.Codex, "---\ndescription: d\narguments: x\nsystem: y\n---\nGo", `d |  |  |  | [] |  |  | Go (line 6) | ignored [arguments system]`},
		{"gemini's on one line", prompts.Gemini, "# prompt\nprompt = 'Go'\n", ` |  |  |  | [] |  |  | Go (line 2) | ignored []`},
		{"gemini's in other quotes", prompts.Gemini, "\n  prompt = '''\n\nGo'''\n", ` |  |  |  | [] |  |  | Go (line 4) | ignored []`},
		{"gemini's wrong type", prompts.Gemini, "prompt = 1", "/p/x.toml: toml: "},
		{"too large", prompts.Parley, strings.Repeat("x", prompts.MaxFile+1), "/p/x.md: it has more than 256 KB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse(t, tt.program, tt.text)
			var ignored []string
			for _, key := range p.Ignored {
				ignored = append(ignored, key.Name)
			}
			got := fmt.Sprintf("%s | %s | %s | %s | %v | %s | %s | %s (line %d) | ignored %v", p.Description, p.Hint, p.Model, p.Effort, p.Tools, p.System, p.Schema, p.Body, p.Line, ignored)
			if err != nil {
				got = err.Error()
				if var2 := (*prompts.Error)(nil); !errors.As(err, &var2) {
					t.Errorf("it has no place: %v", err)
				}
			}
			if got != tt.want && (err == nil || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestUnknownKeys: a key that has no effect is told with its line, in parley's own files alone.
func TestUnknownKeys(t *testing.T) {
	const there = ": there are description, argument-hint, arguments, model, effort, tools, web, system, schema"
	for _, tt := range []struct {
		name    string
		program prompts.Program
		text    string
		want    string
	}{
		{"all that there are", prompts.Parley, "---\ndescription: a\nargument-hint: b\narguments: c\nmodel: a/b\neffort: low\ntools: read\nweb: true\nsystem: d\nschema: {}\n---\nGo", ""},
		{"one that there is not", prompts.Parley, "---\ndescription: a\nrequired: true\n---\nGo $1", `/p/x.md:3: unknown key "required"` + there},
		{"a list below its key", prompts.Parley, "---\nrequired:\n  - a\nname: b\n---\nGo", `/p/x.md:2: unknown key "required"` + there + "\n" + `/p/x.md:4: unknown key "name"` + there},
		{"for another program", prompts.Claude, "---\nallowed-tools: Read\n---\nGo", ""},
	} {
		p, err := parse(t, tt.program, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, err := range p.UnknownKeys() {
			got = append(got, err.Error())
		}
		if all := strings.Join(got, "\n"); all != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, all, tt.want)
		}
	}
}

func TestPersona(t *testing.T) {
	for text, want := range map[string]string{
		"---\nsystem: Be short\n---\nGo $1": "Be short",
		"You are @home, terse":              "You are @home, terse",
		"Review $1":                         "placeholders",
		"Be {{tone=short}}":                 "placeholders",
		"See !`ls`":                         "placeholders",
	} {
		p, err := parse(t, prompts.Parley, text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Persona()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// write makes files in a new directory.
func write(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestQuoting: whatever a value is, it stays a part of the word, the comment or the quotes that
// have its place.
func TestQuoting(t *testing.T) {
	unsure := func(what string) string {
		return "/p/x.md:1: a placeholder after " + what + ` cannot be quoted: set a variable before it, as in v=$1, and use "$v" there`
	}
	reread := func(value, where string) string {
		return fmt.Sprintf("/p/x.md:1: %q cannot be quoted in a command with %s: the shell reads values there once more. Use letters, digits and _-+=:,./@%%", value, where)
	}
	var all []prompts.Prompt
	for _, tt := range []struct{ command, value, want string }{
		{"# don't\necho {{v}}", "; id", "# don't\necho '; id'"},
		{"true # {{v}}\ntrue", "x\nid", "true # x id\ntrue"},
		{"true | # x\ncat # {{v}}\ntrue", "x\nid", "true | # x\ncat # x id\ntrue"},
		{"true && # x\n# y {{v}}\ntrue # {{v}}", "x\nid", "true && # x\n# y x id\ntrue # x id"},
		{"case x in # a {{v}}\n# b {{v}}\nesac # c {{v}}", "x\nid", "case x in # a x id\n# b x id\nesac # c x id"},
		{"f() ( # a {{v}}\ntrue # b {{v}}\n# c {{v}}\n) # d {{v}}", "x\nid", "f() ( # a x id\ntrue # b x id\n# c x id\n) # d x id"},
		{"echo \"$(true # it's\n)\" {{v}}", "; id", "echo \"$(true # it's\n)\" '; id'"},
		{"echo a#'b'{{v}}", "; id", "echo a#'b''; id'"},
		{"echo {{v}}#'{{v}}'", "; id", "echo '; id'#'; id'"},
		{`echo \# '{{v}}'`, "'; id", `echo \# ''\''; id'`},
		{`echo $'\'{{v}}'`, "'; id", `echo $'\'\'; id'`},
		{`echo \$'{{v}}'`, "'; id", `echo \$''\''; id'`},
		{`echo \{{v}}`, "; id", `echo \\'; id'`},
		{"cat <<EOF\n{{v}}\nEOF", "$(id)", "/p/x.md:1: a placeholder after << cannot be quoted: set a variable before it, as in v=$1, and use \"$v\" there"},
		{"cat <<{{v}}", "E", "/p/x.md:1: a placeholder after << cannot be quoted: set a variable before it, as in v=$1, and use \"$v\" there"},
		{"cat <<< {{v}}", "; id", "cat <<< '; id'"},
		{"cat '<<' \"<<\" {{v}}", "; id", "cat '<<' \"<<\" '; id'"},
		{`echo "$( (cd x) ; echo {{v}})"`, "; id", `echo "$( (cd x) ; echo '; id')"`},
		{`f() { echo "$(g "{{v}}")"; }`, "$(id)", `f() { echo "$(g "\$(id)")"; }`},
		{`case {{v}} in a) echo {{v}};; esac`, "; id", `case '; id' in a) echo '; id';; esac`},
		{`echo "$(case x in x) echo {{v}};; esac)"`, "; id", `echo "$(case x in x) echo '; id';; esac)"`},
		{`echo $((1 + {{v}}))`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`echo $[1+{{v}}]`, "$(id)", reread("$(id)", "arithmetic")},
		{`echo $[ 2 * {{v}} ]`, "$(id)", reread("$(id)", "arithmetic")},
		{`a=(1 2); echo ${a[{{v}}]}`, "$(id)", reread("$(id)", "arithmetic")},
		{`a=(1 2); echo ${a["{{v}}"]}`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`a[b[1]+{{v}}]=1`, "$(id)", reread("$(id)", "arithmetic")},
		{`echo ${x:{{v}}}`, "$(id)", reread("$(id)", "arithmetic")},
		{`echo ${x:0:{{v}}}`, "$(id)", reread("$(id)", "arithmetic")},
		{`let x={{v}}`, "a[$(id)]", reread("a[$(id)]", "let")},
		{`echo $((1 + {{v}}))`, "41", "echo $((1 + 41))"},
		{`v={{v}}; (( v > 1 )) && echo large`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`for ((i = 0; i < {{v}}; i++)); do echo; done`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`[[ {{v}} -eq 1 ]]`, "a[$(id)]", reread("a[$(id)]", "[[ … -eq … ]]")},
		{`v={{v}}; [[ 1 -lt $v ]]`, "a[$(id)]", reread("a[$(id)]", "[[ … -lt … ]]")},
		{`[[ {{v}} == 1 && -n {{v}} ]]`, "a[$(id)]", `[[ 'a[$(id)]' == 1 && -n 'a[$(id)]' ]]`},
		{`[[ -v {{v}} ]]`, "a[$(id)]", reread("a[$(id)]", "[[ -v … ]]")},
		{`[ -v {{v}} ] || test -v {{v}}`, "a[$(id)]", reread("a[$(id)]", "[ -v")},
		{`[ {{v}} -eq 1 ]`, "a[$(id)]", `[ 'a[$(id)]' -eq 1 ]`},
		{`declare -i n={{v}}`, "a[$(id)]", reread("a[$(id)]", "declare")},
		{`declare {{v}}=1`, "a[$(id)]", reread("a[$(id)]", "declare")},
		{`typeset -n r={{v}}; echo "$r"`, "a[$(id)]", reread("a[$(id)]", "typeset")},
		{`f() { local -i n; n={{v}}; }; f`, "a[$(id)]", reread("a[$(id)]", "local")},
		{`readonly {{v}}`, "a[$(id)]", reread("a[$(id)]", "readonly")},
		{`export X={{v}}`, "a[$(id)]", `export X='a[$(id)]'`},
		{`export {{v}}`, "a[$(id)]", `export 'a[$(id)]'`},
		{`printf -v {{v}} x`, "a[$(id)]", reread("a[$(id)]", "printf -v")},
		{`printf '%s' {{v}}`, "a[$(id)]", `printf '%s' 'a[$(id)]'`},
		{`v={{v}}; printf -v "$v" x`, "a[$(id)]", reread("a[$(id)]", "printf -v")},
		{`echo x | read {{v}}`, "a[$(id)]", reread("a[$(id)]", "read")},
		{`echo {{v}} | while read -r line; do echo "$line"; done`, "a[$(id)]", `echo 'a[$(id)]' | while read -r line; do echo "$line"; done`},
		{`command unset {{v}}`, "a[$(id)]", reread("a[$(id)]", "unset")},
		{`v={{v}}; echo ${!v}`, "a[$(id)]", reread("a[$(id)]", "${!NAME}")},
		{`v={{v}}; echo "${v@P}"`, "$(id)", reread("$(id)", "${NAME@…}")},
		{`declare -a a=(1); v={{v}}; echo ${a[v]}`, "a[$(id)]", reread("a[$(id)]", "declare")},
		{`v={{v}}; a[v]=1`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`v={{v}}; a=([v]=1)`, "a[$(id)]", reread("a[$(id)]", "arithmetic")},
		{`eval "echo {{v}}"`, "$(id)", reread("$(id)", "eval")},
		{`trap "echo {{v}}" EXIT`, "$(id)", reread("$(id)", "trap")},
		{`bash -c "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`env A=1 /bin/sh -ec 'echo {{v}}'`, "$(id)", reread("$(id)", "sh -c")},
		{`sudo -u me bash -c "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`timeout 5 sh -c "echo {{v}}"`, "$(id)", reread("$(id)", "sh -c")},
		{`nice -n 5 bash -c "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`find . -maxdepth 0 -exec sh -c "echo {{v}}" \;`, "$(id)", reread("$(id)", "sh -c")},
		{`echo x | xargs -n 1 sh -c "echo {{v}}"`, "$(id)", reread("$(id)", "sh -c")},
		{`bash -c -e "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`timeout 5 bash -c 'echo "$0"' {{v}}`, "$(id)", `timeout 5 bash -c 'echo "$0"' '$(id)'`},
		{`timeout 5 ssh host "ls {{v}}"`, "$(id)", reread("$(id)", "ssh")},
		{`bash -c -o pipefail "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`su me -c "echo {{v}}"`, "$(id)", reread("$(id)", "su -c")},
		{`git log --grep ssh -- {{v}}`, "a b", `git log --grep ssh -- 'a b'`},
		{`timeout 5 grep {{v}} x`, "$(id)", `timeout 5 grep '$(id)' x`},
		{`bash -c 'echo "$0"' {{v}}`, "$(id)", `bash -c 'echo "$0"' '$(id)'`},
		{`ssh host "ls {{v}}"`, "$(id)", reread("$(id)", "ssh")},
		{`[[ {{v}} -gt 1 ]]`, "$(id)", reread("$(id)", "[[ … -gt … ]]")},
		{`[[ 1 -ne {{v}} ]]`, "$(id)", reread("$(id)", "[[ … -ne … ]]")},
		{`[[ -R {{v}} ]]`, "$(id)", reread("$(id)", "[[ -R … ]]")},
		{`test -R {{v}}`, "$(id)", reread("$(id)", "test -v")},
		{`test -n {{v}}`, "$(id)", `test -n '$(id)'`},
		{`a[0]={{v}}; a=([1]={{v}})`, "$(id)", `a[0]='$(id)'; a=([1]='$(id)')`},
		{`echo ${a[@]} ${a[*]} ${x:1} {{v}}`, "$(id)", "echo ${a[@]} ${a[*]} ${x:1} '$(id)'"},
		{`bash --command "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`bash -x {{v}}`, "$(id)", `bash -x '$(id)'`},
		{`bash --rcfile {{v}}`, "$(id)", `bash --rcfile '$(id)'`},
		{`bash -O extglob -c "echo {{v}}"`, "$(id)", reread("$(id)", "bash -c")},
		{`bash -c 'echo' - {{v}}`, "$(id)", `bash -c 'echo' - '$(id)'`},
		{`bash -c "$x" {{v}}`, "$(id)", reread("$(id)", "bash -c")},
		{`bash -c "$(cat x)" {{v}}`, "$(id)", reread("$(id)", "bash -c")},
		{`builtin eval {{v}}`, "$(id)", reread("$(id)", "eval")},
		{`env -i A=1 /bin/eval {{v}}`, "$(id)", reread("$(id)", "eval")},
		{`eval ls; echo {{v}}`, "$(id)", `eval ls; echo '$(id)'`},
		{`printf {{v}}`, "$(id)", `printf '$(id)'`},
		{`printf -vx {{v}}`, "$(id)", reread("$(id)", "printf -v")},
		{`printf; echo {{v}}`, "$(id)", `printf; echo '$(id)'`},
		{`echo ssh {{v}}`, "$(id)", `echo ssh '$(id)'`},
		{`nohup watch {{v}}`, "$(id)", reread("$(id)", "watch")},
		{`env A=1; echo {{v}}`, "$(id)", `env A=1; echo '$(id)'`},
		{`echo ( {{v}}`, "x", "echo ( x"},
		{"echo $'a\\\\{{v}}'", `b\'c`, "echo $'a\\\\b\\\\\\'c'"},
		{`echo "a\{{v}}"`, `$b`, `echo "a\\\$b"`},
		{`grep -v {{v}} x`, "a[$(id)]", `grep -v 'a[$(id)]' x`},
		{`echo ${x:0:1} ${a[0]} {{v}}`, "; id", `echo ${x:0:1} ${a[0]} '; id'`},
		{`echo ${x:-{{v}}} ${x:+{{v}}}`, "; id", `echo ${x:-'; id'} ${x:+'; id'}`},
		{`[ -n {{v}} ] && echo "a[{{v}}]"`, "; id", `[ -n '; id' ] && echo "a[; id]"`},
		{`echo "${x:-"{{v}}"}"`, "$(id)", unsure("quotes in ${ }")},
		{`echo "${x:-{{v}}}"`, "$(id)", `echo "${x:-\$(id)}"`},
	} {
		p, err := parse(t, prompts.Parley, "!`"+tt.command+"`")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if e, err := p.Expand("", map[string]string{"v": tt.value}); err != nil {
			got = err.Error()
		} else {
			got = e.Commands[0].Text
		}
		if got != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.command, tt.value, got, tt.want)
		}
		all = append(all, p)
	}
	runNothing(t, all)
}

// evil are values that would write a file if a shell read them.
var evil = []string{"; echo >ran", "$(echo >ran)", "'$(echo >ran)'", `"$(echo >ran)"`, "`echo >ran`", "x\necho >ran", ") ; echo >ran; (", `\";echo >ran;"`, "a[$(echo >ran)]", "a[`echo >ran`]", "v=a[$(echo >ran)]", "x -eq a[$(echo >ran)]", "+a[$(echo >ran)]"}

// runNothing runs the commands of prompts with evil values, each in a folder of its own. One
// shell runs all of them: starting it takes far longer than they do.
func runNothing(t *testing.T, list []prompts.Prompt) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	var commands, told []string
	for _, p := range list {
		for _, value := range evil {
			e, err := p.Expand("", map[string]string{"v": value})
			if err != nil {
				continue
			}
			if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(len(commands))), 0o700); err != nil {
				t.Fatal(err)
			}
			commands = append(commands, e.Commands[0].Text)
			told = append(told, fmt.Sprintf("%q with %q ran something else: %s", p.Body, value, e.Commands[0].Text))
		}
	}
	const each = `__n=0; for __command; do (cd $__n && eval "$__command"); >$__n/done; __n=$((__n + 1)); done`
	run := exec.Command(bash, append([]string{"-c", each, "bash"}, commands...)...)
	run.Dir = dir
	out, _ := run.CombinedOutput() // they may well fail
	for i := range commands {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(i), "done")); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(i), "ran")); err == nil {
			t.Error(told[i])
		}
	}
	if len(commands) < 300 {
		t.Errorf("%d commands ran", len(commands))
	}
}

// TestFind: every program's files are found where it keeps them, by the names it gives them.
func TestFind(t *testing.T) {
	dir := write(t, map[string]string{
		"config/parley/prompts/review.md":       "mine",
		"config/parley/prompts/bad name.md":     "x",
		"config/parley/prompts/broken.md":       "---\nx",
		"config/parley/prompts/.hidden.md":      "x",
		"config/parley/prompts/notes.txt":       "x",
		"config/parley/prompts/a/b/c/d.md":      "deep",
		"config/parley/prompts/a/b/c/d/e/f.md":  "too deep",
		"home/.claude/commands/review.md":       "Claude's",
		"home/.claude/commands/team/ship.md":    "ship",
		"config/opencode/commands/test.md":      "test",
		"home/.codex/prompts/draft.md":          "draft",
		"home/.codex/prompts/below/x.md":        "x",
		"home/.gemini/commands/git/commit.toml": "prompt = \"commit\"",
	})
	if err := os.Symlink(filepath.Join(dir, "config/parley/prompts/notes.txt"), filepath.Join(dir, "config/parley/prompts/linked.md")); err != nil {
		t.Fatal(err)
	}
	found, problems := prompts.Find(prompts.UserPlaces(filepath.Join(dir, "config/parley/prompts"), filepath.Join(dir, "config"), filepath.Join(dir, "home")))
	var got []string
	for _, p := range found {
		got = append(got, fmt.Sprintf("%s (%s)", p.Name, p.Program))
	}
	want := "a:b:c:d (parley) linked (parley) review (parley) review (claude) team:ship (claude) test (opencode) draft (codex) git:commit (gemini)"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), "bad name.md: its name") || !strings.Contains(problems[1].Error(), "broken.md:1: the front matter does not end") {
		t.Errorf("problems %q", problems)
	}
	if found, problems := prompts.Find(prompts.ProjectPlaces(filepath.Join(dir, "none"))); found != nil || problems != nil {
		t.Errorf("of nothing: %v, %v", found, problems)
	}
}

// A schema file is for the user's own prompts.
func TestSchemaFile(t *testing.T) {
	for isProject, want := range map[bool]string{false: "s.json, <nil>", true: ", /p/x.md:2: schema: a folder's prompt contains its schema itself: s.json is a file"} {
		p, err := prompts.Parse(prompts.Place{Dir: "/p", Program: prompts.Parley, Project: isProject}, "/p/x.md", []byte("---\nschema: s.json\n---\nGo"))
		if got := fmt.Sprint(p.SchemaFile, ", ", err); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A project's links lead nowhere.
func TestProjectLinks(t *testing.T) {
	dir := write(t, map[string]string{".parley/prompts/a.md": "a", "secret.md": "x"})
	if err := os.Symlink(filepath.Join(dir, "secret.md"), filepath.Join(dir, ".parley/prompts/b.md")); err != nil {
		t.Fatal(err)
	}
	files, err := prompts.ProjectPlaces(dir)[0].Files()
	if err != nil || len(files) != 1 {
		t.Errorf("files %q, %v", files, err)
	}
}

// FuzzExpand: what takes a place is never looked at again, and what has no places stays.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{"$1 !`ls $2` @$1 {{x=1}} $$", "---\narguments: a\n---\n$a {{b:x|y}}", "!{x{}} @{$1} {{args}}", "!`\"$(a $1)\"`", "\\$ $@ ${{x}}"} {
		f.Add(text, "a 'b c' x=1 d", true)
	}
	f.Fuzz(func(t *testing.T, text, args string, parley bool) {
		program := prompts.Parley
		if !parley {
			program = prompts.Claude
		}
		p, err := parse(t, program, text)
		if err != nil {
			return
		}
		values, plain := map[string]string{}, map[string]string{}
		for _, field := range p.Fields() {
			values[field.Name], plain[field.Name] = "!`evil` @evil $1 {{x}}", "x"
			if len(field.Choices) > 0 {
				values[field.Name], plain[field.Name] = field.Choices[0], field.Choices[0]
			}
		}
		one, err := p.Expand(args, values)
		if err != nil {
			return
		}
		other, err := p.Expand("", plain)
		if err != nil {
			return
		}
		if len(one.Commands) != len(other.Commands) || strings.Count(one.Mentions, "\n") < strings.Count(other.Mentions, "\n") {
			t.Fatalf("what runs depends on arguments: %+v, %+v", one, other)
		}
		if !strings.ContainsAny(p.Body, "$!@{\\") {
			if got := one.Text(); got != strings.TrimPrefix(strings.TrimSuffix(p.Body+"\n\n"+strings.TrimSpace(args), "\n\n"), "\n\n") && strings.TrimSpace(args) != "" || strings.TrimSpace(args) == "" && got != p.Body {
				t.Fatalf("%q with %q became %q", p.Body, args, got)
			}
			again := p
			again.Body = other.Text()
			if e, err := again.Expand("", nil); err != nil || e.Text() != other.Text() {
				t.Fatalf("%q became %q, %v", other.Text(), e.Text(), err)
			}
		}
	})
}

// TestParseWeb reads whether the answer to a prompt may search the web.
func TestParseWeb(t *testing.T) {
	for value, want := range map[string]string{"true": "", "false": "", "maybe": `web: "maybe": use true or false`} {
		p, err := prompts.Parse(prompts.Place{Program: prompts.Parley}, "a.md", []byte("---\nweb: "+value+"\n---\nGo"))
		if got := fmt.Sprint(err); err == nil && (want != "" || p.Web != (value == "true")) || err != nil && (want == "" || !strings.Contains(got, "a.md:2: "+want)) {
			t.Errorf("%s: %v, %v", value, p.Web, err)
		}
	}
}
