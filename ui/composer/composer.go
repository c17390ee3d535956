// Package composer is the input in which a prompt is written: many lines,
// readline's keys, history and reverse search.
//
//	keys, pastes ──► buffer of units ──► layout in rows ──► View
//	                      │
//	                      └──► SubmitMsg with the text
//
// The unit is the grapheme cluster, so that an emoji of five runes is one step
// of the cursor. Pastes never submit, nor does what comes on their heels; large ones become a chip such as
// [pasted 42 lines], a single unit that Value expands. A key costs what it
// changes, not what the prompt is long. A prompt sign is the parent's to draw.
package composer

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/safe"
	"parley/ui/theme"
)

// SubmitMsg says that the prompt was sent. The composer is empty again, and the
// prompt in its history.
type SubmitMsg struct {
	Text  string
	Typed string // the same without what large pastes hold
}

// Model is the composer. It starts empty, focused, and one row high.
type Model struct {
	Now func() time.Time // time.Now, unless it is set

	buffer
	layout
	keys   map[string]action
	past   history
	search *search   // nil unless ctrl+r is on
	last   action    // of the key before this one; kills in a row add up
	goal   int       // column that up and down try to keep; -1 for none
	pasted time.Time // when the last paste ended, with the keys on its heels

	theme          *theme.Theme
	plain, special pen
	width, height  int // outer width; the most rows
	top            int // first visible row of text
	placeholder    string
	focused        bool
	view           string // of the last View; "" if something changed
}

// New makes an empty composer with the default keys.
func New(th *theme.Theme) *Model {
	m := &Model{Now: time.Now, width: 80, height: 1, focused: true, goal: -1}
	m.SetTheme(th)
	m.SetKeys(DefaultKeys())
	return m
}

// SetSize gives the composer its width and the most rows it may grow to.
func (m *Model) SetSize(width, maxHeight int) {
	m.width, m.height = max(width, 1), max(maxHeight, 1)
	m.view = ""
}

// SetTheme changes the looks.
func (m *Model) SetTheme(th *theme.Theme) {
	m.theme, m.view = th, ""
	m.plain, m.special = newPen(th.Text), newPen(th.Accent)
}

// SetPlaceholder sets what an empty composer shows.
func (m *Model) SetPlaceholder(s string) { m.placeholder, m.view = safe.Line(s), "" }

// Focus says whether the composer takes keys and shows a cursor.
func (m *Model) Focus(on bool) { m.focused, m.view = on, "" }

// Value is the prompt: chips expanded, control characters left out.
func (m *Model) Value() string { return value(m.units) }

func value(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.kind == chip {
			b.WriteString(u.text) // clean since it was pasted
			continue
		}
		b.WriteString(clean(u.text))
	}
	return b.String()
}

// typed is value without chips.
func typed(units []unit) string {
	var b strings.Builder
	for _, u := range units {
		if u.kind != chip {
			b.WriteString(clean(u.text))
		}
	}
	return b.String()
}

// Empty reports whether nothing is written.
func (m *Model) Empty() bool { return len(m.units) == 0 }

// Searching reports whether a reverse search is on, which esc ends.
func (m *Model) Searching() bool { return m.search != nil }

// inline is how much text SetValue puts in as such: an editor or the history
// may bring back more than a paste shows, but no key shall become slow.
const inline = 64 << 10

// SetValue replaces the text; undo brings the old one back. Very long text
// becomes a chip.
func (m *Model) SetValue(s string) {
	m.stopSearch(false)
	m.set(written(s))
	m.changed()
}

func written(s string) []unit {
	s = normal(s)
	if len(s) > inline {
		return []unit{newChip(s)}
	}
	return split(s)
}

// Insert writes s at the cursor, as if it had been typed.
func (m *Model) Insert(s string) {
	m.stopSearch(true)
	m.insert(normal(s))
	m.changed()
}

// Reset empties the composer and forgets its undos.
func (m *Model) Reset() {
	m.stopSearch(false)
	m.load(nil, 0)
	m.forget()
	m.past.leave()
	m.changed()
}

// Clear empties the composer. The draft goes to the history, and undo brings
// it back as it was.
func (m *Model) Clear() {
	m.stopSearch(false)
	m.settle()
	if !m.Empty() {
		m.set(nil)
	}
	m.changed()
}

// Update takes keys and pastes, if the composer has the focus.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if !m.focused {
		return nil
	}
	switch msg := msg.(type) {
	case tea.PasteMsg:
		m.paste(msg.Content)
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return nil
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	do := m.bound(msg.String())
	if m.hurried() && do == submit {
		do = newLine
	}
	if m.search != nil && !m.searchKey(do, msg) {
		m.last = none
		return nil
	}
	if do == none {
		if msg.Text == "" {
			return nil
		}
		m.insert(normal(msg.Text))
	}
	cmd := m.act(do)
	if do != up && do != down {
		m.goal = -1
	}
	m.last = do
	m.changed()
	return cmd
}

