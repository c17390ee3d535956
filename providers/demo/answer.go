package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// answer is a reply in the form of chat completions.
type answer struct {
	id       string
	created  int64
	thinking []string // tokens
	text     []string // tokens
	calls    []call
	finish   string
	input    int // estimated tokens of the request
}

// newAnswer cuts a reply into tokens, and off at the limit of the request.
func newAnswer(c *chat, r reply) *answer {
	a := &answer{
		id:      fmt.Sprintf("chatcmpl-demo-%d-%d", c.now.Unix(), len(c.messages)),
		created: c.now.Unix(),
		text:    tokens(r.text),
		calls:   r.calls,
		finish:  "stop",
		input:   c.size,
	}
	if c.effort != "none" {
		a.thinking = tokens(r.thinking)
	}
	if len(r.calls) > 0 {
		a.finish = "tool_calls"
	}
	if left := c.limit; left > 0 && len(a.thinking)+len(a.text)+a.callTokens() > left {
		a.finish, a.calls = "length", nil
		a.thinking = a.thinking[:min(left, len(a.thinking))]
		a.text = a.text[:min(left-len(a.thinking), len(a.text))]
	}
	return a
}

func (a *answer) callTokens() int {
	n := 0
	for _, call := range a.calls {
		n += estimate(call.name) + estimate(call.arguments)
	}
	return n
}

func (a *answer) usage() map[string]any {
	output := len(a.thinking) + len(a.text) + a.callTokens()
	return map[string]any{
		"prompt_tokens": a.input, "completion_tokens": output, "total_tokens": a.input + output,
		"completion_tokens_details": map[string]any{"reasoning_tokens": len(a.thinking)},
	}
}

// chunk is one piece of a stream; tokens is how many it takes a model to write.
type chunk struct {
	data   string
	tokens int
}

// chunks is the answer as a stream of events.
func (a *answer) chunks() []chunk {
	var list []chunk
	add := func(tokens int, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err) // it holds strings and numbers only
		}
		list = append(list, chunk{"data: " + string(data) + "\n\n", tokens})
	}
	delta := func(tokens int, fields map[string]any) {
		add(tokens, a.frame("chat.completion.chunk", map[string]any{"index": 0, "delta": fields, "finish_reason": nil}))
	}
	delta(0, map[string]any{"role": "assistant", "content": ""})
	for _, t := range a.thinking {
		delta(1, map[string]any{"reasoning_content": t})
	}
	for _, t := range a.text {
		delta(1, map[string]any{"content": t})
	}
	for i, call := range a.calls {
		delta(1, map[string]any{"tool_calls": []any{map[string]any{
			"index": i, "id": call.id, "type": "function",
			"function": map[string]any{"name": call.name, "arguments": ""},
		}}})
		for _, t := range tokens(call.arguments) {
			delta(1, map[string]any{"tool_calls": []any{map[string]any{
				"index": i, "function": map[string]any{"arguments": t},
			}}})
		}
	}
	add(0, a.frame("chat.completion.chunk", map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": a.finish}))
	last := a.frame("chat.completion.chunk")
	last["usage"] = a.usage()
	add(0, last)
	return append(list, chunk{"data: [DONE]\n\n", 0})
}

// whole is the answer in one piece.
func (a *answer) whole() map[string]any {
	m := map[string]any{"role": "assistant", "content": strings.Join(a.text, "")}
	if len(a.thinking) > 0 {
		m["reasoning_content"] = strings.Join(a.thinking, "")
	}
	var calls []any
	for _, call := range a.calls {
		calls = append(calls, map[string]any{
			"id": call.id, "type": "function",
			"function": map[string]any{"name": call.name, "arguments": call.arguments},
		})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	body := a.frame("chat.completion", map[string]any{"index": 0, "message": m, "finish_reason": a.finish})
	body["usage"] = a.usage()
	return body
}

func (a *answer) frame(object string, choices ...any) map[string]any {
	if choices == nil {
		choices = []any{}
	}
	return map[string]any{"id": a.id, "object": object, "created": a.created, "model": Model, "choices": choices}
}

// tokens cuts text where a tokenizer roughly would: a token is up to six
// characters, and a space belongs to the word behind it. Joined, they are the
// text.
func tokens(text string) []string {
	const most = 6
	var list []string
	start, n, word := 0, 0, false
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if i > start && (n == most || word && !letter || !word && !letter && r != ' ') {
			list = append(list, text[start:i])
			start, n = i, 0
		}
		n, word = n+1, letter
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}

// estimate is how many tokens text has, give or take.
func estimate(text string) int { return (utf8.RuneCountInString(text) + 3) / 4 }
