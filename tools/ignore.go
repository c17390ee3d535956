package tools

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"parley/tools/gitignore"
)

// above returns the rules that hold in dir because of what is above it.
func (w *workspace) above(dir string) gitignore.Rules {
	var rules gitignore.Rules
	for i, at := 0, "."; ; i++ {
		if entries, err := w.entries(at); err == nil {
			rules = w.ignores(rules, at, entries)
		}
		if i = i + strings.IndexByte(dir[i:]+"/", '/'); i >= len(dir) {
			return rules
		}
		at = dir[:i]
	}
}

// ignores returns the rules that hold in dir: those from above and its own. In the
// workspace itself these are also those of .git/info/exclude, which weigh least.
func (w *workspace) ignores(rules gitignore.Rules, dir string, entries []fs.DirEntry) gitignore.Rules {
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return ok
	}
	if dir == "." && has(".git") {
		rules = rules.And(w.rules(dir, ".git/info/exclude"))
	}
	for _, name := range gitignore.Files {
		if has(name) {
			rules = rules.And(w.rules(dir, path.Join(dir, name)))
		}
	}
	return rules
}

// rules reads the rules in file for the directory base; none if it cannot be read.
func (w *workspace) rules(base, file string) gitignore.Rules {
	f, _, err := w.open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, gitignore.MaxSize))
	if err != nil {
		return nil
	}
	return gitignore.Parse(base, string(text))
}
