package archive

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/store"
	"parley/tools/lazy"
)

// A claudeImporter reads sessions of Claude Code, ~/.claude/projects/DIRECTORY/ID.jsonl.
//
// Lines are linked by uuid and parentUuid. A response of the API is spread over
// lines with one message.id, a block each; tool results are messages of the
// user. Lines of many other types are links of the chain as well. The messages of a
// subagent stand beside the main conversation (isSidechain), or in a file of their
// own.
type claudeImporter struct {
	skipped    *skippedCounts
	main, side claudeThread
	titles     [3]string         // from a summary, from a model, from the user: the last that is not "" counts
	leaves     map[string]string // summaries, by uuid of the last message each covers
	id         string
}

// A claudeThread is the main conversation, or those of subagents.
type claudeThread struct {
	*builder
	answers map[int]string // Seq of a response to its message.id
}

func newClaude(name string, n *skippedCounts) *claudeImporter {
	return &claudeImporter{
		skipped: n, id: claudeID(name), leaves: map[string]string{},
		main: claudeThread{newBuilder("claude-code", n), map[int]string{}},
		side: claudeThread{newBuilder("claude-code", newSkipped()), map[int]string{}},
	}
}

// claudeID returns the session id that is the name of a file, "" if it is another name.
func claudeID(name string) string {
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	if !validID(base) || len(base) < 20 {
		return ""
	}
	return base
}

func (d *claudeImporter) line(data []byte) error {
	var l claudeLine
	if !d.skipped.decode(data, &l, badLines) {
		return nil
	}
	if l.UUID == "" {
		d.title(&l)
		return nil
	}
	t := &d.main
	if l.Sidechain {
		t = &d.side
	}
	t.session.Dir = cmp.Or(t.session.Dir, directory(l.Dir))
	t.session.ID = cmp.Or(t.session.ID, l.Session)
	t.addLine(&l)
	return nil
}

// title notes the title that a line gives the session. Summaries may be of the session
// this one continues; any other title is preferred.
func (d *claudeImporter) title(l *claudeLine) {
	if l.Summary != "" && l.Leaf != "" {
		d.leaves[l.Leaf] = l.Summary
	}
	for i, title := range []string{l.Summary, l.AITitle, l.Custom} {
		if title != "" {
			d.titles[i] = title
		}
	}
}

func (d *claudeImporter) end() []Conversation {
	t := d.main
	if t.last() == 0 {
		t = d.side
		d.skipped.merge(t.skipped)
	} else {
		d.skipped.add(subagents, d.side.last())
	}
	t.session.ID = cmp.Or(d.id, t.session.ID)
	last := 0
	for leaf, summary := range d.leaves {
		if seq := t.keys[leaf]; seq > last {
			last, d.titles[0] = seq, summary
		}
	}
	t.session.Title = cmp.Or(d.titles[2], d.titles[1], d.titles[0])
	t.session.Named = d.titles[2] != ""
	return t.end()
}

// addLine adds a line to the conversation. Children of a line that is no message follow
// that line's parent.
func (t *claudeThread) addLine(l *claudeLine) {
	if _, twice := t.keys[l.UUID]; twice {
		return // written again
	}
	before := t.head
	t.head = t.parent(l)
	switch {
	case l.Type == "user" && l.Meta, l.Type == "assistant" && (l.Failed || l.Message.Model == "<synthetic>"):
		t.skip(injected)
	case l.Type == "user":
		t.addPrompt(l)
	case l.Type == "assistant":
		t.addAnswer(l)
	}
	t.keys[l.UUID] = t.head
	if t.head == 0 || l.Type != "user" && l.Type != "assistant" {
		t.head = before
	}
}

func (t *claudeThread) parent(l *claudeLine) int {
	if key := cmp.Or(l.Parent, l.Logical); key != "" || !l.Compact {
		return t.follow(key)
	}
	return t.last()
}

// interrupted begins the message that the program writes for the user when a response is stopped.
const interrupted = "[Request interrupted by user"

