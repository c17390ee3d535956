// Package manual lets the user read the manual.
package manual

import (
	"strings"

	"parley/docs"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/markdown"
	"parley/ui/theme"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "help", Aliases: []string{"shortcuts"}, Keys: []string{"f1", "ctrl+x ?"}, Group: app.Program, Arg: "TOPIC", Help: "Keyboard shortcuts", Run: help},
		app.Command{Name: "manual", Aliases: []string{"docs"}, Group: app.Program, Arg: "TOPIC", Help: "Manual: read about a topic", Args: pages, Run: show},
	)
}

// pages lists the pages of the manual.
func pages() (items []app.Item) {
	for _, p := range docs.Pages() {
		items = append(items, app.Item{Title: p.Name, Detail: p.Title, Value: p.Name})
	}
	return items
}

// pageWidth is the greatest line width of a page, in cells: longer lines are hard to read.
const pageWidth = 90

// show opens a page, or lists them.
func show(name string) app.Effect {
	if name == "" {
		return app.Choose("Manual", "page", pages(), show)
	}
	page, ok := docs.Open(strings.ToLower(name))
	if !ok {
		return app.Refuse("no page %q in the manual: /manual lists them", name)
	}
	_, body, _ := strings.Cut(page.Text, "\n") // without the title
	return app.Page{Title: "Manual: " + page.Name, Parts: []format.Part{{Title: page.Title, Source: page.Text, Render: func(width int) []string {
		d := markdown.New(theme.Bare())
		d.FoldLines()
		d.Append(sanitize.Cleaned(strings.TrimSpace(body)))
		d.Finish()
		return d.Lines(min(width, pageWidth))
	}}}}
}

// help shows the keys or, with an argument, a page of the manual.
func help(topic string) app.Effect {
	if topic != "" {
		return show(topic)
	}
	return app.PanelQuery{Panel: app.PanelHelp}
}
