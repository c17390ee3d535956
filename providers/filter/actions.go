package filter

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"parley/providers/llm"
	"parley/providers/schema"
)

// Actions returns the filter Prompted for a model instructed to write each reply as one JSON object:
// a call or the answer.
//
//   - The first member of an object decides whether it is an action. Until then the object is
//     buffered, with the fence or bracket before it.
//   - Thought and answer are passed on as they arrive. A call is sent when its object is complete,
//     or could be repaired without guessing a truncated value.
//   - Actions may be in a fence, in a list, after each other, or after text.
//   - Other text is the answer of a model that ignored the form. It is searched for calls as in
//     Prompted; the answer of an action is not. Text after a call is dropped, since the model makes
//     up the result of the call there.
func Actions(req llm.Request) func(llm.Stream) llm.Stream {
	o := optionsFor(req, promptedCorrections)
	o.prompted, o.skip = true, func(block string) bool { return strings.Contains(block, "/"+answerBlock) }
	return func(s llm.Stream) llm.Stream {
		if len(o.tools) == 0 {
			return s
		}
		return calls(o)(func(yield func(llm.Event, error) bool) {
			a := &actionReader{Out: llm.NewOut(yield), tools: &parser{options: options{tools: o.tools, lenient: true}}}
			defer a.close()
			rewrite(s, a)
		})
	}
}

// answerBlock is part of the names of blocks with the answer of an action.
const answerBlock = "answer"

// An actionReader finds the actions in the text of one response.
type actionReader struct {
	*llm.Out
	tools *parser // builds calls

	block       string       // name of the last text block
	reader      *blockReader // reader of block; nil outside a block
	whole       llm.Event    // the current delta, if it is only text
	delta       string       // text of the current delta
	blocks      int          // number of blocks named so far
	calls       int
	droppedText bool // text after a call was dropped
}

func (a *actionReader) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		same := a.reader != nil && d.Block == a.block
		if d.Kind != llm.Text && !(same && d.Kind == "") {
			break
		}
		if !same {
			a.end(false)
			a.block, a.reader = d.Block, a.newReader(d.Block)
		}
		sendHead(a.Out, d)
		if d.OnlyText() && d.Kind == llm.Text {
			a.whole, a.delta = e, d.Text
		}
		a.reader.feed(d.Text)
		a.whole = nil
		return
	case llm.Finish:
		a.end(d.Reason == llm.Stop || d.Reason == llm.Calls)
		if a.droppedText {
			a.Send(llm.Notice{Text: noticeHallucinated})
		}
		if a.calls > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
		}
		e = d
	}
	a.Send(e)
}

func (a *actionReader) flush() { a.end(false) }

// end ends the current block; well means that the response ended normally with it.
func (a *actionReader) end(well bool) {
	if r := a.reader; r != nil {
		r.finish(well)
		a.reader = nil
	}
}

func (a *actionReader) close() {
	if a.reader != nil {
		a.reader.stop()
	}
}

func (a *actionReader) emit(block string, kind llm.Kind, text string) {
	p := llm.Part{Kind: kind, Text: text}
	switch {
	case text == "":
	case a.whole != nil && kind == llm.Text && block == a.block && text == a.delta: // the usual case in a plain answer
		a.Send(a.whole)
	default:
		if kind == llm.Thinking {
			p.Name = Thought
		}
		a.Send(llm.Delta{Block: block, Part: p})
	}
}

func (a *actionReader) call(c call) {
	a.calls++
	a.Send(llm.Delta{Block: a.newBlock("call"), Part: llm.Part{Kind: llm.Call, ID: NewID(), Name: c.name, Input: c.input, Failed: c.unreadable}})
}

// newBlock returns a new block name.
func (a *actionReader) newBlock(purpose string) string {
	a.blocks++
	return a.block + "/" + purpose + strconv.Itoa(a.blocks)
}

