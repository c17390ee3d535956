package openai

import (
	"slices"
	"strings"

	"parley/providers/llm"
)

// messages writes the system prompt and the history. Messages that this origin
// wrote keep their ids and get their thinking back. Left are the files that had
// to be left out.
func (d Dialect) messages(req llm.Request, origin string) (list []any, left []string) {
	h := history{Dialect: d, shapes: chatShapes(d), origin: origin, sent: map[string]bool{}}
	if req.System != "" {
		role := d.System
		if role == "" {
			role = "system"
		}
		h.add(map[string]any{"role": role, "content": req.System})
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleUser:
			h.user(m.Parts)
		case llm.RoleAssistant:
			h.assistant(m)
		case llm.RoleTool:
			h.results(m.Parts)
		}
	}
	if d.Caches {
		h.mark()
	}
	return h.list, h.left
}

// history is a list of messages being written.
type history struct {
	Dialect
	shapes
	origin string
	list   []any
	own    bool            // the last assistant message is of this origin
	sent   map[string]bool // what replay sent
}

func (h *history) add(m map[string]any) { h.list = append(h.list, m) }

// after reports whether the last message has this role, and returns it.
func (h *history) after(role string) (map[string]any, bool) {
	if len(h.list) == 0 {
		return nil, false
	}
	last, _ := h.list[len(h.list)-1].(map[string]any)
	return last, last["role"] == role
}

// user adds a message of the user's: a string, or a list if there are images. It
// joins the one before, for many chat templates refuse two in a row.
func (h *history) user(parts []llm.Part) {
	list := h.content(parts)
	if len(list) == 0 {
		return
	}
	if last, ok := h.after("tool"); ok && h.Joins {
		if text, all := plain(list).(string); all {
			last["content"] = last["content"].(string) + "\n\n" + text
			return
		}
	}
	if _, ok := h.after("tool"); ok && h.Bridge {
		h.add(map[string]any{"role": "assistant", "content": "Noted."})
	}
	if last, ok := h.after("user"); ok {
		before, isList := last["content"].([]any)
		if !isList {
			before = []any{textPart(last["content"].(string))}
		}
		last["content"] = plain(append(before, list...))
		return
	}
	h.add(map[string]any{"role": "user", "content": plain(list)})
}

// assistant adds a message of the model's, with its calls. Nothing is added if
// there is neither text nor call.
func (h *history) assistant(m llm.Message) {
	h.own = m.Origin == h.origin
	calls := m.Calls()
	content, said := h.spoken(m.Parts)
	if !said && len(calls) == 0 {
		return
	}
	if content == "" && !h.Blank {
		content = nil
	}
	msg := map[string]any{"role": "assistant", "content": content}
	h.thinking(msg, m.Parts, len(calls) > 0)
	if len(calls) > 0 {
		list := make([]any, 0, len(calls))
		for _, call := range calls {
			list = append(list, h.call(call))
		}
		msg["tool_calls"] = list
	}
	h.add(msg)
}

func (h *history) call(p llm.Part) map[string]any {
	input, ok := llm.Arguments(p.Input)
	if !ok { // what the model wrote cannot be parsed, and servers parse it
		input = []byte("{}")
	}
	return map[string]any{
		"id":       h.wireID(p.ID, h.own),
		"type":     "function",
		"function": map[string]any{"name": wireName(p.Name), "arguments": string(input)},
	}
}

// spoken is the content of an assistant message, and whether it holds text: a
// string, but for dialects whose thinking goes back in the content. Models
// mirror lists of parts.
func (h *history) spoken(parts []llm.Part) (content any, said bool) {
	echo := EchoNever
	if h.own && len(replay(parts, map[string]bool{})) == 0 {
		echo = h.Echo
	}
	var list []any
	var text strings.Builder
	thinks := false
	for _, p := range parts {
		switch {
		case p.Text == "":
		case p.Kind == llm.Text:
			if said && echo != EchoTags {
				text.WriteString("\n\n")
			}
			text.WriteString(p.Text)
			list = append(list, textPart(p.Text))
			said = true
		case p.Kind == llm.Thinking && echo == EchoParts:
			list = append(list, map[string]any{"type": "thinking", "thinking": []any{textPart(p.Text)}})
			thinks = true
		case p.Kind == llm.Thinking && echo == EchoTags:
			text.WriteString("<think>" + p.Text + "</think>\n\n")
		}
	}
	if thinks {
		return list, said
	}
	return text.String(), said
}

