package tui

import (
	"cmp"
	"slices"

	"parley/providers/llm"
)

// What an action lacks to run now, in words; "" if it lacks nothing. The palette
// shows it, and keys and commands say it.

func (m *Model) lacksTurn() string {
	if m.chat.turn == nil {
		return "nothing is running"
	}
	return ""
}

// lacksSilence is said of waiting for an answer that is not silent.
func (m *Model) lacksSilence() string {
	if m.chat.turn == nil || !m.chat.turn.Silent(m.now()) {
		return "no model is silent"
	}
	return ""
}

// lacksRest is said of what would change the conversation below a running turn.
func (m *Model) lacksRest() string {
	if m.chat.turn != nil {
		return "stop the running turn first"
	}
	return ""
}

func (m *Model) lacksOwn() string {
	said := slices.ContainsFunc(m.app.Session.History(), func(msg llm.Message) bool { return msg.Role == llm.RoleUser })
	if !said {
		return cmp.Or(m.lacksRest(), "there is no message of yours yet")
	}
	return m.lacksRest()
}

func (m *Model) lacksQueue() string {
	if m.app.Session.QueueLen() == 0 {
		return "nothing is queued"
	}
	return ""
}

func (m *Model) lacksAttached() string {
	if len(m.app.Attached) == 0 {
		return "nothing is attached"
	}
	return ""
}

func (m *Model) lacksEditor() string {
	if m.app.Getenv("VISUAL") == "" && m.app.Getenv("EDITOR") == "" {
		return "set $VISUAL or $EDITOR to use an editor"
	}
	return ""
}

func (m *Model) lacksBranches() string {
	if len(m.app.Session.Branches()) < 2 {
		return "there is one way only yet: " + m.keymap.keyOf("rewind") + " edits a message, r in browse mode answers anew"
	}
	return ""
}

func (m *Model) lacksAnswer() string {
	if m.chat.transcript.LastAnswer() == "" {
		return "there is no answer to copy"
	}
	return ""
}

func (m *Model) lacksCode() string {
	if _, ok := m.chat.transcript.LastCode(); !ok {
		return "there is no code block to copy"
	}
	return ""
}

func (m *Model) lacksShown() string {
	if !m.chat.shown {
		return "there is nothing to read yet"
	}
	return ""
}
