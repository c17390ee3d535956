package tools

import (
	"context"
	"fmt"
	"io/fs"

	"parley/tools/act"
	"parley/tools/openat"
)

// maxListEntries is the most entries that one list shows.
const maxListEntries = 1000

type listArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"the folder, relative to the workspace; the workspace itself unless given"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many levels to show; 1 unless given"`
	All   bool   `json:"all,omitempty" jsonschema:"also show .git and what .gitignore leaves out"`
}

func init() {
	register("list", planList, argumentLimit{"depth", 1, 10})
}

func planList(_ context.Context, w *workspace, args listArgs) (*act.Action, error) {
	dir, err := w.locateDir(args.Path)
	if err != nil {
		return nil, err
	}
	return &act.Action{
		Access: act.AccessRead,
		Title:  "list " + quotePath(dir),
		Path:   dir,
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			return w.listDir(ctx, dir, max(args.Depth, 1), args.All)
		},
	}, nil
}

// locateDir is locate for a directory; an empty name is the workspace.
func (w *workspace) locateDir(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	return w.locate(name)
}

func (w *workspace) listDir(ctx context.Context, dir string, depth int, all bool) act.Outcome {
	k := walk{workspace: w, all: all, depth: depth, namesOnly: true}
	a := lineOutput{limit: maxListEntries}
	k.visit = func(at openat.Dir, in string, e openat.Entry) error {
		file := joinDir(in, e.Name)
		if !a.add(formatEntry(at, relativeTo(dir, file), e)) {
			return errStop
		}
		return nil
	}
	if err := k.run(ctx, dir); err != nil {
		return failedOutcome("%v", err)
	}
	var notes []string
	if k.visited == 0 {
		notes = append(notes, note("%s is empty", quotePath(dir)))
	}
	if a.full || k.limitReached {
		notes = append(notes, note("cut after %s; list a folder of it, or less depth", pluralize(a.lines, "entry")))
	}
	if k.ignored > 0 {
		notes = append(notes, note("%s ignored (.git, .gitignore); set all to list them", pluralize(k.ignored, "entry")))
	}
	return a.outcome(append(notes, k.hiddenNotes()...)...)
}

// formatEntry returns one line of a listing.
func formatEntry(at openat.Dir, name string, e openat.Entry) string {
	switch {
	case e.IsDir():
		return quotePath(name) + "/"
	case e.Type&fs.ModeSymlink != 0:
		target, err := at.Link(e.Name)
		if err != nil {
			target = "?"
		}
		return quotePath(name) + " -> " + quotePath(target)
	case e.Type != 0:
		return quotePath(name) + "\t(no regular file)"
	}
	info, err := at.Stat(e.Name)
	if err != nil {
		return quotePath(name)
	}
	return fmt.Sprintf("%s\t%d", quotePath(name), info.Size)
}
