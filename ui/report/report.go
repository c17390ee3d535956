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
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
)

// Formats are those of a list: text, one JSON array, and one JSON object per line.
var Formats = []string{"text", "json", "jsonl"}

// FormatFlags adds -o to a command, for one of formats, and --json for jsonl. As is set to text.
func FormatFlags(cmd *cobra.Command, as *string, lines string, formats ...string) {
	*as = formats[0]
	cmd.Flags().Var((*linesFormat)(as), "json", lines)
	cmd.Flags().Lookup("json").NoOptDefVal = "true"
	cmd.Flags().VarP(formatFlag{as, formats}, "output", "o", "output `FORMAT`: "+strings.Join(formats, ", "))
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// A formatFlag is the value of -o.
type formatFlag struct {
	as      *string
	formats []string
}

func (f formatFlag) String() string {
	if f.as == nil {
		return ""
	}
	return *f.as
}

// Set takes the name of a format.
func (f formatFlag) Set(name string) error {
	if !slices.Contains(f.formats, name) {
		return errors.New("use " + strings.Join(f.formats[:len(f.formats)-1], ", ") + " or " + f.formats[len(f.formats)-1])
	}
	*f.as = name
	return nil
}

// Type returns what cobra calls the value.
func (formatFlag) Type() string { return "string" }

// A linesFormat is a format that --json sets to jsonl.
type linesFormat string

func (f *linesFormat) String() string { return strconv.FormatBool(*f == "jsonl") }

// Set takes true or false.
func (f *linesFormat) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		*f = "jsonl"
	}
	return err
}

// Type returns what cobra calls the value.
func (*linesFormat) Type() string { return "bool" }

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

// WriteRows writes values as a JSON array, or for jsonl on a line each, many at once.
func WriteRows[T any](w io.Writer, as string, values []T) error {
	if as == "json" {
		return WriteJSON(w, append([]T{}, values...)) // never null
	}
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
