package tui

import (
	"context"
	"iter"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/tui/chat"
	"parley/ui/tui/compare"
	"parley/ui/tui/features"
)

// comparison sends a prompt to several models, and goes on with the answer that is chosen.
type comparison struct {
	*features.Deps
	chat *chat.Chat
}

// Update takes what the user wants of the answers, and reports whether msg is that.
func (c *comparison) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case compare.ChosenMsg:
		return c.goOn(msg), true
	case compare.StopMsg:
		return c.chat.Stop(), true
	}
	return nil, false
}

// ask sends a prompt to every model that is compared.
func (c *comparison) ask(p *app.ComparedPrompt, parts []llm.Part) tea.Cmd {
	s := c.App.Session
	cmd := c.chat.Play(func(ctx context.Context) iter.Seq[session.Event] { return p.Ask(ctx, s, parts) })
	c.chat.Turn.Model = strings.Join(p.Labels(), " + ")
	return tea.Batch(cmd, c.Open(compare.New(p, c.Theme, c.Config.Motion != "off", chat.DrawText)))
}

// goOn continues with an answer, and with the model that gave it.
func (c *comparison) goOn(msg compare.ChosenMsg) tea.Cmd {
	c.Close()
	if msg.N < 0 {
		return c.Perform(msg.Comparison.Leave(c.App))
	}
	cmd := c.Perform(msg.Comparison.Choose(c.App, msg.N))
	c.chat.Transcript.Bottom()
	return cmd
}
