package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/schema"
	"parley/providers/wire"
)

// An attemptState is the state of a request across its attempts.
type attemptState struct {
	pausedBlocks []json.RawMessage // blocks of the paused answer
	limit        int               // largest output limit that fits after this history, in tokens; 0 if unknown
	noThinking   bool              // this history must be sent without thinking
}

// maxUnstreamed bounds the output tokens of an answer that is not streamed: by the SDK's estimate,
// the number generated in the ten minutes for which a connection stays open.
const maxUnstreamed = 21_333

// compile encodes req as a request body. The notices say what was omitted; see adapter.Sender.
func (m *Model) compile(req llm.Request, t attemptState, whole bool) (body map[string]any, notices []string) {
	m.mu.Lock()
	refused, ceiling := maps.Clone(m.refusedThinking), m.maxOutput
	m.mu.Unlock()
	learned := m.o.Learned.All()
	cured := func(name string) bool { _, ok := learned[name]; return ok }

	req = req.VerbosityInPrompt()
	limit := m.outputLimit(req, ceiling, t.limit)
	body = map[string]any{"model": m.o.Model, "max_tokens": limit, "stream": !m.o.NoStream}
	h := &history{origin: m.Origin(), refused: refused, takesPDFs: m.facts.claude}
	p, plainFrom := m.think(req, limit, t.noThinking, h)
	p.addTo(body)
	notices = slices.Concat(p.notices, m.addSettings(body, req.Settings, p.isOn(m.facts)), adapter.WithoutDetail(m.o.Model, req))

	system := req.System
	if req.AnswerSchema != nil {
		system = m.addAnswerSchema(body, system, req.AnswerSchema, cured(downgradeAnswer))
	}
	if !isBlank(system) {
		body["system"] = []any{textBlock(system)}
	}
	h.fills = m.facts.needsThinking && p.thinking["type"] != typeDisabled
	whole = whole || cured(downgradeFill) || cured(downgradeUnknown) // these change cached messages
	list, omitted := m.messages(*h, req.Messages, plainFrom, t.pausedBlocks, whole)
	body["messages"] = list
	for _, file := range omitted {
		notices = append(notices, adapter.LeftOut(m.o.Model, file))
	}
	m.addTools(body, req)
	if req.Web && !cured(downgradeWeb) {
		m.addWebSearch(body)
	}
	notices = append(notices, m.addToolChoice(body, req.Settings, p)...)
	markCache(body)
	for _, c := range downgrades() {
		if cured(c.name) && c.apply(body) && slices.Contains(userFields, c.name) {
			notices = append(notices, adapter.NotSent(m.o.Model, c.name))
		}
	}
	notices = append(notices, m.mergeUserFields(body, req)...)
	if m.onVertex {
		toVertex(body)
	}
	return body, notices
}

// think plans the thinking after a history, and separates the two if they conflict: messages from
// plainFrom on are sent without thinking.
func (m *Model) think(req llm.Request, limit int, quiet bool, h *history) (p thinkingPlan, plainFrom int) {
	off := thinkingPlan{thinking: map[string]any{"type": typeDisabled}}
	p, plainFrom = m.plan(req, limit), len(req.Messages)
	if quiet {
		p = off
	}
	if start := openToolLoop(req.Messages); start >= 0 && m.facts.claude {
		if p.isBudgeted() && !h.leadsWithThinking(req.Messages[start]) {
			// A running tool loop is refused unless it starts with thinking, so a loop that started
			// without it has to end without it.
			off.notices = []string{"thinking is off until the running tools are done: they were called without"}
			p = off
		}
		if p.thinking["type"] == typeDisabled {
			plainFrom = start // messages without thinking enabled must not contain any
		}
	}
	if m.facts.bindsThinking && m.onAnthropic && p.thinking["type"] == typeAdaptive {
		p.thinking["block_binding"] = map[string]any{"prefix_mismatch_behavior": "drop_block"}
	}
	return p, plainFrom
}

// addTo adds the plan to body.
func (p thinkingPlan) addTo(body map[string]any) {
	if p.thinking != nil {
		body["thinking"] = p.thinking
	}
	if p.effort != "" {
		body["output_config"] = map[string]any{"effort": p.effort}
	}
}

// outputLimit returns the output limit in tokens, which the format requires.
func (m *Model) outputLimit(req llm.Request, ceiling, fits int) int {
	limit := cmp.Or(req.MaxTokens, m.facts.maxOutput)
	if m.o.NoStream && req.MaxTokens == 0 {
		limit = min(limit, maxUnstreamed)
	}
	for _, bound := range []int{ceiling, fits} {
		if bound > 0 {
			limit = min(limit, bound)
		}
	}
	return limit
}

