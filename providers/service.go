package providers

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/similar"
	"parley/providers/wire"
)

// aliases holds other words for a provider.
var aliases = map[string]string{"grok": "xai", "glm": "zai"}

// service is a provider with the user's settings put over the catalog's.
type service struct {
	name       string
	kind       string
	row        kind // facts of its kind
	family     adapter.Family
	url        string
	conf       Provider
	builtin    catalog.Provider // what is built in under this name, or zero
	found      LocalServer      // that runs on this machine, or zero
	told       []listedModel    // models of its server, as far as that was asked: the best first
	recent     []string         // models that were used, of all services, the latest first
	key        key
	exactNames bool // models are asked as they are named
	factsFile  *catalog.FactsFile
	address    address
	configured bool // it has a table
	connected  bool // see Choice.Connected
	getenv     func(string) string
}

// service looks name up. It is false for what is neither built in nor
// configured, and for families that are not there.
func (c Config) service(name string, getenv func(string) string) (service, bool) {
	conf, configured := c.Providers[name]
	if real, ok := aliases[name]; ok && !configured {
		name = real
		conf, configured = c.Providers[name]
	}
	found, like := c.found[name], name
	if !configured {
		like = cmp.Or(found.Provider, name)
	}
	head, builtin := catalog.Head(like)
	s := service{name: name, conf: conf, builtin: head, found: found, factsFile: c.Facts, recent: c.Recent, configured: configured, getenv: getenv}.withList(c.listed[name])
	s.kind = familyKind(cmp.Or(conf.Kind, head.Kind, kindChat))
	var ok bool
	if s.family, ok = familyOf(s.kind); !ok || !configured && !builtin {
		return service{}, false
	}
	s.setURL(c.Stored, getenv)
	if conf.Kind == "" && s.kind == kindResponses && !hostAt(s.url).responses {
		s.kind = kindChat // which most servers that stand in for OpenAI's speak alone
	}
	s.row = kinds[s.kind]
	if s.key = s.findKey(c.Stored, getenv); s.isFound() && !configured && !found.NeedsKey {
		s.key = key{} // it answered without one
	}
	s.connected = configured || s.row.isDemo || isConnected(s, c.Stored)
	return s, true
}

// isServer reports whether s is a server on this machine.
func (s service) isServer() bool { return s.closestBuiltin().Local && !s.row.isDemo }

// familyKind returns the kind that a family speaks: of a local server, under whose name it may be
// configured, that of the catalog.
func familyKind(kind string) string {
	if head, ok := catalog.Head(kind); ok && head.Local {
		return head.Kind
	}
	return kind
}

// isConnected reports whether the user gave a service without a table a key, or the use of
// another program's login. A login that is there for other programs alone is none.
func isConnected(s service, stored KeyStore) bool {
	switch {
	case s.isProgram() || s.key.name == "":
		return false
	case s.key.token == nil:
		return true
	case stored == nil:
		return false
	}
	_, ok := stored.Variables(s.name)
	return ok
}

// closestBuiltin returns what is built in for a service: under its name, or, for one with a
// name of the user's, whatever is of its kind.
func (s service) closestBuiltin() catalog.Provider {
	if s.builtin.ID != "" {
		return s.builtin
	}
	if head, ok := catalog.Head(s.conf.Kind); ok && head.Local {
		return head
	}
	if s.kind == kindChat { // the catalog's speaks Responses
		head, _ := catalog.Head("openai")
		return head
	}
	for _, p := range catalog.Heads() {
		if p.Kind == s.kind {
			return p
		}
	}
	return catalog.Provider{}
}

// setURL sets the base URL: the configured one, else the environment's, else
// where it was found, else the catalog's.
func (s *service) setURL(stored KeyStore, getenv func(string) string) {
	like := s.closestBuiltin()
	defer fillAddress(s, stored, getenv)
	if s.conf.BaseURL != "" {
		s.url = strings.TrimRight(cmp.Or(like.Regions[s.conf.BaseURL], s.conf.BaseURL), "/")
		return
	}
	if s.url = s.urlFromEnv(); s.url != "" && s.name == s.builtin.ID {
		return
	}
	if s.url = like.BaseURL; s.isFound() && !sameAddress(s.url, s.found.BaseURL) {
		s.url = s.found.BaseURL
	} else if stored != nil && like.Local && !s.isFound() { // where it was when it was connected
		if _, host, ok := stored.Find(s.name); ok && loopbackPort("http://"+host) != "" {
			s.url = strings.Replace(s.url, hostOf(s.url), host, 1)
		}
	}
}

