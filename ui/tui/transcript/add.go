package transcript

import (
	"slices"
	"strings"
	"time"

	"parley/tools/sanitize"
)

// AddUser adds a message of the user, and a label for each attachment, such as "image
// photo.png 1568x1176 412 KB".
func (m *blockList) AddUser(text string, attached ...string) {
	b := &textBlock{noteStyle: userStyle, text: cleanText(text)}
	for _, label := range attached {
		b.labels = append(b.labels, "["+sanitize.Line(label)+"]")
	}
	m.addItem(kindUser, "", b)
}

// SetSummary adds the summary of earlier messages, or changes the one with this id: one line
// with the number of hidden messages, which unfolds to their summary.
func (m *blockList) SetSummary(id, text string, hidden int) {
	m.putBlock(kindNote, id, &summary{text: cleanText(text), hidden: hidden})
}

// AddFooter adds the footer of a turn: model, tokens, cost, times; and shorter forms of it:
// the first that fits a line is shown if text does not.
func (m *blockList) AddFooter(text string, shorter ...string) {
	b := &textBlock{noteStyle: footerStyle, text: cleanText(text)}
	for _, s := range shorter {
		b.shorter = append(b.shorter, cleanText(s))
	}
	m.putBlock(kindNote, "", b)
}

// AddNote adds a notice.
func (m *blockList) AddNote(text string) { m.addText(kindNote, "", noteStyles[Info], text, "") }

// AddMarker adds a note of a kind, such as one for an interrupted answer.
func (m *blockList) AddMarker(kind NoteKind, text string) {
	m.addText(kindNote, "", noteStyles[kind], text, "")
}

// AddError adds an error, and a hint what can be done about it, "" for none.
func (m *blockList) AddError(text, hint string) { m.addText(kindNote, "", errorStyle, text, hint) }

// SetNote adds a note, or changes the one with this id, such as a countdown.
func (m *blockList) SetNote(id string, kind NoteKind, text string) {
	m.addText(kindNote, id, noteStyles[kind], text, "")
}

func (m *blockList) addText(k kind, id string, how noteStyle, text, hint string) {
	m.putBlock(k, id, &textBlock{noteStyle: how, text: cleanText(text), hint: cleanText(hint)})
}

// putBlock adds a block, or replaces the one of this kind and id.
func (m *blockList) putBlock(k kind, id string, b block) {
	if it := m.byID[key{k, id}]; it != nil && id != "" {
		it.block = b
		m.listener.itemChanged(it)
		return
	}
	m.addItem(k, id, b)
}

// AppendThinking adds to the thinking block with this id. After FinishThinking the same id
// begins another one.
func (m *blockList) AppendThinking(id, delta string) {
	b, ok := m.blockByID(kindThinking, id).(*thinking)
	if !ok || b.done {
		b = &thinking{}
		m.addItem(kindThinking, id, b)
	}
	b.add(b.stream.Add(delta))
	m.listener.itemChanged(m.byID[key{kindThinking, id}])
}

// FinishThinking ends the thinking block with this id, or adds an empty one: some models
// report that they thought, and not what. Of a block that has ended it changes the time.
func (m *blockList) FinishThinking(id string, took time.Duration) {
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

// AppendAnswer adds to the answer with this id. After FinishAnswer the same id begins
// another one.
func (m *blockList) AppendAnswer(id, delta string) {
	b, ok := m.blockByID(kindAnswer, id).(*answer)
	if !ok || b.done {
		b = newAnswer()
		m.addItem(kindAnswer, id, b)
	}
	growAnswer(m, id, b.sections.stream.Add(delta))
}

// FinishAnswer ends the answer with this id.
func (m *blockList) FinishAnswer(id string) {
	b, ok := m.blockByID(kindAnswer, id).(*answer)
	if !ok || b.done {
		return
	}
	growAnswer(m, id, b.sections.stream.End()).finish()
}

// SetTool adds a tool call, or replaces all that is known about the one with this id.
func (m *blockList) SetTool(id string, t Tool) {
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

// AppendToolOutput adds live output to a call, in which a backspace takes back a character.
// Tool.Output replaces it.
func (m *blockList) AppendToolOutput(id, text string) {
	m.callBlock(id, "").add(text)
	m.listener.itemChanged(m.byID[key{kindCall, id}])
}

func (m *blockList) callBlock(id, name string) *call {
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
	m.fixTop()
	for _, k := range []kind{kindThinking, kindAnswer, kindCall, kindNote} {
		it := m.byID[key{k, id}]
		if it == nil || id == "" {
			continue
		}
		delete(m.byID, key{k, id})
		for i := slices.Index(m.items, it); i >= 0; i = slices.IndexFunc(m.items, it.sameAnswer) {
			m.removeItem(i)
		}
	}
	m.clampTop()
}

// removeItem removes the item at index i.
func (m *Model) removeItem(i int) {
	it := m.items[i]
	m.leaveGroup(it)
	m.items = slices.Delete(m.items, i, i+1)
	m.running = slices.DeleteFunc(m.running, func(r *item) bool { return r == it })
	m.pending = slices.DeleteFunc(m.pending, func(g *item) bool { return g == it })
	m.forgetItem(it, i)
	if m.details != nil && m.details.item == it {
		m.closeDetails()
	}
	if i < m.top.item {
		m.top.item--
	} else if i == m.top.item {
		m.top.line, m.bookmark = 0, bookmark{}
	}
	if i < m.cursor {
		m.cursor--
	} else if i == m.cursor {
		m.code = -1
	}
	if i <= m.anchor {
		m.anchor = max(0, m.anchor-1)
	}
	last := len(m.items) - 1
	m.cursor, m.anchor = max(0, min(m.cursor, last)), min(m.anchor, last)
	m.dirty = true
}

// Tick sets the time, which running calls show.
func (m *Model) Tick(now time.Time) {
	m.now = now
	m.running = slices.DeleteFunc(m.running, func(it *item) bool {
		if !m.reducedMotion {
			m.itemChanged(it)
		}
		return it.block.(*call).tool.Status != Running
	})
}

// blockByID returns the block with this id; nil if there is none.
func (m *blockList) blockByID(k kind, id string) block {
	if it := m.byID[key{k, id}]; it != nil {
		return it.block
	}
	return nil
}

func (m *blockList) addItem(k kind, id string, b block) {
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
	if !m.follow && !it.isPending {
		it.isPending = true
		m.pending = append(m.pending, it)
	}
	if m.searching && !it.countStale {
		it.countStale = true
		m.changed = append(m.changed, it)
	}
	if m.details != nil && (m.details.item == it || m.details.item == it.groupItem) {
		m.details.stale = true
	}
	m.dirty = true
}

// itemInserted adjusts indexes to a new item at i.
func (m *Model) itemInserted(i int) {
	if i <= m.top.item && !m.follow {
		m.top.item++
	}
	if i <= m.cursor {
		m.cursor++
	}
	if i <= m.anchor {
		m.anchor++
	}
}

// groupChanged moves the cursor from a call that is hidden to its group.
func (m *Model) groupChanged(of *item) {
	if m.browsing && m.items[m.cursor].groupItem == of && m.isHidden(m.items[m.cursor]) {
		m.setCursor(slices.Index(m.items, of))
	}
}

// cleanText returns text sanitized, without empty lines around it.
func cleanText(text string) string {
	return strings.TrimRight(strings.TrimLeft(sanitize.Text(text), "\n"), " \t\n")
}
