package demo

import (
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"parley/tools/lazy"
)

// completion is a reply in the form of chat completions.
type completion struct {
	head     object   // fields of each frame
	thinking []string // tokens
	text     []string // tokens
	calls    []call
	finish   string
	usage    object
}

// newCompletion splits r into tokens, and truncates it at the limit of c.
func newCompletion(c *chat, r reply) *completion {
	now := time.Now().Unix()
	a := &completion{
		head:     object{"id": fmt.Sprintf("chatcmpl-demo-%d-%d", now, len(c.Messages)), "created": now, "model": Model},
		thinking: tokens(r.thinking), text: tokens(r.text), calls: r.calls, finish: "stop",
	}
	if c.ReasoningEffort == "none" {
		a.thinking = nil
	}
	output := len(a.thinking) + len(a.text)
	for _, call := range r.calls {
		a.finish = "tool_calls"
		output += estimate(call.name) + estimate(call.arguments)
	}
	if limit := max(c.MaxTokens, c.MaxCompletionTokens); limit > 0 && output > limit {
		a.finish, a.calls = "length", nil
		a.thinking = a.thinking[:min(limit, len(a.thinking))]
		a.text = a.text[:min(limit-len(a.thinking), len(a.text))]
		output = len(a.thinking) + len(a.text)
	}
	a.usage = object{
		"prompt_tokens": c.size, "completion_tokens": output, "total_tokens": c.size + output,
		"completion_tokens_details": object{"reasoning_tokens": len(a.thinking)},
	}
	return a
}

// events returns the completion as server-sent events, one per token.
func (a *completion) events() []string {
	var list []string
	send := func(choices []object, usage object) {
		frame := object{"object": "chat.completion.chunk", "choices": choices, "usage": usage}
		maps.Copy(frame, a.head)
		list = append(list, "data: "+string(encode(frame))+"\n\n")
	}
	delta := func(fields object) { send([]object{{"index": 0, "delta": fields, "finish_reason": nil}}, nil) }
	delta(object{"role": "assistant", "content": ""})
	for _, t := range a.thinking {
		delta(object{"reasoning_content": t})
	}
	for _, t := range a.text {
		delta(object{"content": t})
	}
	for i, call := range a.calls {
		delta(object{"tool_calls": []object{call.object(i, "")}})
		for _, t := range tokens(call.arguments) {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": t}}}})
		}
	}
	send([]object{{"index": 0, "delta": object{}, "finish_reason": a.finish}}, nil)
	send([]object{}, a.usage)
	return append(list, "data: [DONE]\n\n")
}

// whole returns the completion as one object.
func (a *completion) whole() object {
	m := object{"role": "assistant", "content": strings.Join(a.text, "")}
	if len(a.thinking) > 0 {
		m["reasoning_content"] = strings.Join(a.thinking, "")
	}
	var calls []object
	for i, call := range a.calls {
		calls = append(calls, call.object(i, call.arguments))
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	body := object{"object": "chat.completion", "choices": []object{{"index": 0, "message": m, "finish_reason": a.finish}}, "usage": a.usage}
	maps.Copy(body, a.head)
	return body
}

func (c call) object(index int, arguments string) object {
	return object{"index": index, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": arguments}}
}

// token matches up to six letters or digits with the space before them, or
// one other character.
var token = lazy.NewRegexp(`(?s) ?[\pL\pN]{1,6}|.`)

// tokens splits text roughly as a tokenizer does. Joined, the tokens are the text.
func tokens(text string) []string { return token.FindAllString(text, -1) }

// estimate returns the approximate number of tokens in text.
func estimate(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
