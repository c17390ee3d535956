package dialog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
	"parley/ui/describe"
	"parley/ui/format"
	"parley/ui/textwrap"
	"parley/ui/theme"
	"parley/ui/tui/band"
)

// A ModelQuestion is a question of the model, with numbered choices and a last row for any other answer. Keys answer
// after it was visible for settleDelay and after a pause in typing (see Drawn). Digits pressed before that are dropped.
// Text typed before that goes to the composer, and so does all text of a user who was writing when it opened. After an
// answer to the question before it, text is an answer too.
type ModelQuestion struct {
	base
	window
	Gate     readGate                                // decides when keys may answer
	Several  bool                                    // several choices may be chosen
	Answered func(chosen []int, text string) tea.Cmd // called with the chosen rows and the text; neither: the user does not answer
	count    string
	text     string
	choices  [][2]string // label and explanation
	marked   []bool
	selected int // -1 for none; len(choices) is the row for other answers
	own      textField
	writing  bool // the user is writing a draft
	follow   bool // the next View shows the selected row
}

// AskModelQuestion asks text with choices: labels and explanations. The first one is recommended. Count is the place
// among other questions, such as "1 of 3"; "" for none.
func AskModelQuestion(text, count string, choices [][2]string, th *theme.Theme) *ModelQuestion {
	q := &ModelQuestion{base: newQuestion(th), Gate: readGate{Now: time.Now}, text: sanitize.Text(text), count: sanitize.Line(count), marked: make([]bool, len(choices))}
	q.content = q
	for i, c := range choices {
		about := sanitize.Line(c[1])
		if i == 0 {
			about = format.Join(" · ", "recommended", about)
		}
		q.choices = append(q.choices, [2]string{sanitize.Line(c[0]), about})
	}
	q.Gate.start(1)
	return q
}

// Uncover begins or resumes the question. Writing reports whether the user is writing: then nothing is selected.
func (q *ModelQuestion) Uncover(now time.Time, writing bool) {
	q.Gate.uncover(now)
	if q.writing = writing; writing {
		q.selected = -1
	}
}

// isOwn reports whether the row for other answers is selected.
func (q *ModelQuestion) isOwn() bool { return q.selected == len(q.choices) }

// Drawn records that the last View has reached the terminal. Its command redraws the dialog when keys begin to answer.
func (q *ModelQuestion) Drawn(now time.Time) tea.Cmd {
	if q.done {
		return nil
	}
	q.Gate.onDrawn(now)
	return q.Gate.wake(now)
}

// Scrolls reports whether some of the rows are hidden.
func (q *ModelQuestion) Scrolls() bool { rows, _ := q.lines(); return len(rows) > q.rowsAbove(0) }

// HandlesKey reports whether a key is for the question: it answers, selects, scrolls or types.
func (q *ModelQuestion) HandlesKey(press tea.KeyPressMsg) bool {
	return press.Text != "" || moveOf(press, scrollMode{covering: true}) >= 0 ||
		pressed(press, keyAccept, keyClose, keyNext, keyPrevious, keyErase, keyEraseWord, keyClear)
}

// NoteTyping records a key that is for something else.
func (q *ModelQuestion) NoteTyping() tea.Cmd { return q.Gate.onTyping() }

func (q *ModelQuestion) handle(msg tea.Msg) tea.Cmd {
	if settled, ok := msg.(settledMsg); ok {
		if settled.of == &q.Gate {
			q.Gate.wakePending = false
			return q.Gate.wake(q.Gate.Now())
		}
		return nil
	}
	press, ok := msg.(tea.KeyPressMsg)
	if act := q.LoneKey(msg); act != nil {
		return act()
	}
	move := moveOf(press, scrollMode{covering: true})
	switch {
	case !ok:
		if isPrintable(msg) {
			return q.Type(msg)
		}
		rows, _ := q.lines()
		q.key(msg, scrollMode{}, len(rows), q.rowsAbove(0))
	case pressed(press, keyClose) && q.isOwn() && q.own.text != "":
		q.selected, q.follow = 0, true
	case pressed(press, keyClose):
		return q.answer(nil, "")
	case pressed(press, keyAccept):
		return q.accept()
	case press.Text == " " && q.Several && q.selected >= 0 && !q.isOwn():
		q.toggle(q.selected)
	case isPrintable(msg):
		return q.Type(msg)
	case q.isOwn() && q.own.key(msg):
	case move == keyDown, pressed(press, keyNext):
		q.selected, q.follow = min(q.selected+1, len(q.choices)), true
	case move == keyUp, pressed(press, keyPrevious):
		q.selected, q.follow = max(q.selected-1, 0), true
	default:
		rows, _ := q.lines()
		q.key(msg, scrollMode{covering: true}, len(rows), q.rowsAbove(0))
	}
	return nil
}

