package tools

import (
	"context"
	"io/fs"
	"parley/tools/act"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
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
	type match struct {
		file string
		when time.Time
	}
	var found []match
	k := walk{workspace: w, all: all}
	err := k.run(ctx, dir, func(file string, e fs.DirEntry) error {
		if e.IsDir() || !doublestar.MatchUnvalidated(pattern, relativeTo(dir, file)) {
			return nil
		}
		m := match{file: file}
		if info, err := e.Info(); err == nil {
			m.when = info.ModTime()
		}
		found = append(found, m)
		return nil
	})
	if err != nil {
		return failedOutcome("%v", err)
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.when.Compare(a.when) })
	a := lineOutput{limit: maxMatches}
	for _, m := range found {
		if !a.add(quotePath(m.file)) {
			break
		}
	}
	var notes []string
	if len(found) == 0 {
		text := "no files match %s"
		if !strings.Contains(pattern, "/") {
			text += "; to look in the folders below as well, put **/ in front of it"
		}
		notes = append(notes, note(text, quotePath(pattern)))
	}
	if a.full {
		notes = append(notes, note("the newest %d of %d; narrow the pattern to see the others", a.lines, len(found)))
	}
	return a.outcome(append(notes, k.notes()...)...)
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
