package filter

import (
	"strconv"
	"strings"

	"parley/providers/llm"
)

// thinkTags lists the tags that models put around thinking.
var thinkTags = []struct{ open, end string }{
	{"<think>", "</think>"},                     // DeepSeek R1, Qwen, GLM, MiniMax
	{"<thinking>", "</thinking>"},               //
	{"<|channel>thought", "<channel|>"},         // Gemma 4
	{"[THINK]", "[/THINK]"},                     // Magistral
	{"<seed:think>", "</seed:think>"},           // Seed-OSS
	{"\u25c1think\u25b7", "\u25c1/think\u25b7"}, // Kimi-VL
}

// Think returns a filter that turns tagged thinking at the very beginning of an
// answer into thinking blocks. White space around the tags belongs to them.
//
// Some templates open the thinking in the prompt, so that an answer has only a closing tag. The
// text before it was thinking, but has been sent as text. Such a tag counts if it is outside code
// and no opening tag precedes it. The text block is then renamed to thinking (a Delta that sets the
// Kind again), and the answer continues in a new block.
func Think(s llm.Stream) llm.Stream {
	return func(yield func(llm.Event, error) bool) { rewrite(s, &think{Out: llm.NewOut(yield)}) }
}

// A thinkState is the state of a think filter.
type thinkState int

const (
	atStart    thinkState = iota // only white space and thinking so far
	inThinking                   // after an opening tag
	inText                       // in text that a closing tag without an opening tag would rename
	finished                     // tags are text from now on
)

type think struct {
	*llm.Out
	state     thinkState
	block     string     // the first text block, the only one that is filtered
	begun     bool       // block is set
	head      *llm.Delta // the delta that opened block, buffered so that thinking can precede it
	undecided string     // text that may begin a tag, with the white space before it
	end       string     // tag that ends the thinking
	thoughts  int        // number of thinking blocks so far
	open      bool       // part of the last thinking block was sent
	answered  bool       // thinking has ended: white space before the answer is dropped
	renamed   bool       // block was renamed to thinking; text goes to a new block
	md        markdown
}

func (t *think) event(e llm.Event) {
	if d, ok := e.(llm.Delta); ok {
		t.delta(d, e)
		return
	}
	if _, ok := e.(llm.Finish); ok {
		t.flush()
	}
	t.Send(e)
}

// delta handles d; e is the same delta as an event.
func (t *think) delta(d llm.Delta, e llm.Event) {
	if !t.begun && d.Kind == llm.Text {
		t.begun, t.block = true, d.Block
	}
	if !t.begun || d.Block != t.block {
		t.otherBlock(d.Kind)
		t.Send(e)
		return
	}
	if d.Kind != llm.Text && d.Kind != "" { // the server renamed it
		t.flush()
		t.state = finished
	}
	if t.state == finished && !t.renamed {
		t.Send(e)
		return
	}
	i := 0
	if t.state == inText && t.undecided == "" {
		if i = t.md.seek(d.Text, 0); i == len(d.Text) {
			t.Send(e) // the usual case
			return
		}
	}
	if t.state == atStart && t.head == nil && !t.renamed {
		t.head = &llm.Delta{Block: d.Block, Part: d.Part}
		t.head.Text = ""
	} else {
		sendHead(t.Out, d)
	}
	t.text(t.undecided+d.Text, i)
}

// otherBlock updates the state with a delta of another block.
func (t *think) otherBlock(kind llm.Kind) {
	switch {
	case kind == llm.Call && t.state != inThinking,
		kind == llm.Thinking && t.state == atStart && t.thoughts == 0: // this server separates thinking itself
		t.flush()
		t.state = finished
	case t.state == atStart && t.begun && t.thoughts == 0 && !t.answered: // keeps the order of the blocks
		t.flush()
	}
}

// text handles text of the block. In state inText, its first i bytes contain no tag.
func (t *think) text(s string, i int) {
	t.undecided = ""
	for s != "" && !t.Stopped() {
		switch t.state {
		case atStart:
			s = t.leadingText(s)
		case inThinking:
			s = t.thinkingText(s)
		case inText:
			s = t.answerText(s, i)
		case finished:
			t.sendText(s)
			s = ""
		}
		i = 0
	}
}

