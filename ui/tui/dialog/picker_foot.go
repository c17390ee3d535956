package dialog

import (
	"cmp"
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"parley/ui/format"
	"parley/ui/textwrap"
)

// foot returns the key hints, or details of the selected item that do not fit its row.
func (p *Picker) foot(t table) string {
	if unsaid := p.hiddenDetail(t); unsaid != "" {
		style := p.theme.Dim
		if p.message != "" || p.hasSelection() && unsaid == p.item(p.hits[p.list.selected]).Unavailable {
			style = p.theme.Warn
		}
		return style.Render(ansi.Truncate(unsaid, p.footWidth(), "…"))
	}
	var keys []hint
	switch {
	case p.hasSelection():
		keys = append(keys, keyAccept.hint("choose"))
	case len(p.hits) > 0:
		keys = append(keys, keyDown.hint("select"))
	}
	for _, a := range p.Actions {
		if p.hasSelection() && (p.query.text == "" || !a.types()) {
			keys = append(keys, keyHint(a.Key, a.Help))
		}
	}
	if p.Marks.Pin != nil && len(p.hits) > 0 {
		keys = append(keys, keyFavorite.hint("favorite"), keyHide.hint("hide"))
	}
	if p.Marks.Pin != nil && p.hidden > 0 {
		show := fmt.Sprintf("show hidden (%d)", p.hidden)
		if p.showHidden {
			show = fmt.Sprintf("hide hidden (%d)", p.hidden)
		}
		keys = append(keys, keyShowHidden.hint(show))
	}
	keys = append(keys, keyClose.hint("close"))
	if p.commands && len(p.hits) > 0 {
		keys = append(keys, keyFill.hint("fill in"))
	}
	return p.keyHints(keys...)
}

// listsArgs reports whether the arguments of a command are listed.
func (p *argSet) listsArgs() bool { return p.completing }

// hiddenDetail returns the message of the last key, or a detail of the selected item that fits neither
// its row nor its heading: why it is unavailable, its note or its details; "" if all fits.
func (p *Picker) hiddenDetail(t table) string {
	if p.message != "" || !p.hasSelection() {
		return cmp.Or(p.message, p.elsewhere())
	}
	item := p.item(p.hits[p.list.selected])
	if len(p.Columns) == 0 {
		said := format.Join(" · ", item.Detail, item.Unavailable)
		title := min(textwrap.Width(item.Title), item.titleCells(p.width-signWidth))
		room := p.width - signWidth - max(min(p.titleWidth, p.width/2), title) - columnGap
		if key := item.shownKey(p.width); key != "" {
			room -= textwrap.Width(key) + columnGap
		}
		switch {
		case textwrap.Width(said) <= room:
			return ""
		case item.Unavailable != "" && textwrap.Width(item.Detail) <= room:
			return item.Unavailable
		}
		return said
	}
	if item.Unavailable == "" && textwrap.Width(item.Note) > t.note {
		return item.Note
	}
	room, said := p.reasonWidth(item), item.Unavailable
	if common := p.groupReasons[item.Group]; p.hasGroups() && common != "" {
		room, said = t.title+signWidth, item.Group+" · "+common
	}
	if textwrap.Width(said) <= room {
		return ""
	}
	return item.Unavailable
}
