package tui

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/ui/format"
	"parley/ui/tui/transcript"
)

// A tally is what the answers to one prompt sum up to, while they come and when
// they are shown again.
type tally struct {
	model  string // that wrote the last answer
	reason llm.Reason
	some   bool // an answer came
	empty  bool // the last one says nothing
	usage  llm.Usage
	about  string        // stands before what is estimated
	first  time.Duration // to the first token

	began, ended time.Time // from the first request to the end of the last answer, as the conversation keeps it

	// Of the answers whose pace can be told.
	tokens int
	stream time.Duration
}

// add counts an answer: how long its first token took, and all of it.
func (t *tally) add(m llm.Message, u llm.Usage, reason llm.Reason, first, took time.Duration) {
	t.empty = m.Empty() && reason == llm.Stop
	if len(m.Parts) == 0 && u == (llm.Usage{}) {
		return // nothing came of the request
	}
	t.model, t.reason, t.some = m.Model, reason, true
	t.usage = t.usage.Add(u)
	if m.Interrupted && u.Output > 0 && !u.Priced {
		t.about = "~" // nobody counted what was cut
	}
	if t.first == 0 {
		t.first = first
	}
	if tokens, stream := streamed(m, u), took-first; paced(tokens, first, stream) {
		t.tokens += tokens
		t.stream += stream
	}
}

// span counts in an answer that was asked for at a time and took some.
func (t *tally) span(at time.Time, took time.Duration) {
	if at.IsZero() { // a conversation that was brought in may not say
		return
	}
	if t.began.IsZero() {
		t.began = at
	}
	t.ended = at.Add(took)
}

// streamed is how many tokens came in the stream: as the provider counts, but for
// thinking that it kept to itself.
func streamed(m llm.Message, u llm.Usage) int {
	size := 0
	for _, p := range m.Parts {
		switch p.Kind {
		case llm.Text, llm.Thinking, llm.Call:
			size += len(p.Text) + len(p.Input)
		}
	}
	const bytes = 4 // of a token, about
	if about := size / bytes; u.Output > 2*about {
		return about
	}
	return u.Output
}

// paced tells whether the pace of an answer can be told from its stream. What was
// held back somewhere and came in a burst says nothing about the model.
func paced(tokens int, first, stream time.Duration) bool {
	const (
		least   = 500 * time.Millisecond
		quick   = 1000 // tokens per second; more come from services that begin at once, too
		fastest = 5000
	)
	if tokens == 0 || stream < least {
		return false
	}
	rate := float64(tokens) / stream.Seconds()
	return rate <= quick || rate <= fastest && stream >= first
}

// show closes the turn: its footer, and why it may not be what was asked for.
func (t *tally) show(m *Model, cut bool) {
	if t.some {
		m.transcript.Footer(t.footer(max(t.ended.Sub(t.began), 0)))
	}
	switch why := ended[t.reason]; {
	case cut:
	case t.empty:
		m.transcript.Marker(transcript.Warn, "the model answered nothing: "+m.keyOf("retry")+" tries again")
	case why != "":
		m.transcript.Marker(transcript.Warn, why)
	}
}

// ended says why an answer is not what it might have been.
var ended = map[llm.Reason]string{
	llm.Length: "the answer reached its length limit", llm.Refused: "the provider's filter ended the answer",
}

// footer sums a turn up in a line: model, tokens, cost and times.
func (t *tally) footer(took time.Duration) string {
	parts, u := []string{t.model}, t.usage
	if u != (llm.Usage{}) {
		in := count(u.Input) + " in"
		if u.CacheRead > 0 && u.Input > 0 {
			in += fmt.Sprintf(" (%d %% cached)", 100*u.CacheRead/u.Input)
		}
		parts = append(parts, in, t.about+count(u.Output)+" out")
	}
	if u.Cost > 0 {
		least := ""
		if !u.Priced {
			least = "≥"
		}
		parts = append(parts, fmt.Sprintf("%s$%.4f", least, u.Cost))
	}
	if t.first > 0 {
		parts = append(parts, "first token "+format.Seconds(t.first))
	}
	if t.stream > 0 {
		parts = append(parts, fmt.Sprintf("%.0f tok/s", float64(t.tokens)/t.stream.Seconds()))
	}
	if took > 0 {
		parts = append(parts, format.Seconds(took))
	}
	return strings.Join(parts, " · ")
}
