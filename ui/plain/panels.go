package plain

import (
	"slices"
	"strconv"
	"strings"

	"parley/session"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// panels writes the content of the screen's panels.
type panels struct {
	*deps
	lists     *lists
	questions *questions
}

// open writes a panel. It returns false if this front end does not have it.
func (p *panels) open(panel app.Panel, query string) bool {
	switch panel {
	case app.PanelSessions:
		p.sessions(query)
	case app.PanelModels:
		p.models(query)
	case app.PanelWire:
		p.exchanges()
	case app.PanelBranches:
		if p.requireIdle() {
			p.apply(p.branches())
		}
	default:
		return false
	}
	return true
}

// sessions lets the user choose a conversation whose title or ID contains words; "" matches all.
func (p *panels) sessions(words string) {
	if !p.requireIdle() {
		return
	}
	lib := p.app.Library
	p.async(func() func() {
		found, err := lib.List(session.Query{})
		found = slices.DeleteFunc(found, func(s session.Info) bool {
			return !strings.Contains(strings.ToLower(s.ID+" "+wording.ListTitle(s)), strings.ToLower(words))
		})
		return func() { p.listSessions(found, err) }
	})
}

func (p *panels) listSessions(found []session.Info, err error) {
	if err != nil {
		p.writeError(err)
	}
	var rows []choice
	for _, s := range found {
		detail := []string{s.Model, format.Age(p.now().Sub(s.Updated)), p.app.AbbrevPath(s.Dir)}
		if s.LockedBy != "" && s.ID != p.app.Session.ID() {
			detail = append(detail, "open in "+s.LockedBy)
		}
		if s.ID == p.app.Session.ID() {
			detail = append(detail, "this one")
		}
		rows = append(rows, choice{name: wording.ListTitle(s), detail: strings.Join(detail, ", "), value: s.ID})
	}
	if len(rows) == 0 {
		p.writeLine("No conversations yet.")
		return
	}
	p.lists.choose("conversation", rows, func(id string) { p.apply(p.app.OpenSession(id, 0)) })
}

// branches asks for the branch of the conversation to continue.
func (p *panels) branches() *app.List {
	l := &app.List{Title: "Branches", Noun: "branch point"}
	l.Choose = func(value string) app.Effect {
		seq, _ := strconv.Atoi(value)
		if err := p.app.Session.Branch.Switch(seq); err != nil {
			return app.Fail(err)
		}
		return app.Then{app.SessionOpened{}, app.Toast("Continuing on the branch: " + l.Item(value).Title), p.app.Files.Restore()}
	}
	for _, b := range p.app.Session.Branches() {
		l.Items = append(l.Items, app.Item{Title: app.MessageLine(b.Node.Message), Detail: app.Author(b.Node.Message), Value: strconv.Itoa(b.Node.Seq), Current: b.Active})
	}
	return l
}

// models switches to the model named query, or lets the user choose if query is "" or matches
// several.
func (p *panels) models(query string) {
	use := func(name string) { p.apply(p.app.Models.Use(name)) }
	if query == "" {
		p.chooseModel("The model is "+p.app.Session.Model().Name+".", use)
		return
	}
	switch found, near := match(p.modelRows(p.app.Models.Choices()), query); {
	case len(found) == 1 && !found[0].unavailable && !near:
		use(found[0].value)
	case len(found) > 1 && !near:
		p.lists.choose("model", found, use)
	default:
		use(query)
	}
}

// chooseModel writes what, a line about the choice, and lets the user choose a model.
func (p *panels) chooseModel(what string, chosen func(name string)) {
	p.writeLine("%s", what)
	live := p.app.Models.Live
	p.async(func() func() {
		found := live() // takes a few seconds at most
		return func() { p.lists.choose("model", p.modelRows(found), chosen) }
	})
}

// modelRows returns the rows of models, ready ones first. It omits retired models.
func (p *panels) modelRows(found []app.ModelChoice) []choice {
	var ready, rest []choice
	for _, c := range found {
		if !c.Ready {
			rest = append(rest, choice{name: c.Name, detail: c.Why, unavailable: true, value: c.Name})
			continue
		}
		var words []string
		if c.Alias != "" {
			words = []string{"stands for " + c.Alias}
		}
		words = append(slices.Concat(words, c.Warnings(), wording.ModelFit(p.app.Session, c.Facts)), c.Abilities)
		for _, fact := range [][2]string{{"context window ", c.Window}, {"input ", c.Input}, {"output ", c.Output}} {
			if fact[1] != "" {
				words = append(words, fact[0]+fact[1])
			}
		}
		if !c.Retired {
			ready = append(ready, choice{name: c.Name, detail: format.Join(", ", words...), value: c.Name})
		}
	}
	return append(ready, rest...)
}

// mode sets the approval mode to arg, or lets the user choose if arg is "".
func (p *panels) mode(arg string) {
	policy := p.app.Session.Policy()
	set := func(value string) {
		mode := act.Mode(value)
		use := func() {
			policy.SetMode(mode)
			p.writeLine("Approval mode: %s.", wording.ModeHelp(mode))
		}
		unguarded := mode == act.ModeYolo || mode == act.ModeAuto && p.app.Machine.Sandbox.Missing != ""
		if !unguarded || mode == policy.Mode() {
			use()
			return
		}
		p.questions.confirm("Approval mode "+wording.ModeHelp(mode)+". Switch to it?", "Switch", "Not now", true, func(yes bool) {
			if yes {
				use()
				return
			}
			p.writeLine("The approval mode stays %s.", policy.Mode())
		})
	}
	switch mode := act.Mode(arg); {
	case mode == act.ModeYolo, slices.Contains(act.Modes, mode): // yolo is available only by name
		set(arg)
	case arg != "":
		p.writeLine("No %s: %s.", arg, format.JoinComma(act.Modes))
	default:
		var rows []choice
		for _, m := range act.Modes {
			rows = append(rows, choice{name: string(m), detail: wording.ModeDetail(m), value: string(m)})
		}
		p.writeLine("The approval mode is %s.", policy.Mode())
		p.lists.choose("mode", rows, set)
	}
}
