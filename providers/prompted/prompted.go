// Package prompted gives tools to models that have no function calling: it
// describes them in the system prompt, and has package filter read the calls out of the replies.
//
//	Request ──► tools, calls and results as text ──► model
//	Stream  ◄── thinking, text and calls         ◄── its text
//
// It is a decorator of an llm.Model, and pure text on both sides. What comes out
// does not depend on where the stream was cut into deltas; thought and answer
// are passed on while their JSON is still arriving. Only what the model writes
// is ever read for calls. A call that cannot be read, or of a tool that is not
// offered, is made as well: it gets an error for a result, as a native one would.
package prompted

import (
	"context"
	"strings"

	"parley/providers/filter"
	"parley/providers/llm"
)

// Wrap returns m with tools. Its messages keep the origin of m. With guided each reply is one JSON
// object, an action: a call or the answer. If constrained is set as well, the schema of the actions
// travels in llm.Request.AnswerSchema, fitted to what servers understand that hold replies to a schema.
// Without guided a reply is text, with calls between <tool_call> and </tool_call>. Notices holds what
// the user was told of changes to the system prompt; nil tells them with each request.
func Wrap(m llm.Model, guided, constrained bool, notices *llm.Notices) llm.Model {
	return &model{m, guided, constrained, notices}
}

type model struct {
	llm.Model
	guided, constrained bool
	notices             *llm.Notices
}

// Stream asks the model in text. Without tools on offer only the calls and
// results of earlier turns are told, and the answer is passed on as it is.
func (m *model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	tools := offeredTools(req)
	if len(tools) == 0 {
		return m.Model.Stream(ctx, m.promptedRequest(req, tools))
	}
	var replaced []string
	req.System, replaced = removeFormSections(req.System)
	s := readCalls(m.guided, m.Model.Stream(ctx, m.promptedRequest(req, tools)), req)
	if replaced == nil {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		out, notices := llm.NewOut(yield), m.notices
		if notices == nil {
			notices = &llm.Notices{}
		}
		notices.SendOnce(out, "System prompt: replaced what describes another form of replies or tool calls ("+strings.Join(replaced, ", ")+")")
		if !out.Stopped() {
			s(yield)
		}
	}
}

// readCalls reads calls out of the text of s, the answer to req.
func readCalls(guided bool, s llm.Stream, req llm.Request) llm.Stream {
	if guided {
		return filter.Actions(req)(s)
	}
	return filter.Prompted(req)(s)
}

// offeredTools lists the tools that the model may use now.
func offeredTools(req llm.Request) []llm.Tool {
	if req.ToolChoice == "none" {
		return nil
	}
	return req.Tools
}

// promptedRequest returns req in text.
func (m *model) promptedRequest(req llm.Request, tools []llm.Tool) llm.Request {
	// without tools nothing teaches the model to write actions
	req.Messages = historyAsText(req.Messages, m.guided && len(tools) > 0)
	if len(tools) > 0 {
		req.System = m.system(req, tools)
		answer := req.AnswerSchema
		req.AnswerSchema = nil // an answer that is held to its schema cannot be a call
		if m.guided && m.constrained {
			req.AnswerSchema = actionSchema(tools, answer, req.ToolChoice)
		}
	}
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	return req
}
