// Package sidebar shows the state of the conversation in a column beside it, on screens that are wide
// enough: title, context window and cost, the model's plan, changed files, MCP servers and background commands.
package sidebar

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/common"
	"parley/ui/tui/panel"
)

// Panel is the name of the column in a [common.OpenMsg], which shows or hides it.
const Panel = "column"

// Sizes in cells: of the column, of the free cells on each side of it, and of the narrowest screen with it.
const (
	width  = 38
	margin = 4
	from   = 160
)

// A Sidebar is the column.
type Sidebar struct {
	*panel.Deps
	off   bool // the user hid it
	known conversation
	files changedFiles

	lines []string // nil if they have to be drawn again
	drawn time.Time
	theme *theme.Theme
}

// A conversation holds facts from the messages up to the one with the number seq.
type conversation struct {
	of    *session.Session
	seq   int
	turns int
	began time.Time
	plan  string // arguments of the last call of [act.PlanTool]
}

// changedFiles are those of a conversation, counted while no turn runs.
type changedFiles struct {
	app.FileChanges
	of     *session.Session
	idle   bool
	looked time.Time
	counts bool // a count is under way
}

// keptMsg reports whether the user had hidden the column when parley ended.
type keptMsg bool

// New returns the column as a part of the screen.
func New(d *panel.Deps) []common.Part { return []common.Part{&Sidebar{Deps: d}} }

// Update handles the key of the column, and reports whether msg is for it.
func (s *Sidebar) Update(msg tea.Msg) (tea.Cmd, bool) {
	const off, on = "off", "on"
	switch msg := msg.(type) {
	case common.StartMsg:
		lib := s.App.Library
		return func() tea.Msg {
			kept, _ := lib.Get(Panel)
			return keptMsg(kept == off)
		}, false
	case keptMsg:
		s.off = bool(msg)
	case common.OpenMsg:
		if msg.Panel != Panel {
			return nil, false
		}
		s.off = !s.off
		kept, text := on, "Column on wide screens: on"
		if s.off {
			kept, text = off, "Column on wide screens: off"
		}
		return tea.Batch(s.ShowToast(text), s.Perform(s.App.SaveState(Panel, kept))), true
	case common.UpdatedMsg:
		const pause = 250 * time.Millisecond // between two drawings while an answer arrives
		if !s.App.FrontEnd.Busy() || s.Now().Sub(s.drawn) >= pause {
			s.lines = nil
		}
		return s.countFiles(), false
	case changedFiles:
		if msg.of == s.App.Session {
			s.files.FileChanges, s.files.counts = msg.FileChanges, false
		}
	default:
		return nil, false
	}
	return nil, true
}

// Width returns the number of cells that the column takes from a screen of the given width; 0 if it is not shown.
func (s *Sidebar) Width(screen int) int {
	if s.off || screen < from || s.App.Session.Empty() {
		return 0
	}
	return width + 2*margin
}

// Lines returns the column as height rows, with the free cells on its left.
func (s *Sidebar) Lines(height int) []string {
	if s.lines != nil && len(s.lines) == height && s.theme == s.Theme {
		return s.lines
	}
	s.drawn, s.theme = s.Now(), s.Theme
	s.known.follow(s.App.Session)
	rows := append([]string{""}, s.title()...)
	for _, section := range [][]string{s.context(), s.plan(), s.changed(), s.items("mcp", "MCP servers", "ready", s.Theme.Good.Render("●")), s.items("jobs", "Jobs", "running", s.Theme.Voice.Render("∙"))} {
		if len(section) > 0 {
			rows = append(append(rows, ""), section...)
		}
	}
	last := ""
	if height > 2 {
		name := s.Theme.Accent.Render("par") + s.Theme.Voice.Render("ley") + " " + s.Theme.Dim.Render(s.RunInfo().Version)
		last = beside(strings.TrimSpace(name), s.Theme.Strong.Render(s.KeyOf(Panel))+" "+s.Theme.Dim.Render("hide"))
		rows = rows[:min(len(rows), height-2)]
	}
	for len(rows) < height-1 {
		rows = append(rows, "")
	}
	rows = append(rows, last)
	for i, row := range rows {
		if row != "" {
			rows[i] = strings.Repeat(" ", margin) + row
		}
	}
	s.lines = rows[:height]
	return s.lines
}

