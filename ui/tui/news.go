package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools"
	"parley/ui/format"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// A turn is what the screen knows of the running turn.
type turn struct {
	cancel  context.CancelFunc
	model   string                  // that answers; "" before it was asked
	draft   session.PartialResponse // of the running answer; may be ahead of what is shown
	blocks  map[string]*block       // of the running answer, by the name of the delta's block
	order   []*block                // the same as they began
	open    *block                  // that grows; nil: none
	tools   map[string]string       // call id to id in the transcript, of the running answer
	shown   map[string]transcript.Tool
	waiting time.Time // since when nothing came; zero while something does
	doing   string    // "thinking", "answering", "running shell", …
	since   time.Time // since when it is done
	retry   llm.Retry // the last one
	retryID string    // of its line in the transcript; "" before the first
	again   time.Time // when it goes out; zero: none is waited for
	tally   tally     // of the answers since the last prompt
	chars   int       // of the running answer, but for its beginning
	first   time.Time // when the running answer began to come
	stopped bool      // esc was pressed
	halted  time.Time // when calls were stopped
	pulse   *llm.Pulse
	content time.Time // when the running answer last had any; zero while none runs
	silent  string    // id of the line that says that it has had none for long; "" if there is none
}

// A block is one part of an answer on the screen.
type block struct {
	id    string // in the transcript
	kind  llm.Kind
	began time.Time

	size   int  // bytes of its text
	remote bool // a call that the provider runs
}

// state says what goes on, in a word or two.
func (t *turn) state(now time.Time) string {
	switch {
	case t.stopped:
		return "stopping"
	case t.waiting.IsZero():
		return t.doing
	case now.Sub(t.waiting) > 15*time.Second:
		return "no answer yet, esc stops"
	}
	return "waiting"
}

// do notes what goes on, and since when.
func (t *turn) do(what string, now time.Time) {
	if t.doing != what {
		t.doing, t.since = what, now
	}
}

// stopped stands where the user stopped an answer.
const stopped = "stopped"

// countDown shows how long until a request goes out again.
func (m *Model) countDown(t *turn) {
	if t.again.IsZero() {
		return
	}
	text := fmt.Sprintf("retry %d: %s", t.retry.Attempt, words(t.retry.Fault))
	if left := t.again.Sub(m.now()); left > 0 {
		text = fmt.Sprintf("retry %d in %s: %s", t.retry.Attempt, format.Seconds(left), words(t.retry.Fault))
	}
	if t.retryID == "" {
		t.retryID = m.transcript.NewID()
	}
	m.transcript.Replace(t.retryID, transcript.Retry, text)
}

// silentAfter is how long an answer has no content before the user is asked to
// wait or to stop it. The server has given signs of life until then, or the
// answer would have ended.
const silentAfter = 5 * time.Minute

// tellSilence shows that the running answer has had no content for long.
func (m *Model) tellSilence(t *turn) {
	if t.content.IsZero() || t.stopped || m.now().Sub(t.content) < silentAfter {
		return
	}
	if t.silent == "" {
		t.silent = m.transcript.NewID()
	}
	m.transcript.Replace(t.silent, transcript.Retry, fmt.Sprintf("No content for %d min, the server is still there · %s wait · %s stop",
		int(m.now().Sub(t.content).Minutes()), m.keyOf("wait"), m.keyOf("stop")))
}

// heard notes that the running answer has content, or that the user waits on.
func (m *Model) heard(t *turn) {
	t.content = m.now()
	if t.silent != "" {
		m.transcript.Remove(t.silent)
		t.silent = ""
	}
}

// wait gives a silent model as much time again as it had.
func (m *Model) wait(string) tea.Cmd {
	m.turn.pulse.Beat()
	m.heard(m.turn)
	return m.say("Waiting")
}

// burst is for how long what comes first is left out of the pace: it may have
// waited somewhere.
const burst = 100 * time.Millisecond

// rate is tokens per second of the running answer, by four bytes a token; the
// footer has the provider's numbers. It is 0 if it cannot be told.
func (t *turn) rate(now time.Time) float64 {
	took := now.Sub(t.first) - burst
	if t.first.IsZero() || took < time.Second || !paced(t.chars/4, 0, took) {
		return 0
	}
	return float64(int(float64(t.chars) / 4 / took.Seconds()))
}

