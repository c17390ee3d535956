package plain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools"
	"parley/ui/app"
	"parley/ui/format"
	"parley/ui/markdown"
)

// A command is what a line that begins with a slash can do. What every front end has is
// a row of app.Commands; what is only for lines, or is said otherwise there, is a row of
// ownCommands.
type command struct {
	app.Command
	run func(p *front, arg string) // in place of Command.Run; nil: that is run
}

func ownCommands() []command {
	row := func(name, arg, help string, run func(*front, string), aliases ...string) command {
		return command{app.Command{Name: name, Arg: arg, Help: help, Aliases: aliases}, run}
	}
	return []command{
		row("help", "", "read this list", func(p *front, _ string) { p.help() }),
		row("wait", "", "keep waiting for a model that sends nothing", (*front).wait),
		row("read", "NUMBER", "read the last answer again, or the last so many, or all", (*front).readBack),
		row("output", "", "read all that the last tool answered", (*front).allOutput),
		row("copy", "code", "copy the last answer, or its last code block, to the clipboard", (*front).copy),
		row("edit", "", "write in $VISUAL or $EDITOR; what you save is sent", (*front).write),
		row("draft", "", "read the draft, which was not sent", (*front).showDraft),
		row("send", "", "send the draft", (*front).sendDraft),
		row("unqueue", "", "make a draft of the messages that wait", (*front).takeBack),
		row("detach", "", "take the last attachment off", (*front).detach),
		row("mode", "MODE", "approval mode: ask, auto, read-only", (*front).mode),
	}
}

// commands returns all there are, in the order of the help.
func commands() []command {
	all := ownCommands()
	for _, c := range app.Commands() {
		if !slices.ContainsFunc(all, func(o command) bool { return o.Name == c.Name }) {
			all = append(all, command{Command: c})
		}
	}
	order := func(c command) int {
		return slices.Index(app.Groups, cmp.Or(c.Group, app.Talking))
	}
	slices.SortStableFunc(all, func(a, b command) int { return order(a) - order(b) })
	return all
}

// commanding reports whether text is a line for parley, as "!command" and "/name
// argument" are. What only looks like one, such as a path, is a message.
func commanding(text string) bool {
	rest, ok := strings.CutPrefix(text, "/")
	name, _, _ := strings.Cut(rest, " ")
	command := strings.HasPrefix(text, "!") || ok && name != "" && !strings.ContainsAny(name, "/.")
	return command && !strings.Contains(text, "\n")
}

