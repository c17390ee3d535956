package tui

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/renderer"
)

const (
	escWithin  = 600 * time.Millisecond
	quitWithin = 2 * time.Second
	toastFor   = 3 * time.Second
	toastMore  = 50 * time.Millisecond // for each letter of a long one
)

type (
	tickMsg      struct{ of *turn }
	toastOverMsg struct{}
	editedMsg    struct {
		text string
		err  error
	}
)

// tick moves elapsed times while a turn runs, once a second.
func (m *Model) tick() tea.Cmd {
	t := m.chat.turn
	return m.later(time.Second, tickMsg{t})
}

func (m *Model) ticked(msg tickMsg) tea.Cmd {
	if m.chat.turn == nil || msg.of != m.chat.turn {
		return nil
	}
	m.chat.tick(m.now())
	return m.tick()
}

// A toast is a few words above the composer, which go by themselves.
type toast struct {
	text  string
	till  time.Time
	while func() bool // what it tells of is so; nil: it has no cause that goes
}

// shows reports whether the words are to be seen.
func (t *toast) shows(now time.Time) bool {
	return now.Before(t.till) && (t.while == nil || t.while())
}

// say shows a few words above the composer, for as long as it takes to read
// them.
func (m *Model) say(text string) tea.Cmd { return m.sayWhile(text, nil) }

// sayWhile is say for as long as what it tells of is so.
func (m *Model) sayWhile(text string, so func() bool) tea.Cmd {
	long := toastFor + time.Duration(max(len(text)-60, 0))*toastMore
	m.toast = toast{text, m.now().Add(long), so}
	return m.later(long, toastOverMsg{})
}

// submit sends what was typed, runs it if it is a command, or queues it while
// the model is busy.
func (m *Model) submit(msg composer.SubmitMsg) tea.Cmd {
	text := msg.Text
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.layout()
	if msg.Shell {
		return m.shell(text)
	}
	if !msg.Plain {
		if cmd, ok := m.command(text); ok {
			return cmd
		}
		if why := m.keymap.mistyped(text); why != "" {
			m.composer.SetValue(text)
			m.layout()
			return m.sayWhile(why, func() bool { return m.composer.Value() == text })
		}
	}
	var cmd tea.Cmd
	rewrites := m.rewrites()
	if m.app.Mentions(msg.Typed) {
		cmd = m.expand(msg)
	} else {
		cmd = m.dispatch(text, nil)
	}
	if none := m.app.Unfound(msg.Typed); none != "" && !rewrites {
		return tea.Batch(cmd, m.say("no file "+none+": sent as text"))
	}
	return cmd
}

