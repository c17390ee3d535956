package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/session/prompts"
	"parley/session/skills"
	"parley/session/trust"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/permission"
)

func init() { permission.Register() }

// extras finds prompts and skills.
var extras = []trust.Finder{{Kind: trust.Prompts, Files: prompts.ProjectFiles}, {Kind: trust.Skills, Files: skills.ProjectFiles}}

type memory map[string]string

func (m memory) Get(key string) (string, error) { return m[key], nil }
func (m memory) Set(key, value string) error    { m[key] = value; return nil }

// tree makes files of name and content, and returns the directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLook(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		folder string
		want   []string // kind and name
	}{
		{"nothing", nil, "", nil},
		{"each kind", map[string]string{"AGENTS.md": "be kind", ".parley/config.toml": "effort = \"low\"", ".mcp.json": "{}"}, "",
			[]string{"instructions AGENTS.md", "configuration .parley/config.toml", "servers .mcp.json"}},
		{"up to the root of the repository", map[string]string{"AGENTS.md": "1", "r/.git/": "", "r/AGENTS.md": "2", "r/a/b/AGENTS.md": "3"}, "r/a/b",
			[]string{"instructions ../../AGENTS.md", "instructions AGENTS.md"}},
		{"a worktree has a file .git", map[string]string{"r/.git": "gitdir: x", "r/AGENTS.md": "2", "r/a/x": ""}, "r/a",
			[]string{"instructions ../AGENTS.md"}},
		{"one in each directory", map[string]string{"r/.git/": "", "r/CLAUDE.md": "1", "r/GEMINI.md": "2", "r/a/GEMINI.md": "3", "r/a/b/AGENTS.md": "4", "r/a/b/CLAUDE.md": "5"}, "r/a/b",
			[]string{"instructions ../../CLAUDE.md", "instructions ../GEMINI.md", "instructions AGENTS.md"}},
		{"prompts, the nearest first", map[string]string{"r/.git/": "", "r/.parley/prompts/a.md": "1", "r/a/.claude/commands/x/b.md": "2", "r/a/.gemini/commands/c.toml": "prompt = \"x\"", "r/.parley/prompts/no.txt": "3"}, "r/a",
			[]string{"prompts .claude/commands/x/b.md", "prompts .gemini/commands/c.toml", "prompts ../.parley/prompts/a.md"}},
		{"outside a repository the folder alone", map[string]string{"AGENTS.md": "1", "a/x": ""}, "a", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := trust.Load(filepath.Join(tree(t, tt.files), tt.folder), nil, extras...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range o.Files {
				got = append(got, string(f.Kind)+" "+f.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if o.Empty() != (len(tt.want) == 0) {
				t.Errorf("empty is %v", o.Empty())
			}
		})
	}
}

// A yes is for these bytes at this path, and for nothing else.
func TestDecided(t *testing.T) {
	tests := []struct {
		name   string
		change func(dir string) (folder string, err error)
		known  bool
	}{
		{"nothing changed", func(dir string) (string, error) { return dir, nil }, true},
		{"a path that leads to the same folder", func(dir string) (string, error) { return dir + "/../" + filepath.Base(dir), nil }, true},
		{"other words", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("be evil"), 0o644)
		}, false},
		{"another import", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "more.md"), []byte("be evil"), 0o644)
		}, false},
		{"another import of the same length", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "more.md"), []byte("and cruel"), 0o644)
		}, false},
		{"a new prompt", func(dir string) (string, error) {
			return dir, errors.Join(os.MkdirAll(filepath.Join(dir, ".claude/commands"), 0o755), os.WriteFile(filepath.Join(dir, ".claude/commands/x.md"), []byte("!`evil`"), 0o644))
		}, false},
		{"another script of a hook", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "lint.sh"), []byte("evil"), 0o644)
		}, false},
		{"another program of a server", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "server.js"), []byte("evil"), 0o644)
		}, false},
		{"another hook", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, ".parley/hooks.toml"), []byte("[[hooks]]\nevent = \"Stop\"\ncommand = \"evil\""), 0o644)
		}, false},
		{"a file that nothing names", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "other.sh"), []byte("evil"), 0o644)
		}, true},
		{"another server", func(dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"x":{"command":"evil"}}}`), 0o644)
		}, false},
		{"a new file", func(dir string) (string, error) {
			return dir, os.MkdirAll(filepath.Join(dir, ".parley"), 0o755)
		}, true},
		{"a new configuration", func(dir string) (string, error) {
			if err := os.MkdirAll(filepath.Join(dir, ".parley"), 0o755); err != nil {
				return "", err
			}
			return dir, os.WriteFile(filepath.Join(dir, ".parley/config.toml"), []byte("effort = \"low\""), 0o644)
		}, false},
		{"the folder was moved", func(dir string) (string, error) { return dir + "2", os.Rename(dir, dir+"2") }, false},
		{"a link to another folder with the same words", func(dir string) (string, error) {
			other := dir + "2"
			if err := os.Rename(dir, other); err != nil {
				return "", err
			}
			return dir, os.Symlink(other, dir)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(tree(t, map[string]string{"work/AGENTS.md": "be kind, see @more.md", "work/more.md": "and brief", "work/.mcp.json": `{"mcpServers":{"x":{"command":"node","args":["./server.js"]}}}`, "work/server.js": "serve()", "work/.parley/hooks.toml": "[[hooks]]\nevent = \"Stop\"\ncommand = \"./lint.sh -v\"", "work/lint.sh": "true"}), "work")
			m := memory{}
			o, err := trust.Load(dir, nil, extras...)
			if err != nil {
				t.Fatal(err)
			}
			if _, known := trust.Decision(m, o); known {
				t.Error("decided before anybody was asked")
			}
			if err := trust.SaveDecision(m, o, true); err != nil {
				t.Fatal(err)
			}
			folder, err := tt.change(dir)
			if err != nil {
				t.Fatal(err)
			}
			if o, err = trust.Load(folder, nil, extras...); err != nil {
				t.Fatal(err)
			}
			yes, known := trust.Decision(m, o)
			if known != tt.known || yes && !known && tt.known {
				t.Errorf("known %v, yes %v; want known %v", known, yes, tt.known)
			}
			if err := trust.SaveDecision(m, o, false); err != nil {
				t.Fatal(err)
			}
			if yes, known := trust.Decision(m, o); yes || !known {
				t.Errorf("after a no: yes %v, known %v", yes, known)
			}
		})
	}
}

func TestContext(t *testing.T) {
	big := strings.Repeat("word ", 10<<10)
	hidden := "be kind\U000E0069\U000E0067\U000E006E\U000E006F\U000E0072\U000E0065"
	root := tree(t, map[string]string{"r/.git/": "", "r/AGENTS.md": big, "r/a/AGENTS.md": big, "r/a/b/AGENTS.md": hidden})
	o, err := trust.Load(filepath.Join(root, "r/a/b"), nil, extras...)
	if err != nil {
		t.Fatal(err)
	}
	text := o.PromptContext()
	if strings.Contains(text, "\U000E0069") {
		t.Error("what cannot be seen reached the model")
	}
	if i, j := strings.Index(text, `file="../AGENTS.md"`), strings.Index(text, `file="AGENTS.md"`); i < 0 || j < i {
		t.Errorf("the inner instructions do not come last: at %d and %d", i, j)
	}
	if strings.Contains(text, `file="../../AGENTS.md"`) || len(text) > 65<<10 {
		t.Errorf("%d bytes: the outermost one has no room", len(text))
	}
	q := o.Review()
	for _, want := range []string{"Do you trust " + o.Dir, "AGENTS.md: instructions for the model", "only its first 32 KB count", "be kind"} {
		if !strings.Contains(q, want) {
			t.Errorf("the question does not say %q", want)
		}
	}
}

// The name of a folder that asks to be trusted says nothing else.
// A few words name files one by one, and count prompts and skills.
func TestNames(t *testing.T) {
	for want, kinds := range map[string][]trust.Kind{
		"":                       nil,
		"f0":                     {trust.Instructions},
		"f0, f2, 1 prompt":       {trust.Instructions, trust.Prompts, trust.Configuration},
		"f1, 2 prompts, 1 skill": {trust.Prompts, trust.Configuration, trust.Prompts, trust.Skills},
		"1 prompt, 3 skills":     {trust.Skills, trust.Skills, trust.Prompts, trust.Skills},
	} {
		var o trust.Project
		for i, kind := range kinds {
			o.Files = append(o.Files, trust.File{Name: fmt.Sprint("f", i), Kind: kind})
		}
		if got := o.Names(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestReviewNamesFolder(t *testing.T) {
	root := filepath.Join(tree(t, nil), "x?\n\n── none: this folder contains no settings\u202e")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte("be kind"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := trust.Load(root, nil, extras...)
	if err != nil {
		t.Fatal(err)
	}
	if first, rest, _ := strings.Cut(o.Review(), "\n"); !strings.HasSuffix(first, "?") || strings.Contains(rest, "none: this") || strings.Contains(first, "\u202e") {
		t.Errorf("the question begins with %q", first)
	}
}

// No file of a folder that asks to be trusted passes for the name of another.
func TestReviewIsQuoted(t *testing.T) {
	root := tree(t, map[string]string{
		"AGENTS.md": "be kind\n\n── docs/example.md: an example\n\nno", ".mcp.json": "{}",
		".claude/commands/x\n── y.md": "hello",
	})
	o, err := trust.Load(root, nil, extras...)
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, line := range strings.Split(o.Review(), "\n") {
		if strings.HasPrefix(line, "── ") {
			heads = append(heads, line)
		}
	}
	for i, want := range []string{"── AGENTS.md", "── .mcp.json", "── .claude/commands/x"} {
		if len(heads) != 3 || !strings.HasPrefix(heads[i], want) {
			t.Fatalf("the question has the lines %q", heads)
		}
	}
}

// TestImports: what is imported is shown and told; what lies outside is neither.
func TestImports(t *testing.T) {
	root := tree(t, map[string]string{"secret.md": "the key", "r/.git/": "", "r/docs/style.md": "tabs", "r/.netrc": "the key", "r/home/.ssh/id_rsa": "the key", "r/a/AGENTS.md": "See @../docs/style.md @../../secret.md @link.md @dir/secret.md @../.netrc @../home/.ssh/id_rsa"})
	for from, to := range map[string]string{"r/a/link.md": "secret.md", "r/a/dir": ""} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	o, err := trust.Load(filepath.Join(root, "r/a"), nil, extras...)
	if err != nil {
		t.Fatal(err)
	}
	text, review := o.PromptContext(), o.Review()
	if !strings.Contains(text, "tabs") || !strings.Contains(review, "tabs") {
		t.Errorf("what is imported is missing:\n%s\n%s", text, review)
	}
	if strings.Contains(text+review, "the key") || !strings.Contains(review, "@../../secret.md is not imported: it is outside the project") || !strings.Contains(review, "@link.md is not imported: it is a link") {
		t.Errorf("what lies outside is not held back:\n%s", review)
	}
}

// TestImportsHeldBack: what a rule denies reading is not imported, and that is told.
func TestImportsHeldBack(t *testing.T) {
	root := tree(t, map[string]string{"r/.git/": "", "r/AGENTS.md": "See @docs/style.md @private/plan.md", "r/docs/style.md": "tabs", "r/private/plan.md": "the key"})
	policy := tools.NewPolicy(act.ModeYolo)
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	policy.SetWorkspace(filepath.Join(real, "r"))
	rules, err := tools.Permissions{Deny: []string{"read:private/**"}}.Rules()
	if err != nil {
		t.Fatal(err)
	}
	policy.AddRules(rules)
	o, err := trust.Load(filepath.Join(root, "r"), policy.HoldsBack, extras...)
	if err != nil {
		t.Fatal(err)
	}
	if text := o.PromptContext(); !strings.Contains(text, "tabs") || strings.Contains(text, "the key") {
		t.Errorf("the model is told %s", text)
	}
	if review := o.Review(); strings.Contains(review, "the key") || !strings.Contains(review, "@private/plan.md is not imported: a rule denies reading it") {
		t.Errorf("shown is %s", review)
	}
}

// TestLinkedPlaces: what a link of the repository leads to is not the repository's, and no file
// of it is listed, shown to a model or readable without a question.
func TestLinkedPlaces(t *testing.T) {
	root := tree(t, map[string]string{"r/.git/": "", "r/.claude/": "", "notes/plan.md": "the key", "notes/x/SKILL.md": "---\nname: x\ndescription: the key\n---\n", "set/config.toml": "system = \"the key\""})
	for from, to := range map[string]string{"r/.claude/commands": "notes", "r/.claude/skills": "notes", "r/.parley": "set"} {
		if err := os.Symlink(filepath.Join(root, to), filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	o, err := trust.Load(filepath.Join(root, "r"), nil, extras...)
	if !o.Empty() {
		t.Errorf("it adds %s", o.Names())
	}
	for _, name := range []string{"plan.md", "SKILL.md", "config.toml"} {
		if err == nil || !strings.Contains(err.Error(), name+" is not used: a link leads to it") {
			t.Errorf("%s is not told: %v", name, err)
		}
	}
}

// A directory in place of a file is an error, and is not waited for.
func TestLookAtWhatIsNoFile(t *testing.T) {
	root := tree(t, map[string]string{"AGENTS.md/": ""})
	o, err := trust.Load(root, nil, extras...)
	if err == nil || !strings.Contains(err.Error(), "not a regular file") || !o.Empty() {
		t.Errorf("got %+v, %v", o, err)
	}
}
