package app

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/format"
)

// A ModelChoice is one model of the picker, as a user reads it.
type ModelChoice struct {
	Name      string // provider/model, or an alias
	Alias     string // what the alias stands for; "" for a model
	Title     string // the name that its maker gives it
	Abilities string // words of abilities
	Window    string // how much fits into a request, such as "1.05M"
	Input     string // price of a million tokens, such as "$2"
	Output    string
	Ready     bool         // can be asked now
	Why       string       // if not: what is missing, such as "set OPENAI_API_KEY"
	LacksKey  bool         // all that is missing is a key: choosing it asks for that
	Retired   bool         // its maker takes it away; hidden unless it is in use
	Retires   string       // day, as 2006-01-02, from which it is gone, if that is soon; "" if not
	Facts     llm.Endpoint // what is known of it, without the model
}

// Warnings returns a few words about the end of the model, if that is soon.
func (c ModelChoice) Warnings() []string {
	if c.Retires == "" {
		return nil
	}
	return []string{"retires on " + c.Retires}
}

// thinkingNotSent says that earlier models' thinking is not sent.
const thinkingNotSent = "thinking not sent"

// leastCache is how many cached tokens are worth a word.
const leastCache = 1000

// ModelFitWords says what would happen to the conversation with a model, in pieces: what matters
// most stands first. There are none for an empty conversation.
func ModelFitWords(a *App, model llm.Endpoint) (words []string) {
	f := a.Session.EstimateFit(model)
	add := func(text string, args ...any) { words = append(words, fmt.Sprintf(text, args...)) }
	switch share := f.Share(); {
	case share > 1:
		add("context %s: too long", format.Percent(share))
	case share > 0:
		add("context %s", format.Percent(share))
	}
	if f.Omitted {
		add("oldest turns not sent")
	}
	if f.Images > 0 {
		add("%s not sent", format.Plural(f.Images, "image"))
	}
	for _, kind := range fileKinds {
		n := 0
		for mime, count := range f.Files {
			if at := slices.IndexFunc(fileKinds, func(k fileKind) bool { return strings.HasPrefix(mime, k.mime) }); fileKinds[at] == kind {
				n += count
			}
		}
		if n > 0 {
			add("%s not sent", format.Plural(n, kind.noun))
		}
	}
	switch {
	case f.CacheLost < leastCache:
	case f.CachePriced && f.CacheCost > 0:
		add("cache of %s lost ≈ %s", format.Tokens(f.CacheLost), format.Cost(f.CacheCost, true))
	default:
		add("cache of %s lost", format.Tokens(f.CacheLost))
	}
	switch f.Strategy {
	case "prompt", "guided":
		add("tools by prompt")
	case "none":
		add("no tools")
	}
	if f.Thinking > 0 {
		add(thinkingNotSent)
	}
	return words
}

// A fileKind is what files of a MIME type, or of types that begin so, are called.
type fileKind struct{ mime, noun string }

// fileKinds lists them; the last one is all others.
var fileKinds = []fileKind{{"application/pdf", "PDF"}, {"audio/", "audio file"}, {"video/", "video"}, {"", "file"}}

// rememberModel puts a model before those that were used.
func (a *App) rememberModel(name string) {
	a.Recent = append([]string{name}, slices.DeleteFunc(a.Recent, func(n string) bool { return n == name })...)
}

// model switches to a model that is named whole, or shows those that match.
func (a *App) model(arg string) Effect {
	if full := a.Resolve(arg); full != arg || strings.Contains(arg, "/") && !strings.Contains(arg, " ") {
		return a.UseModel(full)
	}
	return PanelQuery{PanelModels, arg}
}

// UseModel switches to another model in mid-conversation.
func (a *App) UseModel(name string) Effect {
	if name = a.Resolve(name); name == a.Session.Model().Name && !a.Session.HasPromptModel() {
		if a.Session.EndCooldown() {
			return Toast(name + " is asked again with the next prompt")
		}
		return Toast("Already using " + name)
	}
	e, switched := a.use(name)
	if switched {
		return Then{e, noteUsed(a), noteUnlisted(a.Session.Model(), a.Models)}
	}
	return e
}

// follow switches to the model that gave the last answer, which says so itself.
func follow(a *App, name string) Effect {
	to, _, refused := setModel(a, name)
	if refused != nil {
		return refused
	}
	e := Then{noteUsed(a)}
	if changes := changesText(to); changes != "" {
		e = append(e, Notes{format.Capital(changes)})
	}
	return e
}

