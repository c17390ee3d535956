package dialog

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// A scroll is a window on rows that may be more than it holds.
type scroll struct{ top int }

// key moves the window and reports whether msg is one of its keys.
func (s *scroll) key(msg tea.Msg, k Keys, total, visible int) bool {
	return s.step(msg, k, total, visible, visible)
}

// step does as key, with a page of its own length.
func (s *scroll) step(msg tea.Msg, k Keys, total, visible, page int) bool {
	page = max(page, 1)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			s.top -= 3
		case tea.MouseWheelDown:
			s.top += 3
		}
	case tea.KeyPressMsg:
		switch {
		case is(msg, k.Up):
			s.top--
		case is(msg, k.Down):
			s.top++
		case is(msg, k.PageUp):
			s.top -= page
		case is(msg, k.PageDown):
			s.top += page
		case is(msg, k.Top):
			s.top = 0
		case is(msg, k.Bottom):
			s.top = total
		default:
			return false
		}
	default:
		return false
	}
	s.fit(total, visible)
	return true
}

func (s *scroll) fit(total, visible int) { s.top = max(min(s.top, total-visible), 0) }

// A list is a window on rows of which one is selected.
type list struct {
	scroll
	at int // index of the selected row
}

// move changes the selection as a scroll does its top.
func (l *list) move(msg tea.Msg, k Keys, total, visible int) bool {
	sel := scroll{l.at}
	if !sel.step(msg, k, total, 1, visible-1) {
		return false
	}
	l.at = sel.top
	return true
}

// follow scrolls until row at is in sight.
func (l *list) follow(at, total, visible int) {
	l.top = max(min(l.top, at), at-visible+1)
	l.fit(total, visible)
}

const queryGap = 2

// queried returns a title line with what is typed behind the title, and a count at
// the right if there is room.
func (b *base) queried(title, count string, query *field) string {
	title = b.shortened(title, query)
	typed := query.shown(b.width - ansi.StringWidth(title) - queryGap)
	line := b.theme.Strong.Render(title)
	if typed != "" {
		line += strings.Repeat(" ", queryGap) + b.theme.Accent.Render(typed)
	}
	gap := b.width - ansi.StringWidth(line) - ansi.StringWidth(count)
	if gap < queryGap+1 { // the cursor wants a cell of its own
		return ansi.Truncate(line, b.width, "")
	}
	return line + strings.Repeat(" ", gap) + b.theme.Faint.Render(count)
}

// behind returns the column of the cursor in the line that queried draws.
func (b *base) behind(title string, query *field) int {
	x := ansi.StringWidth(b.shortened(title, query)) + queryGap
	x += ansi.StringWidth(query.shown(b.width - x))
	return min(x, max(b.width-1, 0))
}

// shortened leaves room behind title for what is typed, up to half of the row.
func (b *base) shortened(title string, query *field) string {
	typed := queryGap + ansi.StringWidth(sanitize.Line(query.text)) + 1 // the cursor
	return ansi.Truncate(sanitize.Line(title), max(b.width-typed, b.width/2, 1), "…")
}

const signWidth = 2 // of what stands before a row

// sign stands before a row.
func (b *base) sign(selected bool) string {
	if selected {
		return b.theme.Accent.Render("› ")
	}
	return "  "
}

// cells returns the width of s, which is one printable line.
func cells(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// longest sets how many bytes of a text are worth keeping of which a row is shown.
const longest = 1000

// short returns the beginning of s, printable on one line.
func short(s string) string { return sanitize.Line(clipped(s, longest)) }

// clipped returns the beginning of s, n bytes at most, and a sign if there is more.
func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// padded returns line with spaces up to width.
func padded(line string, width int) string {
	return line + strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
}

// A column is aligned to the right of the rows of a list. One without width is
// not shown.
type column struct{ wide, rank int }

// columns drops those that do not fit in room cells beside at least least
// others, the highest ranks first, and tells how many cells the others have.
func columns(room, least int, all ...column) (kept []column, rest int) {
	all = slices.Clone(all)
	for rank := range all {
		for i, c := range all {
			if c.rank != rank || c.wide == 0 {
				continue
			}
			if room-c.wide-columnGap < least {
				all[i].wide = 0
				continue
			}
			room -= c.wide + columnGap
		}
	}
	return all, room
}

// aligned writes one row of columns.
func aligned(kept []column, texts ...string) string {
	var out strings.Builder
	for i, c := range kept {
		if c.wide == 0 {
			continue
		}
		text := ansi.Truncate(texts[i], c.wide, "…")
		out.WriteString(strings.Repeat(" ", columnGap+max(c.wide-cells(text), 0)))
		out.WriteString(text)
	}
	return out.String()
}
