package dialog

import (
	"cmp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"parley/ui/fuzzy"
	"parley/ui/textwrap"
	"parley/ui/theme"
)

// A SessionRow is a stored conversation, ready to be shown.
type SessionRow struct {
	ID        string
	Title     string
	Model     string // provider/model
	Age       string // such as "2 h"
	Cost      string
	Directory string
	Preview   string // one line, shown until SetPreview brings more
	Locked    string // who else has it open; "" is nobody
	Pinned    bool   // stands before the others
	Current   bool   // is open here; selected at the start
}

// A FoundRow is a message that a full-text search found.
type FoundRow struct {
	ID      string // of its session
	Seq     int
	Title   string   // of its session
	Snippet string   // one line
	Marks   [][2]int // byte ranges of Snippet that were found, in order
}

// What a SessionList says. Only SessionChosen and SessionFork end it; after the
// others it shows already what they ask for, until SetRows says otherwise.
type (
	// SessionChosen opens a conversation, at the message Seq if that is not 0.
	SessionChosen struct {
		ID  string
		Seq int
	}
	// SessionFork opens a copy of a conversation.
	SessionFork struct{ ID string }
	// SessionRename gives a conversation another title, which is not empty.
	SessionRename struct{ ID, Title string }
	// SessionPin reports whether a conversation stands before the others.
	SessionPin struct {
		ID string
		On bool
	}
	// SessionTrash deletes a conversation; SessionRestore may follow.
	SessionTrash struct{ ID string }
	// SessionRestore brings back what SessionTrash deleted.
	SessionRestore struct{ ID string }
	// SessionFilter reports what is typed, so that messages that hold these words
	// can be given to Found. Without any there is nothing to search for.
	SessionFilter struct{ Words string }
	// PreviewRequest asks for SetPreview, around the message Seq if that is not 0.
	PreviewRequest struct {
		ID  string
		Seq int
	}
)

// A SessionList is the stored conversations, with what the selected one is
// about. Typing leaves those whose title, directory or model match, and below them
// the messages that Found brings.
type SessionList struct {
	base
	selectList
	rows     []SessionRow // pinned first
	lower    []string     // title, directory and model of rows in lower case; nil: not needed yet
	widths   [3]int       // cells of the widest model, cost and age
	titles   fuzzy.Index  // made with lower
	hits     []sessionHit
	query    textField
	words    string // by which hits were found
	matches  []FoundRow
	searched bool // found is what there is for words

	preview  preview
	trashed  []trashed // the last one can be brought back first
	note     string    // what was just done, or why not
	renaming string    // id of the conversation that is to be called name
	name     textField
}

// A sessionHit row matches, by the bytes of its title in marks; those are nil where
// the words stand as they were typed.
type sessionHit struct {
	item  int
	marks []int
}

// A preview is the content of a conversation, around a message.
type preview struct {
	id    string
	seq   int
	lines []string // nil: did not come yet
}

// A trashed row was deleted, and stood at an index.
type trashed struct {
	row SessionRow
	at  int
}

// Sessions lists conversations in the order of rows. Send what Want returns when
// it opens.
func Sessions(rows []SessionRow, th *theme.Theme) *SessionList {
	l := &SessionList{base: newBase(th)}
	l.SetRows(rows)
	return l
}

// SetQuery writes words, as if they had been typed.
func (l *SessionList) SetQuery(words string) tea.Cmd {
	l.query.text = words
	return l.onQuery()
}

// SetRows replaces the rows. What is typed stays, and so does the selection where
// its conversation is still there. Where there was none, it is the current
// conversation, or what stands first.
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

// refresh follows a change of rows: it sorts, filters and selects id anew; what
// is selected by its place if there is no such row.
func (l *SessionList) refresh(id string) {
	message := l.selected - len(l.hits)
	slices.SortStableFunc(l.rows, func(a, b SessionRow) int { return pinnedFirst(a.Pinned, b.Pinned) })
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

// SetPreview shows the content of the selected conversation; that of another one
// comes too late and is dropped.
func (l *SessionList) SetPreview(id string, lines []string) {
	selected, seq := l.selection()
	if id != selected {
		return
	}
	l.preview, l.view = preview{id, seq, lines}, ""
}

// SetMatches shows messages below the conversations that match, unless other words
// have been typed since they were searched for.
func (l *SessionList) SetMatches(words string, hits []FoundRow) {
	if words != l.words || words == "" {
		return
	}
	l.matches, l.searched, l.view = hits, true, ""
	l.selected = max(min(l.selected, l.total()-1), 0)
}

// RequestPreview asks for the preview of the selected conversation, once; nil if it was
// asked for. Update does so by itself; Sessions, SetRows and Found cannot.
func (l *SessionList) RequestPreview() tea.Cmd {
	id, seq := l.selection()
	if l.done || id == l.preview.id && seq == l.preview.seq {
		return nil
	}
	l.preview = preview{id: id, seq: seq}
	if id == "" {
		return nil
	}
	return func() tea.Msg { return PreviewRequest{id, seq} }
}

// total returns how many rows can be selected.
func (l *SessionList) total() int { return len(l.hits) + len(l.matches) }

// row returns the selected conversation, nil if that is a message or nothing.
func (l *SessionList) row() *SessionRow {
	if l.selected >= len(l.hits) {
		return nil
	}
	return &l.rows[l.hits[l.selected].item]
}

// selection returns the conversation that is selected, and the message if it is one.
func (l *SessionList) selection() (id string, seq int) {
	if r := l.row(); r != nil {
		return r.ID, 0
	}
	if at := l.selected - len(l.hits); at < len(l.matches) {
		return l.matches[at].ID, l.matches[at].Seq
	}
	return "", 0
}

// filter finds the rows that match: first those that hold every word as it was
// typed, in their order, then those whose titles have the letters, the best
// first.
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

// Update moves, types, and does things to the selected conversation.
func (l *SessionList) Update(msg tea.Msg) tea.Cmd {
	if l.done {
		return nil
	}
	l.view = ""
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
			keys key.Binding
			run  func() tea.Cmd
		}{
			{l.Keys.Close, func() tea.Cmd { return l.answer(ClosedMsg{Typed: l.query.text}) }},
			{l.Keys.Accept, l.open}, {l.Keys.Fork, l.fork},
			{l.Keys.Rename, l.startRename}, {l.Keys.Pin, l.pin},
			{l.Keys.Trash, l.trash}, {l.Keys.Undo, l.restore},
		} {
			if key.Matches(press, do.keys) {
				return do.run()
			}
		}
	}
	switch {
	case l.move(msg, l.Keys.ScrollKeys, l.total(), l.layout().visible):
	case l.query.key(msg, l.Keys.FieldKeys):
		return l.onQuery()
	}
	return nil
}

// onQuery filters, and says by what if that has changed.
func (l *SessionList) onQuery() tea.Cmd {
	words := strings.TrimSpace(l.query.text)
	if words == l.words {
		return nil
	}
	l.words, l.matches, l.searched = words, nil, false
	l.selected, l.top = 0, 0
	l.filter()
	return l.Say(SessionFilter{words})
}

func (l *SessionList) open() tea.Cmd {
	id, seq := l.selection()
	if id == "" {
		return nil
	}
	return l.answer(SessionChosen{id, seq})
}

func (l *SessionList) fork() tea.Cmd {
	id, _ := l.selection()
	if id == "" {
		return nil
	}
	return l.answer(SessionFork{id})
}

// titleOf names a conversation that may not have a title yet.
func titleOf(r SessionRow) string { return cmp.Or(r.Title, "untitled") }
