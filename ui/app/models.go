package app

import (
	"context"
	"fmt"
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

// ThinkingNotSent says that earlier models' thinking is not sent.
const ThinkingNotSent = "thinking not sent"

// leastCache is how many cached tokens are worth a word.
const leastCache = 1000

// ModelFitWords says what would happen to the conversation with a model, in pieces: what matters
// most stands first. There are none for an empty conversation.
func ModelFitWords(s *session.Session, model llm.Endpoint) (words []string) {
	f := s.EstimateFit(model)
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
		add(ThinkingNotSent)
	}
	return words
}

// A fileKind is what files of a MIME type, or of types that begin so, are called.
type fileKind struct{ mime, noun string }

// fileKinds lists them; the last one is all others.
var fileKinds = []fileKind{{"application/pdf", "PDF"}, {"audio/", "audio file"}, {"video/", "video"}, {"", "file"}}

// The words for what is on or off.
const (
	wordOn  = "on"
	wordOff = "off"
)

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
			return Fail(err)
		}
		return Shown{none}
	}
	p := a.prompts.Load().named(name)
	if p == nil {
		return Refuse("no persona %s: /persona lists them", name)
	}
	system, err := p.Persona()
	if err != nil {
		return Fail(err)
	}
	is := session.Persona{Name: name, System: system, Tools: p.Tools}
	if p.Project {
		is.Project = a.Directory
	}
	if err := a.Session.Personas().Set(is, wholeSystem(a, system)); err != nil {
		return Fail(err)
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