// LoneKey implements Lettered: digits choose or mark.
func (q *ModelQuestion) LoneKey(msg tea.Msg) func() tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok || q.done || q.isOwn() || len(press.Text) != 1 || !q.Gate.isCalm() {
		return nil
	}
	n := strings.Index("123456789"[:len(q.choices)+1], press.Text)
	if n < 0 {
		return nil
	}
	return func() tea.Cmd {
		q.selected, q.follow = n, true
		switch {
		case q.isOwn():
		case q.Several:
			q.toggle(n)
		default:
			return q.answer([]int{n}, "")
		}
		return nil
	}
}

// Type implements Lettered. Text of a user who was not writing is an answer of their own.
func (q *ModelQuestion) Type(msg tea.Msg) tea.Cmd {
	press, ok := msg.(tea.KeyPressMsg)
	if ok && !q.isOwn() && !q.writing && !q.Gate.isCalm() && strings.Trim(press.Text, "0123456789") == "" {
		return q.Gate.onTyping()
	}
	if follows := q.count != "" && !strings.HasPrefix(q.count, "1 "); q.isOwn() || (q.Gate.isCalm() || follows) && !q.writing {
		q.selected, q.follow = len(q.choices), true
		q.own.key(msg)
		return nil
	}
	q.selected, q.writing = -1, true // enter would be meant for the text
	return tea.Batch(q.root.Typed(msg), q.Gate.onTyping())
}

// toggle marks choice n, or removes its mark.
func (q *ModelQuestion) toggle(n int) {
	if q.Gate.isCalm() {
		q.marked[n] = !q.marked[n]
	}
}

// accept answers with what was marked, selected and typed, if anything was.
func (q *ModelQuestion) accept() tea.Cmd {
	if !q.Gate.isCalm() {
		return nil
	}
	var chosen []int
	for i, marked := range q.marked {
		if marked {
			chosen = append(chosen, i)
		}
	}
	text := strings.TrimSpace(q.own.text)
	switch {
	case q.isOwn():
	case !q.Several:
		chosen, text = []int{q.selected}, ""
	case chosen == nil && text == "":
		chosen = []int{q.selected}
	}
	if slices.Contains(chosen, -1) || chosen == nil && text == "" {
		return nil
	}
	return q.answer(chosen, text)
}

func (q *ModelQuestion) answer(chosen []int, text string) tea.Cmd {
	q.done = true
	return q.Answered(chosen, text)
}

// SetSize sets the width and the maximum height.
func (q *ModelQuestion) SetSize(width, height int) {
	if q.resize(width, height) {
		q.follow = q.selected > 0
	}
}

func (q *ModelQuestion) wants() (above, inBand int) {
	rows, _ := q.lines()
	return 0, len(rows)
}

// crowded reports whether empty rows would make the text scroll.
func (q *ModelQuestion) crowded() bool { rows, _ := q.lines(); return len(rows)+4 > q.height }

