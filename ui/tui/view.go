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
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/dialog"
	"parley/ui/tui/input"
	"parley/ui/tui/overlay"
	"parley/ui/tui/statusbar"
	"parley/ui/tui/terminal"
)

// frames holds the last frame and its panes.
type frames struct {
	top, bottom, line, said, all string
	screen                       int // width of the screen; view.width is that beside the column
	column                       string
	room                         int      // rows of top
	pane                         []string // rows above the input
	gap                          int      // rows between top and bottom, for activity and a blank row
	status                       statusbar.Line
	dot, activity                common.Label // activity of the turn
}

// View renders the screen.
func (m *Model) View() tea.View { return m.view.render() }

// A view lays out the parts of the screen and draws them.
type view struct {
	*common.Screen
	app           *app.App
	width, height int // beside the column

	chat     *chat.Chat
	input    *input.Input
	overlay  *overlay.Overlay
	keymap   *keymap
	branches *branches
	greeter  greeter // nil: the screen is empty before there is a conversation
	column   column  // nil: there is none
	pane     pane    // nil: there is none

	frames frames
}

// resize sets the size of the screen.
func (v *view) resize(width, height int) { v.frames.screen, v.width, v.height = width, width, height }

// render returns the screen. Panes cache their strings, so that a frame without
// changes costs a few comparisons.
func (v *view) render() tea.View {
	waiting := ""
	if v.overlay.IsWaiting() {
		waiting = waitingForYou
	}
	out := tea.View{AltScreen: true, WindowTitle: terminal.Title(v.app.Session.Title(), waiting), ProgressBar: terminal.Progress(v.chat.Turn != nil, waiting != ""), ReportFocus: true}
	// After a leader, letters also match by their position on the keyboard.
	out.KeyboardEnhancements = tea.KeyboardEnhancements{ReportAlternateKeys: true, ReportAllKeysAsEscapeCodes: v.keymap.leader != ""}
	if v.Config.Mouse {
		out.MouseMode = tea.MouseModeCellMotion
	}
	if v.width <= 0 || v.height <= 0 {
		return out
	}
	top, bottom, line, said := v.top(), v.bottom(), v.line(), v.said()
	f, column := &v.frames, ""
	if v.width < f.screen {
		column = strings.Join(v.column.Lines(v.height), "\n")
	}
	if column != f.column || top != f.top || bottom != f.bottom || line != f.line || said != f.said || f.all == "" {
		f.top, f.bottom, f.line, f.said, f.column = top, bottom, line, said, column
		f.all = v.compose(top, bottom, line, v.tell(said))
	}
	out.Content = f.all
	out.Cursor = v.cursor()
	return out
}

// layout sets the size of every part. A dialog, or otherwise the input, takes
// the rows that it needs above the status line; the transcript takes the rest.
func (v *view) layout() {
	if v.width == 0 || v.height == 0 {
		return
	}
	v.width = v.frames.screen
	if v.column != nil && !v.overlay.IsWide() {
		v.width -= v.column.Width(v.frames.screen)
	}
	room := v.room()
	bottom := 0
	if v.overlay.Dialog != nil {
		bottom = v.overlay.Layout(v.width, room)
	} else {
		bottom = v.input.Layout(v.width, room)
		v.frames.pane = nil
		if v.pane != nil {
			v.frames.pane = v.pane.Rows(v.width, min(v.height/3, room-bottom))
		}
		bottom += len(v.frames.pane)
	}
	bottom = min(bottom, room)
	gap := 0
	switch free := room - bottom; {
	case v.overlay.Dialog != nil && free > 3:
		gap = 1 // a blank row between conversation and question
	case free > 6 && (v.chat.HasContent || v.greeter == nil):
		gap = 2 // activity and a blank row
	case free > 3:
		gap = 1
	}
	v.frames.gap = gap
	v.frames.room = max(room-bottom-gap, 0)
	v.chat.Transcript.SetSize(v.width, v.frames.room)
}

// cursor returns the position of the terminal's cursor, where input methods draw: in
// the composer, or in the input of a dialog.
func (v *view) cursor() *tea.Cursor {
	var x, y, height int
	var ok bool
	switch {
	case v.overlay.Dialog != nil:
		height = v.overlay.Dialog.Height()
		x, y, ok = v.overlay.Dialog.Cursor()
	case v.chat.Transcript.Browsing():
		if x, y, ok := v.chat.Transcript.Cursor(); ok && x < v.width && y < v.height {
			return tea.NewCursor(x, y)
		}
	default:
		height = v.input.Height(v.width)
		x, y, ok = v.input.Cursor(v.width)
	}
	row := v.room() - min(height, v.room()) + y
	if !ok || row < 0 || row >= v.room() {
		return nil
	}
	return tea.NewCursor(min(x, v.width-1), row)
}

