package tools

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"parley/tools/act"
	"parley/tools/openat"
)

// maxMatches is the most files that one glob shows, and the most lines of one
// grep.
const maxMatches = 200

// Limits of a pattern. Each pair of braces can double the matching time.
const (
	maxPattern = 1000 // bytes
	maxBraces  = 8
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"such as **/*.go or cmd/{a,b}/*_test.go"`
	Path    string `json:"path,omitempty" jsonschema:"folder to look in, relative to the workspace; the workspace itself unless given"`
	All     bool   `json:"all,omitempty" jsonschema:"also look at .git and what .gitignore leaves out"`
}

func init() {
	register("glob", planGlob)
}

func planGlob(_ context.Context, w *workspace, args globArgs) (*act.Action, error) {
	dir, err := w.locateDir(args.Path)
	if err != nil {
		return nil, err
	}
	pattern, err := w.checkPattern(dir, args.Pattern)
	if err != nil {
		return nil, err
	}
	return &act.Action{
		Access: act.AccessRead,
		Title:  "glob " + quotePath(args.Pattern),
		Path:   dir,
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			return w.glob(ctx, dir, pattern, args.All)
		},
	}, nil
}

// checkPattern checks a pattern for files below dir. An absolute pattern must lie
// within dir.
func (w *workspace) checkPattern(dir, pattern string) (string, error) {
	if len(pattern) > maxPattern {
		return "", refuse("the pattern is longer than %d bytes", maxPattern)
	}
	if strings.Count(pattern, "{") > maxBraces {
		return "", refuse("the pattern has more than %d pairs of braces", maxBraces)
	}
	for _, base := range []string{w.dir, w.realDir} {
		whole := path.Join(base, dir)
		if path.IsAbs(dir) {
			whole = dir
		}
		if rest, ok := strings.CutPrefix(pattern, whole+"/"); ok {
			pattern = rest
			break
		}
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return "", refuse("%s is not a pattern; it is like **/*.go, with * ? [a-z] {a,b} and ** for any folders", quoteName(pattern))
	}
	if path.IsAbs(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
		return "", refuse("%s leads out of the folder it is for; a pattern is relative to it, without ..", quoteName(pattern))
	}
	return pattern, nil
}

func (w *workspace) glob(ctx context.Context, dir, pattern string, all bool) act.Outcome {
	var n newest
	k := walk{workspace: w, all: all}
	last := lastPart(pattern)
	k.visit = func(at openat.Dir, in string, e openat.Entry) error {
		if !e.IsDir() && !doublestar.MatchUnvalidated(last, e.Name) {
			return nil
		}
		file := joinDir(in, e.Name)
		rel := relativeTo(dir, file)
		if e.IsDir() {
			return skipUnless(mayHold(pattern, rel))
		}
		if doublestar.MatchUnvalidated(pattern, rel) {
			info, _ := at.Stat(e.Name)
			n.add(match{file, info.Modified})
		}
		return nil
	}
	if err := k.run(ctx, dir); err != nil {
		return failedOutcome("%v", err)
	}
	a := lineOutput{limit: maxMatches}
	for _, m := range n.files() {
		if !a.add(quotePath(m.file)) {
			break
		}
	}
	var notes []string
	if n.seen == 0 {
		text := "no files match %s"
		if !strings.Contains(pattern, "/") {
			text += "; to look in the folders below as well, put **/ in front of it"
		}
		notes = append(notes, note(text, quotePath(pattern)))
	}
	if n.seen > a.lines {
		notes = append(notes, note("the newest %d of %d; narrow the pattern to see the others", a.lines, n.seen))
	}
	return a.outcome(append(notes, k.notes()...)...)
}

// A match is a file that matches, and when it was changed, in ns.
type match struct {
	file     string
	modified int64
}

// newest collects the newest maxMatches of many files. Of files of the same time, the first ones count.
type newest struct {
	seen    int // number of files added
	found   []match
	atLeast int64 // only files that are newer can be among the newest; 0: all
}

func (n *newest) add(m match) {
	n.seen++
	if m.modified <= n.atLeast && n.atLeast != 0 {
		return
	}
	if n.found = append(n.found, m); len(n.found) == 8*maxMatches {
		n.found = n.files()
		n.atLeast = n.found[maxMatches-1].modified
	}
}

// files returns the newest files, the newest first.
func (n *newest) files() []match {
	slices.SortStableFunc(n.found, func(a, b match) int { return cmp.Compare(b.modified, a.modified) })
	return n.found[:min(len(n.found), maxMatches)]
}

// mayHold reports whether the directory dir can hold matches of pattern.
func mayHold(pattern, dir string) bool {
	for name := range strings.SplitSeq(dir, "/") {
		part, rest, more := strings.Cut(pattern, "/")
		switch {
		case strings.ContainsAny(part, `{[\`) || strings.Contains(part, "**"): // slashes in it may match
			return true
		case !more || !doublestar.MatchUnvalidated(part, name):
			return false
		}
		pattern = rest
	}
	return true
}

// lastPart returns a pattern for the names of all files that pattern matches.
func lastPart(pattern string) string {
	last := path.Base(pattern)
	if strings.ContainsAny(pattern, `[\`) || strings.Contains(last, "**") || !doublestar.ValidatePattern(last) { // slashes in it may match
		return "*"
	}
	return last
}

// skipUnless returns fs.SkipDir if wanted is false.
func skipUnless(wanted bool) error {
	if wanted {
		return nil
	}
	return fs.SkipDir
}

// notes reports the entries that a search left out.
func (k *walk) notes() []string {
	var notes []string
	if k.limitReached {
		notes = append(notes, note("only the first %d entries were looked at; search in a folder of it", maxWalk))
	}
	return append(notes, k.hiddenNotes()...)
}

// hiddenNotes reports the entries that rules of the user hide.
func (k *walk) hiddenNotes() []string {
	var notes []string
	if k.hiddenByRule > 0 {
		notes = append(notes, note("%s hidden by a permission rule of the user", pluralize(k.hiddenByRule, "entry")))
	}
	if k.hiddenSensitive > 0 {
		notes = append(notes, note("%s hidden: credentials, or files that start programs at login; name one to ask for it", pluralize(k.hiddenSensitive, "entry")))
	}
	return notes
}
