package transcript

import (
	"slices"
	"strings"
	"time"

	"parley/tools/sanitize"
)

// User adds a message of the user's, and what is attached to it, one label each,
// such as "image photo.png 1568x1176 412 KB".
func (m *Model) User(text string, attached ...string) {
	b := &words{manner: said, text: trim(text)}
	for _, label := range attached {
		b.labels = append(b.labels, "["+sanitize.Line(label)+"]")
	}
	m.add(aUser, "", b)
}

// Summary stands for what went before it, or changes the one with this id: one
// line that says how many messages are hidden, and unfolds to their summary.
func (m *Model) Summary(id, text string, hidden int) {
	m.put(aNote, id, &summary{text: trim(text), hidden: hidden})
}

// Footer adds what closes a turn: model, tokens, cost, times.
func (m *Model) Footer(text string) { m.words(aNote, "", footed, text, "") }

// Note adds a notice.
func (m *Model) Note(text string) { m.words(aNote, "", noted[Info], text, "") }

// Marker adds a note of a kind, such as where an answer was interrupted.
func (m *Model) Marker(kind NoteKind, text string) { m.words(aNote, "", noted[kind], text, "") }

// Fail adds an error, what can be done about it, and with which keys.
func (m *Model) Fail(text, hint string) { m.words(aNote, "", failed, text, hint) }

// Replace adds a note, or changes the one with this id, such as a countdown.
func (m *Model) Replace(id string, kind NoteKind, text string) {
	m.words(aNote, id, noted[kind], text, "")
}

func (m *Model) words(k kind, id string, how manner, text, hint string) {
	m.put(k, id, &words{manner: how, text: trim(text), hint: trim(hint)})
}

// put adds a block, or puts it in the place of the one with this id.
func (m *Model) put(k kind, id string, b block) {
	if it := m.byID[key{k, id}]; it != nil && id != "" {
		it.block = b
		m.touch(it)
		return
	}
	m.add(k, id, b)
}

// Think adds to the thinking with this id. After ThoughtFor the same id begins
// another one.
func (m *Model) Think(id, delta string) {
	b, ok := m.find(aThought, id).(*thinking)
	if !ok || b.done {
		b = &thinking{}
		m.add(aThought, id, b)
	}
	b.add(b.stream.Add(delta))
	m.touch(m.byID[key{aThought, id}])
}

// ThoughtFor folds the thinking. Without any before it stands alone: some
// models say that they thought, and not what. Of thinking that is folded already it
// changes the time.
func (m *Model) ThoughtFor(id string, took time.Duration) {
	if b, ok := m.find(aThought, id).(*thinking); ok && b.done {
		b.took = took
		m.touch(m.byID[key{aThought, id}])
		return
	}
	m.Think(id, "")
	b := m.find(aThought, id).(*thinking)
	b.add(b.stream.End())
	b.took, b.done = took, true
}

// Answer adds to the answer with this id. After AnswerDone the same id begins
// another one.
func (m *Model) Answer(id, delta string) {
	b, ok := m.find(anAnswer, id).(*answer)
	if !ok || b.done {
		b = newAnswer()
		m.add(anAnswer, id, b)
	}
	grow(m, id, b.of.stream.Add(delta))
}

// AnswerDone ends the answer with this id.
func (m *Model) AnswerDone(id string) {
	b, ok := m.find(anAnswer, id).(*answer)
	if !ok || b.done {
		return
	}
	grow(m, id, b.of.stream.End()).finish()
}

// Tool adds a tool call, or says all that is now known about the one with this
// id.
func (m *Model) Tool(id string, t Tool) {
	b := m.call(id, t.Name)
	if b.raw == t {
		return
	}
	it := m.byID[key{aCall, id}]
	if t.Status == Running && !slices.Contains(m.running, it) {
		m.running = append(m.running, it)
	}
	was := b.tool.Status
	b.set(t)
	m.touch(it)
	m.regroup(it, was)
}

// ToolOutput adds live output to a call. What Tool says about the output in the
// end takes its place.
func (m *Model) ToolOutput(id, text string) {
	m.call(id, "").add(text)
	m.touch(m.byID[key{aCall, id}])
}

func (m *Model) call(id, name string) *call {
	if b, ok := m.find(aCall, id).(*call); ok {
		return b
	}
	b := &call{}
	of := m.groupOf(name)
	m.add(aCall, id, b)
	m.join(m.byID[key{aCall, id}], of)
	return b
}

// Drop removes the blocks with this id, such as an answer that is tried again.
func (m *Model) Drop(id string) {
	m.freeze()
	for _, k := range []kind{aThought, anAnswer, aCall, aNote} {
		it := m.byID[key{k, id}]
		if it == nil || id == "" {
			continue
		}
		delete(m.byID, key{k, id})
		for i := slices.Index(m.items, it); i >= 0; i = slices.IndexFunc(m.items, it.shares) {
			m.remove(i)
		}
	}
	m.settle()
}

// remove takes an item out.
func (m *Model) remove(i int) {
	it := m.items[i]
	m.leave(it)
	m.items = slices.Delete(m.items, i, i+1)
	m.running = slices.DeleteFunc(m.running, func(r *item) bool { return r == it })
	m.grown = slices.DeleteFunc(m.grown, func(g *item) bool { return g == it })
	m.lose(it, i)
	if m.details != nil && m.details.of == it {
		m.closeDetails()
	}
	if i < m.top.item {
		m.top.item--
	} else if i == m.top.item {
		m.top.line, m.place = 0, place{}
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

// Tick sets the time, for calls that run.
func (m *Model) Tick(now time.Time) {
	m.now = now
	m.running = slices.DeleteFunc(m.running, func(it *item) bool {
		if !m.still {
			m.touch(it)
		}
		return it.block.(*call).tool.Status != Running
	})
}

// find returns the block with this id; nil if there is none.
func (m *Model) find(k kind, id string) block {
	if it := m.byID[key{k, id}]; it != nil {
		return it.block
	}
	return nil
}

func (m *Model) add(k kind, id string, b block) {
	it := &item{block: b, kind: k, seq: m.seq, tag: m.tag}
	m.seq++
	m.items = append(m.items, it)
	if id != "" || k != aNote && k != aUser {
		m.byID[key{k, id}] = it
	}
	m.touch(it)
}

// touch marks an item as changed.
func (m *Model) touch(it *item) {
	if it.state == laid {
		it.state = changed
	}
	if !m.follow && !it.awaited {
		it.awaited = true
		m.grown = append(m.grown, it)
	}
	if m.search.on && !it.uncounted {
		it.uncounted = true
		m.search.changed = append(m.search.changed, it)
	}
	if m.details != nil && m.details.of == it {
		m.details.stale = true
	}
	m.dirty = true
}

// trim makes text printable and takes the empty lines around it away.
func trim(text string) string {
	return strings.TrimRight(strings.TrimLeft(sanitize.Text(text), "\n"), " \t\n")
}
