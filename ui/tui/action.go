package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/tui/dialog"
)

// An action is one thing a person can do: by key, from the palette, and as a
// /command of the same name. A new one is a row of the table below.
type action struct {
	name string   // the /command, without the slash
	also string   // other names that people know it by, with spaces between them
	keys []string // "ctrl+x m" is a sequence
	help string
	run  func(m *Model, arg string) tea.Cmd
	when func(m *Model) bool          // nil: always; otherwise the key goes on to the focused child
	lack func(m *Model) string        // why it cannot run now, "" if it can; nil: it always can
	args func(m *Model) []dialog.Item // what may follow the /command; nil: anything, or nothing
	rank section

	above  bool // its keys work above a dialog as well
	second bool // another action does the same and is the one that is listed
}

// A section groups actions in the help.
type section string

// The sections, in the order of the help.
const (
	talking   section = "Talking"
	kept      section = "Conversations"
	models    section = "Models"
	reading   section = "Reading"
	workplace section = "Program"
)

func actions() []action {
	empty := func(m *Model) bool { return m.composer.Empty() && !m.transcript.Browsing() }
	unwritten := func(m *Model) bool { return m.composer.Empty() }
	queued := func(m *Model) bool { return m.app.Session.QueueLen() > 0 }
	holding := func(m *Model) bool { return empty(m) && len(m.app.Attached) > 0 }
	busy := func(m *Model) bool { return m.turn != nil }
	call := func(f func(*Model)) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd { f(m); return nil }
	}
	return []action{
		{name: "stop", keys: []string{"esc"}, help: "stop the reply or the running tool", when: busy, run: (*Model).halt, lack: (*Model).lacksTurn, rank: talking},
		{name: "wait", keys: []string{"ctrl+x a"}, help: "keep waiting for a model that sends nothing", run: (*Model).waitOn, lack: (*Model).lacksSilence, rank: talking},
		{name: "rewind", keys: []string{"esc esc"}, help: "edit an earlier message of yours as a branch", when: empty, run: (*Model).rewind, lack: (*Model).lacksOwn, rank: talking},
		{name: "interrupt", keys: []string{"ctrl+c"}, help: "stop, else clear the draft, else quit (twice)", run: (*Model).interrupt, rank: talking},
		{name: "unqueue", help: "take all queued messages back", when: queued, run: (*Model).unqueue, lack: (*Model).lacksQueue, rank: talking},
		{name: "stash", keys: []string{"ctrl+x s"}, help: "put the draft aside; on an empty line, bring it back", run: (*Model).stash, rank: talking},
		{name: "retry", keys: []string{"ctrl+x r"}, help: "try the failed turn again", run: (*Model).retry, lack: (*Model).lacksFault, rank: talking},
		{name: "editor", keys: []string{"ctrl+g", "ctrl+x ctrl+e"}, help: "write in $VISUAL or $EDITOR", run: (*Model).editor, lack: (*Model).lacksEditor, rank: talking},
		{name: "sessions", also: "resume continue", keys: []string{"ctrl+x l"}, help: "find a conversation: open, rename, pin, delete", run: (*Model).sessions, rank: kept},
		{name: "fork", keys: []string{"ctrl+x f"}, help: "go on from here in a copy", run: (*Model).fork, lack: (*Model).lacksTalkOrRest, rank: kept},
		{name: "tree", keys: []string{"ctrl+x t"}, help: "the branches of this conversation", run: (*Model).tree, lack: (*Model).lacksBranches, rank: kept},
		{name: "rename", help: "give this conversation a title", run: (*Model).entitle, lack: (*Model).lacksTalk, rank: kept},
		{name: "export", keys: []string{"ctrl+x e"}, help: "write this conversation to a file", run: (*Model).export, lack: (*Model).lacksTalk, args: func(*Model) []dialog.Item { return exportFormats() }, rank: kept},
		{name: "compact", keys: []string{"ctrl+x k"}, help: "summarize what was said, to save room", run: (*Model).compact, lack: (*Model).lacksTalkOrRest, rank: kept},
		{name: "history", help: "what requests hold: full, dynamic, stateless", run: (*Model).history, args: (*Model).histories, rank: kept},
		{name: "context", help: "what every request holds", run: (*Model).context, rank: kept},
		{name: "usage", keys: []string{"ctrl+x u"}, help: "tokens and cost", run: (*Model).usage, rank: kept},
		{name: "attach", help: "attach a file, or the picture on the clipboard", run: (*Model).attach, rank: talking},
		{name: "paste-picture", keys: []string{"ctrl+v"}, help: "attach the picture on the clipboard", run: (*Model).attachClipboard, rank: talking},
		{name: "detach", keys: []string{"backspace"}, help: "take the last attachment off, on an empty line", when: holding, run: (*Model).detach, lack: (*Model).lacksAttached, rank: talking},
		{name: "new", also: "clear", keys: []string{"ctrl+x n"}, help: "start a new conversation", run: (*Model).fresh, lack: (*Model).lacksRest, rank: kept},
		{name: "mcp", help: "MCP servers: their state and their tools", run: (*Model).mcp, lack: (*Model).lacksServers, rank: workplace},
		{name: "prompt", help: "a prompt of an MCP server", run: (*Model).prompted, lack: (*Model).lacksPrompts, args: (*Model).promptItems, rank: talking},
		{name: "resource", help: "attach a resource of an MCP server", run: (*Model).resources, lack: (*Model).lacksResources, rank: talking},
		{name: "permissions", help: "rules about tools: what may run unasked, and what never", run: (*Model).permissions, lack: (*Model).lacksRules, rank: talking},
		{name: "mode", keys: []string{"shift+tab"}, help: "approval mode: ask, auto, read-only; yolo by name", run: (*Model).mode, args: (*Model).modes, rank: talking},

		{name: "model", also: "models", keys: []string{"ctrl+x m", "alt+p"}, help: "pick a model", run: (*Model).pickModel, args: (*Model).modelArgs, rank: models},
		{name: "next-model", keys: []string{"f2", "ctrl+x ."}, help: "next recent model", run: (*Model).nextModel, lack: (*Model).lacksOthers, rank: models},
		{name: "previous-model", keys: []string{"shift+f2"}, help: "previous recent model", run: (*Model).previousModel, lack: (*Model).lacksOthers, rank: models},
		{name: "effort", help: "pick how much the model thinks", run: (*Model).pickEffort, lack: (*Model).lacksEfforts, args: (*Model).efforts, rank: models},
		{name: "less-effort", keys: []string{"alt+,"}, help: "think less", run: (*Model).lessEffort, lack: (*Model).lacksEfforts, rank: models},
		{name: "more-effort", keys: []string{"alt+."}, help: "think more", run: (*Model).moreEffort, lack: (*Model).lacksEfforts, rank: models},
		{name: "thinking", keys: []string{"alt+t"}, help: "thinking off or on", run: (*Model).toggleEffort, lack: (*Model).lacksOff, rank: models},

		{name: "browse", keys: []string{"tab"}, help: "browse the conversation", when: empty, run: call(func(m *Model) { m.transcript.Browse(true) }), lack: (*Model).lacksShown, rank: reading},
		{name: "fold-thinking", keys: []string{"ctrl+t"}, help: "fold or unfold thinking", run: call(func(m *Model) { m.transcript.ToggleThinking() }), rank: reading},
		{name: "fold-output", keys: []string{"ctrl+o"}, help: "fold or unfold tool output", run: call(func(m *Model) { m.transcript.ToggleOutput() }), rank: reading},
		{name: "page-up", keys: []string{"pgup"}, help: "scroll up", run: call(func(m *Model) { m.transcript.Page(-0.9) }), rank: reading},
		{name: "page-down", keys: []string{"pgdown"}, help: "scroll down", run: call(func(m *Model) { m.transcript.Page(0.9) }), rank: reading},
		{name: "line-up", keys: []string{"shift+up"}, help: "scroll up a line", run: call(func(m *Model) { m.transcript.Scroll(-1) }), rank: reading, above: true},
		{name: "line-down", keys: []string{"shift+down"}, help: "scroll down a line", run: call(func(m *Model) { m.transcript.Scroll(1) }), rank: reading, above: true},
		{name: "top", keys: []string{"ctrl+home"}, help: "to the beginning", run: call(func(m *Model) { m.transcript.Top() }), rank: reading},
		{name: "bottom", keys: []string{"ctrl+end"}, help: "to the end", run: call(func(m *Model) { m.transcript.Bottom() }), rank: reading},
		{name: "previous-message", keys: []string{"alt+up"}, help: "to your previous message", run: call(func(m *Model) { m.transcript.PrevUser() }), rank: reading},
		{name: "next-message", keys: []string{"alt+down"}, help: "to your next message", run: call(func(m *Model) { m.transcript.NextUser() }), rank: reading},
		{name: "copy", keys: []string{"ctrl+x y"}, help: "copy the last answer", run: (*Model).copyAnswer, lack: (*Model).lacksAnswer, rank: reading},
		{name: "copy-code", keys: []string{"ctrl+x c"}, help: "copy the last code block", run: (*Model).copyCode, lack: (*Model).lacksCode, rank: reading},

		{name: "compare", keys: []string{"ctrl+x v"}, help: "ask several models the same; again, one answers", run: (*Model).compare, lack: (*Model).lacksRest, args: (*Model).modelArgs, rank: models},
		{name: "wire", keys: []string{"ctrl+x w", "f12"}, help: "what went over the wire: requests and answers as they were", run: (*Model).wires, rank: reading},

		{name: "palette", keys: []string{"ctrl+p", "ctrl+x p"}, help: "all commands", run: (*Model).palette, rank: workplace},
		{name: "commands", keys: []string{"/"}, help: "all commands, on an empty line", when: empty, run: (*Model).slashed, rank: workplace, second: true},
		{name: "help", keys: []string{"f1", "ctrl+x ?"}, help: "keys", run: (*Model).help, rank: workplace},
		{name: "keys", keys: []string{"?"}, help: "keys, on an empty line", when: unwritten, run: (*Model).help, rank: workplace, second: true},
		{name: "theme", help: "pick the theme", run: (*Model).pickTheme, args: (*Model).themes, rank: workplace},
		{name: "mouse", keys: []string{"ctrl+x o"}, help: "mouse capture on or off", run: (*Model).toggleMouse, rank: workplace},
		{name: "redraw", keys: []string{"ctrl+l"}, help: "draw the screen anew", run: func(*Model, string) tea.Cmd { return tea.ClearScreen }, rank: workplace, above: true},
		{name: "folder", also: "cd", help: "work in another folder, in a new conversation", run: (*Model).folder, lack: (*Model).lacksFolders, rank: workplace},
		{name: "suspend", keys: []string{"ctrl+z"}, help: "to the shell; fg comes back", run: func(*Model, string) tea.Cmd { return tea.Suspend }, rank: workplace, above: true},
		{name: "end", keys: []string{"ctrl+d"}, help: "quit, on an empty line", when: empty, run: func(m *Model, _ string) tea.Cmd { return m.quit() }, rank: workplace, second: true},
		{name: "quit", also: "exit", help: "leave parley", run: func(m *Model, _ string) tea.Cmd { return m.quit() }, rank: workplace},
	}
}

