package archive

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session/store"
)

// ChatGPT's conversations map ids to messages with parent and children. Calls of tools
// are messages of the assistant's to somebody else than all, their results
// messages of the tool's; ChatGPT ran them itself. What the assistant said
// between two messages of the user's becomes one message, as anywhere else.

func (d *exportImporter) chatgpt(c *gptConversation) {
	g := chatgptBuilder{builder: newTree("chatgpt", d.notes), files: d.files, from: c.Mapping, runs: map[int]map[string]string{}}
	g.session.ID = cmp.Or(c.Other, c.ID)
	g.session.Title = c.Title
	g.session.Created, g.session.Updated = c.Created.Time, c.Updated.Time
	if c.Model != "auto" {
		g.session.Model = model("openai", c.Model)
	}
	g.walk()
	if g.last() == 0 {
		return
	}
	d.found = append(d.found, g.end(cmp.Or(g.keys[c.Current], g.last())))
}

// A chatgptBuilder is a conversation on its way into a tree.
type chatgptBuilder struct {
	*builder
	files    func(id string) ([]byte, bool)
	from     map[string]gptNode
	children map[string][]string
	runs     map[int]map[string]string // by Seq: the tools an answer called that have not answered, to the ids of the calls
}

// link finds what follows what. Parents and children should agree; one of them
// may be missing.
func (g *chatgptBuilder) link() (roots, ids []string) {
	for id := range g.from {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(g.time(a).Compare(g.time(b)), strings.Compare(a, b))
	})
	parents := make(map[string]string, len(ids))
	for _, id := range ids {
		if parents[id] == "" {
			parents[id] = g.from[id].Parent
		}
		for _, child := range g.from[id].Children {
			if c, ok := g.from[child]; ok && c.Parent == "" && parents[child] == "" && child != id {
				parents[child] = id
			}
		}
	}
	g.children = make(map[string][]string, len(ids))
	listed := make(map[string]bool, len(ids))
	for _, id := range ids {
		for _, child := range g.from[id].Children {
			if _, ok := g.from[child]; ok && parents[child] == id && !listed[child] {
				listed[child] = true
				g.children[id] = append(g.children[id], child)
			}
		}
	}
	for _, id := range ids {
		switch parent := parents[id]; {
		case parent == "":
			roots = append(roots, id)
		case !listed[id]:
			g.children[parent] = append(g.children[parent], id)
		}
	}
	return roots, ids
}

func (g *chatgptBuilder) time(id string) time.Time {
	if m := g.from[id].Message; m != nil {
		return m.Time.Time
	}
	return time.Time{}
}

// walk adds all messages, parents before children. Those that nothing leads to
// come last, for their parents are missing or follow them.
func (g *chatgptBuilder) walk() {
	roots, ids := g.link()
	for _, id := range roots {
		g.below(id, 0)
	}
	for _, id := range ids {
		if _, ok := g.keys[id]; !ok {
			g.notes.add(orphans, 1)
			g.below(id, g.last())
		}
	}
}

// below adds a message and what follows it.
func (g *chatgptBuilder) below(id string, parent int) {
	type entry struct {
		id     string
		parent int
		alone  bool // nothing else follows the same message
	}
	stack := []entry{{id, parent, parent == 0}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, twice := g.keys[e.id]; twice {
			continue
		}
		seq := g.message(g.from[e.id].Message, e.parent, e.alone)
		g.keys[e.id] = seq
		children := g.children[e.id]
		alone := len(children) == 1 && (e.alone || seq != e.parent)
		for _, child := range slices.Backward(children) {
			stack = append(stack, entry{child, seq, alone})
		}
	}
}

// message adds what is said and returns the Seq of what its children follow.
func (g *chatgptBuilder) message(m *gptMessage, parent int, alone bool) int {
	if m == nil || m.Author.Role == "system" || m.About.Hidden || settings[m.Content.Type] {
		return parent
	}
	switch m.Author.Role {
	case "user":
		parts := g.parts(m)
		if len(parts) == 0 {
			return parent
		}
		return g.add("", store.Node{Parent: parent, At: m.Time.Time, Message: llm.Message{Role: llm.RoleUser, Parts: parts}})
	case "assistant", "tool":
	default:
		g.notes.add(unknownBlocks, 1)
		return parent
	}
	called := m.Author.Role == "assistant" && m.To != "" && m.To != "all"
	parts := g.parts(m)
	if len(parts) == 0 && !called {
		return parent
	}
	seq := parent
	if before := g.node(parent); before == nil || before.Role != llm.RoleAssistant || !alone {
		seq = g.add("", store.Node{Parent: parent, At: m.Time.Time, Message: llm.Message{Role: llm.RoleAssistant}})
	}
	switch {
	case called:
		g.calls(seq, m, parts)
	case m.Author.Role == "tool":
		g.ran(seq, m, parts)
	default:
		g.node(seq).Parts = append(g.node(seq).Parts, parts...)
	}
	a := g.node(seq)
	if name := model("openai", m.About.Model); name != "" {
		a.Model = name
	}
	a.Interrupted = m.Status == "in_progress" || m.About.Finish.Type == "interrupted"
	if m.About.Finish.Type == "max_tokens" {
		a.Reason = llm.Length
	}
	return seq
}

