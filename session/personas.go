package session

import (
	"fmt"
	"slices"

	"parley/session/store"
)

// MaxPersona is how many bytes the system prompt of a persona may have.
const MaxPersona = 128 << 10

// A Persona is a system prompt with a choice of tools that stays with a conversation. It is an
// event; the last one on a branch applies.
type Persona struct {
	Name    string   `json:"name"` // "": no persona from here on
	System  string   `json:"system,omitempty"`
	Tools   []string `json:"tools,omitempty"`   // names for act.Set.Only; nil: all
	Project string   `json:"project,omitempty"` // directory that defines it; "": the user's own
	Ended   string   `json:"ended,omitempty"`   // if Name is "": the name of the previous persona
}

// TypedPersona is the Name of the persona that /system makes; its System is the user's text.
const TypedPersona = "/system"

// A systemMaker returns the system prompt for a persona; for one without a Name, the prompt of a
// conversation without a persona. Ok is false if the persona may not be used here.
type systemMaker = func(Persona) (system string, ok bool)

// personas changes the persona of the next request. Each branch stores its own.
type personas struct {
	session  *Session
	systemOf systemMaker // nil: the system prompt stays the same when the branch changes; guarded by the session's mutex
}

// Current returns the persona of the current branch; its Name is "" if there is none.
func (p *personas) Current() Persona {
	a, ok := p.session.lastAnnotation(store.KindPersona)
	if !ok {
		return Persona{}
	}
	current, _ := DecodeAnnotation(a).(Persona)
	return current
}

// Set makes the conversation continue with a persona, or without one, and with the system
// prompt system made from it. The conversation stores the persona.
func (p *personas) Set(next Persona, system string) error {
	if len(next.System) > MaxPersona {
		return fmt.Errorf("the persona %s is too large: its system prompt may have %d KB", next.Name, MaxPersona>>10)
	}
	if set := p.session.tools; set != nil && len(next.Tools) > 0 {
		if _, err := set.Only(next.Tools...); err != nil {
			return fmt.Errorf("the persona %s: %w", next.Name, err)
		}
	}
	if next.Name != "" || p.Current().Name != "" {
		p.session.Annotate(0, next)
	}
	p.Restore(next, system)
	return nil
}

// Restore is Set for the persona that the conversation has stored.
func (p *personas) Restore(current Persona, system string) {
	set(&p.session.mu, &p.session.Next.persona, current)
	p.session.Next.SetSystem(system)
}

// Follow makes the system prompt follow the branch: when the conversation switches to a branch
// with another persona, systemOf returns its system prompt, or ok false if it cannot be used.
func (p *personas) Follow(systemOf func(Persona) (system string, ok bool)) {
	set(&p.session.mu, &p.systemOf, systemOf)
}

// follow continues with the persona of the current branch.
func (p *personas) follow() {
	mu := &p.session.mu
	systemOf, was, now := get(mu, &p.systemOf), get(mu, &p.session.Next.persona), p.Current()
	if systemOf == nil || now.Name == was.Name && now.System == was.System && slices.Equal(now.Tools, was.Tools) {
		return
	}
	system, ok := systemOf(now)
	if !ok {
		now = Persona{}
		system, _ = systemOf(now)
	}
	p.Restore(now, system)
}
