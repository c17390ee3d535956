package composer

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// rowCounts holds the number of rows of each part, from top to bottom. The text gets at
// least a third of the height, if it needs that much.
type rowCounts struct{ queue, menu, search, text int }

func (p rowCounts) above() int { return p.queue + p.menu + p.search }

// layOut lays out the text and divides the rows. One cell at the right is
// reserved for a cursor at the end of a full row.
func (m *Model) layOut() rowCounts {
	m.editor.update(&m.editor.Buffer, max(m.editor.width-1, 1))
	p, most := rowCounts{search: m.Recall.searchRows()}, m.editor.height
	if m.editor.textRows > 0 {
		most = min(most, m.editor.textRows)
	}
	spare := max(m.editor.height-p.search-min(len(m.editor.rows), max(m.editor.height/3, 1), most), 0)
	p.menu = min(m.completion.menuRows(), spare)
	p.queue = min(m.Queue.queueRows(), spare-p.menu)
	p.text = min(len(m.editor.rows), max(m.editor.height-p.above(), 1), most)
	r := m.editor.rowOf(m.editor.Cursor)
	m.editor.top = max(min(m.editor.top, r, len(m.editor.rows)-p.text), r-p.text+1, 0)
	return p
}

// Height returns the number of rows of View, from 1 to the maximum of SetSize.
func (m *Model) Height() int {
	p := m.layOut()
	return min(p.above()+p.text, m.editor.height)
}

// PromptRow returns the first row of View below the lists.
func (m *Model) PromptRow() int {
	p := m.layOut()
	return p.queue + p.menu
}

// View returns the composer: Height rows, none wider than its width. The queue and
// the list of completions are above the text.
func (m *Model) View() string {
	p := m.layOut()
	lines := make([]string, 0, m.editor.height)
	lines = append(lines, m.Queue.queueLines(p.queue)...)
	lines = append(lines, m.completion.menuLines(p.menu)...)
	if p.search > 0 {
		lines = append(lines, m.editor.theme.Dim.Render(m.Recall.searchText()))
	}
	for r := m.editor.top; r < m.editor.top+p.text && len(lines) < m.editor.height; r++ {
		lines = append(lines, m.renderRow(m.editor.rows[r])+m.editor.scrollMark(r, p.text))
	}
	return strings.Join(lines, "\n")
}

// scrollMark returns an arrow at the right edge of a row if the text continues beyond the window.
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
	return strings.Repeat(" ", m.width-1-m.used(m.Units, m.rows[r].start, m.rows[r].end)) + m.theme.Faint.Render(arrow)
}

// renderRow renders a row. Chips and invisible characters get their own style.
func (m *Model) renderRow(r row) string {
	if m.Empty() && m.Recall.search == nil {
		return m.editor.theme.Faint.Render(ansi.Truncate(m.editor.placeholder, m.editor.layout.width, "…"))
	}
	var out strings.Builder
	used, style := 0, &m.editor.textSGR
	from, to := 0, 0
	if m.modal != nil {
		from, to = m.modal.Selection()
	}
	shell := m.Shell()
	out.WriteString(style.On)
	for i, u := range m.editor.Units[r.start:r.end] {
		i += r.start
		if used += u.cells(m.editor.layout.width); used > m.editor.layout.width {
			break // hanging spaces
		}
		want := &m.editor.textSGR
		switch {
		case from <= i && i < to:
			want = &m.editor.selectionSGR
		case u.display != "" && !IsSpace(u), shell && i == 0:
			want = &m.editor.accentSGR
		}
		if want != style {
			out.WriteString(style.Off + want.On)
			style = want
		}
		out.WriteString(u.draw(m.editor.layout.width))
	}
	out.WriteString(style.Off)
	return out.String()
}

// Cursor returns the position of the terminal's cursor in the view, where input
// methods draw. ok is false without focus. Right-to-left text is stored and
// edited in reading order.
func (m *Model) Cursor() (x, y int, ok bool) {
	if !m.focused {
		return 0, 0, false
	}
	p := m.layOut()
	if m.Recall.search != nil {
		return ansi.StringWidth(m.Recall.searchText()), min(p.queue+p.menu, m.editor.height-1), true
	}
	return min(m.editor.column(m.editor.Units, m.editor.Cursor), m.editor.width-1), p.above() + m.editor.rowOf(m.editor.Cursor) - m.editor.top, true
}

// Click handles a click on a cell of the view: it moves the cursor, selects a
// queued prompt, accepts a completion, or opens the chip at the cursor.
func (m *Model) Click(x, y int) tea.Cmd {
	p := m.layOut()
	switch row := y - p.queue; {
	case y < 0 || y >= p.above()+p.text:
		return nil
	case row < 0:
		if first, n := m.Queue.queueWindow(p.queue); y < n {
			m.Queue.pickedPrompt = first + y
		}
		return nil
	case row < p.menu:
		return m.completion.clickMenu(row, p.menu)
	case row < p.menu+p.search:
		return nil
	}
	at := m.editor.index(m.editor.Units, m.editor.top+y-p.above(), max(x, 0))
	again := at == m.editor.Cursor && at < len(m.editor.Units) && m.editor.Units[at].Kind == KindChip
	m.Recall.stopSearch(true)
	m.resetTransient()
	m.editor.Cursor = min(at, len(m.editor.Units))
	var cmd tea.Cmd
	if again {
		cmd = m.editor.expandChip(at)
	}
	if m.modal != nil {
		m.modal.Clamp()
	}
	return cmd
}

// canMove reports whether there is a row by rows below the cursor's.
func (m *Model) canMove(by int) bool {
	m.layOut()
	r := m.editor.rowOf(m.editor.Cursor) + by
	return r >= 0 && r < len(m.editor.rows)
}

// menuOpen reports whether a list is shown.
func (m *completion) menuOpen() bool { return m.menu != nil && len(m.menu.candidates) > 0 }

// isUndecided reports whether the word is a directory with no further text and no candidate is selected.
func (o *menu) isUndecided() bool { return !o.moved && strings.HasSuffix(o.answered, "/") }

// clickMenu accepts the candidate in a row of the list.
func (m *completion) clickMenu(row, rows int) tea.Cmd {
	first, shown := m.menuWindow(rows)
	i := row - (rows - len(shown))
	if i < 0 || m.menu.answered != m.menu.wanted {
		return nil
	}
	return m.acceptCandidate(m.menu.candidates[first+i])
}
