package prompted

import (
	"encoding/json"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/schema"
)

// The marks of the form Free.
const (
	callBegin = "<tool_call>"
	callEnd   = "</tool_call>"
)

// readActions reads replies of the form Action.
//
//   - The first member of an object decides whether it is an action; until then
//     it is held back, and so is a fence or bracket before it.
//   - Thought and answer are passed on as they arrive. A call is made when its
//     object is complete, or mended without guessing at a value that was cut off.
//   - Actions may stand in a fence, in a list, behind each other, or behind text.
//   - Text that is no action is the answer of a model that forgot the form, and
//     read by filter.Prompted; see isAnswer. Text behind a call is what the model
//     imagines of its result, and left out.
func readActions(s llm.Stream, tools []llm.Tool) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		out := &rewriter{Out: llm.NewOut(yield)}
		rewriteText(s, out, &actionReader{rewriter: out, tools: tools})
	}
}

type actionReader struct {
	*rewriter
	tools []llm.Tool

	block       string
	blocks      int    // names given to blocks
	alias       string // the block that text goes to
	atEdge      bool   // nothing but marks came since the beginning or the last action
	calls       int
	atLineStart bool // what is held begins a line
	hadAction   bool // an action came in this block
	droppedText bool // text behind a call was left out
	pending     string
	inCall      bool // between callBegin and callEnd, which are read elsewhere

	openAction
}

// An openAction is the object that is being read.
type openAction struct {
	lead   string // what stood before it
	object []byte // what came of it
	lexer  *lexer // nil outside of one
	sent   [2]strings.Builder
	ids    [2]string // the blocks of thought and answer
}

func (a *actionReader) begin(block string) {
	a.block, a.alias, a.atEdge, a.hadAction, a.inCall = block, block, true, false, false
}

func (a *actionReader) finish(r llm.Reason) llm.Reason {
	if a.droppedText {
		a.Send(llm.Notice{Text: noticeHallucinated})
	}
	if a.calls > 0 && r == llm.Stop {
		return llm.Calls
	}
	return r
}

func (a *actionReader) text(s string) {
	for s != "" && !a.Stopped() {
		if a.lexer != nil {
			s = a.readObject(s)
			continue
		}
		s = a.outside(s)
	}
}

// outside reads text up to the beginning of an object, and returns what is
// behind that.
func (a *actionReader) outside(s string) string {
	if a.droppedText {
		return ""
	}
	s, a.pending = a.pending+s, ""
	if a.inCall {
		return a.inMarkup(s)
	}
	if a.atEdge {
		v, n := probe(s, true, true, a.hadAction)
		switch v {
		case verdictUndecided:
			a.pending = s
			return ""
		case verdictYes:
			return a.beginObject(s[:n], s[n:])
		}
		a.atEdge, a.atLineStart = false, true
		if a.hadAction {
			s = strings.TrimLeft(s, " \t\r\n`],;")
			if s == "" {
				a.atEdge = true
				return ""
			}
		}
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			if strings.HasPrefix(s[i:], callBegin) {
				a.sendText(s[:i])
				a.inCall = true
				return s[i:]
			}
			if strings.HasPrefix(callBegin, s[i:]) {
				a.hold(s, i)
				return ""
			}
			continue
		case '{', '[', '`':
		default:
			continue
		}
		line := i == 0 && a.atLineStart || i > 0 && s[i-1] == '\n'
		switch v, n := probe(s[i:], line, false, false); v {
		case verdictUndecided:
			a.hold(s, i)
			return ""
		case verdictYes:
			if a.sendText(s[:i]); a.droppedText {
				return ""
			}
			return a.beginObject(s[i:i+n], s[i+n:])
		}
	}
	a.sendText(s)
	return ""
}

// hold passes on the first i bytes of s, and keeps the rest for when there is
// more.
func (a *actionReader) hold(s string, i int) {
	line := i == 0 && a.atLineStart || i > 0 && s[i-1] == '\n'
	if a.sendText(s[:i]); !a.droppedText {
		a.pending, a.atLineStart = s[i:], line
	}
}

// inMarkup passes on text up to the mark that ends a call, and returns what is
// behind it: objects in there are no replies.
func (a *actionReader) inMarkup(s string) string {
	n := strings.Index(s, callEnd)
	if a.inCall = n < 0; !a.inCall {
		n += len(callEnd)
		a.sendText(s[:n])
		return s[n:]
	}
	n = max(0, len(s)-len(callEnd)+1)
	for !strings.HasPrefix(callEnd, s[n:]) { // "" is one as well
		n++
	}
	a.hold(s, n)
	return ""
}

// sendText passes on text that is no action.
func (a *actionReader) sendText(s string) {
	if s == "" {
		return
	}
	if a.calls > 0 {
		a.droppedText = a.droppedText || strings.Trim(s, " \t\r\n`],;") != ""
		return
	}
	a.atEdge, a.atLineStart = false, s[len(s)-1] == '\n'
	a.emit(a.alias, llm.Text, s)
}

