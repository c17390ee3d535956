package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// chat is a conversation as the demo understands it: what is asked now, what
// was done about it so far, and what came before.
type chat struct {
	messages []message
	tools    []tool
	now      time.Time
	effort   string // of the request; "none" is no thinking
	limit    int    // of the output, in tokens; 0 is none
	size     int    // of the request, in tokens
	format   string // "", "json_object" or "json_schema"
	schema   schema // for json_schema

	ask      string     // the last message of the user, without what was piped in
	piped    string     // what was piped in or attached as text
	images   int        // that came with it
	earlier  []string   // what the user said before, oldest first
	rounds   [][]result // tools that ran since, by request
	declared bool       // an earlier answer said that this is the demo
	keys     []Key
}

// result is a tool call and what it returned.
type result struct {
	name      string
	arguments map[string]any
	output    string
}

// reply is what the demo decides to answer.
type reply struct {
	thinking string
	text     string
	calls    []call
}

type call struct {
	id, name, arguments string
}

// stdin is how parley wraps what was piped in, and files that were attached.
var stdin = lazy(`(?s)<stdin>\n?(.*?)\n?</stdin>|<file path="[^"]*">\n?(.*?)\n?</file>`)

// lazy compiles a pattern when it is first needed; letter case does not count.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?i)" + pattern) })
}

func newChat(req request, now time.Time) (*chat, error) {
	c := &chat{
		messages: req.Messages, tools: req.Tools, now: now, effort: req.ReasoningEffort,
		limit: max(req.MaxTokens, req.MaxCompletionTokens), schema: req.ResponseFormat.JSONSchema.Schema,
	}
	if f := req.ResponseFormat.Type; f != "text" {
		c.format = f
	}
	last := -1
	for i, m := range req.Messages {
		c.size += estimate(m.Content.text) + 4
		if m.Role == "assistant" && strings.Contains(m.Content.text, declaration) {
			c.declared = true
		}
		if m.Role != "user" {
			continue
		}
		if last >= 0 {
			c.earlier = append(c.earlier, plain(req.Messages[last].Content.text))
		}
		last = i
	}
	if last < 0 {
		return nil, errors.New("messages must hold one of the user's")
	}
	said := req.Messages[last].Content
	c.images = said.images
	c.ask = plain(said.text)
	for _, m := range stdin().FindAllStringSubmatch(said.text, -1) {
		c.piped += m[1] + m[2]
	}
	c.rounds = roundsOf(req.Messages[last+1:])
	return c, nil
}

// plain is a message without what was piped in.
func plain(text string) string {
	return strings.TrimSpace(stdin().ReplaceAllString(text, ""))
}

// roundsOf joins the calls behind the last question to their results.
func roundsOf(messages []message) [][]result {
	outputs := map[string]string{}
	for _, m := range messages {
		if m.Role == "tool" {
			outputs[m.ToolCallID] = m.Content.text
		}
	}
	var rounds [][]result
	for _, m := range messages {
		var round []result
		for _, call := range m.ToolCalls {
			r := result{name: call.Function.Name, output: outputs[call.ID]}
			_ = json.Unmarshal([]byte(call.Function.Arguments), &r.arguments) // foreign calls may be broken
			round = append(round, r)
		}
		if round != nil {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

// declaration is in the line that says what this is.
const declaration = "offline demo"

const footer = "*I am parley's built-in " + declaration + ". For a real model, set a key such as `OPENAI_API_KEY` and start again, or ask me how to add one.*"

// reply decides. The first rule that has an answer holds.
func (c *chat) reply() reply {
	if c.format != "" {
		return c.structured()
	}
	r := c.decide()
	if c.effort == "high" || c.effort == "max" {
		r.thinking += "\n\nI am asked to think hard. I am a table of rules, so a second look changes nothing: the answer stands."
	}
	if len(r.calls) == 0 && !c.declared && !strings.Contains(r.text, declaration) {
		r.text = strings.TrimRight(r.text, "\n") + "\n\n" + footer
	}
	return r
}

func (c *chat) decide() reply {
	for _, rule := range rules {
		if r, ok := rule(c); ok {
			return r
		}
	}
	return c.unknown()
}

// rules are asked in order.
var rules = []func(*chat) (reply, bool){
	(*chat).tour,
	(*chat).howTo,
	(*chat).task,
	(*chat).memory,
	(*chat).calculate,
	(*chat).knowledge,
	(*chat).smallTalk,
	(*chat).topic,
	(*chat).describePiped,
}

func (c *chat) unknown() reply {
	text := answerText("unknown")
	if c.images > 0 {
		text = "I see that an image came along, but I cannot look at images.\n\n" + text
	}
	return reply{
		thinking: fmt.Sprintf("None of my rules knows what to do with %s. I should say so plainly, and what I can do instead.", quoted(c.ask)),
		text:     text,
	}
}

// quoted is the beginning of text, on one line.
func quoted(text string) string {
	const most = 60
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return "“" + string(line) + "”"
}
