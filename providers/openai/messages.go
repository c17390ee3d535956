package openai

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// messages encodes the system prompt and the history in the dialect d. Messages of this origin keep
// their ids and their thinking. Detail is the detail of images; "" omits it. Whole encodes
// everything again, without cached JSON. Omitted lists the files that were left out.
func (c *Chat) messages(d Dialect, detail string, req llm.Request, whole bool) (list any, omitted []string) {
	sign := c.o.Learned.Has(downgradeSign)
	echo, learned := c.o.Learned.All()[downgradeEcho]
	bare := learned && Echo(echo) == EchoNever
	encoder, blind := chatEncoder(d, detail), c.o.Learned.Has(adapter.LimitImages)
	if blind {
		encoder.image = nil
	}
	fresh := func() *history {
		return &history{d: d, partEncoder: encoder, origin: c.Origin(), signs: sign, bare: bare}
	}
	kept, h := c.histories.Write(fmt.Sprintf("%+v %q %t %t %t", d, detail, sign, bare, blind), req.Messages, len(req.Messages), whole, fresh)
	var system []any
	if req.System != "" {
		system = append(system, map[string]any{"role": cmp.Or(d.SystemRole, "system"), "content": req.System})
	}
	if d.CacheControl && !h.markCache(system) && kept != nil { // the messages to mark are among the cached ones
		return c.messages(d, detail, req, true)
	}
	return adapter.ListOf(system, kept, h.list), h.omitted
}

// history is a list of messages being encoded.
type history struct {
	partEncoder
	d           Dialect
	origin      string
	signs       bool        // calls need Google's signature
	bare        bool        // thinking does not go back in any form
	list        []any       // messages not yet settled
	sameOrigin  bool        // the last assistant message has this origin
	sentDetails adapter.Set // ids of entries that replayDetails returned
	ids         adapter.SentIDs
}

// Write implements adapter.Writer.
func (h *history) Write(messages []llm.Message, i int, _ bool) (varies bool) {
	switch m := messages[i]; m.Role {
	case llm.RoleUser:
		h.addUser(m.Parts)
	case llm.RoleAssistant:
		h.addAssistant(m)
	case llm.RoleTool:
		h.addResults(m.Parts)
	}
	return false
}

// Settle implements adapter.Writer.
func (h *history) Settle() (list []any) {
	list, h.list = adapter.CutLast(h.list)
	return list
}

// Clone implements adapter.Writer.
func (h *history) Clone() *history {
	c := *h
	c.list, c.omitted, c.sentDetails = adapter.CloneItems(h.list), slices.Clip(h.omitted), h.sentDetails.Clone()
	c.ids = h.ids.Clone()
	return &c
}

// add adds a message and returns it.
func (h *history) add(role string, content any) map[string]any {
	m := map[string]any{"role": role, "content": content}
	h.list = append(h.list, m)
	return m
}

// lastIs returns the last message, and whether it has this role.
func (h *history) lastIs(role string) (map[string]any, bool) {
	if len(h.list) == 0 {
		return nil, false
	}
	last, _ := h.list[len(h.list)-1].(map[string]any)
	return last, last["role"] == role
}

// roleOf returns the role of an encoded message.
func roleOf(message any) string {
	m, _ := message.(map[string]any)
	role, _ := m["role"].(string)
	return role
}

// addUser adds a user message: a string, or a list if it has images. It is joined with a preceding
// user message, since many chat templates refuse two in a row.
func (h *history) addUser(parts []llm.Part) {
	if last, ok := h.lastIs("user"); ok {
		before, isList := last["content"].([]any)
		if !isList {
			before = []any{textPart(last["content"].(string))}
		}
		last["content"] = flattenText(append(before, h.content(parts)...))
		return
	}
	content := h.flatContent(parts)
	if content == "" {
		return
	}
	if last, ok := h.lastIs("tool"); ok && h.d.UserIntoToolResult {
		if text, all := content.(string); all {
			last["content"] = last["content"].(string) + "\n\n" + text
			return
		}
	}
	if _, ok := h.lastIs("tool"); ok && h.d.AssistantAfterTools {
		h.add("assistant", "Noted.")
	}
	h.add("user", content)
}

