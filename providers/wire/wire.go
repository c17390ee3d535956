// Package wire is what stands between an SDK and the network.
//
//	SDK ──► http.Client ──► transport ──► Base ──► provider
//
// SDKs lose what a person needs to know: the status of a body they cannot
// parse, the words of a plain-text error, the error object inside a 200 answer,
// the stream that never says anything again. The transport turns each of these
// into one *llm.Error before the SDK sees it, which errors.As finds through
// every SDK. Nothing that leaves this package holds a key.
package wire

import (
	"net/http"
	"time"

	"parley/providers/llm"
)

// Options describe the provider behind a Client.
type Options struct {
	Provider string            // as configured; for errors
	URL      string            // base URL; for errors
	Key      string            // where the key comes from, such as "OPENAI_API_KEY"; for errors, never the key
	Secrets  []string          // masked in every error text
	Base     http.RoundTripper // nil is a transport of its own: connects within 10 s, proxy from the environment, HTTP/2
	Idle     time.Duration     // no bytes for this long ends an answer; 0 is 300 s
	Quiet    time.Duration     // no event for this long ends a stream, whatever its comments say; 0 is 300 s
}

// Client returns a client whose errors hold an *llm.Error, unless the request's
// context ended.
func Client(o Options) *http.Client {
	return &http.Client{Transport: o.Base}
}

// Fault says what an HTTP error answer means.
func Fault(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	return &llm.Error{Fault: llm.Unknown, Status: status, Message: string(body)}
}

// EventFault returns the error that a body or an event of a 200 answer holds,
// or nil.
func EventFault(body []byte) *llm.Error { return nil }

// Wait is how long a server that answered 429 asked us to wait; zero if it did
// not say.
func Wait(h http.Header, body []byte, now time.Time) time.Duration { return 0 }
