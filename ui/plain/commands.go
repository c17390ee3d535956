package plain

import (
	"cmp"
	"slices"
	"strings"

	"parley/ui/app"
)

// A command runs for a line that begins with a slash. Commands of all front ends are rows of
// app.Commands, which adapt changes where this one needs it; those of this front end alone are rows
// of ownCommands.
type command struct {
	app.Command
	run func(p *frontend, arg string) // overrides Command.Run; nil for none
}

// ownCommands returns the commands that only this front end has.
func ownCommands() []command {
	row := func(name, arg, help string, run func(*frontend, string), aliases ...string) command {
		return command{app.Command{Name: name, Arg: arg, Help: help, Aliases: aliases}, run}
	}
	return []command{
		row("now", "", "Retry now instead of waiting", func(p *frontend, _ string) { p.turns.retryNow() }),
		row("wait", "", "Keep waiting for a model", func(p *frontend, _ string) { p.turns.wait() }),
		row("stop", "", "Stop the answer, as ctrl+c does", func(p *frontend, _ string) {
			if !p.turns.interrupt() {
				p.writeLine("Nothing is running.")
			}
		}),
		row("read", "NUMBER", "Read the last answer again, the last NUMBER of them, or all", func(p *frontend, arg string) { p.transcript.readBack(arg) }),
		row("output", "", "Read all output of the last tool", func(p *frontend, _ string) { p.transcript.allOutput() }),
		row("copy", "code", "Copy the last answer, or its last code block", func(p *frontend, arg string) { p.transcript.copy(arg) }),
		row("edit", "", "Write in $VISUAL or $EDITOR; saving sends it", func(p *frontend, _ string) { p.drafts.write() }),
		row("draft", "", "Read the unsent draft", func(p *frontend, _ string) { p.drafts.read() }),
		row("send", "", "Send the draft", (*frontend).sendDraft),
		row("queue", "TEXT", "Send TEXT after the answer, not with tool results", (*frontend).queue),
		row("unqueue", "", "Move queued messages back to the draft", func(p *frontend, _ string) { p.unqueue() }),
		row("detach", "", "Remove last attachment", func(p *frontend, _ string) { p.drafts.detach() }),
	}
}

// adapt returns a command of app.Commands for this front end.
func adapt(c app.Command) command {
	switch c.Name {
	case "help":
		c.Help = "Show this list, or a page of the manual"
	case "compare":
		c.Help = "Compare models: the next prompt goes to several"
	case "mode": // without a name, a list: cycling needs a screen that shows the current mode
		return command{c, func(p *frontend, arg string) { p.panels.mode(arg) }}
	}
	return command{Command: c}
}

// commands returns all commands, those that front ends share among them, in the order of the help.
func commands(shared []app.Command) []command {
	all := ownCommands()
	for _, c := range shared {
		all = append(all, adapt(c))
	}
	order := func(c command) int {
		return slices.Index(app.Groups, cmp.Or(c.Group, app.Messages))
	}
	slices.SortStableFunc(all, func(a, b command) int { return order(a) - order(b) })
	return all
}

// sendDraft sends the draft, or runs it if it is a command of several lines.
func (p *frontend) sendDraft(string) {
	text := strings.TrimSpace(p.drafts.text)
	if !app.AllowsMultiline(text) {
		p.drafts.sendAll()
		return
	}
	p.drafts.text = ""
	p.command(text)
}

// isCommand reports whether text is a command, "!command" or "/name argument". Text that only looks
// like one, such as a path, is a message.
func isCommand(text string) bool {
	_, _, ok := app.CommandLike(text)
	return (ok || strings.HasPrefix(text, "!")) && !strings.Contains(text, "\n")
}

// namesCommand reports whether text is the whole name of a command, with an argument or without.
func (p *frontend) namesCommand(text string) bool {
	name, _, ok := app.ParseCommand(text)
	return ok && slices.ContainsFunc(commands(p.app.Commands), func(c command) bool { return slices.Contains(c.Names(), name) })
}

// holdBack keeps a command that came too fast as the draft. One that is about the draft does not
// become part of it.
func (p *frontend) holdBack(line string) {
	line = strings.TrimSpace(line)
	shown := truncate(line, maxAddress)
	switch line {
	case "/send", "/draft", "/edit":
		p.writeLine("Held back: %s followed too fast to be a command. Type it again to run it.", shown)
		return
	}
	p.drafts.add(line)
	p.writeLine("Held back: %s followed too fast to be a command. /send sends it as a message; type it again to run it.", shown)
}

// command runs a line such as "/name argument".
func (p *frontend) command(line string) {
	name, arg, _ := app.ParseCommand(line)
	all := commands(p.app.Commands)
	names := make([][]string, len(all))
	for i, c := range all {
		names[i] = c.Names()
	}
	at, among := app.FindCommand(name, names)
	if at < 0 || !slices.Contains(names[at], name) { // the full name of a prompt wins over a prefix of a command
		if e, ok := app.RunPromptCommand(p.app, line); ok {
			p.apply(e)
			return
		}
	}
	if at >= 0 && (arg == "" || slices.Contains(names[at], name)) {
		c := all[at].As(name)
		if run := all[at].run; run != nil {
			if e, refused := c.Refuse("", arg); refused {
				p.apply(e)
				return
			}
			run(p, arg)
			return
		}
		p.apply(c.Do(p.app, arg))
		return
	}
	if where := app.OtherProgramHint(name); where != "" && arg == "" {
		p.writeLine("%s", sentence(where))
		return
	}
	var near []string
	for _, i := range append(among, at) {
		if i >= 0 {
			near = append(near, all[i].Name)
		}
	}
	if len(near) == 0 {
		near = app.NearestNames(name, slices.Concat(names...), 2)
	}
	p.writeLine("%s /help lists them; a space in front sends it as text.", app.UnknownCommandText(name, near))
}

func (p *frontend) help() {
	p.writeLine("A line you enter is sent to the model. A backslash at its end continues the message on the next line; lines pasted together are one message, never a command.")
	p.writeLine("@ and a path attach a file, @ and an address a page or file of the web. ! and a command run it in your shell; its output is sent along with your next message.")
	p.writeLine("Ctrl+c stops the answer, or quits when pressed twice. Ctrl+d quits.")
	p.writeLine("What you enter while an answer is running is queued.")
	for _, c := range commands(p.app.Commands) {
		p.writeLine("%s: %s.", strings.TrimSpace("/"+c.Name+" "+c.Arg), c.Help)
	}
}
