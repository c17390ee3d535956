package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"parley/providers"
	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/flows"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
	"parley/ui/theme"
)

// withTimeout returns ctx with the user's time limit; 0 is no limit.
func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: %s", wording.ErrTimeout, limit))
}

// printAnswer prints the answer to a prompt. It connects to the model before it reads the prompt.
func (a *program) printAnswer(prompt func() ([]llm.Part, error), outTerminal bool) error {
	s, notice, err := a.openSession(false)
	defer a.closeLibrary()
	if err != nil {
		return cmdutil.Config(err)
	}
	offerUnattended(a)
	defer a.finishing.Wait()
	defer closeSession(s, cmdutil.Warn) // also with -q: lost messages are important
	if len(a.flags.models) < 2 {
		s.Connect()
	}
	parts, err := prompt()
	switch {
	case err != nil:
		return err
	case len(parts) == 0 && a.flags.promptName == "":
		return cmdutil.Usagef("no prompt: give one as an argument or on standard input")
	}
	if parts, err = (promptFiles{a}).parts(parts, len(a.flags.compared("")) > 1); err != nil {
		return cmdutil.Usage(err)
	}
	if a.flags.wire.dryRun {
		return a.printRequest(s, parts)
	}
	switch isDemo := notice != "" && providers.IsDemo(a.config.Config, s.Model().Name); {
	case isDemo && a.flags.schema != nil: // the demo's made-up output would pass for a real answer
		return cmdutil.Config(&llm.Error{Fault: llm.Authentication, KeyMissing: true, Message: "no API key found, and the built-in demo only makes up what --schema asks for"})
	case isDemo:
		cmdutil.Warn(notice) // also with -q: a script must not take the demo for a model
	case notice != "":
		a.Note(notice)
	}
	if err := a.startMCPServers(); err != nil {
		return cmdutil.Config(err)
	}
	defer reportSandbox(a.toolSet)
	defer a.mcp.stop()
	defer endJobs(a.toolSet.Jobs(), a.Note)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	exit.CancelOnSignals(cancel)
	ctx, stop := withTimeout(ctx, a.flags.timeout)
	defer stop()
	a.mcp.wait(ctx, a.toolSet, a.Note)
	if model := s.Model(); a.Quiet && slices.ContainsFunc(parts, func(p llm.Part) bool { return app.LacksVision(model, p) }) {
		cmdutil.Warn(model.Name + " does not support images: the image is not sent") // also with -q, which hides the notice: only part of the prompt is answered
	}
	o := a.printOptions(outTerminal, llm.Message{Parts: parts}.Text())
	if o.Session = a.flags.aside; o.Session != "" {
		return cmdutil.Exit(a.print(s, askAside(ctx, a, s, parts), cancel, o))
	}
	names := a.flags.compared(s.Model().Name)
	if len(names) < 2 {
		return cmdutil.Exit(a.print(s, withSwitch(s, endBefore(a, s, a.flags.prompt.turn(ctx, s, parts))), cancel, o))
	}
	o.Compared = names
	models, err := a.openCompared(s, names)
	if err != nil {
		return cmdutil.Config(err)
	}
	if notice := requestsNotice(models, a.flags.answers); notice != "" {
		a.Note(notice)
	}
	var judge *llm.Endpoint
	if a.flags.judge != "" {
		model, err := a.openModel(a.flags.judge, true)
		if err != nil {
			return cmdutil.Config(err)
		}
		judge = &model
	}
	return cmdutil.Exit(a.print(s, s.Compare(ctx, models, judge, parts...), cancel, o))
}

// offerUnattended offers the tools of flows that ask the user nothing.
func offerUnattended(a *program) {
	set := func(tool string) act.Set {
		if tool != act.ConsultTool && tool != act.ExploreTool {
			return nil
		}
		return a.setFor(tool)
	}
	flows.Register(&app.App{Options: app.Options{Models: app.Models{Consult: &a.config.Consult}, Machine: app.Machine{ToolSet: set}}})
}

// printText writes the answers of a turn as they are stored. It is used if no front end for pipes is set.
func printText(_ *session.Session, turn iter.Seq[session.Event], _ context.CancelCauseFunc, o cmdutil.PrintOptions) (status int) {
	for e := range turn {
		switch e := e.(type) {
		case session.Response:
			fmt.Fprintln(o.Out, sanitize.Text(e.Message.Text()))
		case session.ApprovalRequest:
			e.Reply(act.Approval{Verdict: act.Deny})
		case session.Done:
			status = exit.Of(e.Err)
		}
	}
	return status
}

