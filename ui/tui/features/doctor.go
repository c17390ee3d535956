package features

import (
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"parley/ui/app"
	"parley/ui/theme"
)

// A Doctor keeps what the terminal says of itself, for checkups.
type Doctor struct {
	*Deps
	Images     bool // the terminal draws images
	background string
	keyboard   string
}

// Update notes what the terminal says, which others want to know as well.
func (f *Doctor) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.BackgroundColorMsg:
		f.background = brightness(msg.IsDark()) + ", from the terminal"
	case tea.KeyboardEnhancementsMsg:
		f.keyboard = "kitty protocol: shift+enter starts a new line"
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
