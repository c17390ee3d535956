package filter

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
)

// Harmony returns a filter for the answers of model that parses gpt-oss's message format where a server left it in
// the text or in the thinking. Its messages become thinking (channel analysis), text (final, commentary) or, if
// addressed to a tool, call markup for Calls; its tokens are dropped. End-of-turn tokens, with the white space around
// them, are removed from the end of any response; elsewhere, and in code, they are text. If the model is gpt-oss,
// "commentary to=functions.NAME json{…}" at the start counts too, since some servers drop the tokens.
func Harmony(model string) func(llm.Stream) llm.Stream {
	words := strings.Contains(strings.ToLower(model), "gpt-oss")
	return func(s llm.Stream) llm.Stream {
		return func(yield func(llm.Event, error) bool) {
			h := &harmony{Out: llm.NewOut(yield), words: words}
			defer h.close()
			rewrite(s, h)
		}
	}
}

// Marks of harmony.
var (
	harmonyChannels = []string{"analysis", "commentary", "final"}
	harmonyOpens    = []string{"<|start|>assistant", "<|channel|>analysis", "<|channel|>commentary", "<|channel|>final"}
	harmonyEnds     = []string{"<|end|>", "<|return|>", "<|call|>"}
	harmonyTokens   = []string{"<|start|>", "<|channel|>"}                                                     // they start a message after another one
	endTokens       = []string{"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>"} // of other templates
	harmonyWords    = []string{"commentary to=", "assistantcommentary to="}                                    // if the server dropped the tokens
)

const harmonyMessage = "<|message|>"

type harmony struct {
	*llm.Out
	words    bool // harmonyWords count too
	block    string
	kind     llm.Kind // kind of the block, Text or Thinking; "" for a block that is passed on
	messages int
	reader   *harmonyReader // reader of the block; nil before its first text
}

// A harmonyReader reads one block, in a coroutine that pauses for more text.
type harmonyReader struct {
	source
	*harmony
	md    markdown
	plain bool // it waits for text outside messages and buffers nothing
}

func (h *harmony) event(e llm.Event) {
	switch d := e.(type) {
	case llm.Delta:
		h.delta(d, e)
		return
	case llm.Finish:
		h.end(true)
	}
	h.Send(e)
}

// delta handles d; e is the same delta as an event.
func (h *harmony) delta(d llm.Delta, e llm.Event) {
	if own := d.Kind == llm.Text || d.Kind == llm.Thinking; own && (d.Block != h.block || d.Kind != h.kind) {
		h.end(false)
		h.block, h.kind = d.Block, d.Kind
	} else if d.Kind != "" && !own {
		h.end(false)
		h.kind = ""
	}
	if d.Block != h.block || h.kind == "" || d.Text == "" {
		h.Send(e)
		return
	}
	if r := h.reader; r != nil && r.plain && strings.IndexByte(d.Text, '<') < 0 {
		r.md.stepAll(d.Text)
		h.Send(e) // the usual case
		return
	}
	sendHead(h.Out, d)
	if h.reader == nil {
		r := &harmonyReader{harmony: h}
		r.start(r.read)
		h.reader = r
	}
	if h.reader.add(d.Text) {
		h.reader.next()
	}
}

func (h *harmony) flush() { h.end(false) }

// end ends the block; last means that the response ends with it.
func (h *harmony) end(last bool) {
	if r := h.reader; r != nil {
		r.finish(last)
		h.reader = nil
	}
}

func (h *harmony) close() {
	if h.reader != nil {
		h.reader.stop()
	}
}

// isMark reports whether one of marks comes next.
func (r *harmonyReader) isMark(marks ...string) bool {
	at := r.pos
	defer func() { r.pos = at }()
	return r.anyOf(marks...)
}

