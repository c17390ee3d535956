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

// Choices lists the models that a user can pick: every known model of every provider, those that
// are ready first, the others with what is missing. The models of local servers are known only to
// these; see LiveChoices.
func Choices(c Config, getenv func(string) string) []Choice {
	return c.choices(getenv, nil)
}

// IsDemo reports whether name, as the user writes it, is a model of the built-in
// demo.
func IsDemo(c Config, name string) bool {
	s, _, err := c.findModel(name, func(string) string { return "" })
	return err == nil && s.row.isDemo
}

// ExplainNoDefault explains why DefaultModel finds nothing although the user set up a
// provider: a table in c or a variable of a key. It is "" if there is neither.
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

// ProviderWithoutModel names the first provider that the user set up, by a table in c, a
// variable of its key or of its address, that is ready and whose models only its server
// knows; "" if there is none. It is asked for them when nothing names a model.
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

// LiveChoices returns Choices with what servers say now. It asks those whose models only they know,
// such as local ones, or, with all, every one that is ready, at once and for at most three seconds,
// or, with all, ten. Their models come after the known ones, and what they say of a model takes
// precedence; a Memory in o keeps it for models opened later. The list is complete but for the
// servers in the error, which errors.Join made.
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

// LearnModel asks the provider of a model for its list, for three seconds at most, and keeps what
// that tells in the Memory of o, for models opened later. Providers whose models are in the
// catalog are not asked, nor those whose key a command would have to print. The error is an
// *llm.Error.
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

// UnlistedProviders names the ready providers whose models only their servers know: LiveChoices
// asks these.
func UnlistedProviders(c Config, getenv func(string) string) []string {
	return slices.DeleteFunc(c.servers(getenv), func(name string) bool {
		s, _ := c.service(name, getenv)
		return len(catalog.IDs(s.builtin.ID)) > 0
	})
}

// servers names the providers that are ready and have a list to be asked for.
func (c Config) servers(getenv func(string) string) []string {
	var names []string
	for s := range c.services(getenv) {
		if !s.row.isDemo && !s.isProgram() && !listsNone(s) && s.missing() == "" {
			names = append(names, s.name)
		}
	}
	return names
}

// choices lists the models of all providers, with those that servers told.
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

// withAliases returns choices with the user's aliases before them, as what they stand for.
func (c Config) withAliases(choices []Choice, getenv func(string) string, memory *Memory) []Choice {
	var ready, not []Choice
	for _, alias := range slices.Sorted(maps.Keys(c.Aliases)) {
		s, id, err := c.findModel(alias, getenv)
		if err != nil {
			continue // the configuration is told about it
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

// choice returns the line of one model. Why says what is missing before it can be
// asked.
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

// DefaultModel names the model to start with when none is configured: of the
// first provider that has a key, else of the first local server with models in
// its configuration, else the built-in demo.
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
