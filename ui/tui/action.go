package tui

import (
	"cmp"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/classify"
	"parley/ui/app/wording"
	"parley/ui/tui/dialog"
	"parley/ui/tui/transcript"
)

// An action is a command of the screen, which runs by key, from the palette, or typed
// after a slash. Commands of all front ends are rows of app.Commands; commands of the
// screen only are rows of ownActions.
type action struct {
	app.Command
	run         func(m *Model, arg string) tea.Cmd // overrides Command.Run; nil for none
	unavailable func(m *Model) string              // overrides Command.Unavailable; nil for none
	args        func(m *Model) []dialog.Item       // overrides Command.Args; nil for none

	when   func(m *Model) bool // condition for the keys, which otherwise go to the focused child; nil for none
	above  bool                // the keys work over a dialog too
	second bool                // not listed: another action does the same
}

// own returns an action that only the screen has.
func own(name string, keys []string, group app.Group, help string, run func(*Model, string) tea.Cmd) action {
	return action{Command: app.Command{Name: name, Keys: keys, Group: group, Help: help}, run: run}
}

// then returns f as the run function of an action without an argument.
func then(f func(*Model) tea.Cmd) func(*Model, string) tea.Cmd {
	return func(m *Model, _ string) tea.Cmd { return f(m) }
}

// takes returns a with arg as the name of its argument.
func (a action) takes(arg string) action { a.Arg = arg; return a }

// unless returns a with why, which returns the reason why it cannot run now, "" if it can.
func (a action) unless(why func(*Model) string) action { a.unavailable = why; return a }

// needs returns a with a condition for running it, and the text shown if the condition is false.
func (a action) needs(has func(*Model) bool, lack string) action {
	return a.unless(func(m *Model) string {
		if has(m) {
			return ""
		}
		return lack
	})
}

// only returns a with a condition for its keys.
func (a action) only(when func(*Model) bool) action { a.when = when; return a }

// overDialogs returns a with keys that work over a dialog too.
func (a action) overDialogs() action { a.above = true; return a }

// unlisted returns a marked as an alternative to a listed action.
func (a action) unlisted() action { a.second = true; return a }

// with returns a with the function that lists possible arguments.
func (a action) with(args func(*Model) []dialog.Item) action { a.args = args; return a }

// shared returns a placeholder for the command with this name in app.Commands.
func shared(name string) action { return action{Command: app.Command{Name: name}} }

// scroll returns an action that scrolls or folds the conversation.
func scroll(name, key, help string, f func(*Model)) action {
	return own(name, []string{key}, app.View, help, func(m *Model, _ string) tea.Cmd { f(m); return nil })
}

// unwritten reports whether the draft is empty; idle also requires that the user is not browsing.
func unwritten(m *Model) bool { return m.input.Composer.Empty() }
func idle(m *Model) bool      { return m.input.Composer.Empty() && !m.chat.Transcript.Browsing() }