// addAssistant adds an assistant message with its calls, unless it has neither text nor calls.
func (h *history) addAssistant(m llm.Message) {
	h.sameOrigin = m.Origin == h.origin
	h.ids.Begin()
	calls := m.Calls()
	content, said := h.assistantContent(m.Parts)
	if !said && len(calls) == 0 {
		return
	}
	if content == "" && !h.d.EmptyContentString {
		content = nil
	}
	msg := h.add("assistant", content)
	h.addThinking(msg, m.Parts, len(calls) > 0)
	if len(calls) > 0 {
		list := make([]any, 0, len(calls))
		for i, call := range calls {
			list = append(list, h.encodeCall(call, i == 0))
		}
		msg["tool_calls"] = list
	}
}

// skipValidator replaces the signature of a call that Google's model did not make:
// ai.google.dev/gemini-api/docs/thought-signatures
const skipValidator = "skip_thought_signature_validator"

// encodeCall encodes a call. The first call of a message may need a signature.
func (h *history) encodeCall(p llm.Part, first bool) map[string]any {
	call := map[string]any{"id": h.callID(p.ID), "type": "function", "function": map[string]any{"name": adapter.WireName(p.Name), "arguments": string(adapter.CallInput(p))}}
	var own callState
	if h.sameOrigin && len(p.State) > 0 && adapter.DecodeLenient(p.State, &own) == nil && adapter.IsPresent(own.Extra) {
		call["extra_content"] = own.Extra
	} else if h.signs && first {
		call["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": skipValidator}}
	}
	return call
}

// assistantContent returns the content of an assistant message, and whether it is more than white
// space, which some services refuse. It is a string, since models imitate lists of parts, unless
// the dialect returns thinking in the content.
func (h *history) assistantContent(parts []llm.Part) (content any, said bool) {
	echo := EchoNever
	if h.sameOrigin && len(replayDetails(parts, &adapter.Set{})) == 0 {
		echo = h.d.Echo
	}
	var list []any
	var texts []string
	var breaks llm.Breaks
	thinks := false
	for i := range parts {
		p := &parts[i]
		if breaks.Next(p) && echo != EchoTags {
			texts = append(texts, "\n\n")
		}
		switch {
		case p.Text == "":
		case p.Kind == llm.Text:
			texts = append(texts, p.Text)
			blank := strings.TrimSpace(p.Text) == ""
			said = said || !blank
			if echo == EchoParts && !blank {
				list = append(list, textPart(p.Text))
			}
		case p.Kind == llm.Thinking && echo == EchoParts:
			list = append(list, map[string]any{"type": "thinking", "thinking": []any{textPart(p.Text)}})
			thinks = true
		case p.Kind == llm.Thinking && echo == EchoTags:
			texts = append(texts, "<think>"+p.Text+"</think>\n\n")
		}
	}
	if thinks {
		return list, said
	}
	text := strings.Join(texts, "")
	if strings.TrimSpace(text) == "" {
		return "", false
	}
	return text, said
}

// addThinking adds the service's own thinking to msg, according to the dialect's Echo.
func (h *history) addThinking(msg map[string]any, parts []llm.Part, calls bool) {
	if h.sameOrigin && !h.bare {
		if fields := replayDetails(parts, &h.sentDetails); len(fields) > 0 {
			if text := thinkingText(parts); fields[opaqueThinking] != nil && text != "" {
				fields["reasoning_text"] = text
			}
			maps.Copy(msg, fields)
			return
		}
	}
	if h.d.Echo != EchoAlways && !(h.d.Echo == EchoCalls && calls) {
		return
	}
	text := ""
	if h.sameOrigin {
		text = thinkingText(parts)
	}
	if text == "" && !(h.d.EmptyReasoning && calls) {
		return
	}
	msg[cmp.Or(h.d.ReasoningField, "reasoning_content")] = text
}