// bind maps keys to actions, and says which begin a sequence. Escapes are
// counted by themselves.
func bind(actions []action) (keys map[string]*action, leaders map[string]bool) {
	keys, leaders = map[string]*action{}, map[string]bool{}
	for i := range actions {
		for _, k := range actions[i].keys {
			keys[k] = &actions[i]
			if first, _, two := strings.Cut(k, " "); two && first != "esc" {
				leaders[first] = true
			}
		}
	}
	return keys, leaders
}

// press runs the action of a key, and reports whether the key was used up.
func (m *Model) press(key string) (tea.Cmd, bool) {
	if m.leader != "" {
		key, m.leader = m.leader+" "+key, ""
		if a := m.keys[key]; a != nil {
			return m.do(a, ""), true
		}
		return m.say(key + " does nothing"), true
	}
	if m.leaders[key] {
		m.leader = key
		return nil, true
	}
	if key == "esc" && m.editing > 0 && !m.transcript.Browsing() {
		return m.leaveEdit(), true
	}
	if key == "esc" && m.turn == nil {
		if m.stopShells() {
			return nil, true
		}
		return m.escape()
	}
	a := m.keys[key]
	if a == nil || a.when != nil && !a.when(m) {
		return nil, false
	}
	return m.do(a, ""), true
}

