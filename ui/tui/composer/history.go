package composer

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// Limits of the history, in prompts and in bytes. The latest prompt is kept
// regardless of its length.
const (
	maxHistory      = 1000
	maxHistoryBytes = 16 << 20
)

// A history holds the past prompts, oldest first, and the current position in
// them. Text written at a position is kept until the prompt is sent, including
// the draft at position 0.
type history struct {
	prompts []string
	bytes   int               // of all prompts
	steps   int               // steps back from the draft
	drafts  map[int]savedText // edited text by steps back
}

// A savedText is text that was left for another position in the history.
type savedText struct {
	units []Unit
	cur   int
}

// saved returns the text with its cursor.
func (m *editor) saved() savedText { return savedText{slices.Clone(m.Units), m.Cursor} }

func (h *history) reset() { h.steps, h.drafts = 0, nil }

// Remember adds a prompt to the history, unless it is blank or equals the latest.
func (m *Recall) Remember(prompt string) {
	h := &m.history
	n := len(h.prompts)
	if strings.TrimSpace(prompt) == "" || n > 0 && h.prompts[n-1] == prompt {
		return
	}
	h.prompts = append(h.prompts, prompt)
	h.bytes += len(prompt)
	drop := 0
	for ; drop < n && (n+1-drop > maxHistory || h.bytes > maxHistoryBytes); drop++ {
		h.bytes -= len(h.prompts[drop])
	}
	h.prompts = slices.Delete(h.prompts, 0, drop)
}

// CommitHistory ends a walk through the history. It adds the draft from the
// beginning of the walk, if there was one, and then the sent prompt.
func (m *Recall) CommitHistory(sent string) {
	if m.history.steps > 0 {
		m.Remember(value(m.history.drafts[0].units))
	}
	m.Remember(sent)
	m.history.reset()
}

// saveHistoryDraft saves changes at the current position in the history, and makes the
// position to steps back current.
func (m *Recall) saveHistoryDraft(to int) {
	h := &m.history
	if h.drafts == nil {
		h.drafts = map[int]savedText{}
	}
	if h.steps == 0 || text(m.editor.Units) != h.prompts[len(h.prompts)-h.steps] {
		h.drafts[h.steps] = m.editor.saved()
	}
	h.steps = to
}

// stepHistory moves through the history: by is -1 for older, 1 for newer.
func (m *Recall) stepHistory(by int) {
	h := &m.history
	to := h.steps - by
	if to < 0 || to > len(h.prompts) {
		return
	}
	m.saveHistoryDraft(to)
	d, ok := h.drafts[to]
	if !ok {
		units := unitsOf(h.prompts[len(h.prompts)-to])
		d = savedText{units, len(units)}
	}
	m.editor.set(d.units)
	m.editor.Cursor = d.cur
}

// A search goes back through the history for a text. Meanwhile the buffer shows
// the match.
type search struct {
	query     string
	index     int // index of the matching prompt; number of prompts if none yet
	notFound  bool
	savedText savedText
}

func (m *Recall) startSearch() {
	m.search = &search{index: len(m.history.prompts), savedText: m.editor.saved()}
}

// stopSearch ends a search. If accept is set it keeps the matching prompt,
// otherwise it restores the text before the search.
func (m *Recall) stopSearch(accept bool) {
	s := m.search
	if s == nil {
		return
	}
	m.search = nil
	m.editor.load(s.savedText.units, s.savedText.cur)
	if accept && s.index < len(m.history.prompts) {
		m.saveHistoryDraft(len(m.history.prompts) - s.index)
		m.editor.set(unitsOf(m.history.prompts[s.index]))
	}
}

// searchKey handles a key during a search, and reports whether the key also acts on
// the text. As in readline, any other key accepts the match. Enter only accepts it,
// so that no prompt is sent unread.
func (m *Recall) searchKey(do action, msg tea.KeyPressMsg) (pass bool) {
	s := m.search
	switch {
	case do == none && msg.Text != "":
		s.query += normalize(msg.Text)
		m.find(min(s.index, len(m.history.prompts)-1))
	case do == deleteLeft:
		units := Split(s.query)
		s.query = text(units[:max(len(units)-1, 0)])
		m.find(len(m.history.prompts) - 1)
	case do == searchBack:
		m.find(s.index - 1)
	case do == cancel, msg.String() == "ctrl+c":
		m.stopSearch(false)
	case do != none:
		m.stopSearch(true)
		return do != submit
	}
	return false
}

// matches reports whether a prompt contains the query.
func (s *search) matches(prompt string) bool {
	if !strings.ContainsFunc(s.query, unicode.IsUpper) {
		prompt = strings.ToLower(prompt)
	}
	return strings.Contains(prompt, s.query)
}

// find searches for the query backwards from the prompt at index from. An
// upper-case letter in the query makes it case-sensitive.
func (m *Recall) find(from int) {
	s := m.search
	s.notFound = false
	if s.query == "" {
		s.index = len(m.history.prompts)
		m.editor.load(s.savedText.units, s.savedText.cur)
		return
	}
	for i := min(from, len(m.history.prompts)-1); i >= 0; i-- {
		if s.matches(m.history.prompts[i]) {
			s.index = i
			units := unitsOf(m.history.prompts[i])
			m.editor.load(units, len(units))
			return
		}
	}
	s.notFound = true
}

func (m *Recall) searchRows() int {
	if m.search == nil {
		return 0
	}
	return 1
}

func (m *Recall) searchText() string {
	name := "history: "
	switch s := m.search; {
	case s.notFound && s.index < len(m.history.prompts) && s.matches(m.history.prompts[s.index]):
		name = "No earlier match: "
	case s.notFound:
		name = "Not in history: "
	}
	room := max(m.editor.width-1-len(name), 0)
	query := sanitize.Line(m.search.query)
	if over := ansi.StringWidth(query) - room; over > 0 {
		query = ansi.TruncateLeft(query, over, "")
	}
	return ansi.Truncate(name+query, max(m.editor.width-1, 0), "")
}

// IsWord reports whether u is part of a word, for alt+b and alt+f.
func IsWord(u Unit) bool {
	for _, r := range u.Text {
		return u.Kind == KindChip || unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r > 0x2fff
	}
	return false
}

// isField reports whether u is not white space, for ctrl+w.
func isField(u Unit) bool { return u.Kind != KindNewline && !IsSpace(u) }
