package openai

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"parley/providers/llm"
)

// optional lists the request fields an answer can do without, the longer ones
// before those they contain.
var optional = []string{
	"parallel_tool_calls", "chat_template_kwargs", "prompt_cache_key", "thinking_budget", "enable_thinking",
	"reasoning_effort", "reasoning_split", "stream_options", "random_seed", "tool_stream", "temperature",
	"top_p", "reasoning", "thinking", "seed", "stop",
}

// limits are the two names of the output limit. A server that refuses one wants
// the other.
var limits = map[string]string{
	"max_tokens":            "max_completion_tokens",
	"max_completion_tokens": "max_tokens",
}

// Cures beside those of a field: echoed thinking, and the developer role.
const (
	cureEcho = "messages: thinking"
	cureRole = "messages: developer"
)

// echoed are the fields in which thinking goes back.
var echoed = []string{"reasoning_content", "reasoning_details", "reasoning"}

var (
	noTools = regexp.MustCompile(`(?i)does not support (tools|tool use|tool calling|function calling|functions)` +
		`|no endpoints found that support tool` +
		`|tool choice requires --enable-auto-tool-choice` +
		`|tools param requires --jinja` +
		`|(tool use|tool calling|tools|function calling|'tools') (is|are) not supported` +
		`|function tools with reasoning_effort are not supported`)
	noThinking = regexp.MustCompile(`(?i)does not support (thinking|reasoning)|(thinking|reasoning) is not supported`)
	wantsEcho  = regexp.MustCompile(`(?i)reasoning_content.{0,40}(must be passed back|is missing)`)
)

// heal looks whether the server refused something that the request can do
// without. It remembers it, and returns what to tell the user.
func (c *Chat) heal(fault *llm.Error, body map[string]any) (notice string, ok bool) {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusUnprocessableEntity {
		return "", false
	}
	if fault.Fault != llm.InvalidRequest && fault.Fault != llm.Unsupported && fault.Fault != llm.Unknown {
		return "", false
	}
	field, becomes, ok := cure(fault, body)
	if _, fixed := c.o.Body[field]; fixed || !ok {
		return "", false // the user's own fields stay
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, again := c.cures[field]; again && known == becomes {
		return "", false // it did not help
	}
	if other := limits[field]; other != "" && c.cures[other] == field {
		becomes, c.cures[other] = "", "" // it takes neither name
	}
	c.cures[field] = becomes
	switch {
	case field == cureEcho && becomes != "":
		return fmt.Sprintf("%s wants its thinking back; sent again with it", c.o.Model), true
	case field == cureEcho:
		return fmt.Sprintf("%s does not take its thinking back; sent again without it", c.o.Model), true
	case field == cureRole:
		return fmt.Sprintf("%s does not take the developer role; sent again with system", c.o.Model), true
	case becomes != "":
		return fmt.Sprintf("%s does not take %s; sent again with %s", c.o.Model, field, strings.TrimPrefix(becomes, "=")), true
	}
	return fmt.Sprintf("%s does not take %s; sent again without it", c.o.Model, field), true
}

// cure finds what the server complains about in body, and what becomes of it:
// "" is left out, "=word" is a value, anything else another name.
func cure(fault *llm.Error, body map[string]any) (field, becomes string, ok bool) {
	text := fault.Message
	switch {
	case wantsEcho.MatchString(text):
		return cureEcho, string(EchoCalls), true
	case strings.Contains(strings.ToLower(text), "function tools with reasoning_effort"):
		return "reasoning_effort", "=none", body["reasoning_effort"] != "none"
	case strings.HasPrefix(fault.Param, "messages") || strings.Contains(text, "messages"):
		if strings.Contains(text, "developer") && says(body, "developer") {
			return cureRole, "", true
		}
		for _, name := range echoed {
			if strings.Contains(fault.Param+text, name) && says(body, name) {
				return cureEcho, "", true
			}
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(limits)), optional) {
		if _, sent := body[name]; sent && blames(fault, name) {
			return name, limits[name], true
		}
	}
	if noThinking.MatchString(text) {
		for _, name := range []string{"reasoning_effort", "reasoning", "thinking", "enable_thinking"} {
			if _, sent := body[name]; sent {
				return name, "", true
			}
		}
	}
	return "", "", false
}

// blames reports whether an error is about a field. Ordinary words count only in
// quotes.
func blames(fault *llm.Error, field string) bool {
	param, _, _ := strings.Cut(fault.Param, ".")
	if param == field {
		return true
	}
	if param != "" && param != "body" {
		return false
	}
	word := regexp.QuoteMeta(field)
	if strings.Contains(field, "_") || field == "temperature" {
		return regexp.MustCompile(`(^|[^a-z_])` + word + `($|[^a-z_])`).MatchString(fault.Message)
	}
	return regexp.MustCompile("['\"`]" + word + "['\"`.]").MatchString(fault.Message)
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

// apply changes body by what the server taught us.
func apply(body map[string]any, cures map[string]string) {
	for field, becomes := range cures {
		value, sent := body[field]
		switch word, isWord := strings.CutPrefix(becomes, "="); {
		case isWord:
			if _, tools := body["tools"]; tools {
				body[field] = word
			}
		case !sent:
		case becomes == "":
			delete(body, field)
		default:
			delete(body, field)
			body[becomes] = value
		}
	}
}

// tooled makes an error that says the model cannot use tools say so by its
// fault.
func tooled(fault *llm.Error, body map[string]any) {
	if _, sent := body["tools"]; !sent || fault.Status < 400 || fault.Fault == llm.ContextOverflow {
		return
	}
	if noTools.MatchString(fault.Message) || fault.Status == http.StatusBadRequest && fault.Param == "tools" && fault.Code == "unsupported_parameter" {
		fault.Fault = llm.Unsupported
	}
}
