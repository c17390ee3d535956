// Package wire is what stands between an SDK and the network.
//
//	SDK ──► http.Client ──► transport ──► Base ──► provider
//
// SDKs lose what a user needs to know: the status of a body they cannot
// parse, the words of a plain-text error, the error object inside a 200 answer,
// the stream that never says anything again. The transport turns each of these
// into one *llm.Error before the SDK sees it; errors.As finds it through every
// SDK, and an *Answer with it if there was one. It has to be taken out:
// http.Client wraps it into a text that repeats the URL with its query. A
// canceled context passes as it is. Nothing that leaves this package holds a
// secret. Adapters that read answers themselves find here how: Sniff, Events.
//
// A Tap keeps each request and its answer byte for byte, to be looked at; its
// Recorder writes them to a file, and a Replay answers from such a file. Programs
// that are asked in the place of a server go through them as well.
package wire

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/providers/llm"
	"parley/providers/token"
)

// Options describe the provider that a Client asks.
type Options struct {
	Provider        string            // as configured; for errors
	URL             string            // base URL; for errors
	Key             string            // where the key comes from, such as "OPENAI_API_KEY"; for errors, never the key
	KeyStored       bool              // the key is one that parley stores; for errors
	Secrets         []string          // masked in every error text, escaped and encoded forms too; shorter than 4 bytes are not
	Token           *token.Source     // authorizes the requests to the host of URL; nil: they bring what does
	TokenHeader     string            // that has the token; "" is Authorization, where Bearer stands before it
	Transport       http.RoundTripper // nil is a transport of its own: connects within 10 s, proxy from the environment, HTTP/2
	IdleTimeout     time.Duration     // no bytes for this long end an answer; 0 is 300 s
	ContentTimeout  time.Duration     // no content for this long ends an answer, whatever else comes, unless its llm.Pulse has a limit; 0 is IdleTimeout
	ConnectEarly    bool              // a transport of its own connects to the host of URL at once, before there is a request
	EmptyBadRequest llm.Fault         // what an answer of status 400 without a word means; "" is llm.InvalidRequest
	Log             Log               // of the requests
	Tap             *Tap              // keeps them; nil for none
}

const (
	defaultIdle = 300 * time.Second
	connectTime = 10 * time.Second
)

// Client returns a client whose errors hold an *llm.Error, unless the context
// of the request ended. It follows no redirects: they would take the key in
// x-api-key or x-goog-api-key to another host, and turn a POST into a GET.
func Client(o Options) *http.Client {
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdle)
	o.ContentTimeout = cmp.Or(o.ContentTimeout, o.IdleTimeout)
	if o.Transport == nil {
		t := network(o.IdleTimeout)
		if o.ConnectEarly {
			dialEarly(t, o.URL)
		}
		o.Transport = t
	}
	m := newMask(o.Secrets)
	o.URL = m.Text(Public(o.URL))
	return &http.Client{Transport: &transport{Options: o, mask: m, tokenMask: new(atomic.Pointer[maskOfToken])}}
}

// Plain returns the transport of a [Client] without its handling of answers, for files.
func Plain(c *http.Client) http.RoundTripper {
	if t, ok := c.Transport.(*transport); ok {
		return t.Transport
	}
	if c.Transport != nil {
		return c.Transport
	}
	return http.DefaultTransport
}

// network returns a transport of its own, so that its limits and its connections
// belong to one provider.
func network(idle time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: proxyError,
		DialContext:            dialGathering(&net.Dialer{Timeout: connectTime}),
		TLSHandshakeTimeout:    connectTime,
		ResponseHeaderTimeout:  idle,
		MaxResponseHeaderBytes: 1 << 20,
		IdleConnTimeout:        90 * time.Second,
		ForceAttemptHTTP2:      true,
		// Pings find a connection that died with the laptop's sleep or a change
		// of network long before the idle clock does.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// Public returns u without its password and query, which may be secret.
func Public(u string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment, parsed.ForceQuery = nil, "", "", false
	return parsed.String()
}

// An Answer is an error answer as it came, for adapters that look for more than
// its words, such as Groq's failed_generation. It stands in Error.Err.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 64 KiB, secrets masked
}

func (a *Answer) Error() string { return fmt.Sprintf("HTTP status %d", a.Status) }

// ShouldRetry reports what the server says about asking again in the header
// x-should-retry, which OpenAI and others send, and whether it says anything.
func (a *Answer) ShouldRetry() (again, said bool) {
	value := a.Header.Get("X-Should-Retry")
	return strings.EqualFold(value, "true"), strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
}

// StatusError returns what an error answer means, by the order of evidence: the
// structured code in the body, the words, the status. Numbers in the words are
// never taken for a status: they count tokens, money and ids.
func StatusError(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	w := readEvidence(body, false)
	e := w.toError(status)
	e.Status = status
	e.ID = requestID(h, w.id)
	e.Wait = w.wait(status, h, now)
	if page := htmlMessage(h, body); page != "" {
		e.Message = page
	}
	return e
}

// EventError returns the error that a body or an event of a 200 answer holds,
// or nil. It takes every shape services were seen to send:
//
//	{"error":{…}}  {"error":"text"}  {"code":…,"error":"text"}  [{"error":{…}}]
//	{"object":"error",…}  {"type":"error",…}  {"type":"response.failed","response":{"error":{…}}}
//	{"base_resp":{"status_code":1002,…}}  {"code":"Throttling","message":…}  {"detail":…}
//
// An "error":null, which some gateways put into every chunk, is none.
func EventError(body []byte) *llm.Error {
	if !mayHoldError(body) {
		return nil
	}
	w := readEvidence(body, true)
	if !w.found {
		return nil
	}
	e := w.toError(w.status)
	e.Status = w.status
	e.ID = oneLine(w.id, rawLimit)
	e.Wait = w.wait(w.status, nil, time.Now())
	return e
}
