package wire_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"parley/providers/llm"
	"parley/providers/llmtest/closed"
	"parley/providers/wire"
)

// A nameServer answers for one name: with addresses of either family, or with a code for both. If
// silent, it never answers.
type nameServer struct {
	addresses []string
	code      dnsmessage.RCode
	silent    bool
}

// use makes every lookup of a test ask s, through a pipe, in the form of DNS over TCP.
func (s nameServer) use(t *testing.T) {
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go s.serve(server)
		return client, nil
	}}
}

func (s nameServer) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(query) != nil || len(m.Questions) != 1 {
			return
		}
		if s.silent {
			continue
		}
		s.answer(&m)
		out, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

func (s nameServer) answer(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals, m.RCode = true, true, nil, s.code
	for _, text := range s.addresses {
		addr := netip.MustParseAddr(text)
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && addr.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}})
		case q.Type == dnsmessage.TypeAAAA && addr.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
}

// An error about a name says what is wrong with it, in time, and never looks like that of a request
// that may have been sent; without working IPv6, a service is reached by IPv4.
func TestNames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "reached") }))
	defer server.Close()
	const host = "api.acme.example"
	port := func(address string) string { return address[len("127.0.0.1"):] }
	open, shut := port(server.Listener.Addr().String()), port(closed.Address(t))
	nameServer{code: dnsmessage.RCodeNameError}.use(t)
	_, _ = net.DefaultResolver.LookupHost(t.Context(), host) // objects that package net creates once must not be created in a synctest bubble
	for name, c := range map[string]struct {
		names nameServer
		port  string
		want  string // "" where the service answers
	}{
		"IPv4 only":                     {nameServer{addresses: []string{"127.0.0.1"}}, open, ""},
		"IPv6 refuses":                  {nameServer{addresses: []string{"::1", "127.0.0.1"}}, open, ""},
		"IPv6 leads nowhere":            {nameServer{addresses: []string{"2001:db8::1", "127.0.0.1"}}, open, ""},
		"both refuse":                   {nameServer{addresses: []string{"::1", "127.0.0.1"}}, shut, "connection to " + host + shut + " refused"},
		"no such name":                  {nameServer{code: dnsmessage.RCodeNameError}, open, "no such host: " + host},
		"a name without addresses":      {nameServer{}, open, "no such host: " + host},
		"the name server fails":         {nameServer{code: dnsmessage.RCodeServerFailure}, open, "looking up " + host + ": server misbehaving"},
		"the name server says nothing":  {nameServer{silent: true}, open, "looking up " + host + " timed out"},
		"the name server does not care": {nameServer{code: dnsmessage.RCodeRefused}, open, "looking up " + host + ": server misbehaving"},
	} {
		t.Run(name, func(t *testing.T) {
			c.names.use(t)
			if !c.names.silent {
				checkName(t, "http://"+host+c.port, c.want)
				return
			}
			synctest.Test(t, func(t *testing.T) { // a clock that does not wait
				began := time.Now()
				checkName(t, "http://"+host+c.port, c.want)
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// checkName sends a request to a service, and compares the error if it cannot be reached.
func checkName(t *testing.T, url, want string) {
	t.Helper()
	network := wire.NewNetwork(time.Minute)
	network.Proxy = nil // ignores the environment
	client := wire.Client(wire.Options{Provider: "acme", Transport: network})
	defer client.CloseIdleConnections()
	body, err := ask(t.Context(), client, url)
	if want == "" {
		if err != nil || body != "reached" {
			t.Errorf("got %q, %v", body, err)
		}
		return
	}
	if e := fault(t, err); e.Message != want || e.Fault != llm.Network || !wire.Unsent(err) || strings.Contains(err.Error(), "lookup") {
		t.Errorf("got %q, %v; want %q", e.Message, err, want)
	}
}
