package openai

import (
	"cmp"
	"fmt"
	"maps"

	"parley/providers/adapter"
	"parley/providers/llm"
)

func (c *Chat) compile(req llm.Request, whole bool) (body map[string]any, notices []string) {
	d, learned := c.dialect, c.o.Learned.All()
	req, notices = d.limitToolChoice(req, c.o.Model)
	if !c.takesVerbosity(learned) {
		req = req.VerbosityInPrompt()
	}
	streams, told := c.shouldStream(req, learned)
	body = map[string]any{
		"model":  c.o.Model,
		"stream": streams,
	}
	maps.Copy(body, d.ExtraFields)
	if streams && !bool(d.NoStreamOptions) {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if len(req.Tools) > 0 {
		body["tools"] = d.encodeTools(req.Tools)
		maps.Copy(body, d.ToolFields)
		if !streams {
			delete(body, "tool_stream")
		}
	}
	if _, refused := learned[downgradeWeb]; req.Web && !refused {
		maps.Copy(body, d.WebFields)
		if tools, _ := body["tools"].([]any); d.WebTool != nil && !adapter.HasWebTool(c.o.Body) {
			body["tools"] = append(tools, d.WebTool)
		}
	}
	if c.o.IsHost(adapter.OpenAI) && req.Session != "" {
		body["prompt_cache_key"] = adapter.Hash(req.Session)[:32]
	}
	notices = append(notices, told...)
	notices = append(notices, d.Effort.addTo(body, req, c.o.Model, learned)...)
	notices = append(notices, c.addSettings(body, req)...)

	req.System = d.addAnswerSchema(body, req, learned)
	if echo, ok := learned[downgradeEcho]; ok {
		d.Echo, d.EmptyReasoning = Echo(echo), Echo(echo) != EchoNever
	}
	if _, ok := learned[downgradeRole]; ok {
		d.SystemRole = ""
	}
	d.CacheControl = c.usesCacheControl(learned)
	detail := req.Detail
	if !d.ImageDetail {
		detail = ""
		notices = append(notices, adapter.WithoutDetail(c.o.Model, req)...)
	}
	var omitted []string
	body["messages"], omitted = c.messages(d, detail, req, whole)
	for _, file := range omitted {
		notices = append(notices, adapter.LeftOut(c.o.Model, file))
	}
	return body, append(notices, mergeUserFields(body, c.o, req, learned)...)
}

// shouldStream reports whether to stream the answer to req, and returns notices for the user.
func (c *Chat) shouldStream(req llm.Request, learned map[string]string) (yes bool, notices []string) {
	_, never := learned[downgradeStream]
	_, not := learned[downgradeTools]
	switch {
	case c.o.NoStream, never, not && len(req.Tools) > 0: // not streaming was configured or learned
		return false, nil
	case bool(c.dialect.NoStreamWithTools) && len(req.Tools) > 0:
		return false, []string{c.o.Model + " does not stream while tools are on offer; its answers come whole"}
	}
	return true, nil
}

// usesCacheControl reports whether the server accepts cache_control marks.
func (c *Chat) usesCacheControl(learned map[string]string) bool {
	_, refused := learned[downgradeCache]
	return c.dialect.CacheControl && !refused
}

func (d Dialect) encodeTools(offered []llm.Tool) []any {
	list := functionTools(offered, d.Schema)
	for i, f := range list {
		list[i] = map[string]any{"type": "function", "function": f}
	}
	return list
}

// takesVerbosity reports whether the server accepts verbosity.
func (c *Chat) takesVerbosity(learned map[string]string) bool {
	d := c.dialect
	_, refused := learned["verbosity"]
	return !refused && !d.refusesSetting("verbosity", true) && d.Verbosity
}

// addSettings adds the user's settings, except those that the model is known to refuse.
func (c *Chat) addSettings(body map[string]any, req llm.Request) (notices []string) {
	d := c.dialect
	limit := cmp.Or(d.MaxTokensField, "max_tokens")
	if req.MaxTokens > 0 {
		body[limit] = req.MaxTokens
	}
	if t := req.Temperature; d.PositiveTemperature && t != nil {
		fit := min(max(*t, 0.01), 1)
		if req.Temperature = &fit; fit != *t {
			notices = append(notices, fmt.Sprintf("%s takes a temperature above 0 and at most 1, using %g instead of %g", c.o.Model, fit, *t))
		}
	}
	for _, s := range settingsOf(req) {
		switch {
		case d.refusesSetting(s.field, body["reasoning_effort"] != "none"):
			notices = append(notices, adapter.LeftOut(c.o.Model, s.field))
			continue
		case d.RenamedFields[s.field] != "":
			s.field = d.RenamedFields[s.field]
		case s.field == "user" && c.o.IsHost(adapter.OpenAI):
			s.field = "safety_identifier"
		}
		body[s.field] = s.value
	}
	choice := toolChoice(req, func(name string) any {
		return map[string]any{"type": "function", "function": map[string]any{"name": name}}
	})
	if choice != nil && !(d.ToolChoice == ChoiceNone && choice == "auto") {
		body["tool_choice"] = choice
	}
	return notices
}