// do runs an action, or says why it cannot run.
func (m *Model) do(a *action, arg string) tea.Cmd {
	if a.lack != nil {
		if why := a.lack(m); why != "" {
			return m.say(why)
		}
	}
	return a.run(m, arg)
}

// escape counts: twice on an empty line is an action of its own.
func (m *Model) escape() (tea.Cmd, bool) {
	twice := m.keys["esc esc"]
	if m.transcript.Browsing() || twice == nil || !twice.when(m) {
		return nil, false
	}
	if m.now().Sub(m.lastEsc) < escWithin {
		m.lastEsc = m.now().Add(-escWithin)
		return m.do(twice, ""), true
	}
	m.lastEsc = m.now()
	return nil, true
}

// command runs "/name argument", and reports whether text is one: a name of a
// command, or, where nothing follows, the beginning of the names of one command
// alone. "/the file" is no /theme.
func (m *Model) command(text string) (tea.Cmd, bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || strings.Contains(rest, "\n") {
		return nil, false
	}
	name, arg, _ := strings.Cut(rest, " ")
	arg = strings.TrimSpace(arg)
	at, _ := dialog.FindNamed(name, m.commandNames())
	if at < 0 {
		return nil, false
	}
	a := &m.actions[at]
	if arg != "" && !a.named(name) {
		return nil, false
	}
	return m.do(a, arg), true
}

