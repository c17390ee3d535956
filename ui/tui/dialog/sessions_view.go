package dialog

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

const (
	minSideWidth  = 100 // minimum width for a preview beside the list
	minTitleWidth = 30  // minimum cells for titles beside the columns
	widestModel   = 24
	ruleWidth     = 3  // cells between the list and its preview
	previewRows   = 4  // height of a preview below the list, including its rule
	minListRows   = 14 // minimum content rows, so that preview and messages fit below a short list
	sessionsTitle = "Conversations"
)

// A sessionLayout divides the content between the list and the preview.
type sessionLayout struct {
	width, visible int // of the list
	side, below    int // cells of a preview beside the list, or rows of one below it
}

func (l *SessionList) layout() sessionLayout {
	content := l.rowsAbove(1)
	switch {
	case l.width >= minSideWidth:
		side := l.width * 2 / 5
		return sessionLayout{width: l.width - side - ruleWidth, visible: content, side: side}
	case content >= 3*previewRows:
		return sessionLayout{width: l.width, visible: content - previewRows, below: previewRows}
	case content >= 2*previewRows-1:
		return sessionLayout{width: l.width, visible: content - previewRows + 1, below: previewRows - 1}
	}
	return sessionLayout{width: l.width, visible: content}
}

// wants ignores the query, so that the screen does not jump while the user types.
func (l *SessionList) wants() (above, inBand int) {
	rows := len(l.rows)
	if l.width < minSideWidth {
		rows += previewRows
	}
	return max(rows, minListRows), 1
}

func (l *SessionList) draw() (rows, inBand []string, foot string) {
	s := l.layout()
	if rows = l.window(s); s.side > 0 {
		rows = l.sideBySide(s, rows)
	} else {
		rows = append(rows, make([]string, max(s.visible-len(rows), 0))...)
	}
	if s.below > 0 {
		rows = append(rows, l.previewLines(l.width, s.below, true)...)
	}
	count := fmt.Sprint(len(l.rows))
	if len(l.hits) < len(l.rows) {
		count = fmt.Sprintf("%d of %d", len(l.hits), len(l.rows))
	}
	switch n := len(l.matches); {
	case n > 0 && len(l.hits) == 0:
		count = fmt.Sprintf("%d in messages", n)
	case n > 0:
		count += fmt.Sprintf(", %d in messages", n)
	}
	return rows, []string{l.queryLine(sessionsTitle, count, &l.query)}, l.foot()
}

// sideBySide puts the preview to the right of the list.
func (l *SessionList) sideBySide(s sessionLayout, content []string) []string {
	right := l.previewLines(s.side, s.visible, false)
	rule := l.theme.Faint.Render(" │ ")
	rows := make([]string, s.visible)
	for i := range rows {
		left, text := "", ""
		if i < len(content) {
			left = content[i]
		}
		if i < len(right) {
			text = right[i]
		}
		rows[i] = padRight(left, s.width) + rule + text
	}
	return rows
}

// place returns the row of the selection and the number of rows, counting the heading
// between conversations and messages.
func (l *SessionList) place() (row, total int) {
	row, total = l.selected, l.total()
	if len(l.matches) > 0 {
		total++
		if l.selected >= len(l.hits) {
			row++
		}
	}
	return row, total
}

// window returns the visible rows of the list.
func (l *SessionList) window(s sessionLayout) []string {
	at, total := l.place()
	if total == 0 {
		return []string{l.theme.Dim.Render(ansi.Truncate("  "+l.emptyText(), s.width, "…"))}
	}
	l.scrollTo(at, total, s.visible)
	columns := fitColumns(s.width-signWidth, max(s.width/2, minTitleWidth), column{min(l.widths[0], widestModel), 1}, column{l.widths[1], 2}, column{l.widths[2], 0})
	words := strings.Fields(strings.ToLower(l.words))
	var rows []string
	for i := l.top; i < min(l.top+s.visible, total); i++ {
		switch below := i - len(l.hits) - 1; {
		case below == -1:
			title := fmt.Sprintf("in messages · %d", len(l.matches))
			rows = append(rows, l.theme.Faint.Render(ansi.Truncate(title, s.width, "…")))
		case below >= 0:
			rows = append(rows, l.message(l.matches[below], s.width, i == at))
		default:
			rows = append(rows, l.conversation(l.hits[i], words, s.width, columns, i == at))
		}
	}
	return rows
}

// emptyText returns why the list is empty.
func (l *SessionList) emptyText() string {
	switch {
	case l.words == "":
		return "No conversations yet"
	case l.searched:
		return "Nothing found"
	}
	return "No title, folder or model matches"
}

// conversation returns the row of a conversation: sign, title, state, and the columns that fit.
func (l *SessionList) conversation(h sessionHit, words []string, width int, cols []column, selected bool) string {
	r := l.rows[h.item]
	if l.renaming == r.ID && selected {
		return ansi.Truncate(l.sign(true)+l.theme.Text.Render(l.name.visibleText(width-signWidth)), width, "")
	}
	style := l.theme.Text
	if selected {
		style = l.theme.Strong
	}
	right := alignColumns(cols, r.Model, r.Cost, r.Age)
	pin := pinSign(r.Pinned)
	room := width - signWidth - textwrap.Width(right) - len(pin)
	state := ""
	switch {
	case r.Current:
		state = " · current"
	case r.Locked != "":
		state = " · open elsewhere"
	}
	if room-textwrap.Width(state) < 8 {
		state = ""
	}
	title, marks := titleOf(r), h.marks
	if marks == nil {
		marks = fuzzy.Occurrences(title, words)
	}
	title = ansi.Truncate(highlight(title, marks, theme.NewSGR(style), matchSGR(l.theme)), max(room-textwrap.Width(state), 0), "…")
	line := l.sign(selected) + l.theme.Accent.Render(pin) + title + l.theme.Dim.Render(state)
	return ansi.Truncate(padRight(line, width-textwrap.Width(right))+l.theme.Faint.Render(right), width, "")
}

