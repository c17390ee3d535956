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

// aliases maps other names of providers.
var aliases = map[string]string{"grok": "xai", "glm": "zai"}

// service is a provider with the user's settings merged over the catalog's.
type service struct {
	name       string
	kind       string
	row        kind // facts of its kind
	family     adapter.Family
	url        string
	conf       Provider
	builtin    catalog.Provider // the catalog's entry of this name; zero for none
	found      LocalServer      // the discovered server; zero for none
	told       []listedModel    // models that its server listed, the best first
	recent     []string         // recently used models of all services, the latest first
	key        key
	exactNames bool // models are requested as named
	factsFile  *catalog.FactsFile
	address    address
	configured bool // it has a [providers.NAME] table
	connected  bool // see Choice.Connected
	getenv     func(string) string
}

// service returns the service called name; false if it is neither built in nor configured, or if
// its family is not built in.
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
		s.kind = kindChat // the only API of most OpenAI-compatible servers
		s.family, _ = familyOf(kindChat)
	}
	s.row = kinds[s.kind]
	if s.key = s.findKey(c.Stored, getenv); s.isFound() && !configured && !found.NeedsKey {
		s.key = key{} // it answered without a key
	}
	s.connected = configured || s.row.isDemo || isConnected(s, c.Stored)
	return s, true
}

// isServer reports whether s is a server on this machine.
func (s service) isServer() bool { return s.closestBuiltin().Local && !s.row.isDemo }

// familyKind returns the kind that its family knows: for the name of a local server, the kind in
// the catalog.
func familyKind(kind string) string {
	if head, ok := catalog.Head(kind); ok && head.Local {
		return head.Kind
	}
	return kind
}

// isConnected reports whether the user gave a service without a table a key, or allowed it another
// program's login. A login made only for other programs does not count.
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

// closestBuiltin returns the built-in provider of the service's name or, for a user's service, one
// of the same kind.
func (s service) closestBuiltin() catalog.Provider {
	if s.builtin.ID != "" {
		return s.builtin
	}
	if head, ok := catalog.Head(s.conf.Kind); ok && head.Local {
		return head
	}
	if s.kind == kindChat { // the catalog's entry uses the Responses API
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

// setURL sets the base URL: the configured one, else the environment's, else the discovered one,
// else the catalog's.
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
	} else if stored != nil && like.Local && !s.isFound() { // where it was connected
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

// completeURL completes an address in the style of OLLAMA_HOST, host or host:port, with the default
// scheme, port and path of the service. Complete addresses of hosted services stay unchanged.
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

// missing returns why the service is not ready; "" if it is.
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

// modelIDs lists the known model ids of the service, best first.
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

// withStoredIDs adds the ids in the stored list to ids, except models for other uses than chat and
// dated versions of known models.
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

// defaultModel returns the model for a name that is only a provider.
func (s service) defaultModel() string {
	if len(s.conf.Models) > 0 {
		return s.conf.Models[0]
	}
	if len(s.address.models) > 0 {
		return s.address.models[0]
	}
	return s.builtin.Default
}

// firstModel returns the model if only a program or local server is named: the first in the catalog,
// or, of the models that the server listed, the most recently used, else the first. It picks no model
// of a remote service that has several, since a wrong one may cost. Unlike defaultModel, it has no
// influence on which service DefaultModel chooses.
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

// defaultName returns a service's model for a name without one, as "provider/model"; "" if none is known.
func (s service) defaultName() string {
	if model := cmp.Or(s.defaultModel(), s.firstModel()); model != "" {
		return s.name + "/" + s.shownID(model)
	}
	return ""
}

// providerNames lists all providers: the catalog's in order, then the user's, then other discovered
// servers.
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

// services yields all providers in the order of providerNames.
func (c Config) services(getenv func(string) string) iter.Seq[service] {
	return func(yield func(service) bool) {
		for _, name := range c.providerNames() {
			if s, ok := c.service(name, getenv); ok && !yield(s) {
				return
			}
		}
	}
}

// Resolve returns the model name of a user's alias; other names are returned unchanged.
func (c Config) Resolve(name string) string { return cmp.Or(c.Aliases[name], name) }

// findModel splits a name typed by the user into a service and a model id.
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

// CheckName returns why name cannot name a model: its provider is unknown, or a name without a provider
// matches no model. It does not ask providers for their models, nor look for local servers.
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

// serviceWithModel returns the service that has a model of this name without a provider, preferably
// a ready one.
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

// UnknownName returns the error for an unknown name, with similar names. What is "provider" or
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
