package archive

import (
	"cmp"
	"encoding/json"
	"strings"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// chatgpt adds a conversation of an export of ChatGPT, which maps ids to messages with
// parent and children. A tool call is a message of the assistant whose recipient is not
// "all", its result a message of the tool; ChatGPT ran them itself. All messages of the
// assistant between two of the user's become one.

func (d *exportImporter) chatgpt(c *gptConversation) {
	g := chatgptBuilder{builder: newBuilder("chatgpt", d.skipped), files: d.images.find}
	g.session.ID = cmp.Or(c.ConversationID, c.ID)
	g.session.Title = c.Title
	g.session.Created, g.session.Updated = c.Created.Time, c.Updated.Time
	if c.Model != "auto" {
		g.session.Model = model("openai", c.Model)
	}
	t := tree{builder: g.builder, nodes: make(map[string]treeNode, len(c.Mapping))}
	for id, n := range c.Mapping {
		node := treeNode{parent: n.Parent, children: n.Children, add: func(bool) {}}
		if m := n.Message; m != nil {
			node.at, node.add = m.Time.Time, func(alone bool) { g.message(m, alone) }
		}
		t.nodes[id] = node
	}
	t.addAll()
	g.head = cmp.Or(g.keys[c.Current], g.last())
	d.found = append(d.found, g.end()...)
}

// A chatgptBuilder builds one conversation of ChatGPT.
type chatgptBuilder struct {
	*builder
	files func(id string) []byte
}

// message adds a message, if it says something. With alone it may continue a response at the head.
func (g *chatgptBuilder) message(m *gptMessage, alone bool) {
	if m.Author.Role == "system" || m.Metadata.Hidden || unsaidContent[m.Content.Type] {
		return
	}
	called := m.Author.Role == "assistant" && m.Recipient != "" && m.Recipient != "all"
	switch m.Author.Role {
	case "user":
		g.user(m.Time.Time, g.parts(m))
		return
	case "assistant", "tool":
	default:
		g.skip(unknownBlocks)
		return
	}
	parts := g.parts(m)
	if len(parts) == 0 && !called {
		return
	}
	if before := g.node(g.head); before == nil || before.Role != llm.RoleAssistant || !alone {
		g.add(m.Time.Time, llm.Message{Role: llm.RoleAssistant})
	}
	switch {
	case called:
		g.addCall(m, parts)
	case m.Author.Role == "tool":
		g.addResult(m, parts)
	default:
		g.append(parts...)
	}
	a := g.node(g.head)
	a.Model = cmp.Or(model("openai", m.Metadata.Model), a.Model)
	a.Interrupted = m.Status == "in_progress" || m.Metadata.Finish.Type == "interrupted"
	if m.Metadata.Finish.Type == "max_tokens" {
		a.Reason = llm.Length
	}
}

// unsaidContent are types of content that is not part of the conversation: the user's
// settings, and thinking times.
var unsaidContent = map[string]bool{
	"user_editable_context": true, "model_editable_context": true, "reasoning_recap": true, "app_pairing_content": true,
}

// addCall adds a call of the tool a message is addressed to, with JSON or code as arguments.
func (g *chatgptBuilder) addCall(m *gptMessage, parts []llm.Part) {
	said, _ := splitText(parts)
	input, ok := llm.Arguments(said)
	if !ok {
		input = encodeJSON(map[string]string{"input": said})
	}
	g.call(llm.Part{Name: m.Recipient, Input: string(input), Remote: true})
}

// addResult adds the result of a tool, with a call of its own if there was none.
func (g *chatgptBuilder) addResult(m *gptMessage, parts []llm.Part) {
	name := cmp.Or(m.Author.Name, "tool")
	called := g.openCall("", name)
	if called == nil {
		g.call(llm.Part{Name: name, Input: "{}", Remote: true})
		called = g.openCall("", name)
	}
	said, files := splitText(parts)
	g.append(llm.Part{Kind: llm.Result, ID: called.id, Name: name, Remote: true, Failed: m.Content.Type == "system_error", Text: said})
	g.append(files...)
}

func (g *chatgptBuilder) parts(m *gptMessage) (parts []llm.Part) {
	c := &m.Content
	say := func(said string) { parts = appendText(parts, m.resolveReferences(said)) }
	switch c.Type {
	case "text", "multimodal_text":
		for _, raw := range c.Parts {
			var said string
			if json.Unmarshal(raw, &said) == nil {
				say(said)
			} else {
				parts = append(parts, g.contentPart(m, raw)...)
			}
		}
	case "code", "execution_output", "citable_code_output", "computer_output":
		said := c.Text
		if c.Type == "code" && m.Author.Role == "assistant" && (m.Recipient == "" || m.Recipient == "all") {
			said = fenced(c.Text, "")
		}
		say(said)
	case "thoughts":
		for _, t := range c.Thoughts {
			said := t.Content
			if t.Summary != "" {
				said = "**" + t.Summary + "**\n\n" + strings.TrimSpace(said)
			}
			if said = strings.TrimSpace(said); said != "" {
				parts = append(parts, llm.Part{Kind: llm.Thinking, Text: said})
			}
		}
	case "tether_quote":
		say(c.Text)
		parts = append(parts, llm.Part{Kind: llm.Source, URL: c.URL, Text: c.Title})
	case "tether_browsing_display":
		say(cmp.Or(c.Result, c.Summary))
	case "system_error":
		say(strings.TrimSpace(c.Name + " " + c.Text))
	default:
		g.skip(unknownBlocks)
	}
	return parts
}

// contentPart returns a part of a message that is not plain text, nil if it is not in the export.
func (g *chatgptBuilder) contentPart(m *gptMessage, raw json.RawMessage) []llm.Part {
	var p struct {
		Type  string `json:"content_type"`
		Text  string `json:"text"`
		Asset string `json:"asset_pointer"`
	}
	if !g.skipped.decode(raw, &p, unknownBlocks) {
		return nil
	}
	_, id, _ := strings.Cut(p.Asset, "://")
	switch {
	case p.Type == "audio_transcription" && p.Text != "":
		return appendText(nil, p.Text)
	case p.Asset == "":
		g.skip(unknownBlocks)
		return nil
	}
	name := ""
	for _, a := range m.Metadata.Attachments {
		if a.ID == id {
			name = a.Name
		}
	}
	data := g.files(id)
	return g.file(imageType(data), name, data, "")
}

type gptConversation struct {
	ID             string             `json:"id"`
	ConversationID string             `json:"conversation_id"`
	Title          string             `json:"title"`
	Created        jsonTime           `json:"create_time"`
	Updated        jsonTime           `json:"update_time"`
	Current        string             `json:"current_node"`
	Model          string             `json:"default_model_slug"`
	Mapping        map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Message  *gptMessage `json:"message"`
	Parent   string      `json:"parent"`
	Children []string    `json:"children"`
}

type gptMessage struct {
	Author struct {
		Role string `json:"role"`
		Name string `json:"name"`
	} `json:"author"`
	Time      jsonTime   `json:"create_time"`
	Content   gptContent `json:"content"`
	Status    string     `json:"status"`
	Recipient string     `json:"recipient"`
	Metadata  struct {
		Model  string `json:"model_slug"`
		Hidden bool   `json:"is_visually_hidden_from_conversation"`
		Finish struct {
			Type string `json:"type"`
		} `json:"finish_details"`
		References []struct {
			Match string `json:"matched_text"`
			Alt   string `json:"alt"`
		} `json:"content_references"`
		Attachments []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"attachments"`
	} `json:"metadata"`
}

type gptContent struct {
	Type     string            `json:"content_type"`
	Parts    []json.RawMessage `json:"parts"`
	Text     string            `json:"text"`
	Result   string            `json:"result"`  // tether_browsing_display
	Summary  string            `json:"summary"` // the same
	Name     string            `json:"name"`    // system_error
	URL      string            `json:"url"`     // tether_quote
	Title    string            `json:"title"`   // the same
	Thoughts []struct {
		Summary string `json:"summary"`
		Content string `json:"content"`
	} `json:"thoughts"`
}

// ChatGPT marks references in its text with runes of the private use area:
// begin, kind, separator, arguments, end.
const (
	refBegin = "\ue200"
	refNext  = "\ue202"
	refEnd   = "\ue201"
)

var reference = lazy.NewRegexp(refBegin + "([^" + refEnd + "]*)" + refEnd)

// resolveReferences returns said with its references replaced by their text, or without them.
func (m *gptMessage) resolveReferences(said string) string {
	if !strings.Contains(said, refBegin) {
		return said
	}
	words := map[string]string{}
	for _, r := range m.Metadata.References {
		words[r.Match] = r.Alt
	}
	said = reference.ReplaceAllStringFunc(said, func(ref string) string {
		kind, arguments, _ := strings.Cut(strings.Trim(ref, refBegin+refEnd), refNext)
		var names []string
		if words[ref] == "" && kind == "entity" && json.Unmarshal([]byte(arguments), &names) == nil && len(names) > 1 {
			return names[1]
		}
		return words[ref]
	})
	return strings.Replace(said, refBegin, "", 1) // of one that does not end
}