// noteUsed returns the effect that stores the model in use as the one that was used last.
func noteUsed(a *App) Effect {
	a.Session.EndCooldown()
	a.rememberModel(a.Session.Model().Name)
	return a.keepModels(a.Recent)
}

// keepModels stores the models that were used: the next conversation begins with the first.
func (o Options) keepModels(names []string) Effect {
	return o.SaveState("models", strings.Join(names[:min(len(names), 10)], "\n"))
}

// use switches to another model, and has the conversation tell that, unless nothing is in it.
func (a *App) use(name string) (e Effect, switched bool) {
	to, words, refused := setModel(a, name)
	switch {
	case refused != nil:
		return refused, false
	case a.Session.Head() == 0:
		return Toast(strings.TrimSuffix(SwitchText(to)+" · "+words, " · ")), true
	}
	return Then{a.Annotate(to), Toast(words)}, true
}

// setModel switches to another model without a word in the conversation, and returns what does not fit
// that one; refused is nil if it did.
func setModel(a *App, name string) (to session.ModelSwitched, words string, refused Effect) {
	model, err := a.Open(name)
	if e, ok := connectFor(a, name, err); ok {
		return to, "", e
	}
	if err != nil {
		return to, "", Failure{Err: err, Lasting: true}
	}
	to = a.Session.SetModel(model)
	unfit := slices.DeleteFunc(ModelFitWords(a, model), func(w string) bool { return w == thinkingNotSent }) // to says so
	return to, strings.Join(unfit, " · "), nil
}

// cycleModels returns a command that goes round the recent models without changing
// their order in this run.
func cycleModels(by int) func(*App, string) Effect {
	return func(a *App, _ string) Effect {
		at := slices.Index(a.Recent, a.Session.Model().Name)
		name := a.Recent[(at+by+len(a.Recent))%len(a.Recent)]
		if name == a.Session.Model().Name {
			return nil
		}
		e, switched := a.use(name)
		if switched {
			others := slices.DeleteFunc(slices.Clone(a.Recent), func(n string) bool { return n == name })
			return Then{e, a.keepModels(append([]string{name}, others...))}
		}
		return e
	}
}

// defaultEffort is the effort of the provider's own choice, as a user writes it.
const defaultEffort = "default"

// effortItems returns how much the model can be made to think.
func effortItems(a *App) []Item {
	items := []Item{{Title: defaultEffort, Detail: "provider default", Value: defaultEffort, Current: a.Session.Effort() == ""}}
	for _, e := range a.Session.Model().Efforts {
		items = append(items, Item{Title: string(e), Value: string(e), Current: e == a.Session.Effort()})
	}
	return items
}

// The words for what is on or off.
const (
	wordOn  = "on"
	wordOff = "off"
)

// effort sets how much the model thinks.
func (a *App) effort(arg string) Effect {
	efforts, e := a.Session.Model().Efforts, llm.Effort(arg)
	switch {
	case arg == "":
		return &List{Title: "Reasoning effort", Noun: "level", Items: effortItems(a), Choose: func(i Item, _ string) Effect { return a.effort(i.Value) }}
	case arg == defaultEffort:
		a.Session.SetEffort("")
		return Toast("Reasoning effort: provider default")
	case !slices.Contains(efforts, e):
		return Refuse("unknown reasoning effort %q: this model has %s", e, JoinComma(efforts))
	}
	a.Session.SetEffort(e)
	return Toast("Reasoning effort: " + arg)
}

// changeEffort returns a command that has the model think more or less.
func changeEffort(by int) func(*App, string) Effect {
	return func(a *App, _ string) Effect {
		efforts := a.Session.Model().Efforts
		at := slices.Index(efforts, a.Session.Effort())
		if at < 0 { // the provider's default stands in the middle
			at = len(efforts) / 2
		} else {
			at += by
		}
		return a.effort(string(efforts[min(max(at, 0), len(efforts)-1)]))
	}
}

// toggleThinking turns thinking off, or back to what it was.
func (a *App) toggleThinking(string) Effect {
	if now := a.Session.Effort(); now != llm.EffortOff {
		a.previousEffort = now
		return a.effort(string(llm.EffortOff))
	}
	if !slices.Contains(a.Session.Model().Efforts, a.previousEffort) { // nor is "", the default
		return a.effort(defaultEffort)
	}
	return a.effort(string(a.previousEffort))
}

// ModelPrefs say which models a user likes, or will not see: patterns of the
// configuration, then +name or -name for single models, set with
// keys. The last match of a name counts.
type ModelPrefs []string

