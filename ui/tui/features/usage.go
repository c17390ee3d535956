package features

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/dialog"
)

// Usage shows what was spent.
type Usage struct{ *Front }

// Update takes what the library answered, and reports whether msg is that.
func (f *Usage) Update(msg tea.Msg) (tea.Cmd, bool) {
	if spent, ok := msg.(spentMsg); ok {
		return f.spent(spent), true
	}
	return nil, false
}

// Report shows what was spent.
func (f *Usage) Report() tea.Cmd {
	lib, now, own := f.App.Library, f.Now(), f.App.Session.ID()
	total, last := f.App.Session.Usage()
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

func (f *Usage) spent(msg spentMsg) tea.Cmd {
	s := dialog.UsageReport{Title: "Usage (last 30 days)"}
	line := func(name string, u llm.Usage) {
		if u == (llm.Usage{}) {
			return
		}
		words := []string{format.Tokens(u.Input) + " in", app.Cached(u), format.Tokens(u.Output) + " out", format.Cost(u.Cost, u.Priced)}
		s.Lines = append(s.Lines, name+": "+strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · "))
	}
	line("last answer", msg.last)
	line("this conversation", msg.total)
	today, _ := sum(msg.spent, func(r session.DailyUsage) bool { return r.Day == f.Now().Format(time.DateOnly) })
	line("today", today)
	month, unpriced := sum(msg.spent, func(session.DailyUsage) bool { return true })
	line("30 days", month)
	if missed := f.missed(); missed != "" {
		s.Lines = append(s.Lines, missed)
	}
	if unpriced > 0 {
		s.Note = fmt.Sprintf("%d answers have no known price (not included)", unpriced)
	}
	if msg.err != nil {
		s.Note = msg.err.Error()
	}
	s.Days, s.Models = spendRows(msg.spent, func(r session.DailyUsage) string { return r.Day }), spendRows(msg.spent, func(r session.DailyUsage) string { return r.Model })
	return f.Open(dialog.Usage(s, f.Theme))
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

// costOf returns what a row of the usage cost: answers of unknown price are not in it.
func costOf(s session.DailyUsage) string {
	switch cost := format.Cost(s.Usage.Cost, s.Usage.Priced); {
	case s.Unpriced == 0 && cost == "":
		return "free"
	case cost == "":
		return "– (no price)"
	default:
		return cost
	}
}

// missed says what the prompt cache did not do for this conversation: an answer
// by the same model soon after another one could have read that one's prompt
// from it.
func (f *Usage) missed() string {
	const lives = 5 * time.Minute // the shortest a provider keeps a prompt
	var tokens int
	var cost float64
	var before session.Node
	for _, n := range f.App.Session.Path() {
		if n.Usage == nil || n.Summary {
			continue
		}
		if before.Usage != nil && before.Model == n.Model && n.At.Sub(before.At) < lives && before.Usage.CacheRead+before.Usage.CacheWrite+n.Usage.CacheRead > 0 {
			gap := max(min(before.Usage.Input, n.Usage.Input)-n.Usage.CacheRead, 0)
			full, cached := f.App.Price(n.Model)
			tokens += gap
			cost += float64(gap) * max(full-cached, 0) / 1e6
		}
		before = n
	}
	if tokens < 1000 {
		return ""
	}
	text := "Cache misses here: " + format.Tokens(tokens) + " tokens"
	if cost > 0 {
		text += fmt.Sprintf(" · about $%.4f more", cost)
	}
	return text
}

// Context lists what a request holds; the next one takes about fill tokens.
func (f *Usage) Context(fill int) tea.Cmd {
	var items []dialog.Item
	row := func(name string, tokens int, note string) {
		items = append(items, dialog.Item{Title: name, Detail: strings.TrimPrefix(fmt.Sprintf("%s tokens · %s", format.Tokens(tokens), note), " · ")})
	}
	note := "context window unknown"
	if window := f.App.Session.Model().Context; window > 0 {
		note = fmt.Sprintf("%s of the %s-token context window", format.Percent(float64(fill)/float64(window)), format.Tokens(window))
	}
	row("next request", fill, note)
	said := f.App.Session.ContextTokens()
	facts := f.App.Context()
	for _, fact := range facts {
		said -= fact.Tokens
	}
	if said > 0 {
		row("conversation", said, "")
	}
	if rest := fill - f.App.Session.ContextTokens(); rest > 0 && f.App.Session.ContextTokens() > 0 {
		row("draft", rest, "")
	}
	for _, fact := range facts {
		row(fact.Name, fact.Tokens, fact.Note)
	}
	for i := range items {
		items[i].Detail = strings.TrimSuffix(items[i].Detail, " · ")
	}
	return f.Choose(dialog.Pick("Context: what is sent with each request", items, f.Theme), nil)
}
