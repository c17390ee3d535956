package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/providers/wire"
)

// A Connection describes a provider for the dialog in which the user gives it a key.
type Connection struct {
	Provider string // as configured, such as "anthropic"
	Name     string // display name, such as "Anthropic"
	Host     string // host that receives the key
	Model    string // default model, as "provider/model"; "" for none
	From     string // source of its key, such as "OPENAI_API_KEY"; "" if it has none
	Stored   bool   // parley stores the key
	Keyless  bool   // it takes no key: it is a local server, or a program with its own login
	Local    bool   // it is a server on this machine
	Login    bool   // it takes no key: a command or another program's login supplies tokens

	Variables []ConnectionVariable // variables of its address that the user sets
}

// A ConnectionVariable is a variable in a provider's address.
type ConnectionVariable struct {
	Name  string // such as "region"
	Title string // shown to the user
	Help  string // one sentence about the variable
	Value string // current or default value; "" for none
}

// Variable parses text as the value of a variable of a provider's address.
func (c Config) Variable(provider, name, text string) (string, error) {
	s, _ := c.service(provider, func(string) string { return "" })
	for _, v := range s.builtin.Variables {
		if v.Name == name {
			return s.builtin.Parse(v, text)
		}
	}
	return "", unknownVariableError(s, name)
}

func unknownVariableError(s service, name string) error {
	var names []string
	for _, v := range s.builtin.Variables {
		names = append(names, v.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has nothing to set: it has one address for all", cmp.Or(s.builtin.Name, s.name))
	}
	return fmt.Errorf("%s has no %q to set; it has %s", cmp.Or(s.builtin.Name, s.name), name, strings.Join(names, ", "))
}

// WithVariables returns c with values set in the address of a provider.
func (c Config) WithVariables(provider string, values map[string]string) (Config, error) {
	if len(values) == 0 {
		return c, nil
	}
	s, _ := c.service(provider, func(string) string { return "" })
	conf := c.Providers[s.name]
	conf.Variables = maps.Clone(conf.Variables)
	if conf.Variables == nil {
		conf.Variables = map[string]string{}
	}
	for name, text := range values {
		value, err := c.Variable(provider, name, text)
		if err != nil {
			return c, err
		}
		conf.Variables[name] = value
	}
	c.Providers = maps.Clone(c.Providers)
	if c.Providers == nil {
		c.Providers = map[string]Provider{}
	}
	c.Providers[s.name] = conf
	return c, nil
}

// AddressError returns why a provider cannot be connected with values for the variables of its
// address; nil if it can. The error names the variables without a value and says how to set them.
func (c Config) AddressError(provider string, values map[string]string, getenv func(string) string) error {
	c, err := c.WithVariables(provider, values)
	if err != nil {
		return err
	}
	s, _ := c.service(provider, getenv)
	return addressError(s)
}

// connectionVariables returns the variables of the address of s with their values.
func connectionVariables(s service) (list []ConnectionVariable) {
	for _, v := range s.builtin.Variables {
		if s.conf.BaseURL != "" && s.builtin.Regions[s.conf.BaseURL] == "" {
			continue // the user's own address has no variables
		}
		list = append(list, ConnectionVariable{v.Name, v.Title, v.Help, cmp.Or(s.address.values[v.Name], v.Default)})
	}
	return list
}

// Connections lists the providers except the demo, in picker order. It sends nothing and uses no
// keyring.
func Connections(c Config, getenv func(string) string) (all []Connection) {
	for _, name := range c.providerNames() {
		if one, err := c.Connection(name, getenv); err == nil {
			all = append(all, one)
		}
	}
	return all
}

// Connection returns the provider called name. The error for an unknown name suggests similar
// provider names, but no models: there is no model to choose yet.
func (c Config) Connection(name string, getenv func(string) string) (Connection, error) {
	s, ok := c.service(name, getenv)
	if !ok || s.row.isDemo {
		unknown := UnknownName("provider", name, slices.DeleteFunc(c.providerNames(), func(n string) bool { return kinds[n].isDemo }))
		return Connection{}, errors.New(unknown.Message)
	}
	return Connection{
		Model:    s.defaultName(),
		Provider: s.name, Name: cmp.Or(s.builtin.Name, s.name), Host: hostOf(s.url), From: s.key.name,
		Stored: s.key.stored != nil, Keyless: s.keyless(), Local: s.closestBuiltin().Local,
		Login: s.builtin.TokenFrom != "" || s.key.token != nil, Variables: connectionVariables(s),
	}, nil
}

// trimKey removes the quotes and spaces around a copied or printed key.
func trimKey(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'`\u00a0\u200b\u201c\u201d\u2018\u2019\ufeff", r)
	})
}

