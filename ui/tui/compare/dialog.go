// Package compare sends a prompt to several models and shows their answers side by side.
package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app/blocks"
	"parley/ui/app/candidates"
	"parley/ui/app/wording"
	"parley/ui/theme"
	"parley/ui/tui/chat"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// Columns of a comparison.
const (
	columnWidth = 38 // minimum width; columns that do not fit are hidden
	columnGap   = 3
)

// A Dialog shows the answers of several models side by side, until the user
// chooses one. Because it is a dialog, the user cannot send prompts meanwhile.
type Dialog struct {
	candidates.List
	root          dialog.Root
	theme         *theme.Theme
	width, height int
	columns       []*column // one for each candidate
	at            int       // column that keys act on
	wanted        int       // column chosen while others still answered; negative for none
	running       bool      // a model is still answering
	none          bool      // the user just chose a column without an answer
	over          bool
	goOn          func(n int) tea.Cmd // continues with an answer; negative for the current one of the conversation
	stop          func() tea.Cmd      // stops the running answers
	verdict       string              // verdict of a judge; "" for none yet
	view          string              // result of the last View; "" if anything but a pane changed
	shown         []string            // panes and states in the last View
}

// A column is the answer of one of the models.
type column struct {
	*candidates.Candidate
	pane *transcript.Model
	turn blocks.Turn
}

// newDialog returns a dialog for models that have not been asked yet.
func newDialog(p *candidates.Prompt, th *theme.Theme, motion bool) *Dialog {
	c := &Dialog{List: candidates.New(p), theme: th, running: true, wanted: -1}
	for _, one := range c.List {
		pane := transcript.New(th)
		pane.SetMotion(motion)
		c.columns = append(c.columns, &column{Candidate: one, pane: pane, turn: blocks.NewTurn(pane.Blocks.NewID)})
	}
	return c
}

// AwaitsTurn marks the dialog as one that a question of its turn may cover.
func (*Dialog) AwaitsTurn() {}

// Wide marks the dialog as one that uses the full width.
func (*Dialog) Wide() {}

// Apply shows an event of one of the models.
func (c *Dialog) Apply(l session.CandidateEvent, now time.Time) {
	one := c.List.Apply(l)
	if one == nil {
		return
	}
	col := c.columns[l.N]
	for _, change := range col.turn.Apply(l.Event, now) {
		col.draw(change)
	}
	if err := one.Failure(); one.Done && err != nil {
		col.pane.Blocks.AddError(wording.Error(err), wording.Hint(err))
	}
}

// draw shows a change. It shows tool calls only as requests.
func (c *column) draw(b blocks.Change) {
	switch notice, _ := b.Event.(llm.Notice); {
	case chat.DrawText(c.pane, b):
		if b.Op != blocks.Closed && !c.Done {
			c.State = map[blocks.Kind]string{blocks.ThinkingBlock: "thinking", blocks.TextBlock: "answering"}[b.Kind]
		}
	case b.Op == blocks.Dropped:
		c.pane.Remove(b.ID)
	case b.Kind == blocks.EventBlock && c.Blind: // the event may name the model
	case b.Kind == blocks.EventBlock:
		c.pane.Blocks.AddNote(notice.Text)
	case b.Kind == blocks.ToolBlock && b.Tool.Name != "":
		c.pane.Blocks.SetNote(b.ID, transcript.Info, candidates.CallText(b.Tool.Name, b.Tool.Status))
	}
}

// Finish records that all models are done. It returns a function that continues with the earlier
// choice; nil if there was none.
func (c *Dialog) Finish() (next func() tea.Cmd) {
	c.running, c.view = false, ""
	c.List.MarkDone()
	if kept := c.standing(); kept >= 0 && c.columns[c.at].Answer.Seq == 0 {
		c.at = kept
	}
	if c.wanted < 0 || c.columns[c.wanted].Answer.Seq == 0 {
		return nil
	}
	return func() tea.Cmd { return c.goOn(c.wanted) }
}

// ShowsErrors reports whether each model has shown its own error.
func (c *Dialog) ShowsErrors() bool { return c.AllAsked() }

// SetSize sets the width and the maximum number of rows.
func (c *Dialog) SetSize(width, height int) {
	if width, height = max(width, 0), max(height, 0); width == c.width && height == c.height {
		return
	}
	c.width, c.height, c.view = width, height, ""
	wide, _ := c.share()
	for _, col := range c.columns {
		col.pane.SetSize(wide, max(c.height-4, 1))
	}
}

