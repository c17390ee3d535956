package filter

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// Harmony returns a filter for the answer of model to req that reads the form in which gpt-oss
// writes, where a server left it in the text or in the thinking. Its messages are thinking
// (channel analysis), text (final, commentary) or calls (those to a tool); its tokens are dropped.
// Where a server dropped the tokens, words alone count at the beginning, if the model is gpt-oss:
// "commentary to=functions.NAME json{…}" and "analysisWe need …assistantfinal…".
func Harmony(req llm.Request, model string) func(llm.Stream) llm.Stream {
	first := slices.Concat(harmonyOpens, []string{harmonyMessage})
	if strings.Contains(strings.ToLower(model), "gpt-oss") {
		first = slices.Concat(first, harmonyWords, harmonyThoughts)
	}
	return func(s llm.Stream) llm.Stream {
		return func(yield func(llm.Event, error) bool) {
			h := &harmony{Out: llm.NewOut(yield), first: first, offered: options{tools: req.Tools, lenient: true}}
			defer h.close()
			rewrite(s, h)
		}
	}
}

// The marks of harmony.
var (
	harmonyChannels = []string{"analysis", "commentary", "final"}
	harmonyOpens    = []string{"<|start|>assistant", "<|channel|>analysis", "<|channel|>commentary", "<|channel|>final"}
	harmonyEnds     = []string{"<|end|>", "<|return|>", "<|call|>"}
	harmonyWords    = []string{"assistantanalysis", "assistantcommentary", "assistantfinal"}
	harmonyThoughts = []string{"commentary to=", "analysis to=", "analysisWe ", "analysisThe ", "analysisUser ", "analysisNeed ", "analysisI ", "analysisJust "}
)

const harmonyMessage = "<|message|>"

type harmony struct {
	*llm.Out
	offered   options
	first     []string // marks at the beginning of a block
	block     string   // that is read
	kind      llm.Kind
	fresh     bool // only white space came of the block
	sent      bool // text of the block was sent as it came
	undecided string
	md        markdown
	loose     bool // words alone are marks
	messages  int
	calls     int

	*parser // reads messages, to the end of the block; nil before the first
	next    func() (struct{}, bool)
	stop    func()
}

func (h *harmony) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		h.delta(d, e)
		return
	case llm.Finish:
		h.end(d.Reason == llm.Stop || d.Reason == llm.Calls)
		if h.calls > 0 && d.Reason == llm.Stop {
			d.Reason = llm.Calls
			e = d
		}
	}
	h.Send(e)
}

// delta handles d, which is e.
func (h *harmony) delta(d llm.Delta, e llm.Event) {
	switch own := d.Kind == llm.Text || d.Kind == llm.Thinking; {
	case own && (d.Block != h.block || d.Kind != h.kind):
		h.end(false)
		h.block, h.kind, h.fresh, h.sent, h.md = d.Block, d.Kind, true, false, markdown{}
	case d.Kind != "" && !own:
		h.end(false)
		h.kind = ""
	}
	if d.Block != h.block || h.kind == "" || d.Text == "" {
		h.Send(e)
		return
	}
	i := 0
	if h.parser == nil && h.undecided == "" && !h.fresh {
		if i = h.findMark(d.Text, 0); i == len(d.Text) {
			h.sent = true
			h.Send(e) // nearly every delta of an answer
			return
		}
	}
	if hasMore(d) {
		head := d
		head.Text = ""
		h.Send(head)
	}
	if h.parser == nil {
		text := h.undecided + d.Text
		h.undecided = ""
		h.plain(text, i)
		return
	}
	if h.add(d.Text) {
		h.next()
	}
}

// findMark returns where a mark may begin in s, from i on.
func (h *harmony) findMark(s string, i int) int {
	if h.kind == llm.Text {
		return h.md.seek(s, i)
	}
	if n := strings.IndexByte(s[i:], '<'); n >= 0 {
		return i + n
	}
	return len(s)
}

// plain handles text outside messages, of which the first i bytes have no mark.
func (h *harmony) plain(s string, i int) {
	if h.fresh {
		trimmed := strings.TrimLeft(s, whitespace)
		first, begins := prefixOf(trimmed, h.first)
		switch {
		case len(s)-len(trimmed) > maxSpace:
		case first:
			h.loose = trimmed[0] != '<'
			h.read(trimmed)
			return
		case begins:
			h.undecided = s
			return
		}
		h.fresh = false
	}
	for i = h.findMark(s, i); i < len(s); i = h.findMark(s, i+1) {
		rest, _ := cutHarmonyEnds(s[i:])
		opens, begins := prefixOf(rest, harmonyOpens)
		if _, ends := prefixOf(rest, harmonyEnds); opens || begins || ends {
			if h.sendPlain(s[:i]); opens {
				h.read(rest)
			} else {
				h.undecided = s[i:]
			}
			return
		}
		h.md.step(s[i])
	}
	h.sendPlain(s)
}

// prefixOf reports whether s begins with one of marks, and whether it may with more text.
func prefixOf(s string, marks []string) (found, begins bool) {
	for _, mark := range marks {
		found = found || strings.HasPrefix(s, mark)
		begins = begins || strings.HasPrefix(mark, s)
	}
	return found, begins
}

// cutHarmonyEnds returns s without the tokens that end messages in the first maxSpace bytes.
func cutHarmonyEnds(s string) (rest string, ends bool) {
	s, behind := s[:min(len(s), maxSpace)], s[min(len(s), maxSpace):]
	for rest = s; ; ends = true {
		i := slices.IndexFunc(harmonyEnds, func(end string) bool { return strings.HasPrefix(rest, end) })
		if i < 0 {
			return rest + behind, ends
		}
		rest = strings.TrimLeft(rest[len(harmonyEnds[i]):], whitespace)
	}
}

