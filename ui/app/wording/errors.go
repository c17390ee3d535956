// Package wording says errors, events, questions and states of a conversation in words for users.
package wording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// Hint returns advice for the user in a chat after err ended a turn.
func Hint(err error) string { return HintFor(llm.InChat, err) }

// ShellHint is Hint for users outside a chat.
func ShellHint(err error) string { return HintFor(llm.InShell, err) }

// HintFor returns the advice for an audience.
func HintFor(a llm.Audience, err error) string {
	for _, h := range hints {
		switch {
		case !errors.Is(err, h.err):
		case a == llm.InChat || h.shell == "":
			return h.hint
		case a == llm.InShell || h.tool == "":
			return h.shell
		default:
			return h.tool
		}
	}
	return a.Hint(err)
}

// Refusal explains, in a chat, why a command failed. If a model's service refused, it adds advice.
func Refusal(err error) string {
	if !errors.As(err, new(*llm.Error)) {
		return format.ErrorText(err)
	}
	text := Error(err)
	if hint := Hint(err); hint != "" {
		text += " · " + hint
	}
	return text
}

// faultNames names the faults as the beginning of a sentence.
var faultNames = map[llm.Fault]string{
	llm.Quota: "Quota exceeded", llm.RateLimit: "Rate limited", llm.Authentication: "Authentication failed", llm.Permission: "Permission denied",
	llm.ModelNotFound: "Model not found", llm.InvalidRequest: "Invalid request", llm.ContextOverflow: "Context window exceeded",
	llm.ContentFilter: "Blocked by the content filter", llm.Network: "Network error", llm.Server: "Server error",
	llm.Unsupported: "Not supported", llm.Mismatch: "Not in the recording", llm.Unknown: "Request failed",
}

// Fault names a fault, such as "Rate limited".
func Fault(f llm.Fault) string { return cmp.Or(faultNames[f], faultNames[llm.Unknown]) }

// Error describes an error with its place and the provider's message, as in "Authentication failed (401, openai):
// invalid key". The text is not sanitized.
func Error(err error) string {
	text := ShellError(err)
	if word, _, _ := strings.Cut(text, " "); strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" { // not the name of a file or a flag
		text = format.Capital(text)
	}
	return text
}

// StoppedText returns the text for an answer that ended early, by the error that ended its turn. Nil means that the
// user stopped it.
func StoppedText(err error) string {
	if errors.Is(err, session.ErrProgramEnded) {
		return Interrupted
	}
	return Stopped
}

// ShellError is Error for use after the program's name: it keeps the error's lower case. Errors of the
// operating system are shown without the names of system calls.
func ShellError(err error) string {
	text := format.ErrorText(err)
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		text = strings.Replace(text, format.ErrorText(e), faultText(e), 1)
	}
	return text
}

// faultText is Error for errors of models.
func faultText(e *llm.Error) string {
	said := e.Message
	if said == "" && e.Err != nil {
		said = e.Err.Error()
	}
	if e.KeyMissing && said != "" {
		return said
	}
	var where []string
	if e.Status != 0 && e.Status != http.StatusOK {
		where = append(where, strconv.Itoa(e.Status))
	}
	if e.Provider != "" {
		where = append(where, e.Provider)
	}
	text := Fault(e.Fault)
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	if said != "" {
		text += ": " + said
	}
	if e.ID != "" {
		text += " [request " + e.ID + "]" // support staff of providers ask for it
	}
	return text
}

// Retry explains why a request is sent again, and counts the attempts or says when a limit resets. Wait is the
// time until then; 0 sends it now.
func Retry(r llm.Retry, wait time.Duration) string {
	if until := r.Until; !until.IsZero() {
		if wait <= 0 {
			return Fault(r.Fault) + " · continuing"
		}
		rest := format.Seconds(wait)
		if wait > 48*time.Hour {
			rest = llm.WaitText(wait)
		}
		return Fault(r.Fault) + " · continues at " + format.Clock(until, until.Add(-wait)) + ", in " + rest
	}
	text := Fault(r.Fault) + " · retrying"
	if wait > 0 {
		text += " in " + format.Seconds(wait)
	}
	if r.Max > 0 {
		return text + fmt.Sprintf(" (%d/%d)", r.Attempt, r.Max)
	}
	return text + fmt.Sprintf(" (attempt %d)", r.Attempt)
}

// Countdown describes what happens after wait: a retry, or the default answer of a question.
func Countdown(e session.Event, wait time.Duration) string {
	switch e := e.(type) {
	case llm.Retry:
		return Retry(e, wait)
	case session.Question:
		return choiceText(e, e.Choices[e.Default]) + " in " + format.Seconds(wait)
	}
	return ""
}

// hints holds the advice for errors that do not come from a model.
var hints = []struct {
	err   error
	hint  string
	shell string // advice outside a chat, where there are no slash commands; "": as hint
	tool  string // advice for a model that called a tool of parley mcp serve; "": as shell
}{
	{err: session.ErrNotAllowed},
	{session.ErrSteps, stepsHint, stepsHint, "Split the task"},
	{session.ErrBudget, "Raise it with /budget, --max-cost or [budget] in config.toml", "Raise it with --max-cost or [budget] in config.toml", "The user can raise it in config.toml, or start parley mcp serve with a higher --max-cost"},
	{session.ErrSchema, "This model does not follow the schema: use another one, or split the task", "", ""},
	{ErrTimeout, "Raise the limit with --timeout", "", ""},
	{err: ErrPipe},
	{err: context.Canceled},
}

const stepsHint = "Raise the limit with --max-turns, or split the task"

// ErrTimeout is the cancellation cause after --timeout.
var ErrTimeout = errors.New("the time limit was reached")

// ErrPipe is the cancellation cause after the reader closed standard output.
var ErrPipe = errors.New("standard output was closed by its reader")

// Changes lists the parts of the conversation that a model will not receive; "" if it receives everything.
func Changes(e session.ModelSwitched) string {
	var words []string
	for _, c := range e.Changes {
		words = append(words, c.String())
	}
	return strings.Join(words, ", ")
}