// urlFromEnv returns the base URL that the environment sets; "" if it sets none.
func (s service) urlFromEnv() string {
	for _, name := range s.builtin.URLEnv {
		if value := strings.TrimSpace(s.getenv(name)); value != "" {
			return strings.TrimRight(completeURL(value, s.builtin), "/")
		}
	}
	return ""
}

// completeURL completes an address such as OLLAMA_HOST holds, host or host:port,
// with the scheme, port and path that the service has by itself. Whole
// addresses of hosted services stay as they are.
func completeURL(value string, like catalog.Provider) string {
	standard, err := url.Parse(like.BaseURL)
	if err != nil {
		return value
	}
	bare := !strings.Contains(value, "://")
	if bare {
		value = standard.Scheme + "://" + value
	}
	u, err := url.Parse(value)
	if err != nil {
		return value
	}
	if bare && u.Port() == "" && standard.Port() != "" {
		u.Host = net.JoinHostPort(u.Hostname(), standard.Port())
	}
	if like.Local && strings.Trim(u.Path, "/") == "" {
		u.Path = standard.Path
	}
	return u.String()
}

// missing returns what is missing before the service can be asked; "" if nothing.
func (s service) missing() string {
	if s.key.hint != "" {
		return s.key.hint
	}
	if s.address.missing != "" {
		return s.address.missing
	}
	var refused *llm.Error
	if errors.As(checkTokenAddress(s), &refused) {
		return refused.Message
	}
	if s.isProgram() {
		return s.missingProgram()
	}
	if s.isLocated() {
		return ""
	}
	return strings.Join(append([]string{fmt.Sprintf("add [providers.%s]", s.name)}, s.builtin.URLEnv...), " or set ")
}

// modelIDs lists the ids that the service is known to offer, best first.
func (s service) modelIDs() []string {
	ids := slices.Clone(s.conf.Models)
	own := slices.Sorted(maps.Keys(s.conf.Model))
	for _, id := range slices.Concat(own, s.address.models, catalog.IDs(s.builtin.ID)) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return withStoredIDs(s, ids)
}

