package plain

import (
	"context"
	"slices"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app/blocks"
	"parley/ui/format"
	"parley/ui/plain/console"
)

// A turn writes the events of the running turn.
type turn struct {
	live blocks.Turn // turns events into changes
	reminder
	*transcript

	cancel   context.CancelFunc
	pulse    *llm.Pulse
	began    time.Time
	heard    bool // the user has just typed the first prompt
	stopped  bool // the user pressed ctrl+c
	answered bool // the model has begun to answer

	text    console.Markdown // of the open text block
	growing bool             // a text block is open
	cited   []blocks.Change  // sources to write when the text block ends
	thought time.Time        // start of the open thinking block; zero for none
	remote  []*remoteCall    // in the running response

	compared *comparison // nil if one model answers
}

// A remoteCall is a tool call run by the provider.
type remoteCall struct {
	id   string
	tool *blocks.Tool
}

// A reminder schedules reminders that an activity is still going on.
type reminder struct {
	what  string    // the activity; "" for none
	since time.Time // start of the activity
	count int       // number of reminders written
}

// set sets the current activity.
func (r *reminder) set(what string, now time.Time) {
	if what != r.what {
		*r = reminder{what: what, since: now}
	}
}

// nextReminder returns the time of the next reminder: after 10 and 30 seconds, and then every
// minute; zero if there is no activity.
func (r *reminder) nextReminder() time.Time {
	if r.what == "" {
		return time.Time{}
	}
	after := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}[min(r.count, 2)] + time.Duration(max(r.count-2, 0))*time.Minute
	return r.since.Add(after)
}

// doing returns the activity of the turn for reminders; "" for none.
func (t *turn) doing() string {
	switch {
	case t.live.AwaitsReset(): // the time is known
	case t.live.Kind == blocks.Waiting && t.live.Model != "":
		return "waiting for " + t.live.Model
	case t.live.Kind == blocks.MakingImage:
		return "drawing with " + t.live.Model
	case t.live.Kind == blocks.Reasoning:
		return "thinking"
	case t.live.Kind == blocks.Calling && t.live.Tool != "":
		return "writing a call to " + t.live.Tool
	case t.live.Kind == blocks.Running:
		return "running " + t.live.Tool
	}
	return ""
}

// due returns when tick has text to write; zero means never.
func (t *turn) due() time.Time {
	due := t.nextReminder()
	if late := t.read().text.Due(); !late.IsZero() && (due.IsZero() || late.Before(due)) {
		due = late
	}
	return due
}

// tick writes text that has waited too long for the end of its sentence. It also writes reminders,
// unless asking: a question waits for its answer.
func (t *turn) tick(now time.Time, asking bool) {
	t.out.Text(t.read().text.Late(now))
	if due := t.nextReminder(); asking || due.IsZero() || now.Before(due) {
		return
	}
	t.count++
	t.writeLine("Still %s, %s.", t.what, length(now.Sub(t.since)))
	if t.live.Silent(now) {
		t.writeLine("The server is still connected. /wait keeps waiting, ctrl+c stops.")
	}
}

// read returns the turn whose answer is being read: the candidate's turn in a comparison, else t.
func (t *turn) read() *turn {
	if c := t.compared; c != nil && c.speaking >= 0 {
		return c.turns[c.speaking]
	}
	return t
}

// wait gives a silent model the same time again. It returns false if the model is not silent.
func (t *turn) wait() bool {
	if !t.live.Silent(t.now()) {
		return false
	}
	t.pulse.Beat()
	t.live.ExtendSilence(t.now())
	return true
}

// add writes the changes of an event.
func (t *turn) add(e session.Event) {
	now := t.now()
	switch e := e.(type) {
	case session.Step:
		t.remote = nil
		if t.live.AwaitsReset() {
			t.writeLine("Continuing with %s.", e.Model)
		}
		if e.IsImage {
			t.writeLine("Drawing with %s.", e.Model)
		}
	case llm.Delta:
		t.answered = true
	}
	for _, c := range t.live.Apply(e, now) {
		t.change(c)
	}
	if _, ok := e.(session.Response); ok {
		t.finish()
		for _, c := range t.remote {
			t.writeLine("The provider ran %s.", callText(c.tool.Name, c.tool.Input))
		}
	}
}

