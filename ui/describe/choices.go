package describe

import "parley/tools/act"

// A Choice is a possible answer to the question whether a call may run.
type Choice uint8

// The choices, in list order.
const (
	NoChoice      Choice = iota
	AllowOnce            // only this call
	AllowSession         // this call and similar ones, while the program runs
	AlwaysAllow          // this call and similar ones, by a rule shown first
	DenyCall             // with a reason, if the user gives one
	EditArguments        // edit, then ask again
	WithNetwork          // this time only; if chosen again, without the network
)

// Choices returns the choices for a. online reports that the question is about a call with
// the network, which no choice allows for later calls.
func Choices(a *act.Action, editable, online bool) []Choice {
	list := []Choice{AllowOnce}
	switch {
	case a.Proposal != "":
		list = append(list, AllowSession)
	case !a.AskEachTime && !online:
		list = append(list, AllowSession, AlwaysAllow)
	}
	list = append(list, DenyCall)
	if editable && !online {
		list = append(list, EditArguments)
	}
	if a.Sandboxed && !a.Network {
		list = append(list, WithNetwork)
	}
	return list
}

// Text describes the effect of c on a.
func (c Choice) Text(a *act.Action, online bool) string {
	session := "Allow this session"
	if what, name := SessionScope(a); name != "" {
		session = "Allow " + what + name + " this session"
	}
	return c.Phrase(a, session, online)
}

// planPhrases describes the effect of choices on a plan.
var planPhrases = [...]string{AllowOnce: "Accept, ask before changes", AllowSession: "Accept, edits and sandboxed commands run", DenyCall: "Keep planning", EditArguments: "Edit"}

// Phrase is like Text, with session as the text for AllowSession.
func (c Choice) Phrase(a *act.Action, session string, online bool) string {
	const network = "Allow with network"
	switch {
	case a.Proposal != "" && int(c) < len(planPhrases):
		return planPhrases[c]
	case c == AllowOnce && online:
		return network
	case c == WithNetwork && online:
		return "Without network"
	case c == AllowSession && a.IsOrdinaryEdit():
		return "Allow all edits in this folder"
	}
	return [...]string{"", "Allow once", session, "Always allow…", "Deny", "Edit", network}[c]
}

// SessionScope returns what is allowed with a for the session: words, and the name of a
// file, a host or a tool. Both are empty if only a itself is allowed. See [act.Policy].
func SessionScope(a *act.Action) (what, name string) {
	switch {
	case a.Target() == "":
	case a.Command != "":
		return "", ""
	case a.Path != "" && a.Access == act.AccessWrite:
		return "edits to ", inline(a.Path)
	case a.Path != "":
		return "reading ", inline(a.Path)
	case a.Host != "":
		return "", inline(a.Host)
	}
	return "", toolName(a)
}
