package describe

import (
	"strings"

	"parley/tools/act"
	"parley/tools/sanitize"
)

// Title returns the question whether a may run, and what protects from it.
func Title(a *act.Action) string {
	title := Question(a)
	if s := SandboxPhrase(a, false); s != "" {
		title += " (" + s + ")"
	}
	return title
}

// Question asks whether a may run, by the name of what it is about.
func Question(a *act.Action) string {
	path := inline(a.Path)
	switch {
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
	return "Call " + ToolName(a) + "?"
}

// inline returns a name from outside as a part of a line: nothing in it pushes what follows
// out of sight.
func inline(name string) string { return sanitize.Line(markGaps(Reveal(name))) }

// ToolName names the tool of a: one of an MCP server with that.
func ToolName(a *act.Action) string { return inline(act.DisplayName(a.Tool)) }

// AlwaysQuestion asks whether what is like a may run from now on.
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

// SandboxPhrase returns what protects a user from a command, which may reach the network
// if online; "" for what is none.
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

// Rule returns the rules of p that allow a for good, made of so many words of its
// command, 0 for the whole of it, and what they let run.
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

// RuleMeaning returns what rules let run, which are made of so many words of a; 0 is the whole of it.
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
