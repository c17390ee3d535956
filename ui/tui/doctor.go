package tui

import (
	"cmp"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/termimage"
)

// A terminalState holds the terminal's reports about itself, for checkups.
type terminalState struct {
	images     func() (termimage.Protocol, bool) // how images are drawn
	background string
	keyboard   string
}

// Update records reports of the terminal. Other parts may need them too.
func (t *terminalState) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.BackgroundColorMsg:
		t.background = brightness(msg.IsDark()) + ", from the terminal"
	case tea.KeyboardEnhancementsMsg:
		t.keyboard = "kitty protocol: shift+enter starts a new line"
	}
	return nil, false
}

func brightness(dark bool) string {
	if dark {
		return "dark"
	}
	return "light"
}

// state returns the known facts about the terminal.
func (t *terminalState) state() app.TerminalState {
	known := environmentTerminal(os.Getenv, imagesText(t.images()))
	known.Background = cmp.Or(t.background, known.Background)
	known.Keyboard = cmp.Or(t.keyboard, "standard: alt+enter starts a new line")
	return known
}

// imagesText says how images are drawn. ask reports whether the terminal may support more.
func imagesText(p termimage.Protocol, ask bool) string {
	switch {
	case p == termimage.Off:
		return "not supported: shown as a line of text"
	case ask:
		return "half blocks, or better where the terminal supports it"
	}
	return map[termimage.Protocol]string{
		termimage.Kitty: "kitty graphics", termimage.ITerm: "iTerm2 images", termimage.Sixel: "sixel", termimage.Blocks: "half blocks",
	}[p]
}

// environmentTerminal returns the facts about the terminal in the environment.
func environmentTerminal(getenv func(string) string, images string) app.TerminalState {
	t := app.TerminalState{Images: images}
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
