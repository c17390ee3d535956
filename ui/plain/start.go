package plain

import (
	"parley/providers/llm"
	"parley/tools"
)

// start says where one is, asks whether the folder is trusted, and sends what the
// command line asked.
func (p *front) start() {
	p.say("parley, model %s, folder %s.", p.session.Model().Name, p.o.Workspace)
	if mode := p.session.Policy().Mode(); mode != tools.ModeAsk {
		p.say("Approval mode %s.", mode)
	}
	if p.o.Notice != "" {
		p.say("Note: %s", sentence(oneLine(p.o.Notice)))
	}
	if p.o.Held != "" {
		p.say("Commands are not held by a sandbox: %s", sentence(oneLine(p.o.Held)))
	}
	if p.o.Ephemeral {
		p.say("Nothing of this conversation is kept.")
	}
	p.say("Type /help for help, ctrl+d quits.")
	p.hear()
	p.o.Watch(func(name string) { p.post(func() { p.serverNews(name) }) })
	p.tellAttached(p.attached)
	p.resumed()
	if p.o.Question == "" {
		p.first()
		return
	}
	decide := p.o.Decide
	q := p.confirm(p.o.Question, "trust it", "use none of it", true, func(yes bool) {
		p.soon(func() func() {
			system, err := decide(yes)
			return func() { p.decidedTrust(yes, system, err) }
		})
	})
	q.leave = p.first // it is asked again the next time
	p.later(q)
}

func (p *front) decidedTrust(yes bool, system string, err error) {
	p.session.SetSystem(system)
	switch {
	case err != nil:
		p.say("Note: %s", sentence(oneLine(err.Error())))
	case yes:
		p.say("Trusted. /context says what every request holds.")
	default:
		p.say("None of it is used.")
	}
	p.first()
}

// first sends what the command line asked.
func (p *front) first() {
	if p.o.Start.Find != nil {
		for _, part := range p.o.Start.Prompt { // it is for the conversation that is chosen
			if part.Kind == llm.Text && part.Name == "" {
				p.addDraft(part.Text)
			} else {
				p.attached = append(p.attached, part)
			}
		}
		p.sessions(*p.o.Start.Find)
		return
	}
	if len(p.o.Start.Prompt) > 0 {
		p.runTurn(false, p.o.Start.Prompt...)
	}
}
