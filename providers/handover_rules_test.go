package providers_test

import (
	"encoding/json"
	"slices"
	"strings"
)

// checkItems: reasoning precedes the items that follow from it, ids are the service's own, and each
// call has its output after it.
func checkItems(c *check) {
	type item struct {
		Type, Role, ID, Name, Arguments string
		CallID                          string `json:"call_id"`
		Content, Output                 json.RawMessage
		Encrypted                       string `json:"encrypted_content"`
	}
	var req struct {
		Store   *bool
		Include []string
		Input   []item
		Tools   []struct {
			Type   string
			Strict *bool
		}
	}
	c.read(&req)
	if req.Store == nil || *req.Store || !slices.Contains(req.Include, "reasoning.encrypted_content") {
		c.fail("not without state on the server")
	}
	for _, tool := range req.Tools {
		if tool.Type != "function" || tool.Strict == nil || *tool.Strict {
			c.fail("tool %+v", tool)
		}
	}
	var open []string
	before := item{}
	thought := false // this answer holds reasoning
	for _, i := range req.Input {
		if i.Type != "function_call" && i.Type != "function_call_output" && len(open) > 0 {
			c.fail("%s before the output of %q", i.Type, open)
		}
		if before.Type == "reasoning" && i.ID == "" {
			c.fail("reasoning before %+v", i)
		}
		if i.Role == "user" || i.Type == "function_call_output" {
			thought = false
		}
		prefix := map[string]string{"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}[i.Type]
		if i.ID != "" && (!strings.HasPrefix(i.ID, prefix) || i.Type != "reasoning" && !thought) {
			c.fail("the id of %+v", i)
		}
		switch i.Type {
		case "reasoning":
			thought = true
			if i.Encrypted == "" {
				c.fail("reasoning %+v", i)
			}
		case "message":
			if s, ok := firstText(i.Content); ok && s == "" || len(i.Content) == 0 {
				c.fail("message %+v", i)
			}
		case "function_call":
			c.arguments(i.Arguments)
			if i.Name == "" || !longID.MatchString(i.CallID) {
				c.fail("call %+v", i)
			}
			open = append(open, i.CallID)
		case "function_call_output":
			if len(open) == 0 || open[0] != i.CallID || len(i.Output) < len(`"x"`) {
				c.fail("output %+v, open are %q", i, open)
			}
			open = open[min(1, len(open)):]
		default:
			c.fail("item %+v", i)
		}
		before = i
	}
	if len(open) > 0 || before.Role == "assistant" || before.Type == "reasoning" {
		c.fail("it ends with %+v, open are %q", before, open)
	}
}

type contentPart struct {
	Text      *string
	Thought   bool
	Signature string `json:"thoughtSignature"`
	Inline    *struct{ MimeType string }
	Call      *struct {
		ID, Name string
		Args     json.RawMessage
	} `json:"functionCall"`
	Response *struct {
		ID, Name string
		Response map[string]any
		Parts    []json.RawMessage
	} `json:"functionResponse"`
}

// checkContents: turns alternate; all responses to the calls of a turn are in the next one, with
// names; ids are the model's own. From 3 on, the first call of each step of the running turn is
// signed, with the stand-in if another model made it.
func checkContents(c *check) {
	var req struct {
		System   struct{ Parts []contentPart } `json:"systemInstruction"`
		Contents []struct {
			Role  string
			Parts []contentPart
		}
	}
	c.read(&req)
	three := strings.Contains(c.model, "gemini-3")
	turn := 0 // start of the running turn
	for i, content := range req.Contents {
		if content.Role == "user" && slices.ContainsFunc(content.Parts, func(p contentPart) bool {
			return p.Text != nil && !strings.HasPrefix(*p.Text, "Returned by the tool")
		}) {
			turn = i
		}
	}
	var open []contentPart
	before := "model"
	for i, content := range req.Contents {
		responds := slices.ContainsFunc(content.Parts, func(p contentPart) bool { return p.Response != nil })
		if content.Role == before && !(before == "user" && len(open) == 0 && i > 0 && req.Contents[i-1].Parts[0].Response != nil) {
			c.fail("%s behind %s", content.Role, before)
		}
		if responds != (len(open) > 0) || responds && len(content.Parts) != len(open) {
			c.fail("%d parts behind %d calls", len(content.Parts), len(open))
		}
		before = content.Role
		answered := open
		open = nil
		for n, p := range content.Parts {
			c.contentPart(p, three)
			switch {
			case p.Response != nil && n < len(answered) && (p.Response.Name != answered[n].Call.Name || p.Response.ID != answered[n].Call.ID):
				c.fail("response %+v to %+v", p.Response, answered[n].Call)
			case p.Call != nil:
				want := three && i > turn && len(open) == 0 && !c.mine(p.Call.ID)
				if (p.Signature == skip) != want {
					c.fail("the call %+v is signed by the stand-in: %v, want %v", p.Call, !want, want)
				}
				if p.Signature == "" && len(open) == 0 && three && i > turn {
					c.fail("the first call of a step is not signed: %+v", p.Call)
				}
				open = append(open, p)
			}
		}
	}
	if len(open) > 0 || before != "user" || len(req.System.Parts) != 1 {
		c.fail("it ends with %s", before)
	}
}

const skip = "skip_thought_signature_validator"

func (c *check) contentPart(p contentPart, three bool) {
	kinds := 0
	for _, is := range []bool{p.Text != nil, p.Inline != nil || p.Text == nil && p.Call == nil && p.Response == nil, p.Call != nil, p.Response != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1, p.Text != nil && *p.Text == "" && p.Signature == "":
		c.fail("part %+v", p)
	case p.Call != nil:
		if p.Call.Args != nil {
			c.arguments(string(p.Call.Args))
		}
		if p.Call.ID != "" && (!three || !c.mine(p.Call.ID)) {
			c.fail("the id %q", p.Call.ID)
		}
	case p.Response != nil:
		if p.Response.Response["output"] == nil && p.Response.Response["error"] == nil || len(p.Response.Parts) > 0 && !three {
			c.fail("response %+v", p.Response)
		}
	}
}

type contentBlock struct {
	Type, Text, ID, Name, Thinking, Signature, Data string
	For                                             string `json:"tool_use_id"`
	Error                                           bool   `json:"is_error"`
	Input, Content                                  json.RawMessage
	Source                                          *struct {
		Type  string
		Media string `json:"media_type"`
	}
}

// checkBlocks: roles alternate from user to user, calls end their message and results open the next
// one, ids are valid and used once. Thinking is signed, and opens a running tool loop if there is a
// budget for it.
func checkBlocks(c *check) {
	var req struct {
		Max      int `json:"max_tokens"`
		Thinking struct{ Type string }
		Tools    []json.RawMessage
		Messages []struct {
			Role    string
			Content []contentBlock
		}
	}
	c.read(&req)
	if req.Max <= 0 || len(req.Tools) != len(c.tools) {
		c.fail("max_tokens %d, %d tools", req.Max, len(req.Tools))
	}
	var open []string
	used := map[string]bool{}
	before := "assistant"
	for _, m := range req.Messages {
		if m.Role == before || len(m.Content) == 0 {
			c.fail("%s behind %s, %d blocks", m.Role, before, len(m.Content))
		}
		before = m.Role
		var results, calls []string
		thinks := false
		for i, b := range m.Content {
			c.block(b, m.Role)
			switch b.Type {
			case "tool_result":
				if i != len(results) {
					c.fail("the result %q stands behind other blocks", b.For)
				}
				results = append(results, b.For)
			case "tool_use":
				if used[b.ID] || !longID.MatchString(b.ID) {
					c.fail("id %q", b.ID)
				}
				used[b.ID] = true
				calls = append(calls, b.ID)
			case "thinking", "redacted_thinking":
				thinks = thinks || i == 0
				fallthrough
			default:
				if len(calls) > 0 {
					c.fail("%s behind calls", b.Type)
				}
			}
		}
		if !slices.Equal(results, open) {
			c.fail("results %q for %q", results, open)
		}
		open = calls
		if len(calls) > 0 && c.fill && !thinks {
			c.fail("calls without thinking")
		}
	}
	if before != "user" || len(open) > 0 {
		c.fail("it ends with %s", before)
	}
	last := len(req.Messages) - 1
	if loop := slices.ContainsFunc(req.Messages[max(last, 0)].Content, func(b contentBlock) bool { return b.Type == "tool_result" }); loop && req.Thinking.Type == "enabled" && !c.fill {
		if first := req.Messages[last-1].Content[0].Type; !strings.HasSuffix(first, "thinking") {
			c.fail("a running loop that opens with %s, while it thinks", first)
		}
	}
}

func (c *check) block(b contentBlock, role string) {
	ok := false
	switch b.Type {
	case "text":
		ok = strings.TrimSpace(b.Text) != ""
	case "image":
		ok = role == "user" && b.Source != nil && b.Source.Type == "base64" && b.Source.Media == "image/png"
	case "document":
		ok = role == "user" && b.Source != nil && b.Source.Type == "base64" && b.Source.Media == "application/pdf"
	case "thinking":
		ok = role == "assistant" && (b.Signature != "" || c.fill && b.Thinking == "")
	case "redacted_thinking":
		ok = role == "assistant" && b.Data != ""
	case "tool_use":
		c.arguments(string(b.Input))
		ok = role == "assistant" && b.Name != ""
	case "tool_result":
		var list []contentBlock
		s, isText := firstText(b.Content)
		json.Unmarshal(b.Content, &list)
		ok = role == "user" && (isText && s != "" || len(list) > 0)
		for _, inner := range list {
			if inner.Type == "image" && b.Error {
				c.fail("a picture in an error")
			}
			c.block(inner, role)
		}
	}
	if !ok {
		c.fail("block %+v of %s", b, role)
	}
}