// command carries out "/name argument".
func (p *front) command(line string) {
	name, arg, _ := app.ParseCommand(line)
	all := commands()
	names := make([][]string, len(all))
	for i, c := range all {
		names[i] = c.Names()
	}
	at, among := app.FindCommand(name, names)
	if at >= 0 && (arg == "" || slices.Contains(names[at], name)) {
		if run := all[at].run; run != nil {
			run(p, arg)
			return
		}
		p.apply(all[at].Do(p.app, arg))
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
	maybe := ""
	if len(near) > 0 {
		maybe = " Did you mean /" + strings.Join(near, " or /") + "?"
	}
	p.say("Unknown command /%s.%s /help lists them; a space in front sends it as a message.", name, maybe)
}

func (p *front) help() {
	p.say("A line you enter is sent to the model. A backslash at its end goes on with the message in the next line; lines that are pasted together are one message, and no command.")
	p.say("@ and a path bring a file along. ! and a command run it in your shell; its output goes along with your next message.")
	p.say("Ctrl+c stops the reply, or quits when pressed twice. Ctrl+d quits.")
	p.say("What you enter while a reply is running waits for its end.")
	for _, c := range commands() {
		p.say("%s: %s.", strings.TrimSpace("/"+c.Name+" "+c.Arg), c.Help)
	}
}

// send sends a message with the files it mentions.
func (p *front) send(text string) {
	if !p.app.Mentions(text) {
		p.dispatch(text, nil)
		return
	}
	o, ctx := p.app, p.ctx
	p.soon(func() func() {
		parts, notes, err := o.Expand(ctx, text)
		return func() { p.expanded(text, parts, notes, err) }
	})
}

func (p *front) expanded(text string, parts []llm.Part, notes []string, err error) {
	if err != nil {
		p.addDraft(text)
		p.say("Not sent: %s It is your draft now.", sentence(oneLine(err.Error())))
		return
	}
	for _, n := range notes {
		p.show(annotated(p.app.Session, llm.Notice{Text: n}))
	}
	for _, n := range p.app.VisionNotes(parts) {
		p.show(annotated(p.app.Session, llm.Notice{Text: n}))
	}
	p.dispatch(text, parts)
}

// dispatch sends a message, or queues it while a reply is running.
func (p *front) dispatch(text string, mentioned []llm.Part) {
	parts := append(append(p.app.Attached, mentioned...), llm.Part{Kind: llm.Text, Text: text})
	p.app.Attached = nil
	p.remember(text)
	if p.turn != nil {
		p.app.Session.Queue(parts...)
		p.say("Queued, it is sent when the reply is finished. /unqueue takes it back.")
		return
	}
	p.runTurn(true, parts...)
}

// remember keeps what was typed, to be found again by the screen as well.
func (p *front) remember(text string) {
	p.app.Library.AddPromptAsync(session.SentPrompt{Text: text, Dir: p.app.Folder, At: p.now()}) // the conversation has its own way to say that the disk is full
	_ = p.keepDraft()
}

func (p *front) takeBack(string) {
	if p.app.Session.QueueLen() == 0 {
		p.say("Nothing waits.")
		return
	}
	p.unqueue()
}

func (p *front) detach(string) {
	n := len(p.app.Attached)
	if n == 0 {
		p.say("Nothing is attached.")
		return
	}
	p.say("Took off %s.", attach.PartLabel(p.app.Attached[n-1]))
	p.app.Attached = p.app.Attached[:n-1]
}

// allOutput reads what the last tool answered.
func (p *front) allOutput(string) {
	if p.output == nil {
		p.say("No tool has answered yet.")
		return
	}
	p.say("Output of %s, %s:", p.output.name, format.Plural(lines(p.output.text), "line"))
	p.block(p.output.text)
	p.say("End of output.")
}

// copy puts the last answer, or the last code block, on the clipboard of this
// machine, and says how. The terminal is not asked to: that takes an escape.
func (p *front) copy(arg string) {
	text, what := "", "answer"
	for _, n := range slices.Backward(p.app.Session.Path()) {
		if n.Role != llm.RoleAssistant || n.Summary {
			continue
		}
		text = n.Text()
		if arg == "code" {
			blocks := markdown.Fenced(text)
			if text, what = "", "code"; len(blocks) > 0 {
				text = blocks[len(blocks)-1].Text
			}
		}
		if strings.TrimSpace(text) != "" {
			break
		}
	}
	if strings.TrimSpace(text) == "" {
		p.say("There is no %s to copy.", what)
		return
	}
	put, ctx := app.Copy(p.app.Board(nil), text), p.ctx
	p.soon(func() func() {
		result := put(ctx)
		result.File = p.app.Short(result.File)
		return func() { p.say("%s", sentence(capital(result.Message(what)))) }
	})
}

// modelRows are the models, those that can be asked first.
func modelRows(found []app.Choice) []choice {
	var ready, rest []choice
	for _, c := range found {
		if !c.Ready {
			rest = append(rest, choice{name: c.Name, detail: c.Why, off: true, value: c.Name})
			continue
		}
		words := []string{c.Abilities}
		for _, fact := range [][2]string{{"window ", c.Window}, {"input ", c.Input}, {"output ", c.Output}} {
			if fact[1] != "" {
				words = append(words, fact[0]+fact[1])
			}
		}
		if !c.Retired {
			ready = append(ready, choice{name: c.Name, detail: strings.Trim(strings.Join(words, ", "), ", "), value: c.Name})
		}
	}
	return append(ready, rest...)
}

// pick takes one of names, that is what arg names or what is chosen from a list.
func (p *front) pick(thing, arg string, rows []choice, chosen func(string)) {
	if arg == "" {
		p.choose(thing, rows, chosen)
		return
	}
	for _, r := range rows {
		if r.name == arg {
			chosen(r.value)
			return
		}
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	p.say("There is no %s: %s.", arg, strings.Join(names, ", "))
}

func (p *front) mode(arg string) {
	policy := p.app.Session.Policy()
	about := map[tools.Mode]string{
		tools.ModeAsk: "reading runs, everything else asks", tools.ModeAuto: "edits in the workspace and commands in the sandbox run too",
		tools.ModeReadOnly: "what is not reading is denied", tools.ModeYolo: "everything runs that no rule denies",
	}
	var rows []choice
	for _, m := range tools.Modes {
		rows = append(rows, choice{name: string(m), detail: about[m], value: string(m)})
	}
	if arg == string(tools.ModeYolo) { // it has to be named
		rows = append(rows, choice{name: arg, value: arg})
	}
	if arg == "" {
		p.say("The approval mode is %s.", policy.Mode())
	}
	p.pick("mode", arg, rows, func(value string) {
		mode := tools.Mode(value)
		use := func() {
			policy.SetMode(mode)
			p.say("Approval mode: %s, %s.", mode, about[mode])
		}
		bold := mode == tools.ModeYolo || mode == tools.ModeAuto && p.app.Held != "" // nothing holds what runs then
		if !bold || mode == policy.Mode() {
			use()
			return
		}
		p.later(p.confirm("In the mode "+value+", "+about[mode]+". Switch to it?", "switch", "leave it", true, func(yes bool) {
			if yes {
				use()
				return
			}
			p.say("The approval mode stays %s.", policy.Mode())
		}))
	})
}

// context says what a request holds.
func (p *front) context() {
	fill, window := p.app.Session.ContextTokens(), p.app.Session.Model().Context
	if window > 0 {
		p.say("The next request takes about %d tokens, %d percent of the window of %d.", fill, 100*fill/window, window)
	} else {
		p.say("The next request takes about %d tokens; the window of the model is not known.", fill)
	}
	for _, f := range p.app.Context() {
		p.say("%s: %s", f.Name, strings.TrimSuffix(fmt.Sprintf("about %d tokens, %s", f.Tokens, f.Note), ", "))
	}
}
