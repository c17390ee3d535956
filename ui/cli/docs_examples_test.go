package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"mvdan.cc/sh/v3/syntax"

	"parley/session/config"
	"parley/tools/sandbox"
	"parley/ui/print"
)

// TestMain lets the examples of the manual run this program as parley.
func TestMain(m *testing.M) {
	sandbox.RunIfHelper()
	if os.Getenv("PARLEY_TEST_AS_PROGRAM") != "" {
		os.Exit(Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// A snippet is a block of code, or code within a line, in what people read.
type snippet struct {
	file, language, text string
	inline               bool
}

// snippets returns all code of the manual, of README.md and of CHANGELOG.md.
func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../README.md", "../../CHANGELOG.md") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
		add := func(s snippet) {
			s.file = filepath.Base(file)
			all = append(all, s)
		}
		err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.FencedCodeBlock:
				add(snippet{language: string(n.Language(source)), text: string(n.Lines().Value(source))})
			case *ast.CodeBlock:
				add(snippet{language: "sh", text: string(n.Lines().Value(source))})
			case *ast.CodeSpan:
				add(snippet{text: spanText(n, source), inline: true})
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// spanText returns code within a line.
func spanText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// fragment reports whether a block is a part of a file of another program.
func fragment(s snippet) bool {
	return s.language == "json" && !strings.HasPrefix(strings.TrimSpace(s.text), "{")
}

// TestManualSnippets holds that settings and JSON in the manual are read as they stand.
func TestManualSnippets(t *testing.T) {
	counts := map[string]int{}
	for _, s := range snippets(t) {
		if s.inline {
			continue
		}
		counts[s.language]++
		switch s.language {
		case "toml":
			cfg := defaultConfig(nil)
			if err := config.Decode(s.text, &cfg); err != nil {
				t.Errorf("%s: config.toml:%v in\n%s", s.file, err, s.text)
			}
		case "json":
			data := s.text
			if fragment(s) {
				data = "{" + data + "}"
			}
			if !json.Valid([]byte(data)) {
				t.Errorf("%s: no JSON:\n%s", s.file, s.text)
			}
		}
	}
	t.Logf("blocks of code by language: %v", counts)
}

// callsOf returns the arguments of each call of parley in lines for the shell. What only a
// shell knows stands as X.
func callsOf(script string) (calls [][]string, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, wordText(w.Parts))
		}
		if at := slices.Index(words, "parley"); at == 0 || at > 0 && slices.Contains(wrappers, words[0]) {
			calls = append(calls, words[at+1:])
		}
		return true
	})
	return calls, nil
}

// wrappers are programs that run the one they are given.
var wrappers = []string{"xargs", "time", "env", "timeout", "watch"}

func wordText(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(wordText(part.Parts))
		default:
			b.WriteString("X")
		}
	}
	return b.String()
}

// shellCalls returns the calls of parley in a snippet. Blocks that are indented may be no
// commands at all.
func shellCalls(s snippet) ([][]string, error) {
	switch {
	case s.inline && strings.HasPrefix(s.text, "parley "):
		calls, err := callsOf(strings.NewReplacer("…", "", "[", "", "]", "", "|", " ").Replace(s.text))
		if err != nil || len(calls) > 1 {
			return nil, nil // words, with parley in front
		}
		return calls, nil
	case s.inline || s.language != "sh":
		return nil, nil
	}
	calls, err := callsOf(s.text)
	if err != nil && !strings.Contains(s.text, "parley ") {
		return nil, nil
	}
	return calls, err
}

// checkCall reports what is wrong with the arguments of a call: a command or a flag that does
// not exist, or a value that is not taken; and, of whole command lines, what is missing.
func checkCall(args []string, whole bool) (flags int, err error) {
	a := newProgram()
	root := manualRoot(a)
	cmd, rest, err := root.Find(withOptionalValues(args))
	if err != nil {
		return 0, err
	}
	if cmd.Name() == "help" && len(rest) > 0 {
		return 0, checkHelp(root, rest)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return 0, fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return 0, err
	}
	cmd.Flags().Visit(func(*pflag.Flag) { flags++ })
	switch {
	case !whole:
	case cmd == root:
		if err = a.flags.validate(cmd, cmd.Flags().Args()); errors.Is(err, fs.ErrNotExist) { // a schema of the reader's
			err = nil
		}
	case !cmd.HasSubCommands():
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	return flags, err
}

// checkHelp reports whether help knows a topic or a command.
func checkHelp(root *cobra.Command, args []string) error {
	if slices.Contains(helpTopics(root), args[0]) || strings.ToUpper(args[0]) == args[0] {
		return nil
	}
	return fmt.Errorf("no help on %q", args[0])
}

// TestManualCommands holds that each command line of the manual is one: its commands and flags
// exist, and their values are taken. None runs.
func TestManualCommands(t *testing.T) {
	lines, flags := 0, 0
	for _, s := range snippets(t) {
		calls, err := shellCalls(s)
		if err != nil {
			t.Errorf("%s: %v in\n%s", s.file, err, s.text)
		}
		for _, args := range calls {
			lines++
			n, err := checkCall(args, !s.inline)
			if err != nil {
				t.Errorf("%s: parley %s: %v", s.file, strings.Join(args, " "), err)
			}
			flags += n
		}
	}
	t.Logf("%d command lines with %d flags", lines, flags)
}

// proseFlag finds a flag at the beginning of code within a line.
var proseFlag = regexp.MustCompile(`^--([a-z][a-z-]*)(?:[ =\[].*)?$`)

// chatFlags are flags of commands of the chat: of /compare.
var chatFlags = []string{"blind"}

// TestManualFlags holds that each flag that the manual names exists on some command.
func TestManualFlags(t *testing.T) {
	known := map[string]bool{}
	eachCommand(manualRoot(newProgram()), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	})
	n := 0
	for _, s := range snippets(t) {
		m := proseFlag.FindStringSubmatch(s.text)
		if !s.inline || m == nil {
			continue
		}
		n++
		if !known[m[1]] && !slices.Contains(chatFlags, m[1]) {
			t.Errorf("%s: no command has --%s", s.file, m[1])
		}
	}
	t.Logf("%d flags in prose", n)
}

