package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/providers/llm"
)

// A check tests one request by the rules of its format.
type check struct {
	*party
	history  []llm.Message // the history that the request was made from
	tools    []llm.Tool    // that the request offers
	problems []string
}

func (c *check) fail(format string, args ...any) {
	if problem := fmt.Sprintf(format, args...); !slices.Contains(c.problems, problem) {
		c.problems = append(c.problems, problem)
	}
}

func (c *check) read(v any) {
	if err := json.Unmarshal(c.body, v); err != nil {
		c.fail("not JSON: %v", err)
	}
}

// unescape undoes the escapes of JSON that only some encoders use.
var unescape = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace

// contains reports whether a string of the request has text.
func (c *check) contains(text string) bool {
	escaped := unescape(quoted(text))
	return bytes.Contains(c.body, []byte(text)) || strings.Contains(unescape(string(c.body)), escaped[1:len(escaped)-1])
}

// secrets: nobody else gets a model's thinking, signed or encrypted.
func (c *check) secrets() {
	for _, m := range c.history {
		if m.Role != llm.RoleAssistant || m.Origin == c.Origin {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind == llm.Thinking && p.Text != "" && bytes.Contains(c.body, []byte(p.Text)) {
				c.fail("the thinking of %s", m.Model)
			}
			for _, state := range elements(p.State) {
				if bytes.Contains(c.body, state) {
					c.fail("a state of %s: %s", m.Model, state)
				}
			}
		}
	}
}

// complete: the request contains all text, and images as far as the model sees them.
func (c *check) complete() {
	pictures, papers := 0, 0
	for _, m := range c.history {
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.Media && p.MIME == paper.MIME:
				papers++
			case p.Kind == llm.Media:
				pictures++
			case p.Kind == llm.Source && !bytes.Contains(c.body, []byte(p.URL)):
				c.fail("the source %s is gone", p.URL)
			case (p.Kind == llm.Text || p.Kind == llm.Result) && !c.contains(strings.TrimSpace(p.Text)):
				c.fail("%q is gone", p.Text)
			}
		}
	}
	shown := bytes.Count(c.body, []byte(encoded(string(png))))
	told := bytes.Count(c.body, []byte("[image left out"))
	if c.Known && !c.Vision {
		shown, told = told, shown
	}
	if shown != pictures || told != 0 {
		c.fail("%d of %d pictures, %d otherwise", shown, pictures, told)
	}
	shown = bytes.Count(c.body, []byte(encoded(string(paper.Data))))
	told = bytes.Count(c.body, []byte("[file left out: paper.pdf"))
	if !c.Accepts(paper.MIME) {
		shown, told = told, shown
	}
	if shown != papers || told != 0 {
		c.fail("%d of %d papers, %d otherwise", shown, papers, told)
	}
}

// mine reports whether the service assigned the id of a call.
func (c *check) mine(id string) bool { return id != "" && slices.Contains(c.ids[:], id) }

// arguments: an object, as JSON text.
func (c *check) arguments(text string) {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		c.fail("arguments %q", text)
	}
}

var (
	shortID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	longID  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	nineID  = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
)

