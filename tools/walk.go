package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// maxWalk is how many entries of folders one call looks at.
const maxWalk = 200_000

// A walk goes through a folder and those below it, sorted by name. It does not
// follow symbolic links, and leaves out .git and what .gitignore files say.
type walk struct {
	*workspace
	all     bool // leave nothing out
	depth   int  // how far down; 0 is without end
	looked  int  // entries seen
	ignored int  // entries left out
	full    bool // ended at maxWalk
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// from visits everything below dir. The path is relative to the workspace.
func (k *walk) from(ctx context.Context, dir string, visit func(file string, e fs.DirEntry) error) error {
	var rules ignores
	if !k.all && dir != "." { // what holds above dir holds in it
		rules = k.ignores(nil, ".")
		for i := range dir {
			if dir[i] == '/' {
				rules = k.ignores(rules, dir[:i])
			}
		}
	}
	entries, err := k.entries(dir)
	if err != nil {
		return k.absent(dir, err)
	}
	err = k.visit(ctx, dir, entries, rules, 1, visit)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (k *walk) visit(ctx context.Context, dir string, entries []fs.DirEntry, rules ignores, depth int, visit func(string, fs.DirEntry) error) error {
	if !k.all {
		rules = k.ignores(rules, dir)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.looked++; k.looked > maxWalk {
			k.full = true
			return errEnough
		}
		file := path.Join(dir, e.Name())
		if !k.all && (e.Name() == ".git" || rules.match(file, e.IsDir())) {
			k.ignored++
			continue
		}
		if err := visit(file, e); err != nil {
			return err
		}
		if !e.IsDir() || k.depth > 0 && depth >= k.depth {
			continue
		}
		below, err := k.entries(file)
		if err != nil {
			continue // gone, or not for us to see
		}
		if err := k.visit(ctx, file, below, rules, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// below is file as seen from dir.
func below(dir, file string) string {
	if dir == "." {
		return file
	}
	return strings.TrimPrefix(file, dir+"/")
}

// An answer gathers lines for the model up to a number of lines and the
// allowed length of text.
type answer struct {
	strings.Builder
	lines, limit int
	full         bool
}

// add takes one more line, or reports that it was too much.
func (a *answer) add(line string) bool {
	if a.lines >= a.limit || a.Len()+len(line) > maxText-500 { // the rest is for notes
		a.full = true
		return false
	}
	a.WriteString(line + "\n")
	a.lines++
	return true
}

// outcome is the answer with remarks behind it.
func (a *answer) outcome(notes ...string) Outcome {
	return Outcome{Text: strings.TrimSuffix(a.String()+strings.Join(notes, "\n"), "\n")}
}
