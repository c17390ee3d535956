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

// actions reads replies of the form Action.
//
//   - The first member of an object decides whether it is an action; until then
//     it is held back, and so is a fence or bracket before it.
//   - Thought and answer are passed on as they arrive. A call is made when its
//     object is complete, or mended without guessing at a value that was cut off.
//   - Actions may stand in a fence, in a list, behind each other, or behind text.
//   - Text that is no action is the answer of a model that forgot the form, and
//     read by filter.Prompted; see isAnswer. Text behind a call is what the model
//     imagines of its result, and left out.
func actions(s llm.Stream, tools []llm.Tool) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		out := &sink{Out: llm.NewOut(yield)}
		rewrite(s, out, &actionReader{sink: out, tools: tools})
	}
}

type actionReader struct {
	*sink
	tools []llm.Tool

	block   string
	blocks  int    // names given to blocks
	alias   string // the block that text goes to
	edge    bool   // nothing but marks came since the beginning or the last action
	calls   int
	line    bool // what is held begins a line
	acted   bool // an action came in this block
	imagine bool // text behind a call was left out
	held    string
	markup  bool // between callBegin and callEnd, which are read elsewhere

	lead   string // what stood before the object that is being read
	object []byte // what came of it
	lexer  *lexer // nil outside of one
	sent   [2]strings.Builder
	ids    [2]string // the blocks of thought and answer
}

func (a *actionReader) begin(block string) {
	a.block, a.alias, a.edge, a.acted, a.markup = block, block, true, false, false
}

func (a *actionReader) finish(r llm.Reason) llm.Reason {
	if a.imagine {
		a.Send(llm.Notice{Text: imagined})
	}
	if a.calls > 0 && r == llm.Stop {
		return llm.Calls
	}
	return r
}

func (a *actionReader) text(s string) {
	for s != "" && !a.Stopped() {
		if a.lexer != nil {
			s = a.inside(s)
			continue
		}
		s = a.outside(s)
	}
}

