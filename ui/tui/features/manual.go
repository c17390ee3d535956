package features

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// manualWidth sets how wide the lines of a page can be, in cells: longer ones are hard to
// read.
const manualWidth = 90

// ShowManual shows a page of the manual on a screen of the given width.
func ShowManual(f *Deps, name string, width int) tea.Cmd {
	page, ok := app.FindManual(f.App, name)
	if !ok {
		return nil
	}
	part := dialog.PagePart{Title: page.Title, Source: page.Text}
	for i, line := range page.Render(min(width-4, manualWidth)) {
		if i == 0 || len(part.Lines) == 0 && strings.TrimSpace(line) == "" {
			continue // the title, and what is below it
		}
		part.Lines = append(part.Lines, dialog.PageLine{Text: line})
	}
	return f.Open(dialog.Pages("Manual: "+page.Name, []dialog.PagePart{part}, f.Theme))
}
