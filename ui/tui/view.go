package tui

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/format"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/input"
	"parley/ui/tui/statusbar"
	"parley/ui/tui/terminal"
)

// frames holds the last frame and its panes.
type frames struct {
	top, bottom, line, said, all string
	screen                       int // width of the screen; Model.width is that beside the column
	column                       string
	room                         int      // rows of top
	pane                         []string // rows above the input
	gap                          int      // rows between top and bottom, for activity and a blank row
	status                       statusbar.Line
	dot, activity                common.Label // activity of the turn
}

// View renders the screen. Panes cache their strings, so that a frame without
// changes costs a few comparisons.
func (m *Model) View() tea.View {
	waiting := ""
	if m.overlay.IsWaiting() {
		waiting = waitingForYou
	}
	v := tea.View{AltScreen: true, WindowTitle: terminal.Title(m.App.Session.Title(), waiting), ProgressBar: terminal.Progress(m.chat.Turn != nil, waiting != ""), ReportFocus: true}
	// After a leader, letters also match by their position on the keyboard.
	v.KeyboardEnhancements = tea.KeyboardEnhancements{ReportAlternateKeys: true, ReportAllKeysAsEscapeCodes: m.keymap.leader != ""}
	if m.Config.Mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width <= 0 || m.height <= 0 {
		return v
	}
	top, bottom, line, said := m.top(), m.bottom(), m.line(), m.said()
	f, column := &m.frames, ""
	if m.width < f.screen {
		column = strings.Join(m.column.Lines(m.height), "\n")
	}
	if column != f.column || top != f.top || bottom != f.bottom || line != f.line || said != f.said || f.all == "" {
		f.top, f.bottom, f.line, f.said, f.column = top, bottom, line, said, column
		f.all = m.compose(top, bottom, line, m.tell(said))
	}
	v.Content = f.all
	v.Cursor = m.cursor()
	return v
}

// cursor returns the position of the terminal's cursor, where input methods draw: in
// the composer, or in the input of a dialog.
func (m *Model) cursor() *tea.Cursor {
	var x, y, height int
	var ok bool
	switch {
	case m.overlay.Dialog != nil:
		height = m.overlay.Dialog.Height()
		x, y, ok = m.overlay.Dialog.Cursor()
	case m.chat.Transcript.Browsing():
		if x, y, ok := m.chat.Transcript.Cursor(); ok && x < m.width && y < m.height {
			return tea.NewCursor(x, y)
		}
	default:
		height = m.input.Height(m.width)
		x, y, ok = m.input.Cursor(m.width)
	}
	row := m.room() - min(height, m.room()) + y
	if !ok || row < 0 || row >= m.room() {
		return nil
	}
	return tea.NewCursor(min(x, m.width-1), row)
}

// top returns the transcript, or the greeting before there is a conversation.
func (m *Model) top() string {
	if m.chat.HasContent || m.greeter == nil {
		return m.chat.Transcript.View()
	}
	return m.greeter.View(m.width, m.frames.room)
}

func (m *Model) bottom() string {
	if m.overlay.Dialog != nil {
		return m.overlay.Dialog.View()
	}
	return strings.Join(append(slices.Clip(m.frames.pane), m.input.View(m.width)), "\n")
}

// nextKeys replaces the text of said while the keys after a leader are shown.
const nextKeys = "\x00keys"

// said returns the effect of the last key, or hints for the next one: text that the
// user has to read.
func (m *Model) said() string {
	if _, approval := m.overlay.Dialog.(*dialog.Approval); m.keymap.showsNext && (m.overlay.Dialog == nil || approval) {
		return nextKeys
	}
	var lines []string
	if text := m.ToastText(); m.keymap.leader == "" && text != "" {
		lines = append(lines, sanitize.Line(text))
	}
	if m.branches.editing > 0 { // stays visible, because enter means something else
		lines = append(lines, "Editing an earlier message · enter sends as new branch · esc cancel")
	}
	return strings.Join(lines, "\n")
}

