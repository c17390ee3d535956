package openai

import (
	"fmt"
	"maps"
	"net/url"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
	"parley/providers/wire"
)

// least is the smallest limit of the output that Responses takes.
const least = 16

func (r *Responses) compile(req llm.Request) (body map[string]any, notices []string) {
	cures := r.learned.All()
	if _, refused := cures["text.verbosity"]; refused || !r.model.Verbosity {
		req = req.VerbosityInPrompt()
	}
	body = map[string]any{
		"model":  r.o.Model,
		"stream": !r.o.NoStream,
		"store":  false,
	}
	notices = r.thinking(body, req)
	if len(req.Tools) > 0 {
		body["tools"] = r.tools(req.Tools)
	}
	if req.Session != "" && r.caches() {
		body["prompt_cache_key"] = hash(req.Session)[:32]
	}
	notices = append(notices, r.settings(body, req)...)
	req.System = r.answer(body, req, cures)
	for _, file := range r.input(body, req, cures) {
		notices = append(notices, leftOut(r.o.Model, file))
	}
	apply(body, cures)
	wire.Merge(body, r.o.Body)
	return body, notices
}

// thinking asks for thinking, to see it, and to have it for later.
func (r *Responses) thinking(body map[string]any, req llm.Request) []string {
	e := r.model.Effort
	if r.model.Plain {
		return e.write(body, req, r.o.Model, nil)
	}
	body["include"] = []any{"reasoning.encrypted_content"}
	if !r.known || e.Switch.Field != "" || e.Budgets != [6]int{} { // whose own words are those of chat completions
		e.Words = words("none low low medium high high")
	}
	e = Effort{Field: "reasoning.effort", Words: e.Words, Always: e.Always}
	if r.model.Summary {
		set(body, "reasoning.summary", "auto")
	}
	return e.write(body, req, r.o.Model, nil)
}

// caches reports whether the service finds its cache by a key.
func (r *Responses) caches() bool {
	u, err := url.Parse(r.o.BaseURL)
	if err != nil {
		return false
	}
	host := "." + u.Hostname()
	return strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".azure.com") || strings.HasSuffix(host, ".x.ai")
}

// tools describes tools. Strict is the default here, and few schemas are.
func (r *Responses) tools(offered []llm.Tool) []any {
	list := make([]any, 0, len(offered))
	for _, t := range offered {
		f := function(t, r.schema())
		f["type"], f["strict"] = "function", false
		list = append(list, f)
	}
	return list
}

// schema is what schemas must look like.
func (r *Responses) schema() schema.Target {
	if r.xai() {
		return schema.XAI
	}
	return schema.OpenAI
}

// settings writes what the user set, as far as Responses knows it.
func (r *Responses) settings(body map[string]any, req llm.Request) (notices []string) {
	if req.MaxTokens > 0 {
		body["max_output_tokens"] = max(req.MaxTokens, least)
		if req.MaxTokens < least {
			notices = append(notices, fmt.Sprintf("%s takes no limit below %d tokens, using that", r.o.Model, least))
		}
	}
	effort, _ := lookup(body, "reasoning.effort")
	for _, s := range chosen(req) {
		field := settings[s.field]
		if s.field == "user" && r.xai() {
			field = "user"
		}
		if field == "" || r.model.refuses(s.field, effort != "none") {
			notices = append(notices, leftOut(r.o.Model, s.field))
			continue
		}
		set(body, field, s.value)
	}
	if choice := toolChoice(req, func(name string) any {
		return map[string]any{"type": "function", "name": name}
	}); choice != nil {
		body["tool_choice"] = choice
	}
	return notices
}

// settings are the names here of those of chat completions.
var settings = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "user": "safety_identifier",
	"verbosity": "text.verbosity", "parallel_tool_calls": "parallel_tool_calls",
}

// answer asks for an answer that fits a schema, and returns the system prompt.
// LM Studio wants a format whenever there is a text object.
func (r *Responses) answer(body map[string]any, req llm.Request, cures map[string]string) string {
	_, refused := cures["text.format"]
	switch _, text := body["text"]; {
	case req.AnswerSchema != nil && refused:
		return inWords(req)
	case req.AnswerSchema != nil:
		format := answerFormat(req.AnswerSchema, r.schema(), !r.xai())
		format["type"] = "json_schema"
		set(body, "text.format", format)
	case text:
		set(body, "text.format", map[string]any{"type": "text"})
	}
	return req.System
}

// input writes the history and the system prompt, and returns the files that had
// to be left out. xAI takes no instructions for some models.
func (r *Responses) input(body map[string]any, req llm.Request, cures map[string]string) (left []string) {
	in := input{shapes: responsesShapes(!r.xai()), origin: r.Origin()}
	r.mu.Lock()
	in.refuse = maps.Clone(r.refuse)
	r.mu.Unlock()
	if _, refused := cures["instructions"]; req.System != "" && (refused || r.xai()) {
		in.message("system", req.System)
	} else if req.System != "" {
		body["instructions"] = req.System
	}
	in.messages(req.Messages)
	body["input"] = in.list
	if in.list == nil {
		body["input"] = []any{}
	}
	return in.left
}
