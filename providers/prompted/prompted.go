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

// Style is how tools are described.
type Style string

// The styles.
const (
	TypeScript Style = "typescript" // as function signatures, good for models that know code
	JSONSchema Style = "schema"     // as compact JSON Schema
)

// Form is how the model calls them.
type Form string

// The forms.
const (
	Action Form = "action" // each reply is one JSON object: a call or the answer
	Free   Form = "free"   // text, with calls between <tool_call> and </tool_call>
)

// Options say how a model is prompted. The zero value is TypeScript, Free.
type Options struct {
	Style Style
	Form  Form

	// Constrained is the request field by which the server holds a reply to a
	// schema: "response_format", "structured_outputs", "guided_json" or
	// "llamacpp"; "" if it has none. The schema of the actions then travels in
	// llm.Request.Answer, fitted to what such servers understand; the adapter
	// writes it into that field. It needs Form Action.
	Constrained string

	// Notices holds what the user was told of changes to the system prompt; nil
	// tells them with each request.
	Notices *llm.Notices
}

// Wrap returns m with tools. Its messages keep the origin of m.
func Wrap(m llm.Model, o Options) llm.Model {
	return &model{m, o}
}

type model struct {
	llm.Model
	Options
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
	s := readCalls(m.Form, m.Model.Stream(ctx, m.promptedRequest(req, tools)), req)
	if replaced == nil {
		return s
	}
	return func(yield func(llm.Event, error) bool) {
		out, notices := llm.NewOut(yield), m.Notices
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
func readCalls(form Form, s llm.Stream, req llm.Request) llm.Stream {
	if form == Action {
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
	form := m.Form
	if len(tools) == 0 {
		form = Free // nothing teaches the model to write actions
	}
	req.Messages = historyAsText(req.Messages, form)
	if len(tools) > 0 {
		req.System = m.system(req, tools)
		answer := req.AnswerSchema
		req.AnswerSchema = nil // an answer that is held to its schema cannot be a call
		if m.Form == Action {
			req.AnswerSchema = m.actionSchema(tools, answer, req.ToolChoice)
		}
	}
	req.Tools, req.ToolChoice, req.Parallel = nil, "", nil
	return req
}
