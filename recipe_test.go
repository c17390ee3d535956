package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A recipe is one way to add a thing, as docs/architecture.md describes: the places that a newcomer edits by hand, and
// the commands that generate the rest.
type recipe struct {
	section string
	writes  map[string]string   // new files and their texts
	edits   map[string][]string // lines to insert into files, each before the line after it in the list
	updates []string            // arguments of go test for writing generated files
}

var recipes = []recipe{
	{
		section: "provider",
		writes: map[string]string{
			"providers/catalog/data/example.toml": `name = "Example"
kind = "example"
base_url = "https://api.example.com/v1"
key_env = ["EXAMPLE_API_KEY"]
default = "large"
small = "large"

[[models]]
id = "large"
name = "Large"
context = 131_072
max_output = 65_536
price = { input = 1.0, output = 2.0 }
tools = true
thinks = true
levels = ["low", "high"]
`,
			"providers/openai/testdata/recordings/example-answer.txtar": `The service calls thinking reasoning.
-- head.json --
{"kind": "example", "model": "large", "prompt": "Say hello.", "effort": "max"}
-- 1.response.sse --
data: {"id":"e1","object":"chat.completion.chunk","created":1763600000,"model":"large","choices":[{"index":0,"delta":{"role":"assistant","reasoning":"A greeting."},"finish_reason":null}]}

data: {"id":"e1","object":"chat.completion.chunk","created":1763600000,"model":"large","choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}

data: [DONE]

`,
		},
		edits: map[string][]string{
			"providers/catalog/catalog.go": {`	"openrouter", "azure",`, `	"example",`},
			"providers/openai/dialects.go": {"\t{\n\t\tkind:    \"groq\",", `	{
		kind:    "example",
		dialect: Dialect{ReasoningField: "reasoning"},
		efforts: []modelEffort{{"*", Effort{Words: effortWords("low low low high high high")}}},
	},`},
		},
		updates: []string{"./providers/openai -run TestServices -update"},
	},
	{
		section: "tool",
		writes: map[string]string{
			"tools/count.go": `package tools

import (
	"context"
	"strconv"

	"parley/tools/act"
)

type countArgs struct {
	Path string ` + "`" + `json:"path" jsonschema:"of the folder, relative to the workspace"` + "`" + `
}

func init() {
	register("count", planCount)
}

func planCount(_ context.Context, w *workspace, args countArgs) (*act.Action, error) {
	dir, err := w.locateDir(args.Path)
	if err != nil {
		return nil, err
	}
	return &act.Action{
		Access: act.AccessRead,
		Title:  "count " + quotePath(args.Path),
		Path:   dir,
		Do: func(context.Context, func(string)) act.Outcome {
			entries, err := w.readDir(dir)
			if err != nil {
				return failedOutcome("%v", err)
			}
			return act.Outcome{Text: strconv.Itoa(len(entries))}
		},
	}, nil
}
`,
			"tools/count.md": "Counts the files and folders directly in `path`, hidden ones too. Use it where the number is\nenough; list returns the names.\n",
		},
		edits: map[string][]string{
			"tools/act/facts.go": {`	{Name: "grep",`, `	{Name: "count", Reads: true, Kind: "search", Did: "counted", What: "folder", Does: looks, InAsk: "runs"},`},
		},
		updates: []string{"./docs -update"},
	},
	{
		section: "command",
		writes: map[string]string{
			"ui/app/flows/wave/wave.go": `// Package wave lets the user wave.
package wave

import "parley/ui/app"

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "wave", Keys: []string{"ctrl+x 7"}, Group: app.Program, Help: "Wave", Run: wave},
	)
}

func wave(string) app.Effect { return app.Toast("Hello") }
`,
		},
		edits: map[string][]string{
			"ui/app/flows/flows.go": {`	"parley/ui/app/flows/manual"`, `	"parley/ui/app/flows/wave"`, "\tmanual.Register(a)", "\twave.Register(a)"},
		},
		updates: []string{
			"./ui/cli ./ui/tui ./ui/plain -run TestManual$ -update",
			"./ui/tui ./ui/plain -run TestDialogues|TestScreens|TestLooks|TestWhichKey -update",
		},
	},
}

// TestRecipes adds a provider, a tool and a command in a copy, as docs/architecture.md describes, and runs the tests
// that check them. It also checks the number of places in each recipe.
func TestRecipes(t *testing.T) {
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{"Two": 2, "Three": 3, "Four": 4}
	for _, r := range recipes {
		section := regexp.MustCompile(`(?s)\n## To add an? ` + r.section + `\n\n(\w+) places(.*?)(\n## |$)`).FindStringSubmatch(string(doc))
		if section == nil {
			t.Fatalf("docs/architecture.md has no section on adding a %s that begins with its places", r.section)
		}
		if got, want := len(r.writes)+len(r.edits), counts[section[1]]; got != want {
			t.Errorf("a %s takes %d places, and docs/architecture.md says %d", r.section, got, want)
		}
	}
	if !long {
		t.Skip("PARLEY_LONG=1 tries them in a copy")
	}
	dir := t.TempDir()
	if err := copyModule(dir); err != nil {
		t.Fatal(err)
	}
	run := func(arguments string) {
		t.Helper()
		cmd := exec.Command("go", append([]string{"test"}, strings.Fields(arguments)...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PARLEY_LONG=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go test %s: %v\n%s", arguments, err, out)
		}
	}
	for _, r := range recipes {
		for name, text := range r.writes {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for name, edits := range r.edits {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			whole := string(text)
			for edit := range slices.Chunk(edits, 2) {
				if n := strings.Count(whole, edit[0]); n != 1 {
					t.Fatalf("%s has %q %d times, not once", name, edit[0], n)
				}
				whole = strings.Replace(whole, edit[0], edit[1]+"\n"+edit[0], 1)
			}
			if err := os.WriteFile(path, []byte(whole), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(". -run TestRatchets -ratchets") // a feature may raise a size; its commit says so
	for _, r := range recipes {
		for _, update := range r.updates {
			run(update)
		}
	}
	run(". ./docs ./ui/... ./tools ./tools/act ./providers ./providers/catalog ./providers/openai")
}

// copyModule copies the module without the files of git.
func copyModule(to string) error {
	return filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o777)
		case !d.Type().IsRegular() || path == ".git":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), text, info.Mode().Perm())
	})
}
