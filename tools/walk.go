package tools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"parley/tools/gitignore"
	"parley/tools/permission"
)

// maxWalk is how many entries of directories one call looks at.
const maxWalk = 200_000

// A walk goes through a directory and those below it, sorted by name. It does not
// follow symbolic links, and leaves out .git and what files such as .gitignore say.
type walk struct {
	*workspace
	all     bool // leave nothing out
	depth   int  // how far down; 0 is without end
	looked  int  // entries seen
	ignored int  // entries left out
	full    bool // ended at maxWalk
	hidden  int  // entries left out because of a rule
	names   bool // only names are shown: sensitive places count as well
	secret  int  // entries left out because they are sensitive places

	says  func(file string) permission.Effect // about reading a file; nil: nothing
	asked bool                                // about the directory where the walk began: whoever lets it be walked was asked
	inner bool                                // the walk began in a sensitive place, and so was asked about

	at *os.Root // of the directory with the file that is visited
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// from visits everything below dir. The path is relative to the workspace.
func (k *walk) from(ctx context.Context, dir string, visit func(file string, e fs.DirEntry) error) error {
	if p := k.policy.Load(); p != nil {
		k.says = p.reading()
	}
	k.asked = k.says != nil && k.says(dir) == permission.Ask
	k.inner = k.place(dir).Class != ""
	var left gitignore.Rules
	if !k.all && dir != "." { // what holds above dir holds in it
		left = k.above(dir)
	}
	entries, err := k.entries(dir)
	if err != nil {
		return k.absent(dir, err)
	}
	at, err := k.root.OpenRoot(filepath.FromSlash(dir))
	if err != nil {
		return k.absent(dir, err)
	}
	defer at.Close()
	err = k.visit(ctx, place{dir, at, entries}, left, 1, visit)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// A place is a directory that a walk has come to.
type place struct {
	dir     string
	at      *os.Root // of dir: files in it are opened in one step
	entries []fs.DirEntry
}

func (k *walk) visit(ctx context.Context, p place, left gitignore.Rules, depth int, visit func(string, fs.DirEntry) error) error {
	if !k.all {
		left = k.ignores(left, p.dir, p.entries)
	}
	for _, e := range p.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.looked++; k.looked > maxWalk {
			k.full = true
			return errEnough
		}
		file := e.Name()
		if p.dir != "." {
			file = p.dir + "/" + file
		}
		if !k.all && (e.Name() == ".git" || left.Match(file, e.IsDir())) {
			k.ignored++
			continue
		}
		if k.hides(file) {
			k.hidden++
			continue
		}
		if k.keepsSecret(file) {
			k.secret++
			continue
		}
		k.at = p.at
		if err := visit(file, e); err != nil {
			return err
		}
		if !e.IsDir() || k.depth > 0 && depth >= k.depth {
			continue
		}
		if err := k.down(ctx, p, e.Name(), file, left, depth, visit); err != nil {
			return err
		}
	}
	return nil
}

// hides reports whether a rule keeps file from being found.
func (k *walk) hides(file string) bool {
	if k.says == nil {
		return false
	}
	effect := k.says(file)
	return effect == permission.Deny || effect == permission.Ask && !k.asked
}

// keepsSecret reports whether file is in the table of places, and nobody was asked
// about it.
func (k *walk) keepsSecret(file string) bool {
	if k.names || k.inner {
		return false
	}
	class := k.place(file).Class
	if class == "" {
		return false
	}
	p := k.policy.Load()
	return p == nil || !p.shows(class)
}

// down visits the directory name in p. One that is gone, or not for us to see, is
// left out.
func (k *walk) down(ctx context.Context, p place, name, file string, left gitignore.Rules, depth int, visit func(string, fs.DirEntry) error) error {
	at, err := p.at.OpenRoot(name)
	if err != nil {
		return nil
	}
	defer at.Close()
	entries, err := fs.ReadDir(at.FS(), ".")
	if err != nil {
		return nil
	}
	return k.visit(ctx, place{file, at, entries}, left, depth+1, visit)
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
