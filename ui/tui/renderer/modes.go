package renderer

import (
	"fmt"
	"image/color"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Sequences to take and restore the screen, beside modes. They save and restore the window's title
// and turn off line wrapping, since terminals disagree about the width of some characters. On
// terminals without an alternate screen, the cursor ends on the last row.
const (
	enter = "\x1b[22;2t\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?u"
	leave = "\x1b[m\x1b[%d;1H\x1b[?7h\x1b[?25h\x1b[?1049l\x1b[23;2t"
)

const (
	hideCursor = ansi.ResetModeTextCursorEnable
	showCursor = ansi.SetModeTextCursorEnable
)

// modes holds the sequence that sets each mode of the terminal; "" for a mode that is not set.
type modes [11]string

const (
	windowTitle = iota
	progressBar
	bracketedPaste
	focusReports
	mouseReports
	keyboard
	graphemes
	foreground
	background
	cursorColor
	cursorShape
)

// undo holds the sequence that resets each mode. Modes that add up are reset before they are set to
// another value.
var undo = [len(modes{})]struct {
	seq    string
	addsUp bool
}{
	windowTitle:    {"\x1b]2;\a", false},
	progressBar:    {ansi.ResetProgressBar, false},
	bracketedPaste: {ansi.ResetModeBracketedPaste, false},
	focusReports:   {ansi.ResetModeFocusEvent, false},
	mouseReports:   {ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr, true},
	keyboard:       {ansi.ResetModifyOtherKeys + "\x1b[<1u", true},
	graphemes:      {ansi.ResetModeUnicodeCore, false},
	foreground:     {ansi.ResetForegroundColor, false},
	background:     {ansi.ResetBackgroundColor, false},
	cursorColor:    {ansi.ResetCursorColor, false},
	cursorShape:    {"\x1b[0 q", false},
}

// modesOf returns the modes for v on a terminal with the given settings.
func modesOf(v *tea.View, set settings) modes {
	m := modes{
		progressBar: progressOf(v.ProgressBar),
		foreground:  colored("\x1b]10;", v.ForegroundColor),
		background:  colored("\x1b]11;", v.BackgroundColor),
		keyboard:    keyboardOf(v.KeyboardEnhancements),
	}
	if v.WindowTitle != "" {
		m[windowTitle] = ansi.SetWindowTitle(v.WindowTitle)
	}
	if !v.DisableBracketedPasteMode {
		m[bracketedPaste] = ansi.SetModeBracketedPaste
	}
	if v.ReportFocus {
		m[focusReports] = ansi.SetModeFocusEvent
	}
	switch v.MouseMode {
	case tea.MouseModeCellMotion:
		m[mouseReports] = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	case tea.MouseModeAllMotion:
		m[mouseReports] = ansi.SetModeMouseAnyEvent + ansi.SetModeMouseExtSgr
	}
	if set.clusters {
		m[graphemes] = ansi.SetModeUnicodeCore
	}
	if c := v.Cursor; c != nil {
		m[cursorColor] = colored("\x1b]12;", c.Color)
		// A blinking block is the zero value: keep the user's own shape.
		if c.Shape != tea.CursorBlock || !c.Blink {
			shape := 2*int(c.Shape) + 1
			if !c.Blink {
				shape++
			}
			m[cursorShape] = ansi.SetCursorStyle(shape)
		}
	}
	return m
}

// change appends the sequences that change the terminal from m to want.
func (m *modes) change(b []byte, want *modes) []byte {
	for i, u := range undo {
		if m[i] == want[i] {
			continue
		}
		if want[i] == "" || u.addsUp && m[i] != "" {
			b = append(b, u.seq...)
		}
		b = append(b, want[i]...)
	}
	return b
}

func progressOf(p *tea.ProgressBar) string {
	if p == nil {
		return ""
	}
	switch p.State {
	case tea.ProgressBarDefault:
		return ansi.SetProgressBar(p.Value)
	case tea.ProgressBarError:
		return ansi.SetErrorProgressBar(p.Value)
	case tea.ProgressBarIndeterminate:
		return ansi.SetIndeterminateProgressBar
	case tea.ProgressBarWarning:
		return ansi.SetWarningProgressBar(p.Value)
	}
	return ""
}

// keyboardOf returns the sequences for unambiguous keys, in the protocols of xterm and kitty;
// terminals ignore those they do not know.
func keyboardOf(k tea.KeyboardEnhancements) string {
	flags := ansi.KittyDisambiguateEscapeCodes
	for _, f := range []struct {
		on   bool
		flag int
	}{
		{k.ReportEventTypes, ansi.KittyReportEventTypes},
		{k.ReportAlternateKeys, ansi.KittyReportAlternateKeys},
		{k.ReportAllKeysAsEscapeCodes, ansi.KittyReportAllKeysAsEscapeCodes},
		{k.ReportAssociatedText, ansi.KittyReportAssociatedKeys},
	} {
		if f.on {
			flags |= f.flag
		}
	}
	return ansi.SetModifyOtherKeys2 + ansi.PushKittyKeyboard(flags)
}

func colored(prefix string, c color.Color) string {
	if c == nil {
		return ""
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("%s#%02x%02x%02x\a", prefix, r>>8, g>>8, b>>8)
}
