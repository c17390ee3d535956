package anthropic

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// A downgrade changes a request that a server refused for an optional part.
type downgrade struct {
	name  string // shown to the user, and key under which the downgrade is remembered
	field string // request field that it changes; fields set by the user stay
	says  string // expression that matches the server's error
	apply func(body map[string]any) bool
}

// downgradeAnswer drops the schema of the answer, which is then put into the system prompt.
const downgradeAnswer = "output_config.format"

// Downgrades that change messages.
const (
	downgradeFill    = "calls without thinking"
	downgradeUnknown = "blocks it does not know"
	downgradeWeb     = "a search of the web"
)

// downgrades is in the order in which they are tried: the error for one may contain the words for a
// later one.
var downgrades = sync.OnceValue(func() []downgrade {
	return []downgrade{
		{"block_binding", "thinking", `block_binding|prefix_mismatch|thinking-binding-controls`, drop("thinking.block_binding")},
		{"display", "thinking", `thinking.*\bdisplay\b`, drop("thinking.display")},
		{downgradeFill, "messages", `(thinking|reasoning)\S* .{0,60}must be passed back|reasoning_content is missing`, fillThinking},
		{downgradeUnknown, "messages", `input tag '\w+' found|server_tool_use|\w+_tool_result\b`, replaceUnknown},
		{downgradeAnswer, "output_config", `output_config\.format|json_schema|structured output|output format`, drop("output_config.format")},
		{"thinking between tools", "thinking", typeBetween, nextThinking(typeBetween)},
		{"thinking off", "thinking", `disabled`, nextThinking(typeDisabled)},
		{"adaptive thinking", "thinking", typeAdaptive, nextThinking(typeAdaptive)},
		{"a thinking budget", "thinking", `thinking.type.enabled|thinking.*enabled.*not supported|budget_tokens.*(not supported|not permitted)`, nextThinking(typeEnabled)},
		{"effort", "output_config", `\beffort\b`, drop("output_config.effort")},
		{"output_config", "output_config", `output_config`, drop("output_config")},
		{"thinking", "thinking", `(does(n't| not) support|not permitted).*(thinking|reasoning)|\bthinking\b.*(not supported|not permitted|extra inputs)`, drop("thinking")},
		{"cache_control", "cache_control", `cache_control`, dropCacheMarks},
		{"top_p", "top_p", `top_p`, drop("top_p")},
		{"temperature", "temperature", `temperature`, drop("temperature")},
		{"stop_sequences", "stop_sequences", `stop_sequences`, drop("stop_sequences")},
		{"metadata", "metadata", `metadata|user_id`, drop("metadata")},
		{"parallel calls", "tool_choice", `disable_parallel_tool_use`, drop("tool_choice.disable_parallel_tool_use")},
		{"tool_choice", "tool_choice", `tool_choice`, drop("tool_choice")},
	}
})

// findSubmatch matches a server's message against an expression, ignoring case. It compiles the
// expression each time, since almost no request is refused.
func findSubmatch(expression, text string) []string {
	return regexp.MustCompile("(?is)" + expression).FindStringSubmatch(text)
}

// thinkingRefused matches errors about thinking that went back: its signature is wrong, it belongs
// to another conversation, or it is in the wrong place.
const thinkingRefused = `signature|thinking.{0,20}blocks?\b|bound to a different|expected .{0,3}thinking|cannot (contain|be) .{0,3}thinking`

// thinkingMissing matches errors about calls without thinking before them.
const thinkingMissing = `expected .{0,3}thinking`

