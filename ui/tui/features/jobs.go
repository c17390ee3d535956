package features

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// ShowJob shows what the command in the background with this number has written.
func ShowJob(f *Front, number string) tea.Cmd {
	title, lines := app.JobOutput(f.App, number)
	part := dialog.PagePart{Title: title, Source: strings.Join(lines, "\n")}
	for _, line := range lines {
		part.Lines = append(part.Lines, dialog.PageLine{Text: line})
	}
	return f.Open(dialog.Pages("Job "+number, []dialog.PagePart{part}, f.Theme))
}
