package compare

import (
	"context"
	"iter"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
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

// Update takes events of the turn, and what the user wants of the answers; it reports whether msg is that.
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
	case chosenMsg:
		return c.goOn(msg), true
	case stopMsg:
		return c.chat.Stop(), true
	default:
		return nil, false
	}
	return nil, true
}

// Ask sends a prompt to every model that is compared.
func (c *comparison) Ask(p *app.ComparedPrompt, parts []llm.Part) tea.Cmd {
	s := c.App.Session
	cmd := c.chat.Play(func(ctx context.Context) iter.Seq[session.Event] { return p.Ask(ctx, s, parts) })
	c.chat.Turn.Model = strings.Join(p.Labels(), " + ")
	d := newDialog(p, c.Theme, c.Config.Motion != "off")
	d.goOn = c.goOn
	return tea.Batch(cmd, c.Open(d))
}

// goOn continues with an answer, and with the model that gave it.
func (c *comparison) goOn(msg chosenMsg) tea.Cmd {
	c.Close()
	if msg.n < 0 {
		return c.Perform(msg.Leave(c.App))
	}
	cmd := c.Perform(msg.Choose(c.App, msg.n))
	c.chat.Transcript.Bottom()
	return cmd
}
