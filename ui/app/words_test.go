package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// droppedWords are words and phrases that users of git and of other assistants would not understand, with better ones.
var droppedWords = []struct{ pattern, better string }{
	{`\bgo(es|ing)? on\b`, "continue"},
	{`\banew\b`, "again, or re-"},
	{`\b(was|is) said\b`, "the conversation, or a verb with its subject"},
	{`\blast it said\b`, "last output"},
	{`\brequests? holds?\b`, "history, context, or: is sent"},
	{`\bput(s|ting)? (it |the draft )?(aside|away)\b`, "stash"},
	{`\b(took|takes?|taken) off\b`, "remove"},
	{`\bthe provider likes\b|\bas .{1,20} likes\b`, "provider default"},
	{`\bnothing was\b`, "Not and the verb: Not stored"},
	{`\bbr(oke|eaks?) off\b`, "stopped, or: connection lost"},
	{`\bleaves? (it|them|this)\b`, "Not now, cancel"},
	{`[“”]`, `quotation marks are "`},
	{`flavour|favourit|colour|summaris|recognis|organis|behaviour|licence|cancelled|honour`, "American spelling"},
	{`(\d|%d|%[.]\df) %%?([ ,;)]|$)`, "no space before %"},
	{`\b(person|persons|people|person's)\b`, "user"},
	{`\bof (yours|mine|his|theirs)\b|\bfolder of yours\b`, "your …"},
	{`\btrouble of\b|\bhas trouble\b`, "reported an error"},
	{`\btop up\b`, "add credit to"},
	{`\bsee to\b`, "check"},
	{`\bover the wire\b`, "HTTP, requests and responses"},
	{`\bout of order\b`, "fails"},
	{`\b(mend|mended|mends)\b`, "repair, fix"},
	{`\bany more\b`, "no longer"},
	{`\b(there no longer|no longer there)\b`, "gone, or: no longer in …"},
	{`\bwhoever\b|\bunasked\b`, "name the one; without asking"},
	{`\bin place of\b`, "instead of"},
	{`\bas (it|they) came\b|\bas (it|they) (was|were)\b`, "raw"},
	{`\bhow much (it|the model) thinks\b|\bthinks? (less|more)\b`, "reasoning effort"},
	{`\b(the )?model's window\b|\bwindow of the\b`, "context window"},
	{`\bas of now\b|\bby now\b`, "now"},
	{`\banswered nothing\b`, "empty answer"},
	{`\bdid not accept it\b`, "was rejected by"},
	{`\bnobody\b|\bsomebody\b`, "not …; another user or program"},
	{`\bof its own\b|\bof their own\b`, "its own …"},
	{`\bmust not hold\b|\bholds? (a|an|what|characters|no|SSH|PGP|credentials|passwords|access|your|parley's|the)\b|\bholds too\b`, "contain"},
	{`\btold (as|it|to|in)\b|\bis (only |always )?told\b|\bcannot be told\b`, "sent, given, says"},
	{`\bwhat stands\b|\bwhat was there\b|\bwhat it is given\b`, "name it"},
	{`\bnothing to try again\b|\btry(ing)? it anew\b`, "retry"},
	{`\bthe chat (works|goes)\b|\ball the same\b`, "anyway, or drop it"},
	{`\bprogram has ended\b`, "exited"},
	{`\bpictures?\b`, "image"},
	{`\bdirector(y|ies)\b`, "folder"},
	{`\bleft out\b|\bleave out\b|\bleaving out\b`, "not sent, ignored, skipped, hidden"},
	{`\bthere (is|are) no (tool|program|key|model|format|shell|host)\b`, "no tool …"},
}