// Match reports whether a name is meant, and by which word; -1 if there is none.
func (t ModelPrefs) Match(name string) (yes bool, at int) {
	for i, word := range slices.Backward(t) {
		if word == "-"+name {
			return false, i
		}
		if word == "+"+name || matchesModel(word, name) {
			return true, i
		}
	}
	return false, -1
}

// matchesModel reports whether a pattern stands for a name. A star stands for slashes
// as well: gateways have them in the names of models.
func matchesModel(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(flat(pattern), flat(name))
	return ok && err == nil
}

// StoredModelPrefs holds what keys said of models, here and in other windows.
type StoredModelPrefs struct {
	store *session.Store
	words map[string]ModelPrefs // by "favorites" and "hidden"; nil: not loaded
}

// Load reads what keys said, as the store has it now.
func (p *StoredModelPrefs) Load() {
	p.words = map[string]ModelPrefs{}
	for _, key := range []string{"favorites", "hidden"} {
		if stored, err := p.store.Get(key); err == nil {
			p.words[key] = strings.Fields(stored)
		}
	}
}

// Behind returns configured followed by the preferences set with keys under key, "favorites" or "hidden".
func (p *StoredModelPrefs) Behind(configured []string, key string) ModelPrefs {
	return slices.Concat(configured, p.words[key])
}

// Set stores what a key said of a model, in the place of what was said before.
func (p *StoredModelPrefs) Set(key, name string, on bool) Effect {
	if p.words == nil {
		p.Load()
	}
	words := slices.DeleteFunc(slices.Clone(p.words[key]), func(w string) bool { return w == "+"+name || w == "-"+name })
	sign := "-"
	if on {
		sign = "+"
	}
	p.words[key] = append(words, sign+name)
	return saveState(p.store, key, strings.Join(p.words[key], "\n"))
}

// usePersona has the conversation continue with the persona of this name, or without one.
func usePersona(a *App, name string) Effect {
	if name != noPersona && a.prompts.Load() == nil && a.FindPrompts != nil { // it is too early to say that there is none
		return readPrompts(a, func() Effect { return usePersona(a, name) })
	}
	now := a.Session.Personas().Current()
	switch name {
	case "":
		items := personaItems(a)
		if len(items) == 1 && items[0].Current {
			return Toast("No personas. A prompt file with a system prompt is one: /manual prompts")
		}
		return &List{Title: "Persona", Noun: "choice", Items: items, Choose: func(i Item, _ string) Effect { return usePersona(a, i.Value) }}
	case noPersona:
		if now.Name == "" {
			return Toast("No persona is on")
		}
		none := session.Persona{Ended: now.Name}
		if err := a.Session.Personas().Set(none, wholeSystem(a, "")); err != nil {
			return Failure{Err: err}
		}
		return Shown{none}
	}
	p := a.prompts.Load().named(name)
	if p == nil {
		return Refuse("no persona %s: /persona lists them", name)
	}
	system, err := p.Persona()
	if err != nil {
		return Failure{Err: err}
	}
	is := session.Persona{Name: name, System: system, Tools: p.Tools}
	if p.Project {
		is.Project = a.Directory
	}
	if err := a.Session.Personas().Set(is, wholeSystem(a, system)); err != nil {
		return Failure{Err: err}
	}
	if p.Effort != "" {
		a.Session.SetEffort(p.Effort)
	}
	if p.Model != "" && a.Resolve(p.Model) != a.Session.Model().Name {
		return Then{a.UseModel(p.Model), Toast(PersonaText(is))}
	}
	return Shown{is}
}

// readPrompts reads which prompts there are, and then does what depends on that.
func readPrompts(a *App, then func() Effect) Effect {
	read := ReadPrompts(a)
	return Prepare(func(context.Context) func() Effect {
		read()
		return then
	})
}

// noPersona ends a persona.
const noPersona = "off"

// personaItems lists what /persona takes: prompts with a system prompt.
func personaItems(a *App) []Item {
	now := a.Session.Personas().Current().Name
	items := []Item{{Title: noPersona, Detail: "No persona", Value: noPersona, Current: now == ""}}
	for _, p := range a.prompts.Load().sorted() {
		if p.System != "" {
			about := p.Description
			if about == "" {
				about = FirstLine(p.System)
			}
			items = append(items, Item{Title: p.Name, Detail: about, Value: p.Name, Current: p.Name == now})
		}
	}
	return items
}
