package providers

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"parley/providers/catalog"
)

// A LocalServer is a model server that runs on this machine.
type LocalServer = catalog.Server

// Discover returns the model servers running on this machine, within a quarter of a second. It asks
// without a key, on default ports and on those set by the environment. If only names a provider,
// only its ports are asked.
func Discover(ctx context.Context, c Config, only string, getenv func(string) string) []LocalServer {
	if parts.localServers == nil {
		return nil
	}
	kind, hosts := "", []string(nil)
	for s := range c.services(getenv) {
		if like := s.closestBuiltin(); !like.Local || only != "" && only != s.name {
			continue
		} else if only != "" {
			kind = like.ID
		}
		if u, err := url.Parse(s.url); err == nil && u.Port() != "" {
			hosts = append(hosts, u.Host)
		}
	}
	return parts.localServers(ctx, kind, hosts)
}

// WithServers returns c with discovered servers: their models can be used as if they were
// configured. A server at a configured address adds no second provider; its answers count for the
// configured one.
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

// localSuffix is appended to a server's name if its kind also has a service elsewhere.
const localSuffix = "-local"

// nameFor returns the service name for a discovered server; "" if there are too many of its kind. If
// a service of its kind exists elsewhere, the server gets a separate name.
func (c Config) nameFor(server LocalServer, found map[string]LocalServer, getenv func(string) string) string {
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if s, ok := c.service(name, getenv); ok && sameAddress(s.url, server.BaseURL) {
			return name
		}
	}
	for _, name := range []string{server.Provider, server.Provider + localSuffix, server.Provider + localSuffix + "-2"} {
		_, taken := found[name]
		_, configured := c.Providers[name]
		s, _ := c.service(name, getenv)
		elsewhere := (configured || s.urlFromEnv() != "") && !sameAddress(s.url, server.BaseURL)
		if !taken && !elsewhere {
			return name
		}
	}
	return ""
}

// A Local describes a discovered server on this machine.
type Local struct {
	Provider string // name of the service, such as "ollama"
	Name     string // shown to users
	Model    string // default model, as "provider/model"; "" if the server is not ready
	Models   int    // number of models
	More     bool   // the server has more models than that
	Problem  string // why it is not ready; "" if it is
	LacksKey bool   // it only lacks a key
}

// Locals lists the discovered servers of c, in picker order.
func (c Config) Locals(getenv func(string) string) []Local {
	var list []Local
	for s := range c.services(getenv) {
		if !s.isFound() {
			continue
		}
		l := Local{Provider: s.name, Name: s.found.Name, Models: len(s.found.Models), More: s.found.More, LacksKey: s.key.hint != ""}
		if s.key.name == "" {
			l.Problem = s.found.Problem
		}
		if !l.LacksKey {
			l.Model = s.defaultName()
		}
		list = append(list, l)
	}
	return list
}

// isFound reports whether discovery found the service on this machine.
func (s service) isFound() bool { return s.found.Provider != "" }

// withList adds the models that discovery found, and those of a fetched list, which has more facts.
func (s service) withList(listed []listedModel) service {
	s.told = nil
	for _, m := range s.found.Models {
		s.told = append(s.told, listedModel{Facts: m})
	}
	for _, m := range s.found.Embedded {
		s.told = append(s.told, listedModel{Facts: m, embeds: true})
	}
	for _, m := range listed {
		if at := slices.IndexFunc(s.told, func(t listedModel) bool { return t.ID == m.ID }); at >= 0 {
			s.told[at] = m
		} else {
			s.told = append(s.told, m)
		}
	}
	return s
}

// WithLists returns c with the current model lists of servers, all asked at the same time. The error
// joins the failures. The Memory of o keeps the listed facts.
func (c Config) WithLists(ctx context.Context, o OpenOptions, providers ...string) (Config, error) {
	o = o.withDefaults()
	offers, errs := make([][]listedModel, len(providers)), make([]error, len(providers))
	var wait sync.WaitGroup
	for i, name := range providers {
		wait.Go(func() {
			var s service
			if s, offers[i], errs[i] = c.listModels(ctx, name, o); errs[i] == nil {
				o.Memory.recordListing(s, offers[i])
			}
		})
	}
	wait.Wait()
	c.listed = maps.Clone(c.listed)
	if c.listed == nil {
		c.listed = map[string][]listedModel{}
	}
	for i, name := range providers {
		c.listed[name] = offers[i]
	}
	return c, errors.Join(errs...)
}

// Unlocated returns the local provider in a model name if its address is unknown: it is neither
// configured nor connected, and discovery did not find it. It returns "" for all others.
func (c Config) Unlocated(name string, getenv func(string) string) string {
	provider, _, _ := strings.Cut(c.Resolve(name), "/")
	if s, ok := c.service(provider, getenv); ok && !s.isLocated() {
		return s.name
	}
	return ""
}

// isLocated reports whether the address of the service is known.
func (s service) isLocated() bool {
	return !s.builtin.Local || s.row.isDemo || s.isFound() || s.configured || s.urlFromEnv() != "" || s.key.stored != nil
}

// shownID returns a model's id as users see and write it: without the directories before a file,
// unless two models of the server share the file name.
func (s service) shownID(id string) string {
	base := FileName(id)
	if slices.ContainsFunc(s.told, func(m listedModel) bool { return m.ID != id && FileName(m.ID) == base }) {
		return id
	}
	return base
}

// FileName returns the base name of an id that is a file path; other ids are returned unchanged.
func FileName(id string) string {
	path := strings.TrimRight(strings.ReplaceAll(id, `\`, "/"), "/")
	if path == id && !strings.HasPrefix(id, "/") && !strings.HasPrefix(id, ".") && !strings.HasPrefix(id, "~") && !strings.HasSuffix(id, ".gguf") {
		return id
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// IsNamed reports whether name means the model with an id. Users may omit Ollama's :latest tag and
// the directories before a file.
func IsNamed(id, name string) bool {
	return id == name || strings.TrimSuffix(id, ":latest") == name || FileName(id) == name
}

// advertised returns the facts that the server told about a model: in its list, else at discovery,
// else, for a model missing in the catalog, in the stored list.
func (s service) advertised(model string, memory *Memory) catalog.Facts {
	told := memory.load(s.servedModel(model)).advertised
	if f, _, ok := storedFacts(s, model); ok && !slices.Contains(catalog.IDs(s.builtin.ID), s.modelID(model)) {
		return told.WithDefaults(f)
	}
	at := slices.IndexFunc(s.told, func(m listedModel) bool { return IsNamed(m.ID, model) })
	if at < 0 {
		return told
	}
	return told.WithDefaults(s.told[at].Facts)
}

// sameAddress reports whether two base URLs are equal or reach the same port of this machine.
func sameAddress(a, b string) bool {
	return a == b || loopbackPort(a) != "" && loopbackPort(a) == loopbackPort(b)
}

// loopbackPort returns the port of an address on this machine; "" for others.
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
