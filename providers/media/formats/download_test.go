package formats

import (
	"bytes"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"parley/providers/adapter"
)

// A proxyServer on loopback forwards requests, plain and in tunnels, to one server each, for any host,
// and records them.
type proxyServer struct {
	plain, tls *httptest.Server

	mu   sync.Mutex
	seen []string
}

func (p *proxyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.Host+" "+r.Header.Get("X-Key"))
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Host = p.plain.Listener.Addr().String()
		}}).ServeHTTP(w, r)
		return
	}
	there, err := net.Dial("tcp", p.tls.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(there, here) }()
	_, _ = io.Copy(here, there)
}

// Downloads use the user's proxy, which is on this machine: other hosts through a tunnel that sees
// no key, the provider's own host with the key. Addresses that are not public are not requested
// through it either. A program's proxy comes from its environment, so the test starts itself again
// with this proxy.
func TestDownloadThroughProxy(t *testing.T) {
	if os.Getenv("PARLEY_TEST_PROXIED") != "" {
		fetchProxied(t)
		return
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("certificates are not read from SSL_CERT_FILE")
	}
	file := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.WriteString(w, "film of "+r.Host+" "+r.Header.Get("X-Key"))
	})
	p := &proxyServer{plain: httptest.NewServer(file), tls: httptest.NewTLSServer(file)}
	defer p.plain.Close()
	defer p.tls.Close()
	server := httptest.NewServer(p)
	defer server.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.tls.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDownloadThroughProxy$", "-test.v")
	again.Env = append(os.Environ(), "PARLEY_TEST_PROXIED=1", "SSL_CERT_FILE="+roots, "SSL_CERT_DIR="+t.TempDir(),
		"HTTP_PROXY="+server.URL, "HTTPS_PROXY="+server.URL, "NO_PROXY=", "http_proxy=", "https_proxy=", "no_proxy=")
	if out, err := again.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Fatalf("%v\n%s", err, out)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if got, want := strings.Join(p.seen, ", "), "CONNECT example.com:443 , GET provider.example secret"; got != want {
		t.Errorf("the proxy was asked %s, want %s", got, want)
	}
}

// fetchProxied downloads with the proxy of the environment.
func fetchProxied(t *testing.T) {
	o := adapter.Options{Provider: "mock", BaseURL: "http://provider.example/v1"}.WithDefaults()
	for _, test := range []struct{ url, want string }{
		{"https://example.com/film.mp4", "film of example.com "},
		{"http://provider.example/v1/film.mp4", "film of provider.example secret"},
		{"https://localhost/film.mp4", ""},
		{"https://192.168.0.1/film.mp4", ""},
		{"http://example.com/film.mp4", ""},
	} {
		var got bytes.Buffer
		mime, err := fetch(t.Context(), o, download{URL: test.url, Headers: map[string]string{"X-Key": "secret"}, Limit: 1 << 20}, &got)
		if got.String() != test.want || (err == nil) != (test.want != "") || err == nil && mime != "video/mp4" {
			t.Errorf("%s: %q, %s, %v", test.url, got.String(), mime, err)
		}
	}
}
