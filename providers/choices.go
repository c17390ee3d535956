package providers

import (
	"slices"

	"parley/providers/catalog"
)

// Choices lists what a person can pick: every model that is known of every
// provider, those that are ready first, each with what is missing otherwise.
// The models of local servers are known only to the servers: see List.
func Choices(c Config, getenv func(string) string) []Choice {
	var ready, not []Choice
	for _, name := range c.names() {
		s, ok := c.service(name, getenv)
		if !ok {
			continue
		}
		choices := s.choices(s.ready(c, getenv), s.models())
		if s.ready(c, getenv) == "" {
			ready = append(ready, choices...)
			continue
		}
		not = append(not, choices...)
	}
	return append(ready, not...)
}

// Unlisted names the providers that are ready, but whose models only they know:
// Offers asks them.
func Unlisted(c Config, getenv func(string) string) []string {
	var names []string
	for _, name := range c.names() {
		s, ok := c.service(name, getenv)
		if ok && s.ready(c, getenv) == "" && len(catalog.IDs(s.head.ID)) == 0 {
			names = append(names, name)
		}
	}
	return names
}

func (s service) choices(why string, ids []string) []Choice {
	choices := make([]Choice, 0, len(ids))
	for _, id := range ids {
		choices = append(choices, s.choice(why, id, nil))
	}
	return choices
}

// choice is the line of one model. Why says what is missing before it can be
// asked.
func (s service) choice(why, id string, memory *Memory) Choice {
	m, known := s.facts(id, memory)
	title := m.Name
	if !known || m.Provider != s.head.ID {
		title = id
	}
	tools := m.Tools || !known && memory.recall(s.place(id)).told.tools == nil
	return Choice{
		Name: s.name + "/" + id, Provider: s.name, Model: id, Title: title,
		Ready: why == "", Why: why,
		Context: m.Context, Price: m.Price,
		Vision: m.Vision, Tools: tools, Thinks: m.Thinks, Deprecated: m.Deprecated,
	}
}

// DefaultModel names the model to start with when none is configured: of the
// first provider that has a key, else of the first local server with models in
// its configuration, else the built-in demo.
func DefaultModel(c Config, getenv func(string) string) string {
	var ready []service
	for _, name := range c.names() {
		s, ok := c.service(name, getenv)
		if ok && s.kind != kindDemo && s.standard() != "" && s.ready(c, getenv) == "" {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		return "demo/parley"
	}
	keyed := slices.IndexFunc(ready, func(s service) bool { return s.key.name != "" })
	s := ready[max(keyed, 0)]
	return s.name + "/" + s.standard()
}
