package archive

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/session/store"
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
	main, side importedThread
	titles     [3]string         // from a summary, from a model, from the user: the last that is not "" counts
	leaves     map[string]string // summaries, by uuid of the last message each covers
	id         string
}

// An importedThread builds a conversation that grows at its head.
type importedThread struct {
	*builder
	head    int
	answers map[int]string // Claude Code: Seq of a response to its message.id
}

func newClaude(name string, n *skippedCounts) *claudeImporter {
	d := &claudeImporter{skipped: n, id: claudeID(name), leaves: map[string]string{}}
	d.main = importedThread{newBuilder("claude-code", n), 0, map[int]string{}}
	d.side = importedThread{newBuilder("claude-code", newSkipped()), 0, map[int]string{}}
	return d
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
	if t.session.Dir == "" {
		t.session.Dir = directory(l.Dir)
	}
	if t.session.ID == "" {
		t.session.ID = l.Session
	}
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
	if t.last() == 0 {
		return nil
	}
	if d.id != "" {
		t.session.ID = d.id
	}
	last := 0
	for leaf, summary := range d.leaves {
		if seq := t.keys[leaf]; seq > last {
			last, d.titles[0] = seq, summary
		}
	}
	for _, title := range d.titles {
		if title != "" {
			t.session.Title = title
		}
	}
	t.session.Named = d.titles[2] != ""
	return []Conversation{t.end(t.head)}
}

// addLine adds a line to the conversation. Children of a line that is no message follow
// that line's parent.
func (t *importedThread) addLine(l *claudeLine) {
	if _, twice := t.keys[l.UUID]; twice {
		return // written again
	}
	parent := t.parent(l)
	at := parent
	switch {
	case l.Type == "user" && l.Meta:
		t.skipped.add(injected, 1)
	case l.Type == "user":
		at = t.user(l, parent)
	case l.Type == "assistant" && (l.Failed || l.Message.Model == "<synthetic>"):
		t.skipped.add(injected, 1)
	case l.Type == "assistant":
		at = t.assistant(l, parent)
	}
	t.keys[l.UUID] = at
	if at > 0 && (l.Type == "user" || l.Type == "assistant") {
		t.head = at
	}
}

func (t *importedThread) parent(l *claudeLine) int {
	switch {
	case l.Parent != nil && *l.Parent != "":
		return t.follow(*l.Parent)
	case l.Logical != "":
		return t.follow(l.Logical)
	case l.Compact:
		return t.last()
	}
	return 0
}

// interrupted begins the message that the program writes for the user when a response is stopped.
const interrupted = "[Request interrupted by user"

// user adds a message of the user and the tool results in it. It returns the Seq that later
// messages follow.
func (t *importedThread) user(l *claudeLine, parent int) int {
	n := store.Node{Parent: parent, At: l.Time.Time, Summary: l.Compact, Message: llm.Message{Role: llm.RoleUser}}
	for _, raw := range l.Message.Content {
		var b claudeBlock
		if !t.skipped.decode(raw, &b, unknownBlocks) {
			continue
		}
		if b.Type == "tool_result" {
			if seq, ok := t.addResult(&b, l); ok && n.Parent < seq {
				n.Parent = seq
			}
			continue
		}
		if b.Type == "text" && strings.HasPrefix(b.Text, interrupted) {
			if a := t.node(parent); a != nil && a.Role == llm.RoleAssistant {
				a.Interrupted = true
			}
			continue
		}
		if p, ok := t.contentPart(&b); ok {
			n.Parts = append(n.Parts, p)
		}
	}
	if len(n.Parts) == 0 {
		return n.Parent
	}
	return t.add("", n)
}

// contentPart returns a block that is text, an image or a document, false for any other.
func (t *importedThread) contentPart(b *claudeBlock) (llm.Part, bool) {
	switch {
	case b.Type == "text":
		return textPart(b.Text), strings.TrimSpace(b.Text) != ""
	case b.Type == "image", b.Type == "document":
		p := llm.Part{Kind: llm.Media, MIME: b.Source.MIME, URL: b.Source.URL, Name: b.Title}
		switch b.Source.Type {
		case "base64":
			p.Data, _ = base64.StdEncoding.DecodeString(b.Source.Data)
		case "text":
			p.Data = []byte(b.Source.Data)
		}
		if len(p.Data) == 0 && p.URL == "" {
			t.skipped.add(noFiles, 1)
			return p, false
		}
		return p, true
	}
	t.skipped.add(unknownBlocks, 1)
	return llm.Part{}, false
}

