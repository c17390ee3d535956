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

// A downgrade changes a request that a server refused for something it can do
// without.
type downgrade struct {
	name  string // what the user is told of; also the key under which it is remembered
	field string // request field it changes; the user's own fields stay
	says  string // words of the server that ask for it, as an expression
	apply func(body map[string]any) bool
}

// downgradeAnswer leaves out the schema of the answer, which then goes with the system
// prompt.
const downgradeAnswer = "output_config.format"

// Downgrades that change messages.
const (
	downgradeFill    = "calls without thinking"
	downgradeUnknown = "blocks it does not know"
	downgradeWeb     = "a search of the web"
)

// downgrades in the order in which they are tried: the words of one may hold those of
// a later one.
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

// findSubmatch matches words of a server against an expression, whatever the case. It is
// compiled each time, for almost no request is refused.
func findSubmatch(expression, text string) []string {
	return regexp.MustCompile("(?is)" + expression).FindStringSubmatch(text)
}

// thinkingRefused is words about thinking that went back: its signature is wrong, it
// belongs to another conversation, or it is not where it has to be.
const thinkingRefused = `signature|thinking.{0,20}blocks?\b|bound to a different|expected .{0,3}thinking|cannot (contain|be) .{0,3}thinking`

// thinkingMissing are words about calls without thinking before them.
const thinkingMissing = `expected .{0,3}thinking`

// downgrade looks whether the server refused something that the request can do
// without. It remembers it, and returns what to tell the user.
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
		m.o.Learned.Learn(c.name, "", c.field != "messages") // what is wrong with messages is about these
		return fmt.Sprintf("%s does not take %s; the request was changed and sent again", m.o.Model, c.name), true
	}
	return "", false
}

// wantsThinkingErrors reports whether the user wants to hear of thinking that is refused.
func (m *Model) wantsThinkingErrors() bool {
	thinking, _ := m.o.Body["thinking"].(map[string]any)
	binding, _ := thinking["block_binding"].(map[string]any)
	return binding["prefix_mismatch_behavior"] == "error"
}

// refuseThinking remembers all the thinking in body as thinking not to send again, and
// reports whether there is any. It must be all: of one turn, some may not go.
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

// limitErrors lists words about an output limit that is too high, with the numbers
// that say what would fit: the first, less the second.
var limitErrors = []struct {
	says    string
	lasting bool // it holds for every request
}{
	{`max_tokens: \d+ > (\d+)`, true},
	{`max_tokens\D{0,60}\[\d+, ?(\d+)\]`, true},
	{`max_tokens.{0,60}(?:less than or equal to|at most|maximum (?:is|of)|<=) ?(\d+)`, true},
	{`max_tokens.{0,200}\(\d+ > (\d+) - (\d+)\)`, false}, // vLLM
}

// exceedsContext is Anthropic's words about a limit that does not fit after the
// history: "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000".
const exceedsContext = `max_tokens.{0,60}exceed context limit: (\d+) \+ \d+ > (\d+)`

// fittingLimit returns the output limit that the server would take; 0 if it does not say.
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

// minOutput is the smallest output limit worth asking with.
const minOutput = 256

// lowerLimit asks for n output tokens.
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

// drop returns a downgrade that leaves a field out; see adapter.DropField.
func drop(field string) func(map[string]any) bool {
	return func(body map[string]any) bool { return adapter.DropField(body, field) }
}

// nextThinking asks for the next best of a kind of thinking.
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

// dropCacheMarks takes the marks for the cache away.
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

// replaceUnknown puts a word in the place of blocks that came from a server and are
// neither thinking nor text.
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

// fillThinking puts empty thinking before calls that have none, for DeepSeek refuses
// such messages while it thinks, whichever model wrote them.
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

// withThinking returns the blocks of a message with empty thinking, where there are calls
// without any.
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
		m, _ := m.(map[string]any) // the user's own may be anything
		content, _ := m["content"].([]any)
		lists = append(lists, content)
	}
	return lists
}

// allBlocks returns the blocks of all messages.
func allBlocks(body map[string]any) []any { return slices.Concat(messageContents(body)...) }
