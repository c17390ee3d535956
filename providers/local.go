package providers

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"

	"parley/providers/catalog"
	"parley/providers/discover"
)

// A LocalServer is a model server that runs on this machine.
type LocalServer = discover.Server

// Discover returns the servers that run on this machine, on the ports they have by
// themselves or by the environment, within discover.Timeout. They are asked without a key.
func Discover(ctx context.Context, c Config, getenv func(string) string) []LocalServer {
	var o discover.Options
	for _, name := range c.providerNames() {
		s, ok := c.service(name, getenv)
		if !ok || !s.builtin.Local {
			continue
		}
		if u, err := url.Parse(s.url); err == nil && u.Port() != "" {
			o.Hosts = append(o.Hosts, u.Host)
		}
	}
	return discover.Find(ctx, o)
}

// WithServers returns c with servers that were found: their models can be asked as if
// they were configured. A server whose address is configured already is no second one.
func (c Config) WithServers(servers []LocalServer, getenv func(string) string) Config {
	c.found = nil
	found := map[string]LocalServer{}
	for _, server := range servers {
		if name := c.nameFor(server, found, getenv); name != "" {
			found[name] = server
		}
	}
	c.found = found
	return c
}

// localSuffix ends the name of a server beside a service of its kind elsewhere.
const localSuffix = "-local"

// nameFor returns the name of the service that a server is; "" if another one of c is that
// server. One beside a service of its kind elsewhere gets a name of its own.
func (c Config) nameFor(server LocalServer, found map[string]LocalServer, getenv func(string) string) string {
	for name := range c.Providers {
		if s, ok := c.service(name, getenv); ok && name != server.Provider && sameAddress(s.url, server.BaseURL) {
			return ""
		}
	}
	for _, name := range []string{server.Provider, server.Provider + localSuffix, server.Provider + localSuffix + "-2"} {
		_, taken := found[name]
		_, configured := c.Providers[name]
		s, _ := c.service(name, getenv)
		elsewhere := (configured || s.urlFromEnv(getenv) != "") && !sameAddress(s.url, server.BaseURL)
		if !taken && !elsewhere {
			return name
		}
	}
	return ""
}

// A Local is a server of this machine, as a service.
type Local struct {
	Provider string   // name of the service, such as "ollama"
	Name     string   // as users write it
	Models   []string // as "provider/model", the best first
	More     bool     // it has more models than those
	Problem  string   // why it cannot be asked now; "" if it can
}

// Locals lists the servers of c that were found, in the order of a picker.
func (c Config) Locals() []Local {
	var list []Local
	for _, name := range c.providerNames() {
		server, ok := c.found[name]
		if !ok {
			continue
		}
		l := Local{Provider: name, Name: server.Name, More: server.More, Problem: string(server.State)}
		for _, m := range server.Models {
			l.Models = append(l.Models, name+"/"+m.ID)
		}
		list = append(list, l)
	}
	return list
}

// isFound reports whether the service runs on this machine, as far as that was looked for.
func (s service) isFound() bool { return s.found.Provider != "" }

// foundModels returns the models that the server told when it was found.
func (s service) foundModels() []listedModel {
	var models []listedModel
	for _, m := range s.found.Models {
		models = append(models, listedModel{id: m.ID, advertised: advertised{context: m.Context, tools: m.Tools, vision: m.Vision, thinks: m.Thinks}})
	}
	return models
}

// advertised returns what the server told of a model: when it was asked for its list, else
// when it was found, else, of a model that the catalog lacks, in the list that is kept.
func (s service) advertised(model string, memory *Memory) advertised {
	told := memory.load(s.servedModel(model)).advertised
	if f, _, ok := storedFacts(s, model); ok && !slices.Contains(catalog.IDs(s.builtin.ID), s.modelID(model)) {
		return told.withDefaults(f)
	}
	models := s.foundModels()
	at := slices.IndexFunc(models, func(m listedModel) bool { return m.id == model })
	if at < 0 {
		return told
	}
	first := models[at].advertised
	told.context = cmp.Or(told.context, first.context)
	told.tools, told.vision, told.thinks = cmp.Or(told.tools, first.tools), cmp.Or(told.vision, first.vision), cmp.Or(told.thinks, first.thinks)
	return told
}

// sameAddress reports whether two base URLs reach the same port of this machine, or are
// the same.
func sameAddress(a, b string) bool {
	return a == b || loopbackPort(a) != "" && loopbackPort(a) == loopbackPort(b)
}

// loopbackPort returns the port of an address of this machine; "" for others.
func loopbackPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !ip.IsLoopback() && !ip.IsUnspecified()) {
		return ""
	}
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	_, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		return ""
	}
	return port
}
