package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/tools/lazy"
)

// optionalFields lists the request fields that can be dropped. A field precedes the fields whose
// names it contains.
var optionalFields = []string{
	"parallel_tool_calls", "chat_template_kwargs", "safety_identifier", "frequency_penalty", "prompt_cache_key",
	"presence_penalty", "thinking_budget", "reasoning_format", "enable_thinking", "reasoning_effort",
	"reasoning_split", "stream_options", "random_seed", "tool_choice", "tool_stream", "temperature", "verbosity",
	"top_p", "reasoning", "thinking", "seed", "stop", "user",
}

// limitFields holds the two names of the output limit. A server that refuses one accepts the other.
var limitFields = map[string]string{
	"max_tokens":            "max_completion_tokens",
	"max_completion_tokens": "max_tokens",
}

// Names of downgrades that are not about a single field.
const (
	downgradeEcho   = "messages: thinking"      // thinking that goes back
	downgradeSign   = "messages: signatures"    // calls without Google's signature
	downgradeRole   = "messages: developer"     // the developer role
	downgradeCache  = "messages: cache_control" // marks for the cache
	downgradeStream = "stream: always"          // streaming
	downgradeTools  = "stream: tools"           // streaming of requests with tools
	downgradeWeb    = "web search"              // web search
)

// reasoningFields lists the message fields for thinking that goes back.
var reasoningFields = []string{"reasoning_content", "reasoning_details", "thinking_blocks", opaqueThinking, "reasoning_text", "reasoning"}

var (
	noTools = lazy.NewRegexp(`(?i)does not support (tools|tool use|tool calling|function calling|functions)` +
		`|no endpoints found that support tool` +
		`|tool choice requires --enable-auto-tool-choice` +
		`|tools param requires --jinja` +
		`|(tool use|tool calling|tools|function calling|'tools') (is|are) not supported` +
		`|function tools with reasoning_effort are not supported` +
		`|roles must alternate`) // a template without tools refuses their results
	noImages          = lazy.NewRegexp(`(?i)does(n't| not) support (images?|vision|multimodal)|support image input|image input is not supported`)
	noThinking        = lazy.NewRegexp(`(?i)does not support (thinking|reasoning)|(thinking|reasoning) is not supported`)
	echoRequired      = lazy.NewRegexp(`(?i)reasoning_content.{0,40}(must be passed back|is missing)`)
	signatureRequired = lazy.NewRegexp(`(?i)missing an? .?thought[_ ]?signature`)
	thinkingMustBeOff = lazy.NewRegexp(`(?i)enable_thinking must be set to false`) // Qwen, if the answer is not streamed
	mentionsStreaming = lazy.NewRegexp(`(?i)(\btools?\b|\bfunctions?\b|\btool[_ ]c\w+).{0,80}\bstream(ed|ing)?\b|\bstream(ed|ing)?\b.{0,80}(\btools?\b|\bfunctions?\b|\btool[_ ]c\w+)`)
	negation          = lazy.NewRegexp(`(?i)\bcannot\b|\bcan't\b|unsupported|incompatible|\bmust be (false|disabled|off)\b` +
		`|\b(not|n't) (yet )?(be )?(supports?|supported|allow|allowed|available|compatible|implemented|possible|permitted|use|used)\b|n't support`)
)

// learnDowngrade stores r and returns the downgrade to apply. It returns false if r was known
// already and did not help.
func learnDowngrade(l *adapter.LearnedLimits, r downgrade) (downgrade, bool) {
	if other := limitFields[r.field]; other != "" && l.All()[other] == r.field {
		r.becomes = "" // the server accepts neither name
		l.Learn(other, "", true)
	}
	return r, l.Learn(r.field, r.becomes, r.field != downgradeItems && r.field != adapter.LimitImages)
}

// A downgrade is a change to a request that the server refused.
type downgrade struct {
	field   string // or field=word, or one of the names above
	becomes string // "" removes the field, "=word" is a value (see applyDowngrades), else a new name or word
	notice  string // notice for the user; "" uses a text about the change
}

