package print

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
)

// Formats lists the values of Options.Format.
var Formats = []string{"text", "json", "jsonl"}

// Failure writes an error from before the turn, in the format that the reader of out expects, and as
// text to stderr. Status is the exit status to report.
func Failure(out, stderr io.Writer, format string, err error, status int) {
	hint := app.ShellHint(err)
	switch format {
	case "jsonl":
		write(out, failureObject(err, status))
		write(out, object{{"type", "done"}, {"finish_reason", "error"}, {"exit", status}})
	case "json":
		write(out, object{{"error", json.RawMessage(encode(failureObject(err, status)[1:]))}, {"finish_reason", "error"}, {"exit", status}})
	}
	text := regexp.MustCompile(`\n(\S)`).ReplaceAllString(sanitize.Text(app.ShellErrorText(err)), "\nparley: $1") // of several errors each
	text = strings.ReplaceAll(text, "\nparley: usage: ", "\nusage: ")
	fmt.Fprintf(stderr, "parley: %s\n", text)
	if hint != "" {
		fmt.Fprintf(stderr, "  %s\n", sanitize.Text(hint))
	}
}

// failureObject returns an error from before the turn: the status says what an error that is no
// provider's is about.
func failureObject(err error, status int) object {
	o := errorObject(err)
	if category(err) != string(llm.Unknown) {
		return o
	}
	switch status {
	case Usage:
		o[1].value = "input"
	case Config:
		o[1].value = "config"
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
	case errors.Is(err, app.ErrTimeout):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return string(llm.FaultOf(err))
}