// A blockReader reads one block, in a coroutine that pauses for more text.
type blockReader struct {
	source
	*actionReader
	alias     string // block that receives the text
	hadAction bool
	inMarkup  bool   // between callOpen and callClose, where objects are not actions
	sent      int    // start of the text not yet passed on; -1 outside text
	held      int    // start of text that may begin an action
	decoded   []byte // decoded text before sent, not yet passed on

	inObject bool
	openAction
}

// An openAction is the object being read.
type openAction struct {
	field  role               // role of the current member
	isCall bool               // it has a member of a call
	passed [2]strings.Builder // text of thought and answer passed on so far
	ids    [2]string          // blocks of thought and answer
}

func (a *actionReader) newReader(block string) *blockReader {
	r := &blockReader{actionReader: a, alias: block, held: math.MaxInt}
	r.start(func() {
		pause := r.pause
		r.pause = func(struct{}) bool {
			r.push(min(r.held, len(r.buf)))
			return pause(struct{}{})
		}
		r.read()
		r.push(len(r.buf))
	})
	return r
}

// feed adds text and lets the reader process it.
func (r *blockReader) feed(text string) {
	switch {
	case r.droppedText && !r.inObject:
	case r.add(text):
		r.next()
	case r.sent == len(r.buf)-len(text):
		r.sent = len(r.buf)
		r.pass(text)
	}
}

// push passes on the text before position to.
func (r *blockReader) push(to int) {
	if r.sent >= 0 && r.sent < to {
		r.decoded = append(r.decoded, r.buf[r.sent:to]...)
		r.sent = to
	}
	if len(r.decoded) > 0 {
		text := string(r.decoded)
		r.decoded = r.decoded[:0]
		r.pass(text)
	}
}

// pass passes on text, either of the current member or outside of actions.
func (r *blockReader) pass(text string) {
	switch kind, i, purpose := llm.Thinking, 0, "thought"; {
	case !r.inObject:
		r.sendText(text)
	case r.field == answer && r.calls > 0: // it was written before the results are known
		r.droppedText = true
	default:
		if r.field == answer {
			kind, i, purpose = llm.Text, 1, answerBlock
		}
		if r.ids[i] == "" {
			r.ids[i] = r.newBlock(purpose)
		}
		r.passed[i].WriteString(text)
		r.emit(r.ids[i], kind, text)
	}
}

// sendText passes on text outside of actions.
func (r *blockReader) sendText(s string) {
	if r.calls > 0 {
		r.droppedText = r.droppedText || strings.Trim(s, betweenActions) != ""
		return
	}
	r.emit(r.alias, llm.Text, s)
}

// betweenActions is a set of the characters that may separate actions.
const betweenActions = whitespace + "`],;"

// The marks around calls in the other form that models are told to use.
const (
	callOpen  = "<tool_call>"
	callClose = "</tool_call>"
)

// read reads the block.
func (r *blockReader) read() {
	lineStart := 0 // where a line begins, besides after a line break
	for edge := true; r.need(1) && !r.Stopped() && !r.droppedText; {
		start := r.pos
		if edge {
			if r.beginsAction(true, true) {
				edge = r.object(start)
				continue
			}
			if r.hadAction {
				r.skip(betweenActions, math.MaxInt)
				r.sent = r.pos
			}
			edge, lineStart = false, r.pos
		}
		if !r.seek("<{[`") {
			return
		}
		start = r.pos
		switch {
		case r.inMarkup:
			r.inMarkup = !r.mark(callClose)
		case r.buf[start] == '<':
			r.inMarkup = r.mark(callOpen)
		case r.beginsAction(start == lineStart || r.buf[start-1] == '\n', false):
			edge = r.object(start)
			continue
		}
		r.pos = max(r.pos, start+1)
	}
}

// mark consumes a mark of the other form.
func (r *blockReader) mark(text string) bool {
	r.held = r.pos
	ok := r.literal(text)
	r.held = math.MaxInt
	return ok
}

