package tui

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// Columns of a comparison.
const (
	columnWidth = 38 // the least: with less room, some of them wait outside
	columnGap   = 3
)

// States of a column that was asked, and that was not.
const (
	stateWaiting = "waiting"
	stateSkipped = "not asked"
)

// comparedMsg says which answer the conversation goes on with: the nth, or, below
// zero, the one it stands at.
type comparedMsg struct{ n int }

// haltMsg asks for the end of what still runs in a comparison.
type haltMsg struct{}

// A comparison shows several models answering the same, side by side, until the
// user says which answer counts. It is a dialog: nothing else can be said
// meanwhile.
type comparison struct {
	theme         *theme.Theme
	width, height int
	columns       []*column
	at            int  // column that keys are about
	wanted        int  // that was chosen while others still answered; below zero: none
	running       bool // somebody still answers
	over          bool
	view          string   // of the last View; "" if anything but a pane changed
	shown         []string // the panes and states it is made of
}

// A column is one of the models.
type column struct {
	name  string
	label string // the name, and a number if several columns have it
	pane  *transcript.Model
	turn  app.Turn
	state string
	seq   int // of the answer; 0 while there is none
}

func newComparison(names []string, th *theme.Theme, motion bool) *comparison {
	c := &comparison{theme: th, running: true, wanted: -1}
	for i, label := range app.CandidateLabels(names) {
		pane := transcript.New(th)
		pane.SetMotion(motion)
		c.columns = append(c.columns, &column{name: names[i], label: label, pane: pane, turn: app.Turn{NewID: pane.NewID}, state: stateWaiting})
	}
	return c
}

// take shows what happened to one of the models.
func (c *comparison) take(l session.CandidateEvent, now time.Time) {
	if l.N < 0 || l.N >= len(c.columns) {
		return
	}
	col := c.columns[l.N]
	for _, change := range col.turn.Apply(l.Event, now) {
		col.draw(change)
	}
	switch e := l.Event.(type) {
	case llm.Retry:
		col.state = fmt.Sprintf("retry %d: %s", e.Attempt, words(e.Fault))
	case session.Response:
		col.answer(e, l.Err)
	}
}

// draw shows a change. Of calls it shows that they were wanted.
func (c *column) draw(b app.Change) {
	switch notice, _ := b.Event.(llm.Notice); {
	case drawText(c.pane, b):
		if b.Op != app.Closed {
			c.state = map[app.BlockKind]string{app.ThinkingBlock: "thinking", app.TextBlock: "answering"}[b.Kind]
		}
	case b.Kind == app.EventBlock:
		c.pane.Note(notice.Text)
	case b.Kind == app.ToolBlock && b.Event == nil && b.Tool.Name != "":
		c.pane.Replace(b.ID, transcript.Info, "wanted to call "+b.Tool.Name+": none is called while models are compared")
	}
}

func (c *column) answer(a session.Response, err error) {
	c.seq = a.Seq
	said := []string{"done"}
	if err != nil {
		said = []string{"broke off"}
		if a.Seq == 0 {
			said = []string{"no answer"}
		}
		if llm.Canceled(err) {
			said = []string{"stopped"}
		} else {
			c.pane.AddError(err.Error(), app.Hint(err))
		}
	}
	if a.UsageKnown && a.Usage.Output > 0 {
		said = append(said, count(a.Usage.Output)+" out")
	}
	if a.UsageKnown && a.Usage.Priced {
		said = append(said, fmt.Sprintf("$%.4f", a.Usage.Cost))
	}
	c.state = strings.Join(append(said, format.Seconds(a.Duration)), " · ")
}

func (c *comparison) end() {
	c.running, c.view = false, ""
	for _, col := range c.columns {
		if col.state == stateWaiting {
			col.state = stateSkipped
		}
	}
	if c.wanted >= 0 && c.columns[c.wanted].seq == 0 {
		c.wanted = -1
	}
}

// told reports whether everybody was asked, and so has an error of its own.
func (c *comparison) told() bool {
	return !slices.ContainsFunc(c.columns, func(col *column) bool { return col.state == stateSkipped })
}

