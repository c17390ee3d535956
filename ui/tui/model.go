package tui

import (
	"os"
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/clip"
	"parley/ui/crash"
	"parley/ui/tui/chat"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/input"
	"parley/ui/tui/overlay"
	"parley/ui/tui/panel"
	"parley/ui/tui/termimage"
	"parley/ui/tui/terminal"
)

// Model is the root. It routes messages, lays out the parts, and owns only
// state that no part can own.
type Model struct {
	*common.Screen
	App *app.App

	chat     *chat.Chat
	input    *input.Input
	overlay  *overlay.Overlay
	keymap   keymap
	branches *branches
	parts    parts    // the parts above and the panels
	comparer comparer // nil: prompts go to one model only
	view     *view

	closeErr   error // error of the final save
	pending    pendingInput
	compacting bool // retry the failed turn once the conversation is summarized
}

func newModel(o Options) *Model {
	a := app.New(o.App)
	s := common.New(o.Config, os.Getenv, a.Now)
	m := &Model{Screen: s, App: a, keymap: newKeymap(o.Keys, a.Commands)}
	s.KeyOf = m.keymap.keyOf
	board := clip.New(a.Getenv, crash.StateDir(a.Getenv), a.Directory, s.Write)
	s.SetClipboard(common.Clipboard{Put: board.Copy, Answered: board.Answered, AbbrevPath: a.AbbrevPath, Tmux: board.Tmux})
	m.chat, m.input, m.overlay = chat.New(s, a), input.New(s, a), overlay.New(s, a.Workspace)
	m.overlay.IsWriting = func() bool { return !m.input.Composer.Empty() }
	m.overlay.Typed = func(msg tea.Msg) tea.Cmd {
		cmd := m.input.Composer.Update(msg)
		return tea.Batch(cmd, m.input.Changed())
	}
	m.chat.OnEvent, m.chat.Perform = m.event, m.perform
	m.input.Ended = m.chat.TakeEndedCommands
	d := &panel.Deps{
		Screen: s, Host: m.overlay, App: a, Perform: m.perform,
		Run:    func(name string) tea.Cmd { return m.command("/" + name) },
		Prompt: func(text string) tea.Cmd { return m.submit(composer.Submission{Text: text, Typed: text}) },
		Show:   func(seq int) { m.chat.Transcript.ShowMessage(seq) },
		Themed: []panel.Themeable{m.chat.Transcript, m.input.Composer, m.overlay},
	}
	m.branches = &branches{Deps: d, chat: m.chat, input: m.input}
	known := &terminalState{images: func() (termimage.Protocol, bool) { return termimage.Detect(s.Config.Images, s.Getenv) }}
	var panels parts
	if o.Panels != nil {
		panels = o.Panels(d, m.chat)
	}
	m.parts = slices.Concat(parts{known, s, m.chat, m.input}, panels, parts{m.branches, m.overlay})
	m.comparer = find[comparer](m.parts)
	m.view = &view{
		Screen: s, app: a, chat: m.chat, input: m.input, overlay: m.overlay, keymap: &m.keymap, branches: m.branches,
		greeter: find[greeter](m.parts), column: find[column](m.parts), pane: find[pane](m.parts),
	}

	a.FrontEnd.ClipboardImage = board.Image
	a.FrontEnd.KeyOf = m.keymap.keyOf
	a.FrontEnd.Busy = func() bool { return m.chat.Turn != nil }
	a.FrontEnd.Terminal = known.state
	a.FrontEnd.RequestTokens = m.input.ContextTokens
	a.FrontEnd.StatusLine = m.view.lineOf
	a.FrontEnd.BeforeSwitch = func() { m.branches.leaveEdit(); s.Defer(m.input.Leave()) }
	a.FrontEnd.AskUser = func(next func() app.Effect) {
		s.Send(doMsg(func() tea.Cmd { return m.perform(next()) }))
	}
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
	if m.App.Trust.Question != "" {
		first = (*Model).askTrust
	}
	notice := ""
	if m.chat.HasContent || len(m.App.Start.Prompt) > 0 { // otherwise the first screen shows it
		notice = m.App.FirstScreen.Notice
	}
	cmds := []tea.Cmd{m.parts.broadcast(common.StartMsg{}), m.input.LoadHistory(), readPrompts(m), m.perform(app.Toast(notice)), first(m)}
	return m.Guarded(tea.Batch(cmds...))
}

