package filter

import (
	"crypto/rand"
	"encoding/hex"
	"slices"

	"parley/providers/llm"
)

// options determine which texts count as calls.
type options struct {
	tools    []llm.Tool
	answer   bool                    // the request has an answer schema: JSON is the answer, not a call
	lenient  bool                    // calls at the end of the message count even if they are not valid
	prompted bool                    // the prompt tells the model how to write calls
	skip     func(block string) bool // reports text blocks without calls; nil if there are none
}

// How many responses of one turn may have invalid calls before such calls become text: a response
// that explains the markup must not be requested repeatedly. Prompted calls are rarely accidental,
// so they get more attempts.
const (
	leakedCorrections   = 1
	promptedCorrections = 3
)

// Calls returns a filter for the answer to req that turns tool calls in the model's text into calls
// with new ids. Without tools in req it does nothing.
//
// These count as calls:
//
//   - markup or special tokens, see callSyntaxes, anywhere outside code;
//   - JSON at the very beginning of the message, while no call came natively,
//     and the request has no answer schema;
//   - either of them in a code fence that is the whole message;
//   - and it names an offered tool and has its required arguments;
//   - or, whatever its name and arguments, it is markup, or the tool_calls
//     wrapper as the whole message, and no text follows it: the session then
//     answers with an error, which helps more than markup on the screen. This
//     holds once in a turn, and not if the request has an answer schema.
//
// Everything else stays text. Text around calls is unchanged; white space between calls, or between
// a call and an end of the message, belongs to the markup. Text after a call goes to a new block,
// to keep the order of the message. An answer with calls that ended with Stop ends with Calls.
func Calls(req llm.Request) func(llm.Stream) llm.Stream {
	return calls(optionsFor(req, leakedCorrections))
}

// Prompted returns the filter Calls for a model whose prompt describes how to write calls. req
// still contains the tools and the history. In addition to Calls, these are calls: JSON without
// text after it, anywhere, bare or fenced, even with unknown names; and the action form of thought,
// tool_name and tool_args, whose thought becomes thinking. A tool result written by the model after
// its call is dropped, with all following text.
func Prompted(req llm.Request) func(llm.Stream) llm.Stream {
	o := optionsFor(req, promptedCorrections)
	o.prompted = true
	return calls(o)
}

func optionsFor(req llm.Request, corrections int) options {
	o := options{tools: req.Tools, answer: req.AnswerSchema != nil}
	if req.ToolChoice == "none" {
		o.tools = nil
	}
	o.lenient = !o.answer && invalidAnswers(req.Messages, o.tools) < corrections
	return o
}

// invalidAnswers returns the number of responses since the last user message that have an
// InvalidCall.
func invalidAnswers(history []llm.Message, tools []llm.Tool) (n int) {
	for i := len(history) - 1; i >= 0 && history[i].Role != llm.RoleUser; i-- {
		if slices.ContainsFunc(history[i].Parts, func(p llm.Part) bool { return InvalidCall(p, tools) }) {
			n++
		}
	}
	return n
}

// InvalidCall reports whether p is a call that cannot run: it is unreadable, names none of the
// tools, or lacks a required argument.
func InvalidCall(p llm.Part, tools []llm.Tool) bool {
	if p.Kind != llm.Call || p.Remote {
		return false
	}
	c, ok := (&parser{options: options{tools: tools}}).buildJSONCall(p.Name, p.Input)
	return p.Failed || !ok || !c.isValid
}

// Thought is the Name of a thinking part that is the thought of an action.
const Thought = "thought"

// NewID returns a random id for a call found in text.
func NewID() string {
	var b [12]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}