// SetSize gives the width and the most rows.
func (c *comparison) SetSize(width, height int) {
	c.width, c.height, c.view = max(width, 0), max(height, 0), ""
	wide, _ := c.share()
	for _, col := range c.columns {
		col.pane.SetSize(wide, max(c.height-4, 1))
	}
}

// share is how wide a column is, and how many fit.
func (c *comparison) share() (width, fit int) {
	fit = min(max((c.width+columnGap)/(columnWidth+columnGap), 1), len(c.columns))
	return max((c.width-(fit-1)*columnGap)/fit, 0), fit
}

// SetTheme changes the looks.
func (c *comparison) SetTheme(th *theme.Theme) {
	c.theme, c.view = th, ""
	for _, col := range c.columns {
		col.pane.SetTheme(th)
	}
}

// Height is all there is.
func (c *comparison) Height() int { return c.height }

// Cursor is nowhere: nothing is written.
func (c *comparison) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Update goes from column to column, scrolls, and chooses.
func (c *comparison) Update(msg tea.Msg) tea.Cmd {
	if c.over {
		return nil
	}
	c.view = ""
	col := c.columns[c.at]
	key, ok := msg.(tea.KeyPressMsg)
	if !ok {
		if wheel, ok := msg.(tea.MouseWheelMsg); ok {
			return col.pane.Update(wheel)
		}
		return nil
	}
	switch name := key.String(); name {
	case "right", "tab", "l":
		c.at = (c.at + 1) % len(c.columns)
	case "left", "shift+tab", "h":
		c.at = (c.at + len(c.columns) - 1) % len(c.columns)
	case "up", "k":
		col.pane.Scroll(-1)
	case "down", "j":
		col.pane.Scroll(1)
	case "pgup":
		col.pane.Page(-0.9)
	case "pgdown", "space":
		col.pane.Page(0.9)
	case "home", "g":
		col.pane.Top()
	case "end", "G":
		col.pane.Bottom()
	case "ctrl+t":
		for _, col := range c.columns {
			col.pane.ToggleThinking()
		}
	case "y":
		text := col.pane.LastAnswer()
		return func() tea.Msg { return transcript.CopyMsg{Text: text, What: "answer of " + col.label} }
	case "enter":
		return c.choose(c.at)
	case "esc", "alt+esc":
		if c.running {
			return func() tea.Msg { return haltMsg{} }
		}
		return c.answer(-1)
	default:
		if n := int(key.Code - '1'); len(name) == 1 && n >= 0 && n < len(c.columns) {
			c.at = n
		}
	}
	return nil
}

// choose makes the conversation go on with the nth answer. Those that are not
// complete then never will be.
func (c *comparison) choose(n int) tea.Cmd {
	if !c.running && c.columns[n].seq == 0 {
		return nil // its state says why there is nothing to go on with
	}
	if !c.running {
		return c.answer(n)
	}
	c.wanted = n
	return func() tea.Msg { return haltMsg{} }
}

func (c *comparison) answer(n int) tea.Cmd {
	c.over = true
	return func() tea.Msg { return comparedMsg{n} }
}

// View is the columns that fit, the chosen one among them. What is made of the
// same is not made again.
func (c *comparison) View() string {
	same := c.view != ""
	if c.shown == nil {
		c.shown = make([]string, 2*len(c.columns))
	}
	for i, col := range c.columns {
		pane := col.pane.View()
		same = same && c.shown[2*i] == pane && c.shown[2*i+1] == col.state
		c.shown[2*i], c.shown[2*i+1] = pane, col.state
	}
	if !same {
		c.view = c.draw()
	}
	return c.view
}

