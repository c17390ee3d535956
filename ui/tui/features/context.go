package features

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// A Context shows what fills the context window.
type Context struct{ *panel.Deps }

// Update opens the list, and reports whether msg asks for it.
func (f *Context) Update(msg tea.Msg) (tea.Cmd, bool) {
	if msg != (common.OpenMsg{Panel: string(app.PanelContext)}) {
		return nil, false
	}
	return f.list(f.Filled()), true
}

// list lists what a request holds; the next one takes about fill tokens.
func (f *Context) list(fill int) tea.Cmd {
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
