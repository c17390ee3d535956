package anthropic

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// history is a list of messages being written.
//
// The format wants roles to alternate, beginning and ending with the user's;
// calls at the end of their message; their results at the beginning of the next;
// and no text without a word in it.
type history struct {
	origin    string
	refused   map[[32]byte]bool // thinking to leave out
	plainFrom int               // messages from here on go without thinking; -1 if none
	takesPDFs bool              // documents are taken
	ids       callIDs
	list      []*message
	omitted   []string // files that were left out, in words
}

// message is a message on the wire, its blocks in two groups: what opens a
// message of the user's, or closes one of the assistant's, are the tools.
type message struct {
	role          string
	blocks, tools []any
}

// content returns the blocks of a message in order.
func (m *message) content() []any {
	if m.role == "user" {
		return slices.Concat(m.tools, m.blocks)
	}
	return slices.Concat(m.blocks, m.tools)
}

// verbatim is a block that goes back as it came.
type verbatim = json.RawMessage

// messageFor returns the message to add to: the last one, if the role is its own.
func (h *history) messageFor(role string) *message {
	if n := len(h.list); n > 0 && h.list[n-1].role == role {
		return h.list[n-1]
	}
	h.list = append(h.list, &message{role: role})
	return h.list[len(h.list)-1]
}

// add writes messages, and behind them, as they came, what the assistant has
// said in this very answer.
func (h *history) add(messages []llm.Message, said []json.RawMessage) {
	for i, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			if blocks := h.content(m.Parts); len(blocks) > 0 {
				u := h.messageFor("user")
				u.blocks = append(u.blocks, blocks...)
			}
		case llm.RoleAssistant:
			h.addAssistant(m, h.plainFrom >= 0 && i >= h.plainFrom)
		case llm.RoleTool:
			h.addResults(m.Parts)
		}
	}
	for _, block := range said {
		a := h.messageFor("assistant")
		a.blocks = append(a.blocks, verbatim(block))
	}
}

// addAssistant adds a message of the model's. What has no text, call or block of
// its own to send is left out.
func (h *history) addAssistant(m llm.Message, bare bool) {
	own := m.Origin == h.origin
	var blocks, calls []any
	h.ids.now = map[string][]string{}
	paired := completePairs(m.Parts)
	for _, p := range m.Parts {
		switch {
		case own && p.State != nil && p.Kind != llm.Call && p.Kind != llm.Result:
			if block, ok := h.replayBlock(p, bare); ok {
				blocks = append(blocks, block)
			}
		case p.Kind == llm.Text && !isBlank(p.Text):
			blocks = append(blocks, textBlock(p.Text))
		case p.Kind == llm.Media:
			blocks = append(blocks, h.omit(p, mimeOf(p)))
		case p.Remote && own && p.State != nil && paired[p.ID]:
			blocks = append(blocks, verbatim(p.State))
		case p.Kind == llm.Call && !p.Remote:
			calls = append(calls, h.encodeCall(p))
		}
	}
	// An answer that was used up by thinking may not go back with it.
	if n := len(blocks); n > 0 && len(calls) == 0 && isThinking(blocks[n-1]) {
		blocks = slices.DeleteFunc(blocks, isThinking)
	}
	if len(blocks)+len(calls) == 0 {
		return
	}
	a := h.messageFor("assistant")
	a.blocks, a.tools = append(a.blocks, blocks...), append(a.tools, calls...)
}

// replayBlock returns a part's own block, if the server should see it again.
func (h *history) replayBlock(p llm.Part, bare bool) (any, bool) {
	block := verbatim(p.State)
	switch {
	case isThinking(block) && (bare || h.refused[sha256.Sum256(p.State)]):
		return nil, false
	case p.Kind == llm.Text && isBlank(p.Text):
		return nil, false
	}
	return block, json.Valid(p.State)
}

// completePairs reports which tools of the server's have both call and result: alone,
// neither is taken.
func completePairs(parts []llm.Part) map[string]bool {
	calls, both := map[string]bool{}, map[string]bool{}
	for _, p := range parts {
		switch {
		case !p.Remote:
		case p.Kind == llm.Call:
			calls[p.ID] = true
		case p.Kind == llm.Result:
			both[p.ID] = calls[p.ID]
		}
	}
	return both
}

func (h *history) encodeCall(p llm.Part) map[string]any {
	input, ok := llm.Arguments(p.Input)
	if !ok { // what the model wrote cannot be parsed, and the format wants an object
		input = []byte("{}")
	}
	return map[string]any{"type": "tool_use", "id": h.ids.call(p.ID), "name": adapter.WireName(p.Name), "input": input}
}

// addResults adds what tools answered. Images belong into the result, unless it
// reports an error: then it may hold text only, and they follow.
func (h *history) addResults(parts []llm.Part) {
	u := h.messageFor("user")
	for i, p := range parts {
		if p.Kind != llm.Result {
			continue
		}
		id, ok := h.ids.result(p.ID)
		if !ok {
			continue
		}
		text := p.Text
		if isBlank(text) {
			text = "(no output)"
		}
		block := map[string]any{"type": "tool_result", "tool_use_id": id, "content": text}
		var shown []any
		for _, q := range parts[i+1:] {
			if q.Kind == llm.Result {
				break
			}
			shown = append(shown, h.content([]llm.Part{q})...)
		}
		switch {
		case p.Failed:
			block["is_error"] = true
			u.blocks = append(u.blocks, shown...)
		case len(shown) > 0:
			block["content"] = append([]any{textBlock(text)}, shown...)
		}
		u.tools = append(u.tools, block)
	}
	if len(u.content()) == 0 {
		h.list = h.list[:len(h.list)-1]
	}
}

// finish returns the messages as they are sent. Going says that the assistant is
// to go on where it paused.
func (h *history) finish(going bool) []any {
	if len(h.list) > 0 && h.list[0].role == "assistant" {
		h.list = slices.Insert(h.list, 0, &message{role: "user", blocks: []any{textBlock("Go on.")}})
	}
	if n := len(h.list); n > 0 && h.list[n-1].role == "assistant" && !going {
		h.messageFor("user").blocks = []any{textBlock("Go on.")}
	}
	list := make([]any, 0, len(h.list))
	for _, m := range h.list {
		list = append(list, map[string]any{"role": m.role, "content": m.content()})
	}
	return list
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// typeOf returns the type of a block.
func typeOf(block any) string {
	switch b := block.(type) {
	case map[string]any:
		name, _ := b["type"].(string)
		return name
	case verbatim:
		var head struct{ Type string }
		json.Unmarshal(b, &head)
		return head.Type
	}
	return ""
}

// isThinking reports whether a block is thinking, legible or not.
func isThinking(block any) bool {
	name := typeOf(block)
	return name == "thinking" || name == "redacted_thinking"
}