// downgrade checks whether fault is about something that the request can do without. It stores the
// downgrade and returns a notice for the user.
func (m *Model) downgrade(fault *llm.Error, body map[string]any, t *attemptState) (notice string, ok bool) {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return "", false
	}
	if n, lasting := fittingLimit(fault.Message); n > 0 {
		return m.lowerLimit(body, n, lasting, t)
	}
	if !adapter.MayBlameField(fault) {
		return "", false
	}
	text := fault.Param + " " + fault.Message
	if adapter.RefusesWeb(fault, body) && !strings.HasPrefix(strings.TrimSpace(text), "messages.") && m.o.Learned.Learn(downgradeWeb, "", true) {
		return adapter.WithoutWeb(m.o.Model), true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if findSubmatch(thinkingRefused, text) != nil && !m.wantsThinkingErrors() && m.refuseThinking(body) {
		return m.o.Model + " does not take its earlier thinking back; sent again without it", true
	}
	if thinking, _ := body["thinking"].(map[string]any); findSubmatch(thinkingMissing, text) != nil && thinking["type"] != typeDisabled && !t.noThinking {
		t.noThinking = true
		return m.o.Model + " cannot think between tools that were called without thinking; sent again with thinking off", true
	}
	for _, c := range downgrades() {
		if _, fixed := m.o.Body[c.field]; fixed || m.o.Learned.Has(c.name) || findSubmatch(c.says, text) == nil || !c.apply(body) {
			continue
		}
		m.o.Learned.Learn(c.name, "", c.field != "messages") // an error about messages concerns only these messages
		return fmt.Sprintf("%s does not take %s; the request was changed and sent again", m.o.Model, c.name), true
	}
	return "", false
}

// wantsThinkingErrors reports whether the user wants errors for refused thinking.
func (m *Model) wantsThinkingErrors() bool {
	thinking, _ := m.o.Body["thinking"].(map[string]any)
	binding, _ := thinking["block_binding"].(map[string]any)
	return binding["prefix_mismatch_behavior"] == "error"
}

// refuseThinking marks all thinking in body as not to be sent again, and reports whether there is
// any. It marks all of it, since parts of a turn's thinking may not be sent alone.
func (m *Model) refuseThinking(body map[string]any) bool {
	found := false
	for _, block := range allBlocks(body) {
		if raw, ok := block.(verbatim); ok && isThinking(raw) {
			m.refusedThinking[sha256.Sum256(raw)] = true
			found = true
		}
	}
	return found
}

// limitErrors lists errors about an output limit that is too high. The groups hold the limit that
// fits: the first number, minus the second.
var limitErrors = []struct {
	says    string
	lasting bool // the limit applies to every request
}{
	{`max_tokens: \d+ > (\d+)`, true},
	{`max_tokens\D{0,60}\[\d+, ?(\d+)\]`, true},
	{`max_tokens.{0,60}(?:less than or equal to|at most|maximum (?:is|of)|<=) ?(\d+)`, true},
	{`max_tokens.{0,200}\(\d+ > (\d+) - (\d+)\)`, false}, // vLLM
}

// exceedsContext matches Anthropic's error for a limit that does not fit after the history: "input
// length and `max_tokens` exceed context limit: 190000 + 64000 > 200000".
const exceedsContext = `max_tokens.{0,60}exceed context limit: (\d+) \+ \d+ > (\d+)`

// fittingLimit returns the output limit that the server would accept; 0 if unknown.
func fittingLimit(message string) (n int, lasting bool) {
	if found := findSubmatch(exceedsContext, message); found != nil {
		return parseNumber(found[2]) - parseNumber(found[1]), false
	}
	for _, l := range limitErrors {
		found := findSubmatch(l.says, message)
		if found == nil {
			continue
		}
		n = parseNumber(found[1])
		if len(found) > 2 {
			n -= parseNumber(found[2])
		}
		return n, l.lasting
	}
	return 0, false
}

func parseNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// minOutput is the smallest output limit worth requesting.
const minOutput = 256

