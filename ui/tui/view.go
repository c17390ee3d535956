package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/tools"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/tui/dialog"
	"parley/ui/tui/statusbar"
)

const signWidth = 2 // of prompt, in cells

// prompt is the sign in front of the composer.
const prompt = "› "

// paintedMsg says that the frame before it was handed to the terminal.
type paintedMsg struct{}

// View draws the screen. Panes cache their strings, so that a frame in which
// nothing changed costs a few comparisons.
func (m *Model) View() tea.View {
	v := tea.View{AltScreen: true, WindowTitle: m.title(), ProgressBar: m.progress(), ReportFocus: true}
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.width <= 0 || m.height <= 0 {
		return v
	}
	top, bottom, line, said := m.top(), m.bottom(), m.line(), m.said()
	f := &m.frames
	if top != f.top || bottom != f.bottom || line != f.line || said != f.said || f.all == "" {
		f.top, f.bottom, f.line, f.said = top, bottom, line, said
		f.all = m.compose(top, bottom, line, m.tell(said))
	}
	v.Content = f.all
	v.Cursor = m.cursor()
	return v
}

// cursor is where the terminal's own cursor stands, which is where input methods
// draw: in the composer, or where a dialog is written in.
func (m *Model) cursor() *tea.Cursor {
	var x, y, left, height int
	var ok bool
	switch {
	case m.dialog != nil:
		height = m.dialog.Height()
		x, y, ok = m.dialog.Cursor()
	case m.chat.transcript.Browsing():
		if x, y, ok := m.chat.transcript.Cursor(); ok && x < m.width && y < m.height {
			return tea.NewCursor(x, y)
		}
	default:
		above := len(m.chips())
		left, height = signWidth, m.composer.Height()+above
		x, y, ok = m.composer.Cursor()
		y += above
	}
	row := m.height - 1 - min(height, max(m.height-1, 0)) + y
	if !ok || row < 0 || row >= m.height-1 {
		return nil
	}
	return tea.NewCursor(min(left+x, m.width-1), row)
}

// top is the transcript, or what greets a user before there is one.
func (m *Model) top() string {
	if m.chat.shown {
		return m.chat.transcript.View()
	}
	return m.welcome()
}

func (m *Model) bottom() string {
	if m.dialog != nil {
		return m.dialog.View()
	}
	rows, at := m.chips(), m.composer.PromptRow()
	for i, row := range strings.Split(m.composer.View(), "\n") {
		sign := strings.Repeat(" ", signWidth)
		if i == at {
			sign = m.theme.Accent.Render(prompt)
		}
		rows = append(rows, sign+row)
	}
	return strings.Join(rows, "\n")
}

// said is what a key just did, or what a key would do now: words that have to be
// read.
func (m *Model) said() string {
	var lines []string
	if m.keymap.leader == "" && m.toast.shows(m.now()) {
		lines = append(lines, sanitize.Line(m.toast.text))
	}
	if m.editing > 0 { // stays in sight: enter means something else
		lines = append(lines, "editing an earlier message: enter sends it as a branch, esc leaves it")
	}
	return strings.Join(lines, "\n")
}

// tell lays words out for the row above the composer, which is empty otherwise.
// What does not fit in a row goes over the end of the transcript: nothing moves
// for it, and nothing of it is cut.
func (m *Model) tell(said string) []string {
	if said == "" {
		return nil
	}
	var rows []string
	for line := range strings.SplitSeq(said, "\n") {
		sign := m.theme.Accent.Render("• ")
		for row := range strings.SplitSeq(ansi.Wrap(line, max(m.width-signWidth, 1), ""), "\n") {
			rows = append(rows, sign+m.theme.Text.Render(row))
			sign = strings.Repeat(" ", signWidth)
		}
	}
	return rows
}

// compose stacks the panes into exactly height rows, with what is said on the
// last ones above the bottom.
func (m *Model) compose(top, bottom, line string, said []string) string {
	rows := make([]string, 0, m.height)
	below := strings.Split(bottom, "\n")
	room := max(m.height-1, 0)
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
	if _, full := m.dialog.(*dialog.Pager); full { // no row is left above it
		over = below
	}
	copy(over[max(len(over)-len(said), 0):], said[max(len(said)-len(over), 0):])
	rows = append(rows, below...)
	rows = append(rows, line)
	for i, row := range rows {
		if !fits(row, m.width) && ansi.StringWidth(row) > m.width {
			rows[i] = ansi.Truncate(row, m.width, "")
		}
	}
	return strings.Join(rows[:min(len(rows), m.height)], "\n")
}

