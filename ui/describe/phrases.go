package describe

import (
	"strings"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// Title returns the question whether a may run, with the protection by the sandbox.
func Title(a *act.Action) string {
	title := Question(a)
	if s := SandboxPhrase(a, false); s != "" {
		title += " (" + s + ")"
	}
	return title
}

// Question returns the question whether a may run, with the name of its subject.
func Question(a *act.Action) string {
	path := inline(a.Path)
	switch {
	case a.Question != "":
		return a.Question
	case a.Proposal != "":
		return "Accept this plan?"
	case a.Command != "":
		return "Run this command?"
	case a.Access == act.AccessWrite && path != "" && strings.HasPrefix(a.Diff, "--- /dev/null"):
		return "Create " + path + "?"
	case a.Access == act.AccessWrite && path != "":
		return "Edit " + path + "?"
	case a.Access == act.AccessRead && path != "":
		return "Read " + path + "?"
	case a.Host != "":
		return "Fetch " + inline(a.Host) + "?"
	}
	return "Call " + toolName(a) + "?"
}

// inline returns a name from outside as a part of a line. The name cannot push the text
// after it out of sight.
func inline(name string) string { return sanitize.Line(markGaps(Reveal(name))) }

// toolName returns the name of the tool of a; for a tool of an MCP server it includes the server.
func toolName(a *act.Action) string { return inline(act.DisplayName(a.Tool)) }

// AlwaysQuestion returns the question whether actions like a may always run.
func AlwaysQuestion(a *act.Action) string {
	switch {
	case a.Target() == "":
	case a.Command != "":
		return "Always allow this command?"
	case a.Access == act.AccessWrite && a.Path != "":
		return "Always allow edits to this file?"
	case a.Path != "":
		return "Always allow this file?"
	case a.Host != "":
		return "Always allow this host?"
	}
	return "Always allow this tool?"
}

// SandboxPhrase returns the protection by the sandbox for a command, which may reach the
// network if online; "" if a is not a command.
func SandboxPhrase(a *act.Action, online bool) string {
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

// Rule returns the rules of p that always allow a, and their meaning. prefix is
// how many words of the command they contain; 0 means the whole command.
func Rule(p act.Policy, a *act.Action, prefix int) (rules, means string, err error) {
	all, err := p.RulesFor(a, prefix)
	if err != nil {
		return "", "", err
	}
	for i := range all {
		all[i] = inline(all[i])
	}
	means, _ = RuleMeaning(a, prefix, all)
	return strings.Join(all, "  and  "), means, nil
}

// RuleMeaning returns what rules allow, made from prefix words of a; 0 means the whole command.
func RuleMeaning(a *act.Action, prefix int, rules []string) (string, Style) {
	const here = " runs without asking in this folder"
	switch {
	case prefix == 0 && a.Target() == "":
	case prefix > 0:
		if len(rules) > 1 {
			return "Every command that begins like one of these, alone or together," + here + ", unless a later option could write, run or send something.", Warning
		}
		return "Every command that begins like this" + here + ", unless a later option could write, run or send something.", Warning
	case a.Command != "":
		return "Exactly this command" + here + ".", Text
	case a.Path != "":
		return "Every " + inline(a.Tool) + " of this file" + here + ".", Text
	case a.Host != "":
		return "Every fetch from this host" + here + ".", Warning
	}
	return "Every call of this tool" + here + ", with any arguments.", Warning
}
