// Package gitignore reads .gitignore files, and others of that form, and says which
// files they leave out.
//
//	text ──► Parse ──► Rules, and those of the directories below ──► Match
//
// Of gitignore(5) it knows everything but what only git's own index can tell. The
// files of a directory that is ignored are not to be asked about, so that no rule
// brings them back. Ignore files come with a stranger's code: what they cost is
// bounded.
package gitignore

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Files are the names of the files that hold rules; those of the later one weigh
// more. Of .ignore, which is for searches alone, ripgrep, ag and fd know as well.
var Files = []string{".gitignore", ".ignore"}

// Rules are from the top directory down; the last one that matches decides.
type Rules []rule

type rule struct {
	base      string // directory of the ignore file, "." for the top
	pattern   string // for doublestar
	suffix    string // "*.go" is told by its ending alone
	matchBase bool   // pattern is for the last element of a path, at any depth
	isLiteral bool   // pattern has nothing special in it
	negated   bool   // "!": what matches is not ignored
	dirOnly   bool   // only directories match
}

// MaxSize is how much of an ignore file is to be read, in bytes. Whose files are
// longer, or whose patterns have more stars, means no good: each rule is asked
// about each file, and stars can make that take forever.
const (
	MaxSize  = 256 << 10
	maxRules = 4096
	maxStars = 8
)

// Append returns the rules and those of a directory below. Neither is changed.
func (rules Rules) Append(below Rules) Rules {
	below = below[:min(len(below), max(maxRules-len(rules), 0))]
	return append(rules[:len(rules):len(rules)], below...)
}

// Parse reads the text of an ignore file in the directory base, relative to the top,
// which is ".", with slashes.
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
		line = stem + "/**/*" // what is in it, not the directory itself
	}
	const special = `*?[\`
	r.isLiteral = !strings.ContainsAny(line, special)
	if rest, ok := strings.CutPrefix(line, "*"); ok && r.matchBase && rest != "" && !strings.ContainsAny(rest, special) {
		r.suffix = rest
	}
	if !r.isLiteral {
		line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // only doublestar knows braces
	}
	r.pattern = line
	return r, line != "" && (r.isLiteral || doublestar.ValidatePattern(line))
}

func (r *rule) match(file string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.base != "." {
		rest, ok := strings.CutPrefix(file, r.base)
		if !ok || rest == "" || rest[0] != '/' {
			return false
		}
		file = rest[1:]
	}
	if r.matchBase {
		file = path.Base(file)
	}
	switch {
	case r.isLiteral:
		return file == r.pattern
	case r.suffix != "":
		return strings.HasSuffix(file, r.suffix)
	}
	return doublestar.MatchUnvalidated(r.pattern, file)
}

// Match reports whether file, a path relative to the top, is ignored.
func (rules Rules) Match(file string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(file, dir) {
			return !rules[i].negated
		}
	}
	return false
}
