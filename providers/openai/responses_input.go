package openai

import (
	"encoding/json"

	"parley/providers/llm"
)

// A returned item goes back to the server as it came from it.
type returned json.RawMessage

// MarshalJSON writes the item as it is.
func (r returned) MarshalJSON() ([]byte, error) { return r, nil }

// input is a history being written as items. What this model wrote goes back as
// the items it came in, whole and in order: with their ids, phases and
// encrypted reasoning. The server insists on company: reasoning wants the item
// behind it, an item with an id the reasoning before it. Where reasoning is
// missing, the rest of its message therefore goes without ids, like everything
// that others wrote.
type input struct {
	shapes
	origin string
	refuse map[string]bool // items not to be returned, by hash
	list   []any
	own    bool // the last assistant message is of this origin
}

// responsesShapes are those of Responses.
func responsesShapes(pdfs bool) shapes {
	s := shapes{text: "input_text", image: func(url string) map[string]any {
		return map[string]any{"type": "input_image", "image_url": url, "detail": "auto"}
	}}
	if pdfs {
		s.pdf = func(name, url string) map[string]any {
			return map[string]any{"type": "input_file", "filename": name, "file_data": url}
		}
	}
	return s
}

func (in *input) add(item any) { in.list = append(in.list, item) }

// message adds one of plain text, or of a list of parts.
func (in *input) message(role string, content any) {
	in.add(map[string]any{"type": "message", "role": role, "content": content})
}

func (in *input) messages(list []llm.Message) {
	for _, m := range list {
		switch m.Role {
		case llm.RoleUser:
			if content := in.content(m.Parts); len(content) > 0 {
				in.message("user", plain(content))
			}
		case llm.RoleAssistant:
			in.assistant(m)
		case llm.RoleTool:
			in.results(m.Parts)
		}
	}
}

// assistant adds the items of a message of the model's.
func (in *input) assistant(m llm.Message) {
	in.own = m.Origin == in.origin
	first := len(in.list)
	whole := in.own // no reasoning is missing so far
	for _, p := range m.Parts {
		it := item{}
		if in.own && p.State != nil {
			lenient(p.State, &it)
		}
		switch {
		case whole && it.Type != "" && it.says(p) && !in.refused(p.State):
			in.add(returned(p.State))
		case p.Kind == llm.Text && p.Text != "":
			in.text(p.Text, it.Phase)
		case p.Kind == llm.Call && !p.Remote:
			in.call(p)
		case p.Kind == llm.Thinking, it.Type == "reasoning":
			whole = false
		}
	}
	for len(in.list) > first && reasoning(in.list[len(in.list)-1]) {
		in.list = in.list[:len(in.list)-1]
	}
}

func (in *input) refused(state json.RawMessage) bool {
	return len(in.refuse) > 0 && in.refuse[hash(string(state))]
}

// reasoning reports whether an item is that.
func reasoning(v any) bool {
	raw, ok := v.(returned)
	var it item
	return ok && lenient(raw, &it) == nil && it.Type == "reasoning"
}

func (in *input) text(text, phase string) {
	in.message("assistant", text)
	if phase != "" {
		in.list[len(in.list)-1].(map[string]any)["phase"] = phase
	}
}

func (in *input) call(p llm.Part) {
	arguments, ok := llm.Arguments(p.Input)
	if !ok { // what the model wrote cannot be parsed, and servers parse it
		arguments = []byte("{}")
	}
	in.add(map[string]any{
		"type": "function_call", "call_id": in.id(p.ID), "name": wireName(p.Name), "arguments": string(arguments),
	})
}

func (in *input) id(id string) string { return Dialect{}.wireID(id, in.own) }

// results adds an item for each result, with the images that belong to it.
func (in *input) results(parts []llm.Part) {
	for i, p := range parts {
		if p.Kind != llm.Result {
			continue
		}
		var shown []llm.Part
		for _, media := range parts[i+1:] {
			if media.Kind == llm.Result {
				break
			}
			shown = append(shown, media)
		}
		text := p.Text
		if text == "" && len(shown) == 0 {
			text = "(no output)"
		}
		content := in.content(append([]llm.Part{{Kind: llm.Text, Text: text}}, shown...))
		in.add(map[string]any{"type": "function_call_output", "call_id": in.id(p.ID), "output": plain(content)})
	}
}
