package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/session/trust"
)

// load is Load of a directory in which nothing is wrong.
func load(t *testing.T, dir string) trust.Project {
	t.Helper()
	o, err := trust.Load(dir, nil, extras...)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// write writes a file of a directory.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// decided returns a decision in a word.
func decided(m trust.Store, o trust.Project) string {
	yes, known := trust.Decision(m, o)
	return map[[2]bool]string{{true, true}: "yes", {false, true}: "no", {false, false}: "unknown", {true, false}: "yes to others"}[[2]bool{yes, known}]
}

// Lines to remember have a decision of their own: a yes to the directory includes one to its lines,
// and other lines need another, even if nothing else changed.
func TestMemory(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "be kind", trust.MemoryName: "use\u200b tabs"})
	m := memory{}
	lines := func() trust.Project {
		t.Helper()
		text, o, err := trust.ReadMemory(dir)
		if err != nil || strings.Contains(text, "\u200b") {
			t.Fatalf("%q, %v", text, err)
		}
		return o
	}
	save := func(o trust.Project, yes bool) {
		t.Helper()
		if err := trust.SaveDecision(m, o, yes); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when, all, alone string) {
		t.Helper()
		if got := decided(m, load(t, dir)) + ", " + decided(m, lines()); got != all+", "+alone {
			t.Errorf("%s: got %s, want %s, %s", when, got, all, alone)
		}
	}
	expect("at first", "unknown", "unknown")
	save(load(t, dir), true)
	expect("after a yes", "yes", "yes")
	write(t, dir, trust.MemoryName, "use spaces")
	expect("other lines", "yes to others", "yes to others")
	save(lines(), true)
	expect("a yes to them", "yes", "yes")
	write(t, dir, "AGENTS.md", "be short")
	expect("other instructions", "yes to others", "yes")
	save(load(t, dir), false)
	expect("after a no", "no", "no")
	if err := os.Remove(filepath.Join(dir, trust.MemoryName)); err != nil {
		t.Fatal(err)
	}
	save(load(t, dir), true)
	expect("without lines", "yes", "unknown")
	save(load(t, dir), false)
	expect("a no without lines", "no", "no")

	write(t, dir, trust.MemoryName, "x")
	o := load(t, dir)
	if bare := o.WithoutMemory(); o.Names() != "AGENTS.md, .parley/memory.md" || bare.Names() != "AGENTS.md" || bare.Digest != o.Digest {
		t.Errorf("without its lines %s is %s", o.Names(), bare.Names())
	}
	t.Chdir(dir)
	if _, here, err := trust.ReadMemory("."); err != nil || here.Dir != lines().Dir || load(t, ".").Digest != o.Digest {
		t.Errorf("of a relative path: %+v, %v", here, err)
	}
	if text, _, err := trust.ReadMemory(t.TempDir()); text != "" || err != nil {
		t.Errorf("of a directory without lines: %q, %v", text, err)
	}
	if _, _, err := trust.ReadMemory(filepath.Join(dir, "none")); err == nil {
		t.Error("of no directory")
	}
	if _, _, err := trust.ReadMemory(tree(t, map[string]string{trust.MemoryName + "/": ""})); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a directory for lines: %v", err)
	}
}

// forgetful cannot store anything.
type forgetful struct{}

func (forgetful) Get(string) (string, error) { return "x yes", errors.New("no disk") }
func (forgetful) Set(string, string) error   { return errors.New("no disk") }

func TestDecisionWithoutStore(t *testing.T) {
	o := load(t, tree(t, map[string]string{trust.MemoryName: "x"}))
	if got, err := decided(forgetful{}, o), trust.SaveDecision(forgetful{}, o, true); got != "unknown" || err == nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A yes to an editor's server is for its name, its definition and the files that it names.
func TestServer(t *testing.T) {
	dir := tree(t, map[string]string{"server.js": "serve()", "other.js": "x", "sub/run.sh": "x"})
	m := memory{}
	known := func(name, definition string) string { return decided(m, trust.Server(dir, name, definition)) }
	if err := trust.SaveDecision(m, trust.Server(dir, "x", `node "server.js" sub/run.sh`), true); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, definition, want string }{
		{"x", `node "server.js" sub/run.sh`, "yes"}, {"y", `node "server.js" sub/run.sh`, "unknown"}, {"x", `node "other.js" sub/run.sh`, "yes to others"},
	} {
		if got := known(tt.name, tt.definition); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.name, tt.definition, got, tt.want)
		}
	}
	write(t, dir, "other.js", "evil()")
	if got := known("x", `node "server.js" sub/run.sh`); got != "yes" {
		t.Errorf("another file changed: %s", got)
	}
	write(t, dir, "sub/run.sh", "evil")
	if got := known("x", `node "server.js" sub/run.sh`); got != "yes to others" {
		t.Errorf("a file of it changed: %s", got)
	}
}

