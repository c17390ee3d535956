package archive

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

// A claudeChat is a conversation of an export of Claude, with chat_messages. A message names
// its parent in newer exports; the root is a UUID of zeros. What the assistant said is a list
// of blocks like those of the API, among them tool calls and their results: Claude ran those
// itself. Texts that were attached are in the export, other files are not.

type claudeChat struct {
	ID       string              `json:"uuid"`
	Name     string              `json:"name"`
	Model    string              `json:"model"`
	Created  jsonTime            `json:"created_at"`
	Updated  jsonTime            `json:"updated_at"`
	Current  string              `json:"current_leaf_message_uuid"`
	Messages []claudeChatMessage `json:"chat_messages"`
}

type claudeChatMessage struct {
	ID      string            `json:"uuid"`
	Parent  string            `json:"parent_message_uuid"`
	Sender  string            `json:"sender"`
	Text    string            `json:"text"`
	Content []json.RawMessage `json:"content"`
	Time    jsonTime          `json:"created_at"`
	Reason  string            `json:"stop_reason"`

	Attachments []struct {
		Name string `json:"file_name"`
		Text string `json:"extracted_content"`
	} `json:"attachments"`
	Files []struct {
		ID   string `json:"file_uuid"`
		Name string `json:"file_name"`
	} `json:"files"`
}

// claudeRoot is the parent of the first message of a conversation.
const claudeRoot = "00000000-0000-4000-8000-000000000000"

func (d *exportImporter) claude(c *claudeChat) {
	t := claudeChatBuilder{newBuilder("claude.ai", d.skipped), map[string]string{}, d.files, model("anthropic", c.Model)}
	t.session.ID, t.session.Title = c.ID, c.Name
	t.session.Created, t.session.Updated = c.Created.Time, c.Updated.Time
	head := 0
	for i := range c.Messages {
		head = t.message(&c.Messages[i], head)
	}
	if t.last() > 0 {
		d.found = append(d.found, t.end(cmp.Or(t.keys[c.Current], head)))
	}
}

type claudeChatBuilder struct {
	*builder
	openCalls map[string]string // names of tools without a result yet, to ids of calls
	files     func(id string) ([]byte, bool)
	model     string
}

// message adds a message behind its parent, or behind head if it names none, and returns the
// Seq of the next message's head.
func (t *claudeChatBuilder) message(m *claudeChatMessage, head int) int {
	parent := head
	switch {
	case m.Parent == claudeRoot:
		parent = 0
	case m.Parent != "":
		parent = t.follow(m.Parent)
	}
	n := store.Node{Parent: parent, At: m.Time.Time, Message: llm.Message{Role: llm.RoleUser}}
	switch m.Sender {
	case "human":
		n.Parts = t.attachments(m)
	case "assistant":
		n.Role, n.Model, n.Reason = llm.RoleAssistant, t.model, reasons[m.Reason]
	default:
		t.skipped.add(badMessages, 1)
		return parent
	}
	seq := t.add(m.ID, n)
	for _, raw := range m.Content {
		t.block(seq, raw)
	}
	if said := t.node(seq); len(m.Content) == 0 {
		said.Parts = appendText(said.Parts, m.Text)
	}
	clear(t.openCalls)
	return seq
}

// attachments returns the files that were attached to a prompt.
func (t *claudeChatBuilder) attachments(m *claudeChatMessage) (parts []llm.Part) {
	for _, a := range m.Attachments {
		if a.Text == "" {
			t.skipped.add(noFiles, 1)
			continue
		}
		parts = append(parts, textFile(a.Name, a.Text))
	}
	for _, f := range m.Files {
		data, ok := []byte(nil), false
		if t.files != nil && f.ID != "" {
			data, ok = t.files(f.ID)
		}
		if !ok {
			t.skipped.add(noFiles, 1)
			continue
		}
		parts = append(parts, llm.Part{Kind: llm.Media, MIME: http.DetectContentType(data), Name: truncateLine(f.Name), Data: data})
	}
	return parts
}

func (t *claudeChatBuilder) block(seq int, raw json.RawMessage) {
	var b claudeBlock
	if !t.skipped.decode(raw, &b, unknownBlocks) {
		return
	}
	n := t.node(seq)
	switch b.Type {
	case "text", "voice_note":
		n.Parts = appendText(n.Parts, b.Text)
	case "thinking":
		if b.Thinking != "" {
			n.Parts = append(n.Parts, llm.Part{Kind: llm.Thinking, Text: b.Thinking})
		}
	case "tool_use":
		if b.Name == "" {
			t.skipped.add(emptyCalls, 1)
			return
		}
		t.openCalls[b.Name] = t.call(seq, llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input), Remote: true})
	case "tool_result":
		t.addResult(n, &b)
	case "token_budget", "flag":
	case "image", "document":
		if p, ok := t.file(&b); ok {
			n.Parts = append(n.Parts, p)
		}
	default:
		t.skipped.add(unknownBlocks, 1)
	}
}

// addResult adds the result of a call. A result without tool_use_id is of the last call of
// that tool.
func (t *claudeChatBuilder) addResult(n *store.Node, b *claudeBlock) {
	p := llm.Part{Kind: llm.Result, ID: t.openCalls[b.Name], Name: b.Name, Remote: true, Failed: b.Failed}
	if c := t.calls[b.ToolUseID]; c != nil {
		p.ID, p.Name = c.id, c.name
	}
	called := func(q llm.Part) bool { return q.Kind == llm.Call && q.ID == p.ID }
	answered := func(q llm.Part) bool { return q.Kind == llm.Result && q.ID == p.ID }
	if p.ID == "" || !slices.ContainsFunc(n.Parts, called) || slices.ContainsFunc(n.Parts, answered) {
		t.skipped.add(strayResults, 1)
		return
	}
	delete(t.openCalls, p.Name)
	var files []llm.Part
	for _, raw := range b.Content {
		var piece claudeBlock
		if !t.skipped.decode(raw, &piece, unknownBlocks) {
			continue
		}
		switch piece.Type {
		case "image", "document":
			if f, ok := t.file(&piece); ok {
				files = append(files, f)
			}
		default:
			p.Text = join(p.Text, strings.TrimSpace(join(join(piece.Title, piece.URL), piece.Text)))
		}
	}
	n.Parts = append(append(n.Parts, p), files...)
}

// file returns the file in a block, false if the export does not have it.
func (t *claudeChatBuilder) file(b *claudeBlock) (llm.Part, bool) {
	if p, ok := filePart(b.Source.MIME, b.Title, b.Source.Data); ok {
		return p, true
	}
	t.skipped.add(noFiles, 1)
	return llm.Part{}, false
}