// thinking gives the service its own thinking back, as far as it wants it.
func (h *history) thinking(msg map[string]any, parts []llm.Part, calls bool) {
	if h.own {
		if list := replay(parts, h.sent); len(list) > 0 {
			msg["reasoning_details"] = list
			return
		}
	}
	if h.Echo != EchoAlways && !(h.Echo == EchoCalls && calls) {
		return
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Kind == llm.Thinking && h.own {
			text.WriteString(p.Text)
		}
	}
	if text.Len() == 0 && !(h.Fill && calls) {
		return
	}
	field := h.Thinks
	if field == "" {
		field = "reasoning_content"
	}
	msg[field] = text.String()
}

// mark tells the cache how much of the prompt to keep: the system prompt, for
// other conversations, and everything up to the last two messages that are not
// the model's, with the older of which the request before ended. Anthropic takes
// four marks. Results of tools carry theirs beside the text, as
// github.com/OpenRouterTeam/ai-sdk-provider sends it; the model's own messages
// stay plain text, for models mirror lists of parts.
func (h *history) mark() {
	left := 2
	for i := len(h.list) - 1; i >= 0; i-- {
		m, _ := h.list[i].(map[string]any)
		last := i+1 == len(h.list) || h.list[i+1].(map[string]any)["role"] != "tool"
		switch role := m["role"]; {
		case role == "system":
			marked(m)
		case left == 0:
		case role == "tool" && last:
			m["cache_control"] = ephemeral()
			left--
		case role == "user" && marked(m):
			left--
		}
	}
}

func ephemeral() map[string]any { return map[string]any{"type": "ephemeral"} }

// marked marks the last text of a message, if it has any.
func marked(m map[string]any) bool {
	list, _ := m["content"].([]any)
	if text, ok := m["content"].(string); ok && text != "" {
		list = []any{textPart(text)}
	}
	for _, part := range slices.Backward(list) {
		if p, _ := part.(map[string]any); p["type"] == "text" {
			p["cache_control"] = ephemeral()
			m["content"] = list
			return true
		}
	}
	return false
}

// chatShapes are those of chat completions. Few services take PDFs.
func chatShapes(d Dialect) shapes {
	s := shapes{text: "text", inline: d.Inline, image: func(url string) map[string]any {
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}
	}}
	if d.Files {
		s.pdf = func(name, url string) map[string]any {
			return map[string]any{"type": "file", "file": map[string]any{"filename": name, "file_data": url}}
		}
	}
	return s
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "text", "text": text}
}

// results adds a message for each result, directly behind the calls. They are
// text only, so that images follow in a message of the user's.
func (h *history) results(parts []llm.Part) {
	var shown []llm.Part
	for _, p := range parts {
		switch p.Kind {
		case llm.Result:
			text := p.Text
			if text == "" {
				text = "(no output)"
			}
			h.add(map[string]any{"role": "tool", "tool_call_id": h.wireID(p.ID, h.own), "content": text})
		case llm.Media:
			shown = append(shown, llm.Part{Kind: llm.Text, Text: "Returned by the tool " + name(parts, p.ID) + ":"}, p)
		}
	}
	h.user(shown)
}

// name is the tool that gave the result with this id.
func name(parts []llm.Part, id string) string {
	for _, p := range parts {
		if p.Kind == llm.Result && p.ID == id && p.Name != "" {
			return p.Name
		}
	}
	return "above"
}
