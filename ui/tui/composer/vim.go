package composer

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// SetVim turns vim mode on or off. It starts in insert mode, and each new
// prompt does.
func (m *Model) SetVim(on bool) {
	switch {
	case !on:
		m.vim = nil
		m.editor.endUndoGroup()
	case m.vim == nil:
		m.vim = &vim{run: m.runAction, vertical: m.vertical, canMove: m.canMove}
		m.vim.enterInsert(m.editor)
	}
}

// Mode returns vim's mode, "insert", "normal" or "visual", with the keys of an
// unfinished command; "" if vim mode is off.
func (m *Model) Mode() string {
	if m.vim == nil {
		return ""
	}
	return strings.TrimSpace(m.vim.mode.String() + " " + m.vim.typed)
}

type mode uint8

const (
	modeInsert mode = iota
	modeNormal
	modeVisual
)

func (m mode) String() string { return [...]string{"insert", "normal", "visual"}[m] }

// vim is the state of vim mode. A command is [count] [operator [count]] and a
// motion, or a key of its own.
type vim struct {
	mode            mode
	typed           string   // keys of the unfinished command so far
	count           int      // 0 if none
	countBefore     int      // count before the operator
	operator        string   // "d", "c", "y", or ""
	pendingKey      string   // key waiting for a character: f F t T g r
	lastFind        charFind // last f F t T command
	register        []unit   // text deleted or copied last
	registerIsLines bool     // register holds whole lines
	anchor          int      // start of the visual selection

	run      func(action) tea.Cmd // executes an action
	vertical func(by int)         // moves by screen rows
	canMove  func(by int) bool    // reports whether vertical can move
}

// maxCount limits the repetitions of a command.
const maxCount = 999

func (v *vim) escapes() bool { return v.mode != modeNormal || v.typed != "" }

// enterInsert starts insert mode. All text typed until esc is one undo step.
func (v *vim) enterInsert(m *editor) {
	v.clearCommand()
	v.mode = modeInsert
	m.beginUndoGroup()
}

// enterNormal returns to normal mode.
func (v *vim) enterNormal(m *editor) {
	v.clearCommand()
	if v.mode == modeInsert {
		m.cur = max(m.cur-1, m.lineStart(m.cur))
	}
	v.mode = modeNormal
	m.endUndoGroup()
	v.clamp(m)
}

// clearCommand discards an unfinished command.
func (v *vim) clearCommand() {
	v.typed, v.count, v.countBefore, v.operator, v.pendingKey = "", 0, 0, "", ""
}

// clamp keeps the cursor on a character, except in insert mode.
func (v *vim) clamp(m *editor) {
	m.cur = min(m.cur, len(m.units))
	v.anchor = min(v.anchor, len(m.units))
	if v.mode == modeInsert {
		return
	}
	if end := m.lineEnd(m.cur); m.cur == end && end > m.lineStart(m.cur) {
		m.cur--
	}
}

// key handles a key, and reports whether it has no other effect. Non-printing
// keys keep their usual action in every mode.
func (v *vim) key(m *editor, do action, msg tea.KeyPressMsg) (cmd tea.Cmd, done bool) {
	switch key := msg.String(); {
	case do == cancel:
		v.enterNormal(m)
		return nil, true
	case v.mode == modeInsert:
		return nil, false
	case key == "ctrl+r":
		v.repeat(m.redo)
	case do == deleteLeft:
		v.handleChar(m, "h")
	case do == none && msg.Text != "":
		for _, u := range split(normalize(msg.Text)) {
			v.handleChar(m, u.text)
		}
	case do == none:
		return nil, false
	default: // an arrow, enter, a key of readline's
		visual := v.mode == modeVisual
		v.clearCommand()
		cmd = v.run(do)
		if v.mode != modeInsert && (!visual || do < left || do > textEnd) {
			v.mode = modeNormal
		}
	}
	if v.mode != modeInsert {
		v.clamp(m)
	}
	return cmd, true
}

// isVertical reports whether a key moves up or down, which keeps the column.
func (v *vim) isVertical(key string) bool {
	return v.mode != modeInsert && v.pendingKey == "" && (key == "j" || key == "k")
}

// repeatCount returns the count of the command, or 1.
func (v *vim) repeatCount() int { return min(max(v.count, 1)*max(v.countBefore, 1), maxCount) }

