package openai

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/providers/wire"
)

// optional lists the request fields an answer can do without, the longer ones
// before those they contain.
var optional = []string{
	"parallel_tool_calls", "chat_template_kwargs", "safety_identifier", "frequency_penalty", "prompt_cache_key",
	"presence_penalty", "thinking_budget", "reasoning_format", "enable_thinking", "reasoning_effort",
	"reasoning_split", "stream_options", "random_seed", "tool_choice", "tool_stream", "temperature", "verbosity",
	"top_p", "reasoning", "thinking", "seed", "stop", "user",
}

// limits are the two names of the output limit. A server that refuses one wants
// the other.
var limits = map[string]string{
	"max_tokens":            "max_completion_tokens",
	"max_completion_tokens": "max_tokens",
}

// Cures beside those of a field.
const (
	cureEcho   = "messages: thinking"      // thinking that goes back
	cureRole   = "messages: developer"     // the developer role
	cureCache  = "messages: cache_control" // marks for the cache
	cureStream = "stream: always"          // streaming
	cureTools  = "stream: tools"           // streaming while tools are on offer
)

// echoed are the fields in which thinking goes back.
var echoed = []string{"reasoning_content", "reasoning_details", "reasoning"}

// pattern compiles an expression when it is first needed, for almost no request
// is refused.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	noTools = pattern(`(?i)does not support (tools|tool use|tool calling|function calling|functions)` +
		`|no endpoints found that support tool` +
		`|tool choice requires --enable-auto-tool-choice` +
		`|tools param requires --jinja` +
		`|(tool use|tool calling|tools|function calling|'tools') (is|are) not supported` +
		`|function tools with reasoning_effort are not supported`)
	noThinking = pattern(`(?i)does not support (thinking|reasoning)|(thinking|reasoning) is not supported`)
	wantsEcho  = pattern(`(?i)reasoning_content.{0,40}(must be passed back|is missing)`)
	unthought  = pattern(`(?i)enable_thinking must be set to false`) // Qwen, where the answer is not streamed
	streamed   = pattern(`(?i)(\btools?\b|\bfunctions?\b|\btool[_ ]c\w+).{0,80}\bstream(ed|ing)?\b|\bstream(ed|ing)?\b.{0,80}(\btools?\b|\bfunctions?\b|\btool[_ ]c\w+)`)
	negated    = pattern(`(?i)\bcannot\b|\bcan't\b|unsupported|incompatible|\bmust be (false|disabled|off)\b` +
		`|\b(not|n't) (yet )?(be )?(supports?|supported|allow|allowed|available|compatible|implemented|possible|permitted|use|used)\b|n't support`)
)

// learn remembers r, and returns it as it is to be followed. It is false for what
// was known already, and did not help.
func learn(l *wire.LearnedLimits, r remedy) (remedy, bool) {
	if other := limits[r.field]; other != "" && l.All()[other] == r.field {
		r.becomes = "" // it takes neither name
		l.Learn(other, "", true)
	}
	return r, l.Learn(r.field, r.becomes, r.field != cureInput)
}

// A remedy is what to change in a request that the server refused.
type remedy struct {
	field   string // or field=word, or one of the cures above
	becomes string // "" is left out, "=word" is a value, anything else another name, or the value in place of word
	notice  string // what to tell the user; "" tells the change
}

// heal looks whether the server refused something that the request can do
// without. It remembers it, and returns what to tell the user.
func (e *endpoint) heal(fault *llm.Error, body map[string]any) (notice string, ok bool) {
	r, ok := e.format.cure(fault, body)
	field, _, _ := strings.Cut(r.field, "=")
	if _, fixed := lookup(e.o.Body, field); fixed || !ok {
		return "", false // the user's own fields stay
	}
	if r, ok = learn(e.learned, r); !ok {
		return "", false
	}
	switch {
	case r.notice != "":
		return e.o.Model + " " + r.notice, true
	case r.becomes != "":
		return fmt.Sprintf("%s does not take %s; sent again with %s", e.o.Model, r.field, strings.TrimPrefix(r.becomes, "=")), true
	}
	return fmt.Sprintf("%s does not take %s; sent again without it", e.o.Model, r.field), true
}