// tell lays out text for the row above the composer, which is empty otherwise.
// Text that does not fit on one row covers the end of the transcript, so that
// nothing moves and nothing is truncated.
func (m *Model) tell(said string) []string {
	switch said {
	case "":
		return nil
	case nextKeys:
		room := m.height - 4
		if m.overlay.Dialog != nil {
			room = m.overlay.RowsAbove(m.room())
		}
		return m.keymap.next(m.width, room, m.Screen)
	}
	var rows []string
	for line := range strings.SplitSeq(said, "\n") {
		sign := m.Theme.Accent.Render("• ")
		for row := range strings.SplitSeq(ansi.Wrap(line, max(m.width-input.BarWidth, 1), ""), "\n") {
			rows = append(rows, sign+m.Theme.Text.Render(row))
			sign = strings.Repeat(" ", input.BarWidth)
		}
	}
	return rows
}

// compose stacks the panes into exactly height rows. The activity is below the end of
// the conversation, and said is on the last rows above the input. The keys of a dialog take the place of
// the status line, and line follows them if there is room.
func (m *Model) compose(top, bottom, line string, said []string) string {
	rows := make([]string, 0, m.height)
	below := strings.Split(bottom, "\n")
	room := m.room()
	if len(below) > room {
		below = below[:room]
	}
	for row := range strings.SplitSeq(top, "\n") {
		if len(rows) == room-len(below) {
			break
		}
		rows = append(rows, row)
	}
	for len(rows) < room-len(below) {
		rows = append(rows, "")
	}
	over := rows
	if m.overlay.Dialog == nil && m.frames.gap > 0 && len(rows) > m.frames.room {
		if m.frames.gap > 1 {
			over = rows[:len(rows)-1]
		}
		if at := min(lastRow(over)+2, len(over)-1); m.chat.Turn != nil && (at >= m.frames.room || strings.TrimSpace(over[at]) == "") {
			f, text := &m.frames, m.chat.Turn.State(m.Now())
			if m.overlay.IsWaiting() {
				text = m.waitingText()
			}
			over[at] = f.dot.Render(m.Theme, &m.Theme.Voice, "∙ ") + f.activity.Render(m.Theme, &m.Theme.Dim, sanitize.Line(text+m.chat.Turn.Elapsed(m.Now())))
		}
	}
	if m.overlay.IsFullScreen() { // no row is left above the dialog
		over = below
	}
	copy(over[max(len(over)-len(said), 0):], said[max(len(said)-len(over), 0):])
	rows = append(rows, below...)
	if m.overlay.Dialog == nil {
		rows = append(rows, line)
	} else if keys := rows[max(len(rows)-1, 0):]; len(below) > 1 && line != "" {
		if gap := m.width - ansi.StringWidth(keys[0]) - ansi.StringWidth(line) - m.edge(); gap >= input.BarWidth {
			keys[0] += strings.Repeat(" ", gap) + line
		}
	}
	for i, row := range rows {
		rows[i] = common.Truncate(row, m.width)
	}
	if m.frames.column != "" {
		for i, row := range strings.Split(m.frames.column, "\n")[:min(len(rows), m.height)] {
			if row != "" {
				rows[i] += strings.Repeat(" ", m.width-ansi.StringWidth(rows[i])) + row
			}
		}
	}
	return strings.Join(rows[:min(len(rows), m.height)], "\n")
}

// lastRow returns the index of the last row that is not blank; -1 if all are.
func lastRow(rows []string) int {
	last := len(rows) - 1
	for last >= 0 && strings.TrimSpace(rows[last]) == "" {
		last--
	}
	return last
}

// strategyOf returns how a model currently gets tools. A model found to lack
// function calling changes its strategy in the middle of a conversation.
func strategyOf(m llm.Endpoint) string {
	if s, ok := m.Model.(interface{ Strategy() string }); ok {
		return s.Strategy()
	}
	return m.Strategy
}

// room returns the number of rows above the status line; a dialog has its keys in place of that.
func (m *Model) room() int {
	if m.overlay.Dialog != nil {
		return m.height
	}
	return max(m.height-1, 0)
}

