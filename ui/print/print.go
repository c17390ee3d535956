// Package print is the front end for pipes and scripts: it writes the events of one turn to writers
// and returns the exit status.
//
//	session.Turn ──► events ──► text | json | jsonl ──► stdout
//	                       └──► thinking, tools, notices, usage ──► stderr
//
// Standard output gets the answer and nothing else, flushed as it arrives, with one newline at the
// end. Calls that need approval are denied, since there is no user to ask. Text from outside is
// sanitized, unless the caller wants it raw.
package print

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"syscall"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/theme"
)

// Exit statuses of the program.
const (
	OK         = 0
	Failed     = 1        // provider or network error
	Usage      = 2        // usage or input
	Config     = 3        // configuration or authentication
	Steps      = 4        // turn limit
	Limit      = 5        // budget or time limit
	Denied     = 6        // a needed permission was denied
	Schema     = 7        // the answer does not fit the schema
	Incomplete = 8        // length, filter, or nothing of the requested kind
	Mismatch   = 9        // the request is not in the replayed recording
	Unread     = 128 + 13 // the reader of the pipe left: as if SIGPIPE had ended the program
)

// Status is an exit status and its meaning.
type Status struct{ Status, Means string }

// Statuses lists every status for the manual.
var Statuses = []Status{
	{"0", "Done."},
	{"1", "Provider or network error, or output that cannot be written."},
	{"2", "Usage or input."},
	{"3", "Configuration or authentication."},
	{"4", "Turn limit (--max-turns)."},
	{"5", "Budget or time limit (--max-cost, --timeout, [budget])."},
	{"6", "A needed permission was denied."},
	{"7", "The answer does not fit the schema (--schema)."},
	{"8", "The answer is incomplete: length, filter, or nothing of what was asked for; an image or a video was refused."},
	{"9", "The request is not in the recording (--replay)."},
	{"128+n", "Ended by signal n; 141: the reader of the pipe left."},
}

// Interrupted is the cause of a cancellation by a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i Interrupted) Error() string { return "ended by signal: " + i.Signal.String() }

// Is makes errors.Is(i, context.Canceled) true.
func (i Interrupted) Is(err error) bool { return err == context.Canceled }

// Options say where the answer goes and how it looks.
type Options struct {
	Format   string // "text", "json" or "jsonl"
	Model    string // model that answers; "" is the session's
	Answers  int    // answers of each model in Compare; 0 is 1
	Answer   int    // number of this answer, from 1; 0 if it is the only one
	Out      io.Writer
	Err      io.Writer
	Quiet    bool                                    // only errors on Err
	Code     bool                                    // print only the first code block of the answer
	Raw      bool                                    // print the bytes of the answer as they came, not sanitized
	Schema   bool                                    // print only an answer that fits the schema
	Thinking bool                                    // print thinking on Err
	Render   bool                                    // render Markdown for a terminal
	Width    int                                     // of that terminal in cells; 0 is 80
	Demo     func(model string) bool                 // reports whether the built-in demo answers as model; nil: never
	Save     func(llm.Part) (path string, err error) // saves an image or a file of an answer; nil: none is saved
	Theme    *theme.Theme                            // for Err; nil is plain
	Markdown *theme.Theme                            // for rendered Markdown; nil is Theme
}

