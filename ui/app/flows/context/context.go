// Package context lets the user see the contents of each request.
package context

import (
	"fmt"
	"strings"

	"parley/ui/app"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "context", Aliases: []string{"status"}, Group: app.Conversations, Help: title, Run: func(string) app.Effect { return show(a) }},
	)
}

const title = "Context: what is sent with each request"

// show lists the parts of the next request with their sizes.
func show(a *app.App) app.Effect {
	page := format.Part{Title: title}
	row := func(name string, tokens int, note string) {
		if tokens > 0 || note == "" {
			note = strings.TrimSuffix(format.Tokens(tokens)+" tokens · "+note, " · ")
		}
		page.Lines = append(page.Lines, format.Line{Text: name + ": " + note})
	}
	fill, sent, note := a.FrontEnd.RequestTokens(), a.Session.Next.ContextTokens(), "context window unknown"
	if window := a.Session.Model().Context; window > 0 {
		note = fmt.Sprintf("%s of the %s-token context window", format.Percent(float64(fill)/float64(window)), format.Tokens(window))
	}
	row("next request", fill, note)
	facts := a.Context()
	messages := sent
	for _, fact := range facts {
		messages -= fact.Tokens
	}
	if messages > 0 {
		row("conversation", messages, "")
	}
	if draft := fill - sent; draft > 0 && sent > 0 {
		row("draft", draft, "")
	}
	for _, fact := range facts {
		row(fact.Name, fact.Tokens, fact.Note)
	}
	return app.Page{Title: "Context", Parts: []format.Part{page}}
}