// heels is how soon behind a paste a key cannot come from a person: a paste that
// holds the sequence which ends pastes would send itself.
const heels = 50 * time.Millisecond

// hurried reports whether a key that comes now is on the heels of a paste, or of
// another key that was.
func (m *Model) hurried() bool {
	now := m.Now()
	if m.pasted.IsZero() || now.Sub(m.pasted) >= heels {
		return false
	}
	m.pasted = now
	return true
}

func (m *Model) paste(content string) {
	m.pasted = m.Now()
	if content == "" {
		return
	}
	m.stopSearch(true)
	content = normal(content)
	if isLarge(content) {
		m.replace(m.cur, m.cur, []unit{newChip(content)})
	} else {
		m.insert(content)
	}
	m.last, m.goal = none, -1
	m.changed()
}

// submit sends the prompt; a backslash before the cursor makes it a new line
// instead. There is nothing to send in a prompt of white space.
func (m *Model) submit() tea.Cmd {
	if m.cur > 0 && m.units[m.cur-1].text == `\` {
		m.replace(m.cur-1, m.cur, split("\n"))
		return nil
	}
	text := m.Value()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	typed := typed(m.units)
	m.settle()
	m.Reset()
	return func() tea.Msg { return SubmitMsg{Text: text, Typed: typed} }
}

// changed drops the view that was kept.
func (m *Model) changed() { m.view = "" }

// arrange lays the text out and returns how many rows of it are visible. One
// cell at the right is left for a cursor at the end of a full row.
func (m *Model) arrange() int {
	m.flow(&m.buffer, max(m.width-1, 1))
	visible := min(len(m.rows), max(m.height-m.searchRows(), 1))
	r := m.at(m.cur)
	m.top = max(min(m.top, r, len(m.rows)-visible), r-visible+1, 0)
	return visible
}

// Height is how many rows View has, from 1 to the most that SetSize allows.
func (m *Model) Height() int { return min(m.arrange()+m.searchRows(), m.height) }

// View is the composer: Height rows, none wider than its width.
func (m *Model) View() string {
	if m.view != "" {
		return m.view
	}
	visible := m.arrange()
	lines := make([]string, 0, visible+1)
	if m.search != nil {
		lines = append(lines, m.searchLine())
	}
	for r := m.top; r < m.top+visible && len(lines) < m.height; r++ {
		lines = append(lines, m.line(m.rows[r])+m.more(r, visible))
	}
	m.view = strings.Join(lines, "\n")
	return m.view
}

// more is an arrow at the right edge where the text goes on out of sight.
func (m *Model) more(r, visible int) string {
	arrow := ""
	switch {
	case r == m.top && r > 0:
		arrow = "↑"
	case r == m.top+visible-1 && r < len(m.rows)-1:
		arrow = "↓"
	}
	if arrow == "" || m.width < 2 {
		return ""
	}
	return strings.Repeat(" ", m.width-1-m.used(m.units, m.rows[r].start, m.rows[r].end)) + m.theme.Faint.Render(arrow)
}

// line draws a row. Chips and unseen characters stand out from the text.
func (m *Model) line(r row) string {
	if m.Empty() && m.search == nil {
		return m.theme.Faint.Render(ansi.Truncate(m.placeholder, m.layout.width, "…"))
	}
	var out strings.Builder
	used, pen := 0, &m.plain
	out.WriteString(pen.on)
	for _, u := range m.units[r.start:r.end] {
		if used += u.cells(m.layout.width); used > m.layout.width {
			break // spaces that hang
		}
		want := &m.plain
		if u.kind == chip || u.odd && !isSpace(u) {
			want = &m.special
		}
		if want != pen {
			out.WriteString(pen.off + want.on)
			pen = want
		}
		out.WriteString(u.draw(m.layout.width))
	}
	out.WriteString(pen.off)
	return out.String()
}

// A pen is what a style writes before and behind a text. Applied to a word at a
// time, lipgloss would be most of what a key costs.
type pen struct{ on, off string }

func newPen(s lipgloss.Style) pen {
	on, off, _ := strings.Cut(s.Render("x"), "x")
	return pen{on, off}
}

// Cursor is where in the view the terminal's cursor belongs; not ok without
// focus.
func (m *Model) Cursor() (x, y int, ok bool) {
	if !m.focused {
		return 0, 0, false
	}
	m.arrange()
	if m.search != nil {
		return m.searchCursor(), 0, true
	}
	return min(m.column(m.units, m.cur), m.width-1), m.at(m.cur) - m.top, true
}
