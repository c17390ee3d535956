// Package wire connects SDKs to the network.
//
//	SDK ──► http.Client ──► transport ──► Base ──► provider
//
// SDKs lose information that a user needs: the status of a body they cannot parse, the text of a
// plain-text error, the error object inside a response with status 200, the stream that has gone
// silent. The transport turns each of these into one *llm.Error before the SDK sees it. errors.As
// finds it through every SDK, together with an *Answer if there was a response. Callers have to
// extract it: http.Client wraps it in a text that repeats the URL with its query. A canceled
// context passes unchanged. No error or text from this package contains a secret. Adapters that
// read answers themselves use Sniff and Events.
//
// A Tap keeps each request and its answer byte for byte for inspection. Package recording writes
// them to a file and answers from such a file. Programs that run in place of a server use both.
package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"parley/providers/llm"
	"parley/providers/token"
)

// Options describe the provider of a Client.
type Options struct {
	Provider        string            // as configured; for errors
	URL             string            // base URL; for errors
	Key             string            // source of the key, such as "OPENAI_API_KEY"; for errors, never the key
	KeyStored       bool              // parley stores the key; for errors
	Secrets         []string          // masked in every error text, also escaped and encoded; those shorter than 4 bytes are not
	Token           *token.Source     // authorizes requests to the host of URL; nil if requests are authorized already
	TokenHeader     string            // header for the token; "" is Authorization with Bearer
	Transport       http.RoundTripper // nil for a new transport: connects within 10 s, proxy from the environment, HTTP/2
	IdleTimeout     time.Duration     // an answer ends after this long without a byte; 0 is 300 s
	ContentTimeout  time.Duration     // an answer ends after this long without content, unless its llm.Pulse has a limit; 0 is IdleTimeout
	EmptyBadRequest llm.Fault         // meaning of status 400 with an empty body; "" is llm.InvalidRequest
	Log             Log               // of the requests
	Tap             *Tap              // records the requests; nil for none
}

const (
	defaultIdle = 300 * time.Second
	connectTime = 10 * time.Second
)

// Client returns a client whose errors contain an *llm.Error, unless the request's context ended.
// It follows no redirects: they would send the key in x-api-key or x-goog-api-key to another host,
// and turn a POST into a GET.
func Client(o Options) *http.Client {
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdle)
	o.ContentTimeout = cmp.Or(o.ContentTimeout, o.IdleTimeout)
	if o.Transport == nil {
		o.Transport = NewNetwork(o.IdleTimeout)
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

// Public returns u without its password and query, which may be secret.
func Public(u string) string {
	parsed, err := url.Parse(u)
	if err != nil {
		return ""
	}
	parsed.User, parsed.RawQuery, parsed.Fragment, parsed.ForceQuery = nil, "", "", false
	return parsed.String()
}

// An Answer is a complete error response, stored in Error.Err for adapters that need more than its
// message, such as Groq's failed_generation.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 64 KiB, with secrets masked
}

func (a *Answer) Error() string { return fmt.Sprintf("HTTP status %d", a.Status) }

// ShouldRetry returns the server's advice on retrying in the header x-should-retry, which OpenAI
// and others send; said is false if there is none.
func (a *Answer) ShouldRetry() (again, said bool) {
	value := a.Header.Get("X-Should-Retry")
	return strings.EqualFold(value, "true"), strings.EqualFold(value, "true") || strings.EqualFold(value, "false")
}

// StatusError returns the error for an error response. The evidence counts in this order: the
// structured code in the body, the message, the status. Numbers in the message are never taken for
// a status: they are tokens, money and ids.
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

// EventError returns the error in a body or event of a response with status 200; nil if there is
// none. It accepts all observed forms:
//
//	{"error":{…}}  {"error":"text"}  {"code":…,"error":"text"}  [{"error":{…}}]
//	{"object":"error",…}  {"type":"error",…}  {"type":"response.failed","response":{"error":{…}}}
//	{"base_resp":{"status_code":1002,…}}  {"code":"Throttling","message":…}  {"detail":…}
//
// An "error":null, which some gateways put into every chunk, is not an error.
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
