package embed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/session"
	"parley/session/settings"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
)

// letters makes a vector of three dimensions, or as many as requested, from the first letter of each text.
type letters struct {
	media.Formats
	asked *[]works.EmbedOptions
	mu    *sync.Mutex // guards asked
}

func (l letters) Embedder(string, string) media.Opener[works.Embedder, catalog.Embedding] {
	return func(adapter.Options, catalog.Embedding, []string) works.Embedder { return l }
}

func (letters) Batch() (inputs, tokens int) { return 1, 0 }

func (l letters) Embed(_ context.Context, inputs []string, o works.EmbedOptions) (*works.Embedded, error) {
	l.mu.Lock()
	*l.asked = append(*l.asked, o)
	l.mu.Unlock()
	e := &works.Embedded{Bill: works.Bill{Tokens: len(inputs[0]), USD: 0.1, Priced: true}}
	if o.Task != "" {
		e.Notes = []string{"no tasks"}
	}
	if o.Dimensions == 0 {
		o.Dimensions = 3
	}
	switch inputs[0] {
	case "fail":
		return nil, &llm.Error{Fault: llm.InvalidRequest, Message: "no vector"}
	case "odd":
		o.Dimensions = 5
	}
	v := make([]float32, o.Dimensions)
	v[min(strings.IndexByte("ab", inputs[0][0])+1, o.Dimensions-1)] = 1
	e.Vectors = [][]float32{v}
	return e, nil
}

// replaced sets one of the standard files to a temporary one with text while do runs, and returns what is written to it.
func replaced(t *testing.T, file **os.File, text string, do func()) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString(text)
	f.Seek(0, io.SeekStart)
	was := *file
	*file = f
	defer func() { *file = was }()
	do()
	written, _ := os.ReadFile(f.Name())
	return string(written)
}

// newEnv returns an environment with a store of its own, in an empty working directory.
func newEnv(t *testing.T) (e *ability.Env, asked *[]works.EmbedOptions) {
	t.Helper()
	asked = new([]works.EmbedOptions)
	media.Register(letters{asked: asked, mu: new(sync.Mutex)})
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	for _, name := range []string{"OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY"} {
		t.Setenv(name, "k1234567")
	}
	t.Chdir(t.TempDir())
	c := providers.Config{Providers: map[string]providers.Provider{"mock": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}}}
	return &ability.Env{
		Streams: new(cmdutil.Streams), Load: func() error { return nil }, Services: func() providers.Config { return c }, EmbedModel: "mock/m",
		OpenOptions: func() providers.OpenOptions { return providers.OpenOptions{Getenv: os.Getenv} },
		Find: func(_ context.Context, name string, open func(providers.Config, string) error) error {
			return open(c, name)
		},
		AbbrevPath: func(path string) string { return path },
	}, asked
}

// A step is a command line with its standard input; what it prints; and what it says, as notes or an error.
type step struct{ line, stdin, out, told string }

// check runs a step. Pieces of the results are separated by |; with "" there must be none.
func (s step) check(t *testing.T, e *ability.Env) {
	t.Helper()
	var out strings.Builder
	e.Out = &out
	name, args, _ := strings.Cut(s.line, " ")
	told := replaced(t, &os.Stderr, "", func() {
		replaced(t, &os.Stdout, "", func() {
			replaced(t, &os.Stdin, s.stdin, func() {
				cmd := map[string]func(*ability.Env) *cobra.Command{"embed": New, "similar": NewSimilar}[name](e)
				cmd.SilenceErrors, cmd.SilenceUsage = true, true
				cmd.SetOut(&out)
				cmd.SetArgs(strings.Fields(args))
				e.Quiet = false
				if err := cmd.Execute(); err != nil {
					io.WriteString(os.Stderr, "error: "+err.Error())
				}
			})
		})
	})
	for _, of := range []struct{ got, want string }{{out.String(), s.out}, {told, s.told}} {
		ok := (of.got == "") == (of.want == "") && strings.HasPrefix(of.got, "error: ") == strings.HasPrefix(of.want, "error: ")
		for piece := range strings.SplitSeq(of.want, "|") {
			ok = ok && strings.Contains(of.got, piece)
		}
		if !ok || strings.Contains(of.got, "error:") && !strings.Contains(of.want, "error:") {
			t.Errorf("%s:\ngot  %q\nwant %q", s.line, of.got, of.want)
		}
	}
}

