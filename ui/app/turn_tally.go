package app

import (
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/session"
)

// A Tally is what the answers to one prompt sum up to.
type Tally struct {
	Model       string // that wrote the last answer
	Reason      llm.Reason
	Answered    bool // something came
	Empty       bool // the last answer says nothing
	Interrupted bool // the turn did not come to its end
	Usage       llm.Usage
	Estimated   bool          // some of the usage is
	TTFT        time.Duration // to the first token

	began, ended time.Time // from the first request to the end of the last answer, as the conversation stores it

	// Of the answers whose pace can be told.
	tokens int
	stream time.Duration
}

// add counts an answer.
func (t *Tally) add(a session.Response) {
	if a.Seq > 0 && !a.At.IsZero() { // a conversation that was brought in may not say
		if t.began.IsZero() {
			t.began = a.At
		}
		t.ended = a.At.Add(a.Duration)
	}
	m, u := a.Message, a.Usage
	t.Empty = m.Empty() && a.Finish.Reason == llm.Stop
	if len(m.Parts) == 0 && u == (llm.Usage{}) {
		return // nothing came of the request
	}
	t.Model, t.Reason, t.Answered = m.Model, a.Finish.Reason, true
	t.Usage = t.Usage.Add(u)
	t.Estimated = t.Estimated || u.Estimated || m.Interrupted && u.Output > 0 && !u.Priced // as what was cut once was stored
	if t.TTFT == 0 {
		t.TTFT = a.TTFT
	}
	if tokens, stream := streamed(m, u), a.Duration-a.TTFT; paced(tokens, a.TTFT, stream) {
		t.tokens += tokens
		t.stream += stream
	}
}

// Duration returns how long the answers took, with what the tools did in between.
func (t *Tally) Duration() time.Duration { return max(t.ended.Sub(t.began), 0) }

// Pace returns tokens per second; 0 if it cannot be told.
func (t *Tally) Pace() float64 {
	if t.stream == 0 {
		return 0
	}
	return float64(t.tokens) / t.stream.Seconds()
}

// streamed returns how many tokens came in the stream: as the provider counts, but for
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

// Cached returns the share of a prompt that came from a provider's cache; "" if that
// is nothing.
func Cached(u llm.Usage) string {
	if u.Input == 0 || u.CacheRead == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% cached", 100*u.CacheRead/u.Input)
}