// thinkingText returns all readable thinking of a message.
func thinkingText(parts []llm.Part) string {
	var text strings.Builder
	for _, p := range parts {
		if p.Kind == llm.Thinking {
			text.WriteString(p.Text)
		}
	}
	return text.String()
}

// markCache marks the parts of the prompt to cache: the system prompt, for other conversations, and
// everything up to the last two messages not written by the model; the previous request ended with
// the older of the two. Anthropic allows four marks. Tool results carry the mark beside the text,
// as github.com/OpenRouterTeam/ai-sdk-provider sends it. The model's own messages stay plain text,
// since models imitate lists of parts. It returns false if there were too few messages to mark.
func (h *history) markCache(system []any) (all bool) {
	for _, m := range system {
		if m := m.(map[string]any); m["role"] == "system" {
			markLastText(m)
		}
	}
	left := 2
	for i := len(h.list) - 1; i >= 0 && left > 0; i-- {
		m, _ := h.list[i].(map[string]any)
		last := i+1 == len(h.list) || roleOf(h.list[i+1]) != "tool"
		switch role := m["role"]; {
		case role == "tool" && last:
			m["cache_control"] = ephemeral()
			left--
		case role == "user" && markLastText(m):
			left--
		}
	}
	return left == 0
}

func ephemeral() map[string]any { return map[string]any{"type": "ephemeral"} }

// markLastText marks the last text of a message and reports whether there was one.
func markLastText(m map[string]any) bool {
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

// chatEncoder returns the encoder for chat completions. Detail is the detail of images; "" omits it.
// Few services accept PDFs.
func chatEncoder(d Dialect, detail string) partEncoder {
	s := partEncoder{text: "text", inline: d.InlineImagesOnly, image: func(url string) map[string]any {
		image := map[string]any{"url": url}
		if detail != "" {
			image["detail"] = detail
		}
		return map[string]any{"type": "image_url", "image_url": image}
	}}
	if d.takesAudio {
		s.sound = func(format string, data []byte) map[string]any {
			text := base64.StdEncoding.EncodeToString(data)
			if d.Name == "qwen" { // help.aliyun.com/zh/model-studio/qwen-omni
				text = "data:;base64," + text
			}
			return map[string]any{"type": "input_audio", "input_audio": map[string]any{"data": text, "format": format}}
		}
	}
	if d.PDFs {
		s.pdf = func(name, url string) map[string]any {
			return map[string]any{"type": "file", "file": map[string]any{"filename": name, "file_data": url}}
		}
	}
	return s
}

func textPart(text string) map[string]any {
	return map[string]any{"type": "text", "text": text}
}

// addResults adds a message for each result, directly after the calls. Results hold only text, so
// their images follow in a user message.
func (h *history) addResults(parts []llm.Part) {
	var shown []llm.Part
	for _, p := range parts {
		switch p.Kind {
		case llm.Result:
			text := p.Text
			if text == "" {
				text = "(no output)"
			}
			id, ok := h.ids.Result(p.ID)
			if !ok {
				id = h.d.wireID(p.ID, h.sameOrigin)
			}
			h.add("tool", text)["tool_call_id"] = id
		case llm.Media:
			shown = append(shown, llm.Part{Kind: llm.Text, Text: "Returned by the tool " + toolName(parts, p.ID) + ":"}, p)
		}
	}
	h.addUser(shown)
}

// toolName returns the name of the tool that returned the result with this id.
func toolName(parts []llm.Part, id string) string {
	for _, p := range parts {
		if p.Kind == llm.Result && p.ID == id && p.Name != "" {
			return p.Name
		}
	}
	return "above"
}
