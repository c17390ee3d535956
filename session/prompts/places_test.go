package prompts_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session/prompts"
)

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "Review-2_x": true, "team:ship": true, "a:b:c": true, "9": true, strings.Repeat("a", 100): true,
		"": false, ":a": false, "a:": false, "a::b": false, "-a": false, "a:-b": false, "a b": false, "a/b": false, "a.b": false, "é": false, strings.Repeat("a", 101): false,
	} {
		if got := prompts.ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// Prompts of the same name keep their order: the first takes effect.
func TestSort(t *testing.T) {
	var list []prompts.Prompt
	for i, name := range []string{"c", "a", "b", "a", "c", "a"} {
		list = append(list, prompts.Prompt{Name: name, Line: i})
	}
	prompts.Sort(list)
	got := ""
	for _, p := range list {
		got += fmt.Sprint(p.Name, p.Line, " ")
	}
	if got != "a1 a3 a5 b2 c0 c4 " {
		t.Errorf("got %s", got)
	}
}

func TestPlaces(t *testing.T) {
	show := func(places []prompts.Place) string {
		var list []string
		for _, p := range places {
			list = append(list, fmt.Sprint(p.Program, " ", filepath.ToSlash(p.Dir), map[bool]string{true: " project"}[p.Project]))
		}
		return strings.Join(list, ", ")
	}
	for _, tt := range []struct {
		places []prompts.Place
		want   string
	}{
		{prompts.UserPlaces("", "", ""), ""},
		{prompts.UserPlaces("/own", "", ""), "parley /own"},
		{prompts.UserPlaces("", "/c", ""), "opencode /c/opencode/commands, opencode /c/opencode/command"},
		{prompts.UserPlaces("", "", "/h"), "claude /h/.claude/commands, codex /h/.codex/prompts, gemini /h/.gemini/commands"},
		{prompts.ProjectPlaces("/p"), "parley /p/.parley/prompts project, claude /p/.claude/commands project, opencode /p/.opencode/commands project, opencode /p/.opencode/command project, gemini /p/.gemini/commands project"},
	} {
		if got := show(tt.places); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestProject: the prompts of a project's directory are found in the folders of all programs, and parsed as theirs.
func TestProject(t *testing.T) {
	dir := write(t, map[string]string{
		".parley/prompts/a.md": "Go $1", ".parley/prompts/b.md": "---\nx", ".claude/commands/team/c.md": "x", ".gemini/commands/d.toml": "prompt = 'x'", "e.md": "x",
	})
	paths, err := prompts.ProjectFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	found, problems := prompts.All("", func(yield func(path, text string) bool) {
		for _, path := range append(paths, filepath.Join(dir, "e.md")) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			yield(path, string(text))
		}
	})
	got := ""
	for _, p := range found {
		if p.Project {
			got += fmt.Sprint(p.Name, " ", p.Program, ", ")
		}
	}
	if got != "a parley, team:c claude, d gemini, " {
		t.Errorf("got %s", got)
	}
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), "b.md:1: ") || !strings.Contains(problems[1].Error(), "e.md: it is in no folder of prompts") {
		t.Errorf("problems %q", problems)
	}
}