// news shows what happened since the last frame.
func (m *Model) news(msg newsMsg) tea.Cmd {
	if msg.from != m.pump {
		return nil // of a turn that is over
	}
	began := time.Now()
	var cmds []tea.Cmd
	for _, e := range msg.from.take() {
		cmds = append(cmds, m.event(e))
	}
	msg.from.took(time.Since(began), m.frame())
	return tea.Batch(cmds...)
}

func (m *Model) event(e session.Event) tea.Cmd {
	t := m.turn
	if t == nil {
		return nil
	}
	m.shown = true
	switch e := e.(type) {
	case session.Prompt:
		m.composer.SetQueue(m.queuedTexts())
		m.layout()
		m.sumUp(t, false) // of what came before a message that waited
		m.transcript.Tag(e.Seq)
		text, attached := attach.SplitMessage(e.Message)
		m.transcript.User(text, labels(attached)...)
		return m.picture(attached)
	case session.Step:
		t.draft, t.blocks, t.order, t.tools, t.waiting = e.Partial, map[string]*block{}, nil, map[string]string{}, m.now()
		t.model = e.Model
		t.do("waiting", m.now())
		m.transcript.Tag(e.Seq)
		m.heard(t)
	case session.Compacted:
		m.transcript.Tag(e.Seq)
		m.transcript.Summary(m.transcript.NewID(), e.Text, e.Messages)
		m.show(e)
	case llm.Delta:
		m.delta(t, e)
	case llm.Notice, session.Fallback, session.ModelSwitched:
		m.show(e)
	case llm.Retry:
		t.retry, t.again = e, m.now().Add(e.Wait)
		m.heard(t)
		m.countDown(t)
	case session.Response:
		m.answer(t, e)
	case session.Call:
		m.call(t, e.Part)
	case session.ApprovalRequest:
		m.toolOf(t, e.Call.ID, func(tool *transcript.Tool) {
			tool.Status = transcript.AwaitingApproval // the question shows the diff
			tool.Title = strings.TrimPrefix(e.Action.Title, tool.Name+" ")
		})
		m.asks = append(m.asks, e)
		return tea.Batch(m.askNext(), m.notify("may it run? "+e.Action.Title))
	case session.Decision:
		m.decided(t, e)
	case session.Progress:
		m.transcript.ToolOutput(t.tools[e.ID], e.Text)
	case session.Result:
		m.result(t, e)
	case session.CandidateEvent:
		m.lane(t, e)
	case session.Done:
		return m.done(t, e)
	}
	return nil
}

func (m *Model) delta(t *turn, d llm.Delta) {
	now := m.now()
	m.heard(t)
	if t.first.IsZero() {
		t.first = now
		t.again = time.Time{}
	}
	t.waiting = time.Time{}
	if now.Sub(t.first) >= burst {
		t.chars += len(d.Text) + len(d.Input)
	}
	b := t.blocks[d.Block]
	if b == nil {
		m.close(t)
		b = &block{id: m.transcript.NewID(), kind: d.Kind, began: now}
		t.blocks[d.Block], t.order = b, append(t.order, b)
		t.open = b
	}
	b.size += len(d.Text)
	if d.Kind != "" && d.Kind != b.kind {
		m.rename(t, d.Block, b, d.Kind)
		return
	}
	part, _ := t.draft.Part(d.Block)
	switch b.kind {
	case llm.Thinking:
		t.do("thinking", now)
		if d.Text != "" {
			m.transcript.AppendThinking(b.id, d.Text)
		}
	case llm.Text:
		t.do("answering", now)
		if d.Text != "" {
			m.transcript.AppendAnswer(b.id, d.Text)
			transcript.Share(m.transcript, b.id, part.Text)
		}
	case llm.Call:
		t.do("calling "+part.Name, now)
		if part.ID != "" {
			t.tools[part.ID] = b.id
		}
		m.tool(t, b.id, func(tool *transcript.Tool) {
			tool.Name, tool.Input, tool.Status = part.Name, part.Input, transcript.Arriving
			if b.remote = part.Remote; b.remote { // the provider runs it
				tool.Status, tool.Started = transcript.Running, b.began
			}
		})
	case llm.Result: // of a tool that the provider ran
		m.toolOf(t, part.ID, func(tool *transcript.Tool) {
			tool.Output, tool.Status = part.Text, transcript.Done
			if part.Failed {
				tool.Status = transcript.Failed
			}
		})
	case llm.Source:
		m.transcript.Replace(b.id, transcript.Info, strings.TrimSpace("source: "+part.Text+" "+part.URL))
	case llm.Media:
		m.transcript.Replace(b.id, transcript.Info, fmt.Sprintf("%s, %d bytes", part.MIME, len(part.Data)))
	}
}

