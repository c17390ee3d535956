package tui

import (
	"os"
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/clip"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/input"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panel"
	"parley/ui/tui/terminal"
)

// Model is the root: it routes messages, lays out the parts, and owns nothing
// that a part could own.
type Model struct {
	*common.Screen
	App           *app.App
	width, height int
	mouse         bool

	chat     *chat.Chat
	input    *input.Input
	overlay  *overlay.Overlay
	keymap   keymap
	branches *branches
	parts    parts    // those above and the panels
	greeter  greeter  // nil: the screen is empty before there is a conversation
	comparer comparer // nil: one model is asked

	closeErr   error // what could not be kept in the end
	pending    pendingInput
	compacting bool // the failed turn is tried again once the conversation is summarized
	frames     frames
}

func newModel(o Options) *Model {
	a := app.New(o.App)
	s := common.New(o.Config, os.Getenv, a.Now)
	m := &Model{Screen: s, App: a, mouse: o.Config.Mouse, keymap: newKeymap(o.Keys, a.Commands)}
	s.KeyOf = m.keymap.keyOf
	board := clip.New(a.Getenv, a.StateDir(), a.Directory, s.Write)
	s.SetClipboard(common.Clipboard{Put: board.Copy, Answered: board.Answered, AbbrevPath: a.AbbrevPath})
	m.chat, m.input, m.overlay = chat.New(s, a), input.New(s, a), overlay.New(s, a.Workspace)
	m.overlay.IsWriting = func() bool { return !m.input.Composer.Empty() }
	m.overlay.Typed = func(msg tea.Msg) tea.Cmd {
		cmd := m.input.Composer.Update(msg)
		return tea.Batch(cmd, m.input.Changed())
	}
	m.chat.OnEvent, m.chat.Perform = m.event, m.perform
	m.frames.status.Shown = o.Config.Status
	m.input.Ended = m.chat.TakeEndedCommands
	d := &panel.Deps{
		Screen: s, Host: m.overlay, App: a, Perform: m.perform,
		Run:    func(name string) tea.Cmd { return m.command("/" + name) },
		Show:   func(seq int) { m.chat.Transcript.ShowMessage(seq) },
		Themed: []panel.Themeable{m.chat.Transcript, m.input.Composer, m.overlay},
	}
	m.branches = &branches{Deps: d, chat: m.chat, input: m.input}
	known := &terminalState{images: chat.DrawsImages(os.Getenv)}
	m.parts = slices.Concat(parts{known, s, m.chat, m.input}, panels(d, m.chat), parts{m.branches, m.overlay})
	m.greeter, m.comparer = find[greeter](m.parts), find[comparer](m.parts)

	a.ClipboardImage = board.Image
	a.KeyOf = m.keymap.keyOf
	a.Busy = func() bool { return m.chat.Turn != nil }
	a.Terminal = known.state
	a.RequestTokens = m.input.ContextTokens
	a.BeforeSwitch = func() { m.branches.leaveEdit(); s.Defer(m.input.Leave()) }
	a.WatchAll(func(happened func() app.Effect) {
		s.Send(doMsg(func() tea.Cmd {
			m.overlay.Refresh()
			return m.perform(happened())
		}))
	})
	if a.Wire.OnRecordError != nil {
		a.Wire.OnRecordError(func(trouble string) { s.Send(app.Toast(trouble)) })
	}
	m.chat.ShowSession()
	m.input.RestoreDraft()
	return m
}

// Init asks the terminal for its background and sends a first prompt.
func (m *Model) Init() tea.Cmd {
	first := sendInitial
	if m.App.Question != "" {
		first = (*Model).askTrust
	}
	notice := ""
	if m.chat.HasContent || len(m.App.Start.Prompt) > 0 { // else the first screen shows it
		notice = m.App.Notice
	}
	cmds := []tea.Cmd{m.parts.broadcast(common.StartMsg{}), m.input.LoadHistory(), readPrompts(m), m.perform(app.Toast(notice)), first(m)}
	return m.Guarded(tea.Batch(cmds...))
}

// readPrompts reads which prompts can be typed by name.
func readPrompts(m *Model) tea.Cmd {
	read := app.ReadPrompts(m.App)
	return func() tea.Msg { read(); return nil }
}

// sendInitial sends the prompt of the command line, if there is one, and looks for what can answer.
func sendInitial(m *Model) tea.Cmd {
	if m.App.Start.Find != nil { // a list is open, which shows what is found
		return m.sendInitialPrompt()
	}
	return tea.Batch(m.sendInitialPrompt(), m.parts.broadcast(common.ReadyMsg{}))
}