// readPrompts returns a command that reads the prompt files, so that they can be typed by name.
func readPrompts(m *Model) tea.Cmd {
	read := m.App.Prompts.Read
	return func() tea.Msg { read(); return nil }
}

// sendInitial sends the prompt of the command line, if any, and broadcasts ReadyMsg.
func sendInitial(m *Model) tea.Cmd {
	if m.App.Start.Find != nil { // a list is open, which shows the models found
		return m.sendInitialPrompt()
	}
	return tea.Batch(m.sendInitialPrompt(), m.parts.broadcast(common.ReadyMsg{}))
}

// sendInitialPrompt sends the prompt of the command line, or opens the list that the command
// line asks for. It returns nil if there is neither.
func (m *Model) sendInitialPrompt() tea.Cmd {
	prompt := m.App.Start.Prompt
	switch {
	case m.App.Start.Find != nil:
		if len(prompt) > 0 { // for the conversation that the user will choose
			m.pending.draft = prompt
		}
		return m.perform(app.PanelQuery{Panel: app.PanelSessions, Query: *m.App.Start.Find})
	case len(prompt) == 0:
		return nil
	}
	ask, err := m.openCompared()
	switch {
	case err != nil:
		m.input.RestoreMessage(llm.Message{Role: llm.RoleUser, Parts: prompt})
		return m.ShowToast(wording.ShellError(err))
	case ask != nil:
		return ask(prompt)
	}
	if _, waits := m.App.Models.Discover().(app.Prepare); waits {
		m.pending.first = prompt
		return nil
	}
	return m.chat.SendPrompt(prompt...)
}

// openCompared opens the models to compare. Ask is nil if the prompt goes to one model.
func (m *Model) openCompared() (ask func(parts []llm.Part) tea.Cmd, err error) {
	if m.comparer == nil {
		return nil, nil
	}
	return m.comparer.Compare()
}

// Update handles one message and the prompts that the composer submits because of it, since the
// next key is for the result of these.
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
	if asked && m.overlay.Dialog == nil && !m.chat.HasContent { // conversations may have been deleted or renamed
		cmd = tea.Batch(cmd, m.parts.broadcast(common.SessionsChangedMsg{}))
	}
	if m.overlay.Dialog == nil && m.pending.preparing == 0 {
		m.pending.giveBackDraft(m.input)
		m.branches.restoreAside()
	}
	m.input.ShowQueue()
	m.view.layout()
	return m, m.Guarded(tea.Batch(append(m.TakeDeferred(), cmd, m.input.Watch(), m.parts.broadcast(common.UpdatedMsg{}))...))
}

// route passes a message to the first part that handles it. Unhandled messages are input.
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

// update handles messages about the screen as a whole, and reports whether msg is one.
func (m *Model) update(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.view.resize(msg.Width, msg.Height)
		return tea.Batch(m.overlay.ConfirmDrawn(), m.parts.broadcast(msg)), true
	case terminal.SignalMsg:
		return m.quit(), true
	case app.Effect: // from a function that ran concurrently
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

// quit ends the turn and the program.
func (m *Model) quit() tea.Cmd {
	m.pending.toDraft(m.branches)
	m.chat.Cancel()
	return m.Sequence(m.chat.DeleteImages(), tea.Quit)
}

// shutdown waits briefly for the turn to end, so that tools are stopped.
func (m *Model) shutdown() {
	m.pending.toDraft(m.branches)
	restoreGivenBack(m)
	m.branches.endEdit()
	m.parts.broadcast(common.ShutdownMsg{})
	m.chat.Cancel()
	m.chat.Close()
	m.input.SaveDraftNow()
	crash.Within(crash.StopWait, m.Running.Wait)
	m.input.Close()
	m.closeErr = m.App.Session.Close()
}
