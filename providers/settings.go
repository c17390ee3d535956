package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// Settings holds the request settings of a table. The request's own settings take precedence, then
// the model's table, then the provider's.
type Settings struct {
	llm.Settings
	Effort llm.Effort `toml:"effort"` // used if a request sets neither effort nor budget
}

// A Model is one [providers.NAME.model.ID] table. Missing fields come from the provider's table,
// then from the catalog.
type Model struct {
	Strategy string         `toml:"strategy"`
	Context  int            `toml:"context"` // window in tokens
	Price    *catalog.Price `toml:"price"`   // replaces the catalog's price entirely
	Options  map[string]any `toml:"options"` // merged into the request body, over the provider's options
	Dialect  map[string]any `toml:"dialect"` // merged over the provider's dialect
	Settings
}

// withDefaults returns s with unset fields taken from base.
func (s Settings) withDefaults(base Settings) Settings {
	if s.Effort != "" || s.Budget != 0 { // a budget in base would override the effort in s
		base.Effort, base.Budget = s.Effort, s.Budget
	}
	s.Effort = base.Effort
	all, defaults := reflect.ValueOf(&s.Settings).Elem(), reflect.ValueOf(base.Settings)
	for i := range all.NumField() {
		if all.Field(i).IsZero() {
			all.Field(i).Set(defaults.Field(i))
		}
	}
	return s
}

// applyTo returns req with unset fields taken from s. It drops a tool choice that is not among the
// tools.
func (s Settings) applyTo(req llm.Request) llm.Request {
	all := Settings{req.Settings, req.Effort}.withDefaults(s)
	named := slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == all.ToolChoice })
	if !named && !slices.Contains(toolChoices, all.ToolChoice) && req.ToolChoice == "" {
		all.ToolChoice = ""
	}
	req.Settings, req.Effort = all.Settings, all.Effort
	return req
}

// toolChoices lists the tool choices that are not tool names.
var toolChoices = []string{"auto", "none", "required"}

