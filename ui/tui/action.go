package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// An action is a command on the screen: by key, from the palette, and typed behind a
// slash. What every front end has is a row of app.Commands; what only a screen can do
// is a row of ownActions.
type action struct {
	app.Command
	run         func(m *Model, arg string) tea.Cmd // in place of Command.Run
	unavailable func(m *Model) string              // in place of Command.Unavailable
	args        func(m *Model) []dialog.Item       // in place of Command.Args

	when   func(m *Model) bool // nil: always; otherwise the key goes on to the focused child
	above  bool                // its keys work above a dialog as well
	second bool                // another action does the same and is the one that is listed
}

// own returns an action that only a screen has.
func own(name string, keys []string, group app.Group, help string, run func(*Model, string) tea.Cmd) action {
	return action{Command: app.Command{Name: name, Keys: keys, Group: group, Help: help}, run: run}
}

// unless returns a with the reason why it cannot run now.
func (a action) unless(why func(*Model) string) action { a.unavailable = why; return a }

// only returns a with the condition under which its keys are its own.
func (a action) only(when func(*Model) bool) action { a.when = when; return a }

// overDialogs returns a with keys that work above a dialog as well.
func (a action) overDialogs() action { a.above = true; return a }

// unlisted returns a as another way to do what is listed.
func (a action) unlisted() action { a.second = true; return a }

// with returns a with what its argument may be.
func (a action) with(args func(*Model) []dialog.Item) action { a.args = args; return a }

// shared stands for the command of this name in app.Commands.
func shared(name string) action { return action{Command: app.Command{Name: name}} }

// scroll returns an action that moves or folds the conversation.
func scroll(name, key, help string, f func(*Model)) action {
	return own(name, []string{key}, app.Reading, help, func(m *Model, _ string) tea.Cmd { f(m); return nil })
}

// unwritten reports whether the draft is empty, and idle that keys are its own as well.
func unwritten(m *Model) bool { return m.composer.Empty() }
func idle(m *Model) bool      { return m.composer.Empty() && !m.chat.transcript.Browsing() }

// actions returns all there are, in the order of the help: what a screen shows where it
// is asked for by name, and other commands behind it.
func actions() []action {
	list := slices.Concat(talkingActions(), readingActions())
	commands := app.Commands()
	for i, a := range list {
		if at := slices.IndexFunc(commands, func(c app.Command) bool { return c.Name == a.Name }); at >= 0 && a.run == nil {
			list[i].Command = commands[at]
			commands = slices.Delete(commands, at, at+1)
		}
	}
	for _, c := range commands {
		list = append(list, action{Command: c})
	}
	return list
}

func talkingActions() []action {
	busy := func(m *Model) bool { return m.chat.turn != nil }
	queued := func(m *Model) bool { return m.app.Session.QueueLen() > 0 }
	holding := func(m *Model) bool { return idle(m) && len(m.app.Attached) > 0 }
	return []action{
		own("stop", []string{"esc"}, app.Talking, "stop the reply or the running tool", (*Model).halt).only(busy).unless((*Model).lacksTurn),
		own("wait", []string{"ctrl+x a"}, app.Talking, "keep waiting for a model that sends nothing", (*Model).waitOn).unless((*Model).lacksSilence),
		own("rewind", []string{"esc esc"}, app.Talking, "edit an earlier message of yours as a branch", (*Model).rewind).only(idle).unless((*Model).lacksOwn),
		own("interrupt", []string{"ctrl+c"}, app.Talking, "stop, else clear the draft, else quit (twice)", (*Model).interrupt),
		own("unqueue", nil, app.Talking, "take all queued messages back", (*Model).unqueue).only(queued).unless((*Model).lacksQueue),
		own("stash", []string{"ctrl+x s"}, app.Talking, "put the draft aside; on an empty line, bring it back", (*Model).stash),
		shared("retry"),
		own("editor", []string{"ctrl+g", "ctrl+x ctrl+e"}, app.Talking, "write in $VISUAL or $EDITOR", (*Model).editor).unless((*Model).lacksEditor),
		shared("sessions"), shared("fork"),
		own("tree", []string{"ctrl+x t"}, app.Conversations, "the branches of this conversation", (*Model).tree).unless((*Model).lacksBranches),
		shared("rename"), shared("export"), shared("compact"), shared("history"), shared("context"), shared("usage"), shared("attach"),
		own("paste-picture", []string{"ctrl+v"}, app.Talking, "attach the picture on the clipboard", func(m *Model, _ string) tea.Cmd { return m.perform(m.app.AttachClipboard()) }),
		own("detach", []string{"backspace"}, app.Talking, "take the last attachment off, on an empty line", (*Model).detach).only(holding).unless((*Model).lacksAttached),
		shared("new"), shared("mcp"), shared("prompt"), shared("resource"), shared("permissions"), shared("mode"),
		shared("model").with((*Model).modelArgs), shared("next-model"), shared("previous-model"), shared("effort"), shared("less-effort"), shared("more-effort"), shared("thinking"),
	}
}

