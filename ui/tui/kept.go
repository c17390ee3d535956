package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
)

// What the library answered. The screen never waits for the disk.
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
	savedMsg struct{ err error }
)

// sessions lists the stored conversations, with words typed into the list.
func (m *Model) sessions(words string) tea.Cmd {
	list := dialog.Sessions(nil, m.theme)
	return tea.Batch(m.open(list), list.SetQuery(words), m.list())
}

// list asks the library what there is.
func (m *Model) list() tea.Cmd {
	lib := m.app.Library
	return func() tea.Msg {
		rows, err := lib.List(session.Query{})
		return listedMsg{rows, err}
	}
}

func (m *Model) listed(msg listedMsg) tea.Cmd {
	list, ok := m.dialog.(*dialog.SessionList)
	if !ok {
		return nil
	}
	now := m.now()
	rows := make([]dialog.SessionRow, len(msg.rows))
	for i, s := range msg.rows {
		rows[i] = dialog.SessionRow{
			ID: s.ID, Title: app.Title(s), Model: s.Model, Age: format.Age(now.Sub(s.Updated)), Cost: format.Cost(s.Usage.Cost, s.Usage.Priced),
			Folder: m.app.Short(s.Dir), Preview: s.Preview, Locked: s.LockedBy, Pinned: s.Pinned, Current: s.ID == m.app.Session.ID(),
		}
		if rows[i].Current {
			rows[i].Locked = ""
		}
	}
	list.SetRows(rows)
	m.layout()
	var cmd tea.Cmd
	if msg.err != nil {
		cmd = m.say(msg.err.Error())
	}
	return tea.Batch(list.RequestPreview(), cmd)
}

// search looks for words in everything that was said.
func (m *Model) search(words string) tea.Cmd {
	if strings.TrimSpace(words) == "" {
		return nil
	}
	lib := m.app.Library
	return func() tea.Msg {
		hits, err := lib.Search(session.Query{Words: words, Limit: 50})
		return foundMsg{words, hits, err}
	}
}

func (m *Model) found(msg foundMsg) tea.Cmd {
	list, ok := m.dialog.(*dialog.SessionList)
	if !ok {
		return nil
	}
	rows := make([]dialog.FoundRow, len(msg.hits))
	for i, h := range msg.hits {
		rows[i] = dialog.FoundRow{ID: h.Session.ID, Seq: h.Seq, Title: app.Title(h.Session), Snippet: h.Snippet, Marks: h.Marks}
	}
	list.SetMatches(msg.words, rows)
	m.layout()
	if msg.err != nil {
		return m.say(msg.err.Error())
	}
	return nil
}

// preview reads what a conversation is about: its end, or what stands around a
// message that was found.
func (m *Model) preview(id string, seq int) tea.Cmd {
	lib := m.app.Library
	return func() tea.Msg {
		about, nodes, err := lib.Read(id)
		if err != nil && len(nodes) == 0 {
			return previewMsg{id, []string{err.Error()}}
		}
		var lines []string
		for _, n := range glance(about, nodes, seq) {
			text, _ := attach.SplitMessage(n.Message)
			if text = strings.TrimSpace(text); text != "" {
				who := map[llm.Role]string{llm.RoleUser: "you: "}[n.Role]
				lines = append(lines, who+text, "")
			}
		}
		return previewMsg{id, lines}
	}
}

