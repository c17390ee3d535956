package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A PageKey is a key that the owner of a Pager or a Picker adds, in place of a key of theirs.
type PageKey struct {
	Key, Help string
	Do        func() tea.Cmd
}

// types reports whether the key types a letter where text is typed.
func (a PageKey) types() bool { return len(a.Key) == 1 }

// A Pager shows text of any length in parts. The user can scroll, search, unfold lines and copy.
type Pager struct {
	base
	selectList
	Actions []PageKey
	Back    func() tea.Cmd // called on close to return to the previous dialog; nil to leave

	title, note string
	parts       []format.Part
	open        map[[2]int]bool // unfolded lines, by part and line
	lines       []paged
	rows        []pageRow // lines, wrapped to layoutWidth
	layoutWidth int       // -1 if lines must be collected again

	query     textField
	typing    bool   // the query is being typed
	lastQuery string // the last searched query; "" for none
	message   string // result of the last key; "" for none
}

// Pages returns a pager that shows parts.
func Pages(title string, parts []format.Part, th *theme.Theme) *Pager {
	p := &Pager{base: newBase(th), title: title, open: map[[2]int]bool{}, layoutWidth: -1}
	p.content, p.parts = p, parts
	return p
}

// Wide marks the pager as a dialog that uses the full width.
func (*Pager) Wide() {}

// SetParts replaces the parts and the note beside the title. The cursor stays on its line, or at the
// end if it was there.
func (p *Pager) SetParts(note string, parts []format.Part) {
	p.layOut()
	end := p.AtEnd()
	part, line, row := p.place()
	p.note, p.parts, p.layoutWidth, p.view = note, parts, -1, ""
	p.layOut()
	if end {
		p.selected = max(len(p.rows)-1, 0)
		return
	}
	p.goTo(part, line, row)
}

// AtEnd reports whether the cursor is on the last row, so that SetParts follows added text.
func (p *Pager) AtEnd() bool {
	p.layOut()
	return len(p.rows) > 0 && p.selected == len(p.rows)-1
}

// GoToEnd puts the cursor on the last row.
func (p *Pager) GoToEnd() {
	p.layOut()
	p.selected, p.view = max(len(p.rows)-1, 0), ""
}

// Line returns the index of the line under the cursor in its part; negative for a heading.
func (p *Pager) Line() int {
	p.layOut()
	_, line, _ := p.place()
	return line
}

// GoToLine puts the cursor on a line of the first part, and keeps its height on the screen.
func (p *Pager) GoToLine(line int) {
	p.layOut()
	down := p.selected - p.top
	p.goTo(0, line, 0)
	p.top, p.view = max(p.selected-down, 0), ""
}

// SetTheme changes the theme.
func (p *Pager) SetTheme(th *theme.Theme) {
	p.base.SetTheme(th)
	p.layoutWidth = -1
}

// SetSize sets the width and the maximum height.
func (p *Pager) SetSize(width, height int) {
	if !p.resize(width, height) {
		return
	}
	part, line, _ := p.place()
	p.layOut()
	p.goTo(part, line, 0)
}

// wants returns the maximum: the pager fills the screen.
func (p *Pager) wants() (above, inBand int) { return p.height, 1 }

// Cursor implements Dialog. The cursor is after the query.
func (p *Pager) Cursor() (x, y int, ok bool) {
	if !p.typing || p.height == 0 || p.width == 0 {
		return 0, 0, false
	}
	return min(p.edge()+1+textwrap.Width(p.query.visibleText(p.footWidth()-1)), p.width-1), p.height - 1, true
}

// handle handles keys that scroll, search, unfold, copy or close.
func (p *Pager) handle(msg tea.Msg) tea.Cmd {
	p.layOut()
	if p.typing {
		p.updateQuery(msg)
		return nil
	}
	press, isKey := msg.(tea.KeyPressMsg)
	if isKey {
		p.message = ""
	}
	for _, act := range p.Actions {
		if isKey && press.String() == act.Key {
			return act.Do()
		}
	}
	if p.handleScroll(msg) || !isKey {
		return nil
	}
	part := 0
	if len(p.rows) > 0 {
		part = p.lines[p.rows[p.selected].line].part
	}
	switch name := press.String(); {
	case pressed(press, keyClose), name == "q", pressed(press, keyAccept) && !p.folds():
		if p.Back != nil {
			return p.Back()
		}
		return p.leave(Left{})
	case pressed(press, keyAccept):
		p.toggle()
	case pressed(press, keyNext), name == "]":
		p.jump(1)
	case pressed(press, keyPrevious), name == "[":
		p.jump(-1)
	case name == "/":
		p.typing, p.query.text = true, ""
	case name == "n":
		p.find(1)
	case name == "N":
		p.find(-1)
	case name == "y" && len(p.parts) > 0:
		return p.root.Copy(p.parts[part].Source, strings.ToLower(p.parts[part].Title))
	case name == "Y" && len(p.rows) > 0:
		return p.root.Copy(p.wholeLine(p.rows[p.selected].line), "line")
	}
	return nil
}