func (c *comparison) draw() string {
	wide, fit := c.share()
	from := max(min(c.at-fit/2, len(c.columns)-fit), 0)
	title := "Which answer?"
	if fit < len(c.columns) {
		title = fmt.Sprintf("Which answer? %d of %d", c.at+1, len(c.columns))
	}
	rows := make([]string, max(c.height, 0))
	put := func(i int, row string) {
		if i >= 0 && i < len(rows) {
			rows[i] = row
		}
	}
	put(0, c.theme.Strong.Render(ansi.Truncate(title, c.width, "…")))
	for n, col := range c.columns[from : from+fit] {
		name, state := sanitize.Line(col.label), sanitize.Line(col.state)
		sign, style := "  ", c.theme.Text
		if from+n == c.at {
			sign, style = "› ", c.theme.Accent
		}
		cells := []string{style.Render(ansi.Truncate(sign+name, wide, "…")), c.theme.Dim.Render(ansi.Truncate("  "+state, wide, "…"))}
		cells = append(cells, strings.Split(col.pane.View(), "\n")...)
		for i := range min(len(rows)-2, max(c.height-4, 1)+2) {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			if n < fit-1 {
				cell += strings.Repeat(" ", max(wide+columnGap-ansi.StringWidth(cell), 0))
			}
			rows[i+1] += cell
		}
	}
	put(len(rows)-1, c.theme.Dim.Render(c.hint()))
	return strings.Join(rows, "\n")
}

// hint is which keys work, as many as fit.
func (c *comparison) hint() string {
	leave := "esc stop"
	if !c.running {
		leave = "esc take the first"
	}
	said := "enter take this one"
	for _, more := range []string{leave, "←→ choose", "y copy", "↑↓ scroll", "ctrl+t thinking"} {
		if ansi.StringWidth(said+" · "+more) > c.width {
			break
		}
		said += " · " + more
	}
	return ansi.Truncate(said, c.width, "…")
}

// compare makes the next prompt go to several models, or to one again.
func (m *Model) compare(arg string) tea.Cmd {
	names := strings.Fields(arg)
	switch {
	case len(names) == 0 && len(m.comparing) > 0:
		m.comparing = nil
		m.layout()
		return m.say("one model answers again")
	case len(names) == 0:
		return m.offerModels("Compare "+m.app.Session.Model().Name+" with", "", func(name string) tea.Cmd { return m.compare(name) })
	case len(names) == 1:
		names = []string{m.app.Session.Model().Name, names[0]}
	}
	for _, name := range names {
		if _, err := m.app.Open(name); err != nil {
			return m.say(err.Error())
		}
	}
	m.comparing = names
	m.layout()
	return m.say("the next prompt goes to all of them; /compare a b c names more")
}

// rivals opens the models that the next prompt goes to. An error leaves the
// one of the conversation.
func (m *Model) rivals() ([]llm.Endpoint, error) {
	var models []llm.Endpoint
	for _, name := range m.comparing {
		model, err := m.app.Open(name)
		if err != nil {
			m.comparing = nil
			m.layout()
			return nil, err
		}
		models = append(models, model)
	}
	return models, nil
}

// askAll sends a prompt to every model that is compared.
func (m *Model) askAll(models []llm.Endpoint, parts []llm.Part) tea.Cmd {
	names := m.comparing
	m.comparing = nil
	s := m.app.Session
	cmd := m.play(func(ctx context.Context) iter.Seq[session.Event] { return s.Compare(ctx, models, parts...) })
	m.chat.turn.Model = strings.Join(names, " + ")
	return tea.Batch(cmd, m.open(newComparison(names, m.theme, m.config.Motion != "off")))
}

// compared goes on with an answer, and with the model that gave it.
func (m *Model) compared(msg comparedMsg) tea.Cmd {
	c, ok := m.dialog.(*comparison)
	m.dialog = nil
	if !ok || msg.n < 0 || msg.n >= len(c.columns) {
		m.redraw()
		return nil
	}
	col := c.columns[msg.n]
	if col.seq == 0 {
		m.redraw()
		return m.say(col.label + " gave no answer")
	}
	cmd := m.switchTo(col.seq)
	if col.name != m.app.Session.Model().Name {
		cmd = tea.Batch(cmd, m.perform(m.app.Use(col.name)))
	}
	m.chat.transcript.Bottom()
	return tea.Batch(cmd, m.say("going on with "+col.label+": ctrl+x t shows the other answers"))
}

var _ dialog.Dialog = (*comparison)(nil)