// lowerLimit lowers the output limit to n tokens.
func (m *Model) lowerLimit(body map[string]any, n int, lasting bool, t *attemptState) (notice string, ok bool) {
	limit, ours := body["max_tokens"].(int)
	if _, fixed := m.o.Body["max_tokens"]; fixed || !ours || n >= limit || n < minOutput {
		return "", false
	}
	t.limit = n
	if lasting {
		m.mu.Lock()
		m.maxOutput = n
		m.mu.Unlock()
	}
	return fmt.Sprintf("%s takes no more than %d output tokens here; sent again with that", m.o.Model, n), true
}

// drop returns a downgrade that drops a field; see adapter.DropField.
func drop(field string) func(map[string]any) bool {
	return func(body map[string]any) bool { return adapter.DropField(body, field) }
}

// nextThinking returns a downgrade that replaces a kind of thinking with the next best.
func nextThinking(kind string) func(map[string]any) bool {
	return func(body map[string]any) bool {
		thinking, _ := body["thinking"].(map[string]any)
		if thinking["type"] != kind {
			return false
		}
		config, _ := body["output_config"].(map[string]any)
		switch kind {
		case typeBetween:
			body["thinking"] = map[string]any{"type": typeAdaptive}
		case typeEnabled:
			body["thinking"] = map[string]any{"type": typeAdaptive, "display": "summarized"}
		case typeDisabled:
			delete(body, "thinking")
		case typeAdaptive:
			budget := budgets[max(slices.Index(effortsMax[:], thinkingType(config)), 1)]
			limit, _ := body["max_tokens"].(int)
			body["thinking"] = map[string]any{"type": typeEnabled, "budget_tokens": max(minBudget, min(budget, limit-minAnswer))}
			adapter.DropField(body, "output_config.effort")
		}
		return true
	}
}

func thinkingType(config map[string]any) string {
	effort, _ := config["effort"].(string)
	return effort
}

// dropCacheMarks removes the cache marks.
func dropCacheMarks(body map[string]any) bool {
	found := false
	system, _ := body["system"].([]any)
	tools, _ := body["tools"].([]any)
	for _, block := range slices.Concat(system, tools, allBlocks(body)) {
		if b, ok := block.(map[string]any); ok && b["cache_control"] != nil {
			delete(b, "cache_control")
			found = true
		}
	}
	return found
}

// replaceUnknown replaces blocks from a server that are neither thinking nor text with a short
// text.
func replaceUnknown(body map[string]any) bool {
	found := false
	for _, content := range messageContents(body) {
		for i, block := range content {
			raw, ok := block.(verbatim)
			if !ok || isThinking(raw) || typeOf(raw) == "text" {
				continue
			}
			content[i] = textBlock("[left out: " + typeOf(raw) + "]")
			found = true
		}
	}
	return found
}

// fillThinking puts empty thinking before calls without any, since DeepSeek in thinking mode
// refuses such messages from all models.
func fillThinking(body map[string]any) bool {
	found := false
	for _, m := range openMessages(body) {
		m, _ := m.(map[string]any)
		content, _ := m["content"].([]any)
		if filled, lacking := withThinking(content); lacking {
			m["content"] = filled
			found = true
		}
	}
	return found
}

// withThinking returns the blocks of a message, with empty thinking added if it has calls without
// any.
func withThinking(content []any) (filled []any, lacking bool) {
	calls := slices.ContainsFunc(content, func(b any) bool { return typeOf(b) == "tool_use" })
	if !calls || slices.ContainsFunc(content, isThinking) {
		return content, false
	}
	return append([]any{map[string]any{"type": "thinking", "thinking": "", "signature": ""}}, content...), true
}

// messageContents returns the lists of blocks of all messages.
func messageContents(body map[string]any) [][]any {
	messages := openMessages(body)
	lists := make([][]any, 0, len(messages))
	for _, m := range messages {
		m, _ := m.(map[string]any) // fields set by the user may have any type
		content, _ := m["content"].([]any)
		lists = append(lists, content)
	}
	return lists
}

// allBlocks returns the blocks of all messages.
func allBlocks(body map[string]any) []any { return slices.Concat(messageContents(body)...) }
