package plain

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"parley/ui/app"
	"parley/ui/app/classify"
)

// A command runs for a line that begins with a slash. Commands of all front ends are rows of app.Commands;
// adapt changes them for this front end. Commands of this front end only are rows of ownCommands.
type command struct {
	app.Command
	run func(p *frontend, arg string) // overrides Command.Run; nil for none
}

// ownCommands returns the commands that only this front end has.
func ownCommands() []command {
	row := func(name, arg, help string, run func(*frontend, string)) command {
		return command{app.Command{Name: name, Arg: arg, Help: help}, run}
	}
	return []command{
		row("now", "", "Retry now instead of waiting", func(p *frontend, _ string) { p.turns.retryNow() }),
		row("wait", "", "Wait for a silent or limited model", func(p *frontend, _ string) {
			if app.IsLimited(p.app) {
				p.apply(app.Play(p.app.Session.TurnAfterReset))
				return
			}
			p.turns.wait()
		}),
		row("stop", "", "Stop the answer, as ctrl+c does", func(p *frontend, _ string) {
			if !p.turns.interrupt() && !p.stopAsides() {
				p.writeLine("Nothing is running.")
			}
		}),
		row("read", "NUMBER", "Read the last answer again, the last NUMBER of them, or all", func(p *frontend, arg string) { p.transcript.readBack(arg) }),
		row("output", "", "Read all output of the last tool", func(p *frontend, _ string) { p.transcript.allOutput() }),
		row("copy", "N", "Copy the last answer, or the Nth from the end; code: its last code block", func(p *frontend, arg string) { p.transcript.copy(arg) }),
		row("edit", "", "Write in $VISUAL or $EDITOR; saving sends it", func(p *frontend, _ string) { p.drafts.write() }),
		row("draft", "", "Read the unsent draft", func(p *frontend, _ string) { p.drafts.read() }),
		row("send", "", "Send the draft", (*frontend).sendDraft),
		row("queue", "TEXT", "Send TEXT after the answer, not with tool results", (*frontend).queue),
		row("unqueue", "", "Move queued messages back to the draft", func(p *frontend, _ string) { p.unqueue() }),
		row("detach", "", "Remove last attachment", func(p *frontend, _ string) { p.drafts.detach() }),
	}
}

// adapt returns a command of app.Commands, adapted to this front end.
func adapt(c app.Command) command {
	switch c.Name {
	case "help":
		c.Help = "Show this list, or a page of the manual"
	case "compare":
		c.Help = "Compare models: the next prompt goes to several"
	case "mode": // without a name it is a list: cycling requires a screen that shows the current mode
		return command{c, func(p *frontend, arg string) { p.panels.mode(arg) }}
	}
	return command{Command: c}
}

// commands returns this front end's commands and the shared ones, in help order.
func commands(shared []app.Command) []command {
	all := ownCommands()
	for _, c := range shared {
		all = append(all, adapt(c))
	}
	order := func(c command) int {
		return slices.Index(app.Groups, cmp.Or(c.Group, app.Messages))
	}
	sort.SliceStable(all, func(i, j int) bool { return order(all[i]) < order(all[j]) })
	return all
}

// sendDraft sends the draft, or runs it if it is a multi-line command.
func (p *frontend) sendDraft(string) {
	text := strings.TrimSpace(p.drafts.text)
	if !classify.AllowsMultiline(text, p.app.Commands) {
		p.drafts.sendAll()
		return
	}
	p.drafts.text = ""
	p.command(text)
}

// classify parses a line. all holds the commands that it may name.
func (p *frontend) classify(text string) (l classify.Line, all []command) {
	all = commands(p.app.Commands)
	named := make([]app.Command, len(all))
	for i, c := range all {
		named[i] = c.Command
	}
	return classify.Entered(text, named, p.app.Prompts.Has), all
}

// holdBack makes a command that came too fast the draft. A command about the draft is dropped instead.
func (p *frontend) holdBack(line string) {
	line = strings.TrimSpace(line)
	shown := truncate(line, maxAddress)
	switch line {
	case "/send", "/draft", "/edit":
		p.writeLine("Not run: %s followed too fast to be a command. Type it again to run it.", shown)
		return
	}
	p.drafts.add(line)
	p.writeLine("Not run: %s followed too fast to be a command. /send sends it as a message; type it again to run it.", shown)
}

// command runs a line such as "/name argument", and reports whether it is a command.
func (p *frontend) command(line string) bool {
	switch l, all := p.classify(line); {
	case l.Kind == classify.PromptFile:
		e, _ := p.app.Prompts.Run(line)
		p.apply(e)
	case l.Kind == classify.Command:
		c := all[l.Command].As(l.Name)
		run := all[l.Command].run
		if run == nil {
			p.apply(c.Do(l.Arg))
			break
		}
		if e, refused := c.Refuse("", l.Arg); refused {
			p.apply(e)
			break
		}
		run(p, l.Arg)
	case l.Hint != "":
		p.writeLine("%s", sentence(l.Hint))
	case l.Kind == classify.Mistyped:
		p.writeLine("%s /help lists them; a space in front sends it as text.", l.Problem)
	default:
		return false
	}
	return true
}

func (p *frontend) help() {
	p.writeLine("A line you enter is sent to the model. A backslash at its end continues the message on the next line; lines pasted together are one message, never a command.")
	p.writeLine("@ and a path attach a file, @ and an address a page or file of the web. ! and a command run it in your shell; its output is sent along with your next message.")
	p.writeLine("Ctrl+c stops the answer, or quits when pressed twice. Ctrl+d quits.")
	p.writeLine("Messages that you enter while an answer is running are queued.")
	for _, c := range commands(p.app.Commands) {
		p.writeLine("%s: %s.", strings.TrimSpace("/"+c.Name+" "+c.Arg), c.Help)
	}
}
