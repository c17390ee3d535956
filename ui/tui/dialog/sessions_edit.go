package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/tools/sanitize"
)

// Changes to stored conversations: title, pin, deletion.

func (l *SessionList) startRename() tea.Cmd {
	if r := l.row(); r != nil {
		l.renaming, l.name.text = r.ID, r.Title
	}
	return nil
}

// rename handles keys while a title is typed. Enter applies it, unless it is empty or unchanged.
func (l *SessionList) rename(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	switch {
	case ok && pressed(press, keyClose):
		l.renaming = ""
	case ok && pressed(press, keyAccept):
		title, r := strings.TrimSpace(sanitize.Line(l.name.text)), l.row()
		l.renaming = ""
		if title == "" || title == r.Title {
			return nil
		}
		id := r.ID
		r.Title = title
		l.refresh(id)
		return l.Actions.Rename(id, title)
	default:
		l.name.key(msg)
	}
	return nil
}

func (l *SessionList) pin() tea.Cmd {
	r := l.row()
	if r == nil {
		return nil
	}
	id, on := r.ID, !r.Pinned
	r.Pinned = on
	l.refresh(id)
	return l.Actions.Pin(id, on)
}

// trash deletes the selected conversation at once; restore undoes it.
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
	l.note = "Deleted \"" + titleOf(gone.row) + "\" · " + keyUndo.String() + " undo"
	return l.Actions.Trash(gone.row.ID)
}

// restore restores the most recently deleted conversation.
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
	return l.Actions.Restore(back.row.ID)
}
