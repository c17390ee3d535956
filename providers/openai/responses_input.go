package openai

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// A rawItem is an item that goes back to the server unchanged.
type rawItem json.RawMessage

// MarshalJSON returns the item unchanged.
func (r rawItem) MarshalJSON() ([]byte, error) { return r, nil }

// without returns the item without fields; the same bytes if it has none of them.
func (r rawItem) without(fields []string) rawItem {
	var members map[string]json.RawMessage
	if len(fields) == 0 || json.Unmarshal(r, &members) != nil {
		return r
	}
	n := len(members)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return slices.Contains(fields, name) })
	if len(members) == n {
		return r
	}
	rest, err := adapter.Marshal(members)
	if err != nil {
		return r
	}
	return rest
}

// inputWriter encodes a history as items. Messages of this model go back as the items they came in,
// whole and in order: with their ids, phases and encrypted reasoning. The server requires
// neighbors: reasoning needs the item after it, and an item with an id needs the reasoning before
// it. If reasoning is missing, the rest of its message goes back without ids, like the messages of
// other models.
type inputWriter struct {
	partEncoder
	origin       string
	callIDs      IDs
	refusedItems map[string]bool // items not to be returned, by hash; never changed
	omitsFields  []string        // fields dropped from items; never changed
	list         []any           // items not yet settled
	sameOrigin   bool            // the last assistant message has this origin
	ids          adapter.SentIDs // a repeated call id would get two results
}

// responsesEncoder returns the encoder for Responses.
func responsesEncoder(pdfs bool, detail string) partEncoder {
	s := partEncoder{text: "input_text", image: func(url string) map[string]any {
		return map[string]any{"type": "input_image", "image_url": url, "detail": cmp.Or(detail, "auto")}
	}}
	if pdfs {
		s.pdf = func(name, url string) map[string]any {
			return map[string]any{"type": "input_file", "filename": name, "file_data": url}
		}
	}
	return s
}

func (in *inputWriter) add(item any) { in.list = append(in.list, item) }

// message returns a message item; content is a string or a list of parts.
func message(role string, content any) map[string]any {
	return map[string]any{"type": "message", "role": role, "content": content}
}

// Write implements adapter.Writer.
func (in *inputWriter) Write(messages []llm.Message, i int, _ bool) (varies bool) {
	switch m := messages[i]; m.Role {
	case llm.RoleUser:
		if content := in.flatContent(m.Parts); content != "" {
			in.add(message("user", content))
		}
	case llm.RoleAssistant:
		in.addAssistant(m)
	case llm.RoleTool:
		in.addResults(m.Parts)
	}
	return false
}

// Settle implements adapter.Writer.
func (in *inputWriter) Settle() (list []any) {
	list, in.list = adapter.CutLast(in.list)
	return list
}

// Clone implements adapter.Writer.
func (in *inputWriter) Clone() *inputWriter {
	c := *in
	c.ids = in.ids.Clone()
	c.list, c.omitted = adapter.CloneItems(in.list), slices.Clip(in.omitted)
	return &c
}

// addAssistant adds the items of an assistant message.
func (in *inputWriter) addAssistant(m llm.Message) {
	in.sameOrigin = m.Origin == in.origin
	in.ids.Begin()
	first := len(in.list)
	whole := in.sameOrigin // no reasoning is missing so far
	for _, p := range m.Parts {
		it := item{}
		if in.sameOrigin && p.State != nil {
			it = decodeItem(p.State)
		}
		isCall := p.Kind == llm.Call && !p.Remote
		if whole && isCall && in.ids.IsUsed(p.ID) { // the call goes back under another id, and so without reasoning
			in.list, whole = withoutReasoning(in.list, first), false
		}
		switch {
		case it.request() != "" && !isAnswered(&it, m.Parts):
			in.list, whole = withoutReasoning(in.list, first), false
		case whole && it.Type != "" && it.matches(p) && !in.isRefused(p.State) && (!isCall || in.callID(p.ID) == p.ID):
			if isCall {
				in.ids.Call(p.ID, p.ID, "")
			}
			in.add(rawItem(p.State).without(in.omitsFields))
		case p.Kind == llm.Text && p.Text != "":
			in.addText(p.Text, it.Phase)
		case isCall:
			in.addCall(p)
		case p.Kind == llm.Thinking, it.Type == "reasoning":
			whole = false
		}
	}
	in.list = withoutReasoning(in.list, first)
}

// isAnswered reports whether one of parts is the answer to the request in it.
func isAnswered(it *item, parts []llm.Part) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool {
		answer := decodeItem(p.State)
		return answer.answers(it)
	})
}

// withoutReasoning returns list without its trailing reasoning, which needs an item after it; the first n entries
// stay.
func withoutReasoning(list []any, n int) []any {
	for len(list) > n && isReasoning(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	return list
}

// decodeItem returns the readable fields of an item.
func decodeItem(state json.RawMessage) (it item) {
	adapter.DecodeLenient(state, &it)
	return it
}

func (in *inputWriter) isRefused(state json.RawMessage) bool {
	return len(in.refusedItems) > 0 && in.refusedItems[adapter.Hash(string(rawItem(state).without(in.omitsFields)))]
}

// isReasoning reports whether v is a reasoning item.
func isReasoning(v any) bool {
	raw, ok := v.(rawItem)
	var it item
	return ok && adapter.DecodeLenient(raw, &it) == nil && it.Type == "reasoning"
}

func (in *inputWriter) addText(text, phase string) {
	said := message("assistant", text)
	if phase != "" {
		said["phase"] = phase
	}
	in.add(said)
}

func (in *inputWriter) addCall(p llm.Part) {
	in.add(map[string]any{
		"type": "function_call", "call_id": in.ids.Call(p.ID, in.callID(p.ID), callPrefix), "name": adapter.WireName(p.Name), "arguments": string(adapter.CallInput(p)),
	})
}

// callPrefix begins generated ids.
const callPrefix = "call_"

func (in *inputWriter) callID(id string) string {
	return Dialect{IDs: in.callIDs}.wireID(id, in.sameOrigin)
}

// addResults adds an item for each result, with its images.
func (in *inputWriter) addResults(parts []llm.Part) {
	for p, shown := range adapter.Results(parts) {
		text := p.Text
		if text == "" && len(shown) == 0 {
			text = "(no output)"
		}
		output := any(text)
		if len(shown) > 0 {
			output = flattenText(in.content(append([]llm.Part{{Kind: llm.Text, Text: text}}, shown...)))
		}
		id, ok := in.ids.Result(p.ID)
		if !ok {
			id = in.callID(p.ID)
		}
		in.add(map[string]any{"type": "function_call_output", "call_id": id, "output": output})
	}
}
