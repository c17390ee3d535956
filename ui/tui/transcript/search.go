package transcript

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/textwrap"
)

// A search searches the texts of all blocks. Matches are counted once per query, and again
// in blocks that change. Their rows are found only for visible blocks.
type search struct {
	list    *Blocks
	window  *viewport
	browser *browser

	typing     bool
	typed      string
	query      query
	last       string // the previous query
	originItem int    // item under the cursor when the search began
	originTop  rowPos // top row when the search began
	total      int
	changed    []*item // items whose text changed since it was counted
	texts      []string

	unfoldedItem *item // unfolded to show a match
	oldFold      fold
}

// Typing reports whether a query is being typed. If so, pass all keys to Update.
func (m *Model) Typing() bool { return m.current().search.typing }

// Cursor returns the screen position of the cursor in the query; ok is false unless a query is
// being typed.
func (m *Model) Cursor() (x, y int, ok bool) {
	m = m.current()
	if !m.search.typing || m.window.windowRows() == m.window.height || m.window.width == 0 {
		return 0, 0, false
	}
	return min(textwrap.Width(m.search.searchLine()), m.window.width-1), m.window.height - 1, true
}

// Search searches for words, as / does while browsing; with "" it opens the search line.
func Search(m *Model, words string) {
	m.Browse(true)
	m.search.beginSearch()
	if words != "" {
		m.search.updateSearch(tea.PasteMsg{Content: words})
		m.search.updateSearch(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
}

// beginSearch opens the search line.
func (m *search) beginSearch() {
	m.unfoldForMatch(nil)
	m.endSearch()
	m.window.searching, m.typing = true, true
	m.window.fixTop()
	if !m.browser.browsing {
		m.browser.cursor = m.window.top.item
	}
	m.window.loadAllOlder()
	m.originItem, m.originTop = m.browser.cursor, m.window.top
	m.countAll(query{})
	m.refitWindow()
}

// endSearch closes the search line, and keeps the position and the query.
func (m *search) endSearch() {
	for _, it := range m.changed {
		it.countStale = false
	}
	last := m.last
	if len(m.query.runes) > 0 {
		last = string(m.query.runes)
	}
	m.reset(last)
	m.refitWindow()
}

// reset clears the search, except for the last query.
func (m *search) reset(last string) {
	m.window.searching, m.browser.match = false, -1
	*m = search{list: m.list, window: m.window, browser: m.browser, last: last}
}

// refitWindow adjusts top after the window grew or shrank by a row.
func (m *search) refitWindow() {
	m.window.dirty = true
	if m.window.fixTop() {
		m.window.finishMove()
	}
}

// updateSearch edits the query and goes to the nearest match.
func (m *search) updateSearch(msg tea.Msg) {
	was := m.typed
	switch msg := msg.(type) {
	case tea.PasteMsg:
		m.typed += sanitize.Line(strings.Join(strings.Fields(msg.Content), " "))
	case tea.KeyPressMsg:
		switch key := msg.String(); key {
		case "esc":
			m.endSearch()
			return
		case "enter":
			m.typing, m.window.dirty = false, true
			if m.typed == "" {
				m.nextMatch(0)
			}
			return
		case "down", "ctrl+n":
			m.nextMatch(1)
		case "up":
			m.nextMatch(-1)
		case "backspace", "ctrl+h":
			if m.typed == "" {
				m.endSearch()
				return
			}
			m.typed = textwrap.TrimLast(m.typed)
		case "ctrl+w", "alt+backspace", "ctrl+backspace":
			m.typed = strings.TrimRight(m.typed, " ")
			m.typed = m.typed[:strings.LastIndex(m.typed, " ")+1]
		case "ctrl+u":
			m.typed = ""
		default:
			m.typed += sanitize.Line(msg.Text)
		}
	}
	if m.typed == was {
		return
	}
	m.countAll(newQuery(m.typed))
	i := m.nearestMatch(m.originItem)
	if i < 0 { // back to where the search began
		last := max(len(m.list.items)-1, 0)
		m.unfoldForMatch(nil)
		m.browser.setCursor(min(m.originItem, last))
		m.window.jumpTo(rowPos{min(m.originTop.item, last), m.originTop.line})
		m.window.dirty = true
		return
	}
	m.showMatch(i, m.firstMatchFrom(i))
}

// countAll sets the query and counts its matches.
func (m *search) countAll(w query) {
	m.query, m.total, m.browser.match, m.changed = w, 0, -1, m.changed[:0]
	for _, it := range m.list.items {
		it.countStale, it.spansValid = false, false
		it.matchCount = m.countIn(it)
		m.total += it.matchCount
	}
}

// countIn returns the number of matches in the texts of an item.
func (m *search) countIn(it *item) (n int) {
	if len(m.query.runes) == 0 {
		return 0
	}
	over := ""
	if it.isMarkdown() {
		over = markupRunes
	}
	m.texts = it.texts(m.texts[:0])
	for _, text := range m.texts {
		n += m.query.count(text, over)
	}
	return n
}

// recount counts the matches of changed items again.
func (m *search) recount() {
	for _, it := range m.changed {
		it.countStale = false
		was := it.matchCount
		it.matchCount = m.countIn(it)
		m.total += it.matchCount - was
	}
	m.changed = m.changed[:0]
}

// forgetItem removes an item, whose index was i, from the search.
func (m *search) forgetItem(it *item, i int) {
	if !m.window.searching {
		return
	}
	m.total -= it.matchCount
	m.changed = slices.DeleteFunc(m.changed, func(c *item) bool { return c == it })
	if it == m.unfoldedItem {
		m.unfoldedItem = nil
	}
	if i == m.browser.cursor {
		m.browser.match = -1
	}
	if i < m.originItem {
		m.originItem--
	}
	if i < m.originTop.item {
		m.originTop.item--
	}
}

// chosenMatch returns the index of the selected match in item i, -1 for none. Rows may
// show fewer matches than the source contains, because link addresses may be hidden.
func (m *search) chosenMatch(i int) int {
	if i != m.browser.cursor {
		return -1
	}
	return min(m.browser.match, m.visibleMatches(m.list.items[i])-1)
}

// nearestMatch returns the index of the first item with a match from i on, else of the last
// one before it; -1 for none.
func (m *search) nearestMatch(i int) int {
	i = min(i, len(m.list.items))
	matches := func(it *item) bool { return it.matchCount > 0 }
	if n := slices.IndexFunc(m.list.items[i:], matches); n >= 0 {
		return i + n
	}
	for i--; i >= 0 && !matches(m.list.items[i]); i-- {
	}
	return i
}

// firstMatchFrom returns the index of the first match in item i at or below the row where the
// search began.
func (m *search) firstMatchFrom(i int) int {
	if it := m.list.items[i]; i == m.originTop.item && m.visibleMatches(it) == it.matchCount {
		for _, s := range m.spansOf(it) {
			if s.line >= m.originTop.line {
				return s.match
			}
		}
	}
	return 0
}

// nextMatch goes to the next match in a direction and wraps around. Without a search, or with
// direction 0, it repeats the last query. It returns false if there is no match.
func (m *search) nextMatch(direction int) bool {
	if !m.window.searching || direction == 0 {
		if m.last == "" {
			m.endSearch()
			return false
		}
		m.window.loadAllOlder()
		m.window.searching, m.typed = true, m.last
		m.countAll(newQuery(m.last))
		m.refitWindow()
	}
	m.recount()
	if m.total == 0 {
		return false
	}
	i, match := m.browser.cursor, m.browser.match+direction
	if m.browser.match < 0 {
		match = 0
		if direction < 0 {
			match = -1
		}
	}
	for match < 0 || match >= m.list.items[i].matchCount {
		if direction < 0 {
			i = (i + len(m.list.items) - 1) % len(m.list.items)
			match = m.list.items[i].matchCount - 1
			continue
		}
		i, match = (i+1)%len(m.list.items), 0
	}
	m.showMatch(i, match)
	return true
}

// showMatch scrolls to a match in item i, and unfolds the block if that hides it.
func (m *search) showMatch(i, match int) {
	it := m.list.items[i]
	if it != m.unfoldedItem {
		m.unfoldForMatch(nil)
	}
	m.browser.setCursor(i)
	m.browser.match = match
	if !m.window.fixTop() {
		return
	}
	if m.visibleMatches(it) < it.matchCount && (!m.window.isOpen(it) || m.window.isHidden(it)) {
		m.unfoldForMatch(it)
	}
	line, chosen := 0, m.chosenMatch(i)
	for _, s := range slices.Backward(m.spansOf(it)) {
		if s.match == chosen {
			line = s.line
		}
	}
	m.scrollIntoView(rowPos{i, line})
}

// unfoldForMatch unfolds it, which may be nil, and folds the block that it unfolded before.
func (m *search) unfoldForMatch(it *item) {
	if m.unfoldedItem == it {
		return
	}
	if m.unfoldedItem != nil {
		m.unfoldedItem.fold = m.oldFold
		m.unfoldedItem.dropLines()
	}
	if m.unfoldedItem = it; it != nil {
		m.oldFold = it.fold
		it.fold = foldOpen
		it.dropLines()
	}
	m.window.dirty = true
	m.window.clampTop()
}

// scrollIntoView scrolls p to a third of the window's height, unless p is already visible.
func (m *search) scrollIntoView(p rowPos) {
	bottom, inside := m.window.rowsDown(m.window.top, m.window.windowRows())
	if p.before(m.window.top) || inside && !p.before(bottom) {
		m.window.top = m.window.rowsUp(p, m.window.windowRows()/3)
	}
	m.window.finishMove()
}

// searchLine returns a slash and the end of the typed query that fits.
func (m *search) searchLine() string {
	line, room := m.typed, m.window.width-1-min(textwrap.Width(m.searchTally())+2, m.window.width/2)
	if over := textwrap.Width(line) - max(room-1, 0); over > 0 {
		line = ansi.TruncateLeft(line, over, "")
	}
	return "/" + line
}

// searchTally returns the index of the selected match and the number of matches, such as "2/5".
func (m *search) searchTally() string {
	switch {
	case len(m.query.runes) == 0 || m.typed == "":
		return ""
	case m.total == 0:
		return "not found"
	case m.browser.match < 0:
		return fmt.Sprintf("%d found", m.total)
	}
	n := m.browser.match + 1
	for _, it := range m.list.items[:m.browser.cursor] {
		n += it.matchCount
	}
	return fmt.Sprintf("%d/%d", min(n, m.total), m.total)
}

// writeSearchRow writes the search line, the last row.
func (m *Model) writeSearchRow() {
	line, tally := m.search.searchLine(), m.search.searchTally()
	room := m.window.width - textwrap.Width(line) - 1
	m.buf = append(m.buf, m.window.styler.apply(roleAccent, line[:1])...)
	m.buf = append(m.buf, line[1:]...)
	if tally = textwrap.Truncate(tally, max(room-1, 0)); tally != "" {
		m.buf = append(m.buf, strings.Repeat(" ", room-textwrap.Width(tally))...)
		m.buf = append(m.buf, m.window.styler.apply(roleDim, tally)...)
	}
}
