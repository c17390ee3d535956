package describe

import (
	"parley/tools"
	"parley/tools/sanitize"
)

// Title returns which tool wants what, and what protects from it.
func Title(a *tools.Action) string {
	title := "Tool " + sanitize.Line(Reveal(a.Tool)) + " wants" + WantPhrase(a)
	if s := SandboxPhrase(a, false); s != "" {
		title += ", " + s
	}
	return title
}

// accessVerbs names what a tool asks for, by its access.
var accessVerbs = map[tools.Access]string{tools.AccessRead: " to read", tools.AccessWrite: " to change files", tools.AccessRun: " to run", tools.AccessFetch: " to reach the network"}

// WantPhrase returns what a tool asks for.
func WantPhrase(a *tools.Action) string {
	if a.Command != "" {
		return " to run a command"
	}
	return accessVerbs[a.Access]
}

// SandboxPhrase returns what protects a user from a command, which may reach the network
// if online; "" for what is none.
func SandboxPhrase(a *tools.Action, online bool) string {
	switch {
	case a.Command == "":
		return ""
	case !a.Sandboxed:
		return "not sandboxed"
	case online || a.Network:
		return "sandboxed, online"
	}
	return "sandboxed, offline"
}

// Rule returns the rule that allows a for good, made of so many words of its
// command, 0 for the whole of it, and what it lets run.
func Rule(a *tools.Action, prefix int) (rule, means string, err error) {
	r, err := tools.RuleFor(a, prefix)
	if err != nil {
		return "", "", err
	}
	means, _ = RuleMeaning(a, prefix)
	return sanitize.Line(markGaps(Reveal(r.String()))), means, nil
}

// RuleMeaning returns what the rule lets run that is made of so many words of a; 0 is
// the whole of it.
func RuleMeaning(a *tools.Action, prefix int) (string, Style) {
	const here = " will run unasked in this workspace"
	switch {
	case prefix > 0:
		return "Everything that begins so" + here + ", unless an option behind it could write, run or send something.", Warning
	case a.Command != "":
		return "Exactly this command" + here + ".", Text
	case a.Path != "":
		return "Whatever " + sanitize.Line(Reveal(a.Tool)) + " does to this file" + here + ".", Text
	case a.Host != "":
		return "Every fetch from this host" + here + ".", Warning
	}
	return "Every call of this tool" + here + ", with any arguments.", Warning
}
