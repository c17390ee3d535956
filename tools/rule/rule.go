// Package rule is the vocabulary of permission rules: a [Call] is decided by a list of [Rule]s. Package
// permission has what parses and decides, the [Engine].
package rule

import (
	"errors"
	"strings"

	"parley/tools/act"
	"parley/tools/lazy"
)

// Engine parses rules and decides calls by them; package permission sets it before any call. By default there
// are no rules, and each call asks.
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

// A Driver is what an engine does.
type Driver struct {
	Parse      func(text string) (Rule, error)                           // the inverse of Rule.String; Effect, Workspace and Source are for the caller to fill in
	Validate   func(Rule) error                                          // reports why a rule, if it allows, can never match
	Decide     func([]Rule, Call) (effect act.Verdict, by Rule, ok bool) // returns the effect on a call, and the rule that decides; !ok if none matches
	Exact      func(tool, target string) Rule                            // returns the rule that allows exactly this command, host, or file of a tool
	Prefix     func(command string, words int) ([]Rule, error)           // returns the rules that allow what begins with the first words of a command
	CountWords func(command string) (most int, err error)                // returns the largest number of words for Prefix
	Marshal    func([]Rule) (string, error)                              // encodes rules without Source as text
	Unmarshal  func(text string) ([]Rule, error)                         // decodes them, as rules FromState; the error names invalid ones, which are left out
}

// Sources of rules.
const (
	FromConfig  = "config"  // user's configuration file
	FromFlag    = "flag"    // the command line
	FromState   = "state"   // approval remembered for good
	FromSession = "session" // approval remembered until parley ends
)

// A Rule binds an effect to calls of one tool.
type Rule struct {
	Effect    act.Verdict
	Tool      string // name; one that begins with "mcp__" may end in *
	Match     string // command, glob of paths, or host; "" matches any call
	Prefix    bool   // Match holds the first words of a command
	Workspace string // absolute path of the workspace it holds for; "" for all
	Source    string // FromConfig, FromFlag, FromState or FromSession
	Sandboxed bool   // approved for a sandboxed command; for the caller to heed
}

// A Call describes one tool call for rules to decide.
type Call struct {
	Tool      string
	Command   string // command line of the shell tool; "" for other tools
	Path      string // relative to the workspace, with slashes; "" without a file
	Host      string // lower case, with its port unless that is the default; "" without a host
	Workspace string // absolute path of the workspace
	Class     string // class of the file, a name that rules can use as a tool; "" without one
}

// IsConfigured reports whether the user wrote r in the config or a flag; else an approval
// made it.
func (r Rule) IsConfigured() bool { return r.Source == FromConfig || r.Source == FromFlag }

// String returns r as a user writes it.
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
