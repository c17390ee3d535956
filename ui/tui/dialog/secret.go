package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A Secret asks for a line, which is hidden unless Show was called. It passes the line only to Submit,
// and then waits until Reject is called or it is closed.
type Secret struct {
	base
	Submit      func(line string) tea.Cmd
	Optional    bool // an empty line is accepted
	title, text string
	field       textField
	problem     string // why the last line was rejected; "" if it was not
	checking    bool   // a line was submitted
	shown       bool   // the line is visible
	touched     bool   // the user has typed something
	ended       string // why the line is no longer needed; "" while it is
}

// Show makes the input visible and sets its initial text.
func (s *Secret) Show(value string) { s.shown, s.field.text, s.view = true, sanitize.Line(value), "" }

// AskSecret returns a dialog that asks for a line. title names the line, text explains its purpose.
func AskSecret(title, text string, th *theme.Theme) *Secret {
	s := &Secret{base: newBase(th), title: sanitize.Line(title), text: sanitize.Line(text)}
	s.content = s
	return s
}

// Reject shows why a line was rejected, and lets the user type another one.
func (s *Secret) Reject(problem string) {
	s.problem, s.checking, s.view = sanitize.Line(problem), false, ""
}

// End reports whether the user has typed something. If so, it shows why the line is no longer
// needed until the user leaves the dialog. Otherwise the caller can close it.
func (s *Secret) End(why string) bool {
	if s.touched {
		s.ended, s.field.text, s.checking, s.view = sanitize.Line(why), "", false, ""
	}
	return s.touched
}

// MarkChecking shows that the line is being checked.
func (s *Secret) MarkChecking() { s.problem, s.checking, s.view = "", true, "" }

// Checking reports whether a submitted line is still being checked.
func (s *Secret) Checking() bool { return s.checking }

// lines returns the rows between the title and the keys.
func (s *Secret) lines() []string {
	var rows []string
	add := func(text string, style func(...string) string) {
		for _, row := range textwrap.Lines(text, max(s.inner(), 1)) {
			rows = append(rows, style(ansi.Truncate(row, s.inner(), "…")))
		}
	}
	if s.ended != "" {
		add(s.ended, s.theme.Text.Render)
		return rows
	}
	if s.problem != "" {
		add(s.problem, s.theme.Bad.Render)
	} else {
		add(s.text, s.theme.Dim.Render)
	}
	return append(rows, "", s.written())
}

// dots returns the number of characters of the line, and the number of dots that fit for them.
func (s *Secret) dots() (count, shown int) {
	for rest := s.field.text; rest != ""; count++ {
		char, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[len(char):]
	}
	room := s.inner() - len(countText(count)) - signWidth - 1
	return count, max(min(count, room), 0)
}

// countText returns count with its unit, such as "3 characters"; "" for 0.
func countText(count int) string {
	if count == 0 {
		return ""
	}
	return "  " + format.Plural(count, "character")
}

// visible returns the end of a visible line that fits the width.
func (s *Secret) visible() string {
	text := sanitize.Line(s.field.text)
	return ansi.TruncateLeft(text, max(ansi.StringWidth(text)-max(s.inner()-signWidth-1, 0), 0), "")
}

// written returns the input row: the text if it is visible, else dots and the number of
// characters.
func (s *Secret) written() string {
	if s.shown {
		return ansi.Truncate(s.sign(true)+s.theme.Text.Render(s.visible()), s.inner(), "")
	}
	count, shown := s.dots()
	row := s.sign(true) + s.theme.Text.Render(strings.Repeat("•", shown))
	return ansi.Truncate(row+s.theme.Faint.Render(countText(count)), s.inner(), "")
}

func (s *Secret) wants() (above, inBand int) { return 0, 1 + len(s.lines()) }

// Cursor returns the position of the next typed character.
func (s *Secret) Cursor() (x, y int, ok bool) {
	if s.checking || s.done || s.ended != "" || s.Height() < 3 {
		return 0, 0, false
	}
	_, shown := s.dots()
	if s.shown {
		shown = ansi.StringWidth(s.visible())
	}
	return s.bandColumn(signWidth + shown), s.bandRow(1, 0), true
}

// handle handles keys that type, submit or close.
func (s *Secret) handle(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && (pressed(press, keyClose) || s.ended != "" && pressed(press, keyAccept)):
		s.field.text = ""
		return s.leave(Left{})
	case s.checking, s.ended != "":
	case ok && pressed(press, keyAccept):
		return s.submit()
	default:
		if paste, ok := msg.(tea.PasteMsg); ok { // unchanged: the receiver validates it
			s.field.text += strings.Trim(paste.Content, "\r\n")
		} else if !s.field.key(msg) {
			return nil
		}
		s.problem, s.touched = "", true
	}
	return nil
}

// submit submits the line. A hidden line is cleared; a visible one stays for corrections.
func (s *Secret) submit() tea.Cmd {
	if s.field.text == "" && !s.Optional {
		return nil
	}
	line := s.field.text
	if !s.shown {
		s.field.text = ""
	}
	s.MarkChecking()
	return s.Submit(line)
}

func (s *Secret) draw() (above, rows []string, foot string) {
	accept := "check and store"
	if s.shown {
		accept = "continue"
	}
	foot = s.keyHints(keyAccept.hint(accept), keyClear.hint("clear"), keyClose.hint("cancel"))
	if s.checking {
		foot = s.keyHints(hint{"Checking", "it…"}, keyClose.hint("cancel"))
	}
	if s.ended != "" {
		foot = s.keyHints(keyClose.hint("close"))
	}
	rows = s.lines()
	if over := len(rows) - max(s.rowsAbove(1), 1); over > 0 { // the last line must stay visible
		rows = rows[over:]
	}
	return nil, s.titled(s.titleLine(s.title, ""), rows), foot
}