// refused reports whether fault may be about a field of the request.
func refused(fault *llm.Error) bool {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return false
	}
	return fault.Fault == llm.InvalidRequest || fault.Fault == llm.Unsupported || fault.Fault == llm.Unknown
}

func (c *Chat) cure(fault *llm.Error, body map[string]any) (remedy, bool) {
	if r, ok := c.unstreamed(fault, body); ok {
		return r, true
	}
	if r, ok := c.unformed(fault, body); ok {
		return r, true
	}
	if !refused(fault) {
		return remedy{}, false
	}
	text := fault.Message
	switch {
	case wantsEcho().MatchString(text):
		return remedy{cureEcho, string(EchoCalls), "wants its thinking back; sent again with it"}, true
	case strings.Contains(strings.ToLower(text), "function tools with reasoning_effort"):
		return remedy{field: "reasoning_effort", becomes: "=none"}, body["reasoning_effort"] != "none"
	case strings.Contains(text, "cache_control") && c.caches(c.learned.All()):
		return remedy{cureCache, "", "does not take cache_control; sent again without it"}, true
	case unthought().MatchString(text):
		return remedy{"enable_thinking", "=false", "thinks only while it streams; thinking is off"}, true
	case strings.HasPrefix(fault.Param, "messages") || strings.Contains(text, "messages"):
		if strings.Contains(text, "developer") && says(body, "developer") {
			return remedy{cureRole, "", "does not take the developer role; sent again with system"}, true
		}
		for _, name := range echoed {
			if strings.Contains(fault.Param+text, name) && says(body, name) {
				return remedy{cureEcho, "", "does not take its thinking back; sent again without it"}, true
			}
		}
	}
	for _, field := range []string{"reasoning_effort", "reasoning.effort"} {
		if better, ok := milder(fault, body, field); ok {
			return better, true
		}
	}
	if name, ok := blamed(fault, body, slices.Concat(slices.Sorted(maps.Keys(limits)), optional)); ok {
		return remedy{field: name, becomes: limits[name]}, true
	}
	name, ok := unthinking(fault, body, "reasoning_effort", "reasoning", "thinking", "enable_thinking")
	return remedy{field: name}, ok
}

// unstreamed looks whether the server cannot stream: at all, or while tools are
// on offer, as llama.cpp once said with status 500: "Cannot use tools with
// stream".
func (c *Chat) unstreamed(fault *llm.Error, body map[string]any) (remedy, bool) {
	_, tools := body["tools"]
	switch {
	case body["stream"] != true || fault.Status < 400:
	case tools && streamed().MatchString(fault.Message) && negated().MatchString(fault.Message):
		return remedy{field: cureTools, notice: "does not stream while tools are on offer; its answers come whole"}, true
	case fault.Param == "stream" && refused(fault):
		return remedy{field: cureStream, notice: "does not stream; its answers come whole"}, true
	}
	return remedy{}, false
}

func (c *Chat) explain(fault *llm.Error, body map[string]any) { tooled(fault, body) }

// blamed returns the first of the fields that was sent and that the error is
// about.
func blamed(fault *llm.Error, body map[string]any, fields []string) (string, bool) {
	for _, field := range fields {
		if _, sent := lookup(body, field); sent && blames(fault, field) {
			return field, true
		}
	}
	return "", false
}

// steps are the words for effort that are in use, in rising order.
var steps = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

var quoted = pattern("['\"`]([a-z]+)['\"`]")

// milder replaces an effort by the nearest of those that the error says there
// are, as in "Supported values are: 'low', 'medium', and 'high'."
func milder(fault *llm.Error, body map[string]any, field string) (remedy, bool) {
	value, _ := lookup(body, field)
	word, _ := value.(string)
	at := slices.Index(steps, word)
	if at < 0 || !blames(fault, field) && !strings.Contains(fault.Message, "effort") {
		return remedy{}, false
	}
	best := ""
	for _, match := range quoted().FindAllStringSubmatch(fault.Message, -1) {
		step := slices.Index(steps, match[1])
		if step >= 0 && step != at && (best == "" || near(step, at) < near(slices.Index(steps, best), at)) {
			best = match[1]
		}
	}
	return remedy{field + "=" + word, best, "does not take effort " + word + ", using " + best}, best != ""
}

