package archive

import (
	"cmp"
	"strings"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// A webChat is a conversation of an export of Open WebUI, a list of objects with "chat", or of LibreChat, one object
// with "exportAt". Their messages name their parents, and are alike but for the names of fields. Sources: open-webui,
// src/lib/apis/chats; LibreChat, client/src/hooks/Conversations/useExportConversation.ts.
type webChat struct {
	Chat struct { // Open WebUI
		History struct {
			Messages map[string]webMessage `json:"messages"`
			Current  string                `json:"currentId"`
		} `json:"history"`
	} `json:"chat"`
	ID      string   `json:"id"`
	Created jsonTime `json:"created_at"`
	Updated jsonTime `json:"updated_at"`

	ConversationID string       `json:"conversationId"` // LibreChat
	Messages       []webMessage `json:"messages"`
	Tree           []webMessage `json:"messagesTree"` // in place of Messages, with children
	Endpoint       string       `json:"endpoint"`

	Title string `json:"title"`
}

type webMessage struct {
	ID      string   `json:"id"` // Open WebUI
	Parent  string   `json:"parentId"`
	Role    string   `json:"role"`
	Content jsonList `json:"content"` // a text; of LibreChat a list of blocks, or missing
	Time    jsonTime `json:"timestamp"`
	Files   []struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"files"`

	MessageID string       `json:"messageId"` // LibreChat
	ParentID  string       `json:"parentMessageId"`
	ByUser    bool         `json:"isCreatedByUser"`
	Text      string       `json:"text"`
	Created   jsonTime     `json:"createdAt"`
	Children  []webMessage `json:"children"`

	Model string `json:"model"`
}

// webRoot is the parent of LibreChat's first messages.
const webRoot = "00000000-0000-0000-0000-000000000000"

func (d *exportImporter) web(c *webChat) {
	t := tree{builder: newBuilder("open-webui", d.skipped), nodes: map[string]treeNode{}}
	provider := "open-webui"
	if c.ConversationID != "" {
		t.session.Origin, provider = "librechat", strings.ToLower(c.Endpoint)
	}
	t.session.ID, t.session.Title = cmp.Or(c.ConversationID, c.ID), c.Title
	t.session.Created, t.session.Updated = c.Created.Time, c.Updated.Time
	last := ""
	var add func(id string, m webMessage)
	add = func(id string, m webMessage) {
		last = id
		parent := cmp.Or(m.Parent, m.ParentID)
		if parent == webRoot {
			parent = ""
		}
		t.nodes[id] = treeNode{parent: parent, at: cmp.Or(m.Time, m.Created).Time, add: func(bool) { t.webMessage(&m, provider) }}
		for _, child := range m.Children {
			add(child.MessageID, child)
		}
	}
	for id, m := range c.Chat.History.Messages {
		add(id, m)
	}
	for _, m := range append(c.Messages, c.Tree...) {
		add(m.MessageID, m)
	}
	t.addAll()
	t.head = cmp.Or(t.keys[c.Chat.History.Current], t.keys[last])
	d.found = append(d.found, t.end()...)
}

// webReasoning matches the thinking in a text of Open WebUI.
var webReasoning = lazy.NewRegexp(`(?s)<details type="reasoning"[^>]*>\s*(?:<summary>[^<]*</summary>)?(.*?)</details>\s*`)

func (t *tree) webMessage(m *webMessage, provider string) {
	at := cmp.Or(m.Time, m.Created).Time
	blocks := t.blocks(m.Content)
	if len(blocks) == 0 {
		blocks = []block{{Type: "text", Text: m.Text}}
	}
	if m.ByUser || m.Role == "user" {
		parts := t.content(blocks...)
		for _, f := range m.Files {
			parts = append(parts, t.file("", f.Name, nil, f.URL)...)
		}
		t.user(at, parts)
		return
	}
	if m.Role == "system" {
		t.skip(systemPrompts)
		return
	}
	t.add(at, llm.Message{Role: llm.RoleAssistant, Model: foreignModel(provider, m.Model)})
	for _, b := range blocks {
		switch {
		case b.Think != "":
			t.think(b.Think, nil)
		case b.Used != nil:
			if id := t.call(llm.Part{ID: b.Used.ID, Name: b.Used.Name, Input: cmp.Or(b.Used.Arguments, "{}"), Remote: true}); id != "" {
				t.append(llm.Part{Kind: llm.Result, ID: id, Name: b.Used.Name, Text: b.Used.Output, Remote: true})
			}
		case b.Type == "text":
			said := b.Text
			for _, found := range webReasoning.FindAllStringSubmatch(said, -1) {
				thought := strings.ReplaceAll("\n"+strings.TrimSpace(found[1]), "\n> ", "\n")
				t.think(strings.TrimSpace(thought), nil)
				said = strings.Replace(said, found[0], "", 1)
			}
			t.append(appendText(nil, said)...)
		default:
			t.append(t.content(b)...)
		}
	}
	t.removeEmpty()
}
