package anthropic

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// history is a list of messages being encoded.
//
// The format requires that roles alternate, starting and ending with the user; that calls are at
// the end of their message and their results at the start of the next; and that no text is blank.
type history struct {
	origin    string
	refused   map[[32]byte]bool  // thinking not to be sent; never changed
	takesPDFs bool               // documents are accepted
	fills     bool               // messages with calls get thinking, even empty
	paired    map[remoteUse]bool // uses of server tools that go back; never changed
	ids       adapter.SentIDs
	list      []*message // messages not yet settled
	omitted   []string   // descriptions of the files that were left out
}

// message is a message on the wire, with its blocks in two groups: the tool blocks come first in a
// user message and last in an assistant message.
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

// verbatim is a block that goes back unchanged.
type verbatim = json.RawMessage

// messages encodes a history with writers that start as copies of start, followed by the blocks of
// the current answer so far, unchanged. Messages from plainFrom on are sent without thinking.
func (m *Model) messages(start history, messages []llm.Message, plainFrom int, said []json.RawMessage, whole bool) (list any, omitted []string) {
	var across []string
	start.paired, across = pairRemote(messages, start.origin)
	key := fmt.Sprint(start.fills, len(start.refused), across) // refusals are only added, so their number identifies them
	kept, h := m.histories.Write(key, messages, plainFrom, whole, start.Clone)
	for _, block := range said {
		a := h.messageFor("assistant")
		a.blocks = append(a.blocks, verbatim(block))
	}
	if n := len(h.list); n > 0 && h.list[n-1].role == "assistant" && len(said) == 0 { // the answer is not to be continued from its pause
		u := h.messageFor("user")
		u.blocks = []any{textBlock("Go on.")}
	}
	marked := 0 // upper bound
	for _, m := range h.list {
		if m.role == "user" {
			marked++
		}
	}
	if kept != nil && marked < cacheMarks {
		return m.messages(start, messages, plainFrom, said, true)
	}
	return adapter.ListOf(nil, kept, h.items(h.list)), h.omitted
}

// messageFor returns the message to add to: the last one if it has the same role, otherwise a new
// one. The first message is always the user's.
func (h *history) messageFor(role string) *message {
	n := len(h.list)
	switch {
	case n > 0 && h.list[n-1].role == role:
		return h.list[n-1]
	case n == 0 && role == "assistant":
		h.list = append(h.list, &message{role: "user", blocks: []any{textBlock("Go on.")}})
	}
	h.list = append(h.list, &message{role: role})
	return h.list[len(h.list)-1]
}

// Write implements adapter.Writer. Late messages are sent without thinking.
func (h *history) Write(messages []llm.Message, i int, late bool) (varies bool) {
	switch m := messages[i]; m.Role {
	case llm.RoleUser:
		if blocks := h.content(m.Parts); len(blocks) > 0 {
			u := h.messageFor("user")
			u.blocks = append(u.blocks, blocks...)
		}
	case llm.RoleAssistant:
		return h.addAssistant(m, i, late)
	case llm.RoleTool:
		h.addResults(m.Parts)
	}
	return false
}

// Settle implements adapter.Writer.
func (h *history) Settle() []any {
	front, last := adapter.CutLast(h.list)
	h.list = last
	return h.items(front)
}

// items returns messages in the form in which they are sent.
func (h *history) items(messages []*message) []any {
	list := make([]any, len(messages))
	for i, m := range messages {
		content := m.content()
		if h.fills {
			content, _ = withThinking(content)
		}
		list[i] = map[string]any{"role": m.role, "content": content}
	}
	return list
}

// Clone implements adapter.Writer.
func (h *history) Clone() *history {
	c := *h
	c.list, c.omitted = nil, slices.Clip(h.omitted)
	for _, m := range h.list {
		own := *m
		own.blocks, own.tools = adapter.CloneItems(m.blocks), adapter.CloneItems(m.tools)
		c.list = append(c.list, &own)
	}
	c.ids = h.ids.Clone()
	return &c
}

// addAssistant adds message i, an assistant message, without its thinking if bare. Varies means
// that it may contain thinking. A message without text, calls or blocks to send is left out.
func (h *history) addAssistant(m llm.Message, i int, bare bool) (varies bool) {
	own := m.Origin == h.origin
	var blocks, calls []any
	h.ids.Begin()
	for _, p := range m.Parts {
		switch {
		case own && p.State != nil && p.Kind != llm.Call && p.Kind != llm.Result:
			varies = true // it may be thinking
			blocks = append(blocks, h.replayBlocks(p, bare)...)
		case p.Kind == llm.Text && !isBlank(p.Text):
			blocks = append(blocks, textBlock(p.Text))
		case p.Kind == llm.Media:
			blocks = append(blocks, textBlock(adapter.FileText(p, mimeOf(p), &h.omitted)))
		case p.Remote && h.paired[remoteUse{i, p.ID}]:
			blocks = append(blocks, verbatim(p.State))
		case p.Kind == llm.Call && !p.Remote:
			call := h.encodeCall(p)
			if caller := callerOf(p.State); own && h.canName(caller, i) {
				call["caller"] = caller
			}
			calls = append(calls, call)
		}
	}
	// An answer that consists only of thinking must not go back with it.
	if n := len(blocks); n > 0 && len(calls) == 0 && isThinking(blocks[n-1]) {
		blocks = slices.DeleteFunc(blocks, isThinking)
	}
	if len(blocks)+len(calls) > 0 {
		a := h.messageFor("assistant")
		a.blocks, a.tools = append(a.blocks, blocks...), append(a.tools, calls...)
	}
	return varies
}