func near(a, b int) int { return max(a-b, b-a) }

// unthinking returns the first of the fields that was sent, if the error says
// that the model cannot think.
func unthinking(fault *llm.Error, body map[string]any, fields ...string) (string, bool) {
	for _, field := range fields {
		if _, sent := lookup(body, field); sent && noThinking().MatchString(fault.Message) {
			return field, true
		}
	}
	return "", false
}

// blames reports whether an error is about a field. Ordinary words count only in
// quotes, and as FastAPI says them.
func blames(fault *llm.Error, field string) bool {
	if fault.Param == field || strings.HasPrefix(fault.Param, field+".") {
		return true
	}
	if fault.Param != "" && !strings.HasPrefix(fault.Param, "body") {
		return false
	}
	word := regexp.QuoteMeta(field)
	if strings.ContainsAny(field, "_.") || field == "temperature" {
		return regexp.MustCompile(`(^|[^a-z_])` + word + `($|[^a-z_])`).MatchString(fault.Message)
	}
	return regexp.MustCompile("['\"`]" + word + "['\"`.]|(^|\\W)body\\." + word + ":").MatchString(fault.Message)
}

// says reports whether a message of body has a role or a field of this name.
func says(body map[string]any, name string) bool {
	list, _ := body["messages"].([]any)
	return slices.ContainsFunc(list, func(m any) bool {
		fields, _ := m.(map[string]any)
		_, has := fields[name]
		return has || fields["role"] == name
	})
}

// apply changes body by what the server taught us. A cure of "field=word" holds
// for that value of the field only.
func apply(body map[string]any, cures map[string]string) {
	for _, cure := range slices.Sorted(maps.Keys(cures)) { // max becomes xhigh, and then xhigh high
		becomes := cures[cure]
		field, word, only := strings.Cut(cure, "=")
		value, sent := lookup(body, field)
		if only {
			if value == word {
				set(body, field, becomes)
			}
			continue
		}
		switch word, isWord := strings.CutPrefix(becomes, "="); {
		case isWord:
			if word == "false" {
				set(body, field, false)
			} else if _, tools := body["tools"]; tools {
				set(body, field, word)
			}
		case !sent:
		case becomes == "":
			drop(body, field)
		default:
			drop(body, field)
			set(body, becomes, value)
		}
	}
}

// A field of a request with a dot in its name stands in an object: lookup finds
// it, set writes it, drop takes it away, with the object if that is then empty.

func lookup(body map[string]any, field string) (any, bool) {
	outer, inner, nested := strings.Cut(field, ".")
	value, ok := body[outer]
	if !nested || !ok {
		return value, ok
	}
	object, _ := value.(map[string]any)
	return lookup(object, inner)
}

func set(body map[string]any, field string, value any) {
	outer, inner, nested := strings.Cut(field, ".")
	if !nested {
		body[field] = value
		return
	}
	object, ok := body[outer].(map[string]any)
	if !ok {
		object = map[string]any{}
		body[outer] = object
	}
	set(object, inner, value)
}

func drop(body map[string]any, field string) {
	outer, inner, nested := strings.Cut(field, ".")
	object, _ := body[outer].(map[string]any)
	if nested {
		drop(object, inner)
	}
	if !nested || len(object) == 0 {
		delete(body, outer)
	}
}

// tooled makes an error that says the model cannot use tools say so by its
// fault.
func tooled(fault *llm.Error, body map[string]any) {
	if _, sent := body["tools"]; !sent || fault.Status < 400 || fault.Fault == llm.ContextOverflow {
		return
	}
	if noTools().MatchString(fault.Message) || fault.Status == http.StatusBadRequest && fault.Param == "tools" && fault.Code == "unsupported_parameter" {
		fault.Fault = llm.Unsupported
	}
}
