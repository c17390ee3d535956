package features

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// A Welcome is the first screen: the directory, the current model, prompts to try and
// conversations to continue. It disappears with the first prompt.
type Welcome struct {
	*panel.Deps
	found suggestions
	at    int // selected row, from 1 over examples and conversations; 0 for none; a row that is not drawn counts as none
	drawn welcomeFrame
}

// A welcomeFrame is the last drawn first screen, with its input.
type welcomeFrame struct {
	of               welcomeFacts
	text             string
	examples, recent int // number of rows drawn
}

// welcomeFacts holds the facts on the first screen besides the suggestions.
type welcomeFacts struct {
	width, height, at int
	theme             *theme.Theme
	model, notice     string
	demo              bool
}

// welcomeMsg delivers the suggestions.
type welcomeMsg suggestions

// load returns a command that reads the suggestions.
func (f *Welcome) load() tea.Cmd {
	read := readSuggestions(f.App)
	return func() tea.Msg { return welcomeMsg(read()) }
}

// Update handles the suggestions, and reports whether msg holds them. The selected row stays
// selected if it still exists.
func (f *Welcome) Update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg.(type) {
	case common.StartMsg, common.SessionsChangedMsg:
		return f.load(), false
	}
	read, ok := msg.(welcomeMsg)
	if ok {
		selected := f.at
		names := f.found.names()
		f.found, f.at, f.drawn = suggestions(read), 0, welcomeFrame{}
		if selected > 0 {
			f.at = 1 + slices.Index(f.found.names(), names[selected-1])
		}
	}
	return nil, ok
}

// Key handles a key on the empty line of the first screen, and reports whether it had an effect.
func (f *Welcome) Key(key string) (tea.Cmd, bool) {
	switch {
	case key == "down" && f.drawn.examples+f.drawn.recent > 0:
		for next := f.at + 1; next <= len(f.found.examples)+len(f.found.recent); next++ {
			if f.isDrawn(next) {
				f.at = next
				break
			}
		}
	case key == "up" && f.at > 0:
		for f.at--; f.at > 0 && !f.isDrawn(f.at); f.at-- {
		}
	case key == "esc" && f.at > 0:
		f.at = 0
	case key == "enter" && f.isDrawn(f.at):
		return f.choose(f.at - 1), true
	case key == "enter" && app.UsesDemo(f.App):
		return f.Run("connect"), true
	default:
		f.at = 0
		return nil, false
	}
	return nil, true
}

// isDrawn reports whether a row was drawn, with the numbering of at.
func (f *Welcome) isDrawn(row int) bool {
	recent := row - len(f.found.examples)
	return row > 0 && row <= f.drawn.examples || recent > 0 && recent <= f.drawn.recent
}

// choose puts an example into the composer, or opens a conversation.
func (f *Welcome) choose(row int) tea.Cmd {
	f.at = 0
	if row < len(f.found.examples) {
		return f.Perform(app.Draft(f.found.examples[row]))
	}
	return f.Perform(f.App.OpenSession(f.found.recent[row-len(f.found.examples)].Value, 0))
}

// View returns the first screen in at most height rows of width cells. It omits parts
// that do not fit: blank lines and headings first, then conversations, then examples.
func (f *Welcome) View(width, height int) string {
	now := welcomeFacts{width, height, f.at, f.Theme, f.App.Session.Model().Name, f.App.Notice, app.UsesDemo(f.App)}
	if now != f.drawn.of {
		f.drawn = f.draw(width, height)
		f.drawn.of = now
	}
	return f.drawn.text
}

