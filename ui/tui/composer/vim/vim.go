// Package vim gives the composer vi's keys: motions, operators with counts, a register, visual mode.
package vim

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/tui/composer"
)

type mode uint8

const (
	modeInsert mode = iota
	modeNormal
	modeVisual
)

func (m mode) String() string { return [...]string{"insert", "normal", "visual"}[m] }

// Register makes the keys available to composers.
func Register() {
	composer.NewModal = func(text *composer.Buffer, rows composer.Rows) composer.Modal { return &state{text: text, rows: rows} }
}

// state is the state of vi's keys. A command is [count] [operator [count]] and a
// motion, or a key of its own.
type state struct {
	mode            mode
	typed           string          // keys of the unfinished command so far
	count           int             // 0 if none
	countBefore     int             // count before the operator
	operator        string          // "d", "c", "y", or ""
	pendingKey      string          // key waiting for a character: f F t T g r
	lastFind        charFind        // last f F t T command
	register        []composer.Unit // text deleted or copied last
	registerIsLines bool            // register holds whole lines
	anchor          int             // start of the visual selection

	text *composer.Buffer
	rows composer.Rows
}

// maxCount limits the repetitions of a command.
const maxCount = 999

// Mode returns "insert", "normal" or "visual", with the keys of an unfinished command.
func (v *state) Mode() string { return strings.TrimSpace(v.mode.String() + " " + v.typed) }

// HandlesEsc reports whether esc changes the mode or ends an unfinished command.
func (v *state) HandlesEsc() bool { return v.mode != modeNormal || v.typed != "" }

// Insert starts insert mode. All text typed until esc is one undo step.
func (v *state) Insert() {
	v.clearCommand()
	v.mode = modeInsert
	v.text.BeginUndoGroup()
}

// enterNormal returns to normal mode.
func (v *state) enterNormal() {
	v.clearCommand()
	if v.mode == modeInsert {
		v.text.Cursor = max(v.text.Cursor-1, v.text.LineStart(v.text.Cursor))
	}
	v.mode = modeNormal
	v.text.EndUndoGroup()
	v.Clamp()
}

// clearCommand discards an unfinished command.
func (v *state) clearCommand() {
	v.typed, v.count, v.countBefore, v.operator, v.pendingKey = "", 0, 0, "", ""
}

// Clamp keeps the cursor on a character, except in insert mode.
func (v *state) Clamp() {
	m := v.text
	m.Cursor = min(m.Cursor, len(m.Units))
	v.anchor = min(v.anchor, len(m.Units))
	if v.mode == modeInsert {
		return
	}
	if end := m.LineEnd(m.Cursor); m.Cursor == end && end > m.LineStart(m.Cursor) {
		m.Cursor--
	}
}

// Key handles a key, and reports whether it has no other effect. Non-printing
// keys keep their usual action in every mode.
func (v *state) Key(k composer.Key) (cmd tea.Cmd, done bool) {
	switch {
	case k.Escapes:
		v.enterNormal()
		return nil, true
	case v.mode == modeInsert:
		return nil, false
	case k.Name == "ctrl+r":
		v.repeat(v.text.Redo)
	case k.Erases:
		v.handleChar(v.text, "h")
	case k.Do == nil && k.Text != "":
		for _, u := range composer.Split(k.Text) {
			v.handleChar(v.text, u.Text)
		}
	case k.Do == nil:
		return nil, false
	default: // an arrow, enter, a key of readline's
		visual := v.mode == modeVisual
		v.clearCommand()
		cmd = k.Do()
		if v.mode != modeInsert && (!visual || !k.Moves) {
			v.mode = modeNormal
		}
	}
	if v.mode != modeInsert {
		v.Clamp()
	}
	return cmd, true
}

// KeepsColumn reports whether a key moves up or down, which keeps the column.
func (v *state) KeepsColumn(key string) bool {
	return v.mode != modeInsert && v.pendingKey == "" && (key == "j" || key == "k")
}

// repeatCount returns the count of the command, or 1.
func (v *state) repeatCount() int { return min(max(v.count, 1)*max(v.countBefore, 1), maxCount) }

func (v *state) repeat(do func()) {
	n := v.repeatCount()
	v.clearCommand()
	for range n {
		do()
	}
}

// handleChar handles a character outside of insert mode.
func (v *state) handleChar(m *composer.Buffer, key string) {
	if v.mode == modeInsert { // an earlier character of the same message started it
		m.Insert(key)
		return
	}
	if v.pendingKey != "" {
		v.finishPending(m, key)
		return
	}
	v.typed += key
	digit := len(key) == 1 && '0' <= key[0] && key[0] <= '9'
	switch {
	case digit && (key != "0" || v.count > 0):
		v.count = min(v.count*10+int(key[0]-'0'), maxCount)
		return
	case key == "g", strings.Contains("fFtT", key):
		v.pendingKey = key
		return
	case key == "r" && v.mode == modeNormal && v.operator == "":
		v.pendingKey = key
		return
	}
	if to := motionOf(key); to != nil {
		v.move(m, key, to)
		return
	}
	if v.mode == modeVisual {
		v.visual(m, key)
		return
	}
	v.command(m, key)
}

