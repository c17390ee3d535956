package tui

import (
	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
)

// A greeter draws the screen before there is a conversation.
type greeter interface {
	View(width, height int) string
	// Key handles a key on an empty line, and reports whether it had an effect. Any other key ends the
	// selection of a row.
	Key(key string) (tea.Cmd, bool)
}

// A comparer sends a prompt to several models, and lets the user choose an answer.
type comparer interface {
	// Compare opens the models for the next prompt. Ask is nil if it goes to one model.
	Compare() (ask func(parts []llm.Part) tea.Cmd, err error)
}

// A column is text beside the conversation on wide screens.
type column interface {
	Width(screen int) int // cells that it takes from a screen of this width; 0 if it is not shown
	Lines(height int) []string
}

// A pane is text above the input, which stays while other views are open.
type pane interface {
	Rows(width, most int) []string // nil if it is closed
	Key(key string) func() tea.Cmd // returns the effect of a key on an empty line; nil if it is none of its own
}

// An arguer returns the possible arguments of a command; nil for a command that is not its own.
type arguer interface {
	Args(command string) []dialog.Item
}

// parts holds the parts of the screen, in the order in which they get messages.
type parts []common.Part

// find returns the first part of type T; nil if there is none.
func find[T any](all parts) (found T) {
	for _, p := range all {
		if is, ok := p.(T); ok {
			return is
		}
	}
	return found
}

// broadcast passes a message to all parts.
func (all parts) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range all {
		cmd, _ := p.Update(msg)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// offer passes a message to the parts up to the first that handles it, and reports whether one does.
func (all parts) offer(msg tea.Msg) (cmd tea.Cmd, ok bool) {
	for i := 0; i < len(all) && !ok; i++ {
		var next tea.Cmd
		next, ok = all[i].Update(msg)
		cmd = tea.Batch(cmd, next)
	}
	return cmd, ok
}
