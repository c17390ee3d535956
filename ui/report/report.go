// Package report writes what parley's commands list and sum up: stored conversations, usage,
// comparisons, models, prices that changed, and checkups.
//
//	session.Store ──► SessionCommands ──┐
//	rows of ui/cli ──► Models, Facts ───┴──► text | csv | JSON, one object per line ──► stdout
//
// Text from outside is made printable on the way. A list that could be read in part only is
// written as far as it goes, with a note.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
)

// LinesFlags adds --json, and -o jsonl for the same, to a command that lists things as text or as one
// JSON object per line.
func LinesFlags(cmd *cobra.Command, lines *bool, usage string) {
	cmd.Flags().BoolVar(lines, "json", false, usage)
	cmd.Flags().VarP((*linesFormat)(lines), "output", "o", "output `FORMAT`: text, jsonl")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
}

// A linesFormat is the format of a list, true for JSON lines.
type linesFormat bool

// String returns the name of the format.
func (f *linesFormat) String() string {
	if *f {
		return "jsonl"
	}
	return "text"
}

// Set takes the name of a format.
func (f *linesFormat) Set(name string) error {
	if name != "text" && name != "jsonl" {
		return errors.New("use text or jsonl")
	}
	*f = name == "jsonl"
	return nil
}

// Type returns what cobra calls the value.
func (*linesFormat) Type() string { return "string" }

// WriteJSON writes v on a line of its own.
func WriteJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(sanitize.JSON(line), '\n'))
	return err
}

// bufferSize is how many bytes of a list are written at once.
const bufferSize = 32 << 10

// writeJSONLines writes each of values as WriteJSON does, many at once.
func writeJSONLines[T any](w io.Writer, values []T) error {
	out := bufio.NewWriterSize(w, bufferSize)
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	for i := range values {
		line.Reset()
		if err := encoder.Encode(&values[i]); err != nil {
			_ = out.Flush()
			return err
		}
		if _, err := out.Write(sanitize.JSON(line.Bytes())); err != nil {
			return err
		}
	}
	return out.Flush()
}
