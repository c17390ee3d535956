package cmdutil

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
)

// Streams holds the output of a command, its format and its verbosity.
type Streams struct {
	Out    io.Writer
	Format string // of the output and of errors, one of [Formats]
	Quiet  bool   // only errors on standard error
}

// QuietFlag adds -q to a command.
func (s *Streams) QuietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.Quiet, "quiet", "q", false, "only errors on standard error")
}

// Note prints text on standard error, unless -q was given.
func (s *Streams) Note(text string) {
	if !s.Quiet {
		Warn(text)
	}
}

// Warn prints text on standard error.
func Warn(text string) { fmt.Fprintln(os.Stderr, "parley: "+sanitize.Text(text)) }

// AskLine asks for a line on the terminal.
func AskLine(prompt string) (string, error) {
	fmt.Fprint(os.Stderr, prompt)
	line, err := bufio.NewReader(io.LimitReader(os.Stdin, 4<<10)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// Confirm asks a question on the terminal, and reports whether the answer is yes.
func Confirm(question string) (yes bool, err error) {
	line, err := AskLine(question + " [y/N] ")
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), err
}
