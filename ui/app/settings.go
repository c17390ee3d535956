package app

import (
	"parley/session"
	"parley/tools/sanitize"
)

// InConversation is the source of a value that was set in the conversation.
const InConversation = "this conversation"

// SettingsText describes changes to a conversation's settings.
func SettingsText(s session.Settings) string {
	return "Set: " + sanitize.Line(s.Changed)
}

// WholeSystem returns the complete system prompt with own in place of the configured text; "" keeps that.
func (o *Options) WholeSystem(own string) string {
	if o.System == nil {
		return own
	}
	return o.System(own)
}

// PersonaText reports which persona is used from here on.
func PersonaText(p session.Persona) string {
	switch {
	case p.Name == session.TypedPersona:
		return "System prompt: " + FirstLine(p.System)
	case p.Name != "":
		return "Persona: " + p.Name
	case p.Ended == session.TypedPersona:
		return "System prompt: as configured"
	}
	return "Persona off"
}

// ToolFact is the prefix of facts about tools.
const ToolFact = "tool "