// sendInitialPrompt sends the prompt of the command line, or opens the list that it asks for. It
// returns nil where it has neither.
func (m *Model) sendInitialPrompt() tea.Cmd {
	prompt := m.App.Start.Prompt
	switch {
	case m.App.Start.Find != nil:
		if len(prompt) > 0 { // it is for the conversation that is chosen
			m.pending.draft = prompt
		}
		return m.perform(app.PanelQuery{Panel: app.PanelSessions, Query: *m.App.Start.Find})
	case len(prompt) == 0:
		return nil
	}
	compared, err := m.openCompared()
	switch {
	case err != nil:
		m.input.RestoreMessage(llm.Message{Role: llm.RoleUser, Parts: prompt})
		return m.ShowToast(app.ShellErrorText(err))
	case compared != nil:
		return m.comparer.Ask(compared, prompt)
	}
	if _, waits := m.App.DiscoverModels().(app.Prepare); waits {
		m.pending.first = prompt
		return nil
	}
	return m.chat.SendPrompt(prompt...)
}

// openCompared opens the models that are compared, if any are; nil if one model is asked.
func (m *Model) openCompared() (*app.ComparedPrompt, error) {
	if m.comparer == nil {
		return nil, nil
	}
	return app.OpenCompared(m.App)
}

// Update handles one message, and what the composer sends because of it: the next key is for what
// comes of that.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		if terminal.IsModifier(key.Code) { // reported after a leader
			return m, nil
		}
		msg = m.keymap.resolve(key)
	}
	if !writesText(m, msg) {
		m.input.CountAgain()
	}
	asked := m.overlay.Dialog != nil
	cmd := tea.Batch(m.overlay.Settle(msg), route(m, msg), takeSubmitted(m), m.overlay.AskNext(), askNext(m))
	if asked && m.overlay.Dialog == nil && !m.chat.HasContent { // conversations may have gone, or have other names
		cmd = tea.Batch(cmd, m.parts.broadcast(common.SessionsChangedMsg{}))
	}
	if m.overlay.Dialog == nil && m.pending.preparing == 0 {
		m.pending.giveBackDraft(m.input)
		m.branches.restoreAside()
	}
	m.input.ShowQueue()
	m.layout()
	return m, m.Guarded(tea.Batch(append(m.TakeDeferred(), cmd, m.input.Watch(), m.parts.broadcast(common.UpdatedMsg{}))...))
}

// route gives one message to the first part that knows it; what none does is input.
func route(m *Model, msg tea.Msg) tea.Cmd {
	cmd, ok := m.update(msg)
	if !ok {
		cmd, ok = m.parts.offer(msg)
	}
	if !ok {
		return m.typed(msg)
	}
	return cmd
}

// update takes messages that are about the screen as a whole, and reports whether msg is one.
func (m *Model) update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return tea.Batch(m.overlay.ConfirmDrawn(), m.parts.broadcast(msg)), true
	case terminal.SignalMsg:
		return m.quit(), true
	case app.Effect: // came of what ran beside the screen
		return m.perform(msg), true
	case doMsg:
		return msg(), true
	case leaderMsg:
		m.keymap.showsNext = m.keymap.leader != "" && int(msg) == m.keymap.presses
		return nil, true
	case preparedMsg:
		return m.prepared(msg), true
	case expandedMsg:
		return m.expanded(msg), true
	}
	return nil, false
}

// layout gives every part its size: a dialog, else the input, takes the rows
// it needs above the status line, the transcript the rest.
func (m *Model) layout() {
	if m.width == 0 || m.height == 0 {
		return
	}
	room := max(m.height-1, 0)
	bottom := 0
	if m.overlay.Dialog != nil {
		bottom = m.overlay.Layout(m.width, room)
	} else {
		bottom = m.input.Layout(m.width, room)
	}
	bottom = min(bottom, room)
	gap := 0
	switch free := room - bottom; {
	case m.overlay.Dialog != nil && free > 3:
		gap = 1 // a blank row between what is said and what is asked
	case free > 6:
		gap = 2 // what runs, and a rule
	case free > 3:
		gap = 1
	}
	m.frames.gap = gap
	m.frames.room = max(room-bottom-gap, 0)
	m.chat.Transcript.SetSize(m.width, m.frames.room)
}

// quit ends the turn and the program.
func (m *Model) quit() tea.Cmd {
	m.pending.toDraft(m.branches)
	m.chat.Cancel()
	return m.Sequence(m.chat.DeleteImages(), tea.Quit)
}

// shutdown waits, shortly, for the turn to end, so that tools are stopped and
// nothing is left.
func (m *Model) shutdown() {
	m.pending.toDraft(m.branches)
	restoreGivenBack(m)
	m.branches.endEdit()
	m.parts.broadcast(common.ShutdownMsg{})
	m.chat.Cancel()
	m.chat.Close()
	m.input.SaveDraftNow()
	app.Within(app.StopWait, m.Running.Wait)
	m.input.Close()
	m.closeErr = m.App.Session.Close()
}