// skip consumes bytes of set up to the position end.
func (r *blockReader) skip(set string, end int) {
	for r.pos < end && r.need(1) && strings.IndexByte(set, r.buf[r.pos]) >= 0 {
		r.pos++
	}
}

// maxLead bounds the buffered text that may begin an action.
const maxLead = 512

// beginsAction reports whether an action comes next, and moves to its first bracket. Within a text,
// only names of the action form count, and answer only at the start of a line. At the edge of a text,
// names of other forms count too.
func (r *blockReader) beginsAction(line, edge bool) bool {
	start := r.pos
	end := start + maxLead
	r.held = start
	switch {
	case edge && r.hadAction:
		r.skip(betweenActions, end)
	case edge:
		r.skip(whitespace, end)
	}
	if r.literal("```") {
		r.skip(letters+"0123456789", end)
		r.skip(whitespace, end)
	}
	if r.take('[') {
		r.skip(whitespace, end)
	}
	bracket := r.pos
	ok := r.take('{') && r.beginsMember(line, edge, end) && r.pos <= end
	if r.pos, r.held = start, math.MaxInt; ok {
		r.pos = bracket
	}
	return ok
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// beginsMember reports whether the name of an action's first member comes next.
func (r *blockReader) beginsMember(line, edge bool, end int) bool {
	r.skip(whitespace, end)
	quote := r.peek()
	quoted := quote == '"' || quote == '\''
	if quoted {
		r.pos++
	}
	start := r.pos
	r.skip(letters+"_", start+21)
	key := strings.ToLower(string(r.buf[start:r.pos]))
	if quoted && !r.take(quote) {
		return false
	}
	r.skip(whitespace, end)
	return r.take(':') && (isFormKey(key) && (line || key != "answer") || edge && (roleOf(key) != other || key == "type" || key == "id"))
}

// object reads the action whose first bracket comes next, and reports whether another one may
// follow. Text from start on is given back if it is none.
func (r *blockReader) object(start int) (edge bool) {
	if r.push(start); r.droppedText {
		return false
	}
	at := r.pos
	r.sent, r.inObject, r.openAction = -1, true, openAction{}
	defer func() { r.inObject, r.sent = false, r.pos }()
	if r.members() {
		if got, ok := r.interpret(escapeControls(string(r.buf[at:r.pos]))); ok {
			return r.accept(start, got)
		}
	}
	for r.pos = len(r.buf); r.need(1); r.pos = len(r.buf) { // where a broken object ends is not known
	}
	object := r.buf[at:]
	fixed, _ := schema.Repair(object)
	got, _ := r.interpret(string(fixed))
	if _, whole := schema.RepairWhole(object); whole && r.complete {
		if !got.isEmpty() {
			r.Send(llm.Notice{Text: "repaired a broken reply"})
		}
		return r.accept(start, got)
	}
	r.emitRest(got)
	r.isCall = r.isCall || len(got.calls) > 0
	switch {
	case r.isCall && r.complete:
		c := call{name: "tool_call", input: string(object), unreadable: true}
		if len(got.calls) > 0 {
			c.name = got.calls[0].name
		}
		r.call(c)
		return false
	case r.isCall:
		r.Send(llm.Notice{Text: "a tool call was incomplete and was not run"})
	}
	r.giveBack(start)
	return false
}

// accept passes on what an object says, and reports whether another action may follow.
func (r *blockReader) accept(start int, got action) (edge bool) {
	if got.isEmpty() {
		r.giveBack(start)
		return r.hadAction
	}
	r.emitRest(got)
	for _, c := range got.calls {
		r.call(c)
	}
	r.hadAction, r.alias = true, r.newBlock("text")
	return true
}

// giveBack passes on an object that is no action as text, unless something of it was passed on.
func (r *blockReader) giveBack(start int) {
	if r.passed[0].Len() == 0 && r.passed[1].Len() == 0 {
		r.sendText(string(r.buf[start:r.pos]))
	}
}

// emitRest passes on the thought and answer that were not passed on while they arrived.
func (r *blockReader) emitRest(got action) {
	for i, member := range []json.RawMessage{got.thought, got.answer} {
		r.field = thought + role(i)
		if rest, ok := strings.CutPrefix(textOf(member), r.passed[i].String()); ok && rest != "" {
			r.pass(rest)
		}
	}
}

// members reads an object, and passes on thought and answer as they arrive. It returns false where the
// text stops being JSON.
func (r *blockReader) members() bool {
	r.pos++
	for r.skipSpace(); !r.take('}'); r.skipSpace() {
		start := r.pos + 1
		if r.peek() != '"' || !r.skipString() || r.pos-start > 200 {
			return false
		}
		r.field = roleOf(strings.ToLower(string(r.buf[start:r.pos])))
		r.isCall = r.isCall || r.field >= name
		if r.pos++; !r.literal(" : ") || !r.value() {
			return false
		}
		if r.skipSpace(); !r.take(',') && r.peek() != '}' {
			return false
		}
	}
	return true
}

// value reads the value of a member.
func (r *blockReader) value() (ok bool) {
	switch c := r.peek(); {
	case c == '"' && (r.field == thought || r.field == answer):
		ok = r.liveString()
	case c == '"':
		ok = r.skipString() && r.take('"')
	case c == '{' || c == '[':
		if r.field == answer {
			r.sent = r.pos
		}
		_, ok = r.readJSON()
		r.push(r.pos)
	default:
		start := r.pos
		r.skip("+-.0123456789eEtrufalsn", start+400)
		ok = r.pos > start
	}
	r.sent = -1
	return ok
}

// liveString reads a string and passes it on as it arrives.
func (r *blockReader) liveString() bool {
	r.pos++
	for r.sent = r.pos; r.seek(`"\`); r.sent = r.pos {
		r.decoded = append(r.decoded, r.buf[r.sent:r.pos]...)
		r.sent = -1
		if r.take('"') {
			r.push(0)
			return true
		}
		n := r.escape()
		if r.starved {
			return false
		}
		unit := r.buf[r.pos : r.pos+n]
		var text string
		if known := strings.IndexByte(escapeLetters, unit[1]); known >= 0 {
			r.decoded = append(r.decoded, escapeValues[known])
		} else if json.Unmarshal([]byte(`"`+string(unit)+`"`), &text) == nil {
			r.decoded = append(r.decoded, text...)
		} else {
			r.decoded = append(r.decoded, unit...)
		}
		r.pos += n
	}
	return false
}

// Escapes of two bytes, with the quotes that models escape too.
const (
	escapeLetters = "ntrbf\"\\/'`"
	escapeValues  = "\n\t\r\b\f\"\\/'`"
)

// escape returns the length of the escape that comes next, or of a surrogate pair of two.
func (r *blockReader) escape() int {
	n := r.unicodeEscape(0)
	if n < 6 {
		return n
	}
	high, _ := strconv.ParseUint(string(r.buf[r.pos+2:r.pos+6]), 16, 32)
	if !utf16.IsSurrogate(rune(high)) || high >= 0xDC00 || !r.need(7) || r.buf[r.pos+6] != '\\' || r.unicodeEscape(6) < 6 {
		return 6
	}
	if low, _ := strconv.ParseUint(string(r.buf[r.pos+8:r.pos+12]), 16, 32); low >= 0xDC00 && low < 0xE000 {
		return 12
	}
	return 6
}

// unicodeEscape returns the length of the escape at bytes after pos: 6 for a complete \u with its four digits.
func (r *blockReader) unicodeEscape(at int) int {
	n := 2
	if !r.need(at+2) || r.buf[r.pos+at+1] != 'u' {
		return n
	}
	for n < 6 && r.need(at+n+1) && strings.IndexByte("0123456789abcdefABCDEF", r.buf[r.pos+at+n]) >= 0 {
		n++
	}
	return n
}
