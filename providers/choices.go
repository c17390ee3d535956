package providers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/providers/catalog"
)

// Choices lists the models that a user can pick: every known model of every provider. Ready models
// come first; the others say why they are unavailable. Only local servers know their models; see
// LiveChoices.
func Choices(c Config, getenv func(string) string) []Choice {
	return c.choices(getenv, nil)
}

// IsDemo reports whether name, as typed by the user, is a model of the built-in demo.
func IsDemo(c Config, name string) bool {
	s, _, err := c.findModel(name, func(string) string { return "" })
	return err == nil && s.row.isDemo
}

// ExplainNoDefault explains why DefaultModel finds no model although the user set up a provider
// with a table in c or a key variable. It returns "" if the user set up none.
func ExplainNoDefault(c Config, getenv func(string) string) string {
	if name := ProviderWithoutModel(c, getenv); name != "" {
		return fmt.Sprintf("Provider %[1]s has no default model: choose one with -m %[1]s/MODEL, or set model in config.toml", name)
	}
	for s := range c.services(getenv) {
		if s.row.isDemo {
			continue
		}
		blank := slices.IndexFunc(s.closestBuiltin().KeyEnv, func(v string) bool {
			return getenv(v) != "" && strings.TrimSpace(getenv(v)) == ""
		})
		why := s.missing()
		switch {
		case s.configured && why != "":
			if s.key.hint != "" && !s.keyless() {
				why = "add its key with /connect or parley connect, or " + why
			}
			return fmt.Sprintf("Provider %s cannot be used yet: %s", s.name, why)
		case blank >= 0 && why != "":
			return fmt.Sprintf("Provider %s cannot be used yet: %s is set but empty", s.name, s.closestBuiltin().KeyEnv[blank])
		}
	}
	return ""
}

// ProviderWithoutModel names the first provider that is ready and was set up by the user, with a
// table in c or a variable of its key or address, but whose models only its server knows. It
// returns "" if there is none. The caller lists its models when no other setting names a model.
func ProviderWithoutModel(c Config, getenv func(string) string) string {
	for s := range c.services(getenv) {
		if s.row.isDemo || s.defaultModel() != "" || s.missing() != "" {
			continue
		}
		if s.configured || s.key.name != "" && !s.isProgram() || s.urlFromEnv() != "" {
			return s.name
		}
	}
	return ""
}

