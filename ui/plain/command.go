package plain

import (
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
	"parley/ui/tui/dialog"
)

// A command is what a line that begins with a slash can do. A new one is a row
// of the table below.
type command struct {
	name string // without the slash
	also string // other names that people know it by, with spaces between them
	args string // what may stand behind it
	help string
	run  func(p *front, arg string)
}

func commands() []command {
	return []command{
		{"help", "", "", "read this list", (*front).help},
		{"model", "models", "NAME", "switch to another model; without a name, a list", (*front).model},
		{"effort", "", "LEVEL", "how much the model thinks", (*front).effort},
		{"mode", "", "NAME", "approval mode: ask, auto, read-only", (*front).mode},
		{"retry", "", "", "try the failed or stopped turn again", (*front).retry},
		{"wait", "", "", "keep waiting for a model that sends nothing", (*front).wait},
		{"read", "", "NUMBER", "read the last answer again, or the last so many, or all", (*front).readBack},
		{"output", "", "", "read all that the last tool answered", (*front).allOutput},
		{"copy", "", "code", "copy the last answer, or its last code block, to the clipboard", (*front).copy},
		{"edit", "", "", "write in $VISUAL or $EDITOR; what you save is sent", (*front).write},
		{"draft", "", "", "read the draft, which was not sent", (*front).showDraft},
		{"send", "", "", "send the draft", (*front).sendDraft},
		{"unqueue", "", "", "make a draft of the messages that wait", (*front).takeBack},
		{"attach", "", "PATH", "attach a file; @path in a message does that too", (*front).attach},
		{"detach", "", "", "take the last attachment off", (*front).detach},
		{"sessions", "resume continue", "", "the conversations that are kept: open one by its number", (*front).sessions},
		{"new", "clear", "", "start a new conversation", (*front).fresh},
		{"fork", "", "", "go on from here in a copy", (*front).fork},
		{"rename", "", "TITLE", "give this conversation a title", (*front).rename},
		{"export", "", "FORMAT PATH", "write this conversation to a file: md, html or jsonl", (*front).export},
		{"compact", "", "", "summarize what was said, to save room", (*front).compact},
		{"history", "", "MODE", "what requests hold: full, dynamic, stateless", (*front).history},
		{"context", "", "", "what every request holds", (*front).context},
		{"usage", "", "", "tokens and cost", (*front).usage},
		{"permissions", "", "", "rules about tools: hear them, take one away", (*front).permissions},
		{"cd", "", "PATH", "work in another folder, in a new conversation", (*front).folder},
		{"mcp", "", "NAME", "MCP servers: their state and their tools", (*front).mcp},
		{"quit", "exit", "", "leave parley", func(p *front, _ string) { p.quit() }},
	}
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
	name, arg, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	arg = strings.TrimSpace(arg)
	all := commands()
	names := make([][]string, len(all))
	for i, c := range all {
		names[i] = append([]string{c.name}, strings.Fields(c.also)...)
	}
	at, among := dialog.FindNamed(name, names)
	if at >= 0 && (arg == "" || slices.Contains(names[at], name)) {
		all[at].run(p, arg)
		return
	}
	var near []string
	for _, i := range append(among, at) {
		if i >= 0 {
			near = append(near, all[i].name)
		}
	}
	if len(near) == 0 {
		near = app.NearestNames(name, slices.Concat(names...), 1)
	}
	maybe := ""
	if len(near) > 0 {
		maybe = " Did you mean /" + strings.Join(near, " or /") + "?"
	}
	p.say("Unknown command /%s.%s /help lists them; a space in front sends it as a message.", name, maybe)
}

func (p *front) help(string) {
	p.say("A line you enter is sent to the model. A backslash at its end goes on with the message in the next line; lines that are pasted together are one message, and no command.")
	p.say("@ and a path bring a file along. ! and a command run it in your shell; its output goes along with your next message.")
	p.say("Ctrl+c stops the reply, or quits when pressed twice. Ctrl+d quits.")
	p.say("What you enter while a reply is running waits for its end.")
	for _, c := range commands() {
		p.say("%s: %s.", strings.TrimSpace("/"+c.name+" "+c.args), c.help)
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
	p.blindTo(parts)
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

func (p *front) retry(string) {
	if p.turn != nil || !p.failed {
		p.say("There is nothing to try again.")
		return
	}
	p.runTurn(true)
}

func (p *front) attach(arg string) {
	if arg == "" {
		p.say("/attach and a path.")
		return
	}
	items, err := app.Attach(arg)
	var parts []llm.Part
	for _, item := range items {
		parts = append(parts, item.Part)
		if item.Note != "" {
			p.show(annotated(p.app.Session, llm.Notice{Text: item.Part.Name + ": " + item.Note}))
		}
	}
	p.app.Attached = append(p.app.Attached, parts...)
	p.tellAttached(parts)
	p.blindTo(parts)
	if err != nil {
		p.fail(err)
	}
}

// blindTo tells, before anything is sent, that the model takes no pictures.
func (p *front) blindTo(parts []llm.Part) {
	model := p.app.Session.Model()
	if slices.ContainsFunc(parts, func(part llm.Part) bool { return app.LacksVision(model, part) }) {
		p.say("%s takes no images: it will only be told that there was one. /model switches to one that does.", model.Name)
	}
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

// model switches to the model that arg names, or reads the list.
func (p *front) model(arg string) {
	if arg == "" {
		p.say("The model is %s.", p.app.Session.Model().Name)
		live := p.app.Live
		p.soon(func() func() {
			found := live() // seconds, at the most
			return func() { p.choose("model", modelRows(found), p.use) }
		})
		return
	}
	found, near := match(modelRows(p.app.Choices()), arg)
	switch {
	case strings.Contains(arg, "/"): // named whole: servers have models that no list names
		p.use(arg)
	case len(found) == 1 && !found[0].off && !near:
		p.use(found[0].value)
	case len(found) > 1 && !near:
		p.choose("model", found, p.use)
	default:
		p.use(arg)
	}
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

// use switches to another model in mid-conversation.
func (p *front) use(name string) {
	if name == p.app.Session.Model().Name {
		p.say("It is %s already.", name)
		return
	}
	model, err := p.app.Open(name)
	if err != nil {
		p.say("%s", strings.TrimSpace("Error: "+sentence(oneLine(err.Error()))+" "+hint(llm.Hint(err))))
		return
	}
	p.show(annotated(p.app.Session, p.app.Session.SetModel(model)))
	p.app.RememberModel(model.Name)
	lib, models := p.app.Library, strings.Join(p.app.Recent[:min(len(p.app.Recent), 10)], "\n")
	p.running.Go(func() { _ = lib.Set("models", models) })
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

func (p *front) effort(arg string) {
	efforts := p.app.Session.Model().Efforts
	if len(efforts) == 0 {
		p.say("This model has no effort to set.")
		return
	}
	rows := []choice{{name: "default", detail: "what the provider does by itself"}}
	for _, e := range efforts {
		rows = append(rows, choice{name: string(e), value: string(e)})
	}
	for i := range rows {
		if rows[i].value == string(p.app.Session.Effort()) {
			rows[i].detail = strings.TrimPrefix(rows[i].detail+", now", ", ")
		}
	}
	p.pick("effort", arg, rows, func(value string) {
		p.app.Session.SetEffort(llm.Effort(value))
		if value == "" {
			value = "as the provider likes"
		}
		p.say("Effort: %s.", value)
	})
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
func (p *front) context(string) {
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
