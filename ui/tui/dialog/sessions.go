package dialog

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A SessionRow describes a stored conversation, as texts for display.
type SessionRow struct {
	ID        string
	Title     string
	Model     string // provider/model
	Age       string // such as "2 h"
	Cost      string
	Directory string
	Preview   string // one line, shown until SetPreview is called
	Locked    string // who else has the conversation open; "" for nobody
	Pinned    bool   // listed before the others
	Current   bool   // open here; selected at the start
}

// A FoundRow is a message that a full-text search found.
type FoundRow struct {
	ID      string // session of the message
	Seq     int
	Title   string   // title of the session
	Snippet string   // one line
	Marks   [][2]int // byte ranges of matches in Snippet, in order
}

// SessionActions holds the actions of keys in a SessionList. Only Open and Fork end the list. It shows
// changes at once; SetRows can correct them.
type SessionActions struct {
	Open    func(id string, seq int) tea.Cmd // opens at a message unless seq is 0
	Fork    func(id string) tea.Cmd          // opens a copy
	Rename  func(id, title string) tea.Cmd   // title is not empty
	Pin     func(id string, on bool) tea.Cmd
	Trash   func(id string) tea.Cmd
	Restore func(id string) tea.Cmd          // undoes Trash
	Search  func(words string) tea.Cmd       // searches messages and calls SetMatches; words may be empty
	Preview func(id string, seq int) tea.Cmd // calls SetPreview, around a message unless seq is 0
}

// A SessionList lists the stored conversations, with a preview of the selected one. Typing filters
// them by title, directory and model. Below them are the messages from SetMatches.
type SessionList struct {
	base
	selectList
	Actions  SessionActions
	rows     []SessionRow // pinned first
	lower    []string     // title, directory and model of each row in lower case; nil before the first query
	widths   [3]int       // cells of the widest model, cost and age
	titles   fuzzy.Index  // set with lower
	hits     []sessionHit
	query    textField
	words    string // the query that produced hits
	matches  []FoundRow
	searched bool // matches are the results for words

	preview  preview
	trashed  []trashed // the last one is restored first
	note     string    // result of the last key; "" for none
	renaming string    // id of the conversation being renamed; "" for none
	name     textField // new title of that conversation
}

// A sessionHit is a matching row. marks holds the matching bytes of its title. It is nil if the row
// contains the words as typed.
type sessionHit struct {
	item  int
	marks []int
}

// A preview is the content of a conversation, around a message.
type preview struct {
	id    string
	seq   int
	lines []string // nil until SetPreview is called
}

// A trashed is a deleted row and its former index.
type trashed struct {
	row SessionRow
	at  int
}

// Sessions returns a list of conversations in the order of rows. When the dialog opens, the caller
// must run the command of RequestPreview.
func Sessions(rows []SessionRow, do SessionActions, th *theme.Theme) *SessionList {
	l := &SessionList{base: newBase(th), Actions: do}
	l.content = l
	l.SetRows(rows)
	return l
}

// SetQuery sets the query, as if it had been typed.
func (l *SessionList) SetQuery(words string) tea.Cmd {
	l.query.text = words
	return l.onQuery()
}

// SetRows replaces the rows. The query stays, and the selected conversation if it still exists. If
// the list was empty, the current conversation or the first one is selected.
func (l *SessionList) SetRows(rows []SessionRow) {
	id, none := "", l.total() == 0
	if r := l.row(); r != nil {
		id = r.ID
	}
	l.rows = slices.Clone(rows)
	for i := range l.rows {
		r := &l.rows[i]
		r.Title, r.Directory = printableRow(r.Title), printableRow(r.Directory)
		r.Model, r.Cost, r.Age = printableRow(r.Model), printableRow(r.Cost), printableRow(r.Age)
	}
	l.refresh(id)
	if none {
		l.top, l.selected = 0, max(slices.IndexFunc(l.hits, func(h sessionHit) bool { return l.words == "" && l.rows[h.item].Current }), 0)
	}
}

// refresh sorts and filters the rows after a change and selects id. If there is no such row, the
// selection stays at its index.
func (l *SessionList) refresh(id string) {
	message := l.selected - len(l.hits)
	sort.SliceStable(l.rows, func(i, j int) bool { return pinnedFirst(l.rows[i].Pinned, l.rows[j].Pinned) < 0 })
	l.widths = [3]int{}
	for _, r := range l.rows {
		for i, text := range [...]string{r.Model, r.Cost, r.Age} {
			l.widths[i] = max(l.widths[i], textwrap.Width(text))
		}
	}
	l.lower = nil
	l.filter()
	if message >= 0 {
		l.selected = len(l.hits) + message
	}
	if at := slices.IndexFunc(l.hits, func(h sessionHit) bool { return l.rows[h.item].ID == id }); at >= 0 {
		l.selected = at
	}
	l.selected = max(min(l.selected, l.total()-1), 0)
	if r := l.row(); r == nil || r.ID != l.renaming {
		l.renaming = ""
	}
	l.view = ""
}