// lines returns all rows of the band, and the first row of each choice.
func (q *ModelQuestion) lines() (rows []string, at []int) {
	width := max(min(q.inner(), 100), 1)
	for i, row := range textwrap.Lines(q.text, max(width-len(q.count)-2, 1)) {
		if row = q.paint(describe.Strong, row); i == 0 && q.count != "" {
			row = padRight(row, width-len(q.count)) + q.paint(describe.Dim, q.count)
		}
		rows = append(rows, row)
	}
	rows = append(rows, "")
	for i := range len(q.choices) + 1 {
		at = append(at, len(rows))
		style := describe.Text
		if i == q.selected {
			style = describe.Strong
		}
		lead := q.sign(i == q.selected) + q.paint(style, strconv.Itoa(i+1)) + "  "
		if i == len(q.choices) {
			rows = append(rows, lead+q.ownText(width-ownIndent))
			break
		}
		if q.marked[i] {
			lead += q.paint(describe.Added, "☑ ")
		} else if q.Several {
			lead += q.paint(describe.Dim, "☐ ")
		}
		rows = q.addChoice(rows, lead, q.choices[i], style, width)
	}
	return rows, at
}

// addChoice adds the rows of a choice: label and explanation in one if they fit.
func (q *ModelQuestion) addChoice(rows []string, lead string, c [2]string, style describe.Style, width int) []string {
	indent := strings.Repeat(" ", ansi.StringWidth(lead))
	room := max(width-len(indent), 1)
	if ansi.StringWidth(c[0]+"  "+c[1]) <= room {
		return append(rows, strings.TrimRight(lead+q.paint(style, c[0])+"  "+q.paint(describe.Dim, c[1]), " "))
	}
	for i, text := range c {
		for _, row := range textwrap.Lines(text, room) {
			rows = append(rows, lead+q.paint(style, row))
			lead = indent
		}
		if style = describe.Dim; i == 0 && c[1] == "" {
			break
		}
	}
	return rows
}

// ownText returns the other answer as typed so far.
func (q *ModelQuestion) ownText(width int) string {
	if q.own.text == "" && !q.isOwn() {
		return q.paint(describe.Dim, "Another answer")
	}
	return q.paint(describe.Text, q.own.visibleText(width))
}

// ownIndent is the column of the other answer.
const ownIndent = signWidth + 3

// paint returns text in a style.
func (q *ModelQuestion) paint(s describe.Style, text string) string {
	return styleOf(s, q.theme).Render(text)
}

// visible returns the first visible row, and the one after the last. They contain the selected choice after it was
// selected.
func (q *ModelQuestion) visible(rows []string, at []int) (from, to int) {
	n := max(q.rowsAbove(0), 0)
	if q.follow && q.selected >= 0 {
		end := append(at, len(rows))[q.selected+1]
		q.top = min(max(q.top, end-n), at[q.selected])
	}
	q.follow = false
	q.clampTop(len(rows), n)
	return q.top, min(q.top+n, len(rows))
}

func (q *ModelQuestion) draw() (above, rows []string, foot string) {
	rows, at := q.lines()
	from, to := q.visible(rows, at)
	q.Gate.shown = [2]int{0, 1}
	rows = rows[from:to]
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, max(q.region-band.Width, 0), "…")
	}
	accept, leave, more := keyAccept.hint("choose"), "no answer", hint{"or", "type an answer"}
	switch {
	case q.selected < 0:
		accept, more = hint{"typing", "goes to your draft"}, scrollHint("select")
	case q.isOwn():
		if accept.does, more = "send", (hint{}); q.own.text != "" {
			leave = "back"
		}
	case q.Several:
		accept.does, more = "send", hint{"space", "mark"}
	case q.writing:
		more = hint{}
	}
	style := q.theme.Dim
	if !q.Gate.isCalm() {
		style = q.theme.Faint
	}
	return nil, rows, q.keyHint(style, accept, keyClose.hint(leave), more)
}

// Cursor returns the position of the next typed character.
func (q *ModelQuestion) Cursor() (x, y int, ok bool) {
	if q.done || !q.isOwn() {
		return 0, 0, false
	}
	rows, at := q.lines()
	from, to := q.visible(rows, at)
	row := at[q.selected]
	return q.bandColumn(ansi.StringWidth(rows[row])), q.bandRow(to-from, row-from), row >= from && row < to
}
