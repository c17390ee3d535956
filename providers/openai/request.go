package openai

import (
	"maps"

	"parley/providers/llm"
)

func (c *Chat) compile(req llm.Request) (body map[string]any, notices []string) {
	d := c.o.Dialect
	body = map[string]any{
		"model":  c.o.Model,
		"stream": !c.o.NoStream,
	}
	maps.Copy(body, d.Fields)
	if !c.o.NoStream && !d.NoUsage {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if len(req.Tools) > 0 {
		body["tools"] = d.tools(req.Tools)
		maps.Copy(body, d.Tooled)
		if c.o.NoStream {
			delete(body, "tool_stream")
		}
	}
	if official(c.o.BaseURL) && req.Session != "" {
		body["prompt_cache_key"] = hash(req.Session)[:32]
	}
	notices = d.Effort.write(body, req, c.o.Model)
	notices = append(notices, c.settings(body, req)...)

	cures := c.learned()
	req.System = c.answer(body, req, cures)
	if echo, ok := cures[cureEcho]; ok {
		d.Echo, d.Fill = Echo(echo), Echo(echo) != EchoNever
	}
	if _, ok := cures[cureRole]; ok {
		d.System = ""
	}
	body["messages"] = d.messages(req, c.Origin())
	apply(body, cures)
	maps.Copy(body, c.o.Body)
	return body, notices
}

func (d Dialect) tools(offered []llm.Tool) []any {
	list := make([]any, 0, len(offered))
	for _, t := range offered {
		list = append(list, map[string]any{"type": "function", "function": function(t, d.target())})
	}
	return list
}

// settings writes what the user set, without what the model is known to refuse.
func (c *Chat) settings(body map[string]any, req llm.Request) (notices []string) {
	d := c.o.Dialect
	limit := d.Limit
	if limit == "" {
		limit = "max_tokens"
	}
	if req.MaxTokens > 0 {
		body[limit] = req.MaxTokens
	}
	if d.Warm && req.Temperature != nil {
		t := min(max(*req.Temperature, 0.01), 1)
		req.Temperature = &t
	}
	verbose := d.Verbosity && (d.Name == "openai" || d.Name == "openrouter")
	for _, s := range chosen(req) {
		switch {
		case d.refuses(s.field, body["reasoning_effort"] != "none"), s.field == "verbosity" && !verbose:
			notices = append(notices, leftOut(c.o.Model, s.field))
			continue
		case d.Renames[s.field] != "":
			s.field = d.Renames[s.field]
		case s.field == "user" && official(c.o.BaseURL):
			s.field = "safety_identifier"
		}
		body[s.field] = s.value
	}
	if choice := toolChoice(req, func(name string) any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name}}
	}); choice != nil {
		body["tool_choice"] = choice
	}
	return notices
}

// answer asks for an answer that fits a schema, and returns the system prompt.
// Services that promise no more than JSON are told the schema in words.
func (c *Chat) answer(body map[string]any, req llm.Request, cures map[string]string) string {
	d := c.o.Dialect
	if req.Answer == nil {
		return req.System
	}
	if _, refused := cures["response_format"]; refused {
		return inWords(req)
	}
	if d.Loose {
		body["response_format"] = map[string]any{"type": "json_object"}
		return inWords(req)
	}
	body["response_format"] = map[string]any{"type": "json_schema", "json_schema": answerFormat(req.Answer, d.target(), d.Strict)}
	return req.System
}