// exempt lists files and literals that no user reads on a screen, or in which a dropped word is right. text is a part
// of the literal; "" is the whole file.
var exempt = []struct{ file, text, reason string }{
	{"providers/llmtest/", "", "test code"},
	{"providers/adapter/adaptertest/", "", "test code"},
	{"providers/discover/discovertest/", "", "test code"},
	{"ui/uitest/", "", "test code"},
	{"docs/pictures/", "", "draws the images of the README"},
	{"providers/prompted/prompt.go", "", "a prompt"},
	{"providers/schema/names.go", "filepath file filename absolutepath", "names that models use for an argument"},
	{"providers/agentcli/prompt.go", "", "a prompt"},
	{"providers/anthropic/messages.go", "Go on.", "a prompt"},
	{"providers/anthropic/downgrade.go", "[left out: ", "sent to the model"},
	{"providers/gemini/contents.go", "left out", "sent to the model"},
	{"providers/adapter/media.go", "left out", "sent to the model"},
	{"providers/llm/images.go", "left out", "sent to the model"},
	{"providers/demo/chat.go", "(?m)", "reads a prompt"},
	{"providers/agentcli/errors.go", "trusted (directory", "reads an error"},
	{"session/archive/codex_json.go", "Current working directory: ", "reads a file"},
	{"session/archive/gemini.go", "irector", "reads a file"},
	{"session/archive/opencode_places.go", "directory", "a column"},
	{"tools/sandbox/gitstate_linux.go", "directory", "is compared alone"},
	{"ui/tui/transcript/args.go", "directory", "the name of an argument"},
	{"ui/cli/usage_errors.go", "include-directories", "a flag of another program"},
	{"providers/connect.go", "“", "quotation marks around a key"},
	{"providers/demo/text.go", "“", "written by a model"},
	{"providers/demo/text.go", "”", "written by a model"},
	{"session/title.go", "“", "quotation marks around a title"},
	{"ui/cli/cmd/man/man.go", "“", "translated for man"},
	{"ui/cli/cmd/man/man.go", "”", "translated for man"},
	{"ui/markdown/wrap.go", "“", "where lines break"},
	{"ui/markdown/wrap.go", "”", "where lines break"},
	{"ui/plain/console/markdown.go", "”", "where sentences end"},
	{"providers/demo/schema.go", "somebody@example.com", "an address"},
	{"providers/openai/responses_event.go", "response.cancelled", "the name of an event"},
	{"providers/media/formats/video.go", "cancelled", "a word of the services"},
	{"ui/cli/cmd/serve/peer.go", "notifications/cancelled", "a word of the protocol"},
	{"session/compact.go", "", "a prompt"},
	{"session/trust/review.go", "The person trusts", "a prompt"},
	{"session/calls.go", "person", "stored with conversations"},
	{"tools/text.go", "characters left out", "sent to the model"},
}

// texts returns the files for users outside the program: README.md, config.toml.example and the manual, except the
// pages for developers.
func texts(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages of the manual", err)
	}
	names := []string{"README.md", "config.toml.example"}
	for _, page := range pages {
		if name := filepath.Base(page); name != "architecture.md" && name != "dependencies.md" {
			names = append(names, "docs/"+name)
		}
	}
	return names
}

// TestWords checks all texts of the program, its manual and its example configuration for droppedWords.
func TestWords(t *testing.T) {
	var patterns []wordPattern
	for _, d := range droppedWords {
		patterns = append(patterns, newWordPattern(t, d.pattern))
	}
	used := make([]bool, len(exempt))
	check := func(file string, line int, text string) {
		for i, e := range exempt {
			if strings.HasPrefix(file, e.file) && strings.Contains(text, e.text) {
				used[i] = true
				return
			}
		}
		lower := strings.ToLower(text)
		for i, p := range patterns {
			if hit := p.find(text, lower); hit != "" {
				t.Errorf("%s:%d: %q in %q: better: %s", file, line, hit, text, droppedWords[i].better)
			}
		}
	}
	eachText(t, func(file string, line int, text string) { check(file, line, text) })
	for _, name := range texts(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			check(name, i+1, line)
		}
	}
	for i, e := range exempt {
		if !used[i] {
			t.Errorf("nothing in %s contains %q: delete its row", e.file, e.text)
		}
	}
}

// A wordPattern is a pattern in lower case that matches any case.
type wordPattern struct {
	pattern *regexp.Regexp
	parts   []string // every match contains one of them; nil if unknown
}

func newWordPattern(t *testing.T, pattern string) wordPattern {
	t.Helper()
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return wordPattern{regexp.MustCompile("(?i)" + pattern), partsOf(tree)}
}