// Run writes a turn of s to the writers of o and returns the exit status. Cancel must cancel the
// context that the turn was made with.
func Run(s *session.Session, turn iter.Seq[session.Event], cancel context.CancelCauseFunc, o Options) int {
	if o.Theme == nil {
		o.Theme = theme.Plain()
	}
	out := newAsyncWriter(o.Out, func(err error) { cancel(fmt.Errorf("%w: %w", app.ErrPipe, err)) })
	o.Out = out
	var p printer
	switch {
	case o.Format == "json":
		p = &jsonWriter{o: o}
	case o.Format == "jsonl":
		p = &jsonlWriter{o: o}
	case o.Schema:
		p = &structured{o: o, out: out, side: stderrWriter{o: o}}
	default:
		p = newTextWriter(o, out)
	}
	p.start(s)
	denied, nothing, unsaved, status := false, false, false, OK
	var rules []string // rules that would have allowed the denied calls
	yolo := true       // --yolo would have allowed all of it
	grantable := true  // rules would have allowed all of it
	for e := range turn {
		if words := urgent(e, o); words != "" && (o.Quiet || o.Format != "text") { // else the printer writes it in order
			fmt.Fprintln(o.Err, "parley: "+sanitize.Text(words))
		}
		switch e := e.(type) {
		case session.ApprovalRequest:
			rules, yolo = append(rules, rule(e)), yolo && !e.Action.Sensitive()
			grantable = grantable && e.Action.CanBeAllowed()
			e.Reply(act.Approval{Verdict: act.Deny, Reason: reason(e.Action)})
		case session.Decision:
			denied = denied || e.Verdict == act.Deny
		case session.Response:
			nothing = e.Message.Empty()
			unsaved = !o.saveMedia(e.Message, p) || unsaved
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
	if t, ok := p.(*textWriter); ok && t.codeless && status == OK {
		status = Incomplete
	}
	if status == Denied && len(rules) > 0 {
		writeDenied(o.Err, rules, yolo, grantable)
	}
	return status
}

// writeDenied writes the rules of calls that were denied and how to allow them. Yolo says that
// --yolo would, grantable that the rules would.
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
// as that another model answers, and is paid, than the named one; "" for other events.
func urgent(e session.Event, o Options) string {
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
		return app.FallbackText(e)
	case session.Sandbox:
		return e.Text
	}
	return ""
}

// rule returns the argument of --allow that lets a call run, and nothing else.
func rule(r session.ApprovalRequest) string {
	rules, err := r.Policy.RulesFor(r.Action, 0)
	if err != nil {
		return r.Action.Tool
	}
	return rules[0]
}

// reason tells the model why a was denied.
func reason(a *act.Action) string {
	const noUser = "not approved: parley runs without a screen"
	if a.Caution == "" {
		return noUser
	}
	return a.Caution + ", so it needs approval; " + noUser
}

// quote returns s quoted as one word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A printer writes events in one format. Its errors are those of Out.
type printer interface {
	start(*session.Session)
	event(e session.Event, status int) error
}

// statusOf returns the exit status of a turn: if a call was denied, the answer is empty, or an image
// of it was not saved.
func statusOf(d session.Done, denied, nothing, unsaved bool) int {
	switch {
	case d.Err != nil:
		return ErrorStatus(d.Err)
	case denied:
		return Denied
	case d.Reason == llm.Length, d.Reason == llm.Refused, nothing:
		return Incomplete
	case unsaved:
		return Failed
	}
	return OK
}

// ErrorStatus returns the exit status for an error.
func ErrorStatus(err error) int {
	var by Interrupted
	switch {
	case errors.As(err, &by):
		return 128 + int(by.Signal)
	case errors.Is(err, session.ErrNotAllowed):
		return Denied
	case errors.Is(err, session.ErrSteps):
		return Steps
	case errors.Is(err, session.ErrBudget), errors.Is(err, app.ErrTimeout):
		return Limit
	case errors.Is(err, session.ErrSchema):
		return Schema
	case errors.Is(err, app.ErrPipe), isBrokenPipe(err):
		return Unread
	case llm.FaultOf(err) == llm.Authentication:
		return Config
	case llm.FaultOf(err) == llm.ContentFilter:
		return Incomplete
	case llm.FaultOf(err) == llm.Mismatch:
		return Mismatch
	}
	return Failed
}

// pipeStatus returns the exit status for an error of writing the answer. It reports the error on
// stderr, unless it means that the reader has left.
func pipeStatus(err error, stderr io.Writer) int {
	if isBrokenPipe(err) || errors.Is(err, os.ErrClosed) {
		return Unread
	}
	fmt.Fprintf(stderr, "parley: could not write the answer: %s\n", sanitize.Text(format.ErrorText(err)))
	return Failed
}
