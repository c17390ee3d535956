package tools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"parley/tools/act"
	"parley/tools/gitignore"
	"parley/tools/places"
)

// maxWalk is how many directory entries one call visits.
const maxWalk = 200_000

// A walk visits a directory and its subdirectories, sorted by name. It does not
// follow symbolic links, and leaves out .git and ignored files.
type walk struct {
	*workspace
	all             bool // include ignored files
	depth           int  // maximum depth; 0 is unlimited
	visited         int  // entries seen
	ignored         int  // entries left out
	limitReached    bool // stopped at maxWalk
	hiddenByRule    int  // entries left out because of a rule
	namesOnly       bool // only names are shown: sensitive places are included
	hiddenSensitive int  // sensitive places left out

	readEffect       func(file string) act.Verdict // rules for reading a file; nil: none
	dirApproved      bool                          // the user has approved the start directory despite a rule
	inSensitivePlace bool                          // the walk began in a sensitive place, which the user approved

	dirRoot *os.Root // directory of the visited file
}

// errStop ends a walk early.
var errStop = errors.New("enough")

// run visits everything below dir. The path is relative to the workspace.
func (k *walk) run(ctx context.Context, dir string, visit func(file string, e fs.DirEntry) error) error {
	if p := k.policy.Load(); p != nil {
		k.readEffect = p.readRules()
	}
	k.dirApproved = k.readEffect != nil && k.readEffect(dir) == act.Ask
	k.inSensitivePlace = k.placeOf(dir).Class != ""
	var left gitignore.Rules
	if !k.all && dir != "." { // rules from above dir apply in it
		left = k.ignoreRulesAbove(dir)
	}
	root, native := rootOf(k.workspace, dir)
	at, _, err := places.OpenParent(root, native+"/", false) // dir itself, the parent of ""
	if errors.Is(err, places.ErrNotDirectory) {
		err = refuse("%s is not a folder", quotePath(dir))
	}
	if err != nil {
		return k.explainAbsent(dir, err)
	}
	defer at.Close()
	entries, err := fs.ReadDir(at.FS(), ".")
	if err != nil {
		return k.explainAbsent(dir, err)
	}
	err = k.visitEntries(ctx, walkedDir{dir, at, entries}, left, 1, visit)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// A walkedDir is a directory that a walk visits.
type walkedDir struct {
	dir     string
	at      *os.Root // dir opened: files in it are opened in one step
	entries []fs.DirEntry
}

func (k *walk) visitEntries(ctx context.Context, p walkedDir, left gitignore.Rules, depth int, visit func(string, fs.DirEntry) error) error {
	if !k.all {
		left = k.addIgnoreRules(left, p.dir, p.entries)
	}
	for _, e := range p.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.visited++; k.visited > maxWalk {
			k.limitReached = true
			return errStop
		}
		file := e.Name()
		if p.dir != "." {
			file = p.dir + "/" + file
		}
		if !k.all && (e.Name() == ".git" || left.Match(file, e.IsDir())) {
			k.ignored++
			continue
		}
		if k.isHiddenByRule(file) {
			k.hiddenByRule++
			continue
		}
		if k.isHiddenSensitive(file) {
			k.hiddenSensitive++
			continue
		}
		k.dirRoot = p.at
		if err := visit(file, e); err != nil {
			return err
		}
		if !e.IsDir() || k.depth > 0 && depth >= k.depth {
			continue
		}
		if err := k.visitDir(ctx, p, e.Name(), file, left, depth, visit); err != nil {
			return err
		}
	}
	return nil
}

// isHiddenByRule reports whether a rule hides file from searches.
func (k *walk) isHiddenByRule(file string) bool {
	if k.readEffect == nil {
		return false
	}
	effect := k.readEffect(file)
	return effect == act.Deny || effect == act.Ask && !k.dirApproved
}

// isHiddenSensitive reports whether file is a sensitive place that the user has not
// approved.
func (k *walk) isHiddenSensitive(file string) bool {
	if k.namesOnly || k.inSensitivePlace {
		return false
	}
	class := k.placeOf(file).Class
	if class == "" {
		return false
	}
	p := k.policy.Load()
	return p == nil || !p.showsClass(class)
}

// visitDir visits the directory name in p. It skips a directory that has vanished or
// cannot be read.
func (k *walk) visitDir(ctx context.Context, p walkedDir, name, file string, left gitignore.Rules, depth int, visit func(string, fs.DirEntry) error) error {
	at, err := places.OpenBelow(p.at, name)
	if err != nil {
		return nil
	}
	defer at.Close()
	entries, err := fs.ReadDir(at.FS(), ".")
	if err != nil {
		return nil
	}
	return k.visitEntries(ctx, walkedDir{file, at, entries}, left, depth+1, visit)
}

// relativeTo returns file as seen from dir.
func relativeTo(dir, file string) string {
	if dir == "." {
		return file
	}
	return strings.TrimPrefix(file, dir+"/")
}

// A lineOutput collects lines for the model up to a number of lines and
// maxText.
type lineOutput struct {
	strings.Builder
	lines, limit int
	full         bool
}

// add adds a line, or reports false if the limit is reached.
func (a *lineOutput) add(line string) bool {
	if a.lines >= a.limit || a.Len()+len(line) > maxText-500 { // leaves room for notes
		a.full = true
		return false
	}
	a.WriteString(line + "\n")
	a.lines++
	return true
}

// outcome returns the answer with remarks after it.
func (a *lineOutput) outcome(notes ...string) act.Outcome {
	return act.Outcome{Text: strings.TrimSuffix(a.String()+strings.Join(notes, "\n"), "\n")}
}
