package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
		body["tools"] = tools(req.Tools)
		maps.Copy(body, d.Tooled)
		if c.o.NoStream {
			delete(body, "tool_stream")
		}
	}
	if official(c.o.BaseURL) && req.Session != "" {
		body["prompt_cache_key"] = hash(req.Session)[:32]
	}
	notices = c.effort(body, req)
	notices = append(notices, c.settings(body, req.Settings)...)

	cures := c.learned()
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

func tools(offered []llm.Tool) []any {
	list := make([]any, 0, len(offered))
	for _, t := range offered {
		schema := t.Schema
		if !json.Valid(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		function := map[string]any{"name": wireName(t.Name), "parameters": schema}
		if t.Description != "" {
			function["description"] = t.Description
		}
		list = append(list, map[string]any{"type": "function", "function": function})
	}
	return list
}

// effort says how much to think, in the words of the dialect.
func (c *Chat) effort(body map[string]any, req llm.Request) (notices []string) {
	e := c.o.Dialect.Effort
	word, budget, level := "", 0, slices.Index(llm.Efforts, req.Effort)
	if level >= 0 {
		word, budget = e.Words[level], e.Budgets[level]
	}
	if len(req.Tools) > 0 && e.WithTool != "" && word != e.WithTool {
		if level > 0 {
			notices = append(notices, fmt.Sprintf("%s takes tools only without thinking here; thinking is off", c.o.Model))
		}
		word, budget, level = e.WithTool, 0, 0
	}
	if level < 0 {
		return nil
	}
	off := req.Effort == llm.EffortOff
	switch {
	case off && (e.Always || word != "" && word != "none"):
		notice := c.o.Model + " cannot switch thinking off"
		if word != "" {
			notice += ", using " + word
		}
		notices = append(notices, notice)
	case e.Switch.Field != "" && word == "":
		set(body, e.Switch.Field, json.RawMessage(e.Switch.state(!off)))
	}
	if word != "" {
		field := e.Field
		if field == "" {
			field = "reasoning_effort"
		}
		set(body, field, word)
	}
	if budget > 0 {
		body["thinking_budget"] = budget
	}
	return notices
}

func (s Switch) state(on bool) string {
	if on {
		return s.On
	}
	return s.Off
}

// settings writes what the user set, without what the model is known to refuse.
func (c *Chat) settings(body map[string]any, s llm.Settings) (notices []string) {
	d := c.o.Dialect
	limit := d.Limit
	if limit == "" {
		limit = "max_tokens"
	}
	thinks := body["reasoning_effort"] != "none" // without thinking, sampling is free again
	put := func(field string, value any) {
		if slices.Contains(d.Refuses, field) && thinks {
			notices = append(notices, fmt.Sprintf("%s does not take %s; left out", c.o.Model, field))
			return
		}
		if name, ok := d.Renames[field]; ok {
			field = name
		}
		body[field] = value
	}
	if s.MaxTokens > 0 {
		body[limit] = s.MaxTokens
	}
	if s.Temperature != nil {
		t := *s.Temperature
		if d.Warm {
			t = min(max(t, 0.01), 1)
		}
		put("temperature", t)
	}
	if s.TopP != nil {
		put("top_p", *s.TopP)
	}
	if s.Seed != nil {
		put("seed", *s.Seed)
	}
	if len(s.Stop) > 0 {
		put("stop", s.Stop)
	}
	return notices
}
