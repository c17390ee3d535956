package chat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
	"parley/ui/tui/transcript"
)

func (c *Chat) drawAll(changes []blocks.Change) {
	for _, change := range changes {
		c.draw(change)
	}
}

// draw shows a change.
func (c *Chat) draw(b blocks.Change) {
	t := c.Transcript
	t.Blocks.SetMessageSeq(b.Seq)
	switch {
	case DrawText(t, b):
		return
	case b.Op == blocks.Dropped:
		t.Remove(b.ID)
		t.Remove(imageOf(b.ID))
		return
	}
	switch b.Kind {
	case blocks.EventBlock:
		if !b.Repeats {
			c.drawEvent(b)
		}
	case blocks.UserBlock:
		text, attached := attach.SplitMessage(b.Event.(session.Prompt).Message)
		t.Blocks.AddUser(text, app.Labels(attached)...)
		c.Defer(c.putImage(attached))
	case blocks.ToolBlock:
		c.drawTool(b)
	case blocks.SourceBlock:
		t.Blocks.SetNote(b.ID, transcript.Info, blocks.SourceText(b))
	case blocks.MediaBlock:
		c.drawMedia(b.ID, *b.Part)
	case blocks.SummaryBlock:
		t.Blocks.SetSummary(b.ID, b.Text, b.Count)
	case blocks.RetryBlock:
		keys := c.KeyOf("stop") + " stops"
		if r, ok := b.Event.(llm.Retry); ok && !r.Remote && b.Duration > 0 {
			keys = c.KeyOf("now") + " now · " + keys
		}
		t.Blocks.SetNote(b.ID, transcript.Retry, wording.Countdown(b.Event, b.Duration)+" · "+keys)
	case blocks.SilenceBlock:
		t.Blocks.SetNote(b.ID, transcript.Retry, fmt.Sprintf("No content for %d min, the server is still there · %s wait · %s stop",
			int(b.Duration.Minutes()), c.KeyOf("wait"), c.KeyOf("stop")))
	case blocks.FooterBlock:
		c.drawFooter(b.Totals)
	case blocks.InterruptedBlock:
		switch b.Text {
		case "":
			t.Blocks.AddMarker(transcript.Info, wording.Stopped)
		case session.EndedText:
			t.Blocks.AddMarker(transcript.Info, wording.Interrupted)
		default:
			t.Blocks.AddError(b.Text, "")
		}
	}
}

// DrawText shows a change of thinking or of an answer's text, and reports whether
// b is one.
func DrawText(t *transcript.Model, b blocks.Change) bool {
	if b.Op == blocks.Renamed {
		t.Remove(b.Was)
	}
	switch grows := b.Op == blocks.Opened || b.Op == blocks.Grown || b.Op == blocks.Renamed; {
	case b.Kind == blocks.ThinkingBlock && grows:
		t.Blocks.AppendThinking(b.ID, b.Text)
	case b.Kind == blocks.ThinkingBlock && b.Op == blocks.Closed:
		t.Blocks.FinishThinking(b.ID, b.Duration)
	case b.Kind == blocks.TextBlock && grows:
		t.Blocks.AppendAnswer(b.ID, b.Text)
		transcript.Share(t, b.ID, b.Whole)
	case b.Kind == blocks.TextBlock && b.Op == blocks.Closed:
		t.Blocks.FinishAnswer(b.ID)
	default:
		return false
	}
	return true
}

// The statuses of calls must equal those of the transcript.
var _ [0]struct{} = [transcript.Status(blocks.CallLost) - transcript.Lost]struct{}{}

func (c *Chat) drawTool(b blocks.Change) {
	if b.Tool == nil {
		c.Transcript.Blocks.AppendToolOutput(b.ID, b.Text)
		return
	}
	tool := transcript.Tool{Name: b.Tool.Name, Input: b.Tool.Input, Status: transcript.Status(b.Tool.Status),
		Output: b.Tool.Output, Diff: b.Tool.Diff, Started: b.Tool.Started, Duration: b.Tool.Duration, By: b.Tool.By, Call: b.Tool.Call}
	_, tool.Whole = b.Event.(session.Opinion)
	if b.Tool.Stops {
		tool.Hint = stopHint(c.KeyOf("stop"))
	}
	c.Transcript.Blocks.SetTool(b.ID, tool)
	for i, p := range b.Tool.Media {
		if id := imageOf(b.ID) + strconv.Itoa(i); !transcript.HasImage(c.Transcript, id) {
			c.Defer(c.show(id, p))
		}
	}
}

// drawEvent shows an event between messages.
func (c *Chat) drawEvent(b blocks.Change) {
	if _, shell := b.Event.(session.ShellCommand); shell && b.Note > 0 {
		if run := c.runOf(b.Note); run != nil {
			run.show(c)
			return
		}
	}
	c.Show(b.Event)
}

