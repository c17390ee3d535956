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

	"parley/tools/lazy"
)

// Effect decides a call that a rule matches.
type Effect string

// Effects, from the weakest to the strongest.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Sources of rules.
const (
	FromConfig  = "config"  // user's configuration file
	FromFlag    = "flag"    // the command line
	FromState   = "state"   // approval remembered for good
	FromSession = "session" // approval remembered until parley ends
)

// Rule binds an effect to calls of one tool.
type Rule struct {
	Effect    Effect
	Tool      string // name; one that begins with "mcp__" may end in *
	Match     string // command, glob of paths, or host; "" matches any call
	Prefix    bool   // Match holds the first words of a command
	Workspace string // absolute path of the workspace it holds for; "" for all
	Source    string // FromConfig, FromFlag, FromState or FromSession
	Sandboxed bool   // approved for a sandboxed command; for the caller to heed
}

// Rules holds rules; their order does not matter.
type Rules []Rule

// Call describes one tool call for rules to decide.
type Call struct {
	Tool      string
	Command   string // command line of the shell tool; "" for other tools
	Path      string // relative to the workspace, with slashes; "" without a file
	Host      string // lower case, with its port unless that is the default; "" without a host
	Workspace string // absolute path of the workspace
	Class     string // class of the file, a name that rules can use as a tool; "" without one
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
	tool, match, narrow := strings.Cut(text, ":")
	r := Rule{Tool: tool}
	if !toolName.MatchString(tool) {
		return Rule{}, fmt.Errorf("rule %q: it begins with no tool's name", text)
	}
	if !narrow {
		return r, nil
	}
	match = strings.TrimLeft(match, blanks)
	if !utf8.ValidString(match) {
		return Rule{}, fmt.Errorf("rule %q: it is not valid UTF-8", text)
	}
	if match == "" {
		return Rule{}, fmt.Errorf("rule %q: nothing follows the colon", text)
	}
	r.Match = match
	if strings.HasPrefix(tool, mcpPrefix) {
		return Rule{}, fmt.Errorf("rule %q: a tool from outside is named alone", text)
	}
	var err error
	switch tool {
	case shellTool:
		r.Match, r.Prefix = cutStar(match)
		err = r.checkPrefix()
	case fetchTool:
		r.Match, err = parseHost(match)
	default:
		if r.Match = path.Clean(match); strings.ContainsAny(r.Match[:1], blanks) { // of "./ x"
			r.Match = `\` + r.Match
		}
		if !doublestar.ValidatePattern(r.Match) {
			err = errors.New("this is no glob of paths")
		}
	}
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return r, nil
}

// checkPrefix reports why Match is the prefix of no simple command, or nil.
func (r Rule) checkPrefix() error {
	if !r.Prefix {
		return nil
	}
	if strings.TrimSpace(r.Match) == "" {
		return errors.New("no command stands before the asterisk")
	}
	if _, err := singleCommand(r.Match); err != nil {
		return fmt.Errorf("the part before the asterisk %w", err)
	}
	return nil
}

// Tools whose rules are not about paths.
const (
	shellTool = "shell"
	fetchTool = "fetch"
)

const (
	mcpPrefix = "mcp__"   // begins the names of MCP tools
	blanks    = " \t\n\r" // ignored before a rule or a command
)

// IsConfigured reports whether the user wrote r in the config or a flag; else an approval
// made it.
func (r Rule) IsConfigured() bool { return r.Source == FromConfig || r.Source == FromFlag }

// String returns r in the form that ParseRule parses.
func (r Rule) String() string {
	switch {
	case r.Match == "":
		return r.Tool
	case r.Prefix:
		return r.Tool + ":" + r.Match + " *"
	case r.Tool == shellTool:
		return r.Tool + ":" + escapeStar(r.Match)
	}
	return r.Tool + ":" + r.Match
}

// cutStar cuts the asterisk off a prefix, or one backslash off an exact command that looks
// like a prefix.
func cutStar(s string) (match string, prefix bool) {
	body, star := strings.CutSuffix(s, "*")
	if !star {
		return s, false
	}
	bare := strings.TrimRight(body, `\`)
	switch {
	case bare != "" && !strings.HasSuffix(bare, " "):
		return s, false
	case bare == body:
		return strings.TrimRight(body, " "), true
	}
	return body[:len(body)-1] + "*", false
}

// escapeStar reverses cutStar for exact commands.
func escapeStar(s string) string {
	body, star := strings.CutSuffix(s, "*")
	if bare := strings.TrimRight(body, `\`); !star || bare != "" && !strings.HasSuffix(bare, " ") {
		return s
	}
	return body + `\*`
}

// ExactRule returns the rule that allows exactly this command, host, or file of a tool.
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

var (
	globMeta    = lazy.NewRegexp(`^[ \t\r\n]|[*?\[\]{}\\]`) // glob characters; a leading blank would be trimmed from a rule
	escapedChar = lazy.NewRegexp(`(?s)\\.`)
)

// IsLiteral reports whether r matches exactly one file, command or host.
func (r Rule) IsLiteral() bool {
	if r.Match == "" || r.Prefix {
		return false
	}
	return r.Tool == shellTool || !strings.ContainsAny(escapedChar.ReplaceAllString(r.Match, ""), `*?[{`)
}