// maxKey bounds the bytes of a key.
const maxKey = 8 << 10

// ParseKey returns the key in what was typed, pasted or printed, without the white space and
// the quotes around it. An error repeats nothing of it.
func ParseKey(text string) (Secret, error) {
	key := trimKey(text)
	switch {
	case key == "":
		return "", errors.New("the key is empty")
	case len(key) > maxKey:
		return "", fmt.Errorf("the key is too long: more than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the key contains spaces, line breaks or other characters that no key has: paste it again")
	}
	return Secret(key), nil
}

// uncheckable holds the providers of the catalog whose keys are checked by nothing that is
// free.
var uncheckable = []string{"foundry-claude", "vertex-express"}

// keyCheckOf returns how a key of s is checked.
func keyCheckOf(s service) keyCheck {
	if slices.Contains(uncheckable, s.builtin.ID) {
		return keyCheck{prefixes: []string{""}}
	}
	check := hostAt(s.url).check
	if check.prefixes == nil {
		check = s.row.check
	}
	if check.paths == nil && check.prefixes == nil {
		return listing
	}
	return check
}

// A Verdict says whether a key is good.
type Verdict string

// The verdicts.
const (
	KeyValid     Verdict = "valid"
	KeyRejected  Verdict = "rejected"
	KeyUnchecked Verdict = "unchecked" // the provider did not say
)

// A KeyReport is what is known of a key.
type KeyReport struct {
	Connection
	Verdict Verdict
	Reason  string // why it was rejected, or not checked, or what the key does not allow; "" for nothing
	Models  int    // how many models the picker has of the provider; 0 if it has none
	Place   string // what its address has of the user's own, such as "region us-east-1"; "" for nothing
}

// String returns what the key unlocked, as a sentence without a period.
func (r KeyReport) String() string {
	var facts []string
	switch r.Models {
	case 0:
	case 1:
		facts = append(facts, "1 model")
	default:
		facts = append(facts, fmt.Sprintf("%d models", r.Models))
	}
	if r.Model != "" {
		facts = append(facts, "default "+strings.TrimPrefix(r.Model, r.Provider+"/"))
	} else if r.Models == 0 {
		facts = append(facts, "name a model as "+r.Provider+"/MODEL")
	}
	text := r.Name + " connected"
	if r.Place != "" {
		text += " (" + r.Place + ")"
	}
	if r.Verdict == KeyUnchecked {
		text += ", but the key is not checked"
	}
	if len(facts) > 0 {
		text += ": " + strings.Join(facts, ", ")
	}
	if r.Reason != "" && r.Verdict == KeyValid {
		text += " (" + r.Reason + ")"
	}
	return text
}