// end writes how the turn ended.
func (t *turn) end(d session.Done) {
	why, totals := "", blocks.Totals{}
	reported := t.compared != nil && t.compared.AllAsked() // each candidate has written its own error
	for _, c := range t.live.Apply(d, t.now()) {
		if c.Kind != blocks.EventBlock || !reported {
			t.change(c)
		}
		if c.Totals == nil {
			continue
		}
		if totals = *c.Totals; totals.Incomplete != "" {
			if why = totals.Incomplete + "."; totals.Empty {
				why += " /retry sends the last message again."
			}
		}
	}
	if d.Err == nil && t.compared == nil {
		t.footer(d, totals)
		if why != "" {
			t.writeLine("%s", why)
		}
	}
}

// change writes a change.
func (t *turn) change(c blocks.Change) {
	if c.Op == blocks.Dropped {
		t.dropped(c)
		return
	}
	switch c.Kind {
	case blocks.UserBlock:
		t.prompt(c.Event.(session.Prompt), t.heard)
		t.heard = false
	case blocks.ThinkingBlock:
		switch {
		case c.Op == blocks.Renamed: // some servers mark thinking only at its end
			t.writeLine("That was thinking.")
		case c.Text != "" && t.thought.IsZero():
			t.thought = t.now()
			t.finishText() // text, which may continue after the thinking
			t.writeLine("Thinking…")
		}
	case blocks.TextBlock:
		if c.Op == blocks.Closed {
			t.finishText()
			return
		}
		t.endThought()
		t.growing = true
		t.out.Text(t.text.Add(c.Text, t.now()))
	case blocks.ToolBlock:
		t.tool(c)
	case blocks.SourceBlock, blocks.MediaBlock:
		t.endThought()
		if t.growing { // it continues after its citations
			t.cited = append(t.cited, c)
			return
		}
		t.part(c)
	case blocks.EventBlock, blocks.RetryBlock:
		t.event(c.Event)
	}
}

// dropped ends a block that was discarded.
func (t *turn) dropped(c blocks.Change) {
	switch c.Kind {
	case blocks.TextBlock:
		t.finishText()
	case blocks.ThinkingBlock:
		t.endThought()
	case blocks.ToolBlock:
		t.remote = slices.DeleteFunc(t.remote, func(r *remoteCall) bool { return r.id == c.ID })
	}
}

// tool writes a decision about a tool call, or its result, and records remote calls.
func (t *turn) tool(c blocks.Change) {
	switch e := c.Event.(type) {
	case nil:
		t.endThought()
		if c.Tool != nil && c.Tool.Remote {
			i := slices.IndexFunc(t.remote, func(r *remoteCall) bool { return r.id == c.ID })
			if i < 0 {
				i = len(t.remote)
				t.remote = append(t.remote, &remoteCall{id: c.ID})
			}
			t.remote[i].tool = c.Tool
		}
	case session.Opinion:
		if t.opinion(e); !e.Failed {
			t.writeLine("The answer is sent along with your next message.")
		}
	case session.Decision:
		t.writeDecision(c.Tool)
	case session.Result:
		t.output = &result{e.Part.Name, e.Part.Text}
		if c.Tool.Name != "" && c.Tool.Status != blocks.CallDenied {
			t.writeResult(c.Tool, e, t.stopped)
		}
	}
}

// finish ends open blocks.
func (t *turn) finish() {
	t.finishText()
	t.endThought()
}

func (t *turn) finishText() {
	if t.growing {
		t.out.Text(t.text.End(t.now()))
		t.out.End()
		t.growing = false
	}
	for _, c := range t.cited {
		t.part(c)
	}
	t.cited = nil
}

func (t *turn) endThought() {
	if !t.thought.IsZero() {
		if took := t.now().Sub(t.thought); took >= time.Second {
			t.writeLine("Thought for %s.", length(took))
		}
		t.thought = time.Time{}
	}
}

// footer writes tokens, cost, duration and time of the turn.
func (t *turn) footer(d session.Done, totals blocks.Totals) {
	if d.Steps == 0 || !t.answered && d.Usage == (llm.Usage{}) {
		return
	}
	var parts []string
	if d.Usage.Output > 0 {
		parts = append(parts, tokensOut(d.Usage))
	}
	if totals.CacheMissed {
		parts = append(parts, blocks.CacheMissed)
	}
	parts = append(parts, money(d.Usage), length(t.now().Sub(t.began)))
	if at := totals.Clock(t.now()); at != "" {
		parts = append(parts, "sent at "+at)
	}
	t.writeLine("Answer finished: %s.", format.Join(", ", parts...))
}