func (h *harmony) sendPlain(s string) {
	if s != "" {
		h.sent = true
		h.Send(llm.Delta{Block: h.block, Part: llm.Part{Kind: h.kind, Text: s}})
	}
}

// read reads messages from s on, in a coroutine that pauses for more text.
func (h *harmony) read(s string) {
	h.parser = &parser{options: h.offered}
	h.next, h.stop = iter.Pull(func(yield func(struct{}) bool) {
		h.pause = yield
		for h.need(1) && !h.Stopped() {
			h.message()
		}
	})
	h.add(s)
	h.next()
}

// end ends the block; well reports whether the response ended normally.
func (h *harmony) end(well bool) {
	if h.parser != nil {
		h.ended, h.complete = true, well
		h.next()
		h.close()
	}
	undecided := h.undecided
	h.undecided, h.loose = "", false
	if rest, ends := cutHarmonyEnds(undecided); !ends || rest != "" {
		h.sendPlain(undecided)
	}
}

// flush sends what is held back: the answer broke off.
func (h *harmony) flush() { h.end(false) }

func (h *harmony) close() {
	if h.parser != nil {
		h.stop()
		h.parser = nil
	}
}

// message reads one message, or as much of one as there is.
func (h *harmony) message() {
	h.skipSpace()
	other := h.literal("<|start|>") && !h.literal("assistant") // a result that the model wrote itself
	if !other {
		h.literal("assistant")
	}
	channel, tool := "", ""
	for begun := false; !begun; {
		h.skipSpace()
		i := -1
		if channel == "" {
			i = slices.IndexFunc(harmonyChannels, func(c string) bool { return h.literal(c) })
		}
		switch {
		case i >= 0:
			channel = harmonyChannels[i]
			begun = h.loose && !h.isNext("to=", harmonyMessage, "<|constrain|>")
		case h.literal("to="):
			tool, _ = h.readName()
		case other && h.peek() != '<':
			if _, ok := h.readName(); !ok {
				begun = true
			}
		case h.literal("<|constrain|>"):
			h.readName()
		case tool != "" && h.anyOf("json", "code"), h.literal("<|channel|>"):
		case h.anyOf(harmonyEnds...), !h.need(1), h.isMark("<|start|>"):
			return
		default:
			h.literal(harmonyMessage)
			begun = true
		}
	}
	h.messages++
	kind := llm.Text
	switch {
	case other:
		kind = ""
	case tool != "" && tool != "assistant" && tool != "user":
		h.call(tool)
		return
	case channel == "analysis", channel == "" && h.kind == llm.Thinking:
		kind = llm.Thinking
	}
	if h.sent && h.kind == llm.Text && channel != "commentary" && h.messages == 1 { // it was a message without its header
		h.Send(llm.Delta{Block: h.block, Part: llm.Part{Kind: llm.Thinking}})
	}
	h.body(kind)
}

// isMark reports whether mark comes next.
func (h *harmony) isMark(mark string) bool {
	at := h.pos
	defer func() { h.pos = at }()
	return h.literal(mark)
}

// atEnd reports whether a message ends here, and consumes the token that ends it.
func (h *harmony) atEnd() bool {
	return h.anyOf(harmonyEnds...) || h.isMark("<|start|>") || h.isMark("<|channel|>") ||
		h.loose && slices.ContainsFunc(harmonyWords, h.isMark)
}

// body passes the text of a message on as kind; "" drops it.
func (h *harmony) body(kind llm.Kind) {
	block := h.block + "/harmony" + strconv.Itoa(h.messages)
	var md markdown
	send := func(n int) {
		text := string(h.buf[h.pos : h.pos+n])
		h.buf, h.pos = h.buf[h.pos+n:], 0
		md.stepAll(text)
		if text != "" && kind != "" {
			h.Send(llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: text}})
		}
	}
	marks := "<"
	if h.loose {
		marks = "<a"
	}
	for h.need(1) && !h.Stopped() {
		n := bytes.IndexAny(h.buf[h.pos:], marks)
		if n < 0 {
			n = len(h.buf) - h.pos
		}
		if n > 0 {
			send(n)
			continue
		}
		if code := kind == llm.Text && md.code('<'); !code {
			if h.atEnd() {
				return
			}
			if h.anyOf(harmonyMessage, "<|constrain|>") {
				continue
			}
		}
		send(1)
	}
}

// call reads the arguments of a call and sends it.
func (h *harmony) call(tool string) {
	h.skipSpace()
	start, end, closed := h.pos, 0, false
	raw, ok := h.readJSON()
	if !ok { // it is what comes before the next token
		h.pos = start
	}
	for !closed && h.seek("<a") {
		end = h.pos
		if closed = h.atEnd(); !closed {
			h.pos++
		}
	}
	if !closed {
		end = h.pos
	}
	if !ok {
		raw = string(h.buf[start:end])
	}
	c, _ := h.buildJSONCall(tool, raw)
	if c.unknownTool {
		c.name = strings.TrimPrefix(tool, "functions.")
	}
	if c.repaired {
		h.Send(llm.Notice{Text: "repaired a broken tool call"})
	}
	if cut := !ok && !closed; cut {
		c.input, c.unreadable = raw, true
	}
	h.calls++
	h.Send(llm.Delta{Block: h.block + "/harmony" + strconv.Itoa(h.messages), Part: llm.Part{
		Kind: llm.Call, ID: NewID(), Name: c.name, Input: c.input, Failed: c.unreadable,
	}})
}