type chatMessage struct {
	Role    string
	Content json.RawMessage
	Calls   []struct {
		ID, Type string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	Answers   string          `json:"tool_call_id"`
	Thinking  *string         `json:"reasoning_content"`
	Reasoning *string         `json:"reasoning"`
	Details   json.RawMessage `json:"reasoning_details"`
}

// firstText returns a content that is a string, false if it is not.
func firstText(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// checkChat: the system prompt first, then turns of user and assistant, each call answered directly
// after it and in order, with an id that the service accepts.
func checkChat(c *check) {
	var req struct {
		Messages []chatMessage
		Tools    []json.RawMessage
	}
	c.read(&req)
	if len(req.Messages) < 2 || req.Messages[0].Role != "system" || len(req.Tools) != len(c.tools) {
		c.fail("no system prompt, messages or tools")
		return
	}
	var open []string // calls to be answered
	before := "system"
	for _, m := range req.Messages[1:] {
		next := map[string]string{"system": "user", "user": "assistant", "assistant": "user", "tool": "assistant user"}[before]
		switch {
		case len(open) > 0:
			next = "tool"
		case before == "tool" && c.kind == "mistral":
			next = "assistant"
		}
		if !slices.Contains(strings.Fields(next), m.Role) {
			c.fail("%s behind %s", m.Role, before)
		}
		before = m.Role
		switch m.Role {
		case "user":
			c.chatUser(m)
		case "tool":
			if len(open) == 0 || open[0] != m.Answers {
				c.fail("a result for %q, open are %q", m.Answers, open)
			}
			if s, ok := firstText(m.Content); !ok || s == "" {
				c.fail("a result with %s", m.Content)
			}
			open = open[min(1, len(open)):]
		case "assistant":
			open = c.chatAssistant(m)
		}
	}
	if len(open) > 0 || before == "assistant" {
		c.fail("it ends with %s, open are %q", before, open)
	}
}

func (c *check) chatUser(m chatMessage) {
	if s, ok := firstText(m.Content); ok && s != "" {
		return
	}
	var parts []struct {
		Type, Text string
		Image      struct{ URL string } `json:"image_url"`
		File       struct {
			Name string `json:"filename"`
			Data string `json:"file_data"`
		}
	}
	if json.Unmarshal(m.Content, &parts) != nil || len(parts) == 0 {
		c.fail("content %s", m.Content)
	}
	for _, p := range parts {
		if p.Type == "file" && p.File.Name != "" && strings.HasPrefix(p.File.Data, "data:application/pdf;base64,") {
			continue
		}
		if !(p.Type == "text" && p.Text != "") && !(p.Type == "image_url" && strings.HasPrefix(p.Image.URL, "data:image/png;base64,")) {
			c.fail("a part %+v", p)
		}
	}
}

func (c *check) chatAssistant(m chatMessage) (ids []string) {
	own := bytes.Contains(m.Content, []byte(c.tag()))
	for _, call := range m.Calls {
		ids = append(ids, call.ID)
		own = own || c.mine(call.ID)
		switch fits := shortID.MatchString(call.ID); {
		case c.kind == "mistral":
			if !nineID.MatchString(call.ID) {
				c.fail("id %q", call.ID)
			}
		case !fits && !c.mine(call.ID):
			c.fail("id %q", call.ID)
		}
		if call.Type != "function" || call.Function.Name == "" {
			c.fail("call %+v", call)
		}
		c.arguments(call.Function.Arguments)
	}
	if len(ids) != len(slices.Compact(slices.Sorted(slices.Values(ids)))) {
		c.fail("ids %q", ids)
	}
	s, isText := firstText(m.Content)
	switch {
	case isText && (s != "" || len(ids) > 0), string(m.Content) == "null" && len(ids) > 0 && c.kind != "glm":
	case own && c.thinks == "parts":
	default:
		c.fail("content %s", m.Content)
	}
	c.chatThinking(m, own)
	return ids
}

// chatThinking: own thinking goes back as the family requires, in its own field. Others' thinking
// is not replaced, unless the family requires it.
func (c *check) chatThinking(m chatMessage, own bool) {
	broken := bytes.Contains(m.Content, []byte(canceled)) && c.thinks == "details" // an interrupted answer is not fully signed
	due := own && !broken && (c.echo == "always" || c.echo == "calls" && len(m.Calls) > 0)
	fields := map[string]bool{"reasoning_content": m.Thinking != nil, "reasoning": m.Reasoning != nil, "details": m.Details != nil}
	for field, sent := range fields {
		want := due && c.thinks == field
		if field == "reasoning_content" && c.fill && !own && len(m.Calls) > 0 {
			want = true
			if sent && *m.Thinking != "" {
				c.fail("thinking in the name of others: %q", *m.Thinking)
			}
		}
		if sent != want {
			c.fail("own message %v with %d calls: %s sent %v, want %v", own, len(m.Calls), field, sent, want)
		}
	}
}