// find returns the match of the pattern in text. Most texts have none of the parts; checking that takes a tenth of the
// time of the pattern.
func (p wordPattern) find(text, lower string) string {
	if p.parts != nil && !slices.ContainsFunc(p.parts, func(part string) bool { return strings.Contains(lower, part) }) {
		return ""
	}
	return p.pattern.FindString(text)
}

// partsOf returns texts such that each match of a pattern contains one of them; nil if there are no such texts.
func partsOf(pattern *syntax.Regexp) (parts []string) {
	switch pattern.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(pattern.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return partsOf(pattern.Sub[0])
	case syntax.OpConcat: // the rarest parts: the longest
		for _, sub := range pattern.Sub {
			if other := partsOf(sub); shortest(other) > shortest(parts) {
				parts = other
			}
		}
	case syntax.OpAlternate:
		for _, sub := range pattern.Sub {
			other := partsOf(sub)
			if other == nil {
				return nil
			}
			parts = append(parts, other...)
		}
	}
	return parts
}

// shortest returns the length of the shortest text; 0 for no texts.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// TestToasts checks that texts beside the conversation are sentences: capitalized, and without a final period.
func TestToasts(t *testing.T) {
	eachFile(t, func(file string, tree *ast.File) {
		if !strings.HasPrefix(file, "ui/") {
			return
		}
		check := func(e ast.Expr) {
			begin, whole, ok := literalText(e)
			first, _ := utf8.DecodeRuneInString(begin)
			at := sourcePositions.Position(e.Pos()).Line
			if ok && unicode.IsLower(first) && !strings.HasPrefix(begin, "parley: ") {
				t.Errorf("%s:%d: %q begins with a small letter", file, at, begin)
			}
			if ok && whole && strings.HasSuffix(begin, ".") && !strings.Contains(strings.TrimSuffix(begin, "."), ". ") && strings.Count(begin, "?") == 0 {
				t.Errorf("%s:%d: %q is one sentence and ends with a period", file, at, begin)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name := calledName(n); (name == "Say" || name == "SayWhile") && len(n.Args) > 0 {
					check(n.Args[0])
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					kv, ok := e.(*ast.KeyValueExpr)
					if !ok {
						continue
					}
					key, _ := kv.Key.(*ast.Ident)
					if key != nil && (key.Name == "Toast" || key.Name == "Text" && typeName(n) == "Confirm") {
						check(kv.Value)
					}
				}
			}
			return true
		})
	})
}

// root is the directory of the module.
const root = "../.."

// A sourceFile is a file of the product.
type sourceFile struct {
	name string
	tree *ast.File
}

// readSource parses all files of the product.
var readSource = sync.OnceValues(func() (files []sourceFile, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		tree, err := parser.ParseFile(sourcePositions, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		files = append(files, sourceFile{filepath.ToSlash(file), tree})
		return err
	})
	return files, err
})

var sourcePositions = token.NewFileSet()

// eachFile visits all files of the product.
func eachFile(t *testing.T, visit func(file string, tree *ast.File)) {
	t.Helper()
	files, err := readSource()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		visit(f.name, f.tree)
	}
}

// eachText visits all string literals except import paths and struct tags.
func eachText(t *testing.T, visit func(file string, line int, text string)) {
	t.Helper()
	eachFile(t, func(file string, tree *ast.File) {
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				n.Tag = nil
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					visit(file, sourcePositions.Position(n.Pos()).Line, text)
				}
			}
			return true
		})
	})
}

// literalText returns the text at the beginning of e, and whether that is all of it. ok is false if e begins with a
// value known only at run time.
func literalText(e ast.Expr) (text string, whole, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, true, err == nil
	case *ast.BinaryExpr:
		text, _, ok = literalText(e.X)
		return text, false, ok
	case *ast.CallExpr:
		if calledName(e) == "Sprintf" {
			text, _, ok = literalText(e.Args[0])
			return text, true, ok
		}
	}
	return "", false, false
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func typeName(lit *ast.CompositeLit) string {
	switch t := lit.Type.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.SelectorExpr:
		return t.Sel.Name
	}
	return ""
}
