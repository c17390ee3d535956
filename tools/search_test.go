package tools

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/tools/permission"
)

// tree is a small workspace with something to ignore.
var treeFiles = map[string]string{
	".gitignore":         "*.log\n/build/\n",
	".git/config":        "[core]\n",
	"README":             "hello\nworld\n",
	"a.log":              "hello\n",
	"build/out.go":       "package out // hello\n",
	"src/.gitignore":     "!keep.log\ngen.go\n",
	"src/main.go":        "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n",
	"src/keep.log":       "hello\n",
	"src/gen.go":         "package gen\n",
	"src/deep/x_test.go": "package deep\n",
}

func TestList(t *testing.T) {
	f := open(t, treeFiles)
	tests := []struct {
		pairs []any
		want  string
	}{
		{nil, ".gitignore\t14\nREADME\t12\nsrc/\n[3 entries ignored (.git, .gitignore); set all to list them]"},
		{[]any{"path", "src"}, ".gitignore\t17\ndeep/\nkeep.log\t6\nmain.go\t48\n[1 entry ignored (.git, .gitignore); set all to list them]"},
		{[]any{"path", "src/", "depth", 2}, ".gitignore\t17\ndeep/\ndeep/x_test.go\t13\nkeep.log\t6\nmain.go\t48\n[1 entry ignored (.git, .gitignore); set all to list them]"},
		{[]any{"all", true}, ".git/\n.gitignore\t14\nREADME\t12\na.log\t6\nbuild/\nsrc/"},
		{[]any{"path", "build"}, "out.go\t21"}, // what is asked for by name is shown
	}
	for _, test := range tests {
		if got := f.must("list", test.pairs...); got != test.want {
			t.Errorf("%v:\ngot  %q\nwant %q", test.pairs, got, test.want)
		}
	}
	f.fails("list", []any{"path", "README"}, "README is not a folder")
	f.fails("list", []any{"path", "sr"}, "did you mean src?")
	os.Mkdir(f.at("empty"), 0o755)
	if got := f.must("list", "path", "empty"); got != "[empty is empty]" {
		t.Errorf("got %q", got)
	}
}

// Whatever a file is called, it takes one line, and the line leads back to it.
func TestOddNames(t *testing.T) {
	names := []string{"a\x1b[2Jb", "x\ny", "$(id)", "-rf", "\xff\xfe", "\u202Egpj.exe", " lead", `"q"`, "tab\there", "nbsp\u00a0x", "e\u200Bx"}
	f := open(t, nil)
	for _, name := range names {
		if err := os.WriteFile(f.at(name), []byte("text"), 0o644); err != nil {
			t.Skip(err)
		}
	}
	lines := strings.Split(f.must("list"), "\n")
	if len(lines) != len(names) {
		t.Errorf("%d names on %d lines: %q", len(names), len(lines), lines)
	}
	for _, line := range lines {
		name := line[:strings.LastIndex(line, "\t")]
		if strings.ContainsAny(name, "\x1b\u202e\t\u00a0\u200b") || !utf8.ValidString(name) {
			t.Errorf("%q is shown as it is", name)
		}
		f.must("read", "path", name)
	}
	if got := strings.Count(f.must("glob", "pattern", "*"), "\n") + 1; got != len(names) {
		t.Errorf("glob: %d lines", got)
	}
}

// Rules also come from .ignore, which weighs more than .gitignore, and from git's
// own exclude file, which weighs least; and they hold where a search begins
// further down.
func TestIgnoreFiles(t *testing.T) {
	f := open(t, map[string]string{
		".git/info/exclude": "*.bak\n*.tmp\n", ".gitignore": "!keep.tmp\n*.log\n", ".ignore": "!keep.log\nsecret\n",
		"a/.ignore": "*.txt\n", "a/b/x.txt": "", "a/b/x.go": "", "a/b/y.log": "", "a/b/keep.log": "",
		"one.bak": "", "one.tmp": "", "keep.tmp": "", "one.log": "", "keep.log": "", "secret": "", "one.txt": "",
	})
	tests := []struct{ path, want string }{
		{".", ".gitignore .ignore a/.ignore a/b/keep.log a/b/x.go keep.log keep.tmp one.txt"},
		{"a/b", "a/b/keep.log a/b/x.go"},
	}
	for _, test := range tests {
		found := strings.Split(f.must("glob", "pattern", "**", "path", test.path), "\n")
		slices.Sort(found)
		if got := strings.Join(found, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.path, got, test.want)
		}
	}
}

