package plain

import (
	"strconv"
	"strings"

	"parley/session"
	"parley/tools"
	"parley/ui/describe"
)

// approval asks whether a call may run. All of it is written before the question,
// so that it is heard before it can be answered.
func (p *front) approval(ask session.ApprovalRequest) *question {
	a := ask.Action
	reply := func(answer tools.Approval) bool {
		ask.Reply(answer)
		return true
	}
	tell := func(details bool) {
		p.say("%s:", describe.Title(a))
		p.block(strings.Join(describe.Words(a, details), "\n"))
	}
	once, further := "y once", ", a this session, p always"
	if a.Sandboxed && !a.Network {
		once += ", w once with network"
	}
	if a.AskEachTime {
		further = ""
	}
	options := once + further + ", e edit, n deny, d deny with a note, ? again with details"
	q := &question{call: ask.Call.ID, prompt: "Allow? " + options + ":", guarded: true, tell: func() { tell(false) }}
	q.answer = func(line string) bool {
		word, note, _ := strings.Cut(line, " ")
		if note != "" && word != "d" {
			word = ""
		}
		switch strings.ToLower(word) {
		case "y":
			return reply(tools.Approval{Verdict: tools.Allow})
		case "w":
			if a.Sandboxed && !a.Network {
				return reply(tools.Approval{Verdict: tools.Allow, Network: true})
			}
		case "a":
			if !a.AskEachTime {
				return reply(tools.Approval{Verdict: tools.Allow, Session: true})
			}
		case "p":
			if !a.AskEachTime {
				p.always(ask)
				return true
			}
		case "e":
			p.edit(ask)
			return true
		case "n":
			return reply(tools.Approval{Verdict: tools.Deny})
		case "d":
			if note != "" {
				return reply(tools.Approval{Verdict: tools.Deny, Note: strings.TrimSpace(note)})
			}
			p.note(ask)
			return true
		case "?":
			tell(true)
			return false
		}
		p.say("That was no answer. Type one of the letters, and nothing else.")
		return false
	}
	return q
}

// note asks what to tell the model with a no.
func (p *front) note(ask session.ApprovalRequest) {
	p.next(&question{call: ask.Call.ID, prompt: "Note to the model:", answer: func(line string) bool {
		ask.Reply(tools.Approval{Verdict: tools.Deny, Note: line})
		return true
	}})
}

// always asks which rule is to be remembered: for exactly this, or for what begins
// like it.
func (p *front) always(ask session.ApprovalRequest) {
	prefixes, why := tools.PrefixLengths(ask.Action)
	prefixes = append([]int{0}, prefixes...)
	p.next(&question{
		call: ask.Call.ID, guarded: true, prompt: "Which rule? Its number, or nothing to go back:",
		tell: func() {
			p.say("It runs now, and later without a question by one of these rules:")
			for i, n := range prefixes {
				rule, means, err := describe.Rule(ask.Action, n)
				if err != nil {
					rule, means = "none", sentence(oneLine(err.Error()))
				}
				p.say("%d. %s. %s", i+1, rule, means)
			}
			if why != "" {
				p.say("No wider: %s.", why)
			}
		},
		answer: func(line string) bool {
			if line == "" {
				p.next(p.approval(ask))
				return true
			}
			n, err := strconv.Atoi(line)
			if err != nil || n < 1 || n > len(prefixes) {
				p.say("There is no rule %s.", line)
				return false
			}
			ask.Reply(tools.Approval{Verdict: tools.Allow, Always: true, PrefixWords: prefixes[n-1]})
			return true
		},
	})
}

// edit has the arguments changed, in the user's editor if there is one. That is
// another call, about which the session asks anew.
func (p *front) edit(ask session.ApprovalRequest) {
	a := ask.Action
	name, text := describe.Editable(a)
	use := func(written string) bool {
		input, err := describe.Arguments(a, name, written)
		switch {
		case err != nil:
			p.fail(err)
		case input == string(a.Input) || written == text:
			p.say("Nothing was changed.")
		default:
			ask.Reply(tools.Approval{Verdict: tools.Allow, Input: input})
			return true
		}
		p.next(p.approval(ask))
		return false
	}
	if written, err := p.edited(text); err == nil {
		use(written)
		return
	}
	what := "arguments, as JSON on one line"
	if name != "" {
		what = name
	}
	p.next(&question{call: ask.Call.ID, prompt: "New " + what + ", or nothing to go back:", answer: func(line string) bool {
		if line == "" {
			p.next(p.approval(ask))
		} else {
			use(line)
		}
		return true
	}})
}
