package tools

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"parley/tools/gitignore"
)

// ignoreRulesAbove returns the rules for dir from the directories above it.
func (w *workspace) ignoreRulesAbove(dir string) gitignore.Rules {
	var rules gitignore.Rules
	base, rel := splitPath(w, dir)
	if rel == "." {
		return rules
	}
	i, at := 0, "."
	if base != "" {
		i, at = len(dir)-len(rel), base
	}
	for ; ; i++ {
		if entries, err := w.readDir(at); err == nil {
			rules = w.addIgnoreRules(rules, at, entries)
		}
		if i = i + strings.IndexByte(dir[i:]+"/", '/'); i >= len(dir) {
			return rules
		}
		at = dir[:i]
	}
}

// addIgnoreRules returns the rules that apply in dir: those from above and its own. In
// the workspace itself, .git/info/exclude is added with the lowest precedence.
func (w *workspace) addIgnoreRules(rules gitignore.Rules, dir string, entries []fs.DirEntry) gitignore.Rules {
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return ok
	}
	if _, rel := splitPath(w, dir); rel == "." && has(".git") {
		rules = rules.Append(w.readIgnoreFile(dir, path.Join(dir, ".git/info/exclude")))
	}
	for _, name := range gitignore.Files {
		if has(name) {
			rules = rules.Append(w.readIgnoreFile(dir, path.Join(dir, name)))
		}
	}
	return rules
}

// readIgnoreFile reads the rules in file for the directory base; none if it cannot be read.
func (w *workspace) readIgnoreFile(base, file string) gitignore.Rules {
	f, _, err := w.openFile(file)
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
