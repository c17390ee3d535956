package cmdutil

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
)

// OutputFlag adds -o to a command, for one of formats, those of [Formats] if there are none.
// The first is the default.
func OutputFlag(cmd *cobra.Command, format *string, formats ...string) {
	if len(formats) == 0 {
		formats = Formats
	}
	*format = formats[0]
	ChoiceFlag(cmd, format, "output", "o", "output `FORMAT`: "+strings.Join(formats, ", "), formats)
}

// FormatFlags adds -o to a command, with formats as its values, and --json for jsonl. Lines is the usage text of
// --json.
func FormatFlags(cmd *cobra.Command, format *string, lines string, formats ...string) {
	OutputFlag(cmd, format, formats...)
	cmd.Flags().Var((*linesFormat)(format), "json", lines)
	cmd.Flags().Lookup("json").NoOptDefVal = "true"
}

// ChoiceFlag adds a flag that takes one of words, which shells complete.
func ChoiceFlag(cmd *cobra.Command, value *string, name, short, usage string, words []string) {
	cmd.Flags().VarP(choice{value, words}, name, short, usage)
	cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Complete returns a completion function that offers the words of list.
func Complete(list func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list(), cobra.ShellCompDirectiveNoFileComp
	}
}

// A choice is the value of a flag that takes one of some words.
type choice struct {
	value *string
	words []string
}

// A ChoiceError lists the words that a flag takes, as in "use one of low, high".
type ChoiceError string

func (e ChoiceError) Error() string { return string(e) }

func (c choice) String() string { return *c.value }

// Set implements pflag.Value.
func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return ChoiceError("use one of " + strings.Join(c.words, ", "))
	}
	*c.value = word
	return nil
}

// Type implements pflag.Value.
func (choice) Type() string { return "string" }

// A linesFormat is an output format that --json sets to jsonl.
type linesFormat string

func (f *linesFormat) String() string { return strconv.FormatBool(*f == "jsonl") }

// Set implements pflag.Value for a boolean flag.
func (f *linesFormat) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		*f = "jsonl"
	}
	return err
}

// Type implements pflag.Value.
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

// bufferSize is the size, in bytes, of the write buffer for lists.
const bufferSize = 32 << 10

// WriteRows writes values as a JSON array or, for jsonl, one per line. Writes are buffered.
func WriteRows[T any](w io.Writer, as string, values []T) error {
	if as == "json" {
		return WriteJSON(w, append([]T{}, values...)) // an empty array instead of null
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