// message returns the row of a message: the title of its conversation and a snippet.
func (l *SessionList) message(f FoundRow, width int, selected bool) string {
	style := l.theme.Dim
	if selected {
		style = l.theme.Strong
	}
	most := max(width/3, 1)
	title := style.Render(ansi.Truncate(titleOf(SessionRow{Title: sanitize.Line(f.Title)}), most, "…"))
	line := l.sign(selected) + padRight(title, most) + "  "
	return ansi.Truncate(line+l.snippet(f, width-ansi.StringWidth(line)), width, "…")
}

// snippet returns the text of f with matches bold and underlined. It truncates the beginning if
// needed to show the first match.
func (l *SessionList) snippet(f FoundRow, room int) string {
	var out strings.Builder
	from, lead := 0, -1
	for _, m := range f.Marks {
		start, end := min(max(m[0], from), len(f.Snippet)), min(m[1], len(f.Snippet))
		if start >= end {
			continue
		}
		before, found := sanitize.Line(f.Snippet[from:start]), sanitize.Line(f.Snippet[start:end])
		if lead < 0 {
			lead = textwrap.Width(before) + textwrap.Width(found) - room
			if lead > 0 {
				before = ansi.TruncateLeft(before, min(lead+room/2, textwrap.Width(before)), "…")
			}
		}
		out.WriteString(l.theme.Text.Render(before))
		out.WriteString(theme.NewSGR(l.theme.Strong.Underline(true)).Apply(found))
		from = end
	}
	out.WriteString(l.theme.Text.Render(sanitize.Line(f.Snippet[from:])))
	return out.String()
}

// previewLines returns the preview of the selection in at most height rows: its facts, within a
// rule if ruled is set, then the content.
func (l *SessionList) previewLines(width, height int, ruled bool) []string {
	id, seq := l.selection()
	if id == "" {
		return nil
	}
	at := slices.IndexFunc(l.rows, func(r SessionRow) bool { return r.ID == id })
	var r SessionRow
	if at >= 0 {
		r = l.rows[at]
	}
	facts := []string{r.Directory, r.Model, r.Cost}
	if r.Locked != "" {
		facts = slices.Insert(facts, 0, "Open elsewhere: "+sanitize.Line(r.Locked))
	}
	head := format.Join(" · ", facts...)
	if ruled {
		if head != "" {
			head = ansi.Truncate("── "+head+" ", width, "…")
		}
		head += strings.Repeat("─", max(width-textwrap.Width(head), 0))
	}
	rows := []string{l.theme.Faint.Render(ansi.Truncate(head, width, "…"))}
	lines := []string{r.Preview}
	if l.preview.lines != nil && l.preview.id == id && l.preview.seq == seq {
		lines = l.preview.lines
	}
	most := width * height * utf8.UTFMax // bounds the wrapping of very long lines
	for _, text := range lines {
		for line := range strings.Lines(sanitize.TruncateBytes(text, most)) {
			if strings.TrimSpace(line) == "" {
				continue // saves space
			}
			for _, row := range textwrap.Lines(sanitize.Line(strings.TrimRight(line, "\r\n")), max(width, 1)) {
				if len(rows) >= height {
					return rows
				}
				rows = append(rows, l.theme.Dim.Render(ansi.Truncate(row, width, "")))
			}
		}
	}
	return rows
}

// foot returns the result of the last key, or the key hints.
func (l *SessionList) foot() string {
	switch {
	case l.renaming != "":
		return l.keyHints(keyAccept.hint("rename"), keyClose.hint("cancel"))
	case l.note != "":
		return l.theme.Text.Render(ansi.Truncate(l.note, l.footWidth(), "…"))
	}
	keys := []hint{keyClose.hint("close")}
	if len(l.trashed) > 0 {
		keys = append(keys, keyUndo.hint("undo"))
	}
	if l.total() > 0 {
		keys = slices.Insert(keys, 0, keyAccept.hint("open"))
		keys = append(keys, keyRename.hint("rename"), keyPin.hint("pin"), keyFork.hint("copy"), keyTrash.hint("delete"))
	}
	return l.keyHints(keys...)
}

// Cursor implements Dialog. The cursor is after the title being typed, or after the query.
func (l *SessionList) Cursor() (x, y int, ok bool) {
	if l.renaming == "" {
		return l.queryCursor(sessionsTitle, &l.query)
	}
	s := l.layout()
	at, total := l.place()
	l.scrollTo(at, total, s.visible)
	y = at - l.top
	x = signWidth + textwrap.Width(l.name.visibleText(s.width-signWidth))
	return max(min(x, l.width-1), 0), y, l.Height() > 0
}
