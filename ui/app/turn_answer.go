package app

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/sanitize"
)

// Activity is what goes on in a turn.
type Activity struct {
	Kind  ActivityKind
	Tool  string    // that is called, or runs
	Since time.Time // when it began
	asked time.Time // since when nothing came; zero while something does
}

// ActivityKind is a kind of activity.
type ActivityKind int

// The activities.
const (
	Waiting ActivityKind = iota
	Reasoning
	Answering
	Calling // the arguments of a call arrive
	Asking  // the user has to decide about a call
	Running // a tool does
	Comparing
	MakingImage
)

// Begin says that a turn begins now.
func (t *Turn) Begin(now time.Time) { t.Since, t.asked = now, now }

// WaitedFor returns how long nothing has come; 0 while something does.
func (a Activity) WaitedFor(now time.Time) time.Duration {
	if a.asked.IsZero() {
		return 0
	}
	return now.Sub(a.asked)
}

// setActivity notes what goes on, and since when.
func (t *Turn) setActivity(what ActivityKind, tool string, now time.Time) {
	if tool = tools.DisplayName(tool); t.Kind != what || t.Tool != tool {
		t.Kind, t.Tool, t.Since = what, tool, now
	}
}

// burst is for how long what comes first is left out of the pace: it may have
// waited somewhere.
const burst = 100 * time.Millisecond

// Rate returns tokens per second of the running answer, by four bytes a token; the
// footer has the provider's numbers. It is 0 if it cannot be told.
func (t *Turn) Rate(now time.Time) float64 {
	took := now.Sub(t.first) - burst
	if t.first.IsZero() || took < time.Second || !hasPace(t.bytes/4, 0, took) {
		return 0
	}
	return float64(int(float64(t.bytes) / 4 / took.Seconds()))
}

// step begins an answer.
func (t *Turn) step(s session.Step, now time.Time) {
	t.running = running{blocks: map[string]*block{}, calls: map[string]*block{}}
	if t.parts = &t.draft; s.Partial != (session.PartialResponse{}) {
		t.parts = s.Partial
	}
	t.Model, t.seq = s.Model, s.Seq
	t.setActivity(Waiting, "", now)
	if s.IsImage {
		t.setActivity(MakingImage, "", now)
	}
	t.asked = now
	t.noteContent(now)
}

func (t *Turn) delta(d llm.Delta, now time.Time) {
	if t.parts == nil { // nobody said that a request goes out
		t.step(session.Step{Model: t.Model, Seq: t.seq}, now)
	}
	if t.parts == &t.draft {
		t.draft.Add(d)
	}
	t.noteContent(now)
	if t.first.IsZero() {
		t.first, t.retryAt = now, time.Time{}
	}
	t.asked = time.Time{}
	if now.Sub(t.first) >= burst {
		t.bytes += len(d.Text) + len(d.Input)
	}
	b := t.blocks[d.Block]
	if b == nil {
		b = &block{id: t.newID(), kind: d.Kind, began: now}
		t.blocks[d.Block], t.order = b, append(t.order, b)
	}
	renamed := d.Kind != "" && d.Kind != b.kind
	if b != t.open || renamed {
		t.close(now)
		t.open = b
	}
	b.size += len(d.Text)
	part, _ := t.parts.Part(d.Block)
	if renamed {
		t.rename(b, d.Kind, part)
		return
	}
	t.grow(b, d.Text, part, now)
}

// grow shows text that came of a block, of which part is all there is.
func (t *Turn) grow(b *block, text string, part llm.Part, now time.Time) {
	c := Change{Op: Grown, Text: text}
	switch b.kind {
	case llm.Thinking:
		t.setActivity(Reasoning, "", now)
		c.Kind = ThinkingBlock
	case llm.Text:
		t.setActivity(Answering, "", now)
		c.Kind, c.Whole = TextBlock, part.Text
	case llm.Call:
		t.setActivity(Calling, part.Name, now)
		t.callGrows(b, part)
		return
	case llm.Result: // of a tool that the provider ran
		t.remoteResult(part)
		return
	case llm.Source, llm.Media:
		t.drop(MediaBlock, &t.preview)
		whole := part
		c = Change{Op: Replaced, Kind: SourceBlock, Part: &whole}
		if b.kind == llm.Media {
			c.Kind = MediaBlock
			break
		}
		if b.count == 0 {
			for _, other := range t.order {
				b.count = max(b.count, other.count)
			}
			b.count++
		}
		c.Count = b.count
	}
	if text != "" || c.Part != nil && part.Visible() {
		t.putBlock(b, c)
	}
}

