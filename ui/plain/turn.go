package plain

import (
	"context"
	"iter"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/format"
)

// A turn is what is known of the running turn.
type turn struct {
	cancel  context.CancelFunc
	began   time.Time
	heard   bool // the person typed the first prompt, and heard it then
	stopped bool // ctrl+c was pressed
	some    bool // something was answered

	draft   llm.Draft         // of the running answer
	blocks  map[string]*block // of the running answer, by the name of the delta's block
	open    *block            // that grows
	thought time.Time         // since when it thinks; zero if it does not

	calls   map[string]*call // by id
	running int              // of those

	doing string    // that takes time: "waiting", "thinking", "running shell"; "" for nothing
	since time.Time // when it began
	told  int       // how often that was said

	pulse   *llm.Pulse
	content time.Time // when the running answer last had any; zero while none runs
}

// A block is one part of an answer.
type block struct {
	kind  llm.Kind
	text  prose
	named bool // a call whose tool was told
}

// do notes what takes time from now on.
func (t *turn) do(what string, now time.Time) {
	if t.doing != what {
		t.doing, t.since, t.told = what, now, 0
	}
}

// still is when to say again that something goes on: after 10 and 30 seconds, and
// then every minute.
func (t *turn) still() time.Duration {
	return []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}[min(t.told, 2)] + time.Duration(max(t.told-2, 0))*time.Minute
}

func (t *turn) due() time.Time {
	var due time.Time
	if t.doing != "" {
		due = t.since.Add(t.still())
	}
	if t.open != nil && t.open.kind == llm.Text {
		if late := t.open.text.due(); !late.IsZero() && (due.IsZero() || late.Before(due)) {
			due = late
		}
	}
	return due
}

// tickTurn says what is due.
func (p *front) tickTurn(now time.Time) {
	t := p.turn
	if t.open != nil && t.open.kind == llm.Text {
		p.read(t.open.text.late(now))
	}
	if t.doing == "" || p.question() != nil && p.asked {
		return
	}
	if after := t.still(); !now.Before(t.since.Add(after)) {
		t.told++
		p.say("Still %s, %s.", t.doing, length(now.Sub(t.since)))
		if t.silent(now) {
			p.say("The server is still there. /wait keeps waiting, ctrl+c stops.")
		}
	}
}

// silentAfter is how long an answer has no content before it is asked whether to
// wait; see the same in package ui.
const silentAfter = 5 * time.Minute

// silent reports whether the running answer has had no content for long.
func (t *turn) silent(now time.Time) bool {
	return !t.content.IsZero() && now.Sub(t.content) >= silentAfter
}

// wait gives a silent model as much time again as it had.
func (p *front) wait(string) {
	if p.turn == nil || !p.turn.silent(p.now()) {
		p.say("No model is silent.")
		return
	}
	p.turn.pulse.Beat()
	p.turn.content = p.now()
	p.say("Waiting.")
}

// play says the events of a turn as they come.
func (p *front) play(heard bool, events func(context.Context) iter.Seq[session.Event]) {
	ctx, cancel := context.WithCancel(p.ctx)
	ctx, pulse := llm.WithPulse(ctx, 0)
	t := &turn{cancel: cancel, pulse: pulse, began: p.now(), heard: heard, blocks: map[string]*block{}, calls: map[string]*call{}}
	p.turn, p.failed = t, false
	p.running.Go(func() {
		defer cancel()
		p.guard(func() {
			for e := range events(ctx) {
				select {
				case p.events <- func() { p.event(t, e) }:
				case <-p.gone:
				}
			}
		})
	})
}

// run sends parts, or goes on from where the conversation stands.
func (p *front) runTurn(heard bool, parts ...llm.Part) {
	s := p.app.Session
	p.play(heard, func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx, parts...) })
}

// stop ends the turn.
func (p *front) stop() {
	p.turn.stopped = true
	p.turn.cancel()
	p.dropAsked()
	p.say("Stopping.")
}

func (p *front) event(t *turn, e session.Event) {
	if p.turn != t {
		return
	}
	now := p.now()
	switch e := e.(type) {
	case session.Prompt:
		p.prompt(t, e)
	case session.Step:
		t.draft, t.blocks, t.open = llm.Draft{}, map[string]*block{}, nil
		t.do("waiting for "+e.Model, now)
		t.content = now
	case llm.Delta:
		t.content = now
		p.delta(t, e)
	case llm.Notice, llm.Retry, session.Fallback, session.ModelSwitched, session.Compacted:
		p.show(e)
	case session.Response:
		p.finish(t)
		t.doing, t.content = "", time.Time{}
		for name, b := range t.blocks {
			if part, _ := t.draft.Part(name); b.kind == llm.Call && part.Remote {
				p.say("The provider ran %s.", callText(part))
			}
		}
	case session.Call:
		t.calls[e.Part.ID] = &call{part: e.Part}
	case session.ApprovalRequest:
		t.doing = ""
		if c := t.calls[e.Call.ID]; c != nil {
			c.asked = true
		}
		if !t.stopped {
			p.later(p.approval(e))
		}
	case session.Decision:
		p.decided(t, e)
	case session.Progress:
		if c := t.calls[e.ID]; c != nil {
			c.live = true
		}
	case session.Result:
		p.result(t, e)
	case session.Done:
		p.done(t, e)
	}
}