// follow reads the messages that were added since the last call, except incomplete ones. Of a conversation
// with very many messages it reads the last ones.
func (c *conversation) follow(of *session.Session) {
	const most = 5000
	n, err := of.At(of.Head())
	for err == nil && n.Partial {
		n, err = of.At(n.Parent)
	}
	if err != nil || of == c.of && n.Seq == c.seq {
		return
	}
	now, planned := conversation{of: of, seq: n.Seq}, false
	for i := 0; err == nil; i++ {
		if of == c.of && n.Seq == c.seq { // it and the messages before it are known
			if now.turns, now.began = now.turns+c.turns, c.began; !planned {
				now.plan = c.plan
			}
			break
		}
		if i == most {
			now.turns, now.began = 0, time.Time{}
			break
		}
		if now.began = n.At; n.Role == llm.RoleUser && !n.Steers {
			now.turns++
		}
		for _, p := range slices.Backward(n.Parts) {
			if !planned && p.Kind == llm.Call && p.Name == act.PlanTool {
				now.plan, planned = p.Input, true
			}
		}
		n, err = of.At(n.Parent)
	}
	*c = now
}

// title returns the title of the conversation, when it began, and its number of turns.
func (s *Sidebar) title() []string {
	const most = 3 // rows
	text := s.App.Session.Title()
	if text == "" {
		text = "Untitled"
	}
	rows := strings.Split(ansi.Wrap(sanitize.Line(text), width, ""), "\n")
	if len(rows) > most {
		rows = append(rows[:most-1], ansi.Truncate(rows[most-1], width-1, "")+"…")
	}
	for i, row := range rows {
		rows[i] = s.Theme.Accent.Render(row)
	}
	began, layout := s.known.began.In(s.Now().Location()), "15:04"
	if s.known.began.IsZero() {
		return rows
	}
	if now := s.Now(); began.YearDay() != now.YearDay() || now.Sub(began) > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	return append(rows, s.Theme.Dim.Render("since "+began.Format(layout)+" · "+format.Plural(s.known.turns, "turn")))
}

// context returns the used part of the context window, the cost, and the share of the input read from caches.
func (s *Sidebar) context() []string {
	used, window := s.App.FrontEnd.RequestTokens(), s.App.Session.Model().Context
	total, _ := s.App.Session.Spending.Usage()
	figure := format.Tokens(used) + " tokens"
	if window > 0 {
		figure = format.Tokens(used) + " of " + format.Tokens(window)
	}
	rows := []string{beside(s.Theme.Strong.Render("Context"), s.Theme.Dim.Render(figure))}
	if window > 0 {
		full := min(max(used*width/window, min(used, 1)), width)
		rows = append(rows, s.Theme.Voice.Render(strings.Repeat("━", full))+s.Theme.Faint.Render(strings.Repeat("─", width-full)))
	}
	cost, cached := "", ""
	if !s.App.Unnamed { // the cost would reveal the model
		cost = format.Cost(total.Cost, total.Priced)
	}
	if total.CacheRead > 0 && total.Input > 0 {
		cached = format.Percent(float64(total.CacheRead)/float64(total.Input)) + " from cache"
	}
	if cost+cached != "" {
		rows = append(rows, beside(s.Theme.Dim.Render(cost), s.Theme.Dim.Render(cached)))
	}
	return rows
}

// plan returns the steps of the model's plan.
func (s *Sidebar) plan() (rows []string) {
	var args struct{ Text string }
	if json.Unmarshal([]byte(s.known.plan), &args) != nil {
		return nil
	}
	done := 0
	for line := range strings.Lines(args.Text) {
		mark, _, text := act.PlanStep(line)
		sign, style := s.Theme.Dim.Render("☐"), s.Theme.Text
		switch mark {
		case 0:
			continue
		case 'x':
			sign, style = s.Theme.Good.Render("☑"), s.Theme.Dim
			done++
		case '>':
			sign = s.Theme.Voice.Render("▸")
		}
		rows = append(rows, sign+" "+style.Render(ansi.Truncate(sanitize.Line(text), width-2, "…")))
	}
	if len(rows) == 0 {
		return nil
	}
	return append([]string{s.head("Plan", fmt.Sprintf("%d of %d", done, len(rows)))}, rows...)
}

