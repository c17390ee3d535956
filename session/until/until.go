// Package until makes a model continue until a command passes:
//
//	last answer ──► command ──► passes: the turn ends
//	    ▲              └──► fails: its last lines are the next prompt ──┐
//	    └───────────────────────────────────────────────────────────────┘
//
// It ends with an error after a number of rounds, and after a round that changed no file.
package until

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/tools/undo"
)

// Bounds of the output that is sent to the model.
const (
	maxLines = 60
	maxBytes = 6 << 10
)

// A loop is one use of a check: a turn with all its rounds.
type loop struct {
	session *session.Session
	run     func(ctx context.Context, command string, progress func(string)) (act.Outcome, error)
	command string
	rounds  int // maximum
	round   int // number of prompts so far
	head    int // last message before the round
	records int // file changes before it
}

// New returns a check that lets a turn of s end once command passes, after rounds failures at the latest.
func New(s *session.Session, run func(ctx context.Context, command string, progress func(string)) (act.Outcome, error), command string, rounds int) session.Check {
	return (&loop{session: s, run: run, command: command, rounds: rounds}).check
}

// check is a session.Check.
func (l *loop) check(ctx context.Context, emit func(session.Event)) ([]llm.Part, error) {
	end, err := l.runCommand(ctx, emit)
	name := sanitize.Line(l.command)
	switch how := status(end.Notes); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%s did not run: %w", name, err)
	case !end.Failed:
		when := "at once"
		if l.round > 0 {
			when = fmt.Sprintf("in round %d", l.round)
		}
		emit(llm.Notice{Text: "passed " + when + ": " + name})
		return nil, nil
	case l.round > 0 && !l.changedFiles():
		return nil, fmt.Errorf("the last round changed no file, and %s still fails (%s)", name, how)
	case l.round >= l.rounds:
		return nil, fmt.Errorf("after %d rounds %s still fails (%s)", l.rounds, name, how)
	}
	l.round++
	l.head, l.records = l.session.Head(), len(undo.HistoryOf(l.session.Files()).Records())
	return []llm.Part{
		attach.Output("output of "+name, l.command, lastLines(end.Output), end.Notes),
		{Kind: llm.Text, Text: fmt.Sprintf("This command failed. Correct the cause; do not weaken the command or what it checks. It runs again after your answer. (Round %d of %d)", l.round, l.rounds)},
	}, nil
}

// runCommand runs the command and shows it like a call of the tool shell. It is stored as a command of the user's.
func (l *loop) runCommand(ctx context.Context, emit func(session.Event)) (end session.ShellCommand, err error) {
	input, err := json.Marshal(map[string]string{"command": l.command})
	if err != nil {
		return end, err
	}
	call := llm.Part{Kind: llm.Call, ID: "until_" + rand.Text(), Name: "shell", Input: string(input)}
	emit(session.Call{Part: call})
	emit(session.Decision{ID: call.ID, Verdict: act.Allow, By: "policy"})
	n := l.session.Annotate(0, session.ShellCommand{Command: l.command})
	out, err := l.run(ctx, l.command, func(text string) { emit(session.Progress{ID: call.ID, Text: text}) })
	if err != nil {
		out = act.Outcome{Text: err.Error(), Notes: err.Error(), Failed: true}
	}
	end = session.EndedCommand(ctx, l.command, out)
	l.session.Annotate(n, end)
	emit(session.Result{Part: llm.Part{Kind: llm.Result, ID: call.ID, Name: call.Name, Text: out.Text, Failed: out.Failed}, Duration: out.Duration, Stopped: end.Stopped})
	return end, err
}

// changedFiles reports whether a call of the round changed a file, or may have.
func (l *loop) changedFiles() bool {
	recorded := map[string]bool{}
	for _, r := range undo.HistoryOf(l.session.Files()).Records()[l.records:] {
		if recorded[r.Call] = true; len(r.Changes)+len(r.Uncovered) > 0 || r.Partial != "" || r.Open {
			return true
		}
	}
	for _, n := range l.session.Path() {
		for _, p := range n.Parts {
			if n.Seq > l.head && p.Kind == llm.Result && !recorded[p.ID] && !n.Results[p.ID].Denied && mayChange(p) {
				return true // changes are not recorded here
			}
		}
	}
	return false
}

// mayChange reports whether the call of a result may have changed a file. A program that failed may.
func mayChange(result llm.Part) bool {
	switch facts := act.FactsOf(result.Name); {
	case facts.Kind == "edit":
		return !result.Failed
	case facts.Kind != "":
		return facts.Program
	}
	return !act.IsReserved(result.Name)
}

// status returns how a command ended, from its notes.
func status(notes string) string {
	how, _, _ := strings.Cut(strings.TrimPrefix(notes, "[no output]\n"), "\n")
	return strings.Trim(how, "[]")
}

// lastLines returns the end of a command's output, within bounds.
func lastLines(output string) string {
	output = strings.TrimRight(output, "\n")
	lines := strings.Split(output, "\n")
	text := strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
	if text = strings.ToValidUTF8(text[max(0, len(text)-maxBytes):], ""); len(text) < len(output) {
		return "[… earlier output not sent …]\n" + text
	}
	return text
}
