// Package discover finds model servers that run on this machine, by what they answer:
//
//	ports of all kinds ──► GET, at once ──► proofs, in order ──► Server
//
// Only loopback addresses are asked, by GET, without a key and without a prompt, and a
// redirect is not followed. Any program may listen on these ports: an answer proves
// itself, is read up to a limit, and names in it that are not plain text are left out.
package discover

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/providers/catalog"
)

// Limits of what is asked.
const (
	Timeout   = 250 * time.Millisecond // for everything: who waits for the result waits 300 ms
	maxConns  = 3                      // to one server: those in Python let 5 wait, and drop what is more
	maxBody   = 8 << 10                // bytes of one answer that are read
	maxModels = 100                    // of one server
	maxID     = 200                    // bytes of a model's id
)

// The states of a list of models.
const (
	ready   = ""
	needKey = "needs a key"        // it answered 401 or 403
	loading = "is loading a model" // it answered 503
)

// A model is a model as its server lists it. A zero Context and nil abilities are not told.
type model struct {
	catalog.Facts
	loaded bool
	embeds bool // it turns texts into vectors, and does not chat
}

// Options say where to look. The zero value looks on the ports that servers have by themselves.
type Options struct {
	Kind    string                                                               // looks on the ports of this kind alone, such as "ollama"; "": of all
	Hosts   []string                                                             // further places, "host:port"; those that are not on loopback are left out
	Timeout time.Duration                                                        // 0: Timeout; for tests, which must not depend on how busy a machine is
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: the network; for tests
}

// Servers returns the servers of this machine on the ports that servers have by themselves, or those of
// one kind, and on hosts.
func Servers(ctx context.Context, kind string, hosts []string) []catalog.Server {
	return Find(ctx, Options{Kind: kind, Hosts: hosts})
}

// Find returns the servers that answer within o.Timeout, in the order of their kinds. It
// never returns an error: a server that cannot be told is not found.
func Find(ctx context.Context, o Options) []catalog.Server {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, Timeout))
	defer cancel()
	client := newClient(o.Dial)
	defer client.CloseIdleConnections()
	places := o.places()
	found := make([]*catalog.Server, len(places))
	var wait sync.WaitGroup
	for i, p := range places {
		wait.Go(func() { found[i] = p.identify(ctx, client) })
	}
	wait.Wait()
	return distinct(places, found)
}

// distinct returns what was found, each server once: one that listens on both loopback
// addresses of a port counts as the first.
func distinct(places []place, found []*catalog.Server) []catalog.Server {
	var list []catalog.Server
	seen := map[string]bool{}
	for i, s := range found {
		if s == nil || seen[s.Provider+" "+places[i].port] {
			continue
		}
		seen[s.Provider+" "+places[i].port] = true
		list = append(list, *s)
	}
	slices.SortStableFunc(list, func(a, b catalog.Server) int { return cmp.Compare(rank(a.Provider), rank(b.Provider)) })
	return list
}

func rank(provider string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.provider == provider })
}

// newClient returns a client that reaches loopback addresses and nothing else.
func newClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, // a proxy would be told what runs here
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
					return nil, fmt.Errorf("%s is not on this machine", address)
				}
				return dial(ctx, network, address)
			},
			MaxResponseHeaderBytes: maxBody,
			MaxConnsPerHost:        maxConns,
			MaxIdleConnsPerHost:    maxConns,
			DisableCompression:     true, // what is read stays what was sent
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A place is an address to ask.
type place struct {
	host string // "127.0.0.1:11434"
	port string
	own  []kind // kinds that have this port by themselves
}

// places returns where to look: each port on both loopback addresses, and what o adds.
func (o Options) places() []place {
	var all []place
	add := func(host string) {
		at, err := netip.ParseAddrPort(host)
		if err != nil || !at.Addr().IsLoopback() || slices.ContainsFunc(all, func(p place) bool { return p.host == host }) {
			return
		}
		port := strconv.Itoa(int(at.Port()))
		all = append(all, place{host, port, kindsOf(port)})
	}
	for _, host := range o.Hosts {
		name, port, err := net.SplitHostPort(host)
		if ip, _ := netip.ParseAddr(name); name == "localhost" || name == "" || ip.IsUnspecified() {
			name = "127.0.0.1" // a server that listens on all addresses listens there
		}
		if err == nil {
			add(net.JoinHostPort(name, port))
		}
	}
	for _, loopback := range []string{"127.0.0.1", "::1"} {
		for _, k := range kinds {
			if o.Kind != "" && o.Kind != k.provider {
				continue
			}
			for _, port := range Ports(k.provider) {
				add(net.JoinHostPort(loopback, port))
			}
		}
	}
	return all
}

// Ports returns the ports on which a kind of server listens by itself; none if there is no such kind.
func Ports(kind string) []string {
	if at := rank(kind); at >= 0 {
		return strings.Fields(kinds[at].port)
	}
	return nil
}