// top returns the transcript, or the greeting before there is a conversation.
func (v *view) top() string {
	if v.chat.HasContent || v.greeter == nil {
		return v.chat.Transcript.View()
	}
	return v.greeter.View(v.width, v.frames.room)
}

func (v *view) bottom() string {
	if v.overlay.Dialog != nil {
		return v.overlay.Dialog.View()
	}
	return strings.Join(append(slices.Clip(v.frames.pane), v.input.View(v.width)), "\n")
}

// nextKeys replaces the text of said while the keys after a leader are shown.
const nextKeys = "\x00keys"

// said returns the effect of the last key, or hints for the next one: text that the
// user has to read.
func (v *view) said() string {
	if _, approval := v.overlay.Dialog.(*dialog.Approval); v.keymap.showsNext && (v.overlay.Dialog == nil || approval) {
		return nextKeys
	}
	var lines []string
	if text := v.ToastText(); v.keymap.leader == "" && text != "" {
		lines = append(lines, sanitize.Line(text))
	}
	if v.branches.editing > 0 { // stays visible, because enter means something else
		lines = append(lines, "Editing an earlier message · enter sends as new branch · esc cancel")
	}
	return strings.Join(lines, "\n")
}

// tell lays out text for the row above the composer, which is empty otherwise.
// Text that does not fit on one row covers the end of the transcript, so that
// nothing moves and nothing is truncated.
func (v *view) tell(said string) []string {
	switch said {
	case "":
		return nil
	case nextKeys:
		room := v.height - 4
		if v.overlay.Dialog != nil {
			room = v.overlay.RowsAbove(v.room())
		}
		return v.keymap.next(v.width, room, v.Screen)
	}
	var rows []string
	for line := range strings.SplitSeq(said, "\n") {
		sign := v.Theme.Accent.Render("• ")
		for row := range strings.SplitSeq(ansi.Wrap(line, max(v.width-input.BarWidth, 1), ""), "\n") {
			rows = append(rows, sign+v.Theme.Text.Render(row))
			sign = strings.Repeat(" ", input.BarWidth)
		}
	}
	return rows
}

