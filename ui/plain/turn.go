package plain

import (
	"context"
	"iter"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/format"
)

// A turn is what is known of the running turn.
type turn struct {
	app.Turn
	front   *front
	cancel  context.CancelFunc
	pulse   *llm.Pulse
	began   time.Time
	heard   bool // the user typed the first prompt, and heard it then
	stopped bool // ctrl+c was pressed
	some    bool // something was answered

	text    prose     // of the block that grows
	reads   bool      // one does
	thought time.Time // since when it thinks, and nothing else; zero if it does not
	remote  []*called // calls of the running answer that the provider runs

	still string    // that takes time; "" for nothing
	since time.Time // when it began
	told  int       // how often that was said
}

// A called is a call that the provider runs.
type called struct {
	id   string
	tool *app.Tool
}

// doing says what takes time, in words; "" for nothing.
func (t *turn) doing() string {
	switch {
	case t.Doing == app.Waiting && t.Model != "":
		return "waiting for " + t.Model
	case t.Doing == app.Reasoning:
		return "thinking"
	case t.Doing == app.Calling && t.Activity.Tool != "":
		return "writing a call of " + t.Activity.Tool
	case t.Doing == app.Running:
		return "running " + t.Activity.Tool
	}
	return ""
}

// note notes what takes time from now on.
func (t *turn) note(now time.Time) {
	if what := t.doing(); what != t.still {
		t.still, t.since, t.told = what, now, 0
	}
}

// next is when to say again that something goes on: after 10 and 30 seconds, and
// then every minute.
func (t *turn) next() time.Time {
	after := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}[min(t.told, 2)] + time.Duration(max(t.told-2, 0))*time.Minute
	return t.since.Add(after)
}

func (t *turn) due() time.Time {
	var due time.Time
	if t.still != "" {
		due = t.next()
	}
	if late := t.text.due(); !late.IsZero() && (due.IsZero() || late.Before(due)) {
		due = late
	}
	return due
}

// tickTurn says what is due.
func (p *front) tickTurn(now time.Time) {
	t := p.turn
	p.read(t.text.late(now))
	if t.still == "" || p.question() != nil && p.asked {
		return
	}
	if !now.Before(t.next()) {
		t.told++
		p.say("Still %s, %s.", t.still, length(now.Sub(t.since)))
		if t.Silent(now) {
			p.say("The server is still there. /wait keeps waiting, ctrl+c stops.")
		}
	}
}

// wait gives a silent model as much time again as it had.
func (p *front) wait(string) {
	if p.turn == nil || !p.turn.Silent(p.now()) {
		p.say("No model is silent.")
		return
	}
	p.turn.pulse.Beat()
	p.turn.Wait(p.now())
	p.say("Waiting.")
}

// play says the events of a turn as they come.
func (p *front) play(heard bool, events func(context.Context) iter.Seq[session.Event]) {
	ctx, cancel := context.WithCancel(p.ctx)
	ctx, pulse := llm.WithPulse(ctx, 0)
	t := &turn{front: p, cancel: cancel, pulse: pulse, began: p.now(), heard: heard}
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
	case session.Step:
		t.remote = nil
	case llm.Delta:
		t.some = true
	case session.Done:
		p.done(t, e)
		return
	}
	for _, c := range t.Apply(e, now) {
		t.speak(c)
	}
	switch e := e.(type) {
	case session.Response:
		t.finish()
		for _, c := range t.remote {
			p.say("The provider ran %s.", callText(c.tool.Name, c.tool.Input))
		}
	case session.ApprovalRequest:
		if !t.stopped {
			p.later(p.approval(e))
		}
	}
	t.note(now)
}

// speak says a change.
func (t *turn) speak(c app.Change) {
	p := t.front
	switch c.Kind {
	case app.UserBlock:
		p.prompt(c.Event.(session.Prompt), t.heard)
		t.heard = false
	case app.ThinkingBlock:
		switch {
		case c.Op == app.Renamed: // some servers say only at the end that it was thinking
			p.say("That was thinking.")
		case c.Text != "" && t.thought.IsZero():
			t.thought = p.now()
			p.say("Thinking…")
		}
	case app.TextBlock:
		if c.Op == app.Closed {
			t.finishText()
			return
		}
		t.endThought()
		t.reads = true
		p.read(t.text.add(c.Text, p.now()))
	case app.ToolBlock:
		t.tool(c)
	case app.SourceBlock, app.MediaBlock:
		t.endThought()
		p.named(c)
	case app.EventBlock, app.RetryBlock:
		if c.Op != app.Dropped {
			p.show(c.Event)
		}
	}
}

// named says what else is in an answer, once.
func (p *front) named(c app.Change) {
	switch {
	case c.Op != app.Opened:
	case c.Kind == app.SourceBlock:
		p.say("Source: %s", strings.TrimSpace(c.Part.Text+" "+c.Part.URL))
	case len(c.Part.Data) > 0:
		p.say("%s, %d bytes.", c.Part.MIME, len(c.Part.Data))
	}
}

// prompt says what was sent, unless the user just typed it.
func (p *front) prompt(e session.Prompt, heard bool) {
	text, attached := attach.SplitMessage(e.Message)
	if !heard {
		p.block("You: " + text)
	}
	for _, part := range attached {
		p.say("With it: %s.", attach.PartLabel(part))
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
func (t *turn) finish() {
	t.finishText()
	t.endThought()
}

func (t *turn) finishText() {
	if t.reads {
		t.front.read(t.text.end(t.front.now()))
		t.front.out.end()
		t.reads = false
	}
}

func (t *turn) endThought() {
	if !t.thought.IsZero() {
		if took := t.front.now().Sub(t.thought); took >= time.Second {
			t.front.say("Thought for %s.", length(took))
		}
		t.thought = time.Time{}
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
	t.finish()
	p.turn, p.failed = nil, d.Err != nil
	p.dropAsked()
	for _, c := range t.Apply(d, p.now()) {
		t.speak(c)
	}
	if d.Err == nil {
		p.footer(t, d)
		if why := ended[d.Reason]; why != "" {
			p.say("%s", why)
		}
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
				p.play(true, p.app.Session.Compact)
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
				p.mail.post(func() { p.say("Note: %s", sentence(oneLine(err.Error()))) })
			}
		})
	})
}