// draw returns the frame without its of field.
func (f *Welcome) draw(width, height int) welcomeFrame {
	const margin = 2
	inner := max(width-2*margin, 1)
	top, keys := f.identity(inner), f.hints(inner)
	examples, recent := len(f.found.examples), len(f.found.recent)
	airy := true
	rows := func() []string {
		var all []string
		add := func(title string, list []string) {
			if len(list) == 0 {
				return
			}
			if all = append(all, ""); airy {
				all = append(all, f.Theme.Faint.Render(title))
			}
			all = append(all, list...)
		}
		if airy {
			all = append(all, "")
		}
		all = append(all, top...)
		add("Try", f.rows(0, examples, inner))
		add("Continue", f.rows(len(f.found.examples), recent, inner))
		return append(append(all, ""), keys...)
	}
	all := rows()
	for len(all) > height && (airy || examples+recent > 0) {
		switch {
		case airy:
			airy = false
		case recent > 0 && recent >= examples:
			recent--
		default:
			examples--
		}
		all = rows()
	}
	for i, row := range all {
		if row != "" {
			all[i] = strings.Repeat(" ", margin) + row
		}
	}
	return welcomeFrame{text: strings.Join(all[:min(len(all), max(height, 0))], "\n"), examples: examples, recent: recent}
}

// identity returns the name and version, the directory and its branch, and the model.
func (f *Welcome) identity(width int) []string {
	th, about := f.Theme, app.CurrentRunInfo(f.App)
	where := about.Directory
	if f.found.branch != "" {
		where += " · " + f.found.branch
	}
	name := th.Strong.Render("parley")
	if about.Version != "" {
		name += " " + th.Faint.Render(about.Version)
	}
	rows := []string{name + "  " + th.Dim.Render(where), th.Text.Render(about.Model)}
	if app.UsesDemo(f.App) {
		rows[1] = th.Warn.Render("No API key yet") + th.Dim.Render(" · ") + th.Strong.Render("enter") + th.Dim.Render(" to connect a provider")
		rows = append(rows, th.Dim.Render("Until then the built-in demo answers, offline"))
	}
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, width, "…")
	}
	if about.Notice == "" {
		return rows
	}
	const whole = "\u2011" // a hyphen after which Wrap does not break a flag
	for row := range strings.SplitSeq(ansi.Wrap(strings.ReplaceAll(about.Notice, "-", whole), width, ""), "\n") {
		rows = append(rows, th.Dim.Render(strings.ReplaceAll(row, whole, "-")))
	}
	return rows
}

// rows returns n selectable rows, starting at first.
func (f *Welcome) rows(first, n, width int) (rows []string) {
	items := slices.Clone(f.found.recent)
	for _, e := range slices.Backward(f.found.examples) {
		items = slices.Insert(items, 0, app.Item{Title: e})
	}
	const age = 10 // cells to the right of the titles
	room, column := max(width-len("  "), 1), 0
	for _, item := range items[first : first+n] {
		column = min(max(column, ansi.StringWidth(item.Title)), max(room-age, 1))
	}
	for i, item := range items[first : first+n] {
		sign, style := "  ", f.Theme.Text
		if f.at == first+i+1 {
			sign, style = f.Theme.Accent.Render("› "), f.Theme.Strong
		}
		row := sign + style.Render(ansi.Truncate(item.Title, room, "…"))
		if item.Detail != "" {
			title := ansi.Truncate(item.Title, column, "…")
			row = sign + style.Render(title) + strings.Repeat(" ", column-ansi.StringWidth(title)+2) + f.Theme.Faint.Render(item.Detail)
		}
		rows = append(rows, ansi.Truncate(row, width, ""))
	}
	return rows
}

// hints returns four keys for beginners.
func (f *Welcome) hints(width int) []string {
	keys := [][2]string{{f.KeyOf("model"), "model"}, {f.KeyOf("commands"), "commands"}, {f.KeyOf("keys"), "help"}}
	if len(f.found.examples)+len(f.found.recent) > 0 {
		keys = slices.Insert(keys, 0, [2]string{"↓", "select"})
	} else {
		keys = append(keys, [2]string{f.KeyOf("end"), "quit"})
	}
	for gap := 3; ; gap-- {
		row := ""
		for i, k := range keys {
			row += strings.Repeat(" ", min(i, 1)*gap) + f.Theme.Text.Render(k[0]) + " " + f.Theme.Faint.Render(k[1])
		}
		if ansi.StringWidth(row) <= width || gap == 1 {
			return []string{ansi.Truncate(row, width, "")}
		}
	}
}
