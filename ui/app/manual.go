package app

import (
	"slices"
	"strings"
)

// A ManualPage is one topic of the manual.
type ManualPage struct {
	Name  string // as /manual and parley help take it
	Title string
	Text  string // Markdown

	// Render returns the text in lines that are at most width cells wide, where they can be
	// broken, without styles.
	Render func(width int) []string
}

func noManual(a *App) string {
	if a.Manual == nil {
		return "No manual here"
	}
	return ""
}

func manualItems(a *App) []Item {
	if a.Manual == nil {
		return nil
	}
	var items []Item
	for _, p := range a.Manual() {
		items = append(items, Item{Title: p.Name, Detail: p.Title, Value: p.Name})
	}
	return items
}

// FindManual returns the page of a name, and whether there is one.
func FindManual(a *App, name string) (ManualPage, bool) {
	if a.Manual == nil {
		return ManualPage{}, false
	}
	pages := a.Manual()
	i := slices.IndexFunc(pages, func(p ManualPage) bool { return p.Name == strings.ToLower(name) })
	if i < 0 {
		return ManualPage{}, false
	}
	return pages[i], true
}

// showManual opens a page of the manual, or lists them.
func showManual(a *App, name string) Effect {
	if name == "" {
		return &List{Title: "Manual", Noun: "page", Items: manualItems(a), Choose: func(i Item, _ string) Effect {
			return PanelQuery{PanelManual, i.Value}
		}}
	}
	if _, ok := FindManual(a, name); !ok {
		return refuse("no page %q in the manual: /manual lists them", name)
	}
	return PanelQuery{PanelManual, name}
}

// showHelp shows the keys, or, as parley help TOPIC does, a page of the manual.
func showHelp(a *App, topic string) Effect {
	if topic != "" && a.Manual != nil {
		return showManual(a, topic)
	}
	return PanelQuery{Panel: PanelHelp}
}