// share returns the width of a column, and how many fit.
func (c *Dialog) share() (width, fit int) {
	fit = min(max((c.width+columnGap)/(columnWidth+columnGap), 1), len(c.columns))
	return max((c.width-(fit-1)*columnGap)/fit, 0), fit
}

// SetTheme changes the theme.
func (c *Dialog) SetTheme(th *theme.Theme) {
	c.theme, c.view = th, ""
	for _, col := range c.columns {
		col.pane.SetTheme(th)
	}
}

// Height returns the maximum: the dialog fills its space.
func (c *Dialog) Height() int { return c.height }

// Attach sets the root.
func (c *Dialog) Attach(r dialog.Root) { c.root = r }

// Cursor returns false: the dialog has no text input.
func (c *Dialog) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Update handles keys that move between columns, scroll, or choose.
func (c *Dialog) Update(msg tea.Msg) tea.Cmd {
	if c.over {
		return nil
	}
	c.view, c.none = "", false
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
		return c.root.Copy(text, "answer of "+col.Label)
	case "enter":
		return c.choose(c.at)
	case "esc":
		if c.running {
			return c.stop()
		}
		return c.answer(-1)
	default:
		if n := int(key.Code - '1'); len(name) == 1 && n >= 0 && n < len(c.columns) {
			c.at = n
		}
	}
	return nil
}

// choose continues the conversation with the nth answer. Incomplete answers are stopped.
func (c *Dialog) choose(n int) tea.Cmd {
	if !c.running && c.columns[n].Answer.Seq == 0 {
		c.none = true
		return nil
	}
	if !c.running {
		return c.answer(n)
	}
	c.wanted = n
	return c.stop()
}

func (c *Dialog) answer(n int) tea.Cmd {
	c.over = true
	return c.goOn(n)
}

// ShowVerdict shows the verdict of a judge.
func (c *Dialog) ShowVerdict(v session.Verdict) {
	c.verdict, c.view = sanitize.Line(c.List.RecordVerdict(v)), ""
}

// View returns the columns that fit, including the selected one. It returns the
// last result if nothing has changed.
func (c *Dialog) View() string {
	same := c.view != ""
	if c.shown == nil {
		c.shown = make([]string, 2*len(c.columns))
	}
	for i, col := range c.columns {
		pane := col.pane.View()
		same = same && c.shown[2*i] == pane && c.shown[2*i+1] == col.State
		c.shown[2*i], c.shown[2*i+1] = pane, col.State
	}
	if !same {
		c.view = c.draw()
	}
	return c.view
}

func (c *Dialog) draw() string {
	wide, fit := c.share()
	from := max(min(c.at-fit/2, len(c.columns)-fit), 0)
	title := "Compare · choose an answer to continue with"
	if fit < len(c.columns) { // some columns do not fit
		title = fmt.Sprintf("Compare · choose an answer · %d of %d", c.at+1, len(c.columns))
	}
	if c.verdict != "" {
		title = c.verdict
	}
	if c.none {
		title = "No answer to continue with · choose another"
	}
	rows := make([]string, max(c.height, 0))
	put := func(i int, row string) {
		if i >= 0 && i < len(rows) {
			rows[i] = row
		}
	}
	put(0, c.theme.Strong.Render(ansi.Truncate(title, c.width, "…")))
	for n, col := range c.columns[from : from+fit] {
		name, state := sanitize.Line(col.Label), sanitize.Line(col.State)
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

// standing returns the index of the current answer of the conversation: the first complete one, or else the
// first one; negative for none.
func (c *Dialog) standing() int {
	whole := func(col *column) bool { return col.Answer.Seq > 0 && col.Err == nil }
	if i := slices.IndexFunc(c.columns, whole); i >= 0 {
		return i
	}
	return slices.IndexFunc(c.columns, func(col *column) bool { return col.Answer.Seq > 0 })
}

// hint returns the key hints that fit.
func (c *Dialog) hint() string {
	leave := "esc stop"
	if kept := c.standing(); !c.running && kept < 0 {
		leave = "esc leave"
	} else if !c.running {
		leave = "esc keep the " + []string{"first", "second", "third", "fourth"}[min(kept, 3)]
	}
	said := "enter continue with this"
	if ansi.StringWidth(said+" · ←→ choose · "+leave) > c.width {
		said = "enter use this"
	}
	for _, more := range []string{"←→ choose", leave, "y copy", "↑↓ scroll", "ctrl+t thinking"} {
		if ansi.StringWidth(said+" · "+more) > c.width {
			break
		}
		said += " · " + more
	}
	return ansi.Truncate(said, c.width, "…")
}