// fits reports whether row takes at most width cells, where a glance tells: to
// measure every row of every frame would be most of its cost.
func fits(row string, width int) bool {
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\x1b' && strings.HasPrefix(row[i:], "\x1b["):
			for i += 2; i < len(row) && (row[i] < '@' || row[i] > '~'); i++ {
			}
		case c == '\x1b':
			return false
		case c >= 0xc0: // of one or two cells
			width -= 2
		case c < 0x80:
			width--
		}
	}
	return width >= 0
}

// chips is the line above the composer that names what goes with the prompt.
func (m *Model) chips() []string {
	var names []string
	if len(m.comparing) > 0 {
		names = append(names, "[to compare: "+sanitize.Line(strings.Join(app.CandidateLabels(m.comparing), ", "))+"]")
	}
	for _, p := range m.app.Attached {
		names = append(names, "["+sanitize.Line(attach.PartLabel(p))+"]")
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Repeat(" ", signWidth) + m.theme.Dim.Render(ansi.Truncate(strings.Join(names, " "), max(m.width-signWidth, 1), "…"))}
}

// welcome is the empty screen: what answers, and the few keys worth knowing.
func (m *Model) welcome() string {
	model := m.app.Session.Model()
	lines := []string{
		"",
		"  " + m.theme.Strong.Render("parley") + "  " + m.theme.Dim.Render(sanitize.Line(model.Name)),
		"",
	}
	for _, hint := range [][2]string{
		{"enter", "send"}, {"ctrl+j", "new line"}, {m.keymap.keyOf("model"), "pick a model"}, {m.keymap.keyOf("commands"), "commands"}, {m.keymap.keyOf("keys"), "help"}, {m.keymap.keyOf("end"), "quit"},
	} {
		lines = append(lines, "  "+m.theme.Dim.Render(pad(hint[0], 10))+m.theme.Faint.Render(hint[1]))
	}
	if m.app.Notice != "" {
		lines = append(lines, "")
		for row := range strings.SplitSeq(ansi.Wrap(sanitize.Line(m.app.Notice), max(m.width-4, 1), ""), "\n") {
			lines = append(lines, "  "+m.theme.Dim.Render(row))
		}
	}
	return strings.Join(lines, "\n")
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-ansi.StringWidth(s), 1))
}

// strategyOf is how a model gets tools at the moment: one that is found to have
// no function calling changes in the middle of a conversation.
func strategyOf(m llm.Endpoint) string {
	if s, ok := m.Model.(interface{ Strategy() string }); ok {
		return s.Strategy()
	}
	return m.Strategy
}

// filled is about how many tokens the next request takes: what was said and what
// goes with it, and the draft.
func (m *Model) filled() int {
	const short = 200 // tokens of a first draft that are not worth a figure
	fill := m.app.Session.ContextTokens()
	if fill == 0 && len(m.app.Session.History()) == 0 {
		for _, f := range m.app.Context() {
			fill += f.Tokens
		}
	}
	if fill > 0 || m.drafts.tokens > short {
		fill += m.drafts.tokens
	}
	return fill
}

// line is the status line.
func (m *Model) line() string {
	model := m.app.Session.Model()
	total, _ := m.app.Session.Usage()
	fill := m.filled()
	i := statusbar.Info{
		Model: model.Name, Effort: string(m.app.Session.Effort()), Mode: string(m.app.Session.Policy().Mode()),
		Context: -1, Tokens: fill, Cost: total.Cost, Priced: total.Priced,
		Queue: m.app.Session.QueueLen(),
	}
	switch {
	case m.app.Held != "" && m.app.Session.Policy().Mode() != tools.ModeReadOnly:
		i.Badge = "no sandbox"
	case m.app.Ephemeral:
		i.Badge = "not kept"
	case m.unsaved != nil:
		i.Badge = "not saved"
	case strategyOf(model) == "prompt", strategyOf(model) == "guided":
		i.Badge = "tools by prompt"
	}
	if model.Context > 0 {
		i.Context = float64(fill) / float64(model.Context)
	}
	if mode := m.composer.Mode(); mode != "" && mode != "insert" {
		i.Hint = mode
	}
	if m.composer.Shell() {
		i.Hint = "enter runs this in your shell"
	}
	if m.chat.turn != nil && m.chat.turn.Model != "" {
		i.Model = m.chat.turn.Model
	}
	if m.keymap.leader != "" {
		i.Hint = m.keymap.leader + " …"
	} else if m.chat.transcript.Browsing() {
		i.Hint = m.chat.transcript.Hint()
	}
	if len(m.chat.asks) > 0 {
		i.State = "waiting for you"
	} else if m.chat.turn != nil {
		i.State, i.Elapsed, i.Rate = m.chat.turn.state(m.now()), m.now().Sub(m.chat.turn.Since), m.chat.turn.Rate(m.now())
	}
	return m.frames.status.View(i, m.width, m.theme)
}
