package openai

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
)

// minOutputTokens is the smallest output limit that Responses accepts.
const minOutputTokens = 16

func (r *Responses) compile(req llm.Request, whole bool) (body map[string]any, notices []string) {
	learned := r.o.Learned.All()
	if _, refused := learned["text.verbosity"]; refused || !r.model.Verbosity {
		req = req.VerbosityInPrompt()
	}
	body = map[string]any{
		"model":  r.o.Model,
		"stream": !r.o.NoStream,
		"store":  false,
	}
	notices = r.addThinking(body, req)
	if len(req.Tools) > 0 {
		body["tools"] = r.encodeTools(req.Tools)
	}
	if _, refused := learned[downgradeWeb]; req.Web && !refused {
		notices = append(notices, r.addWebSearch(body)...)
	}
	if req.Session != "" && r.hasCacheKey() {
		body["prompt_cache_key"] = adapter.Hash(req.Session)[:32]
	}
	notices = append(notices, r.addSettings(body, req)...)
	req.System = r.addAnswerSchema(body, req, learned)
	for _, file := range r.addInput(body, req, learned, whole) {
		notices = append(notices, adapter.LeftOut(r.o.Model, file))
	}
	return body, append(notices, mergeUserFields(body, r.o, req, learned)...)
}

// addThinking requests thinking: summaries to show, and encrypted reasoning for later requests.
func (r *Responses) addThinking(body map[string]any, req llm.Request) []string {
	e := r.model.Effort
	if r.model.NoReasoning {
		return e.addTo(body, req, r.o.Model, nil)
	}
	body["include"] = []any{"reasoning.encrypted_content"}
	if !r.known || e.Switch.Field != "" || e.Budgets != [6]int{} { // its words are those of chat completions
		e.Words = effortWords("none low low medium high high")
	}
	e = Effort{Field: "reasoning.effort", Words: e.Words, AlwaysOn: e.AlwaysOn}
	if r.model.ReasoningSummary {
		adapter.SetField(body, "reasoning.summary", "auto")
	}
	return e.addTo(body, req, r.o.Model, nil)
}

// hasCacheKey reports whether the service uses a cache key.
func (r *Responses) hasCacheKey() bool {
	u, err := url.Parse(r.o.BaseURL)
	if err != nil {
		return false
	}
	host := "." + u.Hostname()
	return strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".azure.com") || strings.HasSuffix(host, ".x.ai")
}

// encodeTools encodes tools. Strict defaults to true here, but few schemas are strict.
func (r *Responses) encodeTools(offered []llm.Tool) []any {
	list := functionTools(offered, schema.OfModel(r.o.Model, schema.Target{}))
	for _, f := range list {
		f := f.(map[string]any)
		f["type"], f["strict"] = "function", false
	}
	return list
}

// webSources requests the pages that a search read.
const webSources = "web_search_call.action.sources"

// addWebSearch adds the web search tool: developers.openai.com/api/docs/guides/tools-web-search. The
// service refuses it together with minimal effort.
func (r *Responses) addWebSearch(body map[string]any) (notices []string) {
	if !adapter.HasWebTool(r.o.Body) {
		tools, _ := body["tools"].([]any)
		body["tools"] = append(tools, map[string]any{"type": "web_search"})
	}
	asked, _ := r.o.Body["include"].([]any)
	if include, _ := body["include"].([]any); !r.isXAI() && !slices.Contains(asked, any(webSources)) {
		body["include"] = append(include, webSources)
	}
	if effort, _ := adapter.Field(body, "reasoning.effort"); effort == "minimal" {
		adapter.SetField(body, "reasoning.effort", "low")
		notices = append(notices, r.o.Model+" searches the web only with more than minimal thinking, using effort low")
	}
	return notices
}

// addSettings adds the user's settings that Responses supports.
func (r *Responses) addSettings(body map[string]any, req llm.Request) (notices []string) {
	if req.MaxTokens > 0 {
		body["max_output_tokens"] = max(req.MaxTokens, minOutputTokens)
		if req.MaxTokens < minOutputTokens {
			notices = append(notices, fmt.Sprintf("%s takes no limit below %d tokens, using that", r.o.Model, minOutputTokens))
		}
	}
	effort, _ := adapter.Field(body, "reasoning.effort")
	for _, s := range settingsOf(req) {
		field := responsesFields[s.field]
		if s.field == "user" && r.isXAI() {
			field = "user"
		}
		if field == "" || r.model.refusesSetting(s.field, effort != "none") {
			notices = append(notices, adapter.LeftOut(r.o.Model, s.field))
			continue
		}
		adapter.SetField(body, field, s.value)
	}
	if choice := toolChoice(req, func(name string) any {
		return map[string]any{"type": "function", "name": name}
	}); choice != nil {
		body["tool_choice"] = choice
	}
	return notices
}

// responsesFields maps the field names of chat completions to those of Responses.
var responsesFields = map[string]string{
	"temperature": "temperature", "top_p": "top_p", "user": "safety_identifier",
	"verbosity": "text.verbosity", "parallel_tool_calls": "parallel_tool_calls",
}

// addAnswerSchema requests an answer that fits a schema, and returns the system prompt. LM Studio
// requires a format in every text object.
func (r *Responses) addAnswerSchema(body map[string]any, req llm.Request, learned map[string]string) string {
	_, refused := learned["text.format"]
	switch _, text := body["text"]; {
	case req.AnswerSchema != nil && refused:
		return schemaPrompt(req)
	case req.AnswerSchema != nil:
		format := schemaFormat(req.AnswerSchema, schema.OfModel(r.o.Model, schema.Target{}), !r.isXAI())
		format["type"] = "json_schema"
		adapter.SetField(body, "text.format", format)
	case text:
		adapter.SetField(body, "text.format", map[string]any{"type": "text"})
	}
	return req.System
}

// addInput encodes the history and the system prompt, and returns the files that were left out. xAI
// refuses instructions for some models.
func (r *Responses) addInput(body map[string]any, req llm.Request, learned map[string]string, whole bool) (left []string) {
	r.mu.Lock()
	refused := maps.Clone(r.refusedItems)
	r.mu.Unlock()
	var first []any
	if _, no := learned["instructions"]; req.System != "" && (no || r.isXAI()) {
		first = append(first, message("system", req.System))
	} else if req.System != "" {
		body["instructions"] = req.System
	}
	var omits []string
	for _, name := range slices.Sorted(maps.Keys(learned)) {
		if field, ok := strings.CutPrefix(name, downgradeItemField); ok {
			omits = append(omits, field)
		}
	}
	encoder, blind := responsesEncoder(!r.isXAI(), req.Detail), r.o.Learned.Has(adapter.LimitImages)
	if blind {
		encoder.image = nil
	}
	fresh := func() *inputWriter {
		return &inputWriter{partEncoder: encoder, origin: r.Origin(), callIDs: idsOf(r.o.Model, IDsShort), refusedItems: refused, omitsFields: omits}
	}
	key := fmt.Sprint(req.Detail, len(refused), omits, blind) // refusals are only added, so their number identifies them
	kept, in := r.histories.Write(key, req.Messages, len(req.Messages), whole, fresh)
	body["input"] = adapter.ListOf(first, kept, in.list)
	return in.omitted
}
