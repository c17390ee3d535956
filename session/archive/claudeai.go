package archive

import (
	"cmp"
	"net/http"
	"strings"

	"parley/providers/llm"
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
	ID      string   `json:"uuid"`
	Parent  string   `json:"parent_message_uuid"`
	Sender  string   `json:"sender"`
	Text    string   `json:"text"`
	Content jsonList `json:"content"`
	Time    jsonTime `json:"created_at"`
	Reason  string   `json:"stop_reason"`

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
	t := claudeChatBuilder{newBuilder("claude.ai", d.skipped), d.images.find}
	t.session.ID, t.session.Title = c.ID, c.Name
	t.session.Created, t.session.Updated = c.Created.Time, c.Updated.Time
	for i := range c.Messages {
		t.message(&c.Messages[i], c.Model)
	}
	t.head = cmp.Or(t.keys[c.Current], t.head)
	d.found = append(d.found, t.end()...)
}

type claudeChatBuilder struct {
	*builder
	files func(id string) []byte
}

// message adds a message after its parent, or after the head if it names none.
func (t *claudeChatBuilder) message(m *claudeChatMessage, name string) {
	if m.Parent == claudeRoot {
		t.head = 0
	} else if m.Parent != "" {
		t.head = t.follow(m.Parent)
	}
	switch m.Sender {
	case "human":
		t.add(m.Time.Time, llm.Message{Role: llm.RoleUser, Parts: t.attachments(m)})
	case "assistant":
		t.add(m.Time.Time, llm.Message{Role: llm.RoleAssistant, Model: model("anthropic", name)}).Reason = reasons[m.Reason]
	default:
		t.skip(badMessages)
		return
	}
	if m.ID != "" {
		t.keys[m.ID] = t.head
	}
	for _, b := range t.blocks(m.Content) {
		t.addBlock(&b)
	}
	if len(m.Content) == 0 {
		t.append(appendText(nil, m.Text)...)
	}
}

// attachments returns the files that were attached to a prompt.
func (t *claudeChatBuilder) attachments(m *claudeChatMessage) (parts []llm.Part) {
	for _, a := range m.Attachments {
		if a.Text == "" {
			t.skip(noFiles)
			continue
		}
		parts = append(parts, textFile(a.Name, a.Text))
	}
	for _, f := range m.Files {
		data := t.files(f.ID)
		parts = append(parts, t.file(http.DetectContentType(data), f.Name, data, "")...)
	}
	return parts
}

func (t *claudeChatBuilder) addBlock(b *block) {
	switch b.Type {
	case "thinking":
		t.think(b.Thinking, nil)
	case "tool_use":
		t.call(llm.Part{ID: b.ID, Name: b.Name, Input: compact(b.Input), Remote: true})
	case "tool_result":
		t.addResult(b)
	case "token_budget", "flag":
	default:
		t.append(t.content(*b)...)
	}
}

// addResult adds the result of a call. A result without tool_use_id is of the last call of
// that tool.
func (t *claudeChatBuilder) addResult(b *block) {
	called := t.openCall(b.ToolUseID, b.Name)
	if called == nil {
		t.skip(strayResults)
		return
	}
	p := llm.Part{Kind: llm.Result, ID: called.id, Name: called.name, Remote: true, Failed: b.Failed}
	var files []llm.Part
	for _, piece := range t.blocks(b.Content) {
		switch piece.Type {
		case "image", "document":
			files = append(files, t.content(piece)...)
		default:
			p.Text = join(p.Text, strings.TrimSpace(join(join(piece.Title, piece.URL), piece.Text)))
		}
	}
	t.append(append([]llm.Part{p}, files...)...)
}
