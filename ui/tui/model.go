package tui

import (
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/app"
	"parley/ui/clip"
	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/files"
	"parley/ui/tui/picture"
	"parley/ui/tui/statusbar"
	"parley/ui/tui/transcript"
)

// Model is the root: it routes messages, lays out the panes, and owns nothing
// that a child could own.
type Model struct {
	app     *app.App
	config  Config
	now     func() time.Time
	later   func(time.Duration, tea.Msg) tea.Cmd // tea.Tick; for tests
	send    func(tea.Msg)
	crash   func(any, []byte)
	running sync.WaitGroup

	theme         *theme.Theme
	before        *theme.Theme // others are looked at, and this one comes back; nil: none are
	width, height int
	mouse         bool
	chat          chat
	composer      *composer.Model
	dialog        dialog.Dialog                  // nil: none
	choosing      func(dialog.PickedMsg) tea.Cmd // takes a row of the open picker
	answering     func(yes bool) tea.Cmd         // takes the answer to the open question
	shells        shells
	files         *files.Index // of the workspace
	clip          *clip.Board  // where text is copied to
	models        modelList
	wire          wireView // what is shown of the wire
	slash         bool     // the open list is the palette, opened by typing a slash
	keymap        keymap
	quitAsked     time.Time
	toast         toast
	images        images
	drafts        drafts

	lost       error     // what could not be kept in the end
	away       bool      // the terminal says that another window has the focus
	loading    []tea.Cmd // what a replay left to be fetched
	unsaved    error     // why what is said is not on disk; nil if it is
	comparing  []string  // models that the next prompt goes to; none: the session's alone
	compacting bool      // the failed turn is tried again once the conversation is summarized
	editing    int       // message that is being edited; 0: none

	frames frames
}

// frames is the last frame with its panes.
type frames struct {
	top, bottom, line, said, all string
	status                       statusbar.Line
}

func newModel(o Options) *Model {
	a := app.New(o.Options)
	th := themeFor(o.Config, os.Getenv)
	m := &Model{
		app: a, config: o.Config, now: a.Now, theme: th, mouse: o.Config.Mouse,
		chat: chat{transcript: transcript.New(th)}, composer: composer.New(th),
		send: func(tea.Msg) {}, crash: func(any, []byte) {},
		comparing: o.Start.Compare, images: images{supported: picture.Supported(os.Getenv)},
	}
	m.later = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	}
	m.keymap = newKeymap(o.Keys)
	m.composer.SetPlaceholder("Ask anything")
	m.composer.Focus(true)
	m.composer.Now = m.now
	m.composer.SetVim(o.Config.Vim)
	m.chat.keyOf, m.chat.images, m.chat.runs = m.keymap.keyOf, m.showImages, m.runOf
	m.chat.transcript.SetMotion(o.Config.Motion != "off")
	m.chat.transcript.Now = m.now
	m.clip = a.Board(func(seq string) { m.send(writeMsg(seq)) })
	a.Clipboard, a.KeyOf = m.clip, m.keymap.keyOf
	a.Busy, a.Failed = func() bool { return m.chat.turn != nil }, func() bool { return m.chat.failed }
	a.Leaving = func() { m.loading = append(m.loading, m.keepDraft()) }
	m.files = files.New(a.Folder)
	m.files.Go = func(f func()) { go m.guard(f) }
	m.composer.SetCompleter(m.complete)
	m.app.Session.OnSave(func(err error) { m.send(savedMsg{err}) })
	a.Watch(func(name string) { m.send(serverMsg(name)) })
	if a.Wire.Hear != nil {
		a.Wire.Hear(func(trouble string) { m.send(effectMsg{Toast: trouble}) })
	}
	m.chat.replay(m.app.Session)
	m.recall()
	return m
}

