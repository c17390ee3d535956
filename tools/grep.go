package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"parley/tools/act"
	"parley/tools/openat"
	"parley/tools/sanitize"
)

const (
	maxGrep    = 8 << 20 // bytes; larger files are not searched
	maxShown   = 300     // characters of a matching line
	maxProgram = 3000    // instructions of a compiled expression
	pieceSize  = 64 << 10
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2), matched line by line"`
	Path       string `json:"path,omitempty" jsonschema:"folder or file to search, relative to the workspace; or what a shell result calls its whole output; the workspace itself unless given"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files whose path or name matches this, such as *.go or src/**/*.ts"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"pattern is plain text, not a regular expression"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"upper and lower case are the same"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each match"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"show only which files match"`
	All        bool   `json:"all,omitempty" jsonschema:"also search .git and what .gitignore leaves out"`
}

func init() {
	register("grep", planGrep, argumentLimit{"context", 0, 10})
}

func planGrep(_ context.Context, w *workspace, args grepArgs) (*act.Action, error) {
	output, err := findOutput(w, args.Path)
	if err != nil {
		return nil, err
	}
	at := args.Path
	if output == nil {
		if at, err = w.locateDir(args.Path); err != nil {
			return nil, err
		}
	}
	g := grepRun{workspace: w, args: args, dir: at, output: output, lineOutput: lineOutput{limit: maxMatches * (2 + 2*args.Context)}}
	if g.expr, g.newFilter, err = compileExpression(args); err != nil {
		return nil, err
	}
	if args.Glob != "" {
		if g.glob, err = w.checkPattern(at, args.Glob); err != nil {
			return nil, err
		}
	}
	a := &act.Action{
		Access: act.AccessRead,
		Title:  "grep " + quotePath(truncate(args.Pattern, 200)),
		Path:   at,
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			fresh := g
			fresh.filter = g.newFilter()
			return fresh.run(ctx)
		},
	}
	if output != nil {
		a.Path = ""
	}
	return a, nil
}

