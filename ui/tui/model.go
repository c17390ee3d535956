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
	"parley/ui/format"
	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/tui/dialog"
	"parley/ui/tui/files"
	"parley/ui/tui/picture"
	"parley/ui/tui/renderer"
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
	shellsRun     []*shellRun
	endedShells   []func()       // take back the records of those whose output is attached
	files         *files.Index   // of the workspace
	clip          *clip.Board    // where text is copied to
	models        *dialog.Picker // the list of models that was opened last
	choices       []app.Choice   // what it lists
	served        serving        // what servers said of that
	wire          wireView       // what is shown of the wire
	slash         bool           // it is the palette, opened by typing a slash
	actions       []action
	keys          map[string]*action
	leaders       map[string]bool // keys that begin a sequence
	leader        string          // one that was pressed
	lastEsc       time.Time
	quitAsked     time.Time
	toast         string
	toastTill     time.Time
	toastWhile    func() bool // what it tells of is so; nil: it has no cause that goes

	lost       error     // what could not be kept in the end
	away       bool      // the terminal says that another window has the focus
	draws      bool      // the terminal draws pictures
	drawn      []uint32  // those it has
	loading    []tea.Cmd // what a replay left to be fetched
	unsaved    error     // why what is said is not on disk; nil if it is
	comparing  []string  // models that the next prompt goes to; none: the session's alone
	compacting bool      // the failed turn is tried again once the conversation is summarized
	editing    int       // message that is being edited; 0: none
	drafted    bool      // the draft changed since it was kept
	draftAt    string    // where it was kept; "" if it was not
	unsent     int       // about how many tokens it has
	weighed    int       // drafts that were to be counted, or were sent

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
		comparing: o.Start.Compare, draws: picture.Supported(os.Getenv),
	}
	m.later = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(d, func(time.Time) tea.Msg { return msg })
	}
	m.actions = actions()
	if own, err := o.Keys.apply(actions()); err == nil { // the configuration was validated
		m.actions = own
	}
	m.keys, m.leaders = bind(m.actions)
	m.composer.SetPlaceholder("Ask anything")
	m.composer.Focus(true)
	m.composer.Now = m.now
	m.composer.SetVim(o.Config.Vim)
	m.chat.keyOf, m.chat.images, m.chat.runs = m.keyOf, m.showImages, m.runOf
	m.chat.transcript.SetMotion(o.Config.Motion != "off")
	m.chat.transcript.Now = m.now
	m.clip = a.Board(func(seq string) { m.send(writeMsg(seq)) })
	a.Clipboard, a.KeyOf = m.clip, m.keyOf
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

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.layout()
		return m.paintSoon()
	case tea.BackgroundColorMsg:
		if m.config.Theme == "auto" && !m.theme.Plain {
			m.setTheme(theme.For(msg.Color))
		}
		return nil
	case signalMsg:
		return m.quit()
	case renderer.SuspendUnavailableMsg:
		return m.say("there is no shell to go back to")
	case newsMsg:
		return m.news(msg)
	case tickMsg:
		return m.ticked(msg)
	case toastOverMsg:
		return nil // the frame is drawn anew without it
	case dialog.ClosedMsg:
		return m.closed(msg)
	case dialog.UnhandledKeyMsg: // typed when a question came in between
		defer m.layout()
		return m.composer.Update(msg.Msg)
	case dialog.PickedMsg:
		return m.picked(msg)
	case dialog.AnsweredMsg:
		return m.answered(msg)
	case composer.CompletedMsg:
		defer m.layout()
		return m.composer.Update(msg)
	case composer.TooLongMsg:
		return m.say(format.Size(msg.Bytes) + " are too much to be written out here: " + m.keyOf("editor") + " opens them in your editor")
	case composer.UnqueueMsg:
		return m.unqueueAt(msg)
	case shellMsg:
		return m.shellSays(msg)
	case composer.SubmitMsg:
		return m.submit(msg)
	case editedMsg:
		return m.edited(msg)
	case listedMsg:
		return m.listed(msg)
	case foundMsg:
		return m.found(msg)
	case previewMsg:
		if list, ok := m.dialog.(*dialog.SessionList); ok {
			list.SetPreview(msg.id, msg.lines)
			m.layout()
		}
		return nil
	case effectMsg:
		return m.perform(app.Effect(msg))
	case tea.BlurMsg:
		m.away = true
		return nil
	case tea.FocusMsg:
		m.away = false
		return nil
	case choicesMsg:
		return m.offered(msg)
	case servedMsg:
		return m.serves(msg)
	case dialog.PinMsg:
		return m.setTaste("favorites", msg.Value, msg.On)
	case dialog.MovedMsg:
		m.look(msg.Value)
		return nil
	case dialog.HideMsg:
		cmd := m.setTaste("hidden", msg.Value, msg.On)
		if msg.On {
			cmd = tea.Batch(cmd, m.say("hidden: "+strings.Join(m.models.Keys.Details, ", ")+" shows it"))
		}
		return cmd
	case trustedMsg:
		return m.trusted(msg)
	case serverMsg:
		return m.perform(m.app.ServerChanged(string(msg)))
	case savedMsg:
		return m.saved(msg.err)
	case spentMsg:
		return m.spent(msg)
	case pastMsg:
		return m.past(msg)
	case picturedMsg:
		return m.pictured(msg)
	case keepMsg:
		return m.keepDraft()
	case weighedMsg:
		return m.weigh(msg)
	case expandedMsg:
		return m.expanded(msg)
	case dialog.PermissionRemoved:
		return m.revoke(msg.PermissionRow)
	case dialog.Confirmed:
		return m.confirmed(msg)
	case transcript.RegenerateMsg:
		return m.perform(m.app.Regenerate(msg.Seq))
	case transcript.EditMsg:
		if n, err := m.app.Session.At(msg.Seq); err == nil && n.Role == llm.RoleAssistant {
			return m.edit(msg.Seq)
		}
		return m.edit(msg.User)
	case transcript.ForkMsg:
		m.chat.transcript.Browse(false)
		return m.perform(m.app.ForkSession(m.app.Session.ID(), msg.Seq))
	case transcript.CopyMsg:
		return m.copy(msg.Text, msg.What)
	case copiedMsg:
		return m.copied(msg)
	case writeMsg:
		return write(msg)
	case tea.ClipboardMsg:
		m.clip.Answered(msg.Content)
		return nil
	case comparedMsg:
		return m.compared(msg)
	case haltMsg:
		if m.chat.turn != nil {
			return m.stop("")
		}
		return nil
	case paintedMsg:
		return m.painted()
	}
	if cmd, ok := m.wired(msg); ok {
		return cmd
	}
	if cmd, ok := m.chosen(msg); ok {
		return cmd
	}
	return m.input(msg)
}

