package features

import (
	"path"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/app"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// A Welcome is the first screen: the name, the current model and directory, conversations to continue
// and prompts to try. It disappears with the first prompt.
type Welcome struct {
	*panel.Deps
	found suggestions
	at    int // selected row, from 1 over all sections; 0 for none
	drawn welcomeFrame
}

// A welcomeFrame is the last drawn first screen, with its input.
type welcomeFrame struct {
	of   welcomeFacts
	text string
	rows int // number of selectable rows drawn
}

// welcomeFacts holds the facts on the first screen besides the suggestions.
type welcomeFacts struct {
	width, height, at             int
	theme                         *theme.Theme
	model, effort, branch, notice string
	demo, dialog                  bool
}

// A welcomeSection is a heading with rows to select.
type welcomeSection struct {
	title string
	rows  []welcomeRow
}

// A welcomeRow is a row to select.
type welcomeRow struct {
	title, detail string
	id            string // distinguishes the row from others of its section
	verb          string // what enter does
	choose        func() tea.Cmd
	changed       []string // lines that the conversation added and removed; nil if unknown
}

// welcomeMsg delivers the suggestions.
type welcomeMsg suggestions

// load returns a command that reads the suggestions.
func (f *Welcome) load() tea.Cmd {
	o, keyless := f.App.Options, app.UsesDemo(f.App)
	return func() tea.Msg {
		s := suggestions{examples: demoExamples, recent: recentSessions(o)}
		if !keyless {
			s.examples = examplesFor(o.Directory, gitBranch(o.Directory) != "")
		}
		return welcomeMsg(s)
	}
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
		was, selected := f.rows(), f.at
		f.found, f.at, f.drawn = suggestions(read), 0, welcomeFrame{}
		if selected > 0 {
			f.at = 1 + slices.IndexFunc(f.rows(), func(r welcomeRow) bool { return r.id == was[selected-1].id })
		}
	}
	return nil, ok
}