// replayBlocks returns a part's own blocks if they go back to the server; see textRun.
func (h *history) replayBlocks(p llm.Part, bare bool) []any {
	var list []verbatim
	block := verbatim(p.State)
	switch {
	case isThinking(block) && (bare || h.refused[sha256.Sum256(p.State)]):
	case p.Kind == llm.Text && isBlank(p.Text), !json.Valid(p.State):
	case p.Kind == llm.Text && json.Unmarshal(p.State, &list) == nil:
		blocks := make([]any, len(list))
		for i, b := range list {
			blocks[i] = b
		}
		return blocks
	default:
		return []any{block}
	}
	return nil
}

// A remoteUse is a call of a server tool, or its result, in a message of a history.
type remoteUse struct {
	message int
	id      string
}

// pairRemote returns the uses of server tools that go back: calls with results, and a call that the
// server has yet to run. A call beside calls of parley's tools runs after these have their results,
// so that its result is in a later message. Anything but results in between ends the turn, and the
// server then refuses the call (github.com/anthropics/anthropic-sdk-typescript issue 1090). Across
// lists the uses whose call has no result in its own message.
func pairRemote(messages []llm.Message, origin string) (paired map[remoteUse]bool, across []string) {
	paired = map[remoteUse]bool{}
	open := map[string]int{} // messages with calls, by id
	goesOn := false
	for i, m := range messages {
		own := m.Role == llm.RoleAssistant && m.Origin == origin
		for _, p := range m.Parts {
			call, ok := open[p.ID]
			switch {
			case !own || !p.Remote || p.State == nil:
			case p.Kind == llm.Call:
				open[p.ID] = i
			case ok:
				paired[remoteUse{call, p.ID}], paired[remoteUse{i, p.ID}] = true, true
				delete(open, p.ID)
				if call != i {
					across = append(across, fmt.Sprint(call, p.ID, i))
				}
			}
		}
		goesOn = m.Role == llm.RoleTool && !hasMediaBehind(m.Parts)
		if len(open) > 0 && !goesOn && !(own && len(m.Calls()) > 0) {
			clear(open)
		}
	}
	for id, i := range open {
		if goesOn {
			paired[remoteUse{i, id}] = true
			across = append(across, fmt.Sprint(i, id))
		}
	}
	slices.Sort(across)
	return paired, across
}

// hasMediaBehind reports whether images follow tool results when sent, as for results that report
// errors.
func hasMediaBehind(parts []llm.Part) bool {
	for i := 1; i < len(parts); i++ {
		if parts[i].Kind == llm.Media && parts[i-1].Failed {
			return true
		}
	}
	return false
}

// callerOf returns the caller of a tool: the model or a server tool; nil if unknown.
func callerOf(state json.RawMessage) json.RawMessage {
	var call struct {
		Caller json.RawMessage `json:"caller"`
	}
	json.Unmarshal(state, &call)
	return call.Caller
}

// canName reports whether a call of message i can be sent with its caller, which must be in the
// same or an earlier message.
func (h *history) canName(caller json.RawMessage, i int) bool {
	var by struct {
		ID string `json:"tool_id"`
	}
	if len(caller) == 0 || json.Unmarshal(caller, &by) != nil {
		return false
	}
	for use := range h.paired {
		if use.id == by.ID && use.message <= i {
			return true
		}
	}
	return by.ID == ""
}

func (h *history) encodeCall(p llm.Part) map[string]any {
	return map[string]any{"type": "tool_use", "id": h.callID(p.ID), "name": adapter.WireName(p.Name), "input": adapter.CallInput(p)}
}

// addResults adds tool results. Images are part of the result, unless it reports an error: then it
// may contain only text, and the images follow.
func (h *history) addResults(parts []llm.Part) {
	u := h.messageFor("user")
	for p, media := range adapter.Results(parts) {
		id, ok := h.ids.Result(p.ID)
		if !ok {
			continue
		}
		text := p.Text
		if isBlank(text) {
			text = "(no output)"
		}
		block := map[string]any{"type": "tool_result", "tool_use_id": id, "content": text}
		shown := h.content(media)
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

// isThinking reports whether a block is thinking, readable or not.
func isThinking(block any) bool {
	name := typeOf(block)
	return name == "thinking" || name == "redacted_thinking"
}
