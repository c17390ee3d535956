package composer

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// UnqueueMsg asks the parent to remove a queued prompt: to edit it, in which
// case the parent puts it into the composer, or to drop it. Text is the prompt
// at Index. If another prompt is there now, the prompt was already sent.
type UnqueueMsg struct {
	Index int
	Text  string
	Edit  bool
}

// maxQueued is the maximum number of queued prompts shown.
const maxQueued = 3

// SetQueue sets the prompts waiting to be sent, next one first; the first steer of them are sent
// within the turn. They are shown above the text. Up on an empty line selects the last one:
// enter or right takes it back for editing, delete or backspace drops it, esc or down leaves.
func (m *Queue) SetQueue(prompts []string, steer int) {
	if slices.Equal(prompts, m.queue) && steer == m.steerCount {
		return
	}
	m.queue, m.steerCount = slices.Clone(prompts), steer
	m.pickedPrompt = min(m.pickedPrompt, len(prompts)-1)
}

// MarkRequeued records that the text was taken from the queue. This ends when the text is sent or
// completely deleted.
func (m *Queue) MarkRequeued() { m.requeued = true }

// queueKey handles a key while a queued prompt is selected, and reports whether
// it has no other effect. Keys without a meaning there go to the text.
func (m *Queue) queueKey(do action) (cmd tea.Cmd, done bool) {
	at := m.pickedPrompt
	ask := func(edit bool) tea.Cmd {
		msg := UnqueueMsg{Index: at, Text: m.queue[at], Edit: edit}
		return func() tea.Msg { return msg }
	}
	switch do {
	case up:
		m.pickedPrompt = max(at-1, 0)
	case down:
		if m.pickedPrompt++; m.pickedPrompt == len(m.queue) {
			m.pickedPrompt = -1
		}
	case submit, right:
		m.pickedPrompt = -1
		return ask(true), true
	case deleteLeft, deleteRight:
		return ask(false), true
	case cancel:
		m.pickedPrompt = -1
	default:
		m.pickedPrompt = -1
		return nil, false
	}
	return nil, true
}

func (m *Queue) queueRows() int {
	if len(m.queue) > maxQueued {
		return maxQueued + 1
	}
	return len(m.queue)
}

// queueWindow returns the part of the queue shown in rows rows. The last row
// shows how many more there are.
func (m *Queue) queueWindow(rows int) (first, n int) {
	n = min(rows, len(m.queue))
	if n < len(m.queue) && n > 1 {
		n--
	}
	if m.pickedPrompt >= n {
		first = m.pickedPrompt - n + 1
	}
	return first, n
}

func (m *Queue) queueLines(rows int) []string {
	if rows == 0 {
		return nil
	}
	var lines []string
	first, n := m.queueWindow(rows)
	for i := first; i < first+n; i++ {
		line, _, more := strings.Cut(strings.TrimSpace(sanitize.TruncateBytes(m.queue[i], maxShownBytes)), "\n")
		when := "queued: "
		if i < m.steerCount {
			when = "next: "
		}
		line = when + sanitize.Line(line)
		if more || len(m.queue[i]) > maxShownBytes {
			line += " …"
		}
		if i != m.pickedPrompt {
			lines = append(lines, m.editor.theme.Dim.Render(ansi.Truncate(line, m.editor.width, "…")))
			continue
		}
		hint := "  enter edit · del remove"
		if room := m.editor.width - len(hint) + 1; room >= 20 {
			lines = append(lines, m.editor.theme.Strong.Render(ansi.Truncate(line, room, "…"))+m.editor.theme.Faint.Render(hint))
			continue
		}
		lines = append(lines, m.editor.theme.Strong.Render(ansi.Truncate("› "+line, m.editor.width, "…")))
	}
	if n < rows && n < len(m.queue) {
		lines = append(lines, m.editor.theme.Faint.Render(ansi.Truncate(fmt.Sprintf("%d more", len(m.queue)-n), m.editor.width, "")))
	}
	return lines
}