// proseStatus finds an exit status in running text.
var proseStatus = regexp.MustCompile(`(?i)(?:exits?(?:ed|s)? with|(?:the|exit) status(?: is)?|ends with(?: exit)? status) ` + "`?" + `(\d+)\b`)

// TestManualStatuses holds that each exit status that the manual names is one.
func TestManualStatuses(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range append(files, "../../README.md", "../../CHANGELOG.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range proseStatus.FindAllStringSubmatch(strings.Join(strings.Fields(string(data)), " "), -1) {
			n++
			if !slices.ContainsFunc(print.Statuses, func(s print.Status) bool { return s.Status == m[1] || m[1] == "141" }) {
				t.Errorf("%s: %q: no such exit status", filepath.Base(file), m[0])
			}
		}
	}
	t.Logf("%d exit statuses in prose", n)
}

// offline lists lines of the manual that need no network, no key and no model but the demo.
var offline = []string{
	`parley help`,
	`parley help scripts`,
	`parley sessions --help`,
	`parley models`,
	`parley models --image`,
	`parley models --video`,
	`parley models --embed`,
	`parley models sonnet --all`,
	`parley connect --list`,
	`parley doctor`,
	`parley usage`,
	`parley usage --by model --since 7d`,
	`parley usage --cache`,
	`parley video list`,
	`echo "why is the sky blue" | parley`,
	`parley --effort high "prove that there are infinitely many primes"`,
	`parley -n 3 "a title for a talk about whales"`,
	`parley --max-cost 0.50 "refactor this package"`,
	`parley -p --tools none "hello"`,
	`parley -p --tools read,grep "where is main?"`,
	`parley -p --allow edit "fix the typo in README.md"`,
	`parley -p --timeout 90s --max-cost 0.20 --max-turns 10 "summarize"`,
	`parley --dry-run "hello"`,
	`parley image "a tree" --dry-run`,
	"parley -p --record hello.jsonl \"hello\"\nparley -p --replay hello.jsonl \"hello\"",
	"for f in *.go; do\n  printf '%s: ' \"$f\"\n  parley -q -p --ephemeral -f \"$f\" \"what is in this file? One line.\"\ndone",
	"if parley -q -p \"hello\" > answer.txt; then",
	"id=$(parley -p -o json \"hello\" | jq -r .session)\nparley -p -r \"$id\" \"what can you do?\"\nparley -p -c \"and what else?\"",
	`parley -p -o jsonl "hello" | jq -r 'select(.type=="text").text'`,
	`git diff | parley -P commit`,
}

// TestManualRuns runs lines of the manual, and its programs in other languages, in an empty home.
func TestManualRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a shell")
	}
	all := snippets(t)
	run := func(name string, command ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, other := range []string{"jq", "git"} {
				if _, err := exec.LookPath(other); err != nil && strings.Contains(name, other+" ") {
					t.Skipf("%s is not on PATH", other)
				}
			}
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir, cmd.Env = manualHome(t)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, lines := range offline {
		at := slices.IndexFunc(all, func(s snippet) bool { return !s.inline && strings.Contains(s.text, lines) || s.text == lines })
		if at < 0 {
			t.Errorf("the manual has no %q", lines)
			continue
		}
		if strings.HasSuffix(lines, "; then") {
			lines = all[at].text // a whole one
		}
		run(lines, "sh", "-ec", lines)
	}
	t.Logf("%d examples run", len(offline))
	for _, s := range all {
		program := map[string]string{"python": "python3", "js": "node"}[s.language]
		if path, err := exec.LookPath(program); program != "" && err == nil {
			run(s.file+" "+s.language, path, map[string]string{"python": "-c", "js": "-e"}[s.language], s.text)
		} else if program != "" {
			t.Logf("%s is not on PATH: its example in %s is not run", program, s.file)
		}
	}
}

// manualHome returns a folder to work in, and an environment in which parley is this program,
// with a home where nothing was ever done.
func manualHome(t *testing.T) (dir string, env []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	dir, bin := filepath.Join(home, "project"), filepath.Join(home, "bin")
	for path, content := range map[string]string{
		filepath.Join(bin, "parley"):                                     "#!/bin/sh\nPARLEY_TEST_AS_PROGRAM=1 exec '" + self + "' \"$@\"\n",
		filepath.Join(dir, "main.go"):                                    "package main\n\nfunc main() {}\n",
		filepath.Join(dir, "README.md"):                                  "# Project\n",
		filepath.Join(dir, "notes.txt"):                                  "whales\nfoxes\n",
		filepath.Join(home, ".config", "parley", "prompts", "commit.md"): "Write a commit message.\n",
	} {
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755))
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm", "GOCOVERDIR=" + home,
		"XDG_CONFIG_HOME=" + home + "/.config", "XDG_DATA_HOME=" + home + "/.local/share", "XDG_STATE_HOME=" + home + "/.local/state", "XDG_CACHE_HOME=" + home + "/.cache",
	}
}