// sections returns the sections in the order in which they are drawn.
func (f *Welcome) sections() (list []welcomeSection) {
	if app.UsesDemo(f.App) {
		list = append(list, welcomeSection{"Start", []welcomeRow{{"Connect a provider", "until then the demo answers, offline", "connect", "connect", func() tea.Cmd { return f.Run("connect") }, nil}}})
	}
	var recent, examples []welcomeRow
	for _, s := range f.found.recent {
		recent = append(recent, welcomeRow{s.Title, s.Detail, s.Value, "continue", func() tea.Cmd { return f.Perform(f.App.OpenSession(s.Value, 0)) }, s.Cells})
	}
	for _, e := range f.found.examples {
		examples = append(examples, welcomeRow{e, "", e, "send", func() tea.Cmd { return f.Prompt(e) }, nil})
	}
	for _, s := range []welcomeSection{{"Continue", recent}, {"Try", examples}} {
		if len(s.rows) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// rows returns the rows of all sections.
func (f *Welcome) rows() (all []welcomeRow) {
	for _, s := range f.sections() {
		all = append(all, s.rows...)
	}
	return all
}

// Key handles a key on the empty line of the first screen, and reports whether it had an effect.
func (f *Welcome) Key(key string) (tea.Cmd, bool) {
	f.at = min(f.at, f.drawn.rows) // a row that is not drawn any more
	switch {
	case key == "down" && f.drawn.rows > 0:
		f.at = min(f.at+1, f.drawn.rows)
	case key == "up" && f.at > 0:
		f.at--
	case key == "esc" && f.at > 0:
		f.at = 0
	case key == "enter" && f.at > 0:
		row := f.rows()[f.at-1]
		f.at = 0
		return row.choose(), true
	default:
		f.at = 0
		return nil, false
	}
	return nil, true
}

// View returns the first screen in height rows of width cells; its text is at the end. If the space is too
// small it omits blank lines first, then sections from the last one on, then the name.
func (f *Welcome) View(width, height int) string {
	now := welcomeFacts{
		width, height, f.at, f.Theme, f.App.Session.Model().Name, string(f.App.Session.Next.Effort()), f.Branch, f.App.FirstScreen.Notice,
		app.UsesDemo(f.App), f.Current() != nil,
	}
	if now != f.drawn.of {
		f.drawn = f.draw(now)
		f.drawn.of = now
	}
	return f.drawn.text
}

// margin is free at both sides; welcomeWidth is the maximum width between them.
const (
	margin       = "  "
	welcomeWidth = 96
)

// draw returns the frame of now without its of field.
func (f *Welcome) draw(now welcomeFacts) welcomeFrame {
	inner := max(min(now.width-2*len(margin), welcomeWidth), 1)
	head, sections := f.head(now, inner), f.sections()
	for i, row := range head {
		head[i] = margin + row
	}
	var all []string
	frame := welcomeFrame{}
	for airy, n := true, len(sections); ; {
		all, frame.rows = slices.Clone(head), 0
		add := func(block ...string) {
			if airy {
				all = append(all, "")
			}
			all = append(all, block...)
		}
		for _, s := range sections[:n] {
			add(append([]string{margin + f.Theme.Dim.Render(s.title)}, f.lines(s.rows, frame.rows, inner, now.width)...)...)
			frame.rows += len(s.rows)
		}
		if !now.dialog {
			add(margin + f.hints(inner))
		}
		switch {
		case len(all) <= now.height:
		case airy:
			airy = false
			continue
		case n > 0:
			airy, n = true, n-1
			continue
		case len(head) > 0:
			head = nil
			continue
		}
		break
	}
	free := max(now.height-len(all), 0)
	frame.text = strings.Repeat("\n", free) + strings.Join(all[max(len(all)-now.height, 0):], "\n")
	return frame
}

// The name in letters of half blocks; the first part of each row has the user's color, the second the model's.
var letters = [][2]string{
	{"▄▄▄▄▄   ▄▄▄▄  ▄▄ ▄▄ ", "██   ▄▄▄▄  ▄▄  ▄▄"},
	{"██  ██  ▄▄▄██ ██▀   ", "██  ██▄▄██ ██  ██"},
	{"██▄▄█▀ ▀█▄▄██ ██    ", "▀█▄ ▀█▄▄▄  ▀█▄▄██"},
	{"██                  ", "            ▄▄▄█▀"},
}

// The smallest first screen with the name in letters, in cells and rows.
const (
	lettersFrom     = 60
	lettersFromRows = 16
)

// head returns the name with the version, the model, and the directory and its branch.
func (f *Welcome) head(now welcomeFacts, width int) (rows []string) {
	th, about := f.Theme, f.RunInfo()
	model := ""
	if provider, name, ok := strings.Cut(about.Model, "/"); ok {
		model = th.Strong.Render(name) + "  " + th.Dim.Render(provider)
	} else {
		model = th.Strong.Render(about.Model)
	}
	if now.effort != "" {
		model += th.Faint.Render(" · ") + th.Dim.Render("reasoning "+now.effort)
	}
	if now.demo {
		model = th.Warn.Render("No API key yet")
	}
	above, folder := path.Split(about.Directory)
	where := th.Dim.Render(above) + th.Text.Render(folder)
	if now.branch != "" {
		where += th.Faint.Render(" · ") + th.Dim.Render(now.branch)
	}
	if now.width < lettersFrom || now.height < lettersFromRows {
		name := th.Accent.Bold(true).Render("par") + th.Voice.Bold(true).Render("ley") + " "
		if about.Version != "" {
			name += th.Dim.Render(about.Version) + " "
		}
		rows = []string{name + " " + model, where}
	} else {
		beside := []string{"", model, where, th.Dim.Render(strings.TrimSpace("parley " + about.Version))}
		for i, l := range letters {
			row := th.Accent.Render(l[0]) + th.Voice.Render(l[1])
			if beside[i] != "" {
				row += "    " + beside[i]
			}
			rows = append(rows, row)
		}
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

// lines returns rows as text of width cells; before is the number of rows before them. The background of the selected
// one is full cells wide.
func (f *Welcome) lines(rows []welcomeRow, before, width, full int) (lines []string) {
	const indent, gap = "  ", "  "
	for i, r := range rows {
		const short = 12 // cells of a detail that shortens a title
		room, detail := width-len(indent), f.Theme.Dim.Render(r.detail)
		if len(r.changed) == 2 {
			both := f.Theme.Good.Render(r.changed[0]) + " " + f.Theme.Bad.Render(r.changed[1]) + "   " + detail
			if ansi.StringWidth(r.title+gap+both) <= room {
				detail = both
			}
		}
		if left := room - ansi.StringWidth(detail) - len(gap); r.detail != "" && left < ansi.StringWidth(r.title) && ansi.StringWidth(r.detail) > short {
			detail = ""
		} else if r.detail == "" {
			detail = ""
		} else {
			room = left
		}
		title := ansi.Truncate(r.title, max(room, 1), "…")
		lead, style := margin+indent, f.Theme.Text
		if f.at == before+i+1 {
			lead, style = f.Theme.Accent.Render("›")+margin[1:]+indent, f.Theme.Strong
		}
		line := lead + style.Render(title)
		if detail != "" {
			line += strings.Repeat(" ", max(room-ansi.StringWidth(title), 0)) + gap + detail
		}
		line = ansi.Truncate(line, len(margin)+width, "")
		if ground := theme.NewSGR(f.Theme.Selected); f.at == before+i+1 && ground.On != "" {
			line = ground.Under(line + strings.Repeat(" ", max(full-ansi.StringWidth(line), 0)))
		}
		lines = append(lines, line)
	}
	return lines
}

// hints returns keys for beginners, as many as fit.
func (f *Welcome) hints(width int) string {
	keys := [][2]string{{f.KeyOf("model"), "model"}, {f.KeyOf("commands"), "commands"}, {f.KeyOf("keys"), "help"}}
	switch rows := f.rows(); {
	case f.at > 0:
		keys = slices.Insert(keys, 0, [2]string{"enter", rows[f.at-1].verb}, [2]string{"esc", "back"})
	case len(rows) > 0:
		keys = slices.Insert(keys, 0, [2]string{"↓", "select"})
	default:
		keys = append(keys, [2]string{f.KeyOf("end"), "quit"})
	}
	for gap := 3; ; {
		row := ""
		for i, k := range keys {
			row += strings.Repeat(" ", min(i, 1)*gap) + f.Theme.Strong.Render(k[0]) + " " + f.Theme.Dim.Render(k[1])
		}
		switch {
		case ansi.StringWidth(row) <= width, len(keys) == 1:
			return ansi.Truncate(row, width, "")
		case gap > 1:
			gap--
		default: // whole keys go, from the end
			keys = keys[:len(keys)-1]
		}
	}
}
