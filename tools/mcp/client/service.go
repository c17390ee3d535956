package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
	"parley/tools/proxy"
)

// An httpService carries messages to and from a server at a URL. It sends the configured
// headers to that host only, and no message larger than maxMessage.
type httpService struct {
	url     *url.URL
	headers map[string]string
	base    *http.Transport
	ctx     context.Context // ends every request
	cancel  context.CancelFunc

	login     *oauth.Client // nil: requests are sent without a login
	refused   sync.Once
	loggedOut chan struct{} // closed when the user has to log in

	refusesPost atomic.Bool // it answered a POST like a server without streamable HTTP
	streams     atomic.Bool // it answered a GET with a stream of events

	forgotten   sync.Once
	sessionLost chan struct{} // closed when the session is over

	requests *atomic.Int64                    // POSTs that may have reached the service
	failed   atomic.Pointer[unreachableError] // why the last request did not reach the service; nil if it did
}

// errSessionLost reports that the service ended the session. A new one has to be started: MCP,
// "Session Management".
var errSessionLost = errors.New("it no longer knows the session")

func newService(address string, headers map[string]string, login *oauth.Client, requests *atomic.Int64) (*httpService, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("its url is not valid")
	}
	life, end := context.WithCancel(context.Background())
	dialer := &net.Dialer{Timeout: startTimeout}
	return &httpService{url: u, headers: headers, ctx: life, cancel: end, login: login, loggedOut: make(chan struct{}), sessionLost: make(chan struct{}), requests: requests, base: &http.Transport{
		Proxy:                  proxy.FromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    startTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        16,
		IdleConnTimeout:        time.Minute,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      mcp.IsLoopback(u.Hostname()), // a new connection reveals whether a restarted server got a request
	}}, nil
}

// transport returns the SDK's transport over s.
func (s *httpService) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{Endpoint: s.url.String(), HTTPClient: s.client(), MaxEventSize: maxMessage}
}

func (s *httpService) client() *http.Client {
	return &http.Client{Transport: s, CheckRedirect: s.checkRedirect}
}

// An sseTransport reaches a service by HTTP with SSE, the predecessor of streamable HTTP. See
// "Backwards Compatibility" at
// https://modelcontextprotocol.io/specification/2025-06-18/basic/transports.
type sseTransport struct{ *httpService }

// Connect opens the event stream, which ends with the service rather than with ctx.
func (s sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	t := &sdk.SSEClientTransport{Endpoint: s.url.String(), HTTPClient: s.client(), MaxEventSize: maxMessage}
	c, err := t.Connect(context.WithoutCancel(ctx))
	return &sseConn{Connection: c}, err
}

// An sseConn makes Read return the error of Write: the SDK closes the connection then, and reports either error.
type sseConn struct {
	sdk.Connection
	mu     sync.Mutex
	unsent error
}

func (c *sseConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = cmp.Or(c.unsent, err)
	return err
}

func (c *sseConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		err = cmp.Or(c.unsent, err)
	}
	return m, err
}

// checkRedirect allows redirects within the service's host only.
func (s *httpService) checkRedirect(req *http.Request, via []*http.Request) error {
	if !s.isOwnHost(req.URL) {
		return fmt.Errorf("it redirects to another place, %s://%s", req.URL.Scheme, req.URL.Host)
	}
	if len(via) > 5 {
		return errors.New("it redirects without end")
	}
	return nil
}

func (s *httpService) isOwnHost(u *url.URL) bool {
	return u.Scheme == s.url.Scheme && u.Host == s.url.Host
}

// RoundTrip sends a request with the configured headers and the login's token. If the server
// rejects the token, it sends the request again with a new one, if available.
func (s *httpService) RoundTrip(req *http.Request) (*http.Response, error) {
	if !s.isOwnHost(req.URL) {
		return nil, fmt.Errorf("it leads to another place, %s://%s", req.URL.Scheme, req.URL.Host)
	}
	if s.login == nil {
		return s.send(req, "")
	}
	for again := false; ; again = true {
		token, err := s.login.Token(req.Context())
		if err != nil {
			return nil, err
		}
		res, err := s.send(req, token)
		if err != nil {
			return nil, err
		}
		switch res.StatusCode {
		case http.StatusUnauthorized:
			err = s.login.Rejected(req.Context(), token, res.Header)
		case http.StatusForbidden:
			if err = s.login.Forbidden(res.Header); err == nil {
				return res, nil
			}
		default:
			return res, nil
		}
		res.Body.Close()
		if err == nil && again {
			err = oauth.ErrLogin // the server rejects every token
		}
		if errors.Is(err, oauth.ErrLogin) {
			s.refused.Do(func() { close(s.loggedOut) })
		}
		if err == nil && req.GetBody != nil {
			req = req.Clone(req.Context())
			req.Body, err = req.GetBody()
		}
		if err != nil {
			return nil, err
		}
	}
}

// send sends a request; without a token if that is "".
func (s *httpService) send(req *http.Request, token string) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	done := func() { stop(); cancel() }
	var connected atomic.Bool
	req = req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(req.Method == http.MethodPost) }}))
	for name, value := range s.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "parley")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := s.base.RoundTrip(req)
	var why *unreachableError
	switch ended := ctx.Err() != nil; {
	case err != nil && !ended:
		why = unreachable(err)
	case err == nil && (res.StatusCode == http.StatusBadGateway || res.StatusCode == http.StatusServiceUnavailable || res.StatusCode == http.StatusGatewayTimeout):
		why = &unreachableError{"it answered " + res.Status}
	}
	s.failed.Store(why)
	ofSession := req.Method == http.MethodPost && (req.Header.Get("Mcp-Session-Id") != "" || s.streams.Load())
	lost := err == nil && res.StatusCode == http.StatusNotFound && ofSession
	if connected.Load() && !lost && (err != nil || res.StatusCode != http.StatusServiceUnavailable) {
		s.requests.Add(1)
	}
	switch {
	case lost:
		s.forget()
		err = errSessionLost
	case why != nil:
		err = why
	}
	if err != nil {
		if res != nil {
			res.Body.Close()
		}
		done()
		return nil, err
	}
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		if req.Method == http.MethodPost {
			s.refusesPost.Store(true)
		}
	}
	b := &boundedBody{ReadCloser: res.Body, done: done, left: -1}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(strings.ToLower(kind), "text/event-stream") {
		b.left = maxMessage // an event has its own limit
	} else if req.Method == http.MethodGet {
		s.streams.Store(true)
	}
	res.Body = &messageBody{ReadCloser: b}
	if b.left < 0 {
		res.Body = eventBody(b)
	}
	return res, nil
}

// forget marks the session as lost.
func (s *httpService) forget() { s.forgotten.Do(func() { close(s.sessionLost) }) }

// close cancels every request.
func (s *httpService) close() {
	s.cancel()
	s.base.CloseIdleConnections()
}

// A boundedBody is a body of limited size.
type boundedBody struct {
	io.ReadCloser
	left int64 // bytes left; negative: unlimited
	done func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooLong
	}
	if b.left > 0 {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left > 0 {
		b.left -= int64(n)
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
