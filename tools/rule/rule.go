// Package rule is the vocabulary of permission rules: a list of [Rule]s decides a [Call]. Package
// permission implements the [Engine].
package rule

import (
	"errors"
	"strings"

	"parley/tools/act"
	"parley/tools/lazy"
)

// Engine parses rules and decides calls; package permission sets it before any call. By default there are no
// rules, and each call needs approval.
var Engine = Driver{
	Parse:      func(string) (Rule, error) { return Rule{}, errNoRules },
	Validate:   func(Rule) error { return nil },
	Decide:     func([]Rule, Call) (act.Verdict, Rule, bool) { return act.Ask, Rule{}, true },
	Exact:      func(tool, target string) Rule { return Rule{Effect: act.Allow, Tool: tool, Match: target} },
	Prefix:     func(string, int) ([]Rule, error) { return nil, errNoRules },
	CountWords: func(string) (int, error) { return 0, errNoRules },
	Marshal:    func([]Rule) (string, error) { return "", errNoRules },
	Unmarshal:  func(string) ([]Rule, error) { return nil, errNoRules },
}

var errNoRules = errors.New("this program has no permission rules")

// A Driver is the implementation of an engine.
type Driver struct {
	Parse      func(text string) (Rule, error)                           // the inverse of Rule.String; the caller sets Effect, Workspace and Source
	Validate   func(Rule) error                                          // returns why an allow rule can never match; nil if it can
	Decide     func([]Rule, Call) (effect act.Verdict, by Rule, ok bool) // returns the effect on a call and the deciding rule; ok is false if none matches
	Exact      func(tool, target string) Rule                            // returns the rule that allows exactly this command, host or file for a tool
	Prefix     func(command string, words int) ([]Rule, error)           // returns the rules that allow commands beginning with the first words of a command
	CountWords func(command string) (most int, err error)                // returns the largest number of words for Prefix
	Marshal    func([]Rule) (string, error)                              // encodes rules without Source as text
	Unmarshal  func(text string) ([]Rule, error)                         // decodes rules as FromState; the error names invalid ones, which are left out
}

// Sources of rules.
const (
	FromConfig  = "config"  // user's configuration file
	FromFlag    = "flag"    // the command line
	FromState   = "state"   // a permanent approval
	FromSession = "session" // an approval until parley ends
)

// A Rule assigns an effect to calls of one tool.
type Rule struct {
	Effect    act.Verdict
	Tool      string // tool name; one that begins with "mcp__" may end with *
	Match     string // command, glob of paths, or host; "" matches any call
	Prefix    bool   // Match is the first words of a command
	Workspace string // absolute path of the workspace that it is limited to; "" for all
	Source    string // FromConfig, FromFlag, FromState or FromSession
	Sandboxed bool   // approved for a sandboxed command; checked by the caller
}

// A Call describes a tool call to decide.
type Call struct {
	Tool      string
	Command   string // command line of the shell tool; "" for other tools
	Foreign   bool   // Command is not in POSIX syntax
	Path      string // relative to the workspace, with slashes; "" for no file
	Host      string // lower case, with its port unless that is the default; "" for no host
	Workspace string // absolute path of the workspace
	Class     string // class of the file, which rules can use as a tool name; "" for none

	Hides func(program string) bool // reports whether a denied program cannot run, whatever Command is; nil: none is prevented
}

// IsConfigured reports whether r is from the config or a flag rather than an approval.
func (r Rule) IsConfigured() bool { return r.Source == FromConfig || r.Source == FromFlag }

// String returns r in the syntax that users write.
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

const shellTool = "shell"

// Program returns the name or absolute path of the program that r is for, with any arguments; "" if it is for
// something else, such as a script of the workspace.
func (r Rule) Program() string {
	if r.Tool != shellTool || strings.ContainsAny(r.Match, " \t\n\\;&|()<>`$'\"*?[]{}~=!#^") || strings.LastIndexByte(r.Match, '/') > 0 && r.Match[0] != '/' {
		return ""
	}
	return r.Match
}

// escapeStar puts a backslash before the asterisk of an exact command that looks like a prefix.
func escapeStar(s string) string {
	body, star := strings.CutSuffix(s, "*")
	if bare := strings.TrimRight(body, `\`); !star || bare != "" && !strings.HasSuffix(bare, " ") {
		return s
	}
	return body + `\*`
}

var escapedChar = lazy.NewRegexp(`(?s)\\.`)

// IsLiteral reports whether r matches exactly one file, command or host.
func (r Rule) IsLiteral() bool {
	if r.Match == "" || r.Prefix {
		return false
	}
	return r.Tool == shellTool || !strings.ContainsAny(escapedChar.ReplaceAllString(r.Match, ""), `*?[{`)
}
