package tui

import "parley/ui/app"

// These functions say why an action cannot run now; "" if it can. The palette
// shows it, and keys and commands say it.

func requireRunning(m *Model) string {
	if m.chat.Turn == nil {
		return "Nothing is running"
	}
	return ""
}

// requireRetryPause tells why nothing can be sent now: no model is waited for before it is asked again.
func requireRetryPause(m *Model) string {
	if m.chat.Turn == nil || m.chat.Turn.RetryIn(m.Now()) == 0 {
		return app.NoRetryPending
	}
	return ""
}

// requireSilentModel tells why there is nothing to wait on: no answer is silent, or comes later.
func requireSilentModel(m *Model) string {
	if m.chat.Turn == nil || !m.chat.Turn.Silent(m.Now()) && m.chat.Turn.RetryIn(m.Now()) == 0 {
		return "Not waiting for a model"
	}
	return ""
}

func requireQueued(m *Model) string {
	if m.App.Session.QueueLen() == 0 {
		return "Nothing is queued"
	}
	return ""
}

func requireAttached(m *Model) string {
	if len(m.App.Attached) == 0 {
		return "Nothing is attached"
	}
	return ""
}

func requireEditor(m *Model) string {
	if m.App.Getenv("VISUAL") == "" && m.App.Getenv("EDITOR") == "" {
		return "Set $VISUAL or $EDITOR to use an editor"
	}
	return ""
}

// requireBranches tells as well of a key that only the screen has.
func requireBranches(m *Model) string {
	if why := app.NoBranchesText(m.App); why != "" {
		return why + "; r while browsing regenerates an answer"
	}
	return ""
}

func requireAnswer(m *Model) string {
	if m.chat.Transcript.LastAnswer() == "" {
		return "No answer to copy"
	}
	return ""
}

func requireCode(m *Model) string {
	if _, ok := m.chat.Transcript.LastCode(); !ok {
		return "No code block to copy"
	}
	return ""
}

func requireContent(m *Model) string {
	if !m.chat.HasContent {
		return "Nothing to browse yet"
	}
	return ""
}
