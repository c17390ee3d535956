package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/renderer"
	"parley/ui/tui/transcript"
)

// fromTerminal takes what the terminal and its clock say, and reports whether msg is that.
func (m *Model) fromTerminal(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.layout()
		return m.paintSoon(), true
	case tea.BackgroundColorMsg:
		if m.config.Theme == "auto" && !m.theme.Plain {
			m.setTheme(theme.For(msg.Color))
		}
		return nil, true
	case signalMsg:
		return m.quit(), true
	case renderer.SuspendUnavailableMsg:
		return m.say("there is no shell to go back to"), true
	case tickMsg:
		return m.ticked(msg), true
	case toastOverMsg:
		return nil, true // the frame is drawn anew without it
	case tea.BlurMsg:
		m.away = true
		return nil, true
	case tea.FocusMsg:
		m.away = false
		return nil, true
	case writeMsg:
		return write(msg), true
	case tea.ClipboardMsg:
		m.clip.Answered(msg.Content)
		return nil, true
	case paintedMsg:
		return m.painted(), true
	}
	return nil, false
}

// fromBeside takes what came of what ran beside the screen, and reports whether msg is that.
func (m *Model) fromBeside(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case newsMsg:
		return m.news(msg), true
	case shellMsg:
		return m.shellSays(msg), true
	case editedMsg:
		return m.edited(msg), true
	case effectMsg:
		return m.perform(app.Effect(msg)), true
	case trustedMsg:
		return m.trusted(msg), true
	case serverMsg:
		return m.perform(m.app.ServerChanged(string(msg))), true
	case savedMsg:
		return m.saved(msg.err), true
	case pastMsg:
		return m.past(msg), true
	case picturedMsg:
		return m.pictured(msg), true
	case keepMsg:
		return m.keepDraft(), true
	case weighedMsg:
		return m.weigh(msg), true
	case expandedMsg:
		return m.expanded(msg), true
	case copiedMsg:
		return m.copied(msg), true
	}
	return nil, false
}

// fromDialog takes what dialogs say, and what was fetched for them, and reports whether msg is that.
func (m *Model) fromDialog(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case dialog.ClosedMsg:
		return m.closed(msg), true
	case dialog.UnhandledKeyMsg: // typed when a question came in between
		defer m.layout()
		return m.composer.Update(msg.Msg), true
	case dialog.PickedMsg:
		return m.picked(msg), true
	case dialog.AnsweredMsg:
		return m.answered(msg), true
	case listedMsg:
		return m.listed(msg), true
	case foundMsg:
		return m.found(msg), true
	case previewMsg:
		if list, ok := m.dialog.(*dialog.SessionList); ok {
			list.SetPreview(msg.id, msg.lines)
			m.layout()
		}
		return nil, true
	case choicesMsg:
		return m.offered(msg), true
	case servedMsg:
		return m.serves(msg), true
	case dialog.PinMsg:
		return m.setTaste("favorites", msg.Value, msg.On), true
	case dialog.MovedMsg:
		m.look(msg.Value)
		return nil, true
	case dialog.HideMsg:
		cmd := m.setTaste("hidden", msg.Value, msg.On)
		if msg.On {
			cmd = tea.Batch(cmd, m.say("hidden: "+strings.Join(m.models.picker.Keys.Details, ", ")+" shows it"))
		}
		return cmd, true
	case spentMsg:
		return m.spent(msg), true
	case dialog.PermissionRemoved:
		return m.revoke(msg.PermissionRow), true
	case dialog.Confirmed:
		return m.confirmed(msg), true
	case comparedMsg:
		return m.compared(msg), true
	case haltMsg:
		if m.chat.turn != nil {
			return m.stop(""), true
		}
		return nil, true
	}
	return nil, false
}

// fromPane takes what the transcript and the composer ask for, and reports whether msg is that.
func (m *Model) fromPane(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case composer.CompletedMsg:
		defer m.layout()
		return m.composer.Update(msg), true
	case composer.TooLongMsg:
		return m.say(format.Size(msg.Bytes) + " are too much to be written out here: " + m.keymap.keyOf("editor") + " opens them in your editor"), true
	case composer.UnqueueMsg:
		return m.unqueueAt(msg), true
	case composer.SubmitMsg:
		return m.submit(msg), true
	case transcript.RegenerateMsg:
		return m.perform(m.app.Regenerate(msg.Seq)), true
	case transcript.EditMsg:
		if n, err := m.app.Session.At(msg.Seq); err == nil && n.Role == llm.RoleAssistant {
			return m.edit(msg.Seq), true
		}
		return m.edit(msg.User), true
	case transcript.ForkMsg:
		m.chat.transcript.Browse(false)
		return m.perform(m.app.ForkSession(m.app.Session.ID(), msg.Seq)), true
	case transcript.CopyMsg:
		return m.copy(msg.Text, msg.What), true
	}
	return nil, false
}