// compose stacks the panes into exactly height rows. The activity is below the end of
// the conversation, and said is on the last rows above the input. The keys of a dialog take the place of
// the status line, and line follows them if there is room.
func (v *view) compose(top, bottom, line string, said []string) string {
	rows := make([]string, 0, v.height)
	below := strings.Split(bottom, "\n")
	room := v.room()
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
	if v.overlay.Dialog == nil && v.frames.gap > 0 && len(rows) > v.frames.room {
		if v.frames.gap > 1 {
			over = rows[:len(rows)-1]
		}
		if at := min(lastRow(over)+2, len(over)-1); v.chat.Turn != nil && (at >= v.frames.room || strings.TrimSpace(over[at]) == "") {
			f, text := &v.frames, v.chat.Turn.State(v.Now())
			if v.overlay.IsWaiting() {
				text = v.waitingText()
			}
			over[at] = f.dot.Render(v.Theme, &v.Theme.Voice, "∙ ") + f.activity.Render(v.Theme, &v.Theme.Dim, sanitize.Line(text+v.chat.Turn.Elapsed(v.Now())))
		}
	}
	if v.overlay.IsFullScreen() { // no row is left above the dialog
		over = below
	}
	copy(over[max(len(over)-len(said), 0):], said[max(len(said)-len(over), 0):])
	rows = append(rows, below...)
	if v.overlay.Dialog == nil {
		rows = append(rows, line)
	} else if keys := rows[max(len(rows)-1, 0):]; len(below) > 1 && line != "" {
		if gap := v.width - ansi.StringWidth(keys[0]) - ansi.StringWidth(line) - v.edge(); gap >= input.BarWidth {
			keys[0] += strings.Repeat(" ", gap) + line
		}
	}
	for i, row := range rows {
		rows[i] = common.Truncate(row, v.width)
	}
	if v.frames.column != "" {
		for i, row := range strings.Split(v.frames.column, "\n")[:min(len(rows), v.height)] {
			if row != "" {
				rows[i] += strings.Repeat(" ", v.width-ansi.StringWidth(rows[i])) + row
			}
		}
	}
	return strings.Join(rows[:min(len(rows), v.height)], "\n")
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
func (v *view) room() int {
	if v.overlay.Dialog != nil {
		return v.height
	}
	return max(v.height-1, 0)
}

// state returns the part of the status line that is shown while a dialog is open.
func (v *view) state() string {
	switch {
	case v.keymap.leader != "":
		return v.Theme.Dim.Render(v.keymap.leader + " …")
	case v.overlay.IsWaiting():
		return v.Theme.Warn.Render(v.waitingText())
	case v.chat.Turn != nil:
		return v.Theme.Voice.Render(sanitize.Line(v.chat.Turn.State(v.Now())))
	}
	return ""
}

// line returns the status line.
func (v *view) line() string {
	if v.overlay.Dialog != nil {
		return v.state()
	}
	v.frames.status.Shown = v.Config.Status
	return strings.Repeat(" ", v.edge()) + v.frames.status.View(v.statusInfo(), v.width-2*v.edge(), v.Theme)
}

// lineOf returns the status line with these words, without styles.
func (v *view) lineOf(words []string) string {
	return ansi.Strip(statusbar.View(v.statusInfo(), words, v.width-2*v.edge(), v.Theme))
}

// statusInfo returns the facts for the status line.
func (v *view) statusInfo() statusbar.Info {
	model := v.app.Session.Model()
	total, _ := v.app.Session.Spending.Usage()
	fill := v.input.ContextTokens()
	if v.app.Unnamed { // the cost would reveal the model
		total = llm.Usage{}
	}
	i := statusbar.Info{
		Model: model.Name, Effort: string(v.app.Session.Next.Effort()), Mode: string(v.app.Session.Policy().Mode()),
		Branch: v.Branch, Window: model.Context, Tokens: fill, Draft: v.input.DraftTokens(), Cost: total.Cost, Priced: total.Priced,
		Queue: v.app.Session.Queue.Len(), Jobs: len(v.app.Machine.RunningJobs()), Command: v.StatusText,
	}
	switch sandbox := v.app.Machine.Sandbox.Badge(v.app.Session.Policy().Mode()); {
	case sandbox != "":
		i.Badge = sandbox
	case v.app.Ephemeral:
		i.Badge = "not saved"
	case v.chat.SaveErr != nil:
		i.Badge = "not saved"
	case strategyOf(model) == "prompt", strategyOf(model) == "guided":
		i.Badge = "tools by prompt"
	}
	if v.app.Workspace != "" {
		i.Folder = filepath.Base(v.app.Workspace)
	}
	if mode := v.input.Composer.Mode(); mode != "" && mode != "insert" {
		i.Hint = mode
	}
	if v.input.Composer.Shell() {
		i.Hint = "enter run in your shell"
	}
	if v.chat.Turn != nil && !v.app.Unnamed && cmp.Or(v.chat.Turn.Model, model.Name) != model.Name {
		i.Model = v.chat.Turn.Model + " for " + model.Name
	}
	if v.keymap.leader != "" {
		i.Hint = v.keymap.leader + " …"
	} else if v.chat.Transcript.Browsing() {
		i.Hint = v.chat.Transcript.Hint()
	}
	if v.overlay.IsWaiting() {
		i.State, i.Waiting = v.waitingText(), true
	} else if t := v.chat.Turn; t != nil {
		i.State, i.Rate, i.Retrying = t.State(v.Now()), t.Rate(v.Now()), t.RetryIn(v.Now()) > 0
		if v.frames.gap == 0 { // otherwise the row above the input counts the seconds
			i.Elapsed = v.Now().Sub(t.Since)
		}
		if i.Hint == "" {
			i.Stop = v.KeyOf("stop") + " stops"
		}
	}
	return i
}

// edge returns how many cells the last row leaves free on each side.
func (v *view) edge() int {
	if v.width >= edgesFrom {
		return input.BarWidth
	}
	return 0
}

// edgesFrom is the width from which the status line keeps the edges of the text above it.
const edgesFrom = 40

// waitingForYou is shown while a question is open.
const waitingForYou = "waiting for you"

// waitingText says what happens while a question is open.
func (v *view) waitingText() string {
	if t := v.chat.Turn; t != nil && t.ContinuesIn(v.Now()) > 0 {
		return "continuing in " + format.Seconds(t.ContinuesIn(v.Now()))
	}
	return waitingForYou
}
