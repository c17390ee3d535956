// Package models lets the user choose the model and its thinking effort, connect providers, and use services on their
// machine.
package models

import (
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := &flow{app: a}
	a.Commands = append(a.Commands,
		app.Command{Name: "model", Aliases: []string{"models"}, Keys: []string{"ctrl+x m", "alt+p"}, Group: app.ModelsGroup, Arg: "NAME", Help: "Choose a model", Run: f.model},
		app.Command{Name: "connect", Aliases: []string{"login"}, Group: app.ModelsGroup, Arg: "PROVIDER", Help: "Add the API key of a provider", Unavailable: f.cannotConnect, Args: f.providers, Run: f.connect},
		app.Command{Name: "next-model", Keys: []string{"f2", "ctrl+x ."}, Group: app.ModelsGroup, Help: "Next recent model", Unavailable: f.noOtherModel, Run: f.cycle(1)},
		app.Command{Name: "previous-model", Keys: []string{"shift+f2"}, Group: app.ModelsGroup, Help: "Previous recent model", Unavailable: f.noOtherModel, Run: f.cycle(-1)},
		app.Command{Name: "effort", Aliases: []string{"reasoning"}, Group: app.ModelsGroup, Arg: "LEVEL", Help: "Reasoning effort", Unavailable: f.noEfforts, Args: f.effortItems, Run: f.effort},
		app.Command{Name: "less-effort", Keys: []string{"alt+,"}, Group: app.ModelsGroup, Help: "Lower reasoning effort", Unavailable: f.noEfforts, Run: f.changeEffort(-1)},
		app.Command{Name: "more-effort", Keys: []string{"alt+."}, Group: app.ModelsGroup, Help: "Higher reasoning effort", Unavailable: f.noEfforts, Run: f.changeEffort(1)},
		app.Command{Name: "thinking", Keys: []string{"alt+t"}, Group: app.ModelsGroup, Help: "Thinking on/off", Unavailable: f.alwaysThinks, Run: f.toggleThinking},
	)
	a.Models.Use, a.Models.Follow, a.Models.Discover, a.Models.Learn = f.use, f.follow, f.discover, f.learn
}

// A flow changes the model of the open conversation.
type flow struct {
	app *app.App
	was llm.Effort // effort before thinking was turned off
}

// model switches to the model arg, or lists the models that match.
func (f *flow) model(arg string) app.Effect {
	if full := f.app.Models.Resolve(arg); full != arg || strings.Contains(arg, "/") && !strings.Contains(arg, " ") {
		return f.use(full)
	}
	return app.PanelQuery{Panel: app.PanelModels, Query: arg}
}

// use switches to another model in mid-conversation.
func (f *flow) use(name string) app.Effect {
	if name = f.app.Models.Resolve(name); name == f.app.Session.Model().Name && !f.app.Session.Next.HasPromptModel() {
		if f.app.Session.EndCooldown() {
			return app.Toast(name + " is asked again with the next prompt")
		}
		return app.Toast("Already using " + name)
	}
	e, switched := f.switchTo(name)
	if switched {
		return app.Then{e, f.noteUsed(), f.noteUnlisted(f.app.Session.Model())}
	}
	return e
}

// follow switches to the model that gave the last answer, which already announced the switch.
func (f *flow) follow(name string) app.Effect {
	to, _, refused := f.setModel(name)
	if refused != nil {
		return refused
	}
	e := app.Then{f.noteUsed()}
	if changes := wording.Changes(to); changes != "" {
		e = append(e, app.Notes{format.Capital(changes)})
	}
	return e
}

// noteUsed returns the effect that stores the current model as the last used one.
func (f *flow) noteUsed() app.Effect {
	f.app.Session.EndCooldown()
	return f.keepUsed()
}

// keepUsed makes the current model the most recently used one, and returns the effect that stores that.
func (f *flow) keepUsed() app.Effect {
	f.app.Models.Recent = f.app.Models.RecentAfter(f.app.Session.Model().Name)
	return f.keep(f.app.Models.Recent)
}

// keep stores the recently used models: the next start uses the first.
func (f *flow) keep(names []string) app.Effect {
	return f.app.SaveState("models", strings.Join(names[:min(len(names), 10)], "\n"))
}

