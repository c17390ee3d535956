package features

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// Results of the library. The screen never waits for the disk.
type (
	listedMsg struct {
		rows []session.Info
		err  error
	}
	foundMsg struct {
		words string
		hits  []session.Hit
		err   error
	}
	previewMsg struct {
		id    string
		lines []string
	}
)

// Sessions lists the stored conversations.
type Sessions struct {
	*panel.Deps
}

// Update handles results of the library, and reports whether msg is one.
func (f *Sessions) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.OpenMsg:
		if msg.Panel == string(app.PanelSessions) {
			return f.open(msg.Query), true
		}
	case listedMsg:
		return f.listed(msg), true
	case foundMsg:
		return f.found(msg), true
	case previewMsg:
		if list, ok := f.Current().(*dialog.SessionList); ok {
			list.SetPreview(msg.id, msg.lines)
		}
		return nil, true
	}
	return nil, false
}

// open lists the stored conversations, filtered by words.
func (f *Sessions) open(words string) tea.Cmd {
	lib := f.App.Library
	do := func(err func() error) tea.Cmd {
		return func() tea.Msg { return app.Failure{Err: err()} }
	}
	list := dialog.Sessions(nil, dialog.SessionActions{
		Open: func(id string, seq int) tea.Cmd {
			if f.Close(); id != f.App.Session.ID() {
				return f.Perform(f.App.OpenSession(id, seq))
			}
			f.Show(seq)
			return nil
		},
		Fork: func(id string) tea.Cmd {
			f.Close()
			return f.Perform(f.App.ForkSession(id, 0))
		},
		Rename:  func(id, title string) tea.Cmd { return do(func() error { return lib.Rename(id, title) }) },
		Pin:     func(id string, on bool) tea.Cmd { return do(func() error { return lib.Pin(id, on) }) },
		Trash:   func(id string) tea.Cmd { return do(func() error { return lib.Trash(id) }) },
		Restore: func(id string) tea.Cmd { return do(func() error { return lib.Restore(id) }) },
		Search:  f.search,
		Preview: f.preview,
	}, f.Theme)
	return tea.Batch(f.Open(list), list.SetQuery(words), f.list())
}

// list requests the stored conversations from the library.
func (f *Sessions) list() tea.Cmd {
	lib := f.App.Library
	return func() tea.Msg {
		rows, err := lib.List(session.Query{})
		return listedMsg{rows, err}
	}
}

func (f *Sessions) listed(msg listedMsg) tea.Cmd {
	list, ok := f.Current().(*dialog.SessionList)
	if !ok {
		return nil
	}
	now := f.Now()
	rows := make([]dialog.SessionRow, len(msg.rows))
	for i, s := range msg.rows {
		rows[i] = dialog.SessionRow{
			ID: s.ID, Title: wording.ListTitle(s), Model: s.Model, Age: format.Age(now.Sub(s.Updated)), Cost: format.Cost(s.Usage.Cost, s.Usage.Priced),
			Directory: f.App.AbbrevPath(s.Dir), Preview: s.Preview, Locked: s.LockedBy, Pinned: s.Pinned, Current: s.ID == f.App.Session.ID(),
		}
		if rows[i].Current {
			rows[i].Locked = ""
		}
	}
	list.SetRows(rows)
	var cmd tea.Cmd
	if msg.err != nil {
		cmd = f.ShowToast(format.ErrorText(msg.err))
	}
	return tea.Batch(list.RequestPreview(), cmd)
}

// search searches all messages for words.
func (f *Sessions) search(words string) tea.Cmd {
	if strings.TrimSpace(words) == "" {
		return nil
	}
	lib := f.App.Library
	return func() tea.Msg {
		hits, _, err := lib.Search(session.Query{Words: unfinished(words), Limit: 50, Recent: true})
		return foundMsg{words, hits, err}
	}
}

// unfinished returns a query whose last word is a prefix, because it is still being typed.
func unfinished(words string) string {
	front := strings.TrimRightFunc(words, func(r rune) bool { return unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) })
	if utf8.RuneCountInString(words[len(front):]) < 2 { // a single letter matches too much
		return words
	}
	return words + "*"
}

func (f *Sessions) found(msg foundMsg) tea.Cmd {
	list, ok := f.Current().(*dialog.SessionList)
	if !ok {
		return nil
	}
	rows := make([]dialog.FoundRow, len(msg.hits))
	for i, h := range msg.hits {
		rows[i] = dialog.FoundRow{ID: h.Session.ID, Seq: h.Seq, Title: wording.ListTitle(h.Session), Snippet: h.Snippet, Marks: h.Marks}
	}
	list.SetMatches(msg.words, rows)
	if msg.err != nil {
		return f.ShowToast(format.ErrorText(msg.err))
	}
	return nil
}

// preview reads a part of a conversation: its end, or the messages around a
// found message.
func (f *Sessions) preview(id string, seq int) tea.Cmd {
	lib := f.App.Library
	return func() tea.Msg {
		about, nodes, err := lib.Read(id)
		if err != nil && len(nodes) == 0 {
			return previewMsg{id, []string{format.ErrorText(err)}}
		}
		var lines []string
		for _, n := range previewNodes(about, nodes, seq) {
			text, _ := app.SplitPrompt(n.Message)
			if text = strings.TrimSpace(text); text != "" {
				who := map[llm.Role]string{llm.RoleUser: "you: "}[n.Role]
				lines = append(lines, who+text, "")
			}
		}
		return previewMsg{id, lines}
	}
}

// previewNodes returns a few messages: those around seq, or the last ones if seq is 0.
func previewNodes(about session.Info, nodes []session.Node, seq int) []session.Node {
	const few = 6
	if seq == 0 {
		seq = about.Head
	}
	var path []session.Node
	for i := seq; i > 0 && i <= len(nodes) && len(path) < few; i = nodes[i-1].Parent {
		if nodes[i-1].Role != llm.RoleTool && !nodes[i-1].Summary {
			path = append(path, nodes[i-1])
		}
	}
	slices.Reverse(path)
	return path
}
