// Package proxy tells the proxy of a request by the environment: HTTPS_PROXY, HTTP_PROXY and NO_PROXY as net/http
// reads them, and ALL_PROXY, as curl does, where the one for the scheme is not set.
package proxy

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"sync"

	"golang.org/x/net/http/httpproxy"
)

// FromEnvironment returns the proxy for a request, nil for none. Its schemes are http, https, socks5 and socks5h. The
// environment is read once.
func FromEnvironment(req *http.Request) (*url.URL, error) {
	read.Do(func() {
		all := cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
		c := httpproxy.FromEnvironment()
		c.HTTPProxy, c.HTTPSProxy = cmp.Or(c.HTTPProxy, all), cmp.Or(c.HTTPSProxy, all)
		find = c.ProxyFunc()
	})
	return find(req.URL)
}

var (
	read sync.Once
	find func(*url.URL) (*url.URL, error)
)