// most is the maximum number of rows of a list.
const most = 12

// countFiles counts the lines of the changed files after a turn. It also checks every two seconds, because /undo changes
// files without a turn.
func (s *Sidebar) countFiles() tea.Cmd {
	f, now, count := &s.files, s.Now(), s.App.Files.Count
	if f.of != s.App.Session {
		*f = changedFiles{of: s.App.Session}
	}
	was := f.idle
	if f.idle = !s.App.FrontEnd.Busy(); !f.idle || was && now.Sub(f.looked) < 2*time.Second || f.counts || count == nil {
		return nil
	}
	f.looked, f.counts = now, true
	of, known := f.of, f.FileChanges
	return func() tea.Msg {
		return changedFiles{FileChanges: count(of, most, known), of: of}
	}
}

// changed returns the changed files with the numbers of their lines.
func (s *Sidebar) changed() (rows []string) {
	if s.files.All == 0 || s.files.of != s.App.Session {
		return nil
	}
	rows = []string{s.head("Changed files", fmt.Sprint(s.files.All))}
	for _, f := range s.files.First {
		figures := s.Theme.Dim.Render(ansi.Truncate(sanitize.Line(f.Detail), width/2, "…"))
		if len(f.Cells) == 2 {
			figures = s.Theme.Good.Render(f.Cells[0]) + " " + s.Theme.Bad.Render(f.Cells[1])
		}
		name := sanitize.Line(f.Title)
		if long := ansi.StringWidth(name) + 2 + ansi.StringWidth(figures) - width; long > 0 {
			name = ansi.TruncateLeft(name, long+1, "…")
		}
		rows = append(rows, beside(s.Theme.Text.Render(name), figures))
	}
	return s.more(rows, s.files.All)
}

// more adds how many of n items of a list are not shown.
func (s *Sidebar) more(rows []string, n int) []string {
	if n > most {
		rows = append(rows, s.Theme.Dim.Render(fmt.Sprintf("%d more", n-most)))
	}
	return rows
}

// items returns the arguments of a command, such as the servers of /mcp, under a heading. Those in the state active
// have sign.
func (s *Sidebar) items(command, title, active, sign string) (rows []string) {
	at := slices.IndexFunc(s.App.Commands, func(c app.Command) bool { return c.Name == command })
	if at < 0 || s.App.Commands[at].Args == nil {
		return nil
	}
	n, on := 0, 0
	for _, i := range s.App.Commands[at].Args() {
		if i.Exact || strings.Contains(i.Value, " ") { // a verb with its argument
			continue
		}
		mark, style := s.Theme.Faint.Render("○"), s.Theme.Dim
		if strings.HasPrefix(i.Detail, active) {
			mark, style = sign, s.Theme.Text
			on++
		}
		if n++; n > most {
			continue
		}
		detail := ansi.Truncate(sanitize.Line(i.Detail), width/2, "…")
		name := ansi.Truncate(sanitize.Line(i.Title), width-ansi.StringWidth(detail)-4, "…")
		rows = append(rows, beside(mark+" "+style.Render(name), s.Theme.Dim.Render(detail)))
	}
	if n == 0 {
		return nil
	}
	return append([]string{s.head(title, fmt.Sprintf("%d of %d", on, n))}, s.more(rows, n)...)
}

// head returns the heading of a section, with a figure on the right.
func (s *Sidebar) head(title, figure string) string {
	return beside(s.Theme.Strong.Render(title), s.Theme.Dim.Render(figure))
}

// beside returns a row with a text at each edge of the column.
func beside(left, right string) string {
	return left + strings.Repeat(" ", max(width-ansi.StringWidth(left)-ansi.StringWidth(right), 1)) + right
}