// SetPreview shows lines as the preview of conversation id. It ignores a conversation that is no
// longer selected.
func (l *SessionList) SetPreview(id string, lines []string) {
	selected, seq := l.selection()
	if id != selected {
		return
	}
	l.preview, l.view = preview{id, seq, lines}, ""
}

// SetMatches shows messages that contain words below the conversations. It ignores them if the query
// has changed.
func (l *SessionList) SetMatches(words string, hits []FoundRow) {
	if words != l.words || words == "" {
		return
	}
	l.matches, l.searched, l.view = hits, true, ""
	l.selected = max(min(l.selected, l.total()-1), 0)
}

// RequestPreview returns a command that requests the preview of the selected conversation, or nil if
// it was already requested. Update calls it; after Sessions, SetRows and SetMatches the caller must.
func (l *SessionList) RequestPreview() tea.Cmd {
	id, seq := l.selection()
	if l.done || id == l.preview.id && seq == l.preview.seq {
		return nil
	}
	l.preview = preview{id: id, seq: seq}
	if id == "" {
		return nil
	}
	return l.Actions.Preview(id, seq)
}

// total returns the number of selectable rows.
func (l *SessionList) total() int { return len(l.hits) + len(l.matches) }

// row returns the selected conversation; nil if a message or nothing is selected.
func (l *SessionList) row() *SessionRow {
	if l.selected >= len(l.hits) {
		return nil
	}
	return &l.rows[l.hits[l.selected].item]
}

// selection returns the selected conversation, and the Seq of the selected message, 0 if none is
// selected. It returns "" and 0 if nothing is selected.
func (l *SessionList) selection() (id string, seq int) {
	if r := l.row(); r != nil {
		return r.ID, 0
	}
	if at := l.selected - len(l.hits); at < len(l.matches) {
		return l.matches[at].ID, l.matches[at].Seq
	}
	return "", 0
}

// filter finds the matching rows: first those that contain every word, in list order, then those
// whose titles match the letters, best first.
func (l *SessionList) filter() {
	l.hits = l.hits[:0]
	words := strings.Fields(strings.ToLower(l.words))
	if len(words) == 0 {
		for i := range l.rows {
			l.hits = append(l.hits, sessionHit{item: i})
		}
		return
	}
	if l.lower == nil {
		l.lower = make([]string, len(l.rows))
		for i, r := range l.rows {
			l.lower[i] = strings.ToLower(r.Title + "\n" + r.Directory + "\n" + r.Model)
		}
		l.titles = fuzzy.New(len(l.rows), func(i int) (title, also string) { return l.rows[i].Title, "" })
	}
	letters := fuzzy.Parse(strings.Join(words, ""))
	titled := l.titles.Find(nil, letters, func(i int) bool { return !fuzzy.ContainsAll(l.lower[i], words) })
	for i, text := range l.lower {
		if fuzzy.ContainsAll(text, words) {
			l.hits = append(l.hits, sessionHit{item: i})
		}
	}
	for _, h := range titled {
		title := l.rows[h.Item].Title
		if marks := l.titles.Marks(h.Item, title, letters); fuzzy.Initials(title, marks) {
			l.hits = append(l.hits, sessionHit{h.Item, marks})
		}
	}
}

// handle handles keys that move, filter, or change the selected conversation.
func (l *SessionList) handle(msg tea.Msg) tea.Cmd {
	cmd := l.update(msg)
	return tea.Batch(cmd, l.RequestPreview())
}

func (l *SessionList) update(msg tea.Msg) tea.Cmd {
	if l.renaming != "" {
		return l.rename(msg)
	}
	if press, ok := msg.(tea.KeyPressMsg); ok {
		l.note = ""
		for _, do := range []struct {
			keys keyName
			run  func() tea.Cmd
		}{
			{keyClose, func() tea.Cmd { return l.leave(Left{Typed: l.query.text}) }},
			{keyAccept, l.open}, {keyFork, l.fork},
			{keyRename, l.startRename}, {keyPin, l.pin},
			{keyTrash, l.trash}, {keyUndo, l.restore},
		} {
			if pressed(press, do.keys) {
				return do.run()
			}
		}
	}
	switch {
	case l.move(msg, scrollMode{}, l.total(), l.layout().visible):
	case l.query.key(msg):
		return l.onQuery()
	}
	return nil
}

// onQuery applies the query and sends it, if it has changed.
func (l *SessionList) onQuery() tea.Cmd {
	words := strings.TrimSpace(l.query.text)
	if words == l.words {
		return nil
	}
	l.words, l.matches, l.searched = words, nil, false
	l.selected, l.top = 0, 0
	l.filter()
	return l.Actions.Search(words)
}

func (l *SessionList) open() tea.Cmd {
	id, seq := l.selection()
	if id == "" {
		return nil
	}
	l.done = true
	return l.Actions.Open(id, seq)
}

func (l *SessionList) fork() tea.Cmd {
	id, _ := l.selection()
	if id == "" {
		return nil
	}
	l.done = true
	return l.Actions.Fork(id)
}

// titleOf returns the title of a conversation, or "untitled".
func titleOf(r SessionRow) string { return cmp.Or(r.Title, "untitled") }