func readingActions() []action {
	return []action{
		own("browse", []string{"tab"}, app.Reading, "browse the conversation", func(m *Model, _ string) tea.Cmd { m.chat.transcript.Browse(true); return nil }).only(idle).unless((*Model).lacksShown),
		scroll("fold-thinking", "ctrl+t", "fold or unfold thinking", func(m *Model) { m.chat.transcript.ToggleThinking() }),
		scroll("fold-output", "ctrl+o", "fold or unfold tool output", func(m *Model) { m.chat.transcript.ToggleOutput() }),
		scroll("page-up", "pgup", "scroll up", func(m *Model) { m.chat.transcript.Page(-0.9) }),
		scroll("page-down", "pgdown", "scroll down", func(m *Model) { m.chat.transcript.Page(0.9) }),
		scroll("line-up", "shift+up", "scroll up a line", func(m *Model) { m.chat.transcript.Scroll(-1) }).overDialogs(),
		scroll("line-down", "shift+down", "scroll down a line", func(m *Model) { m.chat.transcript.Scroll(1) }).overDialogs(),
		scroll("top", "ctrl+home", "to the beginning", func(m *Model) { m.chat.transcript.Top() }),
		scroll("bottom", "ctrl+end", "to the end", func(m *Model) { m.chat.transcript.Bottom() }),
		scroll("previous-message", "alt+up", "to your previous message", func(m *Model) { m.chat.transcript.PrevUser() }),
		scroll("next-message", "alt+down", "to your next message", func(m *Model) { m.chat.transcript.NextUser() }),
		own("copy", []string{"ctrl+x y"}, app.Reading, "copy the last answer", (*Model).copyAnswer).unless((*Model).lacksAnswer),
		own("copy-code", []string{"ctrl+x c"}, app.Reading, "copy the last code block", (*Model).copyCode).unless((*Model).lacksCode),

		own("compare", []string{"ctrl+x v"}, app.ModelsGroup, "ask several models the same; again, one answers", (*Model).compare).unless((*Model).lacksRest).with((*Model).modelArgs),
		own("wire", []string{"ctrl+x w", "f12"}, app.Reading, "what went over the wire: requests and answers as they were", (*Model).wires),

		own("palette", []string{"ctrl+p", "ctrl+x p"}, app.Program, "all commands", (*Model).palette),
		own("commands", []string{"/"}, app.Program, "all commands, on an empty line", func(m *Model, _ string) tea.Cmd { // which may turn out to begin a message
			m.slash = true
			return m.palette("")
		}).only(idle).unlisted(),
		shared("help"),
		own("keys", []string{"?"}, app.Program, "keys, on an empty line", (*Model).help).only(unwritten).unlisted(),
		own("theme", nil, app.Program, "pick the theme", (*Model).pickTheme).with((*Model).themes),
		own("mouse", []string{"ctrl+x o"}, app.Program, "mouse capture on or off", (*Model).toggleMouse),
		own("redraw", []string{"ctrl+l"}, app.Program, "draw the screen anew", func(*Model, string) tea.Cmd { return tea.ClearScreen }).overDialogs(),
		shared("folder"),
		own("suspend", []string{"ctrl+z"}, app.Program, "to the shell; fg comes back", func(*Model, string) tea.Cmd { return tea.Suspend }).overDialogs(),
		own("end", []string{"ctrl+d"}, app.Program, "quit, on an empty line", func(m *Model, _ string) tea.Cmd { return m.quit() }).only(idle).unlisted(),
		shared("quit"),
	}
}

// why says why a cannot run now; "" if it can.
func (m *Model) why(a *action) string {
	switch {
	case a.unavailable != nil:
		return a.unavailable(m)
	case a.Unavailable != nil:
		return a.Unavailable(m.app)
	}
	return ""
}

// press runs the action of a key, and reports whether the key was used up.
func (m *Model) press(key string) (tea.Cmd, bool) {
	if m.keymap.leader != "" {
		key, m.keymap.leader = m.keymap.leader+" "+key, ""
		if a := m.keymap.keys[key]; a != nil {
			return m.do(a, ""), true
		}
		return m.say(key + " does nothing"), true
	}
	if m.keymap.leaders[key] {
		m.keymap.leader = key
		return nil, true
	}
	if key == "esc" && m.editing > 0 && !m.chat.transcript.Browsing() {
		return m.leaveEdit(), true
	}
	if key == "esc" && m.chat.turn == nil {
		if m.shells.stop() {
			return nil, true
		}
		return m.escape()
	}
	a := m.keymap.keys[key]
	if a == nil || a.when != nil && !a.when(m) {
		return nil, false
	}
	return m.do(a, ""), true
}

// do runs an action, or says why it cannot run.
func (m *Model) do(a *action, arg string) tea.Cmd {
	if why := m.why(a); why != "" {
		return m.say(why)
	}
	if a.run != nil {
		return a.run(m, arg)
	}
	return m.perform(a.Run(m.app, arg))
}

// escape counts: twice on an empty line is an action of its own.
func (m *Model) escape() (tea.Cmd, bool) {
	twice := m.keymap.keys["esc esc"]
	if m.chat.transcript.Browsing() || twice == nil || !twice.when(m) {
		return nil, false
	}
	if m.now().Sub(m.keymap.lastEsc) < escWithin {
		m.keymap.lastEsc = m.now().Add(-escWithin)
		return m.do(twice, ""), true
	}
	m.keymap.lastEsc = m.now()
	return nil, true
}

// command runs "/name argument", and reports whether text is one.
func (m *Model) command(text string) (tea.Cmd, bool) {
	a, arg := m.keymap.find(text)
	if a == nil {
		return nil, false
	}
	return m.do(a, arg), true
}