// leadsWithThinking reports whether a message will be sent with thinking first.
func (h *history) leadsWithThinking(m llm.Message) bool {
	if m.Origin != h.origin {
		return false
	}
	for _, p := range m.Parts {
		if blocks := h.replayBlocks(p, false); len(blocks) > 0 {
			return isThinking(blocks[0])
		}
		if p.Kind != llm.Thinking && (p.Kind != llm.Text || !isBlank(p.Text)) {
			return false
		}
	}
	return false
}

// addSettings adds the user's settings, except those that the model is known to refuse.
func (m *Model) addSettings(body map[string]any, s llm.Settings, thinking bool) (notices []string) {
	leave := func(field string) {
		notices = append(notices, adapter.LeftOut(m.o.Model, field))
	}
	sample := func(field string, value *float64) {
		switch {
		case value == nil:
		case m.facts.claude && m.facts.fixedSampling:
			leave(field)
		case m.facts.claude && thinking:
			leave(field + " while it thinks")
		default:
			if *value > 1 {
				notices = append(notices, fmt.Sprintf("%s %g set to 1, the most %s takes", field, *value, m.o.Model))
			}
			body[field] = min(*value, 1)
		}
	}
	sample("temperature", s.Temperature)
	sample("top_p", s.TopP)
	for field, set := range map[string]bool{
		"frequency_penalty": s.FrequencyPenalty != nil, "presence_penalty": s.PresencePenalty != nil,
		"seed": s.Seed != nil,
	} {
		if set {
			leave(field)
		}
	}
	slices.Sort(notices)
	if stop := slices.DeleteFunc(slices.Clone(s.Stop), isBlank); len(stop) > 0 {
		body["stop_sequences"] = stop
	}
	if s.User != "" {
		body["metadata"] = map[string]any{"user_id": s.User}
	}
	return notices
}

// addTools adds the tools of req. A history with calls requires tools: if req has none, they are
// reconstructed from the calls.
func (m *Model) addTools(body map[string]any, req llm.Request) {
	offered := req.Tools
	if len(offered) == 0 {
		offered = calledTools(req.Messages)
	}
	if len(offered) == 0 {
		return
	}
	body["tools"] = adapter.Tools(offered, func(t llm.Tool) map[string]any {
		return map[string]any{"name": adapter.WireName(t.Name), "input_schema": schema.For(t.Schema, schema.Anthropic)}
	})
	if len(req.Tools) == 0 {
		body["tool_choice"] = map[string]any{"type": "none"}
	}
}

// searchesWeb reports whether a service searches the web for a model: services that copy the format do
// not, nor does Bedrock.
func searchesWeb(o Options) bool {
	u, err := url.Parse(o.BaseURL)
	return err == nil && factsOf(o).claude && !strings.HasSuffix(u.Hostname(), ".amazonaws.com") && !strings.Contains(u.Hostname(), "bedrock")
}

// addWebSearch adds the web search tool, unless the user's own fields contain it.
func (m *Model) addWebSearch(body map[string]any) {
	if adapter.HasWebTool(m.o.Body) {
		return
	}
	tools, _ := body["tools"].([]any)
	// All hosts and models with search accept the first version; Anthropic with Claude 4.6 accepts
	// the newest:
	// platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
	search := map[string]any{"type": "web_search_20250305", "name": "web_search"}
	if m.facts.newestSearch {
		search["type"] = "web_search_20260318"
		// Searches from code would need the id of a container in the next request, which streams
		// that stop for a local tool do not report.
		search["allowed_callers"] = []string{"direct"}
	}
	body["tools"] = append(tools, search)
	if choice, _ := body["tool_choice"].(map[string]any); choice["type"] == "none" && len(tools) > 0 {
		delete(body, "tool_choice") // it is about tools that are not sent
	}
}

// calledTools lists the tools called in a history.
func calledTools(messages []llm.Message) []llm.Tool {
	var list []llm.Tool
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			if called := p.Kind == llm.Call && !p.Remote; called && !slices.ContainsFunc(list, func(t llm.Tool) bool { return t.Name == p.Name }) {
				list = append(list, llm.Tool{Name: p.Name})
			}
		}
	}
	return list
}