// finishPending handles the character that f, F, t, T, g or r waits for.
func (v *state) finishPending(m *composer.Buffer, key string) {
	waits := v.pendingKey
	v.pendingKey = ""
	v.typed += key
	switch waits {
	case "g":
		if to := motionOf("g" + key); to != nil {
			v.move(m, "g"+key, to)
			return
		}
		v.clearCommand()
	case "r":
		v.overwrite(m, key)
	default:
		v.lastFind = charFind{waits, key}
		v.move(m, waits, func(m *composer.Buffer, v *state) motionTarget { return seek(m, v.lastFind, v.repeatCount(), false) })
	}
}

// move moves to the target of a motion, or applies the operator to the text up to there.
func (v *state) move(m *composer.Buffer, key string, to motion) {
	if v.operator == "" {
		if (key == "j" || key == "k") && v.mode == modeNormal {
			v.moveRows(key)
			return
		}
		t := to(m, v)
		v.clearCommand()
		if t.ok {
			m.Cursor = t.at
		}
		return
	}
	if v.operator == "c" && (key == "w" || key == "W") && m.Cursor < len(m.Units) && !isBlank(m.Units[m.Cursor]) {
		key = map[string]string{"w": "e", "W": "E"}[key] // the space after a word stays
		to = motionOf(key)
	}
	t := to(m, v)
	operator := v.operator
	v.clearCommand()
	if !t.ok {
		return
	}
	i, j := min(m.Cursor, t.at), max(m.Cursor, t.at)
	switch {
	case t.lines:
		v.linewise(m, operator, i, j)
		return
	case t.inclusive:
		j = min(j+1, len(m.Units))
	case key == "w" || key == "W":
		j = withinLine(m, i, j)
	}
	v.operate(m, operator, i, j)
}

// moveRows moves by screen rows, as the arrow keys do, because prompts are prose with
// long lines. A single step past the first or last row continues into the history.
func (v *state) moveRows(key string) {
	by, n := 1, v.repeatCount()
	if key == "k" {
		by = -1
	}
	v.clearCommand()
	if n == 1 {
		v.rows.Move(by)
		return
	}
	for range n {
		if !v.rows.CanMove(by) {
			return
		}
		v.rows.Move(by)
	}
}

// operate applies an operator to the units from i to j.
func (v *state) operate(m *composer.Buffer, operator string, i, j int) {
	if i < j {
		v.register, v.registerIsLines = append([]composer.Unit(nil), m.Units[i:j]...), false
	}
	switch operator {
	case "y":
		m.Cursor = i
		return
	case "c":
		v.Insert() // undone together with the text typed next
	}
	if i < j {
		m.Replace(i, j, nil)
	}
}

// linewise applies an operator to the lines from the line of i to the line of j.
// The line emptied by c stays.
func (v *state) linewise(m *composer.Buffer, operator string, i, j int) {
	i, j = m.LineStart(i), m.LineEnd(j)
	v.register, v.registerIsLines = append([]composer.Unit(nil), m.Units[i:j]...), true
	switch operator {
	case "y":
		if m.Cursor < i || m.Cursor > j || m.LineStart(m.Cursor) != i {
			m.Cursor = i
		}
		return
	case "c":
		v.Insert()
		m.Cursor = i
		if i < j {
			m.Replace(i, j, nil)
		}
		return
	}
	switch {
	case j < len(m.Units):
		j++
	case i > 0:
		i--
	}
	if i < j {
		m.Replace(i, j, nil)
	}
	m.Cursor = firstInLine(m, m.Cursor)
}

// visual handles a character in visual mode that is not a motion.
func (v *state) visual(m *composer.Buffer, key string) {
	v.clearCommand()
	i, j := v.Selection()
	operator := map[string]string{"d": "d", "x": "d", "c": "c", "s": "c", "y": "y"}[key]
	switch {
	case operator != "":
		v.mode = modeNormal
		m.Cursor = i
		v.operate(m, operator, i, j)
	case key == "v":
		v.mode = modeNormal
	case key == "o":
		m.Cursor, v.anchor = v.anchor, m.Cursor
	}
}

// Selection returns the visual selection, including the character under the cursor.
func (v *state) Selection() (i, j int) {
	m := v.text
	if v.mode != modeVisual {
		return 0, 0
	}
	i, j = min(m.Cursor, v.anchor), max(m.Cursor, v.anchor)
	return min(i, len(m.Units)), min(j+1, len(m.Units))
}