// compileExpression compiles the search expression, and makes filters for it. RE2 takes linear time; the limit
// on the program's size bounds the factor.
func compileExpression(args grepArgs) (expr *regexp.Regexp, filter func() *grepFilter, err error) {
	text := args.Pattern
	if text == "" {
		return nil, nil, refuse("the pattern is empty")
	}
	if args.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := "(?m)"
	if args.IgnoreCase {
		flags = "(?mi)"
	}
	parsed, err := syntax.Parse(flags+text, syntax.Perl)
	if err != nil {
		return nil, nil, refuse("%v; set literal to search for plain text", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, nil, refuse("%v", err)
	}
	if len(program.Inst) > maxProgram {
		return nil, nil, refuse("the regular expression is too large; use a simpler one")
	}
	expr, err = regexp.Compile(flags + text)
	return expr, func() *grepFilter { return newGrepFilter(program, neededBy(parsed)) }, err
}

// A grepRun is one run of grep.
type grepRun struct {
	*workspace
	args   grepArgs
	dir    string
	output *savedOutput // saved output to search; nil: search files
	glob   string
	expr   *regexp.Regexp
	filter *grepFilter // of expr

	newFilter func() *grepFilter

	lineOutput
	files, matches int
	skipped        int // files too large or not text
	buf            []byte
}

func (g *grepRun) run(ctx context.Context) act.Outcome {
	if g.output != nil {
		text, err := io.ReadAll(g.output.reader())
		if err == nil {
			err = g.searchContent(ctx, ".", g.dir, text)
		}
		if err != nil && err != errStop {
			return failedOutcome("%v", err)
		}
		return g.result(nil)
	}
	root, native := rootOf(g.workspace, g.dir)
	if info, err := root.Lstat(native); err == nil && !info.IsDir() {
		if err := requireRegular(g.dir, info); err != nil {
			return failedOutcome("%v", err)
		}
		at, err := openat.Open(root, path.Dir(filepath.ToSlash(native)))
		if err != nil {
			return failedOutcome("%v", g.explainAbsent(g.dir, err))
		}
		defer at.Close()
		if err := g.searchFile(ctx, at, path.Dir(g.dir), path.Base(g.dir)); err != nil && err != errStop {
			return failedOutcome("%v", err)
		}
		return g.result(nil)
	}
	k := walk{workspace: g.workspace, all: g.args.All}
	k.visit = func(at openat.Dir, dir string, e openat.Entry) error {
		switch {
		case e.IsDir():
			return skipUnless(!strings.Contains(g.glob, "/") || mayHold(g.glob, relativeTo(g.dir, joinDir(dir, e.Name))))
		case e.Type != 0 || !g.matchesGlob(dir, e.Name):
			return nil
		}
		return g.searchFile(ctx, at, dir, e.Name)
	}
	if err := k.run(ctx, g.dir); err != nil {
		return failedOutcome("%v", err)
	}
	return g.result(k.notes())
}

// matchesGlob reports whether the file name in dir passes the glob, by its path or its name.
func (g *grepRun) matchesGlob(dir, name string) bool {
	if !strings.Contains(g.glob, "/") {
		return g.glob == "" || doublestar.MatchUnvalidated(g.glob, name)
	}
	return doublestar.MatchUnvalidated(g.glob, relativeTo(g.dir, joinDir(dir, name)))
}

// searchFile searches the file name in dir, which is open as at. Unreadable files are counted and left out.
func (g *grepRun) searchFile(ctx context.Context, at openat.Dir, dir, name string) error {
	content, ok := g.readText(at, name)
	if !ok {
		g.skipped++
		return nil
	}
	content = bytes.TrimPrefix(content, bom)
	if bytes.IndexByte(content, '\r') >= 0 {
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	}
	return g.searchContent(ctx, dir, name, content)
}

// readText reads the file name in at; ok is false if it is too large, not text, or unreadable.
func (g *grepRun) readText(at openat.Dir, name string) (content []byte, ok bool) {
	f, err := at.OpenFile(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if f.Size > maxGrep {
		return nil, false
	}
	for g.buf = g.buf[:0]; ; {
		g.buf = slices.Grow(g.buf, min(max(int(f.Size)-len(g.buf), 0)+1, pieceSize))
		n, err := f.Read(g.buf[len(g.buf):min(cap(g.buf), maxGrep)])
		head := len(g.buf) == 0
		g.buf = g.buf[:len(g.buf)+n]
		switch {
		case err != nil && err != io.EOF || head && binaryKind(g.buf[:min(8<<10, n)]) != "":
			return nil, false
		case err == io.EOF || len(g.buf) >= maxGrep || int64(len(g.buf)) == f.Size:
			return g.buf, true
		}
	}
}

// searchContent searches piece by piece, so that a cancellation is noticed. A line
// longer than a piece is searched in parts.
func (g *grepRun) searchContent(ctx context.Context, dir, name string, content []byte) error {
	h := lineMatches{content: content}
	for start := 0; start < len(content); {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(start+pieceSize, len(content))
		if cut := bytes.LastIndexByte(content[start:end], '\n'); cut >= 0 && end < len(content) {
			end = start + cut + 1
		}
		for at := start; at < end && (at > start || g.filter.mayMatch(content[start:end])); {
			m := g.expr.FindIndex(content[at:end])
			if m == nil || at+m[0] == end && content[end-1] == '\n' {
				break // the empty text after the last line is not part of this piece
			}
			if g.args.FilesOnly {
				g.matches++
				return g.writeLine(quotePath(joinDir(dir, name)))
			}
			at = h.add(at + m[0])
		}
		start = end
	}
	return g.writeMatches(dir, name, h)
}

// lineMatches are the matching lines of a file.
type lineMatches struct {
	content []byte
	starts  []int // offsets of the lines, ascending
}

// add adds the line around the offset at, and returns the offset of the next
// line.
func (h *lineMatches) add(at int) int {
	start := bytes.LastIndexByte(h.content[:at], '\n') + 1
	if n := len(h.starts); n == 0 || h.starts[n-1] != start {
		h.starts = append(h.starts, start)
	}
	next := bytes.IndexByte(h.content[at:], '\n')
	if next < 0 {
		return len(h.content)
	}
	return at + next + 1
}

// writeMatches writes the matches under the name of the file: matching lines as
// "12:", context lines as "11-".
func (g *grepRun) writeMatches(dir, name string, h lineMatches) error {
	if len(h.starts) == 0 {
		return nil
	}
	if err := g.writeLine(quotePath(joinDir(dir, name))); err != nil {
		return err
	}
	number, at, done := 1, 0, 0 // at: begin of line number; done: last line shown
	for i, start := range h.starts {
		if g.matches++; g.matches > maxMatches {
			g.full = true
			return errStop
		}
		number += bytes.Count(h.content[at:start], []byte("\n"))
		at = start
		first, from := number, start
		for range g.args.Context {
			if first-1 <= done || from == 0 {
				break
			}
			from = bytes.LastIndexByte(h.content[:from-1], '\n') + 1
			first--
		}
		if done > 0 && g.args.Context > 0 && first > done+1 && !g.add("   --") {
			return errStop
		}
		last := number + g.args.Context
		for n := first; n <= last && from < len(h.content); n++ {
			if i+1 < len(h.starts) && from == h.starts[i+1] {
				break // shown with the next match
			}
			mark := "-"
			if from == start {
				mark = ":"
			}
			end := from + lineLength(h.content[from:])
			if !g.add(fmt.Sprintf("%6d%s %s", n, mark, formatLine(h.content[from:end]))) {
				return errStop
			}
			done, from = n, end+1
		}
	}
	return nil
}

// writeLine writes one file name.
func (g *grepRun) writeLine(line string) error {
	g.files++
	if !g.add(line) {
		return errStop
	}
	return nil
}

func lineLength(content []byte) int {
	if n := bytes.IndexByte(content, '\n'); n >= 0 {
		return n
	}
	return len(content)
}

// formatLine returns a line for display: valid UTF-8, sanitized and truncated.
func formatLine(line []byte) string {
	cut := len(line) > maxShown*utf8.UTFMax
	if cut {
		line = line[:maxShown*utf8.UTFMax]
	}
	text, _ := sanitize.RemoveHidden(strings.ToValidUTF8(string(line), "\uFFFD"))
	if runes := []rune(text); len(runes) > maxShown {
		text, cut = string(runes[:maxShown]), true
	}
	if cut {
		text += "…"
	}
	return text
}

func (g *grepRun) result(notes []string) act.Outcome {
	if g.matches == 0 {
		notes = append(notes, note("no matches"))
	}
	if g.full {
		notes = append(notes, note("cut: there are more matches; narrow the pattern, path or glob, or set files_only"))
	}
	if g.skipped > 0 {
		notes = append(notes, note("%s not searched: binary, unreadable or larger than %d MiB", pluralize(g.skipped, "file"), maxGrep>>20))
	}
	return g.outcome(notes...)
}