// prompt says what was sent, unless the person just typed it.
func (p *front) prompt(t *turn, e session.Prompt) {
	text, attached := attach.SplitMessage(e.Message)
	if !t.heard {
		p.block("You: " + text)
	}
	t.heard = false
	for _, part := range attached {
		p.say("With it: %s.", attach.PartLabel(part))
	}
}

func (p *front) delta(t *turn, d llm.Delta) {
	now := p.now()
	t.some = true
	b := t.blocks[d.Block]
	if b == nil {
		b = &block{kind: d.Kind}
		t.blocks[d.Block] = b
	}
	if b != t.open {
		p.finishText(t)
		t.open = b
	}
	t.draft.Add(d)
	if d.Kind != "" && d.Kind != b.kind { // some servers say only at the end that it was thinking
		if b.kind == llm.Text {
			p.read(b.text.end(now))
			p.out.end()
			p.say("That was thinking.")
		}
		b.kind = d.Kind
		return
	}
	if b.kind != llm.Thinking {
		p.endThought(t)
	}
	part, _ := t.draft.Part(d.Block)
	switch b.kind {
	case llm.Thinking:
		if d.Text != "" && t.thought.IsZero() {
			t.thought = now
			t.do("thinking", now)
			p.say("Thinking…")
		}
	case llm.Text:
		t.doing = ""
		p.read(b.text.add(d.Text, now))
	case llm.Call:
		if part.Name != "" {
			t.do("writing a call of "+part.Name, now)
		}
	case llm.Source:
		if !b.named && (part.URL != "" || part.Text != "") {
			b.named = true
			p.say("Source: %s", strings.TrimSpace(part.Text+" "+part.URL))
		}
	case llm.Media:
		if !b.named && len(part.Data) > 0 {
			b.named = true
			p.say("%s, %d bytes.", part.MIME, len(part.Data))
		}
	}
}

// read goes on with the answer.
func (p *front) read(text string) {
	if text != "" {
		if p.prompted {
			p.out.end()
		}
		p.hush()
		p.out.text(text)
	}
}

// finish ends what grows.
func (p *front) finish(t *turn) {
	p.finishText(t)
	p.endThought(t)
}

func (p *front) finishText(t *turn) {
	if t.open != nil && t.open.kind == llm.Text {
		p.read(t.open.text.end(p.now()))
		p.out.end()
	}
	t.open = nil
}

func (p *front) endThought(t *turn) {
	if !t.thought.IsZero() {
		if took := p.now().Sub(t.thought); took >= time.Second {
			p.say("Thought for %s.", length(took))
		}
		t.thought, t.doing = time.Time{}, ""
	}
}

// capital is text with a capital at its beginning.
func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// ended says why an answer is not what it might have been.
var ended = map[llm.Reason]string{
	llm.Length: "The answer reached its length limit.", llm.Refused: "The provider's filter ended the answer.",
}

// hint is advice without the keys of the screen.
func hint(text string) string {
	return sentence(capital(strings.ReplaceAll(oneLine(text), "-m or ctrl+x m", "/model")))
}

func (p *front) done(t *turn, d session.Done) {
	p.finish(t)
	p.turn, p.failed = nil, d.Err != nil
	p.dropAsked()
	switch {
	case d.Err == nil:
		p.footer(t, d)
		if why := ended[d.Reason]; why != "" {
			p.say("%s", why)
		}
	default:
		p.show(d)
	}
	if d.Err != nil {
		p.unqueue()
	}
	again := p.again
	p.again = false
	switch {
	case p.over:
	case again && d.Err == nil:
		p.runTurn(true)
	case !again && llm.FaultOf(d.Err) == llm.ContextOverflow:
		p.offerSummary()
	case p.app.Session.QueueLen() > 0: // queued after the turn's last look
		waiting := p.app.Session.Unqueue()
		for _, later := range waiting[1:] {
			p.app.Session.Queue(later.Parts...)
		}
		p.runTurn(false, waiting[0].Parts...)
	case d.Err == nil:
		p.name()
	}
}

// footer sums a turn up.
func (p *front) footer(t *turn, d session.Done) {
	if d.Steps == 0 || !t.some && d.Usage == (llm.Usage{}) {
		return
	}
	var parts []string
	if d.Usage.Output > 0 {
		parts = append(parts, format.Plural(d.Usage.Output, "token"))
	}
	if cost := money(d.Usage); cost != "" {
		parts = append(parts, cost)
	}
	p.say("Answer finished: %s.", strings.Join(append(parts, length(p.now().Sub(t.began))), ", "))
}

// dropAsked takes questions about calls away that are over.
func (p *front) dropAsked() {
	if q := p.question(); q != nil && q.call != "" {
		p.asked = false
		p.hush()
	}
	var left []*question
	for _, q := range p.questions {
		if q.call == "" {
			left = append(left, q)
		}
	}
	p.questions = left
}

// offerSummary asks whether to go on with a summary of what was said.
func (p *front) offerSummary() {
	p.later(p.confirm("The conversation does not fit the model's window any more. Summarize what was said and try again? The conversation itself stays whole.",
		"summarize", "leave it", false, func(yes bool) {
			if yes {
				p.again = true
				p.compact("")
			}
		}))
}

// name has the conversation named, where a model for that is configured.
func (p *front) name() {
	s := p.app.Session
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
		defer cancel()
		p.guard(func() {
			if err := s.GenerateTitle(ctx); err != nil && ctx.Err() == nil {
				p.post(func() { p.say("Note: %s", sentence(oneLine(err.Error()))) })
			}
		})
	})
}
