package dialog

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// SecretMsg brings the line that was written into a Secret, which waits for Reject or for
// its end. Nobody else gets the line.
type SecretMsg struct {
	Of   *Secret
	Line string
}

// A Secret asks for a line without showing it.
type Secret struct {
	base
	title, text string
	field       textField
	problem     string // why the line before was not taken; "" if there was none
	checking    bool   // a line is with whoever takes it
	shown       bool   // what is written is seen
	optional    bool   // an empty line is taken too
	touched     bool   // somebody writes, or did
	ended       string // why no line is needed any more; "": one is
}

// AllowEmpty makes enter accept an empty line.
func (s *Secret) AllowEmpty() { s.optional = true }

// Show makes what is typed visible, and sets the text to begin with.
func (s *Secret) Show(value string) { s.shown, s.field.text, s.view = true, sanitize.Line(value), "" }

// AskSecret asks for a line. Title says what is asked for, text what it is used for.
func AskSecret(title, text string, th *theme.Theme) *Secret {
	return &Secret{base: newBase(th), title: sanitize.Line(title), text: sanitize.Line(text)}
}

// Reject shows why a line was not accepted, and lets the user type another one.
func (s *Secret) Reject(problem string) {
	s.problem, s.checking, s.view = sanitize.Line(problem), false, ""
}

// End reports whether the user has typed something. If so, it shows why no line is needed any
// more until the dialog is left; otherwise the caller can close it.
func (s *Secret) End(why string) bool {
	if s.touched {
		s.ended, s.field.text, s.checking, s.view = sanitize.Line(why), "", false, ""
	}
	return s.touched
}

// MarkChecking shows that the line is being checked.
func (s *Secret) MarkChecking() { s.problem, s.checking, s.view = "", true, "" }

// Checking reports whether a line was handed over, and neither Reject nor the end of the dialog
// followed.
func (s *Secret) Checking() bool { return s.checking }

// SetSize gives the width and the most rows.
func (s *Secret) SetSize(width, height int) { s.resize(width, height) }

// lines returns what stands between the title and the keys.
func (s *Secret) lines() []string {
	var rows []string
	add := func(text string, style func(...string) string) {
		for _, row := range textwrap.Lines(text, max(s.width, 1)) {
			rows = append(rows, style(ansi.Truncate(row, s.width, "…")))
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

// mark stands before what is written, and dot for each character of it.
const (
	mark = "› "
	dot  = "•"
)

// dots returns how many characters are written, and how many dots stand for them: fewer
// where there is no room.
func (s *Secret) dots() (count, shown int) {
	for rest := s.field.text; rest != ""; count++ {
		char, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[len(char):]
	}
	room := s.width - len(countText(count)) - len("> ") - 1
	return count, max(min(count, room), 0)
}

// countText says how many characters there are.
func countText(count int) string {
	if count == 0 {
		return ""
	}
	return "  " + format.Plural(count, "character")
}

// visible returns the end of a line that is seen, as far as there is room.
func (s *Secret) visible() string {
	text := sanitize.Line(s.field.text)
	return ansi.TruncateLeft(text, max(ansi.StringWidth(text)-max(s.width-len("> ")-1, 0), 0), "")
}

// written returns the line: as it is if it is seen, else with a dot for each character, and
// how many there are.
func (s *Secret) written() string {
	if s.shown {
		return ansi.Truncate(s.theme.Accent.Render(mark)+s.theme.Text.Render(s.visible()), s.width, "")
	}
	count, shown := s.dots()
	row := s.theme.Accent.Render(mark) + s.theme.Text.Render(strings.Repeat(dot, shown))
	return ansi.Truncate(row+s.theme.Faint.Render(countText(count)), s.width, "")
}

// Height returns that of the title, the text, the line and the keys.
func (s *Secret) Height() int { return min(len(s.lines())+2, s.height) }

// Cursor returns where the next character goes.
func (s *Secret) Cursor() (x, y int, ok bool) {
	if s.checking || s.done || s.ended != "" || s.Height() < len(s.lines())+2 {
		return 0, 0, false
	}
	_, shown := s.dots()
	if s.shown {
		shown = ansi.StringWidth(s.visible())
	}
	return max(min(len("> ")+shown, s.width-1), 0), s.Height() - 2, true
}

// Update writes, and hands over what is written.
func (s *Secret) Update(msg tea.Msg) tea.Cmd {
	if s.done {
		return nil
	}
	s.view = ""
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && (key.Matches(press, s.Keys.Close) || s.ended != "" && key.Matches(press, s.Keys.Accept)):
		s.field.text = ""
		return s.answer(ClosedMsg{})
	case s.checking, s.ended != "":
	case ok && key.Matches(press, s.Keys.Accept):
		return s.submit()
	default:
		if paste, ok := msg.(tea.PasteMsg); ok { // as it is: what does not belong to it is seen to by whoever takes it
			s.field.text += strings.Trim(paste.Content, "\r\n")
		} else if !s.field.key(msg, s.Keys.FieldKeys) {
			return nil
		}
		s.problem, s.touched = "", true
	}
	return nil
}

// submit hands over the line and forgets it.
func (s *Secret) submit() tea.Cmd {
	if s.field.text == "" && !s.optional {
		return nil
	}
	said := SecretMsg{s, s.field.text}
	if !s.shown { // one that was refused is corrected
		s.field.text = ""
	}
	s.MarkChecking()
	return s.Say(said)
}

// View returns the question above the line.
func (s *Secret) View() string {
	if s.view != "" {
		return s.view
	}
	accept := "check and store"
	if s.shown {
		accept = "continue"
	}
	foot := s.keyHint(s.theme.Dim, hint(s.Keys.Accept, accept), hint(s.Keys.Clear, "clear"), hint(s.Keys.Close, "cancel"))
	if s.checking {
		foot = s.keyHint(s.theme.Dim, hintText("Checking", "it…"), hint(s.Keys.Close, "cancel"))
	}
	if s.ended != "" {
		foot = s.keyHint(s.theme.Dim, hint(s.Keys.Close, "close"))
	}
	rows := s.lines()
	if over := len(rows) - max(s.Height()-2, 1); over > 0 { // what is written is seen in any case
		rows = rows[over:]
	}
	s.view = frame(s.Height(), s.titleLine(s.title, ""), rows, foot)
	return s.view
}
