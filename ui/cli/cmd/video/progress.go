package video

import (
	"fmt"
	"os"

	"github.com/charmbracelet/x/term"

	"parley/providers/llm/works"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/cli/ability"
)

// A progress shows the progress of a job on standard error: on a terminal in one line that counts the seconds,
// elsewhere with a line for each new state.
type progress struct {
	name  string
	quiet bool
	file  string // saved file; "" for none yet

	line *ability.Progress // nil without a terminal, or if lines must stay
	text string
}

func newProgress(c *Options, v session.Video) *progress {
	p := &progress{name: sanitize.Line(v.Name()), quiet: c.Quiet}
	if !c.Quiet && term.IsTerminal(os.Stderr.Fd()) && !c.Plain {
		p.line = ability.NewProgress(os.Stderr, v.Created, func(elapsed, text string) string { return elapsed + " · " + text + " · " + p.name })
	}
	return p
}

// show shows the result of a poll, or the error after which it will be repeated.
func (p *progress) show(j works.Job, err error) {
	text := string(j.State)
	if j.RawState != "" && j.State == works.JobRunning {
		text = sanitize.Line(j.RawState)
	}
	if j.Progress > 0 && !j.State.Over() {
		text += fmt.Sprintf(" %d%%", j.Progress)
	}
	if err != nil {
		text = "asking again: " + sanitize.Line(wording.ShellError(err))
	}
	p.say(text)
}

// say shows a text.
func (p *progress) say(text string) {
	changed := text != p.text
	p.text = text
	switch {
	case p.line != nil:
		p.line.Show(text)
	case changed && !p.quiet:
		fmt.Fprintf(os.Stderr, "parley: %s: %s\n", p.name, text)
	}
}

// stop removes the line.
func (p *progress) stop() { p.line.Stop() }