func (v *vim) repeat(do func()) {
	n := v.repeatCount()
	v.clearCommand()
	for range n {
		do()
	}
}

// handleChar handles a character outside of insert mode.
func (v *vim) handleChar(m *editor, key string) {
	if v.mode == modeInsert { // an earlier character of the same message started it
		m.insert(key)
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
func (v *vim) finishPending(m *editor, key string) {
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
		v.move(m, waits, func(m *editor, v *vim) motionTarget { return m.seek(v.lastFind, v.repeatCount(), false) })
	}
}

// move moves to the target of a motion, or applies the operator to the text up to there.
func (v *vim) move(m *editor, key string, to motion) {
	if v.operator == "" {
		if (key == "j" || key == "k") && v.mode == modeNormal {
			v.moveRows(key)
			return
		}
		t := to(m, v)
		v.clearCommand()
		if t.ok {
			m.cur = t.at
		}
		return
	}
	if v.operator == "c" && (key == "w" || key == "W") && m.cur < len(m.units) && !isBlank(m.units[m.cur]) {
		key = map[string]string{"w": "e", "W": "E"}[key] // the space after a word stays
		to = motionOf(key)
	}
	t := to(m, v)
	operator := v.operator
	v.clearCommand()
	if !t.ok {
		return
	}
	i, j := min(m.cur, t.at), max(m.cur, t.at)
	switch {
	case t.lines:
		v.linewise(m, operator, i, j)
		return
	case t.inclusive:
		j = min(j+1, len(m.units))
	case key == "w" || key == "W":
		j = m.withinLine(i, j)
	}
	v.operate(m, operator, i, j)
}

// moveRows moves by screen rows, as the arrow keys do, because prompts are prose with
// long lines. A single step past the first or last row continues into the history.
func (v *vim) moveRows(key string) {
	by, n := 1, v.repeatCount()
	if key == "k" {
		by = -1
	}
	v.clearCommand()
	if n == 1 {
		v.vertical(by)
		return
	}
	for range n {
		if !v.canMove(by) {
			return
		}
		v.vertical(by)
	}
}

// operate applies an operator to the units from i to j.
func (v *vim) operate(m *editor, operator string, i, j int) {
	if i < j {
		v.register, v.registerIsLines = append([]unit(nil), m.units[i:j]...), false
	}
	switch operator {
	case "y":
		m.cur = i
		return
	case "c":
		v.enterInsert(m) // undone together with the text typed next
	}
	if i < j {
		m.replace(i, j, nil)
	}
}

// linewise applies an operator to the lines from the line of i to the line of j.
// The line emptied by c stays.
func (v *vim) linewise(m *editor, operator string, i, j int) {
	i, j = m.lineStart(i), m.lineEnd(j)
	v.register, v.registerIsLines = append([]unit(nil), m.units[i:j]...), true
	switch operator {
	case "y":
		if m.cur < i || m.cur > j || m.lineStart(m.cur) != i {
			m.cur = i
		}
		return
	case "c":
		v.enterInsert(m)
		m.cur = i
		if i < j {
			m.replace(i, j, nil)
		}
		return
	}
	switch {
	case j < len(m.units):
		j++
	case i > 0:
		i--
	}
	if i < j {
		m.replace(i, j, nil)
	}
	m.cur = m.firstInLine(m.cur)
}

// visual handles a character in visual mode that is not a motion.
func (v *vim) visual(m *editor, key string) {
	v.clearCommand()
	i, j := v.selection(m)
	operator := map[string]string{"d": "d", "x": "d", "c": "c", "s": "c", "y": "y"}[key]
	switch {
	case operator != "":
		v.mode = modeNormal
		m.cur = i
		v.operate(m, operator, i, j)
	case key == "v":
		v.mode = modeNormal
	case key == "o":
		m.cur, v.anchor = v.anchor, m.cur
	}
}

// selection returns the visual selection, including the character under the cursor.
func (v *vim) selection(m *editor) (i, j int) {
	if v == nil || v.mode != modeVisual {
		return 0, 0
	}
	i, j = min(m.cur, v.anchor), max(m.cur, v.anchor)
	return min(i, len(m.units)), min(j+1, len(m.units))
}