// read reads the block.
func (r *harmonyReader) read() {
	r.skipSpace()
	if !r.isMark(harmonyOpens...) && !r.literal(harmonyMessage) && !(r.words && r.isMark(harmonyWords...)) {
		r.pos = 0
		if sent := r.body(r.block, r.kind, true, r.kind == llm.Text); sent && r.kind == llm.Text && r.isMark("<|start|>assistant<|channel|>final", "<|start|>assistant<|channel|>analysis") {
			r.Send(llm.Delta{Block: r.block, Part: llm.Part{Kind: llm.Thinking}}) // the answer's header was dropped
		}
	}
	for r.need(1) && !r.Stopped() {
		r.message()
	}
}

// message reads one message, or the part of it that exists.
func (r *harmonyReader) message() {
	r.skipSpace()
	foreign := r.literal("<|start|>") && !r.isMark("assistant") // a tool result written by the model
	r.literal("assistant")
	channel, tool := "", ""
	for begun := false; !begun; {
		r.skipSpace()
		i := -1
		if channel == "" {
			i = slices.IndexFunc(harmonyChannels, func(c string) bool { return r.literal(c) })
		}
		switch {
		case i >= 0:
			channel = harmonyChannels[i]
		case r.literal("to="):
			tool, _ = r.readName()
		case r.literal("<|constrain|>"):
			r.readName()
		case tool != "" && r.anyOf("json", "code"), r.literal("<|channel|>"):
		case r.anyOf(harmonyEnds...), !r.need(1), r.isMark("<|start|>"):
			return
		case foreign && !r.isMark("<"):
			r.pos++
		default:
			r.literal(harmonyMessage)
			begun = true
		}
	}
	r.messages++
	block, kind := r.block+"/harmony"+strconv.Itoa(r.messages), llm.Text
	switch {
	case foreign:
		kind = ""
	case tool != "" && tool != "assistant" && tool != "user":
		r.send(block, kind, "<function="+strings.TrimPrefix(tool, "functions.")+">")
		if r.body(block, kind, false, false); !r.starved {
			r.send(block, kind, "</function>")
		}
		return
	case channel == "analysis", channel == "" && r.kind == llm.Thinking:
		kind = llm.Thinking
	}
	r.body(block, kind, false, kind == llm.Text)
}

// atEnd reports whether a message ends here, and consumes its end token. Outside messages, tokens
// are text unless only a message follows.
func (r *harmonyReader) atEnd(plain bool) bool {
	if !plain {
		return r.anyOf(harmonyEnds...) || r.isMark(harmonyTokens...)
	}
	at, ends, turn := r.pos, 0, false
	for ; ends < 16; ends++ {
		if other := !r.anyOf(harmonyEnds...); other && !r.anyOf(endTokens...) {
			break
		} else if other {
			turn = true
		}
		r.skipSpace()
	}
	if r.isMark(harmonyOpens...) || ends > 0 && !r.need(1) && (r.complete || !turn) {
		return true
	}
	r.pos = at
	return false
}

// body passes text on as kind until the end of a message, and reports whether there was any. Kind
// "" drops the text. If code is set, tokens in code are text.
func (r *harmonyReader) body(block string, kind llm.Kind, plain, code bool) (sent bool) {
	r.md = markdown{}
	for {
		r.plain = plain && r.pos == len(r.buf)
		if !r.need(1) || r.Stopped() {
			return sent
		}
		r.plain = false
		n := bytes.IndexByte(r.buf[r.pos:], '<')
		switch {
		case n < 0:
			n = len(r.buf) - r.pos
		case n > 0, code && r.md.code('<'):
		case r.atEnd(plain):
			return sent
		case !plain && r.anyOf(harmonyMessage, "<|constrain|>"):
			continue
		}
		text := string(r.buf[r.pos : r.pos+max(n, 1)])
		r.buf, r.pos = r.buf[r.pos+len(text):], 0
		r.md.stepAll(text)
		sent = true
		r.send(block, kind, text)
	}
}

// send sends text as kind, or drops it if kind is "".
func (r *harmonyReader) send(block string, kind llm.Kind, text string) {
	if kind != "" {
		r.Send(llm.Delta{Block: block, Part: llm.Part{Kind: kind, Text: text}})
	}
}
