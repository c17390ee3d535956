// Package print is the piped front end: it plays the events of one turn to
// writers and says with which status to exit.
//
//	session.Turn ──► events ──► text | json | jsonl ──► stdout
//	                       └──► thinking, tools, notices, usage ──► stderr
//
// Standard output is the answer and nothing else, flushed as it comes, with one
// newline at the end. What would ask a user is denied here, for nobody is
// there to be asked. Text from outside is made printable on the way, unless the
// caller wants it raw.
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
	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/theme"
)

// Exit statuses of the program.
const (
	OK         = 0
	Failed     = 1 // provider or network error
	Usage      = 2 // usage or input
	Config     = 3 // configuration or authentication
	Steps      = 4 // turn limit
	Limit      = 5 // budget or time limit
	Denied     = 6 // a needed permission was denied
	Schema     = 7 // the answer does not fit the schema
	Incomplete = 8 // length, filter, or nothing of what was asked for
	Mismatch   = 9 // a recording is replayed that does not hold what was asked
)

// Status is an exit status, and what it means.
type Status struct{ Status, Means string }

// Statuses lists every status, as manuals do.
var Statuses = []Status{
	{"0", "Done."},
	{"1", "Provider or network error."},
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

// Interrupted reports the cause of a cancel by a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i Interrupted) Error() string { return "ended by signal: " + i.Signal.String() }

// Is makes an Interrupted count as canceled.
func (i Interrupted) Is(err error) bool { return err == context.Canceled }

// Options say where the answer goes and how it looks.
type Options struct {
	Format  string // "text", "json" or "jsonl"
	Model   string // that answers; "" is the session's
	Answers int    // that each model is asked for by Compare; 0 and 1 are one
	Answer  int    // which of them this is, from 1; 0: the only one
	Out     io.Writer
	Err     io.Writer
	Quiet   bool // nothing but errors on Err
	Code    bool // only the first code block of the answer
	Raw     bool // bytes of the answer as they came
	Schema  bool // the answer has to fit a schema: only what does goes to Out
	Render  bool // Markdown for a terminal Width cells wide
	Width   int
	Demo    func(model string) bool // whether the built-in demo answers as model; nil: it never does
	Theme   *theme.Theme            // of what goes to Err, and of rendered Markdown
}

// Run plays a turn of s to the writers of o and returns the exit status. The
// turn must have been made with a context that cancel cancels.
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
	denied, nothing, status := false, false, OK
	var rules []string // that would have let run what was denied
	yolo := true       // so would have --yolo
	grantable := true  // nothing of it asks whatever is allowed
	for e := range turn {
		if words := urgent(e); words != "" && (o.Quiet || o.Format != "text") { // else the printer tells it in its place
			fmt.Fprintln(o.Err, "parley: "+sanitize.Text(words))
		}
		switch e := e.(type) {
		case session.ApprovalRequest:
			rules, yolo = append(rules, rule(e.Action)), yolo && !e.Action.Sensitive()
			grantable = grantable && e.Action.CanBeAllowed()
			e.Reply(tools.Approval{Verdict: tools.Deny, Reason: reason(e.Action)})
		case session.Decision:
			denied = denied || e.Verdict == tools.Deny
		case session.Response:
			nothing = e.Message.Empty()
		case session.Done:
			status = statusOf(e, denied)
			if status == OK && nothing {
				status = Incomplete
			}
		}
		if p.event(e, status) != nil {
			break // Close has the reason
		}
	}
	if err := out.Close(); err != nil {
		return pipeStatus(err, o.Err)
	}
	if t, ok := p.(*textWriter); ok && (t.codeless || t.torn) && status == OK {
		status = Incomplete
	}
	if status == Denied && len(rules) > 0 {
		writeDenied(o.Err, rules, yolo, grantable)
	}
	return status
}

// writeDenied says what was not allowed, and what lets it run: yolo and grantable say whether a
// mode and a rule do.
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

// urgent returns what is told on Err whatever the format, and to those who want to
// hear of errors alone: that another model is asked, and paid, than was named.
func urgent(e session.Event) string {
	switch e := e.(type) {
	case llm.Notice:
		if e.Urgent {
			return e.Text
		}
	case session.Fallback:
		return app.FallbackText(e)
	}
	return ""
}

// rule returns what --allow takes to let a run.
func rule(a *tools.Action) string {
	switch {
	case a.Command != "" && a.Tool == "shell": // a tool of the user's own is named alone
		return a.Tool + ":" + a.Command
	case a.Path != "":
		return a.Tool + ":" + a.Path
	}
	return a.Tool
}

// reason describes to the model why a was not run.
func reason(a *tools.Action) string {
	const nobody = "not approved: parley runs without a screen"
	if a.Caution == "" {
		return nobody
	}
	return a.Caution + ", so it needs approval;  " + nobody
}

// quote makes one word of s for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// A printer writes events in one format. Its errors are those of Out.
type printer interface {
	start(*session.Session)
	event(e session.Event, status int) error
}

// statusOf maps how a turn ended to an exit status.
func statusOf(d session.Done, denied bool) int {
	switch {
	case d.Err != nil:
		return ErrorStatus(d.Err)
	case denied:
		return Denied
	case d.Reason == llm.Length, d.Reason == llm.Refused:
		return Incomplete
	}
	return OK
}

// ErrorStatus maps an error to an exit status.
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
		return 128 + 13
	case llm.FaultOf(err) == llm.Authentication:
		return Config
	case llm.FaultOf(err) == llm.ContentFilter:
		return Incomplete
	case llm.FaultOf(err) == llm.Mismatch:
		return Mismatch
	}
	return Failed
}

// pipeStatus distinguishes a reader that left, which is silent, from a disk that is
// full.
func pipeStatus(err error, stderr io.Writer) int {
	if isBrokenPipe(err) || errors.Is(err, os.ErrClosed) {
		return 128 + 13 // as if SIGPIPE had ended us
	}
	fmt.Fprintf(stderr, "parley: could not write the answer: %s\n", sanitize.Text(format.ErrorText(err)))
	return Failed
}