// glance is a few messages: those around seq, or the last ones.
func glance(about session.Info, nodes []session.Node, seq int) []session.Node {
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

// saved tells that what is said cannot be kept, for as long as that is so.
func (m *Model) saved(err error) tea.Cmd {
	was := m.unsaved
	m.unsaved = err
	var lost *session.LeaseLostError
	switch {
	case errors.As(err, &lost):
		m.unsaved = nil
		m.chat.show(llm.Notice{Text: fmt.Sprintf("another parley took this conversation over while this one was stopped: going on in a copy, %s", lost.Fork)})
	case err != nil && was == nil:
		m.chat.show(llm.Notice{Text: "not saved: " + err.Error() + ". The chat goes on; what is said is kept in memory and saved as soon as that works again"})
	case err == nil && was != nil:
		return m.say("saved: everything is on disk again")
	}
	return nil
}

// rewrites reports whether what is written stands in the place of an answer.
func (m *Model) rewrites() bool {
	n, err := m.app.Session.At(m.editing)
	return m.editing > 0 && err == nil && n.Role == llm.RoleAssistant
}

// usage shows what was spent.
func (m *Model) usage() tea.Cmd {
	lib, now, own := m.app.Library, m.now(), m.app.Session.ID()
	total, last := m.app.Session.Usage()
	return func() tea.Msg {
		spent, err := lib.DailyUsage(now.AddDate(0, 0, -30), time.Time{}, false)
		return spentMsg{spent: spent, err: err, total: total, last: last, id: own}
	}
}

type spentMsg struct {
	spent       []session.DailyUsage
	err         error
	total, last llm.Usage
	id          string
}

func (m *Model) spent(msg spentMsg) tea.Cmd {
	s := dialog.UsageReport{Title: "Usage, the last 30 days"}
	line := func(name string, u llm.Usage) {
		if u == (llm.Usage{}) {
			return
		}
		words := []string{format.Tokens(u.Input) + " in", app.Cached(u), format.Tokens(u.Output) + " out", format.Cost(u.Cost, u.Priced)}
		s.Lines = append(s.Lines, name+": "+strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · "))
	}
	line("last answer", msg.last)
	line("this conversation", msg.total)
	today, _ := sum(msg.spent, func(r session.DailyUsage) bool { return r.Day == m.now().Format(time.DateOnly) })
	line("today", today)
	month, unpriced := sum(msg.spent, func(session.DailyUsage) bool { return true })
	line("30 days", month)
	if missed := m.missed(); missed != "" {
		s.Lines = append(s.Lines, missed)
	}
	if unpriced > 0 {
		s.Note = fmt.Sprintf("%d answers have no known price and are not in the sums", unpriced)
	}
	if msg.err != nil {
		s.Note = msg.err.Error()
	}
	s.Days, s.Models = spendRows(msg.spent, func(r session.DailyUsage) string { return r.Day }), spendRows(msg.spent, func(r session.DailyUsage) string { return r.Model })
	return m.open(dialog.Usage(s, m.theme))
}

func sum(rows []session.DailyUsage, which func(session.DailyUsage) bool) (u llm.Usage, unpriced int) {
	for _, r := range rows {
		if which(r) {
			u = u.Add(r.Usage)
			unpriced += r.Unpriced
		}
	}
	return u, unpriced
}

func spendRows(spent []session.DailyUsage, group func(session.DailyUsage) string) []dialog.UsageRow {
	names, sums := app.SumUsage(spent, group)
	var rows []dialog.UsageRow
	for _, name := range names {
		u := sums[name].Usage
		rows = append(rows, dialog.UsageRow{
			Label: name, Tokens: format.Tokens(u.Input + u.Output), Cached: app.Cached(u), Cost: costOf(sums[name]), Amount: u.Cost,
		})
	}
	return rows
}

// costOf is what a row of the usage cost: answers of unknown price are not in it.
func costOf(s session.DailyUsage) string {
	switch cost := format.Cost(s.Usage.Cost, s.Usage.Priced); {
	case s.Unpriced == 0 && cost == "":
		return "free"
	case cost == "":
		return "unknown"
	default:
		return cost
	}
}

// missed says what the prompt cache did not do for this conversation: an answer
// by the same model soon after another one could have read that one's prompt
// from it.
func (m *Model) missed() string {
	const lives = 5 * time.Minute // the shortest a provider keeps a prompt
	var tokens int
	var cost float64
	var before session.Node
	for _, n := range m.app.Session.Path() {
		if n.Usage == nil || n.Summary {
			continue
		}
		if before.Usage != nil && before.Model == n.Model && n.At.Sub(before.At) < lives && before.Usage.CacheRead+before.Usage.CacheWrite+n.Usage.CacheRead > 0 {
			gap := max(min(before.Usage.Input, n.Usage.Input)-n.Usage.CacheRead, 0)
			full, cached := m.app.Price(n.Model)
			tokens += gap
			cost += float64(gap) * max(full-cached, 0) / 1e6
		}
		before = n
	}
	if tokens < 1000 {
		return ""
	}
	text := "missed by the cache here: " + format.Tokens(tokens)
	if cost > 0 {
		text += fmt.Sprintf(" · about $%.4f more", cost)
	}
	return text
}

// permissions lists the rules about tools, to be looked at and taken away.
func (m *Model) permissions() tea.Cmd {
	var rows []dialog.PermissionRow
	for _, r := range m.app.Session.Policy().Rules() {
		row := dialog.PermissionRow{Rule: r.String(), Effect: string(r.Effect), From: string(r.Source), Folder: m.app.Short(r.Workspace)}
		if r.Workspace == "" {
			row.Folder = ""
		}
		if row.From == "config" {
			row.File = m.app.Short(m.app.ConfigFile)
		}
		rows = append(rows, row)
	}
	return m.open(dialog.Permissions(rows, m.theme))
}

// revoke takes a rule away.
func (m *Model) revoke(row dialog.PermissionRow) tea.Cmd {
	policy := m.app.Session.Policy()
	for _, r := range policy.Rules() {
		if r.String() == row.Rule && string(r.Effect) == row.Effect && string(r.Source) == row.From && (r.Workspace == "" && row.Folder == "" || m.app.Short(r.Workspace) == row.Folder) {
			policy.Remove(r)
			return m.say("it asks again")
		}
	}
	return nil
}

// chosen acts on what a user did in the list of conversations, or of branches.
func (m *Model) chosen(msg tea.Msg) (tea.Cmd, bool) {
	lib := m.app.Library
	do := func(f func() error) tea.Cmd {
		return func() tea.Msg { return effectMsg{Err: f()} }
	}
	leave := func(e app.Effect) tea.Cmd {
		m.dialog = nil
		m.layout()
		return m.perform(e)
	}
	switch msg := msg.(type) {
	case dialog.SessionChosen:
		if msg.ID == m.app.Session.ID() {
			cmd := leave(app.Effect{})
			m.chat.transcript.Show(msg.Seq)
			return tea.Batch(cmd, m.askNext()), true
		}
		return leave(m.app.OpenSession(msg.ID, msg.Seq)), true
	case dialog.SessionFork:
		return leave(m.app.ForkSession(msg.ID, 0)), true
	case dialog.SessionRename:
		return do(func() error { return lib.Rename(msg.ID, msg.Title) }), true
	case dialog.SessionPin:
		return do(func() error { return lib.Pin(msg.ID, msg.On) }), true
	case dialog.SessionTrash:
		return do(func() error { return lib.Trash(msg.ID) }), true
	case dialog.SessionRestore:
		return do(func() error { return lib.Restore(msg.ID) }), true
	case dialog.SessionFilter:
		return m.search(msg.Words), true
	case dialog.PreviewRequest:
		return m.preview(msg.ID, msg.Seq), true
	case dialog.BranchChosen:
		m.dialog = nil
		return m.switchTo(msg.Seq), true
	case dialog.ForkChosen:
		return leave(m.app.ForkSession(m.app.Session.ID(), msg.Seq)), true
	}
	return nil, false
}
