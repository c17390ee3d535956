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

// Settings holds what a table says of requests. What a request asks for itself
// comes first, then the model's table, then the provider's.
type Settings struct {
	llm.Settings
	Effort llm.Effort `toml:"effort"` // counts where a request asks for neither effort nor budget
}

// A Model is one [providers.NAME.model.ID] table. What it leaves out is as the
// provider's table says, and then the catalog.
type Model struct {
	Strategy string         `toml:"strategy"`
	Context  int            `toml:"context"` // window in tokens
	Price    *catalog.Price `toml:"price"`   // as a whole, in place of the catalog's
	Options  map[string]any `toml:"options"` // merged into the body, over those of the provider
	Dialect  map[string]any `toml:"dialect"` // over that of the provider
	Settings
}

// withDefaults returns s, completed by base.
func (s Settings) withDefaults(base Settings) Settings {
	if s.Effort != "" || s.Budget != 0 { // of the two, a budget would win
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

// applyTo returns req, completed by s. A tool that is not offered cannot be chosen.
func (s Settings) applyTo(req llm.Request) llm.Request {
	all := Settings{req.Settings, req.Effort}.withDefaults(s)
	named := slices.ContainsFunc(req.Tools, func(t llm.Tool) bool { return t.Name == all.ToolChoice })
	if !named && !slices.Contains(toolChoices, all.ToolChoice) && req.ToolChoice == "" {
		all.ToolChoice = ""
	}
	req.Settings, req.Effort = all.Settings, all.Effort
	return req
}

// toolChoices lists the words for which tools may or must be called.
var toolChoices = []string{"auto", "none", "required"}

// validate returns an error for each invalid value, with its key first.
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

// validate returns an error for each invalid value, with its key first.
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

// validatePrice refuses prices that nobody asks, and those that say less than a budget needs:
// half a price would count the other half as free.
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
			return fmt.Errorf("price: tiers have to rise: %d tokens stand behind %d", t.Above, above)
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

// modelTable returns the model's own table, under the name that was typed or the id that
// it stands for.
func (s service) modelTable(model string) Model {
	if m, ok := s.conf.Model[model]; ok {
		return m
	}
	return s.conf.Model[s.modelID(model)]
}

// settings returns those of every request to a model. The names of some older models
// stand for an effort of a newer one.
func (s service) settings(model string) Settings {
	named, _ := catalog.FindExact(s.builtin.ID, model)
	return s.modelTable(model).Settings.withDefaults(s.conf.Settings).withDefaults(Settings{Effort: llm.Effort(named.Effort)})
}

// modelID returns what the service calls a model that the user may name otherwise.
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

// renameNotice reports that another model is asked than the one that was named; "" if
// it is the same.
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

// options returns the request fields that the configuration adds for a model.
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

// validateModels returns what is wrong in the tables of models.
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

// A ConfiguredSetting is a setting of requests that the configuration makes.
type ConfiguredSetting struct {
	Name, Value string // as llm.Setting.Get and llm.OptionText have them
	Table       string // where it stands, such as "[providers.local]"
}

// ConfiguredSettings lists what the configuration says of the requests to a model; nil for a model
// that nothing answers to.
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
