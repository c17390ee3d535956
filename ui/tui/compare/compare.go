package compare

import (
	"context"
	"iter"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/candidates"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// A comparison sends a prompt to several models and continues with the chosen answer.
type comparison struct {
	*panel.Deps
	chat *chat.Chat
}

// New returns the part of the screen that compares models.
func New(d *panel.Deps, c *chat.Chat) []common.Part { return []common.Part{&comparison{d, c}} }

// Update takes events of the turn, and reports whether msg is one.
func (c *comparison) Update(msg tea.Msg) (tea.Cmd, bool) {
	open, _ := c.Current().(*Dialog)
	switch msg := msg.(type) {
	case session.CandidateEvent:
		if open != nil {
			open.Apply(msg, c.Now())
		}
	case session.Verdict:
		if open != nil {
			open.ShowVerdict(msg)
		}
	default:
		return nil, false
	}
	return nil, true
}

// Compare opens the models for the next prompt. Ask sends it to them, and is nil if it goes to one model.
func (c *comparison) Compare() (ask func(parts []llm.Part) tea.Cmd, err error) {
	p, err := candidates.Open(c.App)
	if p == nil {
		return nil, err
	}
	return func(parts []llm.Part) tea.Cmd { return c.ask(p, parts) }, nil
}

// ask sends a prompt to every compared model.
func (c *comparison) ask(p *candidates.Prompt, parts []llm.Part) tea.Cmd {
	s := c.App.Session
	cmd := c.chat.Play(func(ctx context.Context) iter.Seq[session.Event] { return p.Ask(ctx, s, parts) })
	c.chat.Turn.Model = strings.Join(p.Labels(), " + ")
	d := newDialog(p, c.Theme, c.Config.Motion != "off")
	d.goOn, d.stop = func(n int) tea.Cmd { return c.goOn(d.List, n) }, c.chat.Stop
	return tea.Batch(cmd, c.Open(d))
}

// goOn continues with answer n and its model. If n is negative, it continues with the current
// answer of the conversation.
func (c *comparison) goOn(of candidates.List, n int) tea.Cmd {
	c.Close()
	if n < 0 {
		return c.Perform(of.Leave(c.App))
	}
	cmd := c.Perform(of.Choose(c.App, n))
	c.chat.Transcript.Bottom()
	return cmd
}