// withStoredIDs returns ids and those of the list that is kept: but for models that do something
// else than answer, and, of models that are known, the state of some day.
func withStoredIDs(s service, ids []string) []string {
	if s.factsFile == nil || s.closestBuiltin().Local {
		return ids
	}
	have := map[string]bool{}
	for _, id := range ids {
		have[id] = true
	}
	for _, id := range s.factsFile.IDs(s.name, wire.Public(s.url)) {
		if !have[id] && catalog.IsChatModel(id) && !catalog.IsSnapshot(s.builtin.ID, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// defaultModel returns the model to use when only the provider is named.
func (s service) defaultModel() string {
	if len(s.conf.Models) > 0 {
		return s.conf.Models[0]
	}
	if len(s.address.models) > 0 {
		return s.address.models[0]
	}
	return s.builtin.Default
}

// firstModel returns the model when only a program or a server is named: the first in the catalog, or,
// of those that the server told, the one that was used last, else the first. Of several models of a
// service elsewhere none is guessed, for it may cost. Unlike defaultModel, it does not let DefaultModel
// choose the service.
func (s service) firstModel() string {
	if ids := catalog.IDs(s.closestBuiltin().ID); s.isProgram() && len(ids) > 0 {
		return ids[0]
	}
	first := ""
	best, models := len(s.recent), 0
	for _, m := range s.told {
		if !m.embeds {
			models++
		}
		if at := slices.Index(s.recent, s.name+"/"+s.shownID(m.ID)); !m.embeds && (first == "" || at >= 0 && at < best) {
			first = m.ID
			if at >= 0 {
				best = at
			}
		}
	}
	if models > 1 && best == len(s.recent) && !s.closestBuiltin().Local {
		return ""
	}
	return first
}

// defaultName returns the model of a service when only that is named, as "provider/model"; "" if none is known.
func (s service) defaultName() string {
	if model := cmp.Or(s.defaultModel(), s.firstModel()); model != "" {
		return s.name + "/" + s.shownID(model)
	}
	return ""
}

// providerNames lists every provider there is: the catalog's in its order, then the
// user's own, then servers that were found beside them.
func (c Config) providerNames() []string {
	var names []string
	for _, p := range catalog.Heads() {
		if _, ok := familyOf(cmp.Or(c.Providers[p.ID].Kind, p.Kind)); ok {
			names = append(names, p.ID)
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(c.Providers)), slices.Sorted(maps.Keys(c.found))) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// services yields every provider there is, in the order of providerNames.
func (c Config) services(getenv func(string) string) iter.Seq[service] {
	return func(yield func(service) bool) {
		for _, name := range c.providerNames() {
			if s, ok := c.service(name, getenv); ok && !yield(s) {
				return
			}
		}
	}
}

// Resolve returns what an alias of the user's stands for, and any other name as it is.
func (c Config) Resolve(name string) string { return cmp.Or(c.Aliases[name], name) }

// findModel splits a name as the user writes it into a service and the model's id.
func (c Config) findModel(name string, getenv func(string) string) (service, string, error) {
	name = c.Resolve(name)
	provider, model, slash := strings.Cut(name, "/")
	if s, ok := c.service(provider, getenv); ok {
		model = cmp.Or(model, s.defaultModel(), s.firstModel())
		if model == "" && s.found.NeedsKey && notReady(s) != nil {
			return service{}, "", notReady(s)
		} else if model == "" && len(s.address.missingVariables) > 0 {
			return service{}, "", missingVariableError(s)
		} else if model == "" {
			return service{}, "", notFoundError("%s has no default model: name one, as in %s/MODEL", provider, provider)
		}
		return s, model, nil
	}
	if s, ok := c.serviceWithModel(name, getenv); ok {
		return s, name, nil
	}
	if slash {
		return service{}, "", UnknownName("provider", provider, c.providerNames())
	}
	return service{}, "", UnknownName("model", name, c.allNames(getenv))
}

// CheckName returns why no model can be called name: there is no such provider, or no model of a name without
// one. Which models a provider has is not asked, nor which servers run.
func (c Config) CheckName(name string, getenv func(string) string) error {
	provider, _, _ := strings.Cut(c.Resolve(name), "/")
	server, _, _ := strings.Cut(provider, localSuffix)
	if _, ok := c.service(server, getenv); ok {
		return nil
	}
	_, _, err := c.findModel(name, getenv)
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		return errors.New(e.Message)
	}
	return err
}

// serviceWithModel returns the service that has a model of this bare name: one that is
// ready, if there is one.
func (c Config) serviceWithModel(model string, getenv func(string) string) (service, bool) {
	var found []service
	for s := range c.services(getenv) {
		told := slices.ContainsFunc(s.told, func(m listedModel) bool { return IsNamed(m.ID, model) })
		if _, known := catalog.Find(s.builtin.ID, model); !known && !told && !slices.Contains(s.conf.Models, model) {
			continue
		}
		if s.missing() == "" {
			return s, true
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return service{}, false
	}
	return found[0], true
}

// allNames lists the names that findModel accepts, for suggestions.
func (c Config) allNames(getenv func(string) string) []string {
	names := slices.Concat(c.providerNames(), slices.Sorted(maps.Keys(c.Aliases)))
	for s := range c.services(getenv) {
		for _, id := range s.modelIDs() {
			names = append(names, s.name+"/"+id)
		}
	}
	return names
}

// UnknownName returns the error of an unknown name, with names near to it. What is "provider" or
// "model".
func UnknownName(what, name string, among []string) *llm.Error {
	const few = 8
	near := similar.Names(name, among, 3)
	switch {
	case what == "provider" && len(near) == 0 && len(among) > few:
		return notFoundError("no provider %q", name)
	case len(near) > 0:
		return notFoundError("no %s %q; did you mean %s?", what, name, strings.Join(near, ", "))
	}
	if what == "provider" {
		return notFoundError("no provider %q; use one of %s", name, strings.Join(among, ", "))
	}
	return notFoundError("no model %q", name)
}

func notFoundError(format string, args ...any) *llm.Error {
	return &llm.Error{Fault: llm.ModelNotFound, Message: fmt.Sprintf(format, args...)}
}
