package openai

import (
	"maps"

	"parley/providers/llm"
	"parley/providers/wire"
)

func (c *Chat) compile(req llm.Request) (body map[string]any, notices []string) {
	d, cures := c.o.Dialect, c.learned.All()
	req, notices = d.choose(req, c.o.Model)
	if !c.verbose(cures) {
		req = req.VerbosityInPrompt()
	}
	streams, told := c.streams(req, cures)
	body = map[string]any{
		"model":  c.o.Model,
		"stream": streams,
	}
	maps.Copy(body, d.Fields)
	if streams && !d.NoUsage {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if len(req.Tools) > 0 {
		body["tools"] = d.tools(req.Tools)
		maps.Copy(body, d.Tooled)
		if !streams {
			delete(body, "tool_stream")
		}
	}
	if official(c.o.BaseURL) && req.Session != "" {
		body["prompt_cache_key"] = hash(req.Session)[:32]
	}
	notices = append(notices, told...)
	notices = append(notices, d.Effort.write(body, req, c.o.Model, cures)...)
	notices = append(notices, c.settings(body, req)...)

	req.System = d.answer(body, req, cures)
	if echo, ok := cures[cureEcho]; ok {
		d.Echo, d.Fill = Echo(echo), Echo(echo) != EchoNever
	}
	if _, ok := cures[cureRole]; ok {
		d.System = ""
	}
	d.Caches = c.caches(cures)
	list, left := d.messages(req, c.Origin())
	body["messages"] = append([]any{}, list...) // not null
	for _, file := range left {
		notices = append(notices, leftOut(c.o.Model, file))
	}
	apply(body, cures)
	wire.Merge(body, c.o.Body)
	return body, notices
}

// streams reports whether the answer to req is to be streamed, and what the user
// should know of it.
func (c *Chat) streams(req llm.Request, cures map[string]string) (yes bool, notices []string) {
	_, never := cures[cureStream]
	_, not := cures[cureTools]
	switch {
	case c.o.NoStream, never, not && len(req.Tools) > 0: // which was asked for, or told
		return false, nil
	case c.o.Dialect.Whole && len(req.Tools) > 0:
		return false, []string{c.o.Model + " does not stream while tools are on offer; its answers come whole"}
	}
	return true, nil
}

// caches reports whether the server takes marks for its cache.
func (c *Chat) caches(cures map[string]string) bool {
	_, refused := cures[cureCache]
	return c.o.Dialect.Caches && !refused
}

func (d Dialect) tools(offered []llm.Tool) []any {
	list := make([]any, 0, len(offered))
	for _, t := range offered {
		list = append(list, map[string]any{"type": "function", "function": function(t, d.target())})
	}
	return list
}

// verbose reports whether the server takes verbosity.
func (c *Chat) verbose(cures map[string]string) bool {
	d := c.o.Dialect
	_, refused := cures["verbosity"]
	return !refused && !d.refuses("verbosity", true) && d.Verbosity && (d.Name == "openai" || d.Name == "openrouter")
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
	for _, s := range chosen(req) {
		switch {
		case d.refuses(s.field, body["reasoning_effort"] != "none"):
			notices = append(notices, leftOut(c.o.Model, s.field))
			continue
		case d.Renames[s.field] != "":
			s.field = d.Renames[s.field]
		case s.field == "user" && official(c.o.BaseURL):
			s.field = "safety_identifier"
		}
		body[s.field] = s.value
	}
	choice := toolChoice(req, func(name string) any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name}}
	})
	if choice != nil && !(d.Choice == ChoiceNone && choice == "auto") {
		body["tool_choice"] = choice
	}
	return notices
}
