package plain

import (
	"parley/providers/llm"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/candidates"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// start introduces the conversation, asks whether the directory is trusted, and sends the prompt of
// the command line.
func (p *frontend) start() {
	p.writeLine("parley, model %s, folder %s.", p.app.Session.Model().Name, p.app.Workspace)
	if mode := p.app.Session.Policy().Mode(); mode != act.ModeAsk {
		p.writeLine("Approval mode %s.", mode)
	}
	if app.UsesDemo(p.app) {
		p.writeLine("No API key yet: /connect adds one. Until then the built-in demo answers, offline.")
	}
	if p.app.FirstScreen.Notice != "" {
		p.writeLine("Note: %s", sentence(oneLine(p.app.FirstScreen.Notice)))
	}
	if p.app.Machine.Sandbox.Missing != "" {
		p.writeLine("Commands run without a sandbox: %s", sentence(oneLine(p.app.Machine.Sandbox.Missing)))
	} else if p.app.Machine.Sandbox.Weak != "" {
		p.writeLine("The sandbox has %s here: every command asks, in auto mode too", p.app.Machine.Sandbox.Weak)
	}
	if p.app.Ephemeral {
		p.writeLine("This conversation is not saved.")
	}
	p.writeLine("Type /help for help, ctrl+d quits.")
	p.concurrent(p.app.Prompts.Read)
	p.conversation.onSave()
	p.app.FrontEnd.AskUser = func(next func() app.Effect) { p.mail.post(func() { p.apply(next()) }) }
	p.app.WatchAll(func(happened func() app.Effect) {
		p.mail.post(func() {
			p.apply(happened())
			p.apply(p.app.MCP.NextQuestion())
		})
	})
	p.drafts.writeAttachments(p.app.Attached)
	p.conversation.open()
	if p.app.Trust.Question == "" {
		p.first()
		return
	}
	decide := p.app.Trust.Decide
	q := p.questions.confirm(p.app.Trust.Question, wording.TrustYes, wording.TrustNo, true, func(yes bool) {
		p.async(func() func() {
			system, err := decide(yes)
			return func() { p.decidedTrust(yes, system, err) }
		})
	})
	q.leave = p.first // the question is asked again at the next start
}

func (p *frontend) decidedTrust(yes bool, system string, err error) {
	p.app.Session.Next.SetSystem(system)
	switch {
	case err != nil:
		p.writeLine("Note: %s", sentence(oneLine(format.ErrorText(err))))
	case yes:
		p.concurrent(p.app.Prompts.Read)
		p.writeLine("%s.", wording.Trusted)
	default:
		p.writeLine("%s.", wording.NotTrusted)
	}
	p.first()
}

// first sends the prompt of the command line, or performs the other actions that the command line requests.
func (p *frontend) first() {
	p.apply(p.app.Started())
	discovery := p.app.Models.Discover()
	p.apply(discovery)
	_, waits := discovery.(app.Prepare)
	if p.app.Start.Find != nil {
		p.draftPrompt(p.app.Start.Prompt) // for the conversation that the user will choose
		p.panels.sessions(*p.app.Start.Find)
		return
	}
	prompt := p.app.Start.Prompt
	if len(p.app.Compared.Models) > 0 {
		p.writeLine("%s.", candidates.Text(p.app))
	}
	switch {
	case len(prompt) == 0:
	case len(p.app.Compared.Models) > 0:
		compared, err := candidates.Open(p.app)
		if err != nil {
			p.writeError(err)
			p.draftPrompt(prompt)
			return
		}
		p.turns.compare(compared, false, prompt)
	case waits:
		p.pendingPrompt = prompt
	default:
		p.turns.run(false, prompt...)
	}
}

// draftPrompt adds a prompt with its attachments to the draft.
func (p *frontend) draftPrompt(prompt []llm.Part) {
	for _, part := range prompt {
		if part.Kind == llm.Text && part.Name == "" {
			p.drafts.add(part.Text)
		} else {
			p.app.Attached = append(p.app.Attached, part)
		}
	}
}
