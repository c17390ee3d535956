package cmdutil

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// Formats lists the output formats.
var Formats = []string{"text", "json", "jsonl"}

// Failure reports an error from before the turn: to out in the given format, and to stderr as text. Status is the exit
// status to report.
func Failure(out, stderr io.Writer, format string, err error, status int) {
	hint := wording.ShellHint(err)
	switch format {
	case "jsonl":
		failureObject(err, status).Write(out)
		Object{"type", "done", "finish_reason", "error", "exit", status}.Write(out)
	case "json":
		Object{"error", failureObject(err, status)[2:], "finish_reason", "error", "exit", status}.Write(out)
	}
	text := regexp.MustCompile(`\n(\S)`).ReplaceAllString(sanitize.Text(wording.ShellError(err)), "\nparley: $1") // prefix each of several errors
	text = strings.ReplaceAll(text, "\nparley: usage: ", "\nusage: ")
	fmt.Fprintf(stderr, "parley: %s\n", text)
	if hint != "" {
		fmt.Fprintf(stderr, "  %s\n", sanitize.Text(hint))
	}
}

// failureObject returns an error from before the turn. If it did not come from a provider, status gives its category.
func failureObject(err error, status int) Object {
	o := ErrorObject(err)
	if category(err) != string(llm.Unknown) {
		return o
	}
	switch status {
	case exit.Usage:
		o[3] = "input"
	case exit.Config:
		o[3] = "config"
	}
	return o
}

// category returns the name of err for scripts; these names are stable.
func category(err error) string {
	switch {
	case errors.Is(err, session.ErrSteps):
		return "turn_limit"
	case errors.Is(err, session.ErrBudget):
		return "budget"
	case errors.Is(err, session.ErrSchema):
		return "schema"
	case errors.Is(err, wording.ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return string(llm.FaultOf(err))
}

// ErrorObject returns an error in the form for scripts.
func ErrorObject(err error) Object { return PrintOptions{}.ErrorObject(err) }

// ErrorObject returns an error in the form for scripts.
func (p PrintOptions) ErrorObject(err error) Object {
	o := Object{"type", "error", "category", category(err), "message", format.ErrorText(err), "hint", wording.HintFor(cmp.Or(p.Audience, llm.InShell), err)}
	if wait := llm.WaitOf(err); wait > 0 {
		o = append(o, "retry_after_ms", (wait + time.Millisecond - 1).Milliseconds())
	}
	return o
}

// An Object is a JSON object: alternating names and values, in the order in which they are written.
type Object []any

// MarshalJSON returns o as JSON, escaped by [sanitize.JSON].
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(o); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", o[i])
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(o[i+1]); err != nil {
			fmt.Fprintf(&b, "%q", err.Error())
			continue
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
	b.WriteByte('}')
	return sanitize.JSON(b.Bytes()), nil
}

// Write writes o as a line.
func (o Object) Write(w io.Writer) error {
	line, _ := o.MarshalJSON() // never fails
	_, err := w.Write(append(line, '\n'))
	return err
}