// settings holds types of content that hold what the user has set up, not said;
// recaps only say how long thinking took.
var settings = map[string]bool{
	"user_editable_context": true, "model_editable_context": true, "reasoning_recap": true, "app_pairing_content": true,
}

// calls adds the call of a tool: code or JSON, addressed to the tool.
func (g *chatgptBuilder) calls(seq int, m *gptMessage, parts []llm.Part) {
	said := ""
	for _, p := range parts {
		said = join(said, p.Text)
	}
	input, ok := llm.Arguments(said)
	if !ok {
		input = json.RawMessage(field("input", said))
	}
	if g.runs[seq] == nil {
		g.runs[seq] = map[string]string{}
	}
	g.runs[seq][m.To] = g.call(seq, llm.Part{Name: m.To, Input: string(input), Remote: true})
}

// ran adds what a tool answered. If nothing called it, ChatGPT did of itself.
func (g *chatgptBuilder) ran(seq int, m *gptMessage, parts []llm.Part) {
	name := cmp.Or(m.Author.Name, "tool")
	id, ok := g.runs[seq][name]
	if !ok {
		id = g.call(seq, llm.Part{Name: name, Input: "{}", Remote: true})
	}
	delete(g.runs[seq], name)
	result := llm.Part{Kind: llm.Result, ID: id, Name: name, Remote: true, Failed: m.Content.Type == "system_error"}
	var rest []llm.Part
	result.Text, rest = splitText(parts)
	n := g.node(seq)
	n.Parts = append(append(n.Parts, result), rest...)
}

func (g *chatgptBuilder) parts(m *gptMessage) (parts []llm.Part) {
	c := &m.Content
	say := func(said string) {
		if said = m.plain(said); strings.TrimSpace(said) != "" {
			parts = append(parts, text(said))
		}
	}
	switch c.Type {
	case "text", "multimodal_text":
		for _, raw := range c.Parts {
			var said string
			if json.Unmarshal(raw, &said) == nil {
				say(said)
			} else {
				parts = append(parts, g.piece(m, raw)...)
			}
		}
	case "code", "execution_output", "citable_code_output", "computer_output":
		said := c.Text
		if c.Type == "code" && m.Author.Role == "assistant" && (m.To == "" || m.To == "all") {
			said = fenced(c.Text, "")
		}
		say(said)
	case "thoughts":
		for _, t := range c.Thoughts {
			said := strings.TrimSpace(t.Content)
			if t.Summary != "" {
				said = strings.TrimSpace("**" + t.Summary + "**\n\n" + said)
			}
			if said != "" {
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
		g.notes.add(unknownBlocks, 1)
	}
	return parts
}

// piece returns a part of a message that is not plain text.
func (g *chatgptBuilder) piece(m *gptMessage, raw json.RawMessage) []llm.Part {
	var p struct {
		Type  string `json:"content_type"`
		Text  string `json:"text"`
		Asset string `json:"asset_pointer"`
	}
	if !g.notes.decode(raw, &p, unknownBlocks) {
		return nil
	}
	switch {
	case p.Type == "audio_transcription" && p.Text != "":
		return []llm.Part{text(p.Text)}
	case p.Asset == "":
		g.notes.add(unknownBlocks, 1)
		return nil
	}
	_, id, _ := strings.Cut(p.Asset, "://")
	if g.files != nil && id != "" {
		if data, ok := g.files(id); ok {
			part := llm.Part{Kind: llm.Media, MIME: cmp.Or(imageType(data), "application/octet-stream"), Data: data}
			for _, a := range m.About.Attachments {
				if a.ID == id {
					part.Name = a.Name
				}
			}
			return []llm.Part{part}
		}
	}
	g.notes.add(noFiles, 1)
	return nil
}