// Show shows an event that stays between the messages.
func (c *Chat) Show(e session.Event) {
	c.HasContent = true
	t := c.Transcript
	switch e := e.(type) {
	case llm.Notice:
		t.Blocks.AddNote(e.Text)
	case session.Sandbox:
		t.Blocks.AddMarker(transcript.Warn, wording.Event(e))
	case session.Fallback:
		t.Blocks.AddMarker(transcript.Switch, wording.Event(e))
	case session.ModelSwitched:
		c.showSwitch(e)
	case session.AddedDirectories, session.Persona, session.Settings:
		t.Blocks.AddMarker(transcript.Info, wording.Event(e))
	case session.Verdict:
		t.Blocks.AddNote(wording.Verdict(e, c.App.Unnamed))
	case session.Compacted:
		t.Blocks.AddNote(wording.Event(e))
	case session.ShellCommand:
		t.Blocks.SetTool(t.Blocks.NewID(), shellTool(e))
	case session.Done:
		if llm.Canceled(e.Err) {
			if !e.AnswerComplete {
				t.Blocks.AddMarker(transcript.Info, wording.StoppedText(e.Err))
			}
			return
		}
		hint := wording.Hint(e.Err)
		if !e.AnswerComplete {
			hint = format.Join(" · ", hint, c.KeyOf("retry")+" retry")
		}
		t.Blocks.AddError(wording.Error(e.Err), hint)
	}
}

// showSwitch shows a switch of the model. Models between consecutive switches were not
// asked anything, so one line stands for all switches, and none if they lead back to the
// first model.
func (c *Chat) showSwitch(e session.ModelSwitched) {
	t := c.Transcript
	if last := c.switched; last.To == e.From && transcript.IsLastNote(t, last.id) {
		t.Remove(last.id)
		e.From = last.From
	}
	c.switched = shownSwitch{e, t.Blocks.NewID()}
	if e.From != e.To {
		t.Blocks.SetNote(c.switched.id, transcript.Switch, wording.Event(e))
	}
}

// drawFooter ends the answers to a prompt with their totals, and with reasons why
// they may differ from the request.
func (c *Chat) drawFooter(t *blocks.Totals) {
	if t.Answered {
		forms := footer(t, c.Now())
		c.Transcript.Blocks.AddFooter(forms[0], forms[1:]...)
	}
	switch {
	case t.Interrupted:
	case t.Empty:
		c.Transcript.Blocks.AddMarker(transcript.Warn, blocks.EmptyAnswer+" · "+c.KeyOf("retry")+" retry")
	case t.Incomplete != "":
		c.Transcript.Blocks.AddMarker(transcript.Warn, t.Incomplete)
	}
}

// maxFooter is the maximum width of a footer, in cells.
const maxFooter = 60

// leastTime is the minimum duration in a footer; less would read 0.0 s.
const leastTime = 50 * time.Millisecond

// footer summarizes a turn in a line of at most maxFooter cells: model without its provider, which
// the status line has, times, tokens and cost. It omits parts that do not fit, the least important first. Shorter forms for
// narrower lines follow.
func footer(t *blocks.Totals, now time.Time) []string {
	const (
		model = iota
		sent
		took
		in
		out
		cost
		first
		pace
		parts
	)
	var text [parts]string
	u, cached := t.Usage, ""
	text[model], text[sent] = format.ModelID(t.Model), t.Clock(now)
	if u != (llm.Usage{}) {
		about := ""
		if share := blocks.CacheShare(u); share != "" {
			cached = " (" + share + ")"
		}
		if t.Estimated {
			about = "~"
		}
		text[in], text[out] = format.Tokens(u.Input)+" in"+cached, about+format.Tokens(u.Output)+" out"
	}
	if t.CacheMissed {
		text[in], text[out] = blocks.CacheMissed, ""
	}
	text[cost] = format.Cost(u.Cost, u.Priced)
	if t.TTFT >= leastTime {
		text[first] = "first token " + format.Seconds(t.TTFT)
	}
	if p := t.Pace(); p > 0 {
		text[pace] = fmt.Sprintf("%.0f tok/s", p)
	}
	if d := t.Duration(); d >= leastTime {
		text[took] = format.Seconds(d)
	}
	line := func() string {
		return format.Join(" · ", text[:]...)
	}
	return footerForms(line, []func(){
		func() { text[pace] = "" },
		func() { text[first] = "" },
		func() { text[in] = strings.TrimSuffix(text[in], cached) },
		func() { text[took] = "" },
		func() {
			text[model] = ansi.Truncate(text[model], max(maxFooter-ansi.StringWidth(line())+ansi.StringWidth(text[model]), 8), "…")
		},
	})
}

// footerForms returns the forms of a line as it is shortened step by step, starting with the first
// form that fits maxFooter cells, or the last form if none fits.
func footerForms(line func() string, steps []func()) (forms []string) {
	form := line()
	for _, shorten := range steps {
		if ansi.StringWidth(form) <= maxFooter {
			forms = append(forms, form)
		}
		shorten()
		form = line()
	}
	return slices.Compact(append(forms, form))
}