// rename shows a block as another kind: some servers say only at the end of
// their thinking that it was thinking.
func (m *Model) rename(t *turn, name string, b *block, kind llm.Kind) {
	m.close(t)
	m.transcript.Remove(b.id)
	b.id, b.kind, t.open = m.transcript.NewID(), kind, b
	part, _ := t.draft.Part(name)
	text := part.Text[:min(b.size, len(part.Text))]
	switch kind {
	case llm.Thinking:
		m.transcript.AppendThinking(b.id, text)
	case llm.Text:
		m.transcript.AppendAnswer(b.id, text)
	}
}

// close ends the block that grew last.
func (m *Model) close(t *turn) {
	b := t.open
	if b == nil {
		return
	}
	switch b.kind {
	case llm.Thinking:
		m.transcript.FinishThinking(b.id, m.now().Sub(b.began))
	case llm.Text:
		m.transcript.FinishAnswer(b.id)
	}
	t.open = nil
}

func (m *Model) answer(t *turn, a session.Response) {
	m.close(t)
	m.heard(t)
	t.content = time.Time{}
	t.first, t.chars = time.Time{}, 0
	t.tally.add(a.Message, a.Usage, a.Finish.Reason, a.TTFT, a.Duration)
	t.stored(m, a.Seq)
	t.again = time.Time{}
	m.transcript.Remove(t.retryID)
	t.retryID = ""
	m.nameCalls(t, a.Message.Calls())
	for name, b := range t.blocks {
		if b.kind != llm.Call {
			continue
		}
		part, _ := t.draft.Part(name)
		m.tool(t, b.id, func(tool *transcript.Tool) {
			switch {
			case a.Message.Interrupted && tool.Status != transcript.Done && tool.Status != transcript.Failed: // it never runs
				tool.Status = transcript.Canceled
			case part.Remote && tool.Status == transcript.Running: // without a result of its own
				tool.Status = transcript.Done
			}
		})
	}
}

// nameCalls notes under which ids the calls of a whole answer go on: the session
// gives an id to those that came without one, and another to those that share
// one.
func (m *Model) nameCalls(t *turn, calls []llm.Part) {
	var blocks []*block
	for _, b := range t.order {
		if b.kind == llm.Call && !b.remote {
			blocks = append(blocks, b)
		}
	}
	if len(calls) != len(blocks) {
		return // some were dropped: the others have ids of their own
	}
	for i, call := range calls {
		t.tools[call.ID] = blocks[i].id
	}
}

// tool changes what the transcript shows of a call.
func (m *Model) tool(t *turn, id string, change func(*transcript.Tool)) {
	if t.shown == nil {
		t.shown = map[string]transcript.Tool{}
	}
	tool := t.shown[id]
	change(&tool)
	t.shown[id] = tool
	m.transcript.Tool(id, tool)
}

// toolOf is tool by the id of the call.
func (m *Model) toolOf(t *turn, call string, change func(*transcript.Tool)) {
	id, ok := t.tools[call]
	if !ok {
		id = m.transcript.NewID()
		t.tools[call] = id
	}
	m.tool(t, id, change)
}

func (m *Model) call(t *turn, p llm.Part) {
	t.waiting = time.Time{}
	t.do("running "+p.Name, m.now())
	m.toolOf(t, p.ID, func(tool *transcript.Tool) {
		tool.Name, tool.Input, tool.Status, tool.Started = p.Name, p.Input, transcript.Running, m.now()
		tool.Hint = m.keyOf("stop") + " stops this tool"
	})
}

func (m *Model) decided(t *turn, d session.Decision) {
	m.toolOf(t, d.ID, func(tool *transcript.Tool) {
		tool.Status, tool.Started = transcript.Running, m.now()
		if d.Verdict == tools.Deny {
			tool.Status = transcript.Denied
		}
	})
	t.since = m.now() // waiting for a person is not running
}

