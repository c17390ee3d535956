// Package dialog holds the dialogs that the root shows in place of the composer when the user has to
// choose, read or consent: a title line, content, and a line with the active keys. No boxes.
//
//	Pick, Commands   one of many, found by typing    Picker.Chosen
//	Sessions         stored conversations            SessionActions
//	Tree             branches of a conversation
//	Approve          may this tool call run?         Approval.Answered
//	Confirm, Decide  a question with answers         Confirmation.Answered
//	AskSecret        a line, such as an API key      Secret.Submit
//	Pages            text in parts, to read          PageKey.Do
//	Help             the keys                        –
//
// A choice calls a function at once, within Update: keys after the choosing one belong to the
// dialog that it opens. Esc leaves every dialog and calls Root.Left. Leaving a question is an
// answer, so Approve, Confirm and Decide call their own function instead. These three accept
// consent only after Drawn. A dialog answers once and ignores all keys afterwards. It treats all
// text that it shows as hostile.
package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A Dialog is a child of the root. Its View has exactly Height rows, none wider
// than its width.
type Dialog interface {
	// SetSize sets the width in cells and the maximum number of rows.
	SetSize(width, height int)
	SetTheme(*theme.Theme)
	Update(tea.Msg) tea.Cmd
	View() string
	// Height returns the preferred number of rows, at most the limit of SetSize.
	Height() int
	// Attach sets the functions of the root that the dialog may call. It precedes the first Update.
	Attach(Root)
	// Cursor returns the position of the terminal's cursor in the view; ok is false if
	// nothing is being typed.
	Cursor() (x, y int, ok bool)
}

// A Host shows one dialog at a time.
type Host interface {
	Open(Dialog) tea.Cmd                                   // replaces the open dialog
	Choose(d *Picker, chosen func(Choice) tea.Cmd) tea.Cmd // opens d, and closes it when a row is chosen; chosen is nil if rows are only for reading
	OnLeave(left func(Left) tea.Cmd)                       // sets the function to call if the open dialog is left without a choice
	Close()                                                // closes the open dialog
	Current() Dialog                                       // returns the open dialog; nil if there is none
}

// A Root holds the functions of the root that dialogs may call.
type Root struct {
	Left  func(Left) tea.Cmd              // the dialog was left without a choice
	Typed func(tea.Msg) tea.Cmd           // a key or a paste is for the composer, which a question replaced
	Copy  func(text, what string) tea.Cmd // copies text to the clipboard; what names the text
}

// A Left tells how a dialog was left without a choice.
type Left struct {
	Typed    string // filter text, which now belongs to the root
	Accepted bool   // the user accepted a filter that matches nothing
	Again    bool   // accepted twice: the user already saw that it names no command
}

// A content is the part of a dialog inside the frame that all dialogs share.
type content interface {
	wants() int // preferred number of rows, including those of the frame
	draw() (head string, rows []string, foot string)
	handle(tea.Msg) tea.Cmd
}

// base is the common part of all dialogs: a frame around a content, which is the dialog itself.
type base struct {
	content       content
	width, height int
	theme         *theme.Theme
	view          string // result of the last View; "" if something has changed
	done          bool   // the dialog has answered
	root          Root
}

func newBase(th *theme.Theme) base {
	return base{width: 80, height: 24, theme: th}
}

// SetTheme changes the theme.
func (b *base) SetTheme(th *theme.Theme) { b.theme, b.view = th, "" }

// Update implements Dialog. A dialog that has answered ignores everything.
func (b *base) Update(msg tea.Msg) tea.Cmd {
	if b.done {
		return nil
	}
	b.view = ""
	return b.content.handle(msg)
}

// View implements Dialog.
func (b *base) View() string {
	if b.view == "" && b.height > 0 {
		head, rows, foot := b.content.draw()
		b.view = frame(b.Height(), head, rows, foot)
	}
	return b.view
}

// Height implements Dialog.
func (b *base) Height() int { return min(b.content.wants(), b.height) }

// SetSize sets the width and the maximum height.
func (b *base) SetSize(width, height int) { b.resize(width, height) }

// Cursor returns false: nothing is being typed.
func (b *base) Cursor() (x, y int, ok bool) { return 0, 0, false }

// resize sets the size and reports whether the width has changed.
func (b *base) resize(width, height int) (wrapsAnew bool) {
	width, height = max(width, 0), max(height, 0)
	if wrapsAnew = width != b.width; wrapsAnew || height != b.height {
		b.width, b.height, b.view = width, height, ""
	}
	return wrapsAnew
}

// Attach implements Dialog.
func (b *base) Attach(r Root) { b.root = r }

// leave ends the dialog without a choice.
func (b *base) leave(how Left) tea.Cmd {
	b.done = true
	return b.root.Left(how)
}

// titleLine returns a title line, with the text right at its end if it fits.
func (b *base) titleLine(title, right string) string {
	title = ansi.Truncate(sanitize.Line(title), b.width, "…")
	right = sanitize.Line(right)
	gap := b.width - ansi.StringWidth(title) - ansi.StringWidth(right)
	if right == "" || gap < 2 {
		return b.theme.Strong.Render(title)
	}
	return b.theme.Strong.Render(title) + strings.Repeat(" ", gap) + b.theme.Faint.Render(right)
}

// matchSGR returns the style of matching letters. They are underlined and bold, to be visible
// without colors.
func matchSGR(th *theme.Theme) theme.SGR { return theme.NewSGR(th.Accent.Bold(true).Underline(true)) }

// frame joins head, content and foot into exactly height rows. In a small window it omits the
// head, then the foot. An empty head takes no row.
func frame(height int, head string, content []string, foot string) string {
	if height <= 0 {
		return ""
	}
	rows := make([]string, 0, height)
	if height > 2 && head != "" {
		rows = append(rows, head)
	}
	last := height - min(height-1, 1)
	rows = append(rows, content[:min(len(content), last-len(rows))]...)
	for len(rows) < last {
		rows = append(rows, "")
	}
	if height > 1 {
		rows = append(rows, foot)
	}
	return strings.Join(rows, "\n")
}

// contentRows returns how many rows frame leaves for the content below a head.
func contentRows(height int) int { return max(height-2, min(height, 1)) }

// A textField is a one-line input. The cursor stays at its end.
type textField struct{ text string }

// key handles a key or a paste, and reports whether msg was for the field.
func (f *textField) key(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		f.text += strings.Join(strings.Fields(msg.Content), " ")
	case tea.KeyPressMsg:
		switch {
		case pressed(msg, keyErase):
			f.text = textwrap.TrimLast(f.text)
		case pressed(msg, keyEraseWord):
			f.text = strings.TrimRight(f.text, " ")
			f.text = f.text[:strings.LastIndex(f.text, " ")+1]
		case pressed(msg, keyClear):
			f.text = ""
		case msg.Text != "":
			f.text += msg.Text
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// visibleText returns the end of the text that fits into width cells and leaves one for the cursor.
func (f *textField) visibleText(width int) string {
	s := sanitize.Line(f.text)
	if over := ansi.StringWidth(s) - max(width-1, 0); over > 0 {
		s = ansi.TruncateLeft(s, over, "")
	}
	return ansi.Truncate(s, max(width-1, 0), "")
}