// addToolChoice adds the tool choice, if any.
func (m *Model) addToolChoice(body map[string]any, s llm.Settings, p thinkingPlan) (notices []string) {
	if body["tools"] == nil || body["tool_choice"] != nil {
		return nil
	}
	choice := map[string]any{"type": s.ToolChoice}
	switch s.ToolChoice {
	case "", "auto":
		choice["type"] = "auto"
	case "none":
		body["tool_choice"] = choice
		return nil
	case "required":
		choice["type"] = "any"
	default:
		choice = map[string]any{"type": "tool", "name": adapter.WireName(s.ToolChoice)}
	}
	if choice["type"] != "auto" && (m.facts.noForcedTool || m.facts.claude && p.isBudgeted()) {
		notices = append(notices, m.o.Model+" cannot be made to call a tool while it thinks; the choice is its own")
		choice = map[string]any{"type": "auto"}
	}
	if s.Parallel != nil && !*s.Parallel {
		choice["disable_parallel_tool_use"] = true
	}
	if s.ToolChoice != "" || len(choice) > 1 {
		body["tool_choice"] = choice
	}
	return notices
}

// addAnswerSchema requests an answer that fits a schema: by the request field or, for a model
// without that field, in the returned system prompt.
func (m *Model) addAnswerSchema(body map[string]any, system string, answer *llm.Schema, refused bool) string {
	if m.facts.schemaFormat && !refused {
		config, _ := body["output_config"].(map[string]any)
		if config == nil {
			config = map[string]any{}
			body["output_config"] = config
		}
		config["format"] = map[string]any{"type": "json_schema", "schema": schema.For(answer.JSON, schema.AnthropicAnswer)}
		return system
	}
	words := "Answer with one JSON value that fits this JSON Schema, and nothing else:\n\n" + string(answer.JSON)
	return strings.TrimSpace(system + "\n\n" + words)
}

// markCache marks the parts to cache: everything up to the tools, the system prompt, and the last
// blocks of the last two user messages. The previous request ended with the older of the two. Four
// marks are allowed. From a mark, the server looks back over 20 blocks for a cached prefix: after a
// step with more calls and results than that, the prefix is found from the older mark. Thinking and
// empty text cannot be marked, but never occur there.
func markCache(body map[string]any) {
	system, _ := body["system"].([]any)
	tools, _ := body["tools"].([]any)
	left := cacheMarks
	for _, m := range slices.Backward(openMessages(body)) {
		if m := m.(map[string]any); m["role"] == "user" && left > 0 {
			ephemeral(m["content"].([]any))
			left--
		}
	}
	ephemeral(system)
	ephemeral(tools)
}

// cacheMarks is the number of marked messages.
const cacheMarks = 2

// openMessages returns the messages of body, except those stored as JSON.
func openMessages(body map[string]any) []any {
	switch list := body["messages"].(type) {
	case []any:
		return list
	case adapter.List:
		return list.Rest
	}
	return nil // fields set by the user may have any type
}

func ephemeral(blocks []any) {
	if len(blocks) == 0 {
		return
	}
	blocks[len(blocks)-1].(map[string]any)["cache_control"] = map[string]any{"type": "ephemeral"}
}

// userFields lists the downgrades of fields that only the user sets.
var userFields = []string{"top_p", "temperature", "stop_sequences", "metadata"}

// mergeUserFields merges the user's own fields over the request's, and returns notices for the
// user. Tools are appended, since the server's own tools are in the same list. An object
// in which the conversation sets a member is merged, not replaced.
func (m *Model) mergeUserFields(body map[string]any, req llm.Request) (notices []string) {
	fields, asked, notices := m.o.Fields(req)
	for field, value := range fields {
		if field == "tools" || slices.Contains(asked, field) {
			wire.Merge(body, map[string]any{field: value})
		} else {
			body[field] = value
		}
	}
	return notices
}

// betas returns the anthropic-beta header values that a request needs: parley's on Anthropic's own
// host, and the user's.
func (m *Model) betas(body map[string]any) string {
	var list []string
	thinking, _ := body["thinking"].(map[string]any)
	if m.onAnthropic && thinking["block_binding"] != nil {
		list = append(list, "thinking-binding-controls-2026-08-01")
	}
	if m.onAnthropic && thinking["type"] == typeEnabled && body["tools"] != nil {
		list = append(list, "interleaved-thinking-2025-05-14")
	}
	for name, value := range m.o.Headers {
		if strings.EqualFold(name, "anthropic-beta") && value != "" {
			list = append(list, value)
		}
	}
	return strings.Join(list, ",")
}
