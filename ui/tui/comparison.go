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
	"parley/ui/tui/input"
)

// comparison sends a prompt to several models, and goes on with the answer that is chosen.
type comparison struct {
	*features.Front
	chat     *chat.Chat
	input    *input.Input
	models   *features.Models
	branches *branches
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

// with makes the next prompt go to several models, or to one again.
func (c *comparison) with(arg string) tea.Cmd {
	names, own := strings.Fields(arg), c.App.Session.Model().Name
	switch {
	case len(names) == 0 && len(c.input.Compare) > 0:
		c.input.Compare = nil
		return c.Say("Compare off")
	case len(names) == 0:
		return c.models.Offer("Compare "+own+" with", "", func(name string) tea.Cmd { return c.with(name) })
	case len(names) == 1:
		names = []string{own, names[0]}
	}
	for _, name := range names {
		if _, err := c.App.Open(name); err != nil {
			return c.Say(err.Error())
		}
	}
	c.input.Compare = names
	return c.Say("Next prompt goes to " + strings.Join(app.CandidateLabels(names), " and ") + " · " + c.KeyOf("compare") + " turns it off")
}

// opened opens the models that the next prompt goes to; none: that of the conversation
// alone. An error leaves that one.
func (c *comparison) opened() ([]llm.Endpoint, error) {
	var models []llm.Endpoint
	for _, name := range c.input.Compare {
		model, err := c.App.Open(name)
		if err != nil {
			c.input.Compare = nil
			return nil, err
		}
		models = append(models, model)
	}
	return models, nil
}

// ask sends a prompt to every model that is compared.
func (c *comparison) ask(models []llm.Endpoint, parts []llm.Part) tea.Cmd {
	names := c.input.Compare
	c.input.Compare = nil
	s := c.App.Session
	cmd := c.chat.Play(func(ctx context.Context) iter.Seq[session.Event] { return s.Compare(ctx, models, parts...) })
	c.chat.Turn.Model = strings.Join(names, " + ")
	return tea.Batch(cmd, c.Open(compare.New(names, c.Theme, c.Config.Motion != "off", chat.DrawText)))
}

// goOn continues with an answer, and with the model that gave it.
func (c *comparison) goOn(msg compare.ChosenMsg) tea.Cmd {
	c.Close()
	switch {
	case msg.Seq > 0:
	case msg.Name == "":
		c.chat.Replay()
		return nil
	default:
		c.chat.Replay()
		return c.Say(msg.Label + ": no answer")
	}
	cmd := c.branches.switchTo(msg.Seq)
	if msg.Name != c.App.Session.Model().Name {
		cmd = tea.Batch(cmd, c.Perform(c.App.Use(msg.Name)))
	}
	c.chat.Transcript.Bottom()
	return tea.Batch(cmd, c.Say("Continuing with "+msg.Label+" · other answers: "+c.KeyOf("tree")))
}