// Texts come from arguments, standard input or files; vectors go to standard output or to files.
func TestEmbed(t *testing.T) {
	e, _ := newEnv(t)
	for name, text := range map[string]string{"two.txt": "apple\nbear", "three.txt": "apple\nbear\ncat\n", "other.txt": "axe\nbear\n", "odd.txt": "apple\nodd\n", "fail.txt": "apple\nfail\n", "nul.txt": "apple\x00\n", "latin.txt": "\xe9\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const apple, bear = `"text":"apple"`, `"text":"bear"`
	const differs = "error: --continue-from a.jsonl: "
	for _, s := range []step{
		{"embed apple bear", "", apple + "|" + bear + `|"model":"mock/m"|"line":2|[0,1,0]`, "parley: Embedded 2 texts with mock/m (3 dimensions) · 9 tokens · $0.20\n"},
		{"embed apple -q", "", apple, ""},
		{"embed -m openai --dimensions 256", "apple", `"dimensions":256`, "with openai/text-embedding-3-small (256 dimensions)"},
		{"embed", "\ufeffapple\r\n \nbear", `"line":1,` + apple + `|"line":3,` + bear, " · 1 blank line skipped\n"},
		{"embed -o text apple", "", "apple                          0.0000  1.0000  0.0000 … 3 numbers\n", "1 text"},
		{"embed -o json apple", "", apple, "1 text"},
		{"embed -o csv apple", "", "apple", "1 text"},
		{"embed -o npy apple", "", "\x93NUMPY", "1 text"},
		{"embed --task code apple bear", "", apple + `|"task":"code"`, "parley: no tasks\nparley: Embedded"},

		{"embed --file two.txt --to a.jsonl", "", "", "Embedded 2 texts|Wrote a.jsonl\n"},
		{"embed --file two.txt --to a.jsonl", "", "", "error: a.jsonl already exists: give another name"},
		{"embed --file two.txt --to b.csv", "", "", "Wrote b.csv\n"},
		{"embed --file two.txt --to b.csv", "", "", "error: b.csv already exists"},
		{"embed --file two.txt --to b.npy", "", "", "Wrote b.npy\n|Wrote b.npy.jsonl\n"},
		{"embed --file two.txt --to none/a.jsonl", "", "", "error: |none"},
		{"embed --file two.txt --to none/a.csv", "", "", "error: |none"},
		{"embed __complete --model=", "", "mistral/mistral-embed\n|:4\n", "Completion ended"},
		{"embed __complete --task=", "", "document\nquery\n|:4\n", "Completion ended"},
		{"embed --file - --to c.jsonl", "apple", "", "Wrote c.jsonl"},

		{"embed --file three.txt --continue-from a.jsonl", "", "", "Embedded 1 text with mock/m|Wrote a.jsonl\n"},
		{"embed --file three.txt --continue-from a.jsonl", "", "", "Embedded 0 texts|Wrote a.jsonl\n"},
		{"embed --file two.txt --continue-from a.jsonl", "", "", differs + "it has more lines than there are texts"},
		{"embed --file other.txt --continue-from a.jsonl", "", "", differs + "its line 1 is of another text than other.txt"},
		{"embed --file three.txt --continue-from a.jsonl -m mock/n", "", "", differs + "its vectors have the model mock/m, not mock/n"},
		{"embed --file three.txt --continue-from a.jsonl --dimensions 4", "", "", differs + "its vectors have 3 dimensions, not 4"},
		{"embed --file three.txt --continue-from two.txt", "", "", "error: --continue-from two.txt: "},
		{"embed --file three.txt --continue-from none", "", "", "error: --continue-from open none: "},

		{"embed --similar a.jsonl axe -n 2", "", "1.000  two.txt:1  apple\n0.000  ", ""},
		{"embed --similar a.jsonl axe -n 1 -o json", "", `{"model":"mock/m","matches":[{"score":1,"file":"two.txt","line":1,` + apple + "}]}\n", ""},
		{"embed --similar a.jsonl axe -n 1 -o jsonl", "", `{"score":1,"file":"two.txt","line":1,` + apple + "}\n", ""},
		{"embed --similar none axe", "", "", "error: --similar open none: "},
		{"embed --similar two.txt axe", "", "", "error: --similar two.txt: line 1: "},
		{"embed --similar a.jsonl fail", "", "", "error: invalid request: no vector"},

		{"embed --file odd.txt --parallel 1", "", apple, "parley: Embedded 1 text |error: mock/m returned vectors of 3 and of 5 dimensions"},
		{"embed --file fail.txt --parallel 1 --to f.jsonl", "", "", "Embedded 1 text |f.jsonl has the first 1; run the same command with --continue-from f.jsonl instead of --to to continue|error: invalid request: no vector"},
		{"embed --file fail.txt --parallel 1 --continue-from f.jsonl", "", "", "error: invalid request: no vector"},
		{"embed apple bear fail --parallel 1 --continue-from f.jsonl", "", "", "parley: Embedded 1 text |f.jsonl has the first 2; run the same command again to continue|error: invalid request: no vector"},
		{"embed fail --to g.jsonl", "", "", "error: invalid request: no vector"},
		{"embed apple --to g.jsonl", "", "", "Wrote g.jsonl"},
		{"embed --file nul.txt", "", "", "error: nul.txt|: this is no text in UTF-8"},
		{"embed --file latin.txt", "", "", "error: latin.txt|: this is no text in UTF-8"},
		{"embed --file none.txt", "", "", "error: --file open none.txt: "},
		{"embed --file .", "", "", "error: .: read .: "},
		{"embed apple -m nobody/m", "", "", `error: |no provider "nobody"`},
		{"embed apple -m gemini --dimensions 127", "", "", "error: --dimensions 127: gemini/gemini-embedding-001 takes 128 to 3072"},
		{"embed apple -m gemini --dimensions 3073", "", "", "error: --dimensions 3073: gemini/gemini-embedding-001 takes 128 to 3072"},
		{"embed apple -m gemini --dimensions 128", "", apple, "(128 dimensions)"},
		{"embed apple -m mistral --dimensions 128", "", "", "error: --dimensions 128: mistral/mistral-embed has 1024 dimensions, and no others"},
		{"embed apple -m mistral --dimensions 1024", "", apple, "(1024 dimensions)"},
	} {
		s.check(t, e)
	}
	if got, _ := os.ReadFile("a.jsonl"); strings.Count(string(got), "\n") != 3 || !strings.Contains(string(got), `"line":3,"text":"cat"`) {
		t.Errorf("a.jsonl contains %s", got)
	}
	if err := os.WriteFile("cut.jsonl", []byte(readFile(t, "a.jsonl")+`{"line":4`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("empty.jsonl", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	step{"embed --similar cut.jsonl cat -n 1", "", "three.txt:3  cat\n", "parley: cut.jsonl: |, and is skipped\n"}.check(t, e)
	step{"embed fail --continue-from empty.jsonl", "", "", "error: invalid request: no vector"}.check(t, e)
	for more, want := range []string{"", "error: long.txt|: the text has more than 8 MB: split it"} {
		if err := os.WriteFile("long.txt", bytes.Repeat([]byte("a"), 8<<20+more), 0o600); err != nil {
			t.Fatal(err)
		}
		step{"embed --file long.txt --to " + strings.Repeat("long", more+1) + ".jsonl -q", "", "", want}.check(t, e)
	}
	step{"embed --similar empty.jsonl cat -n 1", "", "", "error: --similar empty.jsonl: it has no lines"}.check(t, e)
	if left, _ := filepath.Glob(".parley-*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	e.Load = func() error { return errors.New("odd") }
	step{"embed apple", "", "", "error: odd"}.check(t, e)
	step{"similar", "", "", "error: odd"}.check(t, e)
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A collection keeps the vectors of texts, once each, and is searched by meaning.
func TestCollection(t *testing.T) {
	e, asked := newEnv(t)
	const none = `error: no collection "notes": parley similar lists them`
	for _, s := range []step{
		{"similar", "", "", "parley: no collections: parley embed --store NAME makes one\n"},
		{"similar -o json", "", "[]\n", "no collections"},
		{"similar notes axe", "", "", none + ", parley embed --store makes one"},
		{"embed apple bear --store notes", "", "", "Collection notes has 2 texts: parley similar notes TEXT searches it\n"},
		{"embed bear cat --store notes", "", "", "Embedded 1 text |Collection notes has 3 texts, of which 1 were there before\n"},
		{"embed dog fail --store notes --parallel 1", "", "", "Collection notes has 4 texts; run the same command again to continue|error: "},
		{"embed fail --store notes", "", "", "error: "},
		{"embed apple --store notes -m mock/n", "", "", "error: --store notes: its vectors have the model mock/m, not mock/n"},
		{"similar", "", "notes  4 texts  mock/m, 3 dimensions\n", ""},
		{"similar -o jsonl", "", `{|"name":"notes"`, ""},
		{"similar notes big axe -n 1", "", "1.000  |  bear\n", ""},
		{"similar notes -n 1", "axe\n", "1.000  |  apple\n", ""},
		{"similar notes", " \n", "", "error: no text to look for"},
		{"similar notes axe -n 0", "", "", "error: -n 0: use 1 to 1000"},
		{"similar notes axe -n 1001", "", "", "error: -n 1001: use 1 to 1000"},
		{"similar notes axe -n 1000", "", "apple|bear|cat", ""},
		{"similar notes fail", "", "", "error: invalid request: no vector"},
		{"similar --remove notes", "", "", "parley: Deleted collection notes\n"},
		{"similar --remove notes", "", "", none},
		{"embed apple --store notes --task code --dimensions 4", "", "", "no tasks|Embedded 1 text with mock/m (4 dimensions)"},
		{"embed bear --store notes --dimensions 4", "", "", "Embedded 1 text with mock/m (4 dimensions)|notes has 2 texts"},
	} {
		*asked = nil
		s.check(t, e)
		switch {
		case s.line == "embed apple bear --store notes" && (*asked)[0].Task != works.TaskDocument,
			s.line == "similar notes -n 1" && (*asked)[0].Task != works.TaskQuery:
			t.Errorf("%s: asked for %+v", s.line, *asked)
		}
	}
	*asked = nil
	step{"similar notes axe -n 1", "", "1.000  |  apple\n", ""}.check(t, e)
	if len(*asked) != 2 || (*asked)[0] != (works.EmbedOptions{Task: works.TaskCode}) || (*asked)[1] != (works.EmbedOptions{Task: works.TaskCode, Dimensions: 4}) {
		t.Errorf("asked for %+v, want the task and then the dimensions of the collection", *asked)
	}
}

// Spending counts for the limits of a day, which end a run.
func TestLimit(t *testing.T) {
	e, asked := newEnv(t)
	e.Limits = []session.Limit{{Period: settings.PerDay, Cost: 0.25}}
	step{"embed apple bear cat dog emu fox gnu hen --parallel 1", "", "apple|bear|cat", "parley: Embedded |error: daily limit of $0.25 reached: "}.check(t, e)
	sent := len(*asked)
	step{"embed apple", "", "", "error: daily limit of $0.25 reached"}.check(t, e)
	if sent < 3 || sent > 5 || len(*asked) != sent {
		t.Errorf("sent %d and then %d requests", sent, len(*asked)-sent)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	step{"embed apple", "", "apple", "parley: usage is not saved: "}.check(t, e)
	step{"embed apple --store notes", "", "", "error: conversations are not saved"}.check(t, e)
}

// Contradicting flags are errors before anything is sent.
func TestFlags(t *testing.T) {
	e, asked := newEnv(t)
	for line, want := range map[string]string{
		"--similar a axe --store b":         "--similar searches a file: it goes with TEXT, -n and -o alone",
		"--similar a axe --to b":            "--similar searches a file",
		"--similar a axe --continue-from":   "flag needs an argument",
		"--similar a axe --file b":          "--similar searches a file",
		"--similar a axe --task code":       "--similar searches a file",
		"--similar a axe --dimensions 3":    "--similar searches a file",
		"--similar a":                       "--similar FILE needs a text to look for",
		"--similar a axe -o csv":            "-o csv: use one of text, json, jsonl",
		"--similar a axe -n 0":              "-n 0: use 1 to 1000",
		"apple --file a":                    "both texts and --file: use one of them",
		"apple --dimensions -1":             "--dimensions needs a number above 0",
		"apple --parallel 0":                "--parallel one from 1 to 64",
		"apple --parallel 65":               "--parallel one from 1 to 64",
		"apple --store --x":                 `--store "--x": a name is one line`,
		"apple --store a --to b":            "--store keeps the vectors in the database",
		"apple --store a --continue-from b": "--store keeps the vectors in the database",
		"apple --continue-from a --to b":    "--continue-from appends JSON lines to its own file",
		"apple --continue-from a -o csv":    "--continue-from appends JSON lines to its own file",
		"apple -o xml":                      "use one of text, json, jsonl, npy, csv",
	} {
		step{"embed " + line, "", "", "error: |" + want}.check(t, e)
	}
	if len(*asked) > 0 {
		t.Errorf("sent %d requests", len(*asked))
	}
	step{"embed apple --parallel 64 -q", "", "apple", ""}.check(t, e)
}

// The progress is the share of the input that was read, if its size is known.
func TestProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("1234\n\n678\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, files []string
		want        string
	}{
		{[]string{"ab", "cdef"}, nil, "Embedding ━━━━━━──────────────  33% · 1 text · 5 tokens · $0.50"},
		{nil, []string{path}, "Embedding ━━━━━━━━━━──────────  50% · 1 text · 5 tokens · $0.50"},
		{nil, []string{path, os.DevNull}, "Embedding 1 text · 5 tokens · $0.50"},
	} {
		r := &run{reader: newTextReader(tt.args, tt.files)}
		for range r.reader.texts() {
			break
		}
		if got := r.progress(1, works.Bill{Tokens: 5, USD: 0.5, Priced: true}); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
