package filter

import (
	"crypto/rand"
	"encoding/hex"
	"slices"

	"parley/providers/llm"
)

// options say what counts as a call.
type options struct {
	tools    []llm.Tool
	answer   bool                    // the request has an answer schema: JSON is the answer, never a call
	lenient  bool                    // calls at the end of the message count even if they are not valid
	prompted bool                    // the prompt tells the model how to write calls
	skip     func(block string) bool // reports blocks of text without calls; nil: none
}

// How many responses of one turn may have invalid calls before these are text: a response
// that explains the markup must not be requested again and again. With prompted calls it
// is more, as they are rarely written by chance.
const (
	leakedCorrections   = 1
	promptedCorrections = 3
)

// Calls returns a filter for the answer to req that turns tool calls which a
// model wrote into its text into calls, with ids of their own. Without tools on
// offer it does nothing.
//
// These count as calls:
//
//   - markup or special tokens, see callSyntaxes, anywhere outside code;
//   - JSON at the very beginning of the message, while no call came natively,
//     and no answer by a schema is awaited;
//   - either of them in a code fence that is the whole message;
//   - and it names an offered tool and has the arguments that requires;
//   - or, whatever its name and arguments, it is markup, or the tool_calls
//     wrapper as the whole message, and no text follows it: the session then
//     answers with an error, which helps more than markup on the screen. This
//     holds once in a turn, and not while an answer by a schema is awaited.
//
// All else stays text. Text around calls is kept as it is; white space alone
// between calls, or between a call and either end of the message, belongs to
// the markup. Text after a call goes to a block of its own, so that the message
// keeps its order. An answer with calls that ended with Stop ends with Calls.
func Calls(req llm.Request) func(llm.Stream) llm.Stream {
	return calls(optionsFor(req, leakedCorrections))
}

// Prompted returns the filter Calls for a model that was told in the prompt how to write calls.
// The tools and the history are still in req. Beside the calls that Calls finds,
// JSON that no text follows is one wherever it begins, bare or fenced, with
// unknown names as well, and so is the action form of thought, tool_name and
// tool_args, whose thought becomes thinking. A tool result that the model writes itself
// after its call is dropped, with all that follows.
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

// invalidAnswers returns the number of responses since the user's last message that have an
// InvalidCall.
func invalidAnswers(history []llm.Message, tools []llm.Tool) (n int) {
	for i := len(history) - 1; i >= 0 && history[i].Role != llm.RoleUser; i-- {
		if slices.ContainsFunc(history[i].Parts, func(p llm.Part) bool { return InvalidCall(p, tools) }) {
			n++
		}
	}
	return n
}

// InvalidCall reports whether p is a call that cannot run: it cannot be read, names none
// of the tools, or lacks what its tool requires.
func InvalidCall(p llm.Part, tools []llm.Tool) bool {
	if p.Kind != llm.Call || p.Remote {
		return false
	}
	c, ok := (&parser{options: options{tools: tools}}).buildJSONCall(p.Name, p.Input)
	return p.Failed || !ok || !c.isValid
}

// Thought is the Name of a thinking part that is the thought of an action.
const Thought = "thought"

// NewID returns a random id for a call that was found in text.
func NewID() string {
	var b [12]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}
