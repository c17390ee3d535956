package filter

import (
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// Harmony returns a filter for the answer to req that reads the form in which gpt-oss writes,
// where a server left it in the text or in the thinking: messages of the channels analysis, which
// is thinking, final and commentary, and calls, which are messages to a tool. Its tokens are
// dropped. Words alone count at the beginning, where a server dropped the tokens:
// "commentary to=functions.NAME json{…}" and "analysisWe need …assistantfinal…".
func Harmony(req llm.Request) func(llm.Stream) llm.Stream {
	return func(s llm.Stream) llm.Stream {
		return func(yield func(llm.Event, error) bool) {
			rewrite(s, &harmony{Out: llm.NewOut(yield), options: options{tools: req.Tools, lenient: true}})
		}
	}
}

// A harmonyState is where a harmony filter is in a block.
type harmonyState int

const (
	harmonyStart  harmonyState = iota // only white space so far
	harmonyPlain                      // in text outside messages
	harmonyHeader                     // before the text of a message
	harmonyBody                       // in the text of a message
	harmonyEnded                      // behind a message
)

// The tokens of harmony. What follows a token that begins a header tells it from text about it.
var (
	harmonyOpens  = []string{"<|start|>assistant", "<|channel|>analysis", "<|channel|>commentary", "<|channel|>final"}
	harmonyEnds   = []string{"<|end|>", "<|return|>", "<|call|>"}
	harmonyTokens = append([]string{"<|start|>", "<|channel|>"}, harmonyEnds...)
	harmonyWords  = []string{"assistantanalysis", "assistantcommentary", "assistantfinal"}
	harmonyFirst  = append([]string{"commentary to=", "analysis to=", "<|message|>"}, harmonyWords...)
)

const (
	harmonyMessage   = "<|message|>"
	maxHarmonyHeader = 256
)

type harmony struct {
	*llm.Out
	options
	block     string   // that is being read
	kind      llm.Kind // of the block
	state     harmonyState
	undecided string // held back
	md        markdown
	sent      bool     // text of the block was sent outside messages
	loose     bool     // words alone are marks
	messages  int      // of the answer
	as        llm.Kind // what the message is; "" if it is dropped
	tool      string   // that the message is sent to
	body      []byte   // of a call
	scan      schema.Scanner
}

func (h *harmony) event(e llm.Event) {
	d, ok := e.(llm.Delta)
	if f, finish := e.(llm.Finish); finish {
		h.end(f.Reason != llm.Length)
		if h.tool = ""; f.Reason == llm.Stop && h.calls > 0 {
			f.Reason = llm.Calls
			e = f
		}
	}
	if !ok {
		h.Send(e)
		return
	}
	_ = d
}
