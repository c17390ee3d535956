package renderer

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Sequences to acquire and restore the screen, besides modes. They save and restore the window
// title, and disable line wrapping, because terminals disagree about the width of some characters.
// On terminals without an alternate screen, the cursor ends on the last row.
const (
	enter = "\x1b[22;2t\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?u"
	leave = "\x1b[m\x1b[%d;1H\x1b[?7h\x1b[?25h\x1b[?1049l\x1b[23;2t"
)

const (
	hideCursor = ansi.ResetModeTextCursorEnable
	showCursor = ansi.SetModeTextCursorEnable
)

// modes holds the sequence that sets each mode of the terminal; "" for a mode that is not set. The
// root does not set fields of a tea.View without a mode here.
type modes [7]string

const (
	windowTitle = iota
	progressBar
	bracketedPaste
	focusReports
	mouseReports
	keyboard
	graphemes
)

// undo holds the sequence that resets each mode.
var undo = [len(modes{})]string{
	windowTitle:    "\x1b]2;\a",
	progressBar:    ansi.ResetProgressBar,
	bracketedPaste: ansi.ResetModeBracketedPaste,
	focusReports:   ansi.ResetModeFocusEvent,
	mouseReports:   ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr,
	keyboard:       ansi.ResetModifyOtherKeys + "\x1b[<1u",
	graphemes:      ansi.ResetModeUnicodeCore,
}

// modesOf returns the modes for v on a terminal with the given settings.
func modesOf(v *tea.View, set settings) modes {
	m := modes{
		progressBar: progressOf(v.ProgressBar), bracketedPaste: ansi.SetModeBracketedPaste,
		keyboard: keyboardOf(v.KeyboardEnhancements),
	}
	if v.WindowTitle != "" {
		m[windowTitle] = ansi.SetWindowTitle(v.WindowTitle)
	}
	if v.ReportFocus {
		m[focusReports] = ansi.SetModeFocusEvent
	}
	if v.MouseMode == tea.MouseModeCellMotion {
		m[mouseReports] = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	}
	if set.clusters {
		m[graphemes] = ansi.SetModeUnicodeCore
	}
	return m
}

// change appends the sequences that change the terminal from m to want.
func (m *modes) change(b []byte, want *modes) []byte {
	for i, reset := range undo {
		if m[i] == want[i] {
			continue
		}
		if want[i] == "" || i == keyboard && m[i] != "" { // the terminal has a stack of keyboard modes
			b = append(b, reset...)
		}
		b = append(b, want[i]...)
	}
	return b
}

func progressOf(p *tea.ProgressBar) string {
	switch {
	case p == nil:
		return ""
	case p.State == tea.ProgressBarWarning:
		return ansi.SetWarningProgressBar(p.Value)
	}
	return ansi.SetIndeterminateProgressBar
}

// keyboardOf returns the sequences for unambiguous keys, in the protocols of xterm and kitty.
// Terminals ignore unknown sequences.
func keyboardOf(k tea.KeyboardEnhancements) string {
	flags := ansi.KittyDisambiguateEscapeCodes
	if k.ReportAlternateKeys {
		flags |= ansi.KittyReportAlternateKeys
	}
	if k.ReportAllKeysAsEscapeCodes {
		flags |= ansi.KittyReportAllKeysAsEscapeCodes
	}
	return ansi.SetModifyOtherKeys2 + ansi.PushKittyKeyboard(flags)
}
