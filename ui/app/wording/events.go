package wording

import (
	"fmt"
	"strings"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// Event describes an event between messages; "" for events of other types.
func Event(e session.Event) string {
	switch e := e.(type) {
	case session.Sandbox:
		return format.Capital(e.Text)
	case session.Compacted: // how much the summary saves
		return fmt.Sprintf("Conversation summarized: %s → %s tokens per request. The full text stays here", format.Tokens(e.Before), format.Tokens(e.After))
	case session.Fallback: // another model answers, and why
		reason := Fault(e.Fault)
		if !e.Until.IsZero() {
			reason += ", paused until " + e.Until.Local().Format("15:04")
		}
		return fmt.Sprintf("%s: %s · continuing with %s", e.From, reason, e.To)
	case session.ModelSwitched: // and parts of the conversation that the model will not receive
		return format.Join(" · ", fmt.Sprintf("Model: %s → %s", e.From, e.To), Changes(e))
	case session.AddedDirectories: // that tools may use beside the working directory
		if len(e.Dirs) == 0 {
			return "No added folders"
		}
		return "Added folders: " + sanitize.Line(strings.Join(e.Dirs, ", "))
	case session.Settings:
		return "Set: " + sanitize.Line(e.Changed)
	case session.Persona: // used from here on
		switch {
		case e.Name == session.TypedPersona:
			return "System prompt: " + format.FirstLine(e.System)
		case e.Name != "":
			return "Persona: " + e.Name
		case e.Ended == session.TypedPersona:
			return "System prompt: as configured"
		}
		return "Persona off"
	}
	return ""
}

// Verdict describes the judge's preference. If short, it names the winner by its letter only.
func Verdict(v session.Verdict, short bool) string {
	winner := "no answer is better"
	if v.Winner >= 0 {
		winner = session.CandidateLetter(v.Winner)
		if !short {
			winner += ", " + v.Model
		}
	}
	return "Judge " + v.Judge + ": " + winner + " · " + v.Reason
}