func TestGlob(t *testing.T) {
	f := open(t, treeFiles)
	for i, name := range []string{"README", "src/main.go", "src/deep/x_test.go", ".gitignore", "src/.gitignore", "src/keep.log"} {
		when := time.Unix(int64(1_000_000-i), 0)
		if err := os.Chtimes(f.at(name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		pairs []any
		want  string
	}{
		{[]any{"pattern", "**/*.go"}, "src/main.go\nsrc/deep/x_test.go"},
		{[]any{"pattern", "*.go"}, "[no files match *.go; to look in the folders below as well, put **/ in front of it]"},
		{[]any{"pattern", "*.go", "path", "src"}, "src/main.go"},
		{[]any{"pattern", "./src/*.{go,log}"}, "src/main.go\nsrc/keep.log"},
		{[]any{"pattern", f.at("src/*.go")}, "src/main.go"},
		{[]any{"pattern", "build/**", "all", true}, "build/out.go"},
		{[]any{"pattern", "**/absent"}, "[no files match **/absent]"},
	}
	for _, test := range tests {
		if got := f.must("glob", test.pairs...); got != test.want {
			t.Errorf("%v:\ngot  %q\nwant %q", test.pairs, got, test.want)
		}
	}
	for _, bad := range []string{"[a", "{a", "", "../*", "a/../../*", "/etc/*", strings.Repeat("*", 2000), strings.Repeat("{*,a}", 9)} {
		f.fails("glob", []any{"pattern", bad}, "pattern")
	}
}

func TestGrep(t *testing.T) {
	f := open(t, treeFiles)
	write(t, f.at("crlf.txt"), "one\r\ntwo\r\nthree\r\n")
	write(t, f.at("binary"), "hello\x00")
	write(t, f.at("dots.txt"), "a.b\naxb\n")
	const skipped = "[1 file not searched: binary, unreadable or larger than 8 MiB]"
	tests := []struct {
		pairs []any
		want  string
	}{
		{[]any{"pattern", "hello"}, "README\n     1: hello\nsrc/keep.log\n     1: hello\nsrc/main.go\n     4: \tprintln(\"hello\")\n" + skipped},
		{[]any{"pattern", "hello", "files_only", true, "glob", "*.go"}, "src/main.go"},
		{[]any{"pattern", "hello", "files_only", true, "glob", "src/**"}, "src/keep.log\nsrc/main.go"},
		{[]any{"pattern", "HELLO", "ignore_case", true, "path", "README"}, "README\n     1: hello"},
		{[]any{"pattern", "^func .*\\{$", "context", 1}, "src/main.go\n     2- \n     3: func main() {\n     4- \tprintln(\"hello\")\n" + skipped},
		{[]any{"pattern", "two$", "path", "crlf.txt", "context", 5}, "crlf.txt\n     1- one\n     2: two\n     3- three"},
		{[]any{"pattern", "a.b", "path", "dots.txt"}, "dots.txt\n     1: a.b\n     2: axb"},
		{[]any{"pattern", "a.b", "path", "dots.txt", "literal", true}, "dots.txt\n     1: a.b"},
		{[]any{"pattern", "[", "path", "dots.txt", "literal", true}, "[no matches]"},
		{[]any{"pattern", "^$", "path", "README"}, "[no matches]"},
		{[]any{"pattern", "x*", "path", "README"}, "README\n     1: hello\n     2: world"},
		{[]any{"pattern", "hello", "path", "build"}, "build/out.go\n     1: package out // hello"},
	}
	for _, test := range tests {
		if got := f.must("grep", test.pairs...); got != test.want {
			t.Errorf("%v:\ngot  %q\nwant %q", test.pairs, got, test.want)
		}
	}
	f.fails("grep", []any{"pattern", ""}, "empty")
	f.fails("grep", []any{"pattern", "(a"}, "missing closing )", "set literal")
	f.fails("grep", []any{"pattern", "(?<=a)b"}, "set literal")
	f.fails("grep", []any{"pattern", "(a{0,999}){0,999}"}, "repeat")
	f.fails("grep", []any{"pattern", strings.Repeat("(a|b)?", 2000)}, "too large")
}

// Context lines of matches that lie close together are shown once, and gaps
// are marked.
func TestGrepContext(t *testing.T) {
	f := open(t, map[string]string{"f": "m1\na\nb\nm2\nc\nd\ne\nf\nm3\nm4\n"})
	want := "f\n" +
		"     1: m1\n     2- a\n" +
		"     3- b\n     4: m2\n     5- c\n" +
		"   --\n" +
		"     8- f\n     9: m3\n    10: m4"
	if got := f.must("grep", "pattern", "m", "context", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Matches are found at every place relative to the pieces that are searched.
func TestGrepAcrossPieces(t *testing.T) {
	for shift := -3; shift <= 3; shift++ {
		line := strings.Repeat("x", 63) + "\n"
		text := strings.Repeat(line, pieceSize/64) + strings.Repeat("y", max(0, 3+shift)) + "needle\n\nend\n"
		f := open(t, map[string]string{"f": text})
		if got, want := f.must("grep", "pattern", "needle$", "files_only", true), "f"; got != want {
			t.Errorf("shift %d: got %q", shift, got)
		}
		if got, want := f.must("grep", "pattern", "^$"), fmt.Sprintf("f\n%6d: ", pieceSize/64+2); got != want {
			t.Errorf("shift %d: got %q, want %q", shift, got, want)
		}
	}
}

func TestSearchesAreCapped(t *testing.T) {
	files := map[string]string{"long.txt": strings.Repeat("m", 5000) + "\n", "many.txt": strings.Repeat("m\n", 500)}
	for i := range 1100 {
		files[fmt.Sprintf("d/%04d", i)] = ""
	}
	f := open(t, files)
	tests := []struct {
		name  string
		pairs []any
		want  string
		lines int
	}{
		{"list", []any{"path", "d"}, "[cut after 1000 entries; list a folder of it, or less depth]", 1001},
		{"glob", []any{"pattern", "d/*"}, "[the newest 200 of 1100; narrow the pattern to see the others]", 201},
		{"grep", []any{"pattern", "m", "path", "many.txt"}, "[cut: there are more matches; narrow the pattern, path or glob, or set files_only]", 202},
		{"grep", []any{"pattern", "m", "path", "long.txt"}, strings.Repeat("m", maxShown) + "…", 2},
	}
	for _, test := range tests {
		got := f.must(test.name, test.pairs...)
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: ends with %q", test.name, got[max(0, len(got)-100):])
		}
		if n := strings.Count(got, "\n") + 1; n != test.lines {
			t.Errorf("%s: %d lines, want %d", test.name, n, test.lines)
		}
	}
}

func TestSearchesStopWhenCanceled(t *testing.T) {
	f := open(t, treeFiles)
	for name, input := range map[string]string{
		"list": args("depth", 3), "glob": args("pattern", "**"), "grep": args("pattern", "hello"), "read": args("path", "README"),
	} {
		a, err := f.Plan(t.Context(), name, input)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out := a.run(ctx, nil); !out.Failed || !strings.Contains(out.Text, "cancel") {
			t.Errorf("%s: got %+v", name, out)
		}
	}
}

// What a rule denies to read, or asks about, no search tells of.
func TestSearchesObeyRulesOnReading(t *testing.T) {
	files := map[string]string{"a.txt": "word", "secret/b.txt": "word", "secret/deep/c.txt": "word", "keys/d.pem": "word", "keys/e.txt": "word", "private/f.txt": "word"}
	const left = "hidden by a permission rule of the user]"
	tests := []struct {
		tool  string
		pairs []any
		want  string // "" if it may not run
	}{
		{"grep", []any{"pattern", "word", "files_only", true, "all", true}, "a.txt\nkeys/e.txt\n[3 entries " + left},
		{"grep", []any{"pattern", "word", "path", "keys", "files_only", true}, "keys/e.txt\n[1 entry " + left},
		{"grep", []any{"pattern", "word", "path", "secret"}, ""},
		{"grep", []any{"pattern", "word", "path", "secret/deep"}, ""},
		{"grep", []any{"pattern", "word", "path", "keys/d.pem"}, ""},
		{"grep", []any{"pattern", "word", "path", "private", "files_only", true}, "private/f.txt"}, // it was asked
		{"glob", []any{"pattern", "**/{a,b,c,d}.*"}, "a.txt\n[3 entries " + left},
		{"list", []any{"depth", 3}, "a.txt\t4\nkeys/\nkeys/e.txt\t4\n[3 entries " + left},
		{"list", []any{"path", "secret"}, ""},
	}
	f := open(t, files)
	p := NewPolicy(ModeAuto)
	for _, text := range []string{"read:secret/**", "read:**/*.PEM"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = permission.Deny
		p.AddRules([]permission.Rule{r})
	}
	f.SetPolicy(p)
	p.AddRules([]permission.Rule{{Effect: permission.Ask, Tool: "read", Match: "private/**"}})
	for _, test := range tests {
		a, err := f.Plan(t.Context(), test.tool, args(test.pairs...))
		if err != nil {
			t.Fatal(err)
		}
		verdict := p.Decide(a)
		if (verdict == Deny) != (test.want == "") {
			t.Errorf("%s %v: %s", test.tool, test.pairs, verdict)
			continue
		}
		if path := a.Path; (verdict == Ask) != (path == "private") {
			t.Errorf("%s %v: %s", test.tool, test.pairs, verdict)
		}
		if verdict == Deny {
			continue
		}
		if got := a.Run(t.Context(), nil).Text; got != test.want {
			t.Errorf("%s %v: got %q, want %q", test.tool, test.pairs, got, test.want)
		}
	}
	p.SetMode(ModeYolo) // asks about nothing
	a, err := f.Plan(t.Context(), "glob", args("pattern", "private/*"))
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Run(t.Context(), nil).Text; !strings.HasPrefix(got, "private/f.txt") || strings.Contains(got, "secret") {
		t.Errorf("got %q", got)
	}
}

// A rule about reading holds for every tool that only looks, whatever tools there are.
func TestLookingObeysRulesOnReading(t *testing.T) {
	f := open(t, map[string]string{"secret/b.txt": "word"})
	for _, effect := range []permission.Effect{permission.Deny, permission.Ask} {
		p := NewPolicy(ModeAuto)
		p.AddRules([]permission.Rule{{Effect: effect, Tool: "read", Match: "secret/**"}})
		looking := 0
		for _, tool := range f.Tools() {
			input := map[string]any{"path": "secret/b.txt"}
			if strings.Contains(string(tool.Schema), `"pattern"`) {
				input["pattern"] = "word"
			}
			a, err := f.Plan(t.Context(), tool.Name, args(pairsOf(input)...))
			if err != nil || a.Access != AccessRead {
				continue
			}
			looking++
			want := map[permission.Effect]Verdict{permission.Deny: Deny, permission.Ask: Ask}[effect]
			if got := p.Decide(a); got != want {
				t.Errorf("%s of a file about whose reading there is a rule to %s: %s", tool.Name, effect, got)
			}
		}
		if looking < 4 {
			t.Errorf("only %d tools look", looking)
		}
	}
}

func pairsOf(m map[string]any) (pairs []any) {
	for k, v := range m {
		pairs = append(pairs, k, v)
	}
	return pairs
}
