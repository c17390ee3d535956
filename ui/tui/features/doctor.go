package features

import (
	"context"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// A Doctor shows a checkup, and keeps what the terminal says of itself for that.
type Doctor struct {
	*Deps
	Images     bool // the terminal draws images
	background string
	keyboard   string
	checking   bool
}

// Update notes what the terminal says, which others want to know as well, and takes a
// checkup; it reports whether msg is that.
func (f *Doctor) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.BackgroundColorMsg:
		f.background = brightness(msg.IsDark()) + ", from the terminal"
	case tea.KeyboardEnhancementsMsg:
		f.keyboard = "kitty protocol: shift+enter starts a new line"
	case checkedMsg:
		f.checking = false
		return f.show(msg), true
	}
	return nil, false
}

func brightness(dark bool) string {
	if dark {
		return "dark"
	}
	return "light"
}

// Terminal returns what is known of the terminal.
func (f *Doctor) Terminal() app.TerminalState {
	t := EnvironmentTerminal(os.Getenv, f.Images)
	if f.background != "" {
		t.Background = f.background
	}
	if t.Keyboard = f.keyboard; t.Keyboard == "" {
		t.Keyboard = "standard: alt+enter starts a new line"
	}
	return t
}

// EnvironmentTerminal returns what the environment tells of the terminal.
func EnvironmentTerminal(getenv func(string) string, images bool) app.TerminalState {
	t := app.TerminalState{Images: "not supported: shown as a line of text"}
	if images {
		t.Images = "kitty graphics"
	}
	if th := theme.FromEnvironment(getenv("COLORFGBG")); th != nil {
		t.Background = brightness(th.Dark) + ", from COLORFGBG"
	}
	t.Colors = map[colorprofile.Profile]string{
		colorprofile.TrueColor: "truecolor", colorprofile.ANSI256: "256", colorprofile.ANSI: "16", colorprofile.ASCII: "none",
	}[colorprofile.Env([]string{"TERM=" + getenv("TERM"), "COLORTERM=" + getenv("COLORTERM"), "NO_COLOR=" + getenv("NO_COLOR"), "TERM_PROGRAM=" + getenv("TERM_PROGRAM"), "TMUX=" + getenv("TMUX")})]
	if getenv("NO_COLOR") != "" {
		t.Colors = "none: NO_COLOR is set"
	}
	return t
}

// Check checks everything that parley works with, beside the loop.
func (f *Doctor) Check() tea.Cmd {
	checkup, terminal := f.App.Checkup, f.Terminal()
	f.checking = true
	return tea.Batch(f.ShowToastWhile("Checking…", func() bool { return f.checking }), func() tea.Msg { return checkedMsg(checkup(context.Background(), terminal)) })
}

// checkedMsg brings a checkup.
type checkedMsg []app.Check

// show opens a checkup, to be read.
func (f *Doctor) show(checks []app.Check) tea.Cmd {
	var parts []dialog.PagePart
	for _, section := range app.CheckReport(checks) {
		part := dialog.PagePart{Title: section.Title, Source: section.Text()}
		for _, line := range section.Lines {
			part.Lines = append(part.Lines, dialog.PageLine{Sign: line.Sign, Text: line.Text})
		}
		parts = append(parts, part)
	}
	return f.Open(dialog.Pages("Doctor", parts, f.Theme))
}