// Init asks the terminal for its background and sends a first prompt.
func (m *Model) Init() tea.Cmd {
	var cmds []tea.Cmd
	if m.config.Theme == "auto" && !m.theme.Plain {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	cmds = append(cmds, m.prompts())
	if m.app.Question != "" {
		cmds = append(cmds, m.askTrust())
	} else {
		cmds = append(cmds, m.first())
	}
	return m.guarded(tea.Batch(cmds...))
}

// first sends what the command line asked.
func (m *Model) first() tea.Cmd {
	if m.app.Start.Find != nil {
		if len(m.app.Start.Prompt) > 0 { // it is for the conversation that is chosen
			m.takeBack(llm.Message{Role: llm.RoleUser, Parts: m.app.Start.Prompt})
		}
		return m.sessions(*m.app.Start.Find)
	}
	if len(m.app.Start.Prompt) == 0 {
		return nil
	}
	if len(m.comparing) > 0 {
		models, err := m.rivals()
		if err != nil {
			m.takeBack(llm.Message{Role: llm.RoleUser, Parts: m.app.Start.Prompt})
			return m.say(err.Error())
		}
		return m.askAll(models, m.app.Start.Prompt)
	}
	return m.run(m.app.Start.Prompt...)
}

// Update routes one message: size and end of the program, news of the session,
// the open dialog, keys with an action, and what is left to the focused child.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if len(m.loading) > 0 {
		cmd = tea.Batch(append(m.loading, cmd)...)
		m.loading = nil
	}
	return m, m.guarded(cmd)
}

// update gives msg to the first that knows it; what nobody does is input.
func (m *Model) update(msg tea.Msg) tea.Cmd {
	cmd, ok := m.fromTerminal(msg)
	if !ok {
		cmd, ok = m.fromBeside(msg)
	}
	if !ok {
		cmd, ok = m.fromDialog(msg)
	}
	if !ok {
		cmd, ok = m.fromPane(msg)
	}
	if !ok {
		cmd, ok = m.wired(msg)
	}
	if !ok {
		cmd, ok = m.chosen(msg)
	}
	if !ok {
		cmd = m.input(msg)
	}
	return cmd
}

// input handles keys, pastes and the mouse.
func (m *Model) input(msg tea.Msg) tea.Cmd {
	if edge, ok := msg.(transcript.EdgeMsg); ok {
		return m.chat.transcript.Update(edge)
	}
	if mouse, ok := msg.(tea.MouseMsg); ok {
		if cmd, ok := m.mouseInput(mouse); ok {
			return cmd
		}
	}
	key, isKey := msg.(tea.KeyPressMsg)
	if isKey {
		m.chat.transcript.Deselect()
	}
	if isKey && key.String() == "alt+esc" { // two quick escapes arrive as one key
		key = tea.KeyPressMsg{Code: tea.KeyEscape}
		msg = key
	}
	if m.dialog != nil {
		if isKey {
			if cmd, done := m.dialogKey(key); done {
				return tea.Batch(cmd, m.paintSoon())
			}
		}
		cmd := m.dialog.Update(msg)
		m.layout()
		return tea.Batch(cmd, m.paintSoon())
	}
	esc := key.String() == "esc" // while browsing it leaves that, and stops nothing
	own := m.composer.Searching() || esc && (m.composer.Escapes() || m.chat.transcript.Browsing()) || m.chat.transcript.Typing()
	if isKey && !own {
		if cmd, done := m.press(key.String()); done {
			return cmd
		}
	}
	if m.chat.transcript.Browsing() {
		return m.chat.transcript.Update(msg)
	}
	if paste, ok := msg.(tea.PasteMsg); ok {
		if paths := attach.DroppedPaths(paste.Content); paths != nil { // dragged into the terminal
			return m.perform(m.app.AttachPaths(paths))
		}
	}
	m.composer.SetQueue(m.queuedTexts())
	cmd := m.composer.Update(msg)
	m.layout()
	return tea.Batch(cmd, m.written())
}

