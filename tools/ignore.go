package tools

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignores are the rules of .gitignore and .ignore files, from the top folder down; the last
// one that matches decides. See gitignore(5). The files of a folder that is
// ignored are never asked about, so that no rule can bring them back.
type ignores []ignoreRule

type ignoreRule struct {
	base    string // folder of the .gitignore file, "." for the workspace
	pattern string // for doublestar
	name    bool   // pattern is for the last element of a path, at any depth
	plain   bool   // pattern has nothing special in it
	keep    bool   // "!": what matches is not ignored
	dir     bool   // only folders match
}

// maxIgnore is how much of a .gitignore file is read.
const maxIgnore = 1 << 20

// parseIgnores reads the text of a .gitignore file in the folder base.
func parseIgnores(base, text string) ignores {
	var rules ignores
	for line := range strings.Lines(strings.TrimPrefix(text, string(bom))) {
		if r, ok := parseIgnore(strings.TrimRight(line, "\r\n")); ok {
			r.base = base
			rules = append(rules, r)
		}
	}
	return rules
}

func parseIgnore(line string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	line, r.dir = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.name = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if stem, ok := strings.CutSuffix(line, "/**"); ok {
		line = stem + "/**/*" // what is in it, not the folder itself
	}
	r.plain = !strings.ContainsAny(line, `*?[\`)
	if !r.plain {
		line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // only doublestar knows braces
	}
	r.pattern = line
	return r, line != "" && (r.plain || doublestar.ValidatePattern(line))
}

func (r ignoreRule) match(file string, dir bool) bool {
	if r.dir && !dir {
		return false
	}
	if r.base != "." {
		rest, ok := strings.CutPrefix(file, r.base+"/")
		if !ok {
			return false
		}
		file = rest
	}
	if r.name {
		file = path.Base(file)
	}
	if r.plain {
		return file == r.pattern
	}
	return doublestar.MatchUnvalidated(r.pattern, file)
}

// match reports whether file, a path relative to the workspace, is ignored.
func (rules ignores) match(file string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(file, dir) {
			return !rules[i].keep
		}
	}
	return false
}

// ignoreFiles hold rules; those of the later one weigh more. Of .ignore, which is
// for searches alone, ripgrep, ag and fd know as well.
var ignoreFiles = []string{".gitignore", ".ignore"}

// above returns the rules that hold in dir because of what is above it.
func (w *workspace) above(dir string) ignores {
	var rules ignores
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

// ignores returns the rules that hold in dir: those of above and its own. In the
// workspace itself these are also those of .git/info/exclude, which weigh least.
func (w *workspace) ignores(above ignores, dir string, entries []fs.DirEntry) ignores {
	rules := above[:len(above):len(above)]
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return ok
	}
	if dir == "." && has(".git") {
		rules = append(rules, w.rules(dir, ".git/info/exclude")...)
	}
	for _, name := range ignoreFiles {
		if has(name) {
			rules = append(rules, w.rules(dir, path.Join(dir, name))...)
		}
	}
	return rules
}

// rules reads the rules in file for the folder base; none if it cannot be read.
func (w *workspace) rules(base, file string) ignores {
	f, _, err := w.open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	if err != nil {
		return nil
	}
	return parseIgnores(base, string(text))
}
