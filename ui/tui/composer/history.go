package composer

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/sanitize"
)

// The bounds of the history, in prompts and in bytes. The last prompt is kept
// however long it is.
const (
	maxPast      = 1000
	maxPastBytes = 16 << 20
)

// A history is the prompts of the past, oldest first, and the place in it that
// is being looked at. What was written there stays until the prompt is sent,
// the draft first of all.
type history struct {
	prompts []string
	bytes   int           // of all prompts
	back    int           // steps back from the draft
	written map[int]draft // by steps back
}

// A draft is text that was left for another place of the history.
type draft struct {
	units []unit
	cur   int
}

func (h *history) leave() { h.back, h.written = 0, nil }

// Remember adds a prompt to the history, unless it is blank or the latest.
func (m *Model) Remember(prompt string) {
	h := &m.past
	n := len(h.prompts)
	if strings.TrimSpace(prompt) == "" || n > 0 && h.prompts[n-1] == prompt {
		return
	}
	h.prompts = append(h.prompts, prompt)
	h.bytes += len(prompt)
	drop := 0
	for ; drop < n && (n+1-drop > maxPast || h.bytes > maxPastBytes); drop++ {
		h.bytes -= len(h.prompts[drop])
	}
	h.prompts = slices.Delete(h.prompts, 0, drop)
}

// settle ends a walk through the history. What is written becomes its latest
// prompt, and the draft that the walk began with, if it did, the one before.
func (m *Model) settle() {
	if m.past.back > 0 {
		m.Remember(value(m.past.written[0].units))
	}
	m.Remember(m.Value())
	m.past.leave()
}

// step leaves the place in the history that is being looked at for another one,
// and what is written there in its place.
func (m *Model) step(to int) {
	h := &m.past
	if h.written == nil {
		h.written = map[int]draft{}
	}
	if h.back == 0 || text(m.units) != h.prompts[len(h.prompts)-h.back] {
		h.written[h.back] = draft{slices.Clone(m.units), m.cur}
	}
	h.back = to
}

// walk goes through the history: by is -1 for older, 1 for newer.
func (m *Model) walk(by int) {
	h := &m.past
	to := h.back - by
	if to < 0 || to > len(h.prompts) {
		return
	}
	m.step(to)
	d, ok := h.written[to]
	if !ok {
		units := written(h.prompts[len(h.prompts)-to])
		d = draft{units, len(units)}
	}
	m.set(d.units)
	m.cur = d.cur
}

// A search goes back through the history for a text. Meanwhile the buffer
// shows what was found.
type search struct {
	query string
	at    int // index of the prompt found; len of the prompts if none yet
	miss  bool
	draft draft
}

func (m *Model) startSearch() {
	m.search = &search{at: len(m.past.prompts), draft: draft{slices.Clone(m.units), m.cur}}
}

// stopSearch ends a search: with the prompt it found, or with what was there
// before.
func (m *Model) stopSearch(accept bool) {
	s := m.search
	if s == nil {
		return
	}
	m.search = nil
	m.load(s.draft.units, s.draft.cur)
	if accept && s.at < len(m.past.prompts) {
		m.step(len(m.past.prompts) - s.at)
		m.set(written(m.past.prompts[s.at]))
	}
	m.changed()
}

// searchKey deals with a key while a search is on, and reports whether it is to
// act on the text as well. As in readline a key that means something else takes
// what was found; enter only takes it, so that nobody sends what they did not
// look at.
func (m *Model) searchKey(do action, msg tea.KeyPressMsg) (pass bool) {
	s := m.search
	switch {
	case do == none && msg.Text != "":
		s.query += normal(msg.Text)
		m.find(min(s.at, len(m.past.prompts)-1))
	case do == deleteLeft:
		units := split(s.query)
		s.query = text(units[:max(len(units)-1, 0)])
		m.find(len(m.past.prompts) - 1)
	case do == searchBack:
		m.find(s.at - 1)
	case do == cancel:
		m.stopSearch(false)
	case do != none:
		m.stopSearch(true)
		return do != submit
	}
	m.changed()
	return false
}

// find looks for the query from the prompt at index from backwards. Capitals
// count only if the query has some.
func (m *Model) find(from int) {
	s := m.search
	s.miss = false
	if s.query == "" {
		s.at = len(m.past.prompts)
		m.load(s.draft.units, s.draft.cur)
		return
	}
	exact := strings.ContainsFunc(s.query, unicode.IsUpper)
	for i := min(from, len(m.past.prompts)-1); i >= 0; i-- {
		prompt := m.past.prompts[i]
		if !exact {
			prompt = strings.ToLower(prompt)
		}
		if strings.Contains(prompt, s.query) {
			s.at = i
			units := written(m.past.prompts[i])
			m.load(units, len(units))
			return
		}
	}
	s.miss = true
}

func (m *Model) searchRows() int {
	if m.search == nil {
		return 0
	}
	return 1
}

func (m *Model) searchText() string {
	name := "history: "
	if m.search.miss {
		name = "not in history: "
	}
	room := max(m.width-1-len(name), 0)
	query := sanitize.Line(m.search.query)
	if over := ansi.StringWidth(query) - room; over > 0 {
		query = ansi.TruncateLeft(query, over, "")
	}
	return ansi.Truncate(name+query, max(m.width-1, 0), "")
}

func (m *Model) searchLine() string { return m.theme.Dim.Render(m.searchText()) }

func (m *Model) searchCursor() int { return ansi.StringWidth(m.searchText()) }

// isWord holds of what alt+b and alt+f move over.
func isWord(u unit) bool {
	for _, r := range u.text {
		return u.kind == chip || unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r > 0x2fff
	}
	return false
}

// isField holds of what ctrl+w deletes.
func isField(u unit) bool { return u.kind != newline && !isSpace(u) }