// TestFiles: names in any case are found, folders and files of other programs are not; of very many,
// the first count.
func TestFiles(t *testing.T) {
	dir := write(t, map[string]string{"a.MD": "x", "b.toml": "prompt = 'x'", "c.md/d.md": "x", "file": "x"})
	for program, want := range map[prompts.Program]string{prompts.Claude: "/a.MD /c.md/d.md", prompts.Codex: "/a.MD", prompts.Gemini: "/b.toml"} {
		files, err := prompts.Place{Dir: dir, Program: program}.Files()
		if got := strings.ReplaceAll(strings.Join(files, " "), dir, ""); got != want || err != nil {
			t.Errorf("%s: %s, %v", program, got, err)
		}
	}
	if files, err := (prompts.Place{Dir: filepath.Join(dir, "file")}).Files(); files != nil || err != nil {
		t.Errorf("a file: %v, %v", files, err)
	}
	many := t.TempDir()
	for i := range 1001 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprintf("%04d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	place := prompts.Place{Dir: many}
	if _, err := place.Files(); err == nil || err.Error() != many+": it has very many files: those at the end are ignored" {
		t.Errorf("1001 files: %v", err)
	}
	if err := os.Remove(filepath.Join(many, "0000.txt")); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Files(); err != nil {
		t.Errorf("1000 files: %v", err)
	}
}

func TestRead(t *testing.T) {
	dir := write(t, map[string]string{"team/a.md": "Go", "large.md": strings.Repeat("x", prompts.MaxFile), "larger.md": strings.Repeat("x", prompts.MaxFile+1), "d.md/x": ""})
	place := prompts.Place{Dir: dir, Program: prompts.Claude, Project: true}
	missing := new(fs.PathError)
	if _, err := os.Open(filepath.Join(dir, "none.md")); !errors.As(err, &missing) {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"team/a.md": "team:a", "large.md": "large", "larger.md": "larger.md: it has more than 256 KB", "d.md": "d.md: it is not a regular file", "none.md": "none.md: " + missing.Err.Error()} {
		p, err := prompts.Read(place, filepath.Join(dir, name))
		got := p.Name
		if err != nil {
			got = strings.TrimPrefix(err.Error(), dir+string(filepath.Separator))
		} else if !p.Project || p.Program != prompts.Claude {
			t.Errorf("%s: %+v", name, p)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestProblemOf(t *testing.T) {
	first, second := &prompts.Error{Path: "/p/team/ship.md", Line: 2, Text: "x"}, &prompts.Error{Path: "/q/ship.toml", Text: "y"}
	problems := []error{errors.New("ship.md"), &prompts.Error{Path: "/p/other.md"}, first, second}
	for name, want := range map[string]error{"ship": first, "team:ship": first, "other:ship": first, "hip": nil, "md": nil, "": nil} {
		if got := prompts.ProblemOf(name, problems); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if first.Error() != "/p/team/ship.md:2: x" || second.Error() != "/q/ship.toml: y" {
		t.Errorf("%v, %v", first, second)
	}
}

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	path, err := prompts.Create(dir, "team:ship", "Go")
	if text, _ := os.ReadFile(path); err != nil || path != filepath.Join(dir, "team", "ship.md") || string(text) != "Go" {
		t.Errorf("%s has %q, %v", path, text, err)
	}
	if path, err := prompts.Create(dir, "team:ship", "x"); err == nil || err.Error() != "a prompt team:ship exists already: choose another name, or edit it" || path != filepath.Join(dir, "team", "ship.md") {
		t.Errorf("%s twice: %v", path, err)
	}
	if _, err := prompts.Create(dir, "../x", "x"); err == nil || err.Error() != `"../x" cannot be the name of a prompt: use letters, digits, - and _` {
		t.Errorf("a bad name: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := prompts.Create(dir, "file:x", "x"); err == nil {
		t.Error("a file in place of a folder")
	}
}

// TestShown: what a prompt runs and takes is known before it is expanded.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"Go":                                      "[] [] ",
		"Go {{WHAT}} {{how=x}} {{t:a|b}} $1":      "[] [{WHAT []} {t [a b]}] <what> <t>",
		"---\nargument-hint: '[x]'\n---\n{{a}}":   "[] [{a []}] [x]",
		"!`ls $1`\n!`cd {{a}}`":                   "[{1 ls $1} {2 cd {{a}}}] [{a []}] <a>",
		"---\narguments: a, b\n---\n$b $a @$a $c": "[] [{b []} {a []}] <b> <a>",
	} {
		p, err := parse(t, prompts.Parley, text)
		if got := fmt.Sprint(p.Commands(), p.Fields(), " ", p.ArgumentHint()); got != want || err != nil {
			t.Errorf("%q: got %s, want %s; %v", text, got, want, err)
		}
	}
	p, err := parse(t, prompts.Parley, "a !`b` c !`d`")
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Expand("", nil)
	if got := e.Text("\n x\ny \n\n"); got != "a  x\ny  c " || err != nil {
		t.Errorf("with one output: %q, %v", got, err)
	}
	if got := e.Text("x", "y", "z"); got != "a x c y" {
		t.Errorf("with three outputs: %q", got)
	}
}