// isAnswer reports whether a block holds the answer of an action, which is not
// read for calls.
func isAnswer(block string) bool { return strings.Contains(block, "/"+answerBlock) }

const answerBlock = "answer"

// newBlock names another block.
func (a *actionReader) newBlock(what string) string {
	a.blocks++
	return a.block + "/" + what + strconv.Itoa(a.blocks)
}

// beginObject begins an object; lead ends with its bracket.
func (a *actionReader) beginObject(lead, rest string) string {
	a.openAction = openAction{lead: lead[:len(lead)-1], object: append(a.object[:0], '{'), lexer: newLexer(a.pass)}
	return rest
}

// pass hands thought and answer on.
func (a *actionReader) pass(field role, text string) {
	if field == answer && a.calls > 0 { // it cannot know the results
		a.droppedText = true
		return
	}
	kind, i, what := llm.Thinking, 0, "thought"
	if field == answer {
		kind, i, what = llm.Text, 1, answerBlock
	}
	if a.ids[i] == "" {
		a.ids[i] = a.newBlock(what)
	}
	a.sent[i].WriteString(text)
	a.emit(a.ids[i], kind, text)
}

// readObject reads more of the object, and returns what is behind it.
func (a *actionReader) readObject(s string) string {
	n, done := len(s), false
	if !a.lexer.broken {
		n, done = a.lexer.feed(s)
	}
	a.object = append(a.object, s[:n]...)
	if !done {
		return s[n:]
	}
	whole := a.object
	got, ok := interpret(whole, a.tools)
	if !ok {
		if whole, ok = schema.RepairWhole(whole); !ok || !a.lexer.raw {
			a.lexer.broken = true // quotes that nobody escaped: the end is somewhere else
			return s[n:]
		}
		got, _ = interpret(whole, a.tools)
	}
	a.takeObject(whole, got)
	return s[n:]
}

// takeObject takes a whole object, which says got.
func (a *actionReader) takeObject(object []byte, got action) {
	l := a.lexer
	a.lexer = nil
	a.atEdge = true
	if got.isEmpty() {
		a.rejectObject(object)
		return
	}
	a.emitRest(l, thought, 0, got.thought)
	a.emitRest(l, answer, 1, got.answer)
	for _, c := range got.calls {
		a.calls++
		a.call(a.newBlock("call"), c)
	}
	a.hadAction = true
	a.alias = a.newBlock("text")
}

// emitRest passes on what of a member did not go out while l read the object.
func (a *actionReader) emitRest(l *lexer, field role, i int, member json.RawMessage) {
	if l.emitted[field] && !l.broken {
		return
	}
	if rest, ok := strings.CutPrefix(asString(member), a.sent[i].String()); ok && rest != "" {
		a.pass(field, rest)
	}
}

// rejectObject gives an object back as text that was none of ours.
func (a *actionReader) rejectObject(object []byte) {
	if a.sent[0].Len() == 0 && a.sent[1].Len() == 0 {
		a.sendText(a.lead + string(object))
	}
	a.atEdge = a.hadAction
}

func (a *actionReader) end(well bool) {
	pending := a.pending
	a.pending = ""
	if a.lexer == nil {
		if !a.hadAction || strings.Trim(pending, " \t\r\n`],;") != "" {
			a.sendText(pending)
		}
		return
	}
	fixed, whole := schema.RepairWhole(a.object)
	if well && whole {
		a.Send(llm.Notice{Text: "repaired a broken reply"})
		got, _ := interpret(fixed, a.tools)
		a.takeObject(fixed, got)
		return
	}
	l := a.lexer
	a.lexer = nil
	if fixed, ok := schema.Repair(a.object); ok && l.broken {
		got, _ := interpret(fixed, a.tools)
		a.emitRest(l, thought, 0, got.thought)
		a.emitRest(l, answer, 1, got.answer)
		l.isCall = l.isCall || len(got.calls) > 0
	}
	switch {
	case l.isCall && well:
		a.calls++
		a.call(a.newBlock("call"), call{name: toolIn(a.object, a.tools), args: a.object, unreadable: true})
		return
	case l.isCall:
		a.Send(llm.Notice{Text: "a tool call was incomplete and was not run"})
	}
	if a.sent[0].Len() == 0 && a.sent[1].Len() == 0 {
		a.sendText(a.lead + string(a.object))
	}
}

// toolIn returns the tool that a reply asks for which broke off.
func toolIn(object []byte, tools []llm.Tool) string {
	if fixed, ok := schema.Repair(object); ok {
		if got, _ := interpret(fixed, tools); len(got.calls) > 0 {
			return got.calls[0].name
		}
	}
	return "tool_call"
}

// noticeHallucinated is told where words behind a call were left out.
const noticeHallucinated = "text after the tool call dropped"
