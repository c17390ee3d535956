package tools

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
)

// maxEntries is how many entries one list shows.
const maxEntries = 1000

type listArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"the folder, relative to the workspace; the workspace itself unless given"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many levels to show; 1 unless given"`
	All   bool   `json:"all,omitempty" jsonschema:"also show .git and what .gitignore leaves out"`
}

func planList(_ context.Context, w *workspace, args listArgs) (*Action, error) {
	dir, err := w.folder(args.Path)
	if err != nil {
		return nil, err
	}
	return &Action{
		Access: Reads,
		Title:  "list " + shown(dir),
		Path:   dir,
		run: func(ctx context.Context, _ func(string)) Outcome {
			return w.list(ctx, dir, max(args.Depth, 1), args.All)
		},
	}, nil
}

// directory is locate for a directory that is the workspace if it is not named.
func (w *workspace) folder(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	return w.locate(name)
}

func (w *workspace) list(ctx context.Context, dir string, depth int, all bool) Outcome {
	k := walk{workspace: w, all: all, depth: depth, names: true}
	a := answer{limit: maxEntries}
	err := k.from(ctx, dir, func(file string, e fs.DirEntry) error {
		if !a.add(w.entry(below(dir, file), file, e)) {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return failed("%v", err)
	}
	var notes []string
	if k.looked == 0 {
		notes = append(notes, note("%s is empty", shown(dir)))
	}
	if a.full || k.full {
		notes = append(notes, note("cut after %s; list a folder of it, or less depth", count(a.lines, "entry")))
	}
	if k.ignored > 0 {
		notes = append(notes, note("%s left out: .git, or by .gitignore; set all to see them", count(k.ignored, "entry")))
	}
	return a.outcome(append(notes, k.kept()...)...)
}

// entry is one line of a listing.
func (w *workspace) entry(name, file string, e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return shown(name) + "/"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(filepath.FromSlash(file))
		if err != nil {
			target = "?"
		}
		return shown(name) + " -> " + shown(target)
	case !e.Type().IsRegular():
		return shown(name) + "\t(no regular file)"
	}
	info, err := e.Info()
	if err != nil {
		return shown(name)
	}
	return fmt.Sprintf("%s\t%d", shown(name), info.Size())
}
