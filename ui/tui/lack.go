package tui

import (
	"cmp"
	"slices"

	"parley/providers/llm"
)

// What an action lacks to run now, in words; "" if it lacks nothing. The palette
// shows it, and keys and commands say it.

func (m *Model) lacksTurn() string {
	if m.turn == nil {
		return "nothing is running"
	}
	return ""
}

// lacksSilence is said of waiting for an answer that is not silent.
func (m *Model) lacksSilence() string {
	if m.turn == nil || !m.turn.Silent(m.now()) {
		return "no model is silent"
	}
	return ""
}

// lacksRest is said of what would change the conversation below a running turn.
func (m *Model) lacksRest() string {
	if m.turn != nil {
		return "stop the running turn first"
	}
	return ""
}

func (m *Model) lacksTalk() string {
	if len(m.app.Session.History()) == 0 {
		return "nothing was said yet"
	}
	return ""
}

func (m *Model) lacksTalkOrRest() string { return cmp.Or(m.lacksRest(), m.lacksTalk()) }

func (m *Model) lacksOwn() string {
	said := slices.ContainsFunc(m.app.Session.History(), func(msg llm.Message) bool { return msg.Role == llm.RoleUser })
	if !said {
		return cmp.Or(m.lacksRest(), "there is no message of yours yet")
	}
	return m.lacksRest()
}

func (m *Model) lacksFault() string {
	if m.turn != nil || !m.failed {
		return "there is nothing to try again"
	}
	return ""
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
		return "there is one way only yet: " + m.keyOf("rewind") + " edits a message, r in browse mode answers anew"
	}
	return ""
}

func (m *Model) lacksRules() string {
	if len(m.app.Session.Policy().Rules()) == 0 {
		return "there are no rules yet: p in a question makes one"
	}
	return ""
}

func (m *Model) lacksOthers() string {
	if len(m.app.Recent) < 2 {
		return "no other recent model: " + m.keyOf("model") + " picks one"
	}
	return ""
}

func (m *Model) lacksEfforts() string {
	if len(m.app.Session.Model().Efforts) == 0 {
		return "this model has no effort to set"
	}
	return ""
}

func (m *Model) lacksOff() string {
	if !slices.Contains(m.app.Session.Model().Efforts, llm.EffortOff) {
		return "this model cannot switch thinking off and on"
	}
	return ""
}

func (m *Model) lacksServers() string {
	if m.app.Servers() == nil {
		return "no MCP server is configured: [mcp.NAME] in the configuration adds one"
	}
	return ""
}

func (m *Model) lacksPrompts() string {
	if servers := m.app.Servers(); servers != nil && len(servers.Prompts()) == 0 {
		return "no MCP server has prompts"
	}
	return m.lacksServers()
}

func (m *Model) lacksResources() string {
	if servers := m.app.Servers(); servers != nil && len(servers.Resources()) == 0 {
		return "no MCP server has resources"
	}
	return m.lacksServers()
}

func (m *Model) lacksAnswer() string {
	if m.transcript.LastAnswer() == "" {
		return "there is no answer to copy"
	}
	return ""
}

func (m *Model) lacksCode() string {
	if _, ok := m.transcript.LastCode(); !ok {
		return "there is no code block to copy"
	}
	return ""
}

func (m *Model) lacksShown() string {
	if !m.shown {
		return "there is nothing to read yet"
	}
	return ""
}

// keyOf is the key that runs an action, or its command if it has none.
func (m *Model) keyOf(name string) string {
	for _, a := range m.actions {
		if a.name == name && len(a.keys) > 0 {
			return a.keys[0]
		}
	}
	return "/" + name
}
