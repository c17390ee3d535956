package tui

import "parley/ui/app"

// What an action lacks to run now, in words; "" if it lacks nothing. The palette
// shows it, and keys and commands say it.

func lacksTurn(m *Model) string {
	if m.chat.Turn == nil {
		return "Nothing is running"
	}
	return ""
}

// lacksRest tells why nothing can be sent now: no model is waited for before it is asked again.
func lacksRest(m *Model) string {
	if m.chat.Turn == nil || m.chat.Turn.Resting(m.Now()) == 0 {
		return app.NoRest
	}
	return ""
}

// lacksSilence tells why there is nothing to wait on: no answer is silent, or comes later.
func lacksSilence(m *Model) string {
	if m.chat.Turn == nil || !m.chat.Turn.Silent(m.Now()) && m.chat.Turn.Resting(m.Now()) == 0 {
		return "No model is silent"
	}
	return ""
}

func lacksQueue(m *Model) string {
	if m.App.Session.QueueLen() == 0 {
		return "Nothing is queued"
	}
	return ""
}

func lacksAttached(m *Model) string {
	if len(m.App.Attached) == 0 {
		return "Nothing is attached"
	}
	return ""
}

func lacksEditor(m *Model) string {
	if m.App.Getenv("VISUAL") == "" && m.App.Getenv("EDITOR") == "" {
		return "Set $VISUAL or $EDITOR to use an editor"
	}
	return ""
}

// lacksBranches tells as well of a key that only the screen has.
func lacksBranches(m *Model) string {
	if why := app.NoBranches(m.App); why != "" {
		return why + "; r while browsing regenerates an answer"
	}
	return ""
}

func lacksAnswer(m *Model) string {
	if m.chat.Transcript.LastAnswer() == "" {
		return "No answer to copy"
	}
	return ""
}

func lacksCode(m *Model) string {
	if _, ok := m.chat.Transcript.LastCode(); !ok {
		return "No code block to copy"
	}
	return ""
}

func lacksShown(m *Model) string {
	if !m.chat.Shown {
		return "Nothing to browse yet"
	}
	return ""
}
