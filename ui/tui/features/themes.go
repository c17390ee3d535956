package features

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/panel"
)

// Themes lets the user choose the theme.
type Themes struct {
	*panel.Deps
	asked time.Time // when the terminal was asked for its background
}

// applyTheme applies a theme; nil keeps the current one.
func (f *Themes) applyTheme(th *theme.Theme) {
	if th == nil || th.Same(f.Theme) {
		return
	}
	th = f.Displayable(th)
	f.Theme = th
	for _, d := range f.Themed {
		d.SetTheme(th)
	}
}

// Update handles the terminal's background and the choice of themes. It reports
// whether msg was one of these.
func (f *Themes) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case common.StartMsg:
		return f.start(), false
	case common.OpenMsg:
		if msg.Panel != themePanel {
			return nil, false
		}
		return f.pick(msg.Query), true
	case app.Reconfigured:
		return f.reconfigure(msg), true
	case tea.BackgroundColorMsg:
		if f.Config.Theme == "auto" && !f.Theme.Plain && f.Now().Sub(f.asked) <= answerTime {
			f.applyTheme(theme.ForBackground(msg.Color))
		}
	default:
		return nil, false
	}
	return nil, true
}

// reconfigure makes a change of [ui] count. A theme chosen with /theme stays until the setting changes.
func (f *Themes) reconfigure(e app.Reconfigured) tea.Cmd {
	c, ok := e.UI.(common.Config)
	if !ok {
		return nil
	}
	theme := c.Theme
	c.Theme = f.Config.Theme
	f.SetConfig(c)
	if e.Setting != "ui.theme" {
		return nil
	}
	return f.pick(theme)
}

// start asks the terminal for its background, if the theme depends on it.
func (f *Themes) start() tea.Cmd {
	if f.Config.Theme == "auto" && !f.Theme.Plain {
		return f.ask()
	}
	return nil
}

// answerTime is how long after the request the reported background may change the
// colors of the screen. Later, the user is already reading.
const answerTime = 200 * time.Millisecond

// ask asks the terminal for its background.
func (f *Themes) ask() tea.Cmd {
	f.asked = f.Now()
	return tea.RequestBackgroundColor
}

// themePanel names the panel, and the command, for choosing a theme.
const themePanel = "theme"

// Args returns the themes as possible arguments of the command.
func (f *Themes) Args(command string) (items []dialog.Item) {
	if command != themePanel {
		return nil
	}
	for _, name := range f.Config.ThemeNames() {
		item := dialog.Item{Title: name, Value: name, Current: name == f.Config.Theme}
		switch th := f.Config.ThemeNamed(name); {
		case th == nil:
			item.Detail = "match the terminal background"
		case th.Plain:
			item.Detail = "no colors"
		case name == "terminal":
			item.Detail = "the terminal's own colors"
		case th.Dark:
			item.Detail = "for dark backgrounds"
		default:
			item.Detail = "for light backgrounds"
		}
		items = append(items, item)
	}
	return items
}

// pick applies the theme named arg, or opens a list if arg is "". The list
// previews each selected theme; leaving it restores the previous one.
func (f *Themes) pick(arg string) tea.Cmd {
	if arg == "" {
		list := dialog.Pick("Theme", f.Args(themePanel), f.Theme)
		before := f.Theme
		list.Moved = func(name string) { // for an unknown name, use the previous theme
			if th := f.Config.ThemeNamed(name); th != nil {
				f.applyTheme(th)
				return
			}
			f.applyTheme(before)
		}
		cmd := f.Choose(list, func(p dialog.Choice) tea.Cmd { return f.pick(p.Value) })
		f.OnLeave(func(dialog.Left) tea.Cmd {
			f.applyTheme(before)
			return nil
		})
		return cmd
	}
	if names := f.Config.ThemeNames(); !slices.Contains(names, arg) {
		return f.Perform(app.Failure{Err: fmt.Errorf("unknown theme %q: use %s", arg, strings.Join(names, ", ")), Line: "/theme " + arg})
	}
	f.Config.Theme = arg
	ask := f.applyNamed(arg)
	return tea.Batch(ask, f.Perform(f.App.SaveState("theme", arg)))
}

// applyNamed applies the theme with this name.
func (f *Themes) applyNamed(name string) tea.Cmd {
	if th := f.Config.ThemeNamed(name); th != nil {
		f.applyTheme(th)
		return nil
	}
	return f.ask() // "auto" follows the reported background
}
