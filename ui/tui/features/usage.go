package features

import (
	"errors"
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
type Usage struct{ *Deps }

// Update takes what the library answered, and reports whether msg is that.
func (f *Usage) Update(msg tea.Msg) (tea.Cmd, bool) {
	if spent, ok := msg.(spentMsg); ok {
		return f.spent(spent), true
	}
	return nil, false
}

// Report shows what was spent.
func (f *Usage) Report() tea.Cmd {
	now := f.Now()
	msg := spentMsg{}
	msg.total, msg.last = f.App.Session.Usage()
	usage := app.UsageReader{Store: f.App.Library, AbbrevPath: f.App.AbbrevPath}
	return func() tea.Msg {
		var failed error
		msg.sums, failed = usage.Recent(now)
		msg.pages, msg.err = usage.Pages(app.Days30(now), time.Time{}, "day", "model", "provider", "folder", "session", "purpose")
		msg.err = errors.Join(failed, msg.err)
		return msg
	}
}

type spentMsg struct {
	total, last llm.Usage // of the conversation
	sums        app.UsageSums
	pages       []app.UsageReport
	err         error
}

func (f *Usage) spent(msg spentMsg) tea.Cmd {
	s := dialog.UsageReport{Title: "Usage (last 30 days)"}
	line := func(name string, u llm.Usage) {
		if u == (llm.Usage{}) {
			return
		}
		words := []string{format.Tokens(u.Input) + " in", app.CacheShare(u), format.Tokens(u.Output) + " out", format.Cost(u.Cost, u.Priced)}
		s.Lines = append(s.Lines, name+": "+strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · "))
	}
	line("last answer", msg.last)
	line("this conversation", msg.total)
	line("today", msg.sums.Today.Usage)
	line("this month", msg.sums.Month.Usage)
	line("30 days", msg.sums.Days30.Usage)
	if missed := f.missed(); missed != "" {
		s.Lines = append(s.Lines, missed)
	}
	for _, page := range msg.pages {
		s.Pages = append(s.Pages, dialog.UsagePage{Name: "by " + page.By, Chart: page.Chart()})
		s.Note = page.Note()
	}
	if msg.err != nil {
		s.Note = format.ErrorText(msg.err)
	}
	return f.Open(dialog.Usage(s, f.Theme))
}

// missed returns what the requests of this branch did not read from prompt caches; "" for
// nothing.
func (f *Usage) missed() string {
	var sum session.CacheMiss
	for _, n := range f.App.Session.Path() {
		sum.Tokens, sum.Cost = sum.Tokens+n.Missed.Tokens, sum.Cost+n.Missed.Cost
	}
	if sum.Tokens == 0 {
		return ""
	}
	text := "Cache misses here: " + format.Tokens(sum.Tokens) + " tokens"
	if sum.Cost > 0 {
		text += fmt.Sprintf(" · about $%.4f more", sum.Cost)
	}
	return text
}

// Context lists what a request holds; the next one takes about fill tokens.
func (f *Usage) Context(fill int) tea.Cmd {
	var items []dialog.Item
	row := func(name string, tokens int, note string) {
		if tokens > 0 || note == "" {
			note = fmt.Sprintf("%s tokens · %s", format.Tokens(tokens), note)
		}
		items = append(items, dialog.Item{Title: name, Detail: note})
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
