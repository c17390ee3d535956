package app

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

// Hint says in the chat what a user can do about the error that ended a turn.
func Hint(err error) string { return hintFor(llm.InChat, err) }

// ShellHint is Hint for users who have no chat before them.
func ShellHint(err error) string { return hintFor(llm.InShell, err) }

func hintFor(a llm.Audience, err error) string {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			if a == llm.InShell && h.shell != "" {
				return h.shell
			}
			return h.hint
		}
	}
	return a.Hint(err)
}

// RefusalText says in the chat why a command did nothing and, where a model's service is the
// reason, what a user can do about it.
func RefusalText(err error) string {
	if !errors.As(err, new(*llm.Error)) {
		return format.ErrorText(err)
	}
	text := ErrorText(err)
	if hint := Hint(err); hint != "" {
		text += " · " + hint
	}
	return text
}

// faultNames says what failed, as the beginning of a sentence.
var faultNames = map[llm.Fault]string{
	llm.Quota: "Quota exceeded", llm.RateLimit: "Rate limited", llm.Authentication: "Authentication failed", llm.Permission: "Permission denied",
	llm.ModelNotFound: "Model not found", llm.InvalidRequest: "Invalid request", llm.ContextOverflow: "Context window exceeded",
	llm.ContentFilter: "Blocked by the content filter", llm.Network: "Network error", llm.Server: "Server error",
	llm.Unsupported: "Not supported", llm.Mismatch: "Not in the recording", llm.Unknown: "Request failed",
}

// FaultName says what failed, such as "Rate limited".
func FaultName(f llm.Fault) string { return cmp.Or(faultNames[f], faultNames[llm.Unknown]) }

// ErrorText says what failed, where, and the provider's words, as in "Authentication failed
// (401, openai): invalid key". It is not sanitized.
func ErrorText(err error) string {
	text := ShellErrorText(err)
	if word, _, _ := strings.Cut(text, " "); strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" { // no name of a file or a flag
		text = format.Capital(text)
	}
	return text
}

// StoppedText says that an answer was stopped, or that the program ended, by the error that ended its
// turn; nil is taken for the user's own.
func StoppedText(err error) string {
	if errors.Is(err, session.ErrProgramEnded) {
		return Interrupted
	}
	return Stopped
}

// ShellErrorText is ErrorText for use after the name of the program: without a capital that the
// error does not have. Words of the system are without the names of calls.
func ShellErrorText(err error) string {
	text := format.ErrorText(err)
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		text = strings.Replace(text, format.ErrorText(e), faultText(e), 1)
	}
	return text
}

// faultText is ErrorText of a model's error.
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
	text := FaultName(e.Fault)
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	if said != "" {
		text += ": " + said
	}
	if e.ID != "" {
		text += " [request " + e.ID + "]" // asked for by a provider's support
	}
	return text
}

// RetryText says why a request is sent again, and in how many attempts it is; wait is until
// then, 0 if it is sent now.
func RetryText(r llm.Retry, wait time.Duration) string {
	text := FaultName(r.Fault) + " · retrying"
	if wait > 0 {
		text += " in " + format.Seconds(wait)
	}
	if r.Max > 0 {
		return text + fmt.Sprintf(" (%d/%d)", r.Attempt, r.Max)
	}
	return text + fmt.Sprintf(" (attempt %d)", r.Attempt)
}

// CountdownText says what happens after wait: a retry, or what a question comes to by itself.
func CountdownText(e session.Event, wait time.Duration) string {
	switch e := e.(type) {
	case llm.Retry:
		return RetryText(e, wait)
	case session.Question:
		return choiceText(e, e.Choices[e.Default]) + " in " + format.Seconds(wait)
	}
	return ""
}

// hints holds the advice for errors that are not a model's.
var hints = []struct {
	err   error
	hint  string
	shell string // where there are no slash commands; "": as hint
}{
	{session.ErrNotAllowed, "", ""},
	{session.ErrSteps, "Raise the limit with --max-turns, or split the task", ""},
	{session.ErrBudget, "Raise it with /budget, --max-cost or [budget] in config.toml", "Raise it with --max-cost or [budget] in config.toml"},
	{session.ErrSchema, "This model does not follow the schema: use another one, or split the task", ""},
	{ErrTimeout, "Raise the limit with --timeout", ""},
	{ErrPipe, "", ""},
	{context.Canceled, "", ""},
}

// ErrTimeout is the cause of a cancel by --timeout.
var ErrTimeout = errors.New("the time limit was reached")

// ErrPipe is the cause of a cancel because nobody reads standard output.
var ErrPipe = errors.New("standard output was closed by its reader")

// A UsageError marks an error as one of what was typed.
type UsageError struct{ Err error }

func (m UsageError) Error() string { return m.Err.Error() }

func (m UsageError) Unwrap() error { return m.Err }

// FallbackText says that another model answers, and why.
func FallbackText(e session.Fallback) string {
	reason := FaultName(e.Fault)
	if !e.Until.IsZero() {
		reason += ", paused until " + e.Until.Local().Format("15:04")
	}
	return fmt.Sprintf("%s: %s · continuing with %s", e.From, reason, e.To)
}

// SwitchText says that another model answers from here on, and what it cannot be told.
func SwitchText(e session.ModelSwitched) string {
	text := fmt.Sprintf("Model: %s → %s", e.From, e.To)
	if changes := ChangesText(e); changes != "" {
		text += " · " + changes
	}
	return text
}

// ChangesText says what a model cannot be told; "" if there is nothing.
func ChangesText(e session.ModelSwitched) string {
	var words []string
	for _, c := range e.Changes {
		words = append(words, c.String())
	}
	return strings.Join(words, ", ")
}