// state returns the part of the status line that is shown while a dialog is open.
func (m *Model) state() string {
	switch {
	case m.keymap.leader != "":
		return m.Theme.Dim.Render(m.keymap.leader + " …")
	case m.overlay.IsWaiting():
		return m.Theme.Warn.Render(m.waitingText())
	case m.chat.Turn != nil:
		return m.Theme.Voice.Render(sanitize.Line(m.chat.Turn.State(m.Now())))
	}
	return ""
}

// line returns the status line.
func (m *Model) line() string {
	if m.overlay.Dialog != nil {
		return m.state()
	}
	m.frames.status.Shown = m.Config.Status
	return strings.Repeat(" ", m.edge()) + m.frames.status.View(m.statusInfo(), m.width-2*m.edge(), m.Theme)
}

// lineOf returns the status line with these words, without styles.
func (m *Model) lineOf(words []string) string {
	return ansi.Strip(statusbar.View(m.statusInfo(), words, m.width-2*m.edge(), m.Theme))
}

// statusInfo returns the facts for the status line.
func (m *Model) statusInfo() statusbar.Info {
	model := m.App.Session.Model()
	total, _ := m.App.Session.Spending.Usage()
	fill := m.input.ContextTokens()
	if m.App.Unnamed { // the cost would reveal the model
		total = llm.Usage{}
	}
	i := statusbar.Info{
		Model: model.Name, Effort: string(m.App.Session.Next.Effort()), Mode: string(m.App.Session.Policy().Mode()),
		Branch: m.Branch, Window: model.Context, Tokens: fill, Draft: m.input.DraftTokens(), Cost: total.Cost, Priced: total.Priced,
		Queue: m.App.Session.Queue.Len(), Jobs: len(m.App.Machine.RunningJobs()), Command: m.StatusText,
	}
	switch sandbox := m.App.Machine.Sandbox.Badge(m.App.Session.Policy().Mode()); {
	case sandbox != "":
		i.Badge = sandbox
	case m.App.Ephemeral:
		i.Badge = "not saved"
	case m.chat.SaveErr != nil:
		i.Badge = "not saved"
	case strategyOf(model) == "prompt", strategyOf(model) == "guided":
		i.Badge = "tools by prompt"
	}
	if m.App.Workspace != "" {
		i.Folder = filepath.Base(m.App.Workspace)
	}
	if mode := m.input.Composer.Mode(); mode != "" && mode != "insert" {
		i.Hint = mode
	}
	if m.input.Composer.Shell() {
		i.Hint = "enter run in your shell"
	}
	if m.chat.Turn != nil && !m.App.Unnamed && cmp.Or(m.chat.Turn.Model, model.Name) != model.Name {
		i.Model = m.chat.Turn.Model + " for " + model.Name
	}
	if m.keymap.leader != "" {
		i.Hint = m.keymap.leader + " …"
	} else if m.chat.Transcript.Browsing() {
		i.Hint = m.chat.Transcript.Hint()
	}
	if m.overlay.IsWaiting() {
		i.State, i.Waiting = m.waitingText(), true
	} else if t := m.chat.Turn; t != nil {
		i.State, i.Rate, i.Retrying = t.State(m.Now()), t.Rate(m.Now()), t.RetryIn(m.Now()) > 0
		if m.frames.gap == 0 { // otherwise the row above the input counts the seconds
			i.Elapsed = m.Now().Sub(t.Since)
		}
		if i.Hint == "" {
			i.Stop = m.KeyOf("stop") + " stops"
		}
	}
	return i
}

// edge returns how many cells the last row leaves free on each side.
func (m *Model) edge() int {
	if m.width >= edgesFrom {
		return input.BarWidth
	}
	return 0
}

// edgesFrom is the width from which the status line keeps the edges of the text above it.
const edgesFrom = 40

// waitingForYou is shown while a question is open.
const waitingForYou = "waiting for you"

// waitingText says what happens while a question is open.
func (m *Model) waitingText() string {
	if t := m.chat.Turn; t != nil && t.ContinuesIn(m.Now()) > 0 {
		return "continuing in " + format.Seconds(t.ContinuesIn(m.Now()))
	}
	return waitingForYou
}
