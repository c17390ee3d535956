package transcript

import (
	"slices"
	"strings"
	"time"

	"parley/tools/sanitize"
)

// AddUser adds a message of the user, and a label for each attachment, such as "image
// photo.png 1568x1176 412 KB".
func (m *Blocks) AddUser(text string, attached ...string) {
	b := &textBlock{noteStyle: userStyle, text: cleanText(text)}
	for _, label := range attached {
		b.labels = append(b.labels, "["+sanitize.Line(label)+"]")
	}
	m.addItem(kindUser, "", b)
}

// SetSummary adds or changes the summary block with this id: one line with the number of
// hidden messages, which unfolds to their summary.
func (m *Blocks) SetSummary(id, text string, hidden int) {
	m.putNote(id, &summary{text: cleanText(text), hidden: hidden})
}

// AddFooter adds the footer of a turn: model, tokens, cost, times. If text does not fit on
// a line, the first of the shorter forms that fits is shown.
func (m *Blocks) AddFooter(text string, shorter ...string) {
	b := &textBlock{noteStyle: footerStyle, text: cleanText(text)}
	for _, s := range shorter {
		b.shorter = append(b.shorter, cleanText(s))
	}
	m.putNote("", b)
}

// AddNote adds a notice.
func (m *Blocks) AddNote(text string) { m.addText("", noteStyles[Info], text, "") }

// AddMarker adds a note of the given kind, such as one for an interrupted answer.
func (m *Blocks) AddMarker(kind NoteKind, text string) {
	m.addText("", noteStyles[kind], text, "")
}

// AddError adds an error and a hint how to fix it; "" for no hint.
func (m *Blocks) AddError(text, hint string) { m.addText("", errorStyle, text, hint) }

// SetNote adds or changes the note with this id, such as a countdown.
func (m *Blocks) SetNote(id string, kind NoteKind, text string) {
	m.addText(id, noteStyles[kind], text, "")
}

func (m *Blocks) addText(id string, how noteStyle, text, hint string) {
	m.putNote(id, &textBlock{noteStyle: how, text: cleanText(text), hint: cleanText(hint)})
}

// putNote adds a block, or replaces the one with the same id.
func (m *Blocks) putNote(id string, b block) {
	if it := m.byID[key{kindNote, id}]; it != nil && id != "" {
		it.block = b
		m.listener.itemChanged(it)
		return
	}
	m.addItem(kindNote, id, b)
}

// AppendThinking adds text to the thinking block with this id. After FinishThinking the
// same id begins a new block.
func (m *Blocks) AppendThinking(id, delta string) {
	b, ok := m.blockByID(kindThinking, id).(*thinking)
	if !ok || b.done {
		b = &thinking{}
		m.addItem(kindThinking, id, b)
	}
	b.add(b.stream.Add(delta))
	m.listener.itemChanged(m.byID[key{kindThinking, id}])
}

// FinishThinking ends the thinking block with this id. If there is none, it adds an
// empty one: some models report that they thought, without the text. If the block has
// already ended, only its duration changes.
func (m *Blocks) FinishThinking(id string, took time.Duration) {
	if b, ok := m.blockByID(kindThinking, id).(*thinking); ok && b.done {
		b.duration = took
		m.listener.itemChanged(m.byID[key{kindThinking, id}])
		return
	}
	m.AppendThinking(id, "")
	b := m.blockByID(kindThinking, id).(*thinking)
	b.add(b.stream.End())
	b.duration, b.done = took, true
}

// AppendAnswer adds text to the answer with this id. After FinishAnswer the same id
// begins a new one.
func (m *Blocks) AppendAnswer(id, delta string) {
	b, ok := m.blockByID(kindAnswer, id).(*answer)
	if !ok || b.done {
		b = newAnswer()
		m.addItem(kindAnswer, id, b)
	}
	growAnswer(m, id, b.sections.stream.Add(delta))
}

// FinishAnswer ends the answer with this id.
func (m *Blocks) FinishAnswer(id string) {
	b, ok := m.blockByID(kindAnswer, id).(*answer)
	if !ok || b.done {
		return
	}
	growAnswer(m, id, b.sections.stream.End()).finish()
}

// SetTool adds a tool call, or replaces all fields of the call with this id.
func (m *Blocks) SetTool(id string, t Tool) {
	b := m.callBlock(id, t.Name)
	if b.received == t {
		return
	}
	it := m.byID[key{kindCall, id}]
	if t.Status == Running && !slices.Contains(m.running, it) {
		m.running = append(m.running, it)
	}
	was := b.tool.Status
	b.set(t)
	m.listener.itemChanged(it)
	m.regroup(it, was)
}