// endBefore returns the events of a turn. Before Done it ends the background commands, so that Done reports what the
// sandbox undid of their changes.
func endBefore(a *program, s *session.Session, turn iter.Seq[session.Event]) iter.Seq[session.Event] {
	return func(yield func(session.Event) bool) {
		for e := range turn {
			if done, ok := e.(session.Done); ok {
				var limit *llm.Error
				if errors.As(done.Err, &limit) {
					limit.Allowed = a.flags.wait
				}
				endJobs(a.toolSet.Jobs(), a.Note)
				a.mcp.stop()
				if e, ok := s.TakeSandbox(); ok {
					s.Annotate(0, e)
					if !yield(e) {
						return
					}
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// reportSandbox prints sandbox notices that no conversation has received to standard error.
func reportSandbox(set *tools.Set) {
	if text := set.TakeSandboxNotices(); text != "" {
		cmdutil.Warn(text)
	}
}

// withSwitch returns a turn that begins with the model switch, if there was one.
func withSwitch(s *session.Session, turn iter.Seq[session.Event]) iter.Seq[session.Event] {
	return func(yield func(session.Event) bool) {
		if e, ok := s.Next.Switched(); ok && !yield(e) {
			return
		}
		turn(yield)
	}
}

// endJobs ends the background commands of the run and names them.
func endJobs(jobs *tools.Jobs, note func(string)) {
	for _, j := range jobs.Close() {
		note(fmt.Sprintf("ended with the run: job %d: %s", j.N, sanitize.Line(format.FirstLine(j.Command))))
	}
}

// printManual prints a page of the manual.
func (a *program) printManual(text string) error {
	o := a.printOptions(term.IsTerminal(os.Stdout.Fd()), "")
	if o.Render && a.printPage != nil {
		return a.printPage(text, o)
	}
	_, err := io.WriteString(o.Out, text)
	return err
}

// printOptions returns the options for printing an answer to prompt.
func (a *program) printOptions(outTerminal bool, prompt string) cmdutil.PrintOptions {
	render := (a.flags.render || outTerminal) && !a.flags.raw && !a.flags.codeOnly && a.flags.schema == nil && a.Format == "text"
	out, styled := a.Out, cmdutil.Styled(a.Out)
	if render {
		out = styled
	}
	return cmdutil.PrintOptions{
		Format: a.Format, Out: out, Quiet: a.Quiet, Code: a.flags.codeOnly, Raw: a.flags.raw, Schema: a.flags.schema != nil,
		Thinking: a.flags.thinking, Answers: a.flags.answers,
		Err:    colorprofile.NewWriter(os.Stderr, os.Environ()), // removes styles that the terminal does not support
		Render: render, Width: cmdutil.OutputWidth(), Theme: theme.Terminal(), Markdown: cmdutil.MarkdownTheme(styled),
		Save: func(p llm.Part) (string, error) {
			path, note, err := ability.SaveFile("", attach.SlugFileName(prompt, "image", p.MIME), p.Data)
			if note != "" {
				cmdutil.Warn(note)
			}
			return path, err
		},
		Demo: func(model string) bool { return providers.IsDemo(a.config.Config, model) },
	}
}

// openCompared opens the models of names. Repetitions from -n are adjacent and opened once.
func (a *program) openCompared(s *session.Session, names []string) (models []llm.Endpoint, err error) {
	for i, name := range names {
		if i%a.flags.answers > 0 {
			models = append(models, models[i-1]) // its notices are shown once
			continue
		}
		model := s.Model()
		if len(a.flags.models) > 1 {
			if model, err = a.openModel(name, true); err != nil {
				return nil, err
			}
		}
		models = append(models, model)
	}
	return models, nil
}

// requestsNotice says how many requests the answers take; "" if each model answers once. Models holds each model as
// often as it answers.
func requestsNotice(models []llm.Endpoint, answers int) string {
	requests := 0
	for i, model := range models {
		if !model.Candidates || i%answers == 0 {
			requests++
		}
	}
	switch {
	case answers < 2 || requests == 0:
		return ""
	case requests == len(models)/answers:
		return fmt.Sprintf("%d answers of one model are one request; usage is shown once", answers)
	}
	return fmt.Sprintf("%d answers are %d requests; each pays for the prompt", len(models), requests)
}