// outside reads text up to the beginning of an object, and returns what is
// behind that.
func (a *actionReader) outside(s string) string {
	if a.imagine {
		return ""
	}
	s, a.held = a.held+s, ""
	if a.markup {
		return a.inMarkup(s)
	}
	if a.edge {
		v, n := probe(s, true, true, a.acted)
		switch v {
		case undecided:
			a.held = s
			return ""
		case found:
			return a.open(s[:n], s[n:])
		}
		a.edge, a.line = false, true
		if a.acted {
			s = strings.TrimLeft(s, " \t\r\n`],;")
			if s == "" {
				a.edge = true
				return ""
			}
		}
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			if strings.HasPrefix(s[i:], callBegin) {
				a.say(s[:i])
				a.markup = true
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
		line := i == 0 && a.line || i > 0 && s[i-1] == '\n'
		switch v, n := probe(s[i:], line, false, false); v {
		case undecided:
			a.hold(s, i)
			return ""
		case found:
			if a.say(s[:i]); a.imagine {
				return ""
			}
			return a.open(s[i:i+n], s[i+n:])
		}
	}
	a.say(s)
	return ""
}

// hold passes on the first i bytes of s, and keeps the rest for when there is
// more.
func (a *actionReader) hold(s string, i int) {
	line := i == 0 && a.line || i > 0 && s[i-1] == '\n'
	if a.say(s[:i]); !a.imagine {
		a.held, a.line = s[i:], line
	}
}

// inMarkup passes on text up to the mark that ends a call, and returns what is
// behind it: objects in there are no replies.
func (a *actionReader) inMarkup(s string) string {
	n := strings.Index(s, callEnd)
	if a.markup = n < 0; !a.markup {
		n += len(callEnd)
		a.say(s[:n])
		return s[n:]
	}
	n = max(0, len(s)-len(callEnd)+1)
	for !strings.HasPrefix(callEnd, s[n:]) { // "" is one as well
		n++
	}
	a.hold(s, n)
	return ""
}

// say passes on text that is no action.
func (a *actionReader) say(s string) {
	if s == "" {
		return
	}
	if a.calls > 0 {
		a.imagine = a.imagine || strings.Trim(s, " \t\r\n`],;") != ""
		return
	}
	a.edge, a.line = false, s[len(s)-1] == '\n'
	a.put(a.alias, llm.Text, s)
}

// isAnswer reports whether a block holds the answer of an action, which is not
// read for calls.
func isAnswer(block string) bool { return strings.Contains(block, "/"+answerBlock) }

const answerBlock = "answer"

// next names another block.
func (a *actionReader) next(what string) string {
	a.blocks++
	return a.block + "/" + what + strconv.Itoa(a.blocks)
}

// open begins an object; lead ends with its bracket.
func (a *actionReader) open(lead, rest string) string {
	a.lead, a.object = lead[:len(lead)-1], append(a.object[:0], '{')
	a.sent, a.ids = [2]strings.Builder{}, [2]string{}
	a.lexer = newLexer(a.pass)
	a.lexer.start()
	return rest
}

// pass hands thought and answer on.
func (a *actionReader) pass(field role, text string) {
	if field == answer && a.calls > 0 { // it cannot know the results
		a.imagine = true
		return
	}
	kind, i, what := llm.Thinking, 0, "thought"
	if field == answer {
		kind, i, what = llm.Text, 1, answerBlock
	}
	if a.ids[i] == "" {
		a.ids[i] = a.next(what)
	}
	a.sent[i].WriteString(text)
	a.put(a.ids[i], kind, text)
}

// inside reads more of the object, and returns what is behind it.
func (a *actionReader) inside(s string) string {
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
	a.take(whole, got)
	return s[n:]
}

// take takes a whole object, which says got.
func (a *actionReader) take(object []byte, got reading) {
	l := a.lexer
	a.lexer = nil
	a.edge = true
	if got.nothing() {
		a.reject(object)
		return
	}
	a.rest(l, thought, 0, got.thought)
	a.rest(l, answer, 1, got.answer)
	for _, c := range got.calls {
		a.calls++
		a.call(a.next("call"), c)
	}
	a.acted = true
	a.alias = a.next("text")
}

// rest passes on what of a member did not go out while l read the object.
func (a *actionReader) rest(l *lexer, field role, i int, member json.RawMessage) {
	if l.told[field] && !l.broken {
		return
	}
	if rest, ok := strings.CutPrefix(spoken(member), a.sent[i].String()); ok && rest != "" {
		a.pass(field, rest)
	}
}

// reject gives an object back as text that was none of ours.
func (a *actionReader) reject(object []byte) {
	if a.sent[0].Len() == 0 && a.sent[1].Len() == 0 {
		a.say(a.lead + string(object))
	}
	a.edge = a.acted
}

func (a *actionReader) end(well bool) {
	held := a.held
	a.held = ""
	if a.lexer == nil {
		if !a.acted || strings.Trim(held, " \t\r\n`],;") != "" {
			a.say(held)
		}
		return
	}
	fixed, whole := schema.RepairWhole(a.object)
	if well && whole {
		a.Send(llm.Notice{Text: "mended a broken reply"})
		got, _ := interpret(fixed, a.tools)
		a.take(fixed, got)
		return
	}
	l := a.lexer
	a.lexer = nil
	if fixed, ok := schema.Repair(a.object); ok && l.broken {
		got, _ := interpret(fixed, a.tools)
		a.rest(l, thought, 0, got.thought)
		a.rest(l, answer, 1, got.answer)
		l.tool = l.tool || len(got.calls) > 0
	}
	switch {
	case l.tool && well:
		a.calls++
		a.call(a.next("call"), call{name: toolIn(a.object, a.tools), args: a.object, unreadable: true})
		return
	case l.tool:
		a.Send(llm.Notice{Text: "a tool call broke off and was not run"})
	}
	if a.sent[0].Len() == 0 && a.sent[1].Len() == 0 {
		a.say(a.lead + string(a.object))
	}
}

// toolIn is the tool that a reply asks for which broke off.
func toolIn(object []byte, tools []llm.Tool) string {
	if fixed, ok := schema.Repair(object); ok {
		if got, _ := interpret(fixed, tools); len(got.calls) > 0 {
			return got.calls[0].name
		}
	}
	return "tool_call"
}

// imagined is told where words behind a call were left out.
const imagined = "left out what the model wrote behind its tool call"