// SourceText returns a source as it stands under an answer: its number, what it is called, and
// where it is.
func SourceText(c Change) string {
	return strings.TrimSpace(fmt.Sprintf("[%d] %s %s", c.Count, sanitize.Line(c.Part.Title()), sanitize.Line(c.Part.URL)))
}

// putBlock adds a change of a block of the answer.
func (t *Turn) putBlock(b *block, c Change) {
	if !b.shown {
		b.shown, c.Op = true, Opened
	}
	c.ID = b.id
	t.put(c)
}

// rename shows a block as another kind: some servers say only at the end of
// their thinking that it was thinking.
func (t *Turn) rename(b *block, kind llm.Kind, part llm.Part) {
	c := Change{Op: Renamed, Was: b.id, Text: part.Text[:min(b.size, len(part.Text))]}
	b.id, b.kind, b.shown = t.newID(), kind, true
	switch c.ID = b.id; kind {
	case llm.Thinking:
		c.Kind = ThinkingBlock
	case llm.Text:
		c.Kind, c.Whole = TextBlock, part.Text
	default: // nothing of it is text
		c, b.shown = Change{Op: Dropped, ID: c.Was, Kind: TextBlock}, false
	}
	t.put(c)
}

// close ends the block that grew last.
func (t *Turn) close(now time.Time) {
	b := t.open
	if t.open = nil; b == nil {
		return
	}
	switch b.kind {
	case llm.Thinking:
		b.shown = true // some models say only that they thought
		t.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: now.Sub(b.began)})
	case llm.Text:
		t.put(Change{Op: Closed, ID: b.id, Kind: TextBlock})
	}
}

// showPreview shows an image that is not finished.
func (t *Turn) showPreview(p llm.Preview, now time.Time) {
	t.noteContent(now)
	op := Replaced
	if t.preview == "" {
		t.preview, op = t.newID(), Opened
	}
	whole := p.Part
	t.put(Change{Op: op, ID: t.preview, Kind: MediaBlock, Part: &whole, Event: p})
}

// answer ends an answer.
func (t *Turn) answer(a session.Response, now time.Time) {
	t.close(now)
	t.drop(MediaBlock, &t.preview)
	t.noteContent(now)
	t.content, t.first, t.bytes, t.retryAt = time.Time{}, time.Time{}, 0, time.Time{}
	t.totals.add(a)
	t.thought(a.ThinkingDurations)
	t.drop(RetryBlock, &t.retryID)
	t.nameCalls(a.Message.Calls())
	for _, b := range t.order {
		if b.kind != llm.Call {
			continue
		}
		switch ended := b.tool.Status >= CallDone; {
		case a.Message.Interrupted && !ended: // it never runs
			t.setTool(b, a, func(tool *Tool) { tool.Status = CallCanceled })
		case b.tool.Remote && !ended: // without a result of its own
			t.setTool(b, a, func(tool *Tool) { tool.Status = CallDone })
		}
	}
}

// thought takes over the times that are stored: events may have waited for whoever
// draws.
func (t *Turn) thought(took []time.Duration) {
	var thinking []*block
	for _, b := range t.order {
		if b.kind == llm.Thinking {
			thinking = append(thinking, b)
		}
	}
	if len(thinking) != len(took) { // some are not stored
		return
	}
	for i, b := range thinking {
		t.put(Change{Op: Closed, ID: b.id, Kind: ThinkingBlock, Duration: took[i]})
	}
}

// A TurnTotals is what the answers to one prompt sum up to.
type TurnTotals struct {
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
func (t *TurnTotals) add(a session.Response) {
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
	if tokens, stream := streamedTokens(m, u), a.Duration-a.TTFT; hasPace(tokens, a.TTFT, stream) {
		t.tokens += tokens
		t.stream += stream
	}
}

// Duration returns how long the answers took, with what the tools did in between.
func (t *TurnTotals) Duration() time.Duration { return max(t.ended.Sub(t.began), 0) }

// Pace returns tokens per second; 0 if it cannot be told.
func (t *TurnTotals) Pace() float64 {
	if t.stream == 0 {
		return 0
	}
	return float64(t.tokens) / t.stream.Seconds()
}

// streamedTokens returns how many tokens came in the stream: as the provider counts, but for
// thinking that it kept to itself.
func streamedTokens(m llm.Message, u llm.Usage) int {
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

// hasPace tells whether the pace of an answer can be told from its stream. What was
// held back somewhere and came in a burst says nothing about the model.
func hasPace(tokens int, first, stream time.Duration) bool {
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

// CacheShare returns the share of a prompt that came from a provider's cache; "" if that
// is nothing.
func CacheShare(u llm.Usage) string {
	if u.Input == 0 || u.CacheRead == 0 {
		return ""
	}
	return fmt.Sprintf("%d%% cached", 100*u.CacheRead/u.Input)
}
