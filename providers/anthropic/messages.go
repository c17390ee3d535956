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

// history is a list of messages being written.
//
// The format wants roles to alternate, beginning and ending with the user's;
// calls at the end of their message; their results at the beginning of the next;
// and no text without a word in it.
type history struct {
	origin    string
	refused   map[[32]byte]bool  // thinking to leave out; never changed
	takesPDFs bool               // documents are taken
	fills     bool               // messages with calls have thinking, be it empty
	paired    map[remoteUse]bool // what goes back of the server's tools; never changed
	ids       adapter.SentIDs
	list      []*message // that are not settled
	omitted   []string   // files that were left out, in words
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

// messages writes a history with writers that begin as start, and after it, as they came, the
// blocks of this very answer so far. Messages from plainFrom on go without thinking.
func (m *Model) messages(start history, messages []llm.Message, plainFrom int, said []json.RawMessage, whole bool) (list any, omitted []string) {
	var across []string
	start.paired, across = pairRemote(messages, start.origin)
	key := fmt.Sprint(start.fills, len(start.refused), across) // of what is refused there is only ever more
	kept, h := m.histories.Write(key, messages, plainFrom, whole, start.Clone)
	for _, block := range said {
		a := h.messageFor("assistant")
		a.blocks = append(a.blocks, verbatim(block))
	}
	if n := len(h.list); n > 0 && h.list[n-1].role == "assistant" && len(said) == 0 { // it is not to go on where it paused
		u := h.messageFor("user")
		u.blocks = []any{textBlock("Go on.")}
	}
	marked := 0 // at most
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

// messageFor returns the message to add to: the last one, if the role is its own. The first one
// is the user's.
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

// Write implements adapter.Writer: what is late goes without thinking.
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

// items returns messages as they are sent.
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

// addAssistant adds message i, of the model's, without its thinking if it is to be bare: varies
// says that it may have some. What has no text, call or block of its own to send is left out.
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
	// An answer that was used up by thinking may not go back with it.
	if n := len(blocks); n > 0 && len(calls) == 0 && isThinking(blocks[n-1]) {
		blocks = slices.DeleteFunc(blocks, isThinking)
	}
	if len(blocks)+len(calls) > 0 {
		a := h.messageFor("assistant")
		a.blocks, a.tools = append(a.blocks, blocks...), append(a.tools, calls...)
	}
	return varies
}

// replayBlocks returns a part's own blocks, if the server should see them again; see textRun.
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

// A remoteUse is a call of a tool of the server's, or its result, in a message of a history.
type remoteUse struct {
	message int
	id      string
}

// pairRemote returns what goes back of the tools of the server's: a result and the call it answers,
// and a call that the server has yet to run. A call that stands beside calls of parley's tools runs
// after these have their results, so that its own result is in a later message; anything but results
// in between ends the turn, and the server then refuses the call
// (github.com/anthropics/anthropic-sdk-typescript issue 1090). The uses whose call has no result in
// its own message are listed in across.
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

// hasMediaBehind reports whether results of tools are sent with images after them: those of errors.
func hasMediaBehind(parts []llm.Part) bool {
	for i := 1; i < len(parts); i++ {
		if parts[i].Kind == llm.Media && parts[i-1].Failed {
			return true
		}
	}
	return false
}

// callerOf returns what called a tool: the model, or a tool of the server's; nil if that is not known.
func callerOf(state json.RawMessage) json.RawMessage {
	var call struct {
		Caller json.RawMessage `json:"caller"`
	}
	json.Unmarshal(state, &call)
	return call.Caller
}

// canName reports whether a call of message i can go with its caller: the message, or one before
// it, has that.
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
	input, ok := llm.Arguments(p.Input)
	if !ok { // what the model wrote cannot be parsed, and the format wants an object
		input = []byte("{}")
	}
	return map[string]any{"type": "tool_use", "id": h.callID(p.ID), "name": adapter.WireName(p.Name), "input": input}
}

// addResults adds what tools answered. Images belong into the result, unless it
// reports an error: then it may hold text only, and they follow.
func (h *history) addResults(parts []llm.Part) {
	u := h.messageFor("user")
	for i, p := range parts {
		if p.Kind != llm.Result {
			continue
		}
		id, ok := h.ids.Result(p.ID)
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