// TestNamedFiles: how a hook may name a file of the directory; a large file counts by its beginning, size and time.
func TestNamedFiles(t *testing.T) {
	const large = 4 << 20
	for _, tt := range []struct {
		command, file string // that changes
		counts        bool
	}{
		{"a.sh", "a.sh", true}, {"./a.sh", "a.sh", true}, {"sh -c 'x;b/../a.sh|y'", "a.sh", true}, {"X=a.sh", "a.sh", true}, {"DIR/a.sh", "a.sh", true}, {"b/c.sh", "b/c.sh", true},
		{"xa.sh", "a.sh", false}, {"../a.sh", "a.sh", false}, {"b", "b/c.sh", false}, {"large", "a.sh", false}, {"large", "large", true},
	} {
		dir := tree(t, map[string]string{"a.sh": "1", "b/c.sh": "1"})
		if tt.command == "large" {
			write(t, dir, "large", strings.Repeat("x", large+1))
		}
		write(t, dir, trust.HooksName, fmt.Sprintf("[[hooks]]\nevent = \"Stop\"\ncommand = %q", strings.Replace(tt.command, "DIR", dir, 1)))
		path := filepath.Join(dir, tt.file)
		at := time.Date(2026, 5, 17, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		before := load(t, dir).Digest
		if tt.file == "large" {
			if err := os.Chtimes(path, at, at.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, dir, tt.file, "2")
		}
		if changed := load(t, dir).Digest != before; changed != tt.counts {
			t.Errorf("%s: a change of %s counts: %v", tt.command, tt.file, changed)
		}
	}
	// Bytes that move from one named file to the next count.
	pair := tree(t, map[string]string{trust.HooksName: "command = 'a b'", "a": "12", "b": "3"})
	apart := load(t, pair).Digest
	write(t, pair, "a", "1")
	write(t, pair, "b", "23")
	if load(t, pair).Digest == apart {
		t.Error("the border between two named files does not count")
	}
	dir := tree(t, map[string]string{trust.HooksName: "command = 'whole'", "whole": strings.Repeat("x", large)})
	before := load(t, dir).Digest
	if err := os.Chtimes(filepath.Join(dir, "whole"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if load(t, dir).Digest != before {
		t.Error("the time of a file that is hashed whole counts")
	}
}

// TestSizes: what is too large, and what is told of it.
func TestSizes(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	const kb = 1 << 10
	for _, tt := range []struct {
		name  string
		files map[string]string
		names string // what is used
		note  string // of the first file
		err   string
	}{
		{"instructions", map[string]string{"AGENTS.md": x(32 * kb)}, "AGENTS.md", "", ""},
		{"long instructions", map[string]string{"AGENTS.md": x(32*kb + 1)}, "AGENTS.md", "[only its first 32 KB count]", ""},
		{"a configuration", map[string]string{trust.ConfigName: x(32*kb + 1)}, trust.ConfigName, "[only its first 32 KB count]", ""},
		{"a prompt", map[string]string{".parley/prompts/a.md": x(256 * kb)}, "1 prompt", "", ""},
		{"a long prompt", map[string]string{".parley/prompts/a.md": x(256*kb + 1)}, "", "", ".parley/prompts/a.md is not used: it has more than 256 KB"},
		{"a long skill", map[string]string{".parley/skills/a/SKILL.md": x(256*kb + 1)}, "", "", ".parley/skills/a/SKILL.md is not used: it has more than 256 KB"},
		{"hidden characters", map[string]string{"AGENTS.md": "a\u200bb", trust.ConfigName: "a\u200bb", ".mcp.json": "a\u200bb", ".parley/prompts/a.md": "b"}, "AGENTS.md, 1 prompt", "hidden", ".parley/config.toml is not used: it contains invisible characters"},
	} {
		o, err := trust.Load(tree(t, tt.files), nil, extras...)
		if o.Names() != tt.names || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", tt.name, o.Names(), err)
		}
		if len(o.Files) > 0 && o.Files[0].Note != tt.note && (tt.note != "hidden" || o.Files[0].Note == "") {
			t.Errorf("%s: note %q", tt.name, o.Files[0].Note)
		}
	}
	// Prompts and skills have 4 MB together.
	files := map[string]string{}
	for i := range 18 {
		files[fmt.Sprintf(".parley/prompts/%02d.md", i)] = x(256 * kb)
	}
	files[".parley/skills/a/SKILL.md"] = "x"
	o, err := trust.Load(tree(t, files), nil, extras...)
	if o.Names() != "17 prompts" || err == nil || strings.Count(err.Error(), "\n") != 1 ||
		!strings.Contains(err.Error(), "17.md is not used: the prompts of this folder have more than 4 MB") || !strings.Contains(err.Error(), "SKILL.md is not used: the skills of this folder") {
		t.Errorf("%s, %v", o.Names(), err)
	}
}

// TestSent: instructions are sent up to 32 KB, the innermost whole.
func TestSent(t *testing.T) {
	const kb = 1 << 10
	for _, tt := range []struct {
		sizes []int
		want  string
	}{
		{nil, ""},
		{[]int{10 * kb, 22 * kb}, "10240 22528"},
		{[]int{10*kb + 1, 22 * kb}, "10240 [only its first 10 KB are sent] [instructions are at most 32 KB] 22528"},
		{[]int{10, 31*kb + 1}, "10 31745"},
		{[]int{kb, 31*kb + 1}, "0 [not sent] [instructions are at most 32 KB] 31745"},
		{[]int{9, 9, 32 * kb}, "0 [not sent] [instructions are at most 32 KB] 0 [not sent] [instructions are at most 32 KB] 32768"},
	} {
		var o trust.Project
		for _, n := range tt.sizes {
			o.Files = append(o.Files, trust.File{Kind: trust.Instructions, Text: strings.Repeat("x", n)}, trust.File{Kind: trust.Servers, Text: "{}"})
		}
		var got []string
		for _, f := range o.Sent() {
			got = append(got, strings.TrimSpace(fmt.Sprint(len(f.Text), " ", f.Note)))
		}
		if all := strings.Join(got, " "); all != tt.want {
			t.Errorf("%v: got %s, want %s", tt.sizes, all, tt.want)
		}
	}
}

// TestExtras: prompts and skills are read, and unusable ones told; a review shows 64 KB of them.
func TestExtras(t *testing.T) {
	dir := tree(t, map[string]string{
		".parley/prompts/a.md": "Go $1", ".parley/prompts/b.md": "---\nx", ".parley/prompts/c.md": strings.Repeat("x", 64<<10),
		".claude/skills/d/SKILL.md": "---\nname: d\ndescription: is d\n---\nDo", ".claude/skills/e/SKILL.md": "Do",
	})
	o := load(t, dir)
	for kind, want := range map[trust.Kind]string{trust.Prompts: "a.md b.md c.md", trust.Skills: "d/SKILL.md e/SKILL.md"} {
		var names []string
		for _, f := range o.FilesOfKind(kind) {
			_, name, _ := strings.Cut(f.Name, string(kind)+"/")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
	for _, want := range []string{"── .parley/prompts/a.md: a prompt, sent when you type its name\n", "Go $1\n", "── .parley/prompts/c.md: a prompt, sent when you type its name (65 KB, not shown here)\n", "── .claude/skills/d/SKILL.md: a skill, which the model may load"} {
		if review := o.Review(); !strings.Contains(review, want) {
			t.Errorf("the question lacks %q", want)
		}
	}
	exact := trust.Project{Files: []trust.File{{Kind: trust.Prompts, Name: "a", Text: strings.Repeat("x", 64<<10)}, {Kind: trust.Prompts, Name: "b", Text: "y"}}}
	if review := exact.Review(); strings.Count(review, "not shown here") != 1 || !strings.Contains(review, "── b: a prompt, sent when you type its name (1 KB, not shown here)") {
		t.Errorf("of 64 KB and one byte it shows %d bytes", len(review))
	}
	if text := (trust.Project{}).PromptContext(); text != "" {
		t.Errorf("without instructions, the model is told %s", text)
	}
}