func (t *importedThread) addResult(b *claudeBlock, l *claudeLine) (int, bool) {
	var parts []llm.Part
	for _, raw := range b.Content {
		var piece claudeBlock
		if decode(raw, &piece) != nil {
			continue
		}
		if p, ok := t.contentPart(&piece); ok {
			parts = append(parts, p)
		}
	}
	said, media := splitText(parts)
	result := llm.Part{Failed: b.Failed, Text: said}
	return t.result(b.ToolUseID, l.Time.Time, result, media, store.Outcome{Diff: patch(l.Outcome)})
}

// join joins two texts by a newline, if neither is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// assistant adds a line of a response: to the message before, if that is of the same
// response, or as a new one. It returns the message's Seq.
func (t *importedThread) assistant(l *claudeLine, parent int) int {
	m := &l.Message
	seq := parent
	if n := t.node(parent); n == nil || m.ID == "" || t.answers[parent] != m.ID {
		seq = t.add("", store.Node{Parent: parent, At: l.Time.Time, Message: llm.Message{
			Role: llm.RoleAssistant, Model: model("anthropic", m.Model), Origin: claudeOrigin(m.Model),
		}})
		t.answers[seq] = m.ID
	}
	for _, raw := range m.Content {
		t.block(seq, raw)
	}
	n := t.node(seq)
	if r := reasons[m.Reason]; r != "" {
		n.Reason = r
	}
	if m.Usage != nil { // repeated on each line; the last one is complete
		n.Usage = m.Usage.usage()
	}
	return seq
}

// block adds a block of a response. What is signed or encrypted is kept as the API wrote it
// in Part.State, as providers/anthropic does.
func (t *importedThread) block(seq int, raw json.RawMessage) {
	n := t.node(seq)
	var b claudeBlock
	if !t.skipped.decode(raw, &b, unknownBlocks) {
		return
	}
	var p llm.Part
	switch {
	case b.Type == "thinking":
		p = llm.Part{Kind: llm.Thinking, Text: b.Thinking}
		if n.Origin != "" && b.Signature != "" && hasOnlyFields(raw, "type", "thinking", "signature") {
			p.State = raw
		}
	case b.Type == "redacted_thinking":
		p = llm.Part{Kind: llm.Opaque}
		if n.Origin != "" && hasOnlyFields(raw, "type", "data") {
			p.State = raw
		}
	case b.Type == "tool_use":
		t.call(seq, llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input)})
		return
	case strings.HasSuffix(b.Type, "_tool_use"):
		p = llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input), Remote: true}
		if n.Origin != "" && utf8.Valid(raw) {
			p.State = raw
		}
		t.call(seq, p)
		return
	case strings.HasSuffix(b.Type, "_tool_result"):
		p = llm.Part{Kind: llm.Result, ID: b.ToolUseID, Remote: true, Failed: b.Failed, Text: b.text()}
		if c := t.calls[b.ToolUseID]; c != nil {
			p.ID, p.Name = c.id, c.name
		}
		if n.Origin != "" && utf8.Valid(raw) {
			p.State = raw
		}
	default:
		var ok bool
		if p, ok = t.contentPart(&b); !ok {
			return
		}
	}
	if p.Kind == llm.Opaque && p.State == nil || p.Kind == llm.Thinking && p.Text == "" && p.State == nil {
		return
	}
	n.Parts = append(n.Parts, p)
}

// text returns the text in the result of a provider's tool.
func (b *claudeBlock) text() string {
	var lines string
	for _, raw := range b.Content {
		var piece claudeBlock
		if decode(raw, &piece) == nil {
			lines = join(lines, strings.TrimSpace(piece.Title+" "+piece.URL+" "+piece.Text))
		}
	}
	return lines
}

// count returns a number of tokens, 0 if it cannot be one.
func count(n float64) int {
	if !(n > 0 && n < 1<<40) {
		return 0
	}
	return int(n)
}

// claudeOrigin returns the Origin that providers/anthropic gives messages of a model: its
// family and version, however its id is written. It is "" for ids that are not Anthropic's
// own; then no State is kept, as it could not be sent back.
func claudeOrigin(id string) string {
	rest, ok := strings.CutPrefix(strings.ToLower(id), "claude-")
	if !ok {
		return ""
	}
	var family string
	var version []string
	for _, word := range strings.Split(rest, "-") {
		n, err := strconv.Atoi(word)
		switch {
		case err == nil && n >= 0 && len(word) < 4 && len(version) < 2:
			version = append(version, strconv.Itoa(n))
		case err == nil && len(word) == len("20250514") && len(version) > 0: // the date
		case err != nil && family == "" && word != "" && word != "v" && !strings.ContainsAny(word, ".:@_/0123456789 []"):
			family = word
		default:
			return ""
		}
	}
	if family == "" || len(version) == 0 {
		return ""
	}
	if len(version) == 1 {
		version = append(version, "0")
	}
	return "anthropic/" + family + "-" + strings.Join(version, ".")
}