// leadingText handles the start of s in state atStart, and returns the rest; thinkingText does so
// in inThinking, answerText in inText.

func (t *think) leadingText(s string) string {
	trimmed := strings.TrimLeft(s, whitespace)
	if t.answered {
		s = trimmed
	}
	styles, begins := thinkTags, false // including prefixes of tags
	if len(s)-len(trimmed) > maxSpace {
		styles = nil // after more white space a tag is text, even if it arrives in pieces
	}
	for _, style := range styles {
		if strings.HasPrefix(trimmed, style.open) {
			t.state, t.end, t.open = inThinking, style.end, false
			t.thoughts++
			return trimmed[len(style.open):]
		}
		if !t.answered && strings.HasPrefix(trimmed, style.end) { // empty thinking
			t.answered = true
			return trimmed[len(style.end):]
		}
		begins = begins || strings.HasPrefix(style.open, trimmed) || !t.answered && strings.HasPrefix(style.end, trimmed)
	}
	switch {
	case begins: // also for only white space
		t.undecided = s
		return ""
	case t.answered:
		t.state = finished
	default:
		t.state = inText
	}
	return s
}

func (t *think) thinkingText(s string) string {
	if !t.open {
		s = strings.TrimLeft(s, whitespace)
	}
	if thought, rest, ended := strings.Cut(s, t.end); ended {
		t.sendThinking(thought[:len(thought)-trailingSpace(thought)])
		t.state, t.answered = atStart, true
		return rest
	}
	keep := partialMark(s, t.end)
	keep += trailingSpace(s[:len(s)-keep])
	t.sendThinking(s[:len(s)-keep])
	t.undecided = s[len(s)-keep:]
	return ""
}

func (t *think) answerText(s string, i int) string {
	for i = t.md.seek(s, i); i < len(s); i = t.md.seek(s, i+1) {
		rest, begins := s[i:], false
		for _, style := range thinkTags {
			if strings.HasPrefix(rest, style.open) { // the answer is about tags
				t.state = finished
				t.sendText(s)
				return ""
			}
			if strings.HasPrefix(rest, style.end) {
				t.sendText(s[:i])
				t.Send(llm.Delta{Block: t.block, Part: llm.Part{Kind: llm.Thinking}})
				t.state, t.answered, t.renamed = atStart, true, true
				return rest[len(style.end):]
			}
			begins = begins || strings.HasPrefix(style.open, rest) || strings.HasPrefix(style.end, rest)
		}
		if begins {
			t.sendText(s[:i])
			t.undecided = rest
			return ""
		}
		t.md.step(s[i])
	}
	t.sendText(s)
	return ""
}

// flush sends buffered text: it was not a tag.
func (t *think) flush() {
	undecided := t.undecided
	t.undecided = ""
	switch {
	case t.state == inThinking:
		t.sendThinking(undecided)
	case undecided != "" || t.head != nil:
		t.sendText(undecided)
	}
}

// sendText sends text of the answer.
func (t *think) sendText(s string) {
	d := llm.Delta{Block: t.block, Part: llm.Part{Kind: llm.Text}}
	if t.renamed {
		d.Block += "/answer"
	}
	if t.head != nil {
		d, t.head = *t.head, nil
	} else if s == "" {
		return
	}
	d.Text = s
	t.Send(d)
}

// sendThinking sends thinking.
func (t *think) sendThinking(s string) {
	if s == "" {
		return
	}
	t.open = true
	t.Send(llm.Delta{Block: t.thinkingBlock(), Part: llm.Part{Kind: llm.Thinking, Text: s}})
}

// thinkingBlock returns the name of the current thinking block.
func (t *think) thinkingBlock() string {
	if t.thoughts == 1 {
		return t.block + "/thinking"
	}
	return t.block + "/thinking" + strconv.Itoa(t.thoughts)
}

const (
	whitespace = " \t\r\n"
	maxSpace   = 1 << 10 // longest white space that is buffered
)

// trailingSpace returns the length of the white space at the end of s, up to maxSpace.
func trailingSpace(s string) int {
	s = s[max(0, len(s)-maxSpace):]
	return len(s) - len(strings.TrimRight(s, whitespace))
}
