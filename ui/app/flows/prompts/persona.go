package prompts

import (
	"cmp"
	"fmt"
	"strings"

	"parley/session"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// off is the argument that ends a persona.
const off = "off"

// editSystem is the prefix of the command that replaces the system prompt.
const editSystem = "/system "

// persona sets the persona of the conversation by name, or removes it.
func (f *Flow) persona(name string) app.Effect {
	if name != off && f.known.Load() == nil && f.Find != nil { // prompts not read yet
		return f.reread(func() app.Effect { return f.persona(name) })
	}
	a := f.app
	now := a.Session.Personas.Current()
	switch name {
	case "":
		items := f.personas()
		if len(items) == 1 && items[0].Current {
			return app.Toast("No personas. A prompt file with a system prompt is one: /manual prompts")
		}
		return app.Choose("Persona", "choice", items, f.persona)
	case off:
		if now.Name == "" {
			return app.Toast("No persona is on")
		}
		return f.use(session.Persona{Ended: now.Name})
	}
	p := f.known.Load().named(name)
	if p == nil {
		return app.Refuse("no persona %s: /persona lists them", name)
	}
	system, err := p.Persona()
	if err != nil {
		return app.Fail(err)
	}
	is := session.Persona{Name: name, System: system, Tools: p.Tools}
	if p.Project {
		is.Project = a.Directory
	}
	e := f.use(is)
	if _, failed := e.(app.Failure); failed {
		return e
	}
	if p.Effort != "" {
		a.Session.Next.SetEffort(p.Effort)
	}
	if p.Model != "" && a.Models.Resolve(p.Model) != a.Session.Model().Name {
		return app.Then{a.Models.Use(p.Model), app.Toast(wording.Event(is))}
	}
	return e
}

// use sets the persona of the conversation.
func (f *Flow) use(is session.Persona) app.Effect {
	if err := f.app.Session.Personas.Set(is, f.app.WholeSystem(is.System)); err != nil {
		return app.Fail(err)
	}
	return app.Shown{Event: is}
}

// personas lists the arguments of /persona: prompts with a system prompt.
func (f *Flow) personas() []app.Item {
	now := f.app.Session.Personas.Current().Name
	items := []app.Item{{Title: off, Detail: "No persona", Value: off, Current: now == ""}}
	for _, p := range f.files() {
		if p.System != "" {
			items = append(items, app.Item{Title: p.Name, Detail: cmp.Or(p.Description, format.FirstLine(p.System)), Value: p.Name, Current: p.Name == now})
		}
	}
	return items
}

func (f *Flow) systemItems() []app.Item {
	items := []app.Item{{Title: "edit", Detail: "Edit the system prompt", Value: "edit"}}
	if f.app.Session.Personas.Current().Name != "" {
		items = append(items, app.Item{Title: off, Detail: "Back to the configured one", Value: off})
	}
	return items
}

// system shows the system prompt, or replaces it for this conversation with a persona that has no file.
func (f *Flow) system(text string) app.Effect {
	own, _ := f.ownSystem()
	switch {
	case text == "":
		return &app.Confirm{Text: f.systemText(), Yes: "Edit", No: "Close", Harmless: true, Accept: func() app.Effect { return f.system("edit") }}
	case text == "edit":
		return app.DraftCommand(editSystem + own)
	case f.app.FrontEnd.Busy():
		return app.Then{app.DraftCommand(editSystem + text), app.Toast(f.app.BusyText())}
	case text == off || text == "default":
		if f.app.Session.Personas.Current().Name == "" {
			return app.Toast("The system prompt is the configured one")
		}
		return f.persona(off)
	}
	e := f.use(session.Persona{Name: session.TypedPersona, System: text})
	if _, failed := e.(app.Failure); failed {
		return app.Failure{Err: fmt.Errorf("system prompt not set: it may have %d KB", session.MaxPersona>>10), Line: editSystem + text}
	}
	return e
}

// ownSystem returns the system prompt and its source, without the additions of the folder and of skills.
func (f *Flow) ownSystem() (text, source string) {
	switch p := f.app.Session.Personas.Current(); {
	case p.Name == session.TypedPersona:
		return p.System, app.InConversation
	case p.Name != "":
		return p.System, "persona " + p.Name
	case f.app.Models.OwnSystem != nil:
		return f.app.Models.OwnSystem()
	}
	return f.app.Session.Next.System(), "configuration"
}

// systemText returns the system prompt for reading, and names the texts sent after it.
func (f *Flow) systemText() string {
	text, source := f.ownSystem()
	about := fmt.Sprintf("System prompt: %s, %s tokens", source, format.Tokens(f.app.Estimate(text)))
	var added []string
	for i, fact := range f.app.Context() {
		if i > 0 && fact.Tokens > 0 && !strings.HasPrefix(fact.Name, app.ToolFact) {
			added = append(added, fact.Name)
		}
	}
	if len(added) > 0 {
		about += "\nSent after it: " + strings.Join(added, ", ")
	}
	return sanitize.Text(about + "\n\n" + text)
}