// actions returns all actions in help order: first the screen's list, which includes some
// shared commands, then the other shared commands.
func actions(shared []app.Command) []action {
	list := slices.Concat(talkingActions(), readingActions())
	commands := slices.Clone(shared)
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
	busy := func(m *Model) bool { return m.chat.Turn != nil }
	queued := func(m *Model) bool { return m.App.Session.Queue.Len() > 0 }
	attached := func(m *Model) bool { return len(m.App.Attached) > 0 }
	holding := func(m *Model) bool { return idle(m) && attached(m) }
	waitsToRetry := func(m *Model) bool { return busy(m) && m.chat.Turn.RetryIn(m.Now()) > 0 }
	silent := func(m *Model) bool {
		return waitsToRetry(m) || busy(m) && m.chat.Turn.Silent(m.Now()) || app.IsLimited(m.App)
	}
	hasEditor := func(m *Model) bool { return m.App.Getenv("VISUAL") != "" || m.App.Getenv("EDITOR") != "" }
	return []action{
		own("stop", []string{"esc"}, app.Messages, "Stop the answer or the running tool", then(func(m *Model) tea.Cmd { return m.chat.StopCallOrTurn() })).only(busy).needs(busy, "Nothing is running"),
		own("now", []string{"ctrl+x g"}, app.Messages, "Retry now instead of waiting", then(func(m *Model) tea.Cmd { return m.chat.RetryNow() })).needs(waitsToRetry, blocks.NoRetryPending),
		own("wait", []string{"ctrl+x a"}, app.Messages, "Wait for a silent or limited model", then(func(m *Model) tea.Cmd {
			if !busy(m) {
				return m.perform(app.Play(m.App.Session.TurnAfterReset))
			}
			return m.chat.ExtendSilence()
		})).needs(silent, "Not waiting for a model"),
		shared("rewind").only(idle),
		own("interrupt", []string{"ctrl+c"}, app.Messages, "Stop, clear the input, or quit (press twice)", then((*Model).interrupt)),
		own("queue", []string{"ctrl+x q"}, app.Messages, "Send after the answer, not with tool results", queue).takes("TEXT").only(busy),
		own("unqueue", nil, app.Messages, "Move queued messages back to the input", then(func(m *Model) tea.Cmd { m.input.Unqueue(); return nil })).only(queued).needs(queued, "Nothing is queued"),
		own("stash", []string{"ctrl+x s"}, app.Messages, "Stash draft; on an empty line, restore it", then(func(m *Model) tea.Cmd { return m.input.Stash() })),
		shared("retry"), shared("background"), shared("jobs"),
		own("editor", []string{"ctrl+g", "ctrl+x ctrl+e"}, app.Messages, "Write in $VISUAL or $EDITOR", then(func(m *Model) tea.Cmd { return m.input.Editor() })).needs(hasEditor, "Set $VISUAL or $EDITOR to use an editor"),
		shared("sessions"), shared("fork"),
		shared("tree").unless(noBranches),
		shared("rename"), shared("export"), shared("compact"), shared("history"), shared("context"), shared("usage"), shared("attach").with(func(m *Model) (items []dialog.Item) {
			for _, path := range m.input.Paths() {
				items = append(items, dialog.Item{Title: path, Value: path})
			}
			return items
		}),
		own("paste-image", []string{"ctrl+v"}, app.Messages, "Attach the clipboard image", then(func(m *Model) tea.Cmd { return m.perform(m.App.Attach("")) })),
		own("detach", []string{"backspace"}, app.Messages, "Remove last attachment (on an empty line)", then(func(m *Model) tea.Cmd { return m.input.Detach() })).only(holding).needs(attached, "Nothing is attached"),
		shared("new"), shared("mcp"), shared("prompt"), shared("resource"), shared("permissions"), shared("mode"), shared("next-mode"),
		shared("model"), shared("next-model"), shared("previous-model"), shared("effort"), shared("less-effort"), shared("more-effort"), shared("thinking"),
	}
}

// copyAnswer copies the last answer, or the nth from the end.
func copyAnswer(m *Model, arg string) tea.Cmd {
	n, err := strconv.Atoi(cmp.Or(arg, "1"))
	text := ""
	if err == nil && n > 0 {
		text = m.chat.Transcript.AnswerBefore(n)
	}
	if text == "" {
		return m.perform(app.Refuse("no answer %s from the end to copy", arg))
	}
	return m.Copy(text, "answer")
}

// noBranches adds a hint for a key that only the screen has.
func noBranches(m *Model) string {
	if why := m.App.NoBranchesText(); why != "" {
		return why + "; r while browsing regenerates an answer"
	}
	return ""
}

