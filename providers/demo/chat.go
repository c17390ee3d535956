package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/tools/lazy"
)

// chat is a request as interpreted by the demo.
type chat struct {
	request
	keyed    []catalog.Provider
	size     int      // estimated tokens of the request
	prompt   string   // last message of the user, without attachments
	attached string   // text piped in or attached with the prompt
	earlier  []string // earlier prompts, oldest first
	results  []result // results of the tools called since the prompt, oldest first
	declared bool     // an earlier answer identified itself as the demo
}

// result is a tool call and its result.
type result struct {
	name      string
	arguments map[string]any
	output    string
}

// reply is an answer of the demo.
type reply struct {
	thinking string
	text     string
	calls    []call
}

type call struct {
	id, name, arguments string
}

// attachment matches the form in which parley sends standard input and files.
var attachment = lazy.NewRegexp(`(?s)<stdin>\n?(.*?)\n?</stdin>|<file path="[^"]*">\n?(.*?)\n?</file>`)

func newChat(req request, keyed []catalog.Provider) (*chat, error) {
	c := &chat{request: req, keyed: keyed}
	outputs := map[string]string{}
	for _, t := range req.Tools {
		c.size += estimate(t.Function.Description) + estimate(string(t.Function.Parameters))
	}
	last := -1
	for i, m := range req.Messages {
		text := string(m.Content)
		c.size += estimate(text) + 4
		switch m.Role {
		case "assistant":
			c.declared = c.declared || strings.Contains(text, declaration)
		case "tool":
			outputs[m.ToolCallID] = text
		case "user":
			if last >= 0 {
				c.earlier = append(c.earlier, c.prompt)
			}
			last, c.prompt, c.attached = i, strings.TrimSpace(attachment.ReplaceAllString(text, "")), ""
			for _, found := range attachment.FindAllStringSubmatch(text, -1) {
				c.attached += found[1] + found[2]
			}
			if strings.HasPrefix(c.prompt, asideHead) {
				_, c.prompt, _ = strings.Cut(c.prompt, "\n\n")
			}
			if at := strings.LastIndex(c.prompt, "\n\n"); at > 0 && strings.HasPrefix(c.prompt, summaryHead) {
				c.earlier, c.prompt = append(c.earlier, c.prompt[:at]), c.prompt[at+2:]
			}
		}
	}
	if last < 0 {
		return nil, errors.New("messages must hold one of the user's")
	}
	for _, m := range req.Messages[last+1:] {
		for _, call := range m.ToolCalls {
			r := result{name: call.Function.Name, output: outputs[call.ID]}
			_ = json.Unmarshal([]byte(call.Function.Arguments), &r.arguments) // calls of other models may have invalid arguments
			c.results = append(c.results, r)
		}
	}
	return c, nil
}

// declaration is contained in every text that identifies the demo.
const declaration = "offline demo"

// summaryHead begins a summary in a request; the prompt is the last paragraph after it.
const summaryHead = "The conversation up to here was summarized"

// asideHead begins the paragraph before the first question of an aside.
const asideHead = "This is a question beside the work"

// summaryRequest matches parley's prompt for a summary.
var summaryRequest = lazy.NewRegexp(`(?s)^<(?:conversation|summary)>.*</conversation>\s+Summarize this conversation\.`)

// reply returns the answer of the first matching script.
func (c *chat) reply() reply {
	if summaryRequest.MatchString(c.prompt) {
		return c.fill(named("summary"), nil)
	}
	s, groups := find(c.prompt)
	if at := strings.LastIndex(c.prompt, "\n\n"); at > 0 && s == nil {
		s, groups = find(c.prompt[at+2:]) // the prompt follows one that got no answer
	}
	switch {
	case s != nil:
	case c.attached != "" || len(c.prompt) > maxPrompt || strings.Count(c.prompt, "\n") > 2:
		s = named("attached")
	default:
		s = named("unknown")
	}
	r := c.fill(s, groups)
	if len(s.steps) > 0 {
		r = c.toolRound(s, groups, r)
	}
	switch effort := c.ReasoningEffort; {
	case len(r.calls) > 0:
		return r
	case c.ResponseFormat.Type == "json_schema" || c.ResponseFormat.Type == "json_object":
		return c.structured(r.text)
	case effort == "high" || effort == "max":
		r.thinking += "\n\n" + named("effort").body
	}
	if !c.declared && !strings.Contains(r.text, declaration) {
		r.text += "\n\n" + named("footer").body
	}
	return r
}

// structured returns an instance of the request's schema, with text where a string fits.
func (c *chat) structured(text string) reply {
	var value any = object{"answer": text}
	if c.ResponseFormat.Type == "json_schema" {
		left := maxValues
		value = instance(c.ResponseFormat.JSONSchema.Schema, text, &left)
	}
	return reply{thinking: "The answer has to be JSON, and nothing but JSON.", text: string(encode(value))}
}

// placeholder matches a placeholder for a part of the conversation.
var placeholder = lazy.NewRegexp(`\{([a-z]+)\}`)

// fill returns the answer of s with its placeholders replaced. Groups are inserted as inline code.
func (c *chat) fill(s *script, groups map[string]string) reply {
	expand := func(text string, group func(string) string) string {
		return placeholder.ReplaceAllStringFunc(text, func(name string) string {
			if text, ok := groups[name[1:len(name)-1]]; ok {
				return group(text)
			}
			return c.value(name)
		})
	}
	return reply{thinking: expand(s.thinking, quote), text: expand(s.body, inlineCode)}
}

// value returns the value of a placeholder; the placeholder itself if it has none.
func (c *chat) value(name string) string {
	var list []string
	text := cmp.Or(c.attached, c.prompt)
	switch name {
	case "{keys}":
		for _, p := range c.keyed {
			list = append(list, fmt.Sprintf("| %s | `%s` |", p.Name, strings.Join(p.KeyEnv, "` or `")))
		}
		return strings.Join(list, "\n")
	case "{tools}":
		for _, t := range c.Tools {
			list = append(list, inlineCode(t.Function.Name))
		}
		return cmp.Or(strings.Join(list, ", "), "none")
	case "{results}":
		return report(c.results)
	case "{result}":
		return report(c.results[max(0, len(c.results)-1):])
	case "{manual}":
		return manual()
	case "{earlier}":
		for _, text := range c.earlier {
			if told := history(text); len(told) > 0 {
				list = slices.Concat(list, told)
			} else {
				list = append(list, quote(text))
			}
		}
		return bullets(list)
	case "{history}":
		return bullets(history(text))
	case "{size}":
		return fmt.Sprintf("lines: **%d**, words: **%d**", strings.Count(text, "\n")+1, len(strings.Fields(text)))
	case "{excerpt}":
		return fence(truncate(text, 400), "")
	}
	return name
}

// happened matches prompts and calls in text to be summarized, and in summaries made by the demo.
var happened = lazy.NewRegexp(`(?m)^(?:Person|User):\n(.+)$|^\[calls (.+)\]$|^- ((?:asked|called) .+)$`)

// history lists the events of a conversation that is to be summarized, or of its summary; nil for
// any other text.
func history(text string) (list []string) {
	for _, m := range happened.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] != "":
			list = append(list, "asked "+quote(m[1]))
		case m[2] != "":
			list = append(list, "called "+inlineCode(truncate(m[2], 100)))
		default:
			list = append(list, m[3])
		}
	}
	return list
}