// downgrade checks whether fault is about something that the request can do without. It stores the
// downgrade and returns a notice for the user.
func (e *endpoint) downgrade(fault *llm.Error, body map[string]any) (notice string, ok bool) {
	r, ok := e.format.findDowngrade(fault, body)
	if fault.Fault == llm.Unsupported && noImages.MatchString(fault.Message) {
		if sent, _ := json.Marshal(body); bytes.Contains(sent, []byte(`"image_url":`)) {
			r, ok = downgrade{field: adapter.LimitImages}, true
		}
	}
	field, _, _ := strings.Cut(r.field, "=")
	if _, fixed := adapter.Field(e.o.Body, field); fixed || !ok {
		return "", false // fields set by the user stay
	}
	if r, ok = learnDowngrade(e.o.Learned, r); !ok {
		return "", false
	}
	switch {
	case r.field == adapter.LimitImages:
		return "", true // the next request adds a notice for each image
	case r.notice != "":
		return e.o.Model + " " + r.notice, true
	case r.becomes != "":
		return fmt.Sprintf("%s does not take %s; sent again with %s", e.o.Model, r.field, strings.TrimPrefix(r.becomes, "=")), true
	}
	return adapter.SentWithout(e.o.Model, r.field), true
}

func (c *Chat) findDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool) {
	if r, ok := c.streamDowngrade(fault, body); ok {
		return r, true
	}
	if r, ok := c.formatDowngrade(fault, body); ok {
		return r, true
	}
	if r, ok := webDowngrade(fault, body); ok || !adapter.MayBlameField(fault) {
		return r, ok
	}
	text := fault.Message
	switch {
	case echoRequired.MatchString(text):
		return downgrade{downgradeEcho, string(EchoCalls), "wants its thinking back; sent again with it"}, true
	case signatureRequired.MatchString(text):
		return downgrade{downgradeSign, "", "wants signatures of earlier calls, which others made; sent again with the stand-in for them"}, true
	case strings.Contains(strings.ToLower(text), "function tools with reasoning_effort"):
		return downgrade{field: "reasoning_effort", becomes: "=none"}, body["reasoning_effort"] != "none"
	case strings.Contains(text, "cache_control") && c.usesCacheControl(c.o.Learned.All()):
		return downgrade{downgradeCache, "", "does not take cache_control; sent again without it"}, true
	case thinkingMustBeOff.MatchString(text):
		return downgrade{"enable_thinking", "=false", "thinks only while it streams; thinking is off"}, true
	case strings.HasPrefix(fault.Param, "messages") || strings.Contains(text, "messages"):
		if strings.Contains(text, "developer") && hasMember(body, "developer") {
			return downgrade{downgradeRole, "", "does not take the developer role; sent again with system"}, true
		}
		for _, name := range reasoningFields {
			if strings.Contains(fault.Param+text, name) && hasMember(body, name) {
				return downgrade{downgradeEcho, "", "does not take its thinking back; sent again without it"}, true
			}
		}
	}
	for _, field := range []string{"reasoning_effort", "reasoning.effort"} {
		if better, ok := effortDowngrade(fault, body, field); ok {
			return better, true
		}
	}
	if name, ok := blamedField(fault, body, slices.Concat(slices.Sorted(maps.Keys(limitFields)), optionalFields)); ok {
		return downgrade{field: name, becomes: limitFields[name]}, true
	}
	name, ok := thinkingField(fault, body, "reasoning_effort", "reasoning", "thinking", "enable_thinking")
	return downgrade{field: name}, ok
}

// webDowngrade checks whether the server or the model refused to search the web.
func webDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool) {
	asked := adapter.RefusesWeb(fault, body) || body["enable_search"] != nil && strings.Contains(fault.Param+fault.Message, "search")
	return downgrade{field: downgradeWeb, notice: "does not search the web here; sent again without"}, asked && adapter.MayBlameField(fault)
}

// streamDowngrade checks whether the server cannot stream: never, or not in requests with tools. An
// old llama.cpp replied with status 500: "Cannot use tools with stream".
func (c *Chat) streamDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool) {
	_, tools := body["tools"]
	switch {
	case body["stream"] != true || fault.Status < 400:
	case tools && mentionsStreaming.MatchString(fault.Message) && negation.MatchString(fault.Message):
		return downgrade{field: downgradeTools, notice: "does not stream while tools are on offer; its answers come whole"}, true
	case fault.Param == "stream" && adapter.MayBlameField(fault):
		return downgrade{field: downgradeStream, notice: "does not stream; its answers come whole"}, true
	}
	return downgrade{}, false
}

