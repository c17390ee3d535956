package dialog

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
)

// What a user changes of a stored conversation: its title, its place, and whether it is there.

func (l *SessionList) startRename() tea.Cmd {
	if r := l.row(); r != nil {
		l.renaming, l.name.text = r.ID, r.Title
	}
	return nil
}

// rename types a title. Enter keeps it, unless it is empty or the old one.
func (l *SessionList) rename(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && key.Matches(press, l.Keys.Close):
		l.renaming = ""
	case ok && key.Matches(press, l.Keys.Accept):
		said := SessionRename{l.renaming, strings.TrimSpace(sanitize.Line(l.name.text))}
		l.renaming = ""
		r := l.row()
		if said.Title == "" || said.Title == r.Title {
			return nil
		}
		r.Title = said.Title
		l.refresh(said.ID)
		return l.Say(said)
	default:
		l.name.key(msg, l.Keys.FieldKeys)
	}
	return nil
}

func (l *SessionList) pin() tea.Cmd {
	r := l.row()
	if r == nil {
		return nil
	}
	r.Pinned = !r.Pinned
	said := SessionPin{r.ID, r.Pinned}
	l.refresh(r.ID)
	return l.Say(said)
}

// trash deletes at once, which restore takes back.
func (l *SessionList) trash() tea.Cmd {
	r := l.row()
	switch {
	case r == nil:
		return nil
	case r.Current:
		l.note = "This conversation is open and cannot be deleted"
		return nil
	case r.Locked != "":
		l.note = "Open elsewhere, cannot be deleted: " + sanitize.Line(r.Locked)
		return nil
	}
	gone := trashed{*r, l.hits[l.selected].item}
	l.trashed = append(l.trashed, gone)
	l.rows = slices.Delete(l.rows, gone.at, gone.at+1)
	l.refresh("")
	l.note = "Deleted \"" + titleOf(gone.row) + "\" · " + l.Keys.Undo.Help().Key + " undo"
	return l.Say(SessionTrash{gone.row.ID})
}

// restore brings back what was deleted last.
func (l *SessionList) restore() tea.Cmd {
	if len(l.trashed) == 0 {
		return nil
	}
	back := l.trashed[len(l.trashed)-1]
	l.trashed = l.trashed[:len(l.trashed)-1]
	if !slices.ContainsFunc(l.rows, func(r SessionRow) bool { return r.ID == back.row.ID }) {
		l.rows = slices.Insert(l.rows, min(back.at, len(l.rows)), back.row)
	}
	l.refresh(back.row.ID)
	return l.Say(SessionRestore{back.row.ID})
}
