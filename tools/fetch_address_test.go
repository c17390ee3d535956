package tools

import (
	"context"
	wire "encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/tools/sanitize"

	"golang.org/x/net/dns/dnsmessage"
)

func TestAddress(t *testing.T) {
	tests := []struct{ in, want, err string }{
		{in: "https://example.com", want: "https://example.com/"},
		{in: " https://example.com/a b ", err: "invisible character"},
		{in: "HTTP://EXAMPLE.com:80/%7Euser?a=1&b=<x>#top", want: "http://example.com/%7Euser?a=1&b=%3Cx%3E"},
		{in: "https://example.com.:8443/", want: "https://example.com:8443/"},
		{in: "https://bücher.example/ž?q=ž", want: "https://xn--bcher-kva.example/%C5%BE?q=%C5%BE"},
		{in: "https://аpple.com/", want: "https://xn--pple-43d.com/"}, // with a Cyrillic а
		{in: "http://8.8.8.8/", want: "http://8.8.8.8/"},
		{in: "http://[2606:4700:4700:0::1111]:8080/", want: "http://[2606:4700:4700::1111]:8080/"},
		{in: "https://trusted.com.evil.com/", want: "https://trusted.com.evil.com/"},
		{in: "https://example.com/a%2Fb/../c", want: "https://example.com/a%2Fb/../c"},
		{in: "https://example.com?x", want: "https://example.com/?x"},

		{in: "", err: "empty"},
		{in: "example.com", err: "only http and https"},
		{in: "//example.com/", err: "only http and https"},
		{in: "ftp://example.com/", err: "only http and https"},
		{in: "http:example.com", err: "names no host"},
		{in: "http:///path", err: "names no host"},
		{in: "http://:80/", err: "names no host"},
		{in: "https://trusted.com@evil.com/", err: "user name"},
		{in: "https://user:secret@evil.com/", err: "user name"},
		{in: `https://evil.com\@trusted.com/`, err: "backslash"},
		{in: "https://exa\u200bmple.com/", err: "invisible character"},
		{in: "https://example.com/\x1b[2J", err: "invisible character"},
		{in: "https://example.com/\r\nHost: x", err: "invisible character"},
		{in: "https://example.com:0/", err: "port"},
		{in: "https://example.com:65536/", err: "port"},
		{in: "https://example.com:x/", err: "not a valid URL"},
		{in: "https://a..b/", err: "host name"},
		{in: "https://" + strings.Repeat("a", 64) + ".com/", err: "host name"},
		{in: "https://example.com/" + strings.Repeat("a", maxURL), err: "longer than"},
	}
	for _, test := range tests {
		u, err := parseURL(test.in)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: got %v, %v, want error %s", test.in, u, err, test.err)
			}
		case err != nil:
			t.Errorf("%q: %v", test.in, err)
		case u.String() != test.want:
			t.Errorf("%q: got %s, want %s", test.in, u, test.want)
		}
	}
}

// names is a resolver that answers from a table, whatever the system knows; a
// name that has several answers gives one after the other.
func names(t testing.TB, table map[string][]string) *net.Resolver {
	var mu sync.Mutex
	asked := map[string]int{}
	next := func(name string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		answers, ok := table[strings.TrimSuffix(name, ".")]
		if !ok {
			return "", false
		}
		n := min(asked[name], len(answers)-1)
		asked[name]++
		return answers[n], true
	}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		serving.Go(func() { serveNames(server, next) })
		return client, nil
	}}
}

