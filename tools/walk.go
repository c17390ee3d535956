package tools

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"

	"parley/tools/act"
	"parley/tools/gitignore"
	"parley/tools/openat"
	"parley/tools/places"
)

// maxWalk is how many directory entries one call visits.
const maxWalk = 2_000_000

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

	visit   func(at openat.Dir, dir string, e openat.Entry) error // e is in dir, open as at; fs.SkipDir leaves out what is below e
	entries []openat.Entry                                        // of the directories being visited, from the top down
}

// errStop ends a walk early.
var errStop = errors.New("enough")

// run visits everything below dir. The path is relative to the workspace.
func (k *walk) run(ctx context.Context, dir string) error {
	if p := k.policy.Load(); p != nil {
		k.readEffect = p.readRules()
	}
	k.dirApproved = k.readEffect != nil && k.readEffect(dir) == act.Ask
	k.inSensitivePlace = k.placeOf(dir).Class != ""
	at, rules, err := k.openTop(dir)
	if errors.Is(err, places.ErrNotDirectory) {
		err = refuse("%s is not a folder", quotePath(dir))
	}
	if err != nil {
		return k.explainAbsent(dir, err)
	}
	defer at.Close()
	if err = k.visitDir(ctx, at, dir, rules, 1); errors.Is(err, errStop) {
		return nil
	}
	return err
}

// openTop opens dir. The rules are those from the directories above it, and in the workspace itself those of
// .git/info/exclude.
func (k *walk) openTop(dir string) (at openat.Dir, rules gitignore.Rules, err error) {
	root, _ := rootOf(k.workspace, dir)
	base, rel := splitPath(k.workspace, dir)
	if at, err = openat.Open(root, "."); err != nil {
		return at, nil, err
	}
	top := cmp.Or(base, ".")
	if info, err := at.Open(".git/info"); err == nil {
		rules = gitignore.Parse(top, gitignore.Text(info, "exclude"))
		info.Close()
	}
	for path := top; rel != "."; {
		rules = rules.Enter(at, path, nil)
		name, rest, more := strings.Cut(rel, "/")
		below, err := at.Open(name)
		at.Close()
		if err != nil {
			return at, nil, err
		}
		at, path = below, joinDir(path, name)
		if rel = rest; !more {
			break
		}
	}
	return at, rules, nil
}

// joinDir returns the path of name in dir.
func joinDir(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// visitDir visits the entries of dir, which is open as at.
func (k *walk) visitDir(ctx context.Context, at openat.Dir, dir string, rules gitignore.Rules, depth int) error {
	first := len(k.entries)
	defer func() { k.entries = k.entries[:first] }()
	var err error
	if k.entries, err = at.Entries(k.entries, 0); err != nil {
		if depth == 1 {
			return k.explainAbsent(dir, err)
		}
		return nil
	}
	last := len(k.entries)
	if !k.all {
		rules = rules.Enter(at, dir, k.entries[first:last:last])
	}
	for i := first; i < last; i++ {
		e := k.entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if k.visited++; k.visited > maxWalk {
			k.limitReached = true
			return errStop
		}
		if !k.all && (e.Name == ".git" || rules.MatchIn(dir, e.Name, e.IsDir())) {
			k.ignored++
			continue
		}
		if k.isHiddenByRule(dir, e.Name) {
			k.hiddenByRule++
			continue
		}
		if k.isHiddenSensitive(dir, e.Name) {
			k.hiddenSensitive++
			continue
		}
		err := k.visit(at, dir, e)
		if err != nil && err != fs.SkipDir {
			return err
		}
		if err != nil || !e.IsDir() || k.depth > 0 && depth >= k.depth {
			continue
		}
		below, err := at.Open(e.Name)
		if err != nil {
			continue // it has vanished or cannot be read
		}
		err = k.visitDir(ctx, below, joinDir(dir, e.Name), rules, depth+1)
		below.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// isHiddenByRule reports whether a rule hides the entry name of dir from searches.
func (k *walk) isHiddenByRule(dir, name string) bool {
	if k.readEffect == nil {
		return false
	}
	effect := k.readEffect(joinDir(dir, name))
	return effect == act.Deny || effect == act.Ask && !k.dirApproved
}

// isHiddenSensitive reports whether the entry name of dir is a sensitive place that the user has not
// approved.
func (k *walk) isHiddenSensitive(dir, name string) bool {
	if k.namesOnly || k.inSensitivePlace || !k.places.MayEndWith(name) {
		return false
	}
	class := k.placeOf(joinDir(dir, name)).Class
	if class == "" {
		return false
	}
	p := k.policy.Load()
	return p == nil || !p.showsClass(class)
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
