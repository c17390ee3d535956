package cmdutil

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"parley/tools/sanitize"
	"parley/ui/app"
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

// Perform performs what a command of the chat returns: it prints notes, and ends with the first failure.
func (s *Streams) Perform(result app.Effect) error {
	switch e := result.(type) {
	case app.Then:
		for _, one := range e {
			if err := s.Perform(one); err != nil {
				return err
			}
		}
	case app.Prepare:
		return s.Perform(e(context.Background())())
	case app.Toast:
		s.Note(string(e))
	case app.Failure:
		return Config(e.Err)
	}
	return nil
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