// addPrompt adds a message of the user and the tool results in it.
func (t *claudeThread) addPrompt(l *claudeLine) {
	parent := t.node(t.head)
	var said []block
	for _, b := range t.blocks(l.Message.Content) {
		switch {
		case b.Type == "tool_result":
			text, files := t.texts(b.Content)
			t.head = max(t.head, t.result(b.ToolUseID, l.Time.Time, llm.Part{Failed: b.Failed, Text: text}, files, store.Outcome{Diff: patch(l.Outcome)}))
		case !strings.HasPrefix(b.Text, interrupted):
			said = append(said, b)
		case parent != nil && parent.Role == llm.RoleAssistant:
			parent.Interrupted = true
		}
	}
	if parts := t.content(said...); len(parts) > 0 {
		t.user(l.Time.Time, parts)
		t.node(t.head).Summary = l.Compact
	}
}

// addAnswer adds a line of a response: to the message at the head, if that is of the same
// response, or as a new one.
func (t *claudeThread) addAnswer(l *claudeLine) {
	m := &l.Message
	if t.head == 0 || m.ID == "" || t.answers[t.head] != m.ID {
		t.answer(l.Time.Time, "anthropic", m.Model)
		t.answers[t.head] = m.ID
	}
	for _, b := range t.blocks(m.Content) {
		t.addBlock(&b)
	}
	n := t.node(t.head)
	n.Reason = cmp.Or(reasons[m.Reason], n.Reason)
	if m.Usage != nil { // repeated on each line; the last one is complete
		n.Usage = consumption{
			input: m.Usage["input_tokens"], read: m.Usage["cache_read_input_tokens"], written: m.Usage["cache_creation_input_tokens"], output: m.Usage["output_tokens"],
		}.usage()
	}
}

// addBlock adds a block of a response. Signed or encrypted blocks are stored unchanged in
// Part.State, as providers/anthropic does.
func (t *claudeThread) addBlock(b *block) {
	state := func(keep bool) json.RawMessage {
		if !keep || t.node(t.head).Origin == "" {
			return nil
		}
		return b.raw
	}
	switch {
	case b.Type == "thinking":
		t.think(b.Thinking, state(b.Signature != "" && hasOnlyFields(b.raw, "type", "thinking", "signature")))
	case b.Type == "redacted_thinking":
		t.think("", state(hasOnlyFields(b.raw, "type", "data")))
	case b.Type == "tool_use":
		t.call(llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input)})
	case strings.HasSuffix(b.Type, "_tool_use"):
		t.call(llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input), Remote: true, State: state(utf8.Valid(b.raw))})
	case strings.HasSuffix(b.Type, "_tool_result"):
		p := llm.Part{Kind: llm.Result, ID: b.ToolUseID, Remote: true, Failed: b.Failed, State: state(utf8.Valid(b.raw))}
		for _, piece := range t.blocks(b.Content) {
			p.Text = join(p.Text, strings.TrimSpace(piece.Title+" "+piece.URL+" "+piece.Text))
		}
		if c := t.calls[b.ToolUseID]; c != nil {
			p.ID, p.Name = c.id, c.name
		}
		t.append(p)
	default:
		t.append(t.content(*b)...)
	}
}

// count returns a number of tokens, 0 if it cannot be one.
func count(n float64) int {
	if !(n > 0 && n < 1<<40) {
		return 0
	}
	return int(n)
}

// claudeModel matches the ids of Anthropic's own models: claude-3-5-sonnet-20241022, claude-opus-4-5.
var claudeModel = lazy.NewRegexp(`^claude-(?:(\d{1,3})(?:-(\d{1,3}))?-([a-z]+)|([a-z]+)-(\d{1,3})(?:-(\d{1,3}))?)(?:-\d{8})?$`)

// claudeOrigin returns the Origin that providers/anthropic gives messages of a model: its
// family and version, however its id is written. It is "" for ids that are not Anthropic's
// own; then no State is kept, as it could not be sent back.
func claudeOrigin(id string) string {
	m := claudeModel.FindStringSubmatch(strings.ToLower(id))
	if m == nil {
		return ""
	}
	return "anthropic/" + m[3] + m[4] + "-" + m[1] + m[5] + "." + cmp.Or(m[2]+m[6], "0")
}
