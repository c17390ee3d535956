package plain

import (
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
)

// apply says what came of something the user did.
func (p *front) apply(e app.Effect) {
	if e.Entered != nil {
		p.entered(*e.Entered)
	}
	if e.Event != nil {
		p.show(e.Event)
	}
	for _, n := range e.Notes {
		p.show(annotated(p.app.Session, llm.Notice{Text: n}))
	}
	if e.Failed != nil {
		p.say("%s", strings.TrimSpace("Error: "+sentence(oneLine(e.Failed.Error()))+" "+hint(llm.Hint(e.Failed))))
	}
	if e.Text != "" {
		p.addDraft(e.Text)
		p.say("It is your draft now. /draft reads it, /send sends it, /edit opens it.")
	}
	p.tellAttached(e.Attached)
	if e.Toast != "" && e.Err == nil {
		p.say("%s", sentence(capital(oneLine(e.Toast))))
	}
	if e.Err != nil {
		p.fail(e.Err)
	}
	if e.Panel != "" {
		p.panel(e.Panel, e.Query)
	}
	if e.List != nil {
		p.list(e.List)
	}
	if c := e.Confirm; c != nil {
		lower := func(s string) string { return strings.ToLower(s[:1]) + s[1:] }
		p.later(p.confirm(c.Text, lower(c.Yes), lower(c.No), !c.Harmless, func(yes bool) { p.apply(c.Answer(yes)) }))
	}
	if e.Turn != nil {
		p.play(true, e.Turn)
	}
	if e.Async != nil {
		p.soon(func() func() {
			done := e.Async(p.ctx)
			return func() { p.apply(done) }
		})
	}
	if e.Then != nil {
		p.apply(e.Then())
	}
	if e.Quit {
		p.quit()
	}
}

// panel says what a view of the screen would show.
func (p *front) panel(panel app.Panel, query string) {
	switch panel {
	case app.PanelSessions:
		p.sessions(query)
	case app.PanelModels:
		p.models(query)
	case app.PanelPermissions:
		p.permissions()
	case app.PanelContext:
		p.context()
	case app.PanelUsage:
		p.usage()
	default:
		p.help()
	}
}

// list asks for a row of l.
func (p *front) list(l *app.List) {
	rows := make([]choice, len(l.Items))
	for i, item := range l.Items {
		rows[i] = choice{name: item.Title, detail: item.Detail, off: item.Disabled, value: item.Value}
		if item.Current {
			rows[i].detail = strings.TrimPrefix(item.Detail+", now", ", ")
		}
	}
	p.choose(l.Noun, rows, func(value string) {
		i := slices.IndexFunc(l.Items, func(i app.Item) bool { return i.Value == value })
		p.apply(l.Choose(l.Items[i], ""))
	})
}

// models reads the list of models, or takes the one that query means.
func (p *front) models(query string) {
	use := func(name string) { p.apply(p.app.Use(name)) }
	if query == "" {
		p.say("The model is %s.", p.app.Session.Model().Name)
		live := p.app.Live
		p.soon(func() func() {
			found := live() // seconds, at the most
			return func() { p.choose("model", modelRows(found), use) }
		})
		return
	}
	switch found, near := match(modelRows(p.app.Choices()), query); {
	case len(found) == 1 && !found[0].off && !near:
		use(found[0].value)
	case len(found) > 1 && !near:
		p.choose("model", found, use)
	default:
		use(query)
	}
}

// entered goes on with the conversation that is open now.
func (p *front) entered(e app.Entered) {
	if e.Left == nil { // another branch of the same one
		return
	}
	p.running.Go(func() { e.Left.Close() })
	p.unsaved, p.draft.text, p.failed = nil, "", false
	p.hear()
	if len(p.app.Session.Path()) == 0 {
		p.say("A new conversation.")
	}
	p.resumed()
}
