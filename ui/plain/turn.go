package plain

import (
	"context"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/plain/console"
)

// A turn says what happens in the running turn.
type turn struct {
	app.Turn
	reminder
	*transcript

	cancel   context.CancelFunc
	pulse    *llm.Pulse
	began    time.Time
	heard    bool // the user typed the first prompt, and heard it then
	stopped  bool // ctrl+c was pressed
	answered bool // something was

	text    console.Markdown // of the block that grows
	growing bool             // one does
	thought time.Time        // since when it thinks, and nothing else; zero if it does not
	remote  []*remoteCall    // of the running answer

	compared *comparison // nil: one model answers
}

// A remoteCall is a call that the provider runs.
type remoteCall struct {
	id   string
	tool *app.Tool
}

// A reminder knows when to say again that something takes time.
type reminder struct {
	what  string    // that takes time; "" for nothing
	since time.Time // when it began
	told  int       // how often that was said
}

// set notes what takes time from now on.
func (r *reminder) set(what string, now time.Time) {
	if what != r.what {
		*r = reminder{what: what, since: now}
	}
}

// nextReminder returns when to say again that something goes on: after 10 and 30
// seconds, and then every minute; zero if nothing does.
func (r *reminder) nextReminder() time.Time {
	if r.what == "" {
		return time.Time{}
	}
	after := []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}[min(r.told, 2)] + time.Duration(max(r.told-2, 0))*time.Minute
	return r.since.Add(after)
}

// doing returns what takes time, in words; "" for nothing.
func (t *turn) doing() string {
	switch {
	case t.Kind == app.Waiting && t.Model != "":
		return "waiting for " + t.Model
	case t.Kind == app.MakingImage:
		return "drawing with " + t.Model
	case t.Kind == app.Reasoning:
		return "thinking"
	case t.Kind == app.Calling && t.Activity.Tool != "":
		return "writing a call to " + t.Activity.Tool
	case t.Kind == app.Running:
		return "running " + t.Activity.Tool
	}
	return ""
}

// due returns when the turn has something to say by itself; zero for never.
func (t *turn) due() time.Time {
	due := t.nextReminder()
	if late := t.read().text.Due(); !late.IsZero() && (due.IsZero() || late.Before(due)) {
		due = late
	}
	return due
}

// tick writes what is due. While asking, that is while a question waits for its answer,
// it reminds of nothing.
func (t *turn) tick(now time.Time, asking bool) {
	t.out.Text(t.read().text.Late(now))
	if due := t.nextReminder(); asking || due.IsZero() || now.Before(due) {
		return
	}
	t.told++
	t.writeLine("Still %s, %s.", t.what, length(now.Sub(t.since)))
	if t.Silent(now) {
		t.writeLine("The server is still connected. /wait keeps waiting, ctrl+c stops.")
	}
}

// read returns the turn whose answer is read: one of those that are compared, or t.
func (t *turn) read() *turn {
	if c := t.compared; c != nil && c.speaking >= 0 {
		return c.turns[c.speaking]
	}
	return t
}

// wait gives a silent model as much time again as it had, and reports whether it is
// silent.
func (t *turn) wait() bool {
	if !t.Silent(t.now()) {
		return false
	}
	t.pulse.Beat()
	t.ExtendSilence(t.now())
	return true
}

// add writes what an event changes.
func (t *turn) add(e session.Event) {
	now := t.now()
	switch e := e.(type) {
	case session.Step:
		t.remote = nil
		if e.IsImage {
			t.writeLine("Drawing with %s.", e.Model)
		}
	case llm.Delta:
		t.answered = true
	}
	for _, c := range t.Apply(e, now) {
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
	told := t.compared != nil && t.compared.AllAsked() // each says its own error
	for _, c := range t.Apply(d, t.now()) {
		if c.Kind != app.EventBlock || !told {
			t.change(c)
		}
	}
	if d.Err == nil && t.compared == nil {
		t.footer(d)
		if why := endReasons[d.Reason]; why != "" {
			t.writeLine("%s", why)
		}
	}
}

// change writes a change.
func (t *turn) change(c app.Change) {
	if c.Op == app.Dropped {
		t.dropped(c)
		return
	}
	switch c.Kind {
	case app.UserBlock:
		t.prompt(c.Event.(session.Prompt), t.heard)
		t.heard = false
	case app.ThinkingBlock:
		switch {
		case c.Op == app.Renamed: // some servers say only at the end that it was thinking
			t.writeLine("That was thinking.")
		case c.Text != "" && t.thought.IsZero():
			t.thought = t.now()
			t.writeLine("Thinking…")
		}
	case app.TextBlock:
		if c.Op == app.Closed {
			t.finishText()
			return
		}
		t.endThought()
		t.growing = true
		t.out.Text(t.text.Add(c.Text, t.now()))
	case app.ToolBlock:
		t.tool(c)
	case app.SourceBlock, app.MediaBlock:
		t.endThought()
		t.part(c)
	case app.EventBlock, app.RetryBlock:
		t.event(c.Event)
	}
}

// dropped ends what is no part of the answer.
func (t *turn) dropped(c app.Change) {
	switch c.Kind {
	case app.TextBlock:
		t.finishText()
	case app.ThinkingBlock:
		t.endThought()
	case app.ToolBlock:
		t.remote = slices.DeleteFunc(t.remote, func(r *remoteCall) bool { return r.id == c.ID })
	}
}

// tool writes what becomes of a call.
func (t *turn) tool(c app.Change) {
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
	case session.Decision:
		t.writeDecision(c.Tool)
	case session.Result:
		t.output = &result{e.Part.Name, e.Part.Text}
		if c.Tool.Name != "" && c.Tool.Status != app.CallDenied {
			t.writeResult(c.Tool, e, t.stopped)
		}
	}
}

// finish ends what grows.
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
}

func (t *turn) endThought() {
	if !t.thought.IsZero() {
		if took := t.now().Sub(t.thought); took >= time.Second {
			t.writeLine("Thought for %s.", length(took))
		}
		t.thought = time.Time{}
	}
}

// endReasons say why an answer is not what it might have been.
var endReasons = map[llm.Reason]string{
	llm.Length: app.AnswerCutOff + ".", llm.Refused: app.AnswerFiltered + ".",
}

// footer sums the turn up.
func (t *turn) footer(d session.Done) {
	if d.Steps == 0 || !t.answered && d.Usage == (llm.Usage{}) {
		return
	}
	var parts []string
	if d.Usage.Output > 0 {
		parts = append(parts, tokensOut(d.Usage))
	}
	if cost := money(d.Usage); cost != "" {
		parts = append(parts, cost)
	}
	t.writeLine("Answer finished: %s.", strings.Join(append(parts, length(t.now().Sub(t.began))), ", "))
}