// AppendToolOutput adds live output to a call. A backspace in it removes a character.
// Tool.Output replaces it.
func (m *Blocks) AppendToolOutput(id, text string) {
	m.callBlock(id, "").add(text)
	m.listener.itemChanged(m.byID[key{kindCall, id}])
}

func (m *Blocks) callBlock(id, name string) *call {
	if b, ok := m.blockByID(kindCall, id).(*call); ok {
		return b
	}
	b := &call{}
	of := m.groupFor(name)
	m.addItem(kindCall, id, b)
	m.joinGroup(m.byID[key{kindCall, id}], of)
	return b
}

// Remove removes the blocks with this id, such as an answer that is tried again.
func (m *Model) Remove(id string) {
	m.window.fixTop()
	for _, k := range []kind{kindThinking, kindAnswer, kindCall, kindNote} {
		it := m.Blocks.byID[key{k, id}]
		if it == nil || id == "" {
			continue
		}
		delete(m.Blocks.byID, key{k, id})
		for i := slices.Index(m.Blocks.items, it); i >= 0; i = slices.IndexFunc(m.Blocks.items, it.sameAnswer) {
			m.removeItem(i)
		}
	}
	m.window.clampTop()
}

// removeItem removes the item at index i.
func (m *Model) removeItem(i int) {
	it := m.Blocks.items[i]
	m.Blocks.leaveGroup(it)
	m.Blocks.items = slices.Delete(m.Blocks.items, i, i+1)
	m.Blocks.running = slices.DeleteFunc(m.Blocks.running, func(r *item) bool { return r == it })
	m.window.pending = slices.DeleteFunc(m.window.pending, func(g *item) bool { return g == it })
	m.search.forgetItem(it, i)
	if m.details != nil && m.details.item == it {
		m.closeDetails()
	}
	if i < m.window.top.item {
		m.window.top.item--
	} else if i == m.window.top.item {
		m.window.top.line, m.window.bookmark = 0, bookmark{}
	}
	if i < m.browser.cursor {
		m.browser.cursor--
	} else if i == m.browser.cursor {
		m.browser.code = -1
	}
	if i <= m.browser.anchor {
		m.browser.anchor = max(0, m.browser.anchor-1)
	}
	last := len(m.Blocks.items) - 1
	m.browser.cursor, m.browser.anchor = max(0, min(m.browser.cursor, last)), min(m.browser.anchor, last)
	m.window.dirty = true
}

// Tick sets the time that running calls show.
func (m *Model) Tick(now time.Time) {
	m.window.now = now
	m.Blocks.running = slices.DeleteFunc(m.Blocks.running, func(it *item) bool {
		if !m.window.reducedMotion {
			m.itemChanged(it)
		}
		return it.block.(*call).tool.Status != Running
	})
}

// blockByID returns the block with this id; nil if there is none.
func (m *Blocks) blockByID(k kind, id string) block {
	if it := m.byID[key{k, id}]; it != nil {
		return it.block
	}
	return nil
}

func (m *Blocks) addItem(k kind, id string, b block) {
	it := &item{block: b, kind: k, seq: m.nextSeq, messageSeq: m.messageSeq}
	m.nextSeq++
	m.items = append(m.items, it)
	if id != "" || k != kindNote && k != kindUser {
		m.byID[key{k, id}] = it
	}
	m.listener.itemChanged(it)
}

// itemChanged marks an item as changed.
func (m *Model) itemChanged(it *item) {
	if it.state == stateRendered {
		it.state = stateChanged
	}
	if !m.window.follow && !it.isPending {
		it.isPending = true
		m.window.pending = append(m.window.pending, it)
	}
	if m.window.searching && !it.countStale {
		it.countStale = true
		m.search.changed = append(m.search.changed, it)
	}
	if m.details != nil && (m.details.item == it || m.details.item == it.groupItem) {
		m.details.stale = true
	}
	m.window.dirty = true
}

// itemInserted adjusts indexes after an item was inserted at i.
func (m *Model) itemInserted(i int) { m.shift(i, 1) }

// groupChanged moves the cursor from a hidden call to its group.
func (m *Model) groupChanged(of *item) {
	if m.browser.browsing && m.Blocks.items[m.browser.cursor].groupItem == of && m.window.isHidden(m.Blocks.items[m.browser.cursor]) {
		m.browser.setCursor(slices.Index(m.Blocks.items, of))
	}
}

// cleanText returns text sanitized, without empty lines around it.
func cleanText(text string) string {
	return strings.TrimRight(strings.TrimLeft(sanitize.Text(text), "\n"), " \t\n")
}
