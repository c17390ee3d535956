package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
)

// runRoot opens the screen or prints an answer.
func (a *program) runRoot(cmd *cobra.Command, words []string) (failed error) {
	if err := a.flags.validate(cmd, words, a.Format); err != nil {
		return cmdutil.Usage(err)
	}
	if err := a.load(); err != nil {
		return err
	}
	if err := a.recording.open(&a.flags.wire, a.Note); err != nil {
		return cmdutil.Usage(err)
	}
	defer func() { a.recording.close(failed == nil, a.Note) }()
	parts, err := attachments(a.flags.files, a.Note)
	if err != nil {
		return cmdutil.Usage(err)
	}
	inTerminal, outTerminal := term.IsTerminal(os.Stdin.Fd()), term.IsTerminal(os.Stdout.Fd())
	if err := mistypedCommand(cmd.Root(), words); err != nil && inTerminal && !a.flags.printOnly {
		return cmdutil.Usage(err)
	}
	asked := a.flags.printOnly || a.flags.wire.dryRun || a.flags.codeOnly || a.flags.raw || a.flags.render || a.flags.timeout > 0 || a.flags.promptName != "" || a.flags.schema != nil || a.Format != "text"
	screen := !asked && outTerminal && (inTerminal || a.flags.interactive)
	if a.flags.promptName != "" {
		a.flags.prompt.args, words = strings.Join(words, " "), nil
	}
	prompt := func() ([]llm.Part, error) {
		if inTerminal {
			return append(parts, cmdutil.Prompt(words, nil)...), nil
		}
		stdin, err := cmdutil.ReadStdin(os.Stdin, len(words)+len(parts) > 0 || a.flags.promptName != "", a.Note)
		if err != nil {
			return nil, cmdutil.Usage(err)
		}
		prompt, err := promptWith(words, stdin, a.Note)
		if err != nil {
			return nil, cmdutil.Usage(err)
		}
		return append(parts, prompt...), nil
	}
	if !screen && a.flags.listWords == nil && !a.flags.continueLast && a.flags.resume == "" { // another process may be writing the conversation of -c
		return a.printAnswer(prompt, outTerminal)
	}
	if parts, err = prompt(); err != nil {
		return err
	}
	if screen {
		return a.runScreen(parts, len(words) > 0 || !inTerminal && len(parts) > 0)
	}
	if a.flags.listWords != nil {
		return a.listSessions(cmd.Root(), parts)
	}
	return a.printAnswer(func() ([]llm.Part, error) { return parts, nil }, outTerminal)
}

// listSessions prints the conversations for -r without a value. With a prompt, -r must name one.
func (a *program) listSessions(root *cobra.Command, parts []llm.Part) error {
	list, _, err := root.Find([]string{"sessions", "list"})
	if err != nil || list.RunE == nil || len(parts) > 0 {
		return cmdutil.Usagef("-r: which conversation? Give its ID, the beginning of it, or words of its title: parley sessions list shows them. -c continues the last one of this folder")
	}
	return list.RunE(list, nil)
}

// promptWith returns the prompt from words and standard input. Input that is not text becomes an attachment, as with
// -f; it is an error if no model can read it.
func promptWith(words []string, stdin []byte, note func(string)) ([]llm.Part, error) {
	parts := cmdutil.Prompt(words, stdin)
	for i, p := range parts {
		if p.Kind != llm.Media {
			continue
		}
		item, err := attach.FromBytes(p.Name, p.Data, attachmentLimits)
		if err != nil {
			return nil, err
		}
		if item.Note != "" {
			note(p.Name + ": " + item.Note)
		}
		parts[i] = item.Part
	}
	return parts, nil
}

// attachmentLimits are the limits for -f and standard input.
var attachmentLimits = attach.Limits{Text: 32 << 20}

// attachments reads the files of -f.
func attachments(paths []string, note func(string)) ([]llm.Part, error) {
	var parts []llm.Part
	for _, path := range paths {
		item, err := attachment(path)
		if err != nil {
			var file *fs.PathError
			if errors.As(err, &file) {
				err = file.Err // the path is added below
			}
			if strings.HasPrefix(err.Error(), path+" ") || strings.HasPrefix(err.Error(), strconv.Quote(path)) { // these errors name the path themselves
				return nil, fmt.Errorf("-f: %w", err)
			}
			return nil, fmt.Errorf("-f %s: %w", path, err)
		}
		if item.Note != "" {
			note(path + ": " + item.Note)
		}
		parts = append(parts, item.Part)
	}
	return parts, nil
}

// attachment reads a file or downloads it.
func attachment(path string) (attach.Attachment, error) {
	if !strings.HasPrefix(path, "https://") && !strings.HasPrefix(path, "http://") {
		return attach.FromFile(path, attachmentLimits)
	}
	name, data, err := tools.FetchFile(context.Background(), path)
	if err != nil {
		return attach.Attachment{}, err
	}
	return attach.FromBytes(name, data, attachmentLimits)
}

// printRequest prints the request without sending it.
func (a *program) printRequest(s *session.Session, parts []llm.Part) error {
	text, notices, err := providers.Preview(a.config.Config, cmp.Or(a.flags.settings.model, s.Model().Name), providers.OpenOptions{ExactNames: a.flags.exact}, func(m llm.Endpoint) llm.Request {
		s.SetModel(m)
		_, req := s.Next.Request(parts...)
		return req
	})
	for _, n := range notices {
		if n.Urgent || !a.Quiet {
			cmdutil.Warn(n.Text)
		}
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.Out, sanitize.Text(text)); err != nil {
		return fmt.Errorf("writing the request: %w", err)
	}
	return nil
}

// compared returns the models to ask at once, each as often as -n says. One is the session's model, used if -m names
// fewer than two. A single name means no comparison.
func (f *modelFlags) compared(one string) []string {
	models := f.models
	if len(models) < 2 {
		models = []string{one}
	}
	var names []string
	for _, name := range models {
		names = append(names, slices.Repeat([]string{name}, f.answers)...)
	}
	return names
}