// mouseInput handles the mouse beside dialogs, and reports whether it was meant for that.
func (m *Model) mouseInput(msg tea.MouseMsg) (tea.Cmd, bool) {
	switch {
	case m.chat.transcript.Dragging(), m.wheels(msg): // wherever it goes
		return m.chat.transcript.Update(msg), true
	case m.dialog != nil:
		return nil, false
	}
	at := msg.Mouse()
	_, wheel := msg.(tea.MouseWheelMsg)
	y := at.Y - (m.height - 1 - m.composer.Height())
	if wheel || y < 0 || at.Y >= m.height-1 {
		return m.chat.transcript.Update(msg), true
	}
	if _, click := msg.(tea.MouseClickMsg); !click || at.Button != tea.MouseLeft {
		return nil, true
	}
	m.chat.transcript.Deselect()
	m.chat.transcript.Browse(false)
	defer m.layout()
	return m.composer.Click(at.X-signWidth, y), true
}

// layout gives every pane its size: a dialog, else the composer, takes the rows
// it needs above the status line, the transcript the rest.
func (m *Model) layout() {
	if m.width == 0 || m.height == 0 {
		return
	}
	room := max(m.height-1, 0)
	bottom := 0
	if m.dialog != nil {
		m.dialog.SetSize(m.width, m.allowed(room))
		bottom = m.dialog.Height()
	} else {
		m.composer.SetSize(max(m.width-signWidth, 0), max(room/2, 1))
		bottom = m.composer.Height() + len(m.chips())
	}
	bottom = min(bottom, room)
	gap := 0
	if room-bottom > 3 {
		gap = 1 // a blank row between what is said and what is typed
	}
	m.chat.transcript.SetSize(m.width, max(room-bottom-gap, 0))
}

// allowed is how many rows of room a dialog may take: an approval and the help
// nearly all, for they have to be read; lists leave the conversation in sight.
func (m *Model) allowed(room int) int {
	most := max(room-min(3, room/4), 0)
	switch m.dialog.(type) {
	case *dialog.Pager:
		return room
	case *dialog.Picker, *dialog.BranchList:
		return min(most, max(room*2/3, 10))
	}
	return most
}

func (m *Model) setTheme(th *theme.Theme) {
	if th == nil || th.Name == m.theme.Name {
		return
	}
	m.theme = th
	m.chat.transcript.SetTheme(th)
	m.composer.SetTheme(th)
	if m.dialog != nil {
		m.dialog.SetTheme(th)
	}
}

// open shows a dialog.
func (m *Model) open(d dialog.Dialog) tea.Cmd {
	m.dialog = d
	m.layout()
	return m.paintSoon()
}

// quit ends the turn and the program.
func (m *Model) quit() tea.Cmd {
	m.salvage()
	m.cancel()
	return m.inOrder(m.forget(), tea.Quit)
}

// salvage makes a draft of what waits to be sent: it is kept for the next time.
func (m *Model) salvage() {
	if m.app.Session.QueueLen() > 0 {
		m.unqueue("")
		m.drafts.changed = true
	}
}

// shutdown waits, shortly, for the turn to end, so that tools are stopped and
// nothing is left behind.
func (m *Model) shutdown() {
	m.salvage()
	m.cancel()
	if m.chat.pump != nil {
		m.chat.pump.close()
	}
	if m.drafts.changed {
		_ = m.draftSaver(m.composer.Value())() // the screen has gone: there is nobody to tell
	}
	ended := make(chan struct{})
	go func() {
		m.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
	}
	m.files.Close()
	m.lost = m.app.Session.Close()
}

func (m *Model) cancel() {
	if m.shells.stop(); m.chat.turn != nil {
		m.chat.turn.cancel()
	}
}

// draft puts a prompt into the composer, in front of what is there. It may be a
// server's: nothing of it runs when it is sent unread.
func (m *Model) draft(text string) {
	if rest := m.composer.Value(); strings.TrimSpace(rest) != "" {
		text += "\n\n" + rest
	}
	m.composer.SetPlain(text)
	m.layout()
}
