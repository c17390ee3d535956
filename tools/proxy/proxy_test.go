package proxy_test

import (
	"net/http/httptest"
	"testing"

	"parley/tools/proxy"
)

func TestFromEnvironment(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	t.Setenv("ALL_PROXY", "socks5h://one.test:1080")
	t.Setenv("https_proxy", "http://two.test:3128")
	t.Setenv("NO_PROXY", "inside.test")
	for address, want := range map[string]string{
		"http://example.org/":  "socks5h://one.test:1080",
		"https://example.org/": "http://two.test:3128",
		"http://inside.test/":  "",
		"http://127.0.0.1:80/": "",
	} {
		got := ""
		if u, err := proxy.FromEnvironment(httptest.NewRequest("GET", address, nil)); err != nil {
			t.Errorf("%s: %v", address, err)
		} else if u != nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