// VerifyKey asks the provider called name whether key is one of its keys, by the cheapest
// request that costs nothing: one, at the provider's own address, within ten seconds; "" is the
// key that the provider has. The error says that there is no such provider, that it takes no
// key, or that its address is not complete.
func VerifyKey(ctx context.Context, c Config, name string, key Secret, o OpenOptions) (KeyReport, error) {
	o = o.withDefaults()
	about, err := c.Connection(name, o.Getenv)
	if err != nil {
		return KeyReport{}, err
	}
	if about.Keyless {
		return KeyReport{}, fmt.Errorf("%s takes no key", about.Name)
	}
	s, _ := c.service(name, o.Getenv)
	if err := addressError(s); err != nil {
		return KeyReport{}, err
	}
	if key != "" {
		s.key.name, s.key.value, s.key.command, s.key.stored = "the key", key, "", nil
	}
	report := KeyReport{Connection: about, Models: len(s.modelIDs()), Place: placeOf(s)}
	if about.Login {
		return report.checkLogin(ctx, s)
	}
	check := keyCheckOf(s)
	if len(check.paths) == 0 {
		report.Verdict, report.Reason = KeyValid, "not checked: "+about.Name+" has no free way to check a key"
		if key != "" && !slices.ContainsFunc(check.prefixes, func(p string) bool { return strings.HasPrefix(key.Reveal(), p) }) {
			report.Verdict, report.Reason = KeyRejected, "its keys begin with "+strings.Join(check.prefixes, " or ")
		}
		return report, nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	report.Verdict, report.Reason = check.verdict(s, check.ask(ctx, s, o))
	if about.Local && report.Verdict == KeyValid {
		if offers, err := s.listModels(ctx, o); err == nil {
			report.Model, report.Models = s.withList(offers).defaultName(), len(offers)
		}
	}
	return report, nil
}

// placeOf returns the variables in the address of s, as a user says them.
func placeOf(s service) string {
	var parts []string
	for _, v := range s.builtin.Variables {
		if value := cmp.Or(s.address.values[v.Name], v.Default); value != "" && !v.Models {
			parts = append(parts, v.Name+" "+value)
		}
	}
	return strings.Join(parts, ", ")
}

// checkLogin reports whether there are tokens for a provider. No model is asked.
func (r KeyReport) checkLogin(ctx context.Context, s service) (KeyReport, error) {
	if s.key.token == nil {
		return r, s.missingKeyError()
	}
	if _, err := s.key.token.Get(ctx, ""); err != nil {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		return r, &llm.Error{
			Fault: llm.Authentication, Provider: s.name, Key: s.key.name, Login: s.key.token.Login, Param: connectArgs(s),
			KeyMissing: s.key.token.Login != "", Message: fmt.Sprintf("no token from %s: %v", s.key.name, err),
		}
	}
	r.Verdict, r.Reason = KeyValid, "with a token from "+s.key.name
	return r, nil
}

// ask sends the request that the key of s is checked with. What it sends and gets is neither
// recorded nor kept.
func (check keyCheck) ask(ctx context.Context, s service, o OpenOptions) error {
	o.Tap, o.Replay = nil, nil
	l, err := s.lister(ctx, o)
	if err != nil {
		return err
	}
	defer l.HTTP.CloseIdleConnections()
	return firstPath(check.paths, func(path string) error {
		_, err := l.fetchPage(ctx, path, nil)
		return err
	})
}

// verdict returns what an answer says of the key that was sent to s.
func (check keyCheck) verdict(s service, err error) (Verdict, string) {
	var e *llm.Error
	switch {
	case err == nil:
		return KeyValid, ""
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		return KeyUnchecked, fmt.Sprintf("%s did not answer within %s", hostOf(s.url), checkTimeout)
	default:
		return KeyUnchecked, hostOf(s.url) + " did not answer as expected"
	}
	words := cmp.Or(e.Message, e.Error())
	if at := (*wire.Answer)(nil); errors.As(err, &at) && strings.Contains(at.Header.Get("Content-Type"), "html") {
		return KeyUnchecked, words // a page of something in between
	}
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusBadRequest && check.badRequest,
		e.Fault == llm.Authentication && e.Status != http.StatusForbidden:
		reason := s.suggestRegions(e)
		if advised, ok := adviseCloud(s, e, ""); ok {
			reason = advised
		}
		if better := (*llm.Error)(nil); errors.As(reason, &better) {
			words = better.Message
		}
		return KeyRejected, words
	case e.Status == http.StatusForbidden:
		return KeyValid, "the key is known, but does not allow everything: " + words
	case e.Status == http.StatusPaymentRequired, e.Status == http.StatusTooManyRequests, e.Fault == llm.Quota:
		return KeyValid, words
	}
	return KeyUnchecked, words
}
