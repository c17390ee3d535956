package wording

import (
	"errors"
	"strings"

	"parley/session"
	"parley/tools/act"
	"parley/ui/format"
)

// Sentences shared by front ends. The screen shows them as they are; plain lines add a full stop.
const (
	Trusted     = "Folder trusted · /context shows what is sent"
	NotTrusted  = "Folder not trusted: its settings are ignored · /trust asks again"
	TrustYes    = "Trust"
	TrustNo     = "Don't trust"
	Stopped     = "Stopped"
	Interrupted = "Interrupted: parley ended"
	SavedAgain  = "Saved: everything is on disk again"
)

// Title returns the display title of a conversation.
func Title(about session.Info) string {
	if about.Title != "" {
		return about.Title
	}
	return "untitled"
}

// ListTitle returns the title for lists, where copies appear beside their originals: "copy: TITLE" until the copy is
// renamed.
func ListTitle(about session.Info) string {
	if strings.HasPrefix(about.Origin, "fork ") && !about.Named {
		return "copy: " + Title(about)
	}
	return Title(about)
}

// Saving returns the text to show when the result of saving changes from before to err, and the error to keep
// showing: why recent messages are not on disk. Text is "" if there is nothing to show.
func Saving(before, err error) (text string, lasting error) {
	var lost *session.LeaseLostError
	switch {
	case errors.As(err, &lost):
		return "Another parley opened this conversation; continuing in a copy, " + lost.Fork, nil
	case err != nil && before == nil:
		return "Not saved (" + format.ErrorText(err) + "). Messages are kept in memory and saved when possible", err
	case err == nil && before != nil:
		return SavedAgain, nil
	}
	return "", err
}

// modeHelp describes the approval modes.
var modeHelp = map[act.Mode]string{
	act.ModeAsk: "reading runs; everything else asks", act.ModeAuto: "edits and sandboxed commands run without asking",
	act.ModeEdits:    "edits in this folder run without asking, for this conversation",
	act.ModePlan:     "reading runs; nothing changes until you accept the plan",
	act.ModeReadOnly: "everything but reading is denied", act.ModeYolo: "everything runs without asking, unless a rule denies it",
}

// ModeDetail describes an approval mode.
func ModeDetail(mode act.Mode) string { return modeHelp[mode] }

// ModeHelp names and describes an approval mode.
func ModeHelp(mode act.Mode) string { return string(mode) + " – " + modeHelp[mode] }
