// Package permission holds what a user allowed, forbade, or wants to be asked
// about, and decides calls by it.
//
//	"shell:git log *" ──► ParseRule ──► Rule ─┐
//	"git log -3"      ──► Parse ─► Commands ──┴──► Rules.Decide ──► allow, ask, deny
//
// Deny beats ask beats allow. The two sides are read with opposite care. A rule
// that denies or asks holds for every command that can be seen anywhere in a
// line: in substitutions, after env and xargs, in the string of sh -c, after the --
// of a program that is in no table; and where there is one, a line asks that can start
// programs which do not show in it: sed's e, tar --checkpoint-action, python -c, what is
// piped into a shell (opaque.txt). A rule
// that allows holds for the very text that it names or, if it is a prefix, for a
// simple command with static words, in which nothing follows that could make
// the program write, run others or reach beyond the workspace; see options.go. A
// line of several needs a rule for each, and a pipe a program that runs nothing of
// what it reads.
// No prefix allows a line that is not understood. No command is allowed by
// itself. Rules are a user's convenience, not a boundary: that is the sandbox.
package permission

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"parley/tools/act"
	"parley/tools/lazy"
	"parley/tools/rule"
)

// Names from package rule.
type (
	Rule   = rule.Rule
	Call   = rule.Call
	Effect = act.Verdict
)

// Effects, from the weakest to the strongest.
const (
	Allow = act.Allow
	Ask   = act.Ask
	Deny  = act.Deny
)

// Rules holds rules; their order does not matter.
type Rules []Rule

// Register makes tools use this package's rules.
func Register() {
	rule.Engine = rule.Driver{
		Parse: ParseRule, Validate: Validate, Exact: ExactRule, CountWords: CountWords, Marshal: Marshal, Unmarshal: Unmarshal,
		Decide: func(rs []Rule, c Call) (Effect, Rule, bool) { return Rules(rs).Decide(c) },
		Prefix: func(command string, words int) ([]Rule, error) { return PrefixRules(command, words) },
	}
}

var toolName = lazy.NewRegexp(`^(mcp__[A-Za-z0-9_-]*\*|[A-Za-z0-9_-]{1,64})$`)

// ParseRule parses a rule as a user writes it; String is the inverse. Effect,
// Workspace and Source are for the caller to fill in.
//
//	shell                 every command
//	shell:git status      exactly this one
//	shell:git log *       what begins with these words
//	edit:src/**           files, by a glob; \ takes the meaning from * ? [ {
//	fetch:example.com     a host; *.example.com is all below it
//	mcp__github__*        tools by their names
//
// A command that itself ends in a space and an asterisk is written with a
// backslash before the asterisk, and one more if it has some already.
//
// Ask and Deny hold wider, so that they are not missed: for every command that
// begins with the words, with or without the asterisk, and for hosts below.
func ParseRule(text string) (Rule, error) {
	r, err := parseRule(text)
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return r, nil
}

func parseRule(text string) (r Rule, err error) {
	tool, match, narrow := strings.Cut(text, ":")
	match = strings.TrimLeft(match, blanks)
	r = Rule{Tool: tool, Match: match}
	switch {
	case !toolName.MatchString(tool):
		err = errors.New("it begins with no tool's name")
	case !narrow:
	case !utf8.ValidString(match):
		err = errors.New("it is not valid UTF-8")
	case match == "":
		err = errors.New("nothing follows the colon")
	case strings.HasPrefix(tool, mcpPrefix):
		err = errors.New("a tool from outside is named alone")
	case tool == shellTool:
		if r.Match, r.Prefix = cutStar(match); !r.Prefix {
			break
		}
		if strings.TrimSpace(r.Match) == "" {
			return r, errors.New("no command stands before the asterisk")
		}
		if _, err = singleCommand(r.Match); err != nil {
			err = fmt.Errorf("the part before the asterisk %w", err)
		}
	case tool == fetchTool:
		r.Match, err = parseHost(match)
	default:
		if r.Match = path.Clean(match); strings.ContainsAny(r.Match[:1], blanks) { // such as "./ x"
			r.Match = `\` + r.Match
		}
		if !doublestar.ValidatePattern(r.Match) {
			err = errors.New("this is no glob of paths")
		}
	}
	return r, err
}

// Tools whose rules do not match paths.
const (
	shellTool = "shell"
	fetchTool = "fetch"
)

const (
	mcpPrefix = "mcp__"   // prefix of the names of MCP tools
	blanks    = " \t\n\r" // ignored before a rule or a command
)

// cutStar removes the asterisk from a prefix, or one backslash from an exact command that
// looks like a prefix.
func cutStar(s string) (match string, prefix bool) {
	m := starred.FindStringSubmatch(s)
	switch {
	case m == nil:
		return s, false
	case m[2] == "":
		return strings.TrimRight(m[1], " "), true
	}
	return m[1] + m[2][1:] + "*", false
}

var starred = lazy.NewRegexp(`(?s)^(|.* )(\\*)\*$`)

// ExactRule returns the rule that allows exactly this command, host or file for a tool.
func ExactRule(tool, target string) Rule {
	switch tool {
	case shellTool:
		target = strings.TrimLeft(target, blanks)
	case fetchTool:
	default:
		target = globMeta.ReplaceAllString(path.Clean(target), `\$0`)
	}
	return Rule{Effect: Allow, Tool: tool, Match: target}
}

// globMeta matches glob characters; a leading blank would be trimmed from a rule.
var globMeta = lazy.NewRegexp(`^[ \t\r\n]|[*?\[\]{}\\]`)
