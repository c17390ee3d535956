package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/providers/catalog"
	"parley/providers/similar"
	"parley/tools/process"
)

// Config is the part of config.toml that providers own.
type Config struct {
	Providers map[string]Provider `toml:"providers"`
	Aliases   map[string]string   `toml:"aliases"` // the user's names for models, to the models
	Stored    KeyStore            `toml:"-"`       // keys stored outside the configuration; nil for none
	Facts     *catalog.FactsFile  `toml:"-"`       // facts from the last fetched model lists; nil for none

	Recent []string `toml:"-"` // models used before, as provider/model, the latest first

	found  map[string]LocalServer   // by service name; see WithServers
	listed map[string][]listedModel // by service name; see WithLists
}

// A Provider is one [providers.NAME] table. If NAME is in the catalog, the table changes the
// built-in provider; otherwise it adds a service. Missing fields come from the catalog.
type Provider struct {
	Kind          string              `toml:"kind"`            // family; see Kinds
	BaseURL       string              `toml:"base_url"`        // http or https, or the name of one of the catalog's regions
	Command       process.CommandLine `toml:"command"`         // program to run, for kinds that run one; empty for the usual one on PATH
	APIKey        Secret              `toml:"api_key"`         //
	APIKeyEnv     string              `toml:"api_key_env"`     // environment variable that holds the key
	APIKeyCommand process.ShellText   `toml:"api_key_command"` // shell command that prints the key
	TokenCommand  process.ShellText   `toml:"token_command"`   // shell command that prints a token; it runs again to renew the token
	TokenLifetime time.Duration       `toml:"token_lifetime"`  // longest time before a token is renewed; 0 uses the lifetime in the token
	KeyHeader     string              `toml:"key_header"`      // header for the key or token; "" for the default of the kind
	Variables     map[string]string   `toml:"variables"`       // variables of the catalog's address, such as a region
	Strategy      string              `toml:"strategy"`        // how models get tools: see Strategies
	MaxRetries    *int                `toml:"max_retries"`     // default 3
	Stream        *bool               `toml:"stream"`          // false: whole answers only
	Headers       map[string]string   `toml:"headers"`         // sent with each request
	Options       map[string]any      `toml:"options"`         // merged into the body of each request
	Models        []string            `toml:"models"`          // offered in the picker; the first is the default
	IdleTimeout   time.Duration       `toml:"idle_timeout"`    // longest silence of a stream, such as "5m", and longest time without content; 0 for defaults
	Model         map[string]Model    `toml:"model"`           // by id; the picker shows them too
	Price         *catalog.Price      `toml:"price"`           // for models whose price is unknown
	Dialect       map[string]any      `toml:"dialect"`         // differences from plain chat completions, merged over the kind's dialect
	Settings                          // apply to every request
}

// Strategies lists how a model can get tools: by native function calling, by prompt, by prompt with
// each reply constrained to a schema (guided), or not at all. The empty strategy is auto: native,
// or prompt if the catalog or the server says that the model has no function calling.
var Strategies = []string{auto, native, prompt, guided, none}

// Default returns the configuration of a user without a config file: the catalog's providers, with
// keys from the environment.
func Default() Config { return Config{} }

// Validate reports all errors in c.
func (c *Config) Validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Aliases)) {
		if err := c.validateAlias(name, c.Aliases[name]); err != nil {
			errs = append(errs, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		for _, err := range c.Providers[name].validate(name) {
			errs = append(errs, fmt.Errorf("providers.%s.%w", name, err))
		}
	}
	return errors.Join(errs...)
}

// validateAlias rejects an alias that hides an existing name or stands for no model.
func (c *Config) validateAlias(name, stands string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("aliases.%s = %q: %s", name, stands, fmt.Sprintf(format, args...))
	}
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || name == "" {
		return fmt.Errorf("aliases: %q must be one word of letters, figures, - and _", name)
	}
	known := c.providerNames()
	isProvider := func(name string) bool { return slices.Contains(known, name) || aliases[name] != "" }
	isModel := func(id string) string {
		for _, provider := range known {
			if _, ok := catalog.Find(provider, id); ok || slices.Contains(c.Providers[provider].Models, id) {
				return provider + "/" + id
			}
		}
		return ""
	}
	provider, id, slash := strings.Cut(stands, "/")
	switch model := isModel(name); {
	case isProvider(name):
		return refuse("it would hide the provider %s", name)
	case model != "":
		return refuse("it would hide the model %s", model)
	case stands == "":
		return refuse("name a model, as provider/model")
	case c.Aliases[stands] != "":
		return refuse("this is an alias too: name the model")
	case slash && id == "":
		return refuse("name a model of %s", provider)
	case slash && !isProvider(provider):
		return refuse("%s", UnknownName("provider", provider, known).Message)
	case !slash && !isProvider(stands) && isModel(stands) == "":
		return refuse("no such model")
	}
	return nil
}