// pagerKey returns the dialog key with the same effect as a key of less or vi, 0 for any other key.
func pagerKey(key string) rune {
	switch key {
	case "j":
		return tea.KeyDown
	case "k":
		return tea.KeyUp
	case "d":
		return tea.KeyPgDown
	case "u":
		return tea.KeyPgUp
	case "g":
		return tea.KeyHome
	}
	return 0
}

// handleScroll moves the cursor, and reports whether msg is a scroll message.
func (p *Pager) handleScroll(msg tea.Msg) bool {
	visible := max(p.visible(), 1)
	if turn, wheel := msg.(tea.MouseWheelMsg); wheel {
		p.window.key(msg, scrollMode{}, len(p.rows), visible)
		p.selected = max(min(p.selected, p.top+visible-1), p.top)
		if turn.Button == tea.MouseWheelDown && p.top+visible >= len(p.rows) {
			p.selected = max(len(p.rows)-1, 0) // so that SetParts follows the end
		}
		return true
	}
	if press, ok := msg.(tea.KeyPressMsg); ok {
		if code := pagerKey(press.String()); code != 0 {
			msg = tea.KeyPressMsg{Code: code}
		}
	}
	return p.move(msg, scrollMode{reading: true}, len(p.rows), visible)
}

// updateQuery handles input while the query is typed.
func (p *Pager) updateQuery(msg tea.Msg) {
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && pressed(press, keyClose):
		p.typing = false
	case ok && pressed(press, keyAccept):
		p.typing = false
		if p.query.text != "" {
			p.lastQuery = p.query.text
		}
		p.find(1)
	default:
		p.query.key(msg)
	}
}

// jump goes to the next heading in direction by.
func (p *Pager) jump(by int) {
	for at := p.selected + by; at >= 0 && at < len(p.rows); at += by {
		if p.lines[p.rows[at].line].heading() {
			p.selected, p.top = at, at
			return
		}
	}
}

// folds reports whether any line is abbreviated. If none is, enter closes the pager.
func (p *Pager) folds() bool {
	return slices.ContainsFunc(p.lines, func(l paged) bool { return l.fold != ' ' })
}

// toggle unfolds or folds the line under the cursor.
func (p *Pager) toggle() {
	if len(p.rows) == 0 {
		return
	}
	l := p.lines[p.rows[p.selected].line]
	if p.full(l) == "" {
		p.message = "This line is shown in full"
		return
	}
	p.unfold(l.part, l.line, !p.open[[2]int{l.part, l.line}])
}

func (p *Pager) unfold(part, line int, open bool) {
	p.open[[2]int{part, line}] = open
	p.layoutWidth = -1
	p.layOut()
	p.goTo(part, line, 0)
	n := 0
	for _, r := range p.rows[p.selected:] {
		if l := p.lines[r.line]; l.part != part || l.line != line {
			break
		}
		n++
	}
	visible := p.visible()
	p.top = max(p.top, p.selected+min(n, visible)-visible) // show the unfolded rows
}

// find goes to the next match after the cursor, or before it if by is -1.
func (p *Pager) find(by int) {
	if p.lastQuery == "" {
		p.message = "/ searches"
		return
	}
	if len(p.rows) == 0 {
		return
	}
	n, from := len(p.lines), p.rows[p.selected].line
	for i := 1; i <= n; i++ {
		at := ((from+by*i)%n + n) % n
		l := p.lines[at]
		if offset := found(l.text, p.lastQuery); offset >= 0 {
			p.show(at, offset)
			return
		}
		if !p.open[[2]int{l.part, l.line}] && found(p.full(l), p.lastQuery) >= 0 { // the match is in folded text
			p.unfold(l.part, l.line, true)
			for at := p.rows[p.selected].line; at < len(p.lines) && p.lines[at].line == l.line && p.lines[at].part == l.part; at++ {
				if offset := found(p.lines[at].text, p.lastQuery); offset >= 0 {
					p.show(at, offset)
					return
				}
			}
			return
		}
	}
	p.message = "Not found: " + p.lastQuery
}
