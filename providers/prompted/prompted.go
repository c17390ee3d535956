// Package prompted gives tools to models without function calling: it describes them in the system
// prompt, and uses package filter to find the calls in the replies.
//
//	Request ──► tools, calls and results as text ──► model
//	Stream  ◄── thinking, text and calls         ◄── its text
//
// It is a decorator of an llm.Model, with only text on both sides. Its output does not depend on
// how the stream is split into deltas; thought and answer are passed on while their JSON arrives.
// Only the model's own text is searched for calls. An unreadable call, or one of an unknown tool,
// is passed on too: its result is an error, as for a native call.
package prompted

import (
	"context"
	"strings"

	"parley/providers/filter"
	"parley/providers/llm"
)

// Wrap returns m with tools. Its messages keep the origin of m. If guided, each reply is one JSON
// object, an action: a call or the answer. If constrained is also set, the schema of the actions is
// sent in llm.Request.AnswerSchema, in a form for servers that constrain replies to a schema. Without
// guided, a reply is text, with calls between <tool_call> and </tool_call>. Notices holds the notices
// about changes to the system prompt that the user has seen; nil repeats them with each request. Unfit is called for each
// call that cannot run, before it is passed on; nil ignores them.
func Wrap(m llm.Model, guided, constrained bool, notices *llm.Notices, unfit func()) llm.Model {
	return &model{m, guided, constrained, notices, unfit}
}

type model struct {
	llm.Model
	guided, constrained bool
	notices             *llm.Notices
	unfit               func() // nil ignores calls that cannot run
}

// Stream sends the request as text. Without tools in req, it only converts the calls and results of
// earlier turns, and passes the answer on unchanged.
func (m *model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	tools := offeredTools(req)
	if len(tools) == 0 {
		return m.Model.Stream(ctx, m.promptedRequest(req, tools))
	}
	var replaced []string
	req.System, replaced = removeFormSections(req.System)
	s := reportUnfit(readCalls(m.guided, m.Model.Stream(ctx, m.promptedRequest(req, tools)), req), tools, m.unfit)
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

// readCalls turns calls in the text of s, the answer to req, into call parts.
func readCalls(guided bool, s llm.Stream, req llm.Request) llm.Stream {
	if guided {
		return filter.Actions(req)(s)
	}
	return filter.Prompted(req)(s)
}

// reportUnfit calls unfit for each call in s that cannot run.
func reportUnfit(s llm.Stream, tools []llm.Tool, unfit func()) llm.Stream {
	if unfit == nil {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		for event, err := range s {
			if d, ok := event.(llm.Delta); ok && filter.InvalidCall(d.Part, tools) {
				unfit()
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// offeredTools lists the tools that the model may use in this request.
func offeredTools(req llm.Request) []llm.Tool {
	if req.ToolChoice == "none" {
		return nil
	}
	return req.Tools
}

// promptedRequest returns req with tools, calls and results as text.
func (m *model) promptedRequest(req llm.Request, tools []llm.Tool) llm.Request {
	// without tools, the prompt does not describe actions
	req.Messages = historyAsText(req.Messages, m.guided && len(tools) > 0)
	if len(tools) > 0 {
		req.System = m.system(req, tools)
		answer := req.AnswerSchema
		req.AnswerSchema = nil // an answer constrained to its schema could not be a call
		if m.guided && m.constrained {
			req.AnswerSchema = actionSchema(tools, answer, req.ToolChoice)
		}
	}
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	return req
}