// dispatch sends a prompt, or queues it while the model is busy.
func (m *Model) dispatch(text string, mentioned []llm.Part) tea.Cmd {
	if m.rewrite(text) {
		return m.say("rewritten as a branch; " + m.keymap.keyOf("tree") + " shows both")
	}
	if err := m.branch(); err != nil {
		m.draft(text)
		return m.say(err.Error())
	}
	var models []llm.Endpoint
	if m.chat.turn == nil && len(m.comparing) > 0 {
		var err error
		if models, err = m.rivals(); err != nil {
			m.draft(text)
			return m.say(err.Error())
		}
	}
	parts := append(append(without(m.app.Attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text})
	m.app.Attached = nil
	sent := m.sent(text)
	m.layout()
	if m.chat.turn == nil { // what is queued shows above the input, and moves nothing
		m.chat.transcript.Bottom()
	}
	if len(models) > 0 {
		return tea.Batch(sent, m.askAll(models, parts))
	}
	if m.chat.turn != nil {
		m.app.Session.Queue(parts...)
		m.composer.SetQueue(m.queuedTexts())
		m.layout()
		return tea.Batch(sent, m.sayWhile("queued: sent when the model is done, up takes it back", func() bool { return m.app.Session.QueueLen() > 0 }))
	}
	return tea.Batch(sent, m.run(parts...))
}

// without is attached but for what mentioned brings anew: a message that is edited
// has both the file and the words that name it.
func without(attached, mentioned []llm.Part) []llm.Part {
	return slices.DeleteFunc(slices.Clone(attached), func(a llm.Part) bool {
		return slices.ContainsFunc(mentioned, func(p llm.Part) bool {
			if a.Kind != p.Kind || a.Name != p.Name || a.MIME != p.MIME {
				return false
			}
			was, _, _ := strings.Cut(a.Text, "\n") // which names the path; the rest may have changed
			is, _, _ := strings.Cut(p.Text, "\n")
			return was == is && bytes.Equal(a.Data, p.Data)
		})
	})
}

// rememberDraft puts the draft into the history, where it can be found again, also
// after a restart.
func (m *Model) rememberDraft() {
	m.app.Library.AddPromptAsync(session.SentPrompt{Text: m.composer.Value(), Dir: m.app.Folder, At: m.now()})
}

// halt stops the calls that run, or else the turn. A second time shortly after it
// is the turn in any case: another call may have begun.
func (m *Model) halt(string) tea.Cmd {
	t := m.chat.turn
	if m.now().Sub(t.halted) < escWithin {
		return m.stop("")
	}
	n := m.app.Session.StopCalls()
	if n == 0 {
		return m.stop("")
	}
	t.halted = m.now()
	what := "the tool"
	if n > 1 {
		what = fmt.Sprintf("%d tools", n)
	}
	return m.sayWhile("stopped "+what+", the model goes on; "+m.keymap.keyOf("stop")+" again stops it too", func() bool { return m.chat.turn == t })
}

// stop ends the turn.
func (m *Model) stop(string) tea.Cmd {
	m.chat.turn.stopped = true
	m.chat.turn.cancel()
	return nil
}

// interrupt is ctrl+c: it stops, else clears, else quits.
func (m *Model) interrupt(string) tea.Cmd {
	switch {
	case m.chat.turn != nil && !m.chat.turn.stopped:
		return m.stop("")
	case m.editing > 0:
		return m.leaveEdit()
	case !m.composer.Empty():
		m.rememberDraft()
		m.composer.Clear()
		m.layout()
		return tea.Batch(m.written(), m.sayWhile("cleared, ctrl+_ brings it back", m.composer.Empty))
	case m.now().Sub(m.quitAsked) < quitWithin:
		return m.quit()
	}
	m.quitAsked = m.now()
	return m.sayWhile("ctrl+c again quits", func() bool { return m.now().Sub(m.quitAsked) < quitWithin && m.composer.Empty() })
}

// rewind lists the user's messages; the picked one goes back to the composer.
func (m *Model) rewind(string) tea.Cmd {
	var items []dialog.Item
	for _, n := range m.app.Session.Path() {
		if n.Role == llm.RoleUser && !n.Summary {
			items = append(items, dialog.Item{Title: spoken(n.Message), Value: fmt.Sprint(n.Seq)})
		}
	}
	slices.Reverse(items)
	return m.choose(dialog.Pick("", "Edit which message? What follows it stays as a branch", items, m.theme), func(p dialog.PickedMsg) tea.Cmd {
		seq, err := strconv.Atoi(p.Value)
		if err != nil {
			return m.say(err.Error())
		}
		return m.edit(seq)
	})
}

// spoken is the first line of what a message says, or what it brings along.
func spoken(msg llm.Message) string {
	text, attached := attach.SplitMessage(msg)
	if strings.TrimSpace(text) == "" && msg.Role == llm.RoleUser {
		text = strings.Join(labels(attached), ", ")
	}
	return app.FirstLine(text)
}

// editor hands the draft to the user's own editor.
func (m *Model) editor(string) tea.Cmd {
	cmd, written, err := app.Editor(m.app.Getenv, m.composer.Value())
	if err != nil {
		return m.say(err.Error())
	}
	return renderer.Exec(cmd, func(err error) tea.Msg {
		text, err := written(err)
		return editedMsg{text: text, err: err}
	})
}

func (m *Model) edited(msg editedMsg) tea.Cmd {
	if msg.err != nil {
		return m.say(msg.err.Error())
	}
	m.composer.SetValue(msg.text)
	m.layout()
	return nil
}

// context lists what a request holds.
func (m *Model) context() tea.Cmd {
	var items []dialog.Item
	row := func(name string, tokens int, note string) {
		items = append(items, dialog.Item{Title: name, Detail: strings.TrimPrefix(fmt.Sprintf("about %s tokens · %s", count(tokens), note), " · ")})
	}
	fill := m.filled()
	note := "window unknown"
	if window := m.app.Session.Model().Context; window > 0 {
		note = fmt.Sprintf("%s of the window of %s", format.Percent(float64(fill)/float64(window)), count(window))
	}
	row("next request", fill, note)
	said := m.app.Session.ContextTokens()
	facts := m.app.Context()
	for _, f := range facts {
		said -= f.Tokens
	}
	if said > 0 {
		row("conversation", said, "")
	}
	if rest := fill - m.app.Session.ContextTokens(); rest > 0 && m.app.Session.ContextTokens() > 0 {
		row("draft", rest, "")
	}
	for _, f := range facts {
		row(f.Name, f.Tokens, f.Note)
	}
	for i := range items {
		items[i].Detail = strings.TrimSuffix(items[i].Detail, " · ")
	}
	return m.choose(dialog.Pick("", "What every request holds", items, m.theme), nil)
}

func (m *Model) toggleMouse(string) tea.Cmd {
	m.mouse = !m.mouse
	if m.mouse {
		return m.say("mouse: the wheel scrolls, and what is selected is copied")
	}
	return m.say("mouse: left to the terminal")
}

// closed takes a dialog away that was left without a choice.
// What was typed to find a command is not lost: it may have been a message.
func (m *Model) closed(msg dialog.ClosedMsg) tea.Cmd {
	if cmd, ok := m.leaveWire(); ok {
		return cmd
	}
	m.dialog = nil
	slash := m.slash
	m.slash = false
	m.unlook()
	defer m.layout()
	if !slash || msg.Typed == "" {
		return m.askNext()
	}
	typed := "/" + msg.Typed
	if msg.Accepted {
		if cmd, ok := m.command(typed); ok {
			return tea.Batch(cmd, m.askNext())
		}
	} else if slices.ContainsFunc(m.keymap.actions, func(a action) bool { return a.Named(strings.TrimSpace(msg.Typed)) }) {
		return m.askNext()
	}
	m.composer.SetValue(typed)
	if why := m.keymap.mistyped(typed); msg.Accepted && why != "" {
		return tea.Batch(m.say(why), m.askNext())
	}
	return m.askNext()
}

// answered passes on what a user said to a call, and asks about the next one.
func (m *Model) answered(msg dialog.AnsweredMsg) tea.Cmd {
	m.dialog = nil
	m.layout()
	if len(m.chat.asks) == 0 || m.chat.asking != msg.ID {
		return nil // of a turn that is over
	}
	var ask session.ApprovalRequest
	ask, m.chat.asks = m.chat.asks[0], m.chat.asks[1:]
	ask.Reply(msg.Answer)
	return m.askNext()
}

// A question is a dialog that one may want to read the conversation for.
type question interface {
	Scrolls() bool // by itself, with the keys and the wheel
}

// pages are actions whose keys a question leaves to the conversation, unless it
// needs them for itself.
var pages = []string{"page-up", "page-down", "top", "bottom"}

// above gives the action that a key runs although a dialog is open, nil if it is
// for the dialog.
func (m *Model) above(key string) *action {
	a := m.keymap.keys[key]
	if a == nil || a.above && a.Group != app.Reading {
		return a
	}
	q, asks := m.dialog.(question)
	free := asks && !q.Scrolls() && slices.Contains(pages, a.Name)
	if m.clear() > 0 && (a.above || free) {
		return a
	}
	return nil
}

// clear is how many rows of the conversation a dialog leaves in sight.
func (m *Model) clear() int { return max(m.height-1-m.dialog.Height(), 0) }

// wheels reports whether the wheel turns the conversation: where it is in sight,
// and below a question that has nothing to scroll.
func (m *Model) wheels(msg tea.MouseMsg) bool {
	if _, wheel := msg.(tea.MouseWheelMsg); !wheel || m.dialog == nil {
		return false
	}
	q, asks := m.dialog.(question)
	return msg.Mouse().Y < m.clear() || asks && !q.Scrolls() && m.clear() > 0
}

// dialogKey handles keys that work above every dialog: ctrl+c closes it; when it
// asks about a tool, the turn is what is stopped.
func (m *Model) dialogKey(key tea.KeyPressMsg) (tea.Cmd, bool) {
	if a := m.above(key.String()); a != nil {
		return m.do(a, ""), true
	}
	if key.String() != "ctrl+c" {
		return nil, false
	}
	if _, asks := m.dialog.(*dialog.Approval); asks && m.chat.turn != nil {
		m.stop("")
	}
	if _, compares := m.dialog.(*comparison); compares && m.chat.turn != nil {
		m.stop("")
		return nil, true // what was answered so far can be chosen
	}
	m.dialog, m.slash = nil, false
	m.unlook()
	m.layout()
	return nil, true
}
