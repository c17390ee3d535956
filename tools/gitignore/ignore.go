// Package gitignore parses .gitignore files, and others of that format, and matches
// files against them.
//
//	text ──► Parse ──► Rules, and those of the directories below (Append, Enter) ──► Match
//
// It supports gitignore(5) except for rules that need git's index. Do not match
// files in ignored directories: no rule can include them again. Ignore files may
// come with untrusted code, so their cost is bounded.
package gitignore

import (
	"io"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"parley/tools/openat"
)

// Files are the names of the files with rules; the later one takes precedence.
// .ignore is for searches only, as in ripgrep, ag and fd.
var Files = []string{".gitignore", ".ignore"}

// Rules are ordered from the top directory down; the last match decides.
type Rules []rule

type rule struct {
	base      string // directory of the ignore file, "." for the top
	pattern   string // for doublestar
	suffix    string // for patterns such as "*.go", which match by suffix only
	matchBase bool   // pattern matches the last path element, at any depth
	isLiteral bool   // pattern has no special characters
	negated   bool   // "!": matching files are not ignored
	dirOnly   bool   // matches only directories
}

// MaxSize is how many bytes of an ignore file to read. Longer files, or patterns
// with more stars, are likely malicious: every rule is matched with every file,
// and stars can make that take forever.
const (
	MaxSize  = 256 << 10
	maxRules = 4096
	maxStars = 8
)

// Append returns the rules followed by those of a directory below. Neither is
// changed.
func (rules Rules) Append(below Rules) Rules {
	below = below[:min(len(below), max(maxRules-len(rules), 0))]
	return append(rules[:len(rules):len(rules)], below...)
}

// Enter returns the rules followed by those of the directory d, whose path is base. It reads only Files that
// are in entries; nil entries are not known.
func (rules Rules) Enter(d openat.Dir, base string, entries []openat.Entry) Rules {
	for _, name := range Files {
		if entries == nil || openat.Has(entries, name) {
			rules = rules.Append(Parse(base, Text(d, name)))
		}
	}
	return rules
}

// Text returns the text of an ignore file in d; "" if it cannot be read.
func Text(d openat.Dir, name string) string {
	f, err := d.OpenFile(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize))
	if err != nil {
		return ""
	}
	return string(text)
}

// Parse parses the text of an ignore file in the directory base, a path with slashes
// relative to the top, which is ".".
func Parse(base, text string) Rules {
	var rules Rules
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			r.base = base
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (r rule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" || strings.Count(line, "*") > maxStars {
		return r, false
	}
	r.matchBase = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if stem, ok := strings.CutSuffix(line, "/**"); ok {
		line = stem + "/**/*" // the content of the directory, not the directory itself
	}
	const special = `*?[\`
	r.isLiteral = !strings.ContainsAny(line, special)
	if rest, ok := strings.CutPrefix(line, "*"); ok && r.matchBase && rest != "" && !strings.ContainsAny(rest, special) {
		r.suffix = rest
	}
	if !r.isLiteral {
		line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // only doublestar supports braces
	}
	r.pattern = line
	return r, line != "" && (r.isLiteral || doublestar.ValidatePattern(line))
}

// match reports whether r is for the entry name of dir.
func (r *rule) match(dir, name string, isDir bool) bool {
	switch {
	case r.dirOnly && !isDir:
		return false
	case dir == r.base:
		dir = ""
	case r.base == ".":
	case strings.HasPrefix(dir, r.base) && dir[len(r.base)] == '/':
		dir = dir[len(r.base)+1:]
	default:
		return false
	}
	switch {
	case r.suffix != "":
		return strings.HasSuffix(name, r.suffix)
	case r.isLiteral && !strings.HasSuffix(r.pattern, name):
		return false
	case dir != "" && !r.matchBase:
		name = dir + "/" + name
	}
	if r.isLiteral {
		return name == r.pattern
	}
	return doublestar.MatchUnvalidated(r.pattern, name)
}

// Match reports whether file, a path relative to the top, is ignored.
func (rules Rules) Match(file string, isDir bool) bool {
	dir, name := ".", file
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		dir, name = file[:i], file[i+1:]
	}
	return rules.MatchIn(dir, name, isDir)
}

// MatchIn is Match for the entry name of dir, which is "." for the top.
func (rules Rules) MatchIn(dir, name string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(dir, name, isDir) {
			return !rules[i].negated
		}
	}
	return false
}
