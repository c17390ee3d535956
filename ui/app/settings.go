package app

import (
	"fmt"
	"strings"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// wordDefault resets a setting, as wordOff does.
const wordDefault = "default"

// InConversation is the source of a value that was set in the conversation.
const InConversation = "this conversation"

// SettingsText describes changes to a conversation's settings.
func SettingsText(s session.Settings) string {
	return "Set: " + sanitize.Line(s.Changed)
}

// wholeSystem returns the complete system prompt with own in place of the configured text; "" keeps that.
func wholeSystem(a *App, own string) string {
	if a.System == nil {
		return own
	}
	return a.System(own)
}

func systemItems(a *App) []Item {
	items := []Item{{Title: "edit", Detail: "Edit the system prompt", Value: "edit"}}
	if a.Session.Personas().Current().Name != "" {
		items = append(items, Item{Title: wordOff, Detail: "Back to the configured one", Value: wordOff})
	}
	return items
}

// setSystem shows the system prompt, or replaces it for this conversation with a persona that has no file.
func setSystem(a *App, text string) Effect {
	own, _ := ownSystem(a)
	switch {
	case text == "":
		return &Confirm{Text: systemText(a), Yes: "Edit", No: "Close", Harmless: true, Accept: func() Effect { return setSystem(a, "edit") }}
	case text == "edit":
		return DraftCommand(editSystem + own)
	case a.Busy():
		return Then{DraftCommand(editSystem + text), Toast(BusyText(a))}
	case text == wordOff || text == wordDefault:
		if a.Session.Personas().Current().Name == "" {
			return Toast("The system prompt is the configured one")
		}
		return usePersona(a, noPersona)
	}
	is := session.Persona{Name: session.TypedPersona, System: text}
	if err := a.Session.Personas().Set(is, wholeSystem(a, text)); err != nil {
		return Failure{Err: fmt.Errorf("system prompt not set: it may have %d KB", session.MaxPersona>>10), Line: editSystem + text}
	}
	return Shown{is}
}

// ownSystem returns the system prompt and its source, without the additions of the folder and of skills.
func ownSystem(a *App) (text, source string) {
	switch p := a.Session.Personas().Current(); {
	case p.Name == session.TypedPersona:
		return p.System, InConversation
	case p.Name != "":
		return p.System, "persona " + p.Name
	case a.OwnSystem != nil:
		return a.OwnSystem()
	}
	return a.Session.System(), "configuration"
}

// systemText returns the system prompt for reading, and names the texts sent after it.
func systemText(a *App) string {
	text, source := ownSystem(a)
	about := fmt.Sprintf("System prompt: %s, %s tokens", source, format.Tokens(a.Estimate(text)))
	var added []string
	for i, f := range a.Context() {
		if i > 0 && f.Tokens > 0 && !strings.HasPrefix(f.Name, ToolFact) {
			added = append(added, f.Name)
		}
	}
	if len(added) > 0 {
		about += "\nSent after it: " + strings.Join(added, ", ")
	}
	return sanitize.Text(about + "\n\n" + text)
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
