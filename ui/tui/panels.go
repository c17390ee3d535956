package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/exchange"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/compare"
	"parley/ui/tui/dialog"
	"parley/ui/tui/features"
	"parley/ui/tui/inspector"
	"parley/ui/tui/panel"
)

// panels returns the views with a life of their own. The screen works without any of them.
func panels(d *panel.Deps, c *chat.Chat) []common.Part {
	return slices.Concat(
		inspector.New(d.Screen, d.Host, wire{app: d.App}),
		features.New(d),
		compare.New(d, c),
	)
}

// A greeter draws the screen before there is a conversation.
type greeter interface {
	View(width, height int) string
	// Key handles a key on an empty line, and reports whether it was used up. Any key but its own ends
	// the selection of a row.
	Key(key string) (tea.Cmd, bool)
}

// A comparer sends a prompt to several models, and lets the user choose an answer.
type comparer interface {
	Ask(p *app.ComparedPrompt, parts []llm.Part) tea.Cmd
}

// An arguer knows what may follow a command; nil for a command that is not its own.
type arguer interface {
	Args(command string) []dialog.Item
}

// parts are what the screen is made of, in the order in which they get messages.
type parts []common.Part

// find returns the first part that is a T; nil if none is.
func find[T any](all parts) (found T) {
	for _, p := range all {
		if is, ok := p.(T); ok {
			return is
		}
	}
	return found
}

// broadcast gives a message to all parts.
func (all parts) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range all {
		cmd, _ := p.Update(msg)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// offer gives a message to the first part that knows it, and reports whether one does.
func (all parts) offer(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	for _, p := range all {
		if cmd, ok = p.Update(msg); ok {
			break
		}
	}
	return cmd, ok
}

// wire is what the inspector shows.
type wire struct{ app *app.App }

func (w wire) List() []exchange.Exchange            { return w.app.Wire.List() }
func (w wire) Get(id int) (exchange.Exchange, bool) { return w.app.Wire.Get(id) }
func (w wire) OfTurn(user int) []int                { return app.ExchangesOf(w.app, user) }

// Save returns a function for another goroutine that writes an exchange to a file, and says so.
func (w wire) Save(e exchange.Exchange) func() string {
	o := w.app.Options
	return func() string {
		path, err := o.SaveExchange(e, "")
		if err != nil {
			return app.RefusalText(err)
		}
		return "Wrote " + o.AbbrevPath(path)
	}
}
