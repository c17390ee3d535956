package filter

import (
	"strings"

	"parley/providers/llm"
)

// endTokens lists the tokens with which chat templates end a turn. Servers with the
// wrong template, or none, leave them in the text.
var endTokens = []string{"<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>"}

// StripEndTokens removes tokens that end a turn from the end of a response, with the white
// space behind them. Anywhere else, and in code, they are text.
func StripEndTokens(s llm.Stream) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		rewrite(s, &endStripper{Out: llm.NewOut(yield)})
	}
}

type endStripper struct {
	*llm.Out
	block     string // the text block that is being read
	undecided string // its end, if that may be such tokens, held back
	code      bool   // undecided is in code: there was an odd number of ` before it
}

func (e *endStripper) event(event llm.Event) {
	switch v := event.(type) {
	case llm.Delta:
		if v.Kind == llm.Text && !hasMore(v) {
			e.text(v, event)
			return
		}
		e.flush()
	case llm.Finish:
		if n := endTokensLength(e.undecided); n == len(e.undecided) && !e.code {
			e.undecided = ""
		}
		e.flush()
	}
	e.Send(event)
}

// text sends the text of d, which is event, except for an end that may be such tokens.
func (e *endStripper) text(d llm.Delta, event llm.Event) {
	if d.Block != e.block {
		e.flush()
		e.block, e.code = d.Block, false
	}
	if e.undecided == "" && strings.IndexByte(d.Text, '<') < 0 { // nearly every delta of an answer
		e.trackCode(d.Text)
		e.Send(event)
		return
	}
	whole := e.undecided + d.Text
	at := len(whole)
	for i := 0; i < len(whole); i++ {
		next := strings.IndexByte(whole[i:], '<')
		if next < 0 {
			break
		}
		if i += next; mayBeginEndToken(whole[i+endTokensLength(whole[i:]):]) {
			at = i
			break
		}
	}
	e.undecided = whole[at:]
	e.sendText(whole[:at])
}

// trackCode updates code with text.
func (e *endStripper) trackCode(text string) { e.code = e.code != (strings.Count(text, "`")%2 == 1) }

func (e *endStripper) sendText(text string) {
	if text != "" {
		e.trackCode(text)
		e.Send(llm.Delta{Block: e.block, Part: llm.Part{Kind: llm.Text, Text: text}})
	}
}

// flush passes on what is held.
func (e *endStripper) flush() {
	e.sendText(e.undecided)
	e.undecided = ""
}

// endTokensLength returns the length of the end tokens that s begins with, with the white
// space between and behind them.
func endTokensLength(s string) int {
	n := 0
	for found := true; found; {
		found = false
		for _, token := range endTokens {
			if rest, ok := strings.CutPrefix(s[n:], token); ok {
				found = true
				n = len(s) - len(strings.TrimLeft(rest, whitespace))
			}
		}
	}
	return n
}

// mayBeginEndToken reports whether an end token begins with s, as it does with "".
func mayBeginEndToken(s string) bool {
	for _, token := range endTokens {
		if strings.HasPrefix(token, s) {
			return true
		}
	}
	return false
}