func (p Provider) validate(name string) (errs []error) {
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if strings.ContainsAny(name, "/ \t") || name == "" {
		add(fmt.Errorf("name: %q must not be empty or contain a slash or a space", name))
	}
	if p.Kind != "" {
		add(unknownWordError("kind", familyKind(p.Kind), Kinds()))
	}
	if p.Strategy != "" {
		add(unknownWordError("strategy", p.Strategy, Strategies))
	}
	errs = append(errs, p.Settings.validate()...)
	if p.Price != nil {
		add(validatePrice(*p.Price))
	}
	errs = append(errs, p.validateModels()...)
	errs = append(errs, p.validateDialects(name)...)
	add(p.validateURL(name))
	add(p.validateKey())
	add(p.validateToken())
	errs = append(errs, p.validateVariables(name)...)
	add(p.validateCommand(name))
	if p.MaxRetries != nil && *p.MaxRetries < 0 {
		add(fmt.Errorf("max_retries: %d is negative", *p.MaxRetries))
	}
	if p.IdleTimeout < 0 {
		add(fmt.Errorf("idle_timeout: %s is negative", p.IdleTimeout))
	}
	return errs
}

// validateURL rejects addresses that cannot be requested. Its error omits the address, which may
// contain a password.
func (p Provider) validateURL(name string) error {
	if p.BaseURL == "" {
		return nil
	}
	head, _ := catalog.Head(name)
	if _, ok := head.Regions[p.BaseURL]; ok {
		return nil
	}
	u, err := url.Parse(p.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		hint := ""
		if len(head.Regions) > 0 {
			hint = " or one of " + strings.Join(slices.Sorted(maps.Keys(head.Regions)), ", ")
		}
		return fmt.Errorf("base_url: must be an http or https address, such as \"http://127.0.0.1:8000/v1\"%s", hint)
	case u.User != nil:
		return errors.New("base_url: must not contain a password; use api_key_env, api_key_command or headers")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("base_url: must not contain a query")
	}
	return nil
}

// validateKey rejects a table with more than one source of a key.
func (p Provider) validateKey() error {
	var set []string
	for _, source := range []struct{ name, value string }{
		{"api_key", p.APIKey.Reveal()}, {"api_key_env", p.APIKeyEnv}, {"api_key_command", string(p.APIKeyCommand)}, {"token_command", string(p.TokenCommand)},
	} {
		if source.value != "" {
			set = append(set, source.name)
		}
	}
	if len(set) < 2 {
		return nil
	}
	return fmt.Errorf("%s: set one of %s, not both", set[1], strings.Join(set, ", "))
}

// validateToken rejects a lifetime without a token command, and an invalid header name.
func (p Provider) validateToken() error {
	notToken := func(r rune) bool { // RFC 9110, section 5.6.2
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	switch {
	case p.TokenLifetime < 0:
		return fmt.Errorf("token_lifetime: %s is negative", p.TokenLifetime)
	case p.TokenLifetime > 0 && p.TokenCommand == "":
		return errors.New("token_lifetime: there is no token_command")
	case strings.ContainsFunc(p.KeyHeader, notToken):
		return fmt.Errorf("key_header: %q is not the name of a header", p.KeyHeader)
	}
	return nil
}

// validateVariables refuses variables that the provider's address does not have, and values
// that cannot stand there.
func (p Provider) validateVariables(name string) (errs []error) {
	head, _ := catalog.Head(name)
	var names []string
	for _, v := range head.Variables {
		names = append(names, v.Name)
		if value, ok := p.Variables[v.Name]; ok {
			if _, err := head.Parse(v, value); err != nil {
				errs = append(errs, fmt.Errorf("variables.%w", err))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Variables)) {
		switch {
		case len(names) == 0:
			return []error{fmt.Errorf("variables: the address of %s has none", name)}
		case !slices.Contains(names, key):
			errs = append(errs, unknownWordError("variables", key, names))
		}
	}
	return errs
}

// validateCommand refuses a program for a service that is none.
func (p Provider) validateCommand(name string) error {
	head, _ := catalog.Head(name)
	if f, _ := familyOf(cmp.Or(p.Kind, head.Kind)); p.Command.IsZero() || f.Programs != nil {
		return nil
	}
	var kinds []string
	for f := range programFamilies() {
		kinds = append(kinds, f.Kinds...)
	}
	return fmt.Errorf("command: only the kinds %s run a program", strings.Join(kinds, ", "))
}

// validateDialects refuses dialects for services that speak no chat completions.
func (p Provider) validateDialects(name string) (errs []error) {
	head, _ := catalog.Head(name)
	kind := familyKind(cmp.Or(p.Kind, head.Kind, kindChat))
	f, _ := familyOf(kind)
	check := func(table string, o map[string]any) {
		var keys []string
		var err error
		if f.CheckDialect != nil {
			keys, err = f.CheckDialect(o)
		}
		switch {
		case len(o) == 0:
			return
		case keys == nil:
			errs = append(errs, fmt.Errorf("%s: only services that speak chat completions have one, and the kind of this is %s", table, kind))
			return
		case err != nil:
			errs = append(errs, fmt.Errorf("%s.%w", table, err))
		}
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if err := unknownWordError(table+"."+key, key, keys); err != nil {
				errs = append(errs, err)
			}
		}
	}
	check("dialect", p.Dialect)
	for _, id := range slices.Sorted(maps.Keys(p.Model)) {
		check(fmt.Sprintf("model.%q.dialect", id), p.Model[id].Dialect)
	}
	return errs
}

// unknownWordError reports which words a key takes, and which of them was probably meant.
func unknownWordError(key, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	if near := similar.Name(word, words); near != "" {
		return fmt.Errorf("%s: unknown %q, did you mean %q?", key, word, near)
	}
	return fmt.Errorf("%s: unknown %q; there are %s", key, word, strings.Join(words, ", "))
}