// serveNames answers queries in the form of DNS over TCP. IPv6 addresses are
// answers too; there is one answer to a pair of queries, for A and for AAAA.
func serveNames(conn net.Conn, next func(string) (string, bool)) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, wire.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(query) != nil || len(m.Questions) != 1 {
			return
		}
		q := m.Questions[0]
		m.Response, m.Additionals = true, nil
		if q.Type == dnsmessage.TypeA {
			ip, ok := next(q.Name.String())
			if !ok {
				m.RCode = dnsmessage.RCodeNameError
			} else {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(ip).As4()},
				}}
			}
		}
		out, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append(wire.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

// hosts that all lead, in one way or another, to what is not public. PORT is
// that of a listener on this computer.
var inward = []string{
	"http://127.0.0.1:PORT/", "http://127.0.0.1.:PORT/", "http://127.1:PORT/", "http://127.0.1:PORT/", "http://127.255.255.254:PORT/",
	"http://0:PORT/", "http://0.0.0.0:PORT/", "http://0x7f.1:PORT/", "http://0x7f000001:PORT/", "http://0X7F.0.0.0x1:PORT/",
	"http://2130706433:PORT/", "http://017700000001:PORT/", "http://0177.0.0.1:PORT/", "http://127.0.0.1%00.example.com:PORT/",
	"http://localhost:PORT/", "http://LOCALHOST:PORT/", "http://localhost.:PORT/", "http://a.localhost:PORT/", "http://ｌｏｃａｌｈｏｓｔ:PORT/",
	"http://１２７.０.０.１:PORT/", "http://①②⑦.⓪.⓪.①:PORT/", "http://127。0。0。1:PORT/",
	"http://[::1]:PORT/", "http://[::]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::ffff:127.0.0.1]:PORT/",
	"http://[::ffff:7f00:1]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[::1%25lo]:PORT/", "http://[fe80::1%25eth0]:PORT/",
	"http://[64:ff9b::7f00:1]:PORT/", "http://[2002:7f00:1::]:PORT/", "http://[2001:0:7f00:1::]:PORT/", "http://[::ffff:169.254.169.254]/",
	"http://169.254.169.254/latest/meta-data/", "http://100.100.100.200/", "http://168.63.129.16/", "http://[fd00:ec2::254]/",
	"http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://100.64.0.1/", "http://198.18.0.1/", "http://224.0.0.1/",
	"http://255.255.255.255/", "http://240.0.0.1/",
	"file:///etc/passwd", "gopher://127.0.0.1:PORT/_x", "ftp://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/", "unix:///run/docker.sock",
	"javascript:alert(1)", "data:text/plain,x", "http+unix://%2Frun%2Fdocker.sock/",
	"http://user@127.0.0.1:PORT/", "http://trusted.com@127.0.0.1:PORT/", "http://127.0.0.1:PORT@trusted.com/", `http://trusted.com\@127.0.0.1:PORT/`,
	"http://loop.test:PORT/", "http://private.test:PORT/", "http://metadata.test/", "http://zero.test:PORT/", "http://rebind.test:PORT/",
	"https://loop.test:PORT/", "http://trusted.com.loop.test:PORT/", "http://loop.test.:PORT/",
}

// No address, however it is written and whatever its name means by then, leads
// to this computer or its network.
func TestFetchReachesOnlyThePublic(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			reached.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, server.URL)
	}
	f := fetcher{resolver: names(t, map[string][]string{
		"loop.test": {"127.0.0.1"}, "trusted.com.loop.test": {"127.0.0.1"}, "private.test": {"10.1.2.3"},
		"metadata.test": {"169.254.169.254"}, "zero.test": {"0.0.0.0"}, "rebind.test": {"93.184.215.14", "127.0.0.1"},
	})}
	// A first check of this name would have passed.
	if first, err := f.resolver.LookupHost(t.Context(), "rebind.test"); err != nil || first[0] != "93.184.215.14" {
		t.Fatalf("got %v, %v", first, err)
	}
	if len(inward) < 40 {
		t.Errorf("only %d addresses", len(inward))
	}
	for _, in := range inward {
		url := strings.ReplaceAll(in, "PORT", port)
		action, err := f.plan(t.Context(), nil, fetchArgs{URL: url})
		if err != nil {
			continue
		}
		if out := action.Run(t.Context(), nil); !out.Failed || !strings.Contains(out.Text, "is blocked") {
			t.Errorf("%s: got %q", url, out.Text)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	// It would have been noticed.
	f.allow = func(netip.AddrPort) bool { return true }
	action, err := f.plan(t.Context(), nil, fetchArgs{URL: "http://loop.test:" + port})
	if err != nil {
		t.Fatal(err)
	}
	if out := action.Run(t.Context(), nil); out.Failed || reached.Load() != 1 {
		t.Errorf("got %q after %d connections", out.Text, reached.Load())
	}
}

// A name that means another address at every step of a redirect is checked at
// every step.
func TestRedirectsAreDialedAnew(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/again", http.StatusFound)
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	f := fetcher{
		resolver: names(t, map[string][]string{"moving.test": {"127.0.0.1", "127.0.0.2"}}),
		allow:    func(a netip.AddrPort) bool { return a.String() == server.Listener.Addr().String() },
	}
	action, err := f.plan(t.Context(), nil, fetchArgs{URL: "http://moving.test:" + port})
	if err != nil {
		t.Fatal(err)
	}
	out := action.Run(t.Context(), nil)
	if !out.Failed || !strings.Contains(out.Text, "127.0.0.2:"+port+" is blocked") || requests.Load() != 1 {
		t.Errorf("got %q after %d requests", out.Text, requests.Load())
	}
}

func FuzzURL(f *testing.F) {
	for _, in := range inward {
		f.Add(in)
	}
	for _, in := range []string{"https://example.com/a?b=c#d", "http://[2606:4700::1]:81/", "https://bücher.example/ž", "http://a%41.com/", "http://x/%zz"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		u, err := parseURL(in)
		if err != nil {
			return
		}
		text := u.String()
		for i := range len(text) {
			if text[i] <= ' ' || text[i] >= 0x7F || text[i] == '\\' {
				t.Fatalf("%q: %q holds %q", in, text, text[i])
			}
		}
		if u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Contains(text, "#") {
			t.Fatalf("%q: got %s", in, text)
		}
		again, err := parseURL(text)
		if err != nil || again.String() != text || again.Host != u.Host {
			t.Fatalf("%q: %s is read again as %v, %v", in, text, again, err)
		}
		if ip := net.ParseIP(u.Hostname()); ip != nil {
			if addr, err := netip.ParseAddr(u.Hostname()); err != nil || sanitize.NonPublic(addr) != "" || !ip.IsGlobalUnicast() || ip.IsPrivate() {
				t.Fatalf("%q leads to %s", in, ip)
			}
		}
		req, err := http.NewRequest(http.MethodGet, text, nil)
		if err != nil || req.URL.Host != u.Host {
			t.Fatalf("%q: %s is sent to %v, %v", in, text, req, err)
		}
	})
}