// input handles keys, pastes and the mouse.
func (m *Model) input(msg tea.Msg) tea.Cmd {
	if edge, ok := msg.(transcript.EdgeMsg); ok {
		return m.chat.transcript.Update(edge)
	}
	if mouse, ok := msg.(tea.MouseMsg); ok && (m.dialog == nil || m.chat.transcript.Dragging()) {
		if m.chat.transcript.Dragging() { // wherever it goes
			return m.chat.transcript.Update(mouse)
		}
		at := mouse.Mouse()
		_, wheel := msg.(tea.MouseWheelMsg)
		if y := at.Y - (m.height - 1 - m.composer.Height()); !wheel && y >= 0 && at.Y < m.height-1 {
			if _, click := msg.(tea.MouseClickMsg); !click || at.Button != tea.MouseLeft {
				return nil
			}
			m.chat.transcript.Deselect()
			m.chat.transcript.Browse(false)
			cmd := m.composer.Click(at.X-signWidth, y)
			m.layout()
			return cmd
		}
		return m.chat.transcript.Update(mouse)
	}
	if mouse, ok := msg.(tea.MouseMsg); ok && m.wheels(mouse) {
		return m.chat.transcript.Update(msg)
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
		m.drafted = true
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
	if m.drafted {
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
	if m.stopShells(); m.chat.turn != nil {
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