// validate returns an error for each invalid value; each error begins with the key.
func (s Settings) validate() (errs []error) {
	errs = s.Settings.Validate()
	if s.Verbosity != "" {
		errs = append(errs, unknownWordError("verbosity", s.Verbosity, llm.Verbosities))
	}
	if s.Detail != "" {
		errs = append(errs, unknownWordError("detail", s.Detail, llm.Details))
	}
	if s.Effort != "" {
		words := make([]string, 0, len(llm.Efforts))
		for _, e := range llm.Efforts {
			words = append(words, string(e))
		}
		errs = append(errs, unknownWordError("effort", string(s.Effort), words))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// validate returns an error for each invalid value; each error begins with the key.
func (m Model) validate() []error {
	errs := m.Settings.validate()
	if m.Strategy != "" {
		errs = append(errs, unknownWordError("strategy", m.Strategy, Strategies))
	}
	if m.Context < 0 {
		errs = append(errs, fmt.Errorf("context: %d is negative", m.Context))
	}
	if m.Price != nil {
		errs = append(errs, validatePrice(*m.Price))
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// validatePrice rejects implausible prices, and incomplete ones: a budget would count the missing
// half as free.
func validatePrice(p catalog.Price) error {
	all := []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite}
	for _, t := range p.Tiers {
		all = append(all, t.Input, t.Output, t.CacheRead, t.CacheWrite)
	}
	for _, dollars := range all {
		if !(dollars >= 0) || math.IsInf(dollars, 0) {
			return fmt.Errorf("price: %v is no number of dollars", dollars)
		}
	}
	above := 0
	for _, t := range p.Tiers {
		switch {
		case t.Above <= above:
			return fmt.Errorf("price: tiers have to rise: %d tokens come after %d", t.Above, above)
		case t.Input == 0 || t.Output == 0:
			return fmt.Errorf("price: the tier above %d tokens needs input and output", t.Above)
		}
		above = t.Above
	}
	switch {
	case p.Free && slices.ContainsFunc(all, func(dollars float64) bool { return dollars > 0 }):
		return errors.New("price: free and a price; set one of them")
	case !p.Free && (p.Input == 0 || p.Output == 0):
		return errors.New("price: set input and output, in dollars for a million tokens, or free = true")
	}
	return nil
}

// modelTable returns the table of a model, by the typed name or by the id it stands for.
func (s service) modelTable(model string) Model {
	if m, ok := s.conf.Model[model]; ok {
		return m
	}
	return s.conf.Model[s.modelID(model)]
}

// settings returns the settings for requests to a model. Some older model names stand for an effort
// of a newer model.
func (s service) settings(model string) Settings {
	named, _ := catalog.FindExact(s.builtin.ID, model)
	return s.modelTable(model).Settings.withDefaults(s.conf.Settings).withDefaults(Settings{Effort: llm.Effort(named.Effort)})
}

// modelID returns the service's id for a model that the user may name otherwise.
func (s service) modelID(model string) string {
	if s.exactNames {
		return model
	}
	id := cmp.Or(s.builtin.Aliases[model], model)
	for _, m := range s.told {
		if m.ID != id && FileName(m.ID) == id && s.shownID(m.ID) == id {
			return m.ID
		}
	}
	return id
}

// renameNotice reports that the typed name stands for another model; "" if it does not.
func (s service) renameNotice(typed string) string {
	id := s.modelID(typed)
	if IsNamed(id, typed) {
		return ""
	}
	why := "stands for"
	if _, was := catalog.FindExact(s.builtin.ID, typed); was {
		why = "was replaced by"
	}
	return fmt.Sprintf("%s/%s %s %s, which is used and billed; --exact uses the name as typed", s.name, typed, why, id)
}

// options returns the configured extra request fields for a model.
func (s service) options(model string) map[string]any {
	own := s.modelTable(model).Options
	if own == nil {
		return s.conf.Options
	}
	all := maps.Clone(s.conf.Options)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, own)
	return all
}

// validateModels returns the errors in the model tables.
func (p Provider) validateModels() (errs []error) {
	for _, id := range slices.Sorted(maps.Keys(p.Model)) {
		if strings.TrimSpace(id) == "" {
			errs = append(errs, errors.New("model: a table lacks the id of its model"))
		}
		for _, err := range p.Model[id].validate() {
			errs = append(errs, fmt.Errorf("model.%q.%w", id, err))
		}
	}
	return errs
}

// A ConfiguredSetting is a request setting made in the configuration.
type ConfiguredSetting struct {
	Name, Value string // as returned by llm.Setting.Get and llm.OptionText
	Table       string // its table, such as "[providers.local]"
}

// ConfiguredSettings lists the configured settings for requests to a model; nil if the name is
// unknown.
func ConfiguredSettings(c Config, name string, getenv func(string) string) (list []ConfiguredSetting) {
	s, typed, err := c.findModel(name, getenv)
	if err != nil {
		return nil
	}
	id := typed
	if _, ok := s.conf.Model[id]; !ok {
		id = s.modelID(typed)
	}
	own, table := s.modelTable(typed), "[providers."+s.name+"]"
	ownTable := fmt.Sprintf("[providers.%s.model.%q]", s.name, id)
	add := func(name, ofModel, ofProvider string) {
		if ofModel != "" {
			list = append(list, ConfiguredSetting{name, ofModel, ownTable})
		} else if ofProvider != "" {
			list = append(list, ConfiguredSetting{name, ofProvider, table})
		}
	}
	model, provider := own.Settings.Settings, s.conf.Settings.Settings
	for _, known := range llm.Adjustable {
		add(known.Name, known.Get(model), known.Get(provider))
	}
	add("effort", string(own.Effort), string(s.conf.Effort))
	for _, field := range slices.Sorted(maps.Keys(s.options(typed))) {
		value := llm.OptionText(s.options(typed)[field])
		if _, ok := own.Options[field]; ok {
			add(field, value, "")
		} else {
			add(field, "", value)
		}
	}
	return list
}
