// Package dialog holds the dialogs that the root shows in place of the composer when the user has to
// choose, read or consent. The band at the bottom, in the composer's place, has the title with the
// question or the filter; rows to choose from and text to read stand above it, and the active keys
// on the last row of the screen.
//
//	Pick, Commands   one of many, found by typing    Picker.Chosen
//	Sessions         stored conversations            SessionActions
//	Tree             branches of a conversation
//	Approve          may this tool call run?         Approval.Answered
//	Confirm, Decide  a question with answers         Confirmation.Answered
//	AskModelQuestion  a question of the model         ModelQuestion.Answered
//	AskSecret        a line, such as an API key      Secret.Submit
//	Pages            text in parts, to read          PageKey.Do
//	Help             the keys                        –
//
// A choice calls a function at once, within Update: keys after the choosing one belong to the
// dialog that it opens. Esc leaves every dialog and calls Root.Left. Leaving a question is an
// answer, so Approve, Confirm, Decide and AskModelQuestion call their own function instead.
// These four accept answers only after Drawn. A dialog answers once and ignores all keys afterwards. It treats all
// text that it shows as hostile.
package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/band"
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
	wants() (above, inBand int) // preferred number of rows above the band and in it
	draw() (above, inBand []string, foot string)
	handle(tea.Msg) tea.Cmd
}

// base is the common part of all dialogs: a frame around a content, which is the dialog itself.
type base struct {
	content       content
	width, height int  // of rows above the band, and the maximum for the dialog
	region        int  // width of the band
	asks          bool // the bar has the color of a question
	theme         *theme.Theme
	view          string // result of the last View; "" if something has changed
	done          bool   // the dialog has answered
	root          Root
}

func newBase(th *theme.Theme) base {
	return base{width: 80, region: 80, height: 24, theme: th}
}

// newQuestion returns the base of a question.
func newQuestion(th *theme.Theme) base {
	b := newBase(th)
	b.asks = true
	return b
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

// View implements Dialog. The keys of a question may begin to work with time alone.
func (b *base) View() string {
	if (b.view == "" || b.asks) && b.height > 0 {
		b.view = b.frame(b.content.draw())
	}
	return b.view
}

// Height implements Dialog.
func (b *base) Height() int {
	above, inBand := b.content.wants()
	return min(above+inBand+b.space()+1, b.height)
}

// SetSize sets the width and the maximum height.
func (b *base) SetSize(width, height int) { b.resize(width, height) }

// Cursor returns false: nothing is being typed.
func (b *base) Cursor() (x, y int, ok bool) { return 0, 0, false }

// maxWidth is the maximum width of rows, because longer lines are hard to read. A dialog with a
// method Wide uses the full width, as the band does.
const maxWidth = 120

// resize sets the size and reports whether the width has changed.
func (b *base) resize(width, height int) (wrapsAnew bool) {
	width, height = max(width, 0), max(height, 0)
	if wrapsAnew = width != b.region; wrapsAnew || height != b.height {
		b.width, b.region, b.height, b.view = width, width, height, ""
		if _, wide := b.content.(interface{ Wide() }); !wide {
			b.width = min(width, maxWidth)
		}
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

// inner returns the number of cells for text in the band.
func (b *base) inner() int { return max(min(b.footWidth(), b.region-band.Width), 0) }

// footWidth returns the number of cells for the keys. From edgesFrom on they keep the edges of the band's text.
func (b *base) footWidth() int { return b.region - 2*b.edge() }

// edgesFrom is the width from which the last row keeps the edges of the text above it.
const edgesFrom = 40

func (b *base) edge() int {
	if b.region < edgesFrom {
		return 0
	}
	return band.Width
}

// titleLine returns the first row of a band, with the text right at its end if it fits.
func (b *base) titleLine(title, right string) string {
	title = ansi.Truncate(sanitize.Line(title), b.inner(), "…")
	right = sanitize.Line(right)
	gap := b.inner() - ansi.StringWidth(title) - ansi.StringWidth(right)
	if right == "" || gap < 2 {
		return b.theme.Strong.Render(title)
	}
	return b.theme.Strong.Render(title) + strings.Repeat(" ", gap) + b.theme.Dim.Render(right)
}

// matchSGR returns the style of matching letters. They are underlined and bold, to be visible
// without colors.
func matchSGR(th *theme.Theme) theme.SGR { return theme.NewSGR(th.Accent.Bold(true).Underline(true)) }

// airyFrom is the maximum number of rows from which the band has an empty row on each side of its text, and
// one above it.
const airyFrom = 15

// A crowded content has no rows to spare for empty ones.
type crowded interface{ crowded() bool }

// air returns the number of empty rows on each side of the text in the band.
func (b *base) air() int {
	if c, ok := b.content.(crowded); b.height < airyFrom || ok && c.crowded() {
		return 0
	}
	return 1
}

// space returns the number of empty rows.
func (b *base) space() int { return 3 * b.air() }

// rowsAbove returns how many rows a band of inBand rows leaves above it.
func (b *base) rowsAbove(inBand int) int {
	height := b.Height()
	return max(height-b.space()-inBand-1, min(height, 1))
}

// bandRow returns the row of the view in which a band of inBand rows has its row n.
func (b *base) bandRow(inBand, n int) int { return max(b.Height()-1-b.air()-inBand+n, 0) }

// titled returns rows of a band after its title, which a small window omits.
func (b *base) titled(title string, rows []string) []string {
	if b.Height() > 2 {
		rows = slices.Insert(rows, 0, title)
	}
	return rows
}

// frame joins the rows of a dialog into exactly Height rows. In a small window it omits empty rows, then
// the band below a list, then the keys.
func (b *base) frame(above, inBand []string, foot string) string {
	height := b.Height()
	left := height - min(height-1, 1)
	var below []string
	if len(inBand) > 0 && (height > 2 || len(above) == 0) {
		pad := make([]string, b.air())
		lead := b.theme.Accent
		if b.asks {
			lead = b.theme.Warn
		}
		inBand = inBand[:min(len(inBand), left-min(len(above), 1))]
		below = band.Rows(slices.Clone(pad), slices.Concat(pad, inBand, pad), b.region, lead, b.theme)
	}
	above = above[:min(len(above), max(left-len(below), 0))]
	rows := make([]string, max(left-len(above)-len(below), 0), height) // rows grow upwards from the band
	rows = append(append(rows, above...), below[:min(len(below), left)]...)
	if height > 1 {
		rows = append(rows, strings.Repeat(" ", b.edge())+foot)
	}
	return strings.Join(rows, "\n")
}

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
