// Package print is the front end for pipes and scripts: it writes the events of one turn to writers
// and returns the exit status.
//
//	session.Turn ──► events ──► text | json | jsonl ──► stdout
//	                       └──► thinking, tools, notices, usage ──► stderr
//
// Standard output gets only the answer, flushed as it arrives, with one newline at the end. Calls
// that need approval are denied, because there is no user to ask. Text from outside is sanitized,
// unless the caller wants it raw.
package print

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
	"parley/ui/theme"
)

// Run writes a turn of s, or a comparison, to the writers of o and returns the exit status. cancel
// must cancel the context of the turn.
func Run(s *session.Session, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o cmdutil.PrintOptions) int {
	if o.Theme == nil {
		o.Theme = theme.Plain()
	}
	if len(o.Compared) > 1 {
		return compare(s, turn, cancel, o)
	}
	return run(s, turn, cancel, o)
}

// run writes the answer of one model.
func run(s *session.Session, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o cmdutil.PrintOptions) int {
	out := newAsyncWriter(o.Out, func(err error) { cancel(fmt.Errorf("%w: %w", wording.ErrPipe, err)) })
	o.Out = out
	var p printer
	switch {
	case o.Format == "json":
		p = newJSONWriter(o, s)
	case o.Format == "jsonl":
		p = newJSONLWriter(o, s)
	case o.Schema:
		p = &structured{o: o, out: out, side: stderrWriter{o: o}}
	default:
		p = newTextWriter(o, out)
	}
	denied, nothing, unsaved, status := false, false, false, exit.OK
	var rules []string // rules that would have allowed the denied calls
	yolo := true       // --yolo would have allowed all of them
	grantable := true  // rules would have allowed all of them
	for e := range turn {
		if words := urgent(e, o); words != "" && (o.Quiet || o.Format != "text") { // else the printer writes it
			fmt.Fprintln(o.Err, "parley: "+sanitize.Text(words))
		}
		switch e := e.(type) {
		case session.ApprovalRequest:
			rules, yolo = append(rules, rule(e)), yolo && e.Action.PlaceClass == ""
			grantable = grantable && !e.Action.OfProject
			e.Reply(act.Approval{Verdict: act.Deny, Reason: reason(e.Action)})
		case session.Decision:
			denied = denied || e.Verdict == act.Deny
		case session.Response:
			nothing = e.Message.Empty()
			unsaved = !saveMedia(o, e.Message, p) || unsaved
		case session.Done:
			status = statusOf(e, denied, nothing, unsaved)
		}
		if p.event(e, status) != nil {
			break // Close returns the error
		}
		if done, ok := e.(session.Done); ok && (o.Format == "json" || o.Format == "jsonl") {
			writeError(o, done.Err)
		}
	}
	if err := out.Close(); err != nil {
		return pipeStatus(err, o.Err)
	}
	if t, ok := p.(*textWriter); ok && t.codeless && status == exit.OK {
		status = exit.Incomplete
	}
	if status == exit.Denied && len(rules) > 0 {
		writeDenied(o.Err, rules, yolo, grantable)
	}
	return status
}

// writeDenied writes the rules of denied calls and how to allow them. yolo reports that --yolo
// would allow them, grantable that the rules would.
func writeDenied(w io.Writer, rules []string, yolo, grantable bool) {
	fmt.Fprintf(w, "parley: not allowed without a screen: %s\n", sanitize.Text(strings.Join(rules, ", ")))
	if !grantable {
		fmt.Fprintln(w, "  a prompt that came with this folder asks each time: send it on the screen")
		return
	}
	hint := "  let it run with " + sanitize.Text("--allow "+quote(rules[0]))
	if yolo {
		hint += ", or everything with --yolo"
	}
	fmt.Fprintln(w, hint)
}

// urgent returns the text of an event that goes to Err in any format, even if o.Quiet is set, such
// as that a model other than the named one answers and is paid; "" for other events.
func urgent(e session.Event, o cmdutil.PrintOptions) string {
	switch e := e.(type) {
	case session.Response:
		if o.Quiet && o.Format != "text" {
			return answerNotice(e).Text
		}
	case llm.Notice:
		if e.Urgent {
			return e.Text
		}
	case session.Fallback:
		return wording.Event(e)
	case session.Sandbox:
		return e.Text
	}
	return ""
}

// rule returns the argument of --allow that allows exactly this call.
func rule(r session.ApprovalRequest) string {
	rules, err := r.Policy.RulesFor(r.Action, 0)
	if err != nil {
		return r.Action.Tool
	}
	return rules[0]
}

// reason returns the reason, for the model, why a was denied.
func reason(a *act.Action) string {
	const noUser = "not approved: parley runs without a screen"
	if a.Caution == "" {
		return noUser
	}
	return a.Caution + ", so it needs approval; " + noUser
}

// quote returns s quoted as one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A printer writes events in one format. It returns the errors of Out.
type printer interface {
	event(e session.Event, status int) error
}

// statusOf returns the exit status of a turn. denied reports that a call was denied, nothing that
// the answer is empty, unsaved that an image of it was not saved.
func statusOf(d session.Done, denied, nothing, unsaved bool) int {
	switch {
	case d.Err != nil:
		return exit.Of(d.Err)
	case denied:
		return exit.Denied
	case d.Reason == llm.Length, d.Reason == llm.Refused, nothing:
		return exit.Incomplete
	case unsaved:
		return exit.Failed
	}
	return exit.OK
}

// pipeStatus returns the exit status for an error of writing the answer. It reports the error on
// stderr, unless the reader has closed the pipe.
func pipeStatus(err error, stderr io.Writer) int {
	if exit.Of(err) == exit.Unread || errors.Is(err, os.ErrClosed) {
		return exit.Unread
	}
	fmt.Fprintf(stderr, "parley: could not write the answer: %s\n", sanitize.Text(format.ErrorText(err)))
	return exit.Failed
}
