package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

	"parley/docs"
	"parley/session/config"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// A snippet is a block of code or inline code in a document.
type snippet struct {
	file, language, text string
	inline               bool
}

// snippets returns all code in the manual, README.md and CHANGELOG.md.
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

// spanText returns the text of inline code.
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

// fragment reports whether a block is part of another program's file.
func fragment(s snippet) bool {
	return s.language == "json" && !strings.HasPrefix(strings.TrimSpace(s.text), "{")
}

// TestManualSnippets checks that settings and JSON in the manual can be parsed.
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

// callsOf returns the arguments of each call of parley in a shell script. Values known only to a shell are X.
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

// wrappers are programs that run the program in their arguments.
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

// shellCalls returns the calls of parley in a snippet. Indented blocks need not be commands.
func shellCalls(s snippet) ([][]string, error) {
	switch {
	case s.inline && strings.HasPrefix(s.text, "parley "):
		calls, err := callsOf(strings.NewReplacer("…", "", "[", "", "]", "", "|", " ").Replace(s.text))
		if err != nil || len(calls) > 1 {
			return nil, nil // words after parley
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

// checkCall reports errors in the arguments of a call: an unknown command or flag, or an invalid value and, for whole
// command lines, missing arguments.
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
		if err = a.flags.validate(cmd, cmd.Flags().Args(), a.Format); errors.Is(err, fs.ErrNotExist) { // a schema file of the reader's
			err = nil
		}
	case !cmd.HasSubCommands():
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	return flags, err
}

// checkHelp reports an error if help does not know the topic or command.
func checkHelp(root *cobra.Command, args []string) error {
	if slices.Contains(append(docs.Names(), cmdutil.Names(root)...), args[0]) || strings.ToUpper(args[0]) == args[0] {
		return nil
	}
	return fmt.Errorf("no help on %q", args[0])
}

// TestManualCommands checks all command lines of the manual: their commands and flags must exist, and their values must
// be valid. It runs none of them.
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

// proseFlag matches a flag at the beginning of inline code.
var proseFlag = regexp.MustCompile(`^--([a-z][a-z-]*)(?:[ =\[].*)?$`)

// chatFlags are flags of chat commands: of /compare.
var chatFlags = []string{"blind"}

// TestManualFlags checks that each flag in the manual exists on some command.
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

// proseStatus matches an exit status in running text.
var proseStatus = regexp.MustCompile(`(?i)(?:exits?(?:ed|s)? with|(?:the|exit) status(?: is)?|ends with(?: exit)? status) ` + "`?" + `(\d+)\b`)

// TestManualStatuses checks that all exit statuses in the manual exist.
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
			if !slices.ContainsFunc(exit.Statuses, func(s exit.Status) bool { return s.Status == m[1] || m[1] == "141" }) {
				t.Errorf("%s: %q: no such exit status", filepath.Base(file), m[0])
			}
		}
	}
	t.Logf("%d exit statuses in prose", n)
}