func (c *Chat) explain(fault *llm.Error, body map[string]any) { markNoTools(fault, body) }

// blamedField returns the first of fields that was sent and that the error is about.
func blamedField(fault *llm.Error, body map[string]any, fields []string) (string, bool) {
	for _, field := range fields {
		if _, sent := adapter.Field(body, field); sent && adapter.IsAbout(fault, field) {
			return field, true
		}
	}
	return "", false
}

// effortSteps lists the effort words of all services, in ascending order.
var effortSteps = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

var quotedWord = lazy.NewRegexp("['\"`]([a-z]+)['\"`]")

// effortDowngrade replaces an effort with the nearest supported one in the error, as in "Supported
// values are: 'low', 'medium', and 'high'."
func effortDowngrade(fault *llm.Error, body map[string]any, field string) (downgrade, bool) {
	value, _ := adapter.Field(body, field)
	word, _ := value.(string)
	at := slices.Index(effortSteps, word)
	if at < 0 || !adapter.IsAbout(fault, field) && !strings.Contains(fault.Message, "effort") {
		return downgrade{}, false
	}
	best := ""
	for _, match := range quotedWord.FindAllStringSubmatch(fault.Message, -1) {
		step := slices.Index(effortSteps, match[1])
		if step >= 0 && step != at && (best == "" || distance(step, at) < distance(slices.Index(effortSteps, best), at)) {
			best = match[1]
		}
	}
	return downgrade{field + "=" + word, best, "does not take effort " + word + ", using " + best}, best != ""
}

func distance(a, b int) int { return max(a-b, b-a) }

// thinkingField returns the first of fields that was sent, if the error says that the model has no
// thinking.
func thinkingField(fault *llm.Error, body map[string]any, fields ...string) (string, bool) {
	for _, field := range fields {
		if _, sent := adapter.Field(body, field); sent && noThinking.MatchString(fault.Message) {
			return field, true
		}
	}
	return "", false
}

// hasMember reports whether a message in body has a role or field called name.
func hasMember(body map[string]any, name string) bool {
	list, _ := body["messages"].([]any)
	return slices.ContainsFunc(list, func(m any) bool {
		fields, _ := m.(map[string]any)
		_, has := fields[name]
		return has || fields["role"] == name
	})
}

// userFields lists fields that only the user sets. The user gets a notice if one of them is
// dropped.
var userFields = []string{"temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "random_seed", "stop", "user", "safety_identifier"}

// applyDowngrades applies the learned downgrades to body and returns the user's settings that were
// dropped. A downgrade of "field=word" applies only to that value of the field. One that becomes
// "=false" always sets the field to false; any other "=word" sets it to the word only in a body
// with tools.
func applyDowngrades(body map[string]any, learned map[string]string) (omitted []string) {
	for _, name := range slices.Sorted(maps.Keys(learned)) { // in order: max becomes xhigh, then xhigh becomes high
		becomes := learned[name]
		field, word, only := strings.Cut(name, "=")
		value, sent := adapter.Field(body, field)
		if only {
			if value == word {
				adapter.SetField(body, field, becomes)
			}
			continue
		}
		switch word, isWord := strings.CutPrefix(becomes, "="); {
		case isWord:
			if word == "false" {
				adapter.SetField(body, field, false)
			} else if _, tools := body["tools"]; tools { // without tools, the field stays as it is
				adapter.SetField(body, field, word)
			}
		case !sent:
		case becomes == "":
			adapter.DropField(body, field)
			if slices.Contains(userFields, field) {
				omitted = append(omitted, field)
			}
		default:
			adapter.DropField(body, field)
			adapter.SetField(body, becomes, value)
		}
	}
	return omitted
}

// markNoTools sets the fault of an error that says the model has no tools.
func markNoTools(fault *llm.Error, body map[string]any) {
	if _, sent := body["tools"]; !sent || fault.Status < 400 || fault.Fault == llm.ContextOverflow {
		return
	}
	if noTools.MatchString(fault.Message) || fault.Status == http.StatusBadRequest && fault.Param == "tools" && fault.Code == "unsupported_parameter" {
		fault.Fault, fault.Param = llm.Unsupported, "tools"
	}
}