func (m *Model) result(t *turn, r session.Result) {
	m.toolOf(t, r.Part.ID, func(tool *transcript.Tool) {
		tool.Output, tool.Duration, tool.Diff = r.Part.Text, r.Duration, r.Diff
		switch {
		case tool.Status == transcript.Denied:
		case r.Stopped:
			tool.Status = transcript.Canceled
		case r.Part.Failed:
			tool.Status = transcript.Failed
		default:
			tool.Status = transcript.Done
		}
	})
}

// askNext opens the approval of the next call that waits for one.
func (m *Model) askNext() tea.Cmd {
	if m.dialog != nil || len(m.asks) == 0 {
		return nil // what is open first is answered first
	}
	ask := m.asks[0]
	m.asking = m.transcript.NewID() // of the question: calls may share an id
	approval := dialog.Approve(m.asking, ask.Action, m.now(), m.theme)
	approval.Now, approval.Workspace, approval.Editor = m.now, m.app.Workspace, composer.New(m.theme)
	return m.open(approval)
}

// paintSoon tells an approval, once the frame with it has reached the terminal,
// that it was seen: what is typed before does not allow anything.
func (m *Model) paintSoon() tea.Cmd {
	if _, ok := m.dialog.(painter); !ok {
		return nil
	}
	const twoFrames = 20 * time.Millisecond
	return m.later(twoFrames, paintedMsg{})
}

func (m *Model) painted() tea.Cmd {
	if a, ok := m.dialog.(painter); ok {
		return a.Painted(m.now())
	}
	return nil
}

// A painter is a dialog that counts only what was seen.
type painter interface {
	Painted(now time.Time) tea.Cmd
}

// done ends the turn on the screen.
func (m *Model) done(t *turn, d session.Done) (cmd tea.Cmd) {
	m.close(t)
	m.transcript.Remove(t.retryID) // a summary has no answer that ends it
	m.turn, m.asks = nil, nil
	if _, ok := m.dialog.(*dialog.Approval); ok {
		m.dialog = nil
	}
	m.failed = d.Err != nil || t.tally.empty
	c, compares := m.dialog.(*comparison)
	if compares {
		c.end()
		if c.wanted >= 0 {
			defer func() { cmd = tea.Batch(cmd, m.compared(comparedMsg{c.wanted})) }()
		}
	}
	if d.Err != nil && !(compares && c.told()) { // those have it each in its column
		m.show(d)
	}
	m.sumUp(t, d.Err != nil)
	if d.Err != nil { // what waited goes back to where it can be changed
		m.unqueue("")
	}
	m.layout()
	m.composer.SetQueue(m.queuedTexts())
	again := m.compacting
	m.compacting = false
	switch {
	case again && d.Err == nil:
		return m.run()
	case !again && llm.FaultOf(d.Err) == llm.ContextOverflow && m.dialog == nil:
		return m.confirm(true, dialog.Confirm("compact", "The conversation does not fit the model's window any more. Summarize what was said and try again? The conversation itself stays whole.", "summarize", "leave it", m.theme))
	}
	if m.app.Session.QueueLen() > 0 { // queued after the turn's last look
		return m.next()
	}
	if d.Err == nil {
		return tea.Batch(m.name(), m.notify("answered: "+m.app.Session.Title()))
	}
	return m.notify("stopped: " + d.Err.Error())
}

// name has the conversation named, where a model for that is configured.
func (m *Model) name() tea.Cmd {
	s := m.app.Session
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.GenerateTitle(ctx); err != nil {
			return didMsg{err: err}
		}
		return nil
	}
}

// next sends the first of the messages that wait.
func (m *Model) next() tea.Cmd {
	waiting := m.app.Session.Unqueue()
	for _, later := range waiting[1:] {
		m.app.Session.Queue(later.Parts...)
	}
	return m.run(waiting[0].Parts...)
}

// sumUp closes the answers to one prompt with their footer.
func (m *Model) sumUp(t *turn, cut bool) {
	t.tally.show(m, cut)
	t.tally = tally{}
}

// words is a fault as a person says it.
func words(f llm.Fault) string { return strings.ReplaceAll(string(f), "_", " ") }

func count(n int) string { return format.Tokens(n) }
