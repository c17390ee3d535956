package composer

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// rowCounts are the rows of each part, from top to bottom. The text gets at least a third
// of the height, if it needs that.
type rowCounts struct{ queue, menu, search, text int }

func (p rowCounts) above() int { return p.queue + p.menu + p.search }

// layOut lays the text out and divides the rows. One cell at the right is left
// for a cursor at the end of a full row.
func (m *Model) layOut() rowCounts {
	m.update(&m.buffer, max(m.width-1, 1))
	p := rowCounts{search: m.searchRows()}
	spare := max(m.height-p.search-min(len(m.rows), max(m.height/3, 1)), 0)
	p.menu = min(m.menuRows(), spare)
	p.queue = min(m.queueRows(), spare-p.menu)
	p.text = min(len(m.rows), max(m.height-p.above(), 1))
	r := m.rowOf(m.cur)
	m.top = max(min(m.top, r, len(m.rows)-p.text), r-p.text+1, 0)
	return p
}

// Height returns how many rows View has, from 1 to the most that SetSize allows.
func (m *Model) Height() int {
	p := m.layOut()
	return min(p.above()+p.text, m.height)
}

// PromptRow returns the row of View next to which the prompt sign belongs: the first
// below the lists.
func (m *Model) PromptRow() int {
	p := m.layOut()
	return p.queue + p.menu
}

// View returns the composer: Height rows, none wider than its width. Above the text
// stand the queue and what a word may become.
func (m *Model) View() string {
	if m.view != "" {
		return m.view
	}
	p := m.layOut()
	lines := make([]string, 0, m.height)
	lines = append(lines, m.queueLines(p.queue)...)
	lines = append(lines, m.menuLines(p.menu)...)
	if p.search > 0 {
		lines = append(lines, m.searchLine())
	}
	for r := m.top; r < m.top+p.text && len(lines) < m.height; r++ {
		lines = append(lines, m.renderRow(m.rows[r])+m.scrollMark(r, p.text))
	}
	m.view = strings.Join(lines, "\n")
	return m.view
}

// scrollMark returns an arrow at the right edge where the text goes on out of sight.
func (m *editor) scrollMark(r, visible int) string {
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

// renderRow draws a row. Chips and unseen characters stand out from the text.
func (m *Model) renderRow(r row) string {
	if m.Empty() && m.search == nil {
		return m.theme.Faint.Render(ansi.Truncate(m.placeholder, m.layout.width, "…"))
	}
	var out strings.Builder
	used, style := 0, &m.textSGR
	from, to := m.selection()
	shell := m.Shell()
	out.WriteString(style.On)
	for i, u := range m.units[r.start:r.end] {
		i += r.start
		if used += u.cells(m.layout.width); used > m.layout.width {
			break // spaces that hang
		}
		want := &m.textSGR
		switch {
		case from <= i && i < to:
			want = &m.selectionSGR
		case u.display != "" && !isSpace(u), shell && i == 0:
			want = &m.accentSGR
		}
		if want != style {
			out.WriteString(style.Off + want.On)
			style = want
		}
		out.WriteString(u.draw(m.layout.width))
	}
	out.WriteString(style.Off)
	return out.String()
}

// Cursor returns where in the view the terminal's cursor belongs, which is where
// input methods draw; not ok without focus. Text from right to left is kept and
// edited in the order in which it is read.
func (m *Model) Cursor() (x, y int, ok bool) {
	if !m.focused {
		return 0, 0, false
	}
	p := m.layOut()
	if m.search != nil {
		return m.searchCursor(), min(p.queue+p.menu, m.height-1), true
	}
	return min(m.column(m.units, m.cur), m.width-1), p.above() + m.rowOf(m.cur) - m.top, true
}

// Click puts the cursor at a cell of the view. A queued prompt is chosen, what
// is offered is taken, and a chip at which the cursor stands is opened.
func (m *Model) Click(x, y int) tea.Cmd {
	p := m.layOut()
	defer m.invalidate()
	switch row := y - p.queue; {
	case y < 0 || y >= p.above()+p.text:
		return nil
	case row < 0:
		if first, n := m.queueWindow(p.queue); y < n {
			m.pickedPrompt = first + y
		}
		return nil
	case row < p.menu:
		return m.clickMenu(row, p.menu)
	case row < p.menu+p.search:
		return nil
	}
	at := m.index(m.units, m.top+y-p.above(), max(x, 0))
	again := at == m.cur && at < len(m.units) && m.units[at].kind == kindChip
	m.stopSearch(true)
	m.resetTransient()
	m.cur = min(at, len(m.units))
	var cmd tea.Cmd
	if again {
		cmd = m.expandChip(at)
	}
	if m.vim != nil {
		m.vim.clamp(m)
	}
	return cmd
}

// menuOpen reports whether a list is shown.
func (m *completion) menuOpen() bool { return m.menu != nil && len(m.menu.candidates) > 0 }

// isUndecided reports whether nothing is chosen after a directory without more text.
func (o *menu) isUndecided() bool { return !o.moved && strings.HasSuffix(o.answered, "/") }

// clickMenu takes what stands in a row of the list.
func (m *completion) clickMenu(row, rows int) tea.Cmd {
	first, shown := m.menuWindow(rows)
	i := row - (rows - len(shown))
	if i < 0 || m.menu.answered != m.menu.wanted {
		return nil
	}
	return m.acceptCandidate(m.menu.candidates[first+i])
}