// named reports whether name is one of the names of an action, whole.
func (a *action) named(name string) bool {
	return a.name == name || slices.Contains(strings.Fields(a.also), name)
}

// commandNames are the names of each action, its own first.
func (m *Model) commandNames() [][]string {
	names := make([][]string, len(m.actions))
	for i, a := range m.actions {
		names[i] = append([]string{a.name}, strings.Fields(a.also)...)
	}
	return names
}

// mistyped says that there is no command like text, if it can hardly be anything
// else: one word, or the name of a command with a slip in it. Any other text that
// begins with a slash is a message.
func (m *Model) mistyped(text string) string {
	name, arg, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	if !strings.HasPrefix(text, "/") || name == "" || strings.ContainsAny(name, "/\n\t") {
		return ""
	}
	const shortest = 4 // letters of a name in front of more words that is taken for a slip: "/etc is" is none
	near, alone := m.near(name), strings.TrimSpace(arg) == ""
	switch {
	case len(near) > 0 && (alone || len(name) >= shortest):
		return "Unknown command /" + name + ". Did you mean /" + strings.Join(near, " or /") + "? (Start with a space to send it as text)"
	case alone:
		return "Unknown command /" + name + ". " + m.keyOf("palette") + " lists them. (Start with a space to send it as text)"
	}
	return ""
}

// near are the commands that a name may have meant: those that begin with it, or
// else two that look most like it.
func (m *Model) near(name string) (near []string) {
	names := m.commandNames()
	_, among := dialog.FindNamed(name, names)
	const few = 4
	for _, i := range among[:min(len(among), few)] {
		near = append(near, names[i][0])
	}
	if len(near) > 0 {
		return near
	}
	return app.NearestNames(name, slices.Concat(names...), 2)
}