// LiveChoices returns Choices with the current lists of servers. It asks the servers whose models
// only they know, such as local ones, within three seconds; with all, it asks every ready server,
// within ten. The requests run at the same time. Listed models come after the known ones, and
// listed facts take precedence; the Memory of o keeps them for models opened later. The result is
// complete except for the servers in the error, which errors.Join made.
func LiveChoices(ctx context.Context, c Config, o OpenOptions, all bool) ([]Choice, error) {
	o = o.withDefaults()
	limit, ask := liveTimeout, UnlistedProviders(c, o.Getenv)
	if all {
		limit, ask = listTimeout, c.servers(o.Getenv)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := c.WithLists(ctx, o, ask...)
	return c.choices(o.Getenv, o.Memory), err
}

// LearnModel fetches the model list of a model's provider within three seconds and stores the facts
// in the Memory of o for models opened later. It asks no provider whose models are in the catalog,
// and none whose key a command prints. The error is an *llm.Error.
func LearnModel(ctx context.Context, c Config, name string, o OpenOptions) error {
	o = o.withDefaults()
	s, _, err := c.findModel(name, o.Getenv)
	if err != nil || s.key.command != "" || !slices.Contains(UnlistedProviders(c, o.Getenv), s.name) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	_, err = c.WithLists(ctx, o, s.name)
	return err
}

// liveTimeout bounds the wait for servers while a picker is open.
const liveTimeout = 3 * time.Second

// UnlistedProviders names the ready providers whose models only their servers know. LiveChoices
// asks them.
func UnlistedProviders(c Config, getenv func(string) string) []string {
	return slices.DeleteFunc(c.servers(getenv), func(name string) bool {
		s, _ := c.service(name, getenv)
		return len(catalog.IDs(s.builtin.ID)) > 0
	})
}

// servers names the ready providers that can list their models.
func (c Config) servers(getenv func(string) string) []string {
	var names []string
	for s := range c.services(getenv) {
		if !s.row.isDemo && !s.isProgram() && !listsNone(s) && s.missing() == "" {
			names = append(names, s.name)
		}
	}
	return names
}

// choices lists the models of all providers, including those in server lists.
func (c Config) choices(getenv func(string) string, memory *Memory) []Choice {
	var ready, not []Choice
	for s := range c.services(getenv) {
		why := s.missing()
		to := &ready
		if why != "" {
			to = &not
		}
		ids := s.modelIDs()
		for _, id := range ids {
			*to = append(*to, s.choice(why, listedModel{Facts: catalog.Facts{ID: id}}, memory))
		}
		for _, o := range s.told {
			if !o.embeds && !slices.Contains(ids, o.ID) {
				*to = append(*to, s.choice(why, o, memory))
			}
		}
	}
	return c.withAliases(append(ready, not...), getenv, memory)
}

// withAliases adds the user's aliases before the choices of the same readiness, each described by
// its model.
func (c Config) withAliases(choices []Choice, getenv func(string) string, memory *Memory) []Choice {
	var ready, not []Choice
	for _, alias := range slices.Sorted(maps.Keys(c.Aliases)) {
		s, id, err := c.findModel(alias, getenv)
		if err != nil {
			continue // Validate reports bad aliases
		}
		id = s.shownID(id)
		at := slices.IndexFunc(choices, func(c Choice) bool { return c.Name == s.name+"/"+id })
		row := s.choice(s.missing(), listedModel{Facts: catalog.Facts{ID: id}}, memory)
		if at >= 0 {
			row = choices[at]
		}
		row.Name, row.Alias = alias, s.name+"/"+id
		if row.Ready {
			ready = append(ready, row)
		} else {
			not = append(not, row)
		}
	}
	first := slices.IndexFunc(choices, func(c Choice) bool { return !c.Ready })
	if len(ready)+len(not) == 0 || first < 0 {
		return slices.Concat(ready, choices, not)
	}
	return slices.Concat(ready, choices[:first], not, choices[first:])
}

// choice returns the picker line of one model. Why says why the model is unavailable; "" if it is
// ready.
func (s service) choice(why string, o listedModel, memory *Memory) Choice {
	id := o.ID
	m, known := s.facts(id, memory)
	title := m.Name
	if !known || m.Provider != s.builtin.ID {
		f, _, _ := storedFacts(s, id)
		title = cmp.Or(o.Name, f.Name, s.shownID(id))
	}
	tools := m.Tools || !known && s.advertised(id, memory).Tools == nil
	return Choice{
		Facts: endpointFacts(s, id, m, known, toolStrategyOf(s, id, m, known, memory)),
		Name:  s.name + "/" + s.shownID(id), Provider: s.name, Model: id, Title: title,
		Ready: why == "", Connected: s.connected, Unavailable: why, LacksKey: notReady(s) != nil && !s.keyless(),
		Context: m.Context, Price: m.Price,
		Vision: m.Vision, Tools: tools, Thinks: m.Thinks, Lifecycle: m.Lifecycle,
	}
}

// DefaultModel names the model to start with if none is configured: a model of the first provider
// with a key, else of the first local server with models in its configuration, else of the built-in
// demo.
func DefaultModel(c Config, getenv func(string) string) string {
	var ready []service
	for s := range c.services(getenv) {
		if !s.row.isDemo && s.defaultModel() != "" && s.missing() == "" {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		return "demo/parley"
	}
	keyed := slices.IndexFunc(ready, func(s service) bool { return s.key.name != "" })
	s := ready[max(keyed, 0)]
	return s.name + "/" + s.defaultModel()
}