func readingActions() []action {
	hasContent := func(m *Model) bool { return m.chat.HasContent }
	answered := func(m *Model) bool { return m.chat.Transcript.LastAnswer() != "" }
	hasCode := func(m *Model) bool { _, ok := m.chat.Transcript.LastCode(); return ok }
	return []action{
		own("browse", []string{"tab"}, app.View, "Browse the conversation", then(func(m *Model) tea.Cmd { m.chat.Transcript.Browse(true); return nil })).only(idle).needs(hasContent, "Nothing to browse yet"),
		own("search", nil, app.View, "Search this conversation", func(m *Model, arg string) tea.Cmd { transcript.Search(m.chat.Transcript, arg); return nil }).takes("WORDS").needs(hasContent, "Nothing to browse yet"),
		scroll("fold-thinking", "ctrl+t", "Fold or unfold thinking", func(m *Model) { m.chat.Transcript.ToggleThinking() }),
		scroll("fold-output", "ctrl+o", "Fold or unfold tool output", func(m *Model) { m.chat.Transcript.ToggleOutput() }),
		scroll("page-up", "pgup", "Scroll up", func(m *Model) { m.chat.Transcript.Page(-0.9) }),
		scroll("page-down", "pgdown", "Scroll down", func(m *Model) { m.chat.Transcript.Page(0.9) }),
		scroll("line-up", "shift+up", "Scroll up one line", func(m *Model) { m.chat.Transcript.Scroll(-1) }).overDialogs(),
		scroll("line-down", "shift+down", "Scroll down one line", func(m *Model) { m.chat.Transcript.Scroll(1) }).overDialogs(),
		scroll("top", "ctrl+home", "Go to the beginning", func(m *Model) { m.chat.Transcript.Top() }),
		scroll("bottom", "ctrl+end", "Go to the end", func(m *Model) { m.chat.Transcript.Bottom() }),
		scroll("previous-message", "alt+up", "Go to your previous message", func(m *Model) { m.chat.Transcript.PrevUser() }),
		scroll("next-message", "alt+down", "Go to your next message", func(m *Model) { m.chat.Transcript.NextUser() }),
		own("copy", []string{"ctrl+x y"}, app.View, "Copy the last answer, or the Nth from the end", copyAnswer).takes("N").needs(answered, "No answer to copy"),
		own("jump", nil, app.View, "Go to a turn, from a list with times", then(func(m *Model) tea.Cmd { return m.openPanel(app.PanelQuery{Panel: "jump"}) })).needs(hasContent, "Nothing to browse yet"),
		own("copy-code", []string{"ctrl+x c"}, app.View, "Copy the last code block", then(func(m *Model) tea.Cmd {
			code, _ := m.chat.Transcript.LastCode()
			return m.Copy(code, "code")
		})).needs(hasCode, "No code block to copy"),

		shared("compare"), shared("wire"),

		own("palette", []string{"ctrl+p", "ctrl+x p"}, app.Program, "All commands", then((*Model).palette)),
		own("commands", []string{"/"}, app.Program, "All commands (on an empty line)", then((*Model).slash)).only(idle).unlisted(),
		shared("help"),
		own("keys", []string{"?"}, app.Program, "Keyboard shortcuts (on an empty line)", then((*Model).help)).only(unwritten).unlisted(),
		own("theme", nil, app.Program, "Choose a theme", func(m *Model, arg string) tea.Cmd { return m.openPanel(app.PanelQuery{Panel: "theme", Query: arg}) }).takes("NAME"),
		own("mouse", []string{"ctrl+x o"}, app.Program, "Mouse capture on/off", then(func(m *Model) tea.Cmd {
			if m.Config.Mouse = !m.Config.Mouse; m.Config.Mouse {
				return m.ShowToast("Mouse on: wheel scrolls, selection copies")
			}
			return m.ShowToast("Mouse off: the terminal selects")
		})),
		own("column", []string{"ctrl+x z"}, app.Program, "Column on wide screens on/off", then(func(m *Model) tea.Cmd { return m.openPanel(app.PanelQuery{Panel: "column"}) })),
		own("redraw", []string{"ctrl+l"}, app.Program, "Redraw screen", then(func(*Model) tea.Cmd { return tea.ClearScreen })).overDialogs(),
		shared("folder"),
		own("suspend", []string{"ctrl+z"}, app.Program, "Suspend to the shell (fg returns)", then(func(*Model) tea.Cmd { return tea.Suspend })).overDialogs(),
		own("end", []string{"ctrl+d"}, app.Program, "Quit (on an empty line)", then(func(m *Model) tea.Cmd { return m.perform(app.Quit(m.App)) })).only(idle).unlisted(),
		shared("quit"),
	}
}

// why returns the reason why a cannot run now; "" if it can.
func (a *action) why(m *Model) string {
	switch {
	case a.unavailable != nil:
		return a.unavailable(m)
	case a.Unavailable != nil:
		return a.Unavailable()
	}
	return ""
}

// do runs a, or shows why it cannot run.
func (a *action) do(m *Model, arg string) tea.Cmd {
	if e, refused := a.Refuse(a.why(m), arg); refused {
		return m.perform(e)
	}
	if a.Group != app.View && a.Group != app.Program { // the last toast is outdated
		m.HideToast()
	}
	if a.run != nil {
		return a.run(m, arg)
	}
	return m.perform(a.RunWith(arg))
}

// command runs a line such as "/name argument"; it ignores other text.
func (m *Model) command(text string) tea.Cmd {
	switch l := m.keymap.classify(m.App, text); l.Kind {
	case classify.Command:
		a := m.keymap.actions[l.Command]
		m.HideToast() // it concerned an earlier line
		m.Defer(m.perform(m.App.Uses.Count(a.Name)))
		a.Command = a.As(l.Name)
		return a.do(m, l.Arg)
	case classify.PromptFile:
		return promptFile(m, text)
	}
	return nil
}

// promptFile sends the prompt of the prompt command in text.
func promptFile(m *Model, text string) tea.Cmd {
	if err := m.branches.commitEdit(); err != nil {
		m.input.InsertPrompt(text)
		return m.ShowToast(wording.ShellError(err))
	}
	m.chat.Transcript.Bottom()
	e, _ := m.App.Prompts.Run(text)
	return m.perform(e)
}
