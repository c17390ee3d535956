// Package discover finds model servers on this machine by their answers:
//
//	ports of all kinds ──► GET, at once ──► proofs, in order ──► Server
//
// It sends only GET requests to loopback addresses, without a key or prompt, and follows no
// redirect. Any program may listen on these ports: an answer must prove its server, is read only up
// to a limit, and names in it that are not plain text are ignored.
package discover

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/providers/catalog"
)

// Limits of requests and answers.
const (
	Timeout   = 250 * time.Millisecond // for all requests: the caller waits for 300 ms
	maxConns  = 3                      // to one server: Python servers queue 5 and drop further ones
	maxHeader = 8 << 10                // bytes of the headers of one answer
	maxBody   = 1 << 20                // bytes read of one answer
	maxModels = 100                    // of one server
	maxID     = 200                    // bytes of a model id
)

// States of a list of models.
const (
	ready   = ""
	needKey = "needs a key"        // status 401 or 403
	loading = "is loading a model" // status 503
)

// A model is a model in a server's list. A zero Context and nil abilities are unknown.
type model struct {
	catalog.Facts
	loaded bool
	embeds bool // it is an embedding model, which does not chat
}

// Options select the places to search. The zero value selects the default ports of all servers.
type Options struct {
	Kind    string                                                               // searches only the ports of this kind, such as "ollama"; "" for all kinds
	Hosts   []string                                                             // further places, "host:port"; addresses other than loopback are ignored
	Timeout time.Duration                                                        // 0 for Timeout; for tests, which must not depend on the load of a machine
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil for the network; for tests
}

// Servers returns the servers on this machine, on hosts and on the default ports of kind; "" for all
// kinds.
func Servers(ctx context.Context, kind string, hosts []string) []catalog.Server {
	return Find(ctx, Options{Kind: kind, Hosts: hosts})
}

// Find returns the servers that answer within o.Timeout, in the order of their kinds. It returns no
// error: a server that cannot be identified is omitted.
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

// distinct returns found without duplicates: a server that listens on both loopback addresses of a
// port counts for the first one.
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
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i].Provider) < rank(list[j].Provider) })
	return list
}

func rank(provider string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.provider == provider })
}

// newClient returns a client that connects only to loopback addresses.
func newClient(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, // a proxy would learn about the local servers
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
					return nil, fmt.Errorf("%s is not on this machine", address)
				}
				return dial(ctx, network, address)
			},
			MaxResponseHeaderBytes: maxHeader,
			MaxConnsPerHost:        maxConns,
			MaxIdleConnsPerHost:    maxConns,
			DisableCompression:     true, // bodies stay as they were sent
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A place is an address to ask.
type place struct {
	host string // such as "127.0.0.1:11434"
	port string
	own  []kind // kinds with this default port
}

// places returns the places to search: each port on both loopback addresses, and the hosts of o.
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
			name = "127.0.0.1" // servers that listen on all addresses listen on this one
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

// Ports returns the default ports of a kind of server; none if the kind is unknown.
func Ports(kind string) []string {
	if at := rank(kind); at >= 0 {
		return strings.Fields(kinds[at].port)
	}
	return nil
}
