package session

import (
	"fmt"
	"slices"

	"parley/session/store"
)

// MaxPersona is how many bytes the system prompt of a persona may have.
const MaxPersona = 128 << 10

// A Persona is a system prompt that stays with a conversation, with the tools it offers. It is
// an event: the last one on a branch holds.
type Persona struct {
	Name    string   `json:"name"` // "": none from here on
	System  string   `json:"system,omitempty"`
	Tools   []string `json:"tools,omitempty"`   // as act.Set.Only takes them; nil: all
	Project string   `json:"project,omitempty"` // the directory that it came with; "": it is the user's own
	Ended   string   `json:"ended,omitempty"`   // without a Name: that of the one before
}

// TypedPersona is the Name of the persona that /system makes: its System is what the user typed.
const TypedPersona = "/system"

// A systemMaker returns the system prompt that a persona makes, for one without a Name that of a
// conversation without one; not ok if the persona may not be used here.
type systemMaker = func(Persona) (system string, ok bool)

// Personas holds the persona that the next request is made with. Each branch stores its own.
type Personas struct {
	session *Session

	// Guarded by the session's mutex.
	inUse    Persona     // that the system prompt and the tools on offer come from
	systemOf systemMaker // nil: the system prompt does not follow when the branch changes
}

// Personas returns the personas of the conversation.
func (s *Session) Personas() *Personas { return &s.personas }

// Current returns the persona of the current branch; without a Name there is none.
func (p *Personas) Current() Persona {
	a, ok := p.session.lastAnnotation(store.KindPersona)
	if !ok {
		return Persona{}
	}
	current, _ := DecodeAnnotation(a).(Persona)
	return current
}

// Set has the conversation continue with a persona, or without one, and system as the system
// prompt that this makes. It stays with the conversation.
func (p *Personas) Set(next Persona, system string) error {
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

// Restore does as Set for the persona that the conversation has.
func (p *Personas) Restore(current Persona, system string) {
	set(&p.session.mu, &p.inUse, current)
	p.session.SetSystem(system)
}

// Follow makes the system prompt follow the branch: when the conversation switches to a branch
// with another persona, systemOf returns the system prompt of that; not ok: it cannot be used.
func (p *Personas) Follow(systemOf func(Persona) (system string, ok bool)) {
	set(&p.session.mu, &p.systemOf, systemOf)
}

// follow continues with the persona of the current branch.
func (p *Personas) follow() {
	mu := &p.session.mu
	systemOf, was, now := get(mu, &p.systemOf), get(mu, &p.inUse), p.Current()
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
