// Package gitignore parses .gitignore files, and others of that format, and matches
// files against them.
//
//	text ──► Parse ──► Rules, and those of the directories below ──► Match
//
// It supports gitignore(5) except for rules that need git's index. Do not match
// files in ignored directories: no rule can include them again. Ignore files may
// come with untrusted code, so their cost is bounded.
package gitignore

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
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