// switchTo switches to another model and adds a notice to the conversation, unless it is empty.
func (f *flow) switchTo(name string) (e app.Effect, switched bool) {
	to, words, refused := f.setModel(name)
	if refused == nil {
		f.app.Models.Chosen = to.To
	}
	switch {
	case refused != nil:
		return refused, false
	case f.app.Session.Head() == 0:
		return app.Toast(strings.TrimSuffix(wording.Event(to)+" · "+words, " · ")), true
	}
	return app.Then{f.app.Annotate(to), app.Toast(words)}, true
}

// setModel switches to another model without a notice. Words describes what the model cannot handle; refused is nil on
// success.
func (f *flow) setModel(name string) (to session.ModelSwitched, words string, refused app.Effect) {
	model, err := f.app.Models.Open(name)
	if e, ok := f.connectFor(name, err); ok {
		return to, "", e
	}
	if err != nil {
		return to, "", app.Failure{Err: err, Lasting: true}
	}
	to = f.app.Session.SetModel(model)
	unfit := slices.DeleteFunc(wording.ModelFit(f.app.Session, model), func(w string) bool { return w == wording.ThinkingNotSent }) // the event says so itself
	return to, strings.Join(unfit, " · "), nil
}

// cycle returns a command that steps through the recent models. It does not change their order in this run.
func (f *flow) cycle(by int) func(string) app.Effect {
	return func(string) app.Effect {
		all, now := f.app.Models.Recent, f.app.Session.Model().Name
		name := all[(slices.Index(all, now)+by+len(all))%len(all)]
		if name == now {
			return nil
		}
		e, switched := f.switchTo(name)
		if switched {
			return app.Then{e, f.keep(f.app.Models.RecentAfter(f.app.Session.Model().Name))}
		}
		return e
	}
}

// defaultEffort is the user's word for the provider's default effort.
const defaultEffort = "default"

// effortItems lists the efforts of the model.
func (f *flow) effortItems() []app.Item {
	items := []app.Item{{Title: defaultEffort, Detail: "provider default", Value: defaultEffort, Current: f.app.Session.Next.Effort() == ""}}
	for _, e := range f.app.Session.Model().Efforts {
		items = append(items, app.Item{Title: string(e), Value: string(e), Current: e == f.app.Session.Next.Effort()})
	}
	return items
}

// effort sets the thinking effort.
func (f *flow) effort(arg string) app.Effect {
	efforts, e := f.app.Session.Model().Efforts, llm.Effort(arg)
	switch {
	case arg == "":
		return app.Choose("Reasoning effort", "level", f.effortItems(), f.effort)
	case arg == defaultEffort:
		f.app.Session.Next.SetEffort("")
		return app.Toast("Reasoning effort: provider default")
	case !slices.Contains(efforts, e):
		return app.Refuse("unknown reasoning effort %q: this model has %s", e, format.JoinComma(efforts))
	}
	f.app.Session.Next.SetEffort(e)
	return app.Toast("Reasoning effort: " + arg)
}

// changeEffort returns a command that raises or lowers the effort.
func (f *flow) changeEffort(by int) func(string) app.Effect {
	return func(string) app.Effect {
		efforts := f.app.Session.Model().Efforts
		at := slices.Index(efforts, f.app.Session.Next.Effort())
		if at < 0 { // treat the provider's default as the middle
			at = len(efforts) / 2
		} else {
			at += by
		}
		return f.effort(string(efforts[min(max(at, 0), len(efforts)-1)]))
	}
}

// toggleThinking turns thinking off, or back to the previous effort.
func (f *flow) toggleThinking(string) app.Effect {
	if now := f.app.Session.Next.Effort(); now != llm.EffortOff {
		f.was = now
		return f.effort(string(llm.EffortOff))
	}
	if !slices.Contains(f.app.Session.Model().Efforts, f.was) { // "" for the default is not in the list either
		return f.effort(defaultEffort)
	}
	return f.effort(string(f.was))
}

func (f *flow) noOtherModel() string {
	if len(f.app.Models.Recent) < 2 {
		return "No other recent model · " + f.app.FrontEnd.KeyOf("model") + " choose a model"
	}
	return ""
}

func (f *flow) noEfforts() string {
	if len(f.app.Session.Model().Efforts) == 0 {
		return "This model has no reasoning-effort setting"
	}
	return ""
}

func (f *flow) alwaysThinks() string {
	if !slices.Contains(f.app.Session.Model().Efforts, llm.EffortOff) {
		return "This model cannot turn thinking off or on"
	}
	return ""
}
