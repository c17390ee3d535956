package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"parley/providers/llm"
)

// dialReasons describes the system's connection errors.
var dialReasons = []struct {
	err error
	say string
}{
	{syscall.ECONNREFUSED, "refused"},
	{syscall.ECONNRESET, "reset by the other side"},
	{syscall.EPIPE, "closed by the other side"},
	{syscall.ENETUNREACH, "there is no network"},
	{syscall.EHOSTUNREACH, "there is no route"},
	{io.ErrUnexpectedEOF, "closed by the other side"},
	{io.EOF, "closed by the other side"},
}

func dialReason(err error) string {
	for _, r := range dialReasons {
		if errors.Is(err, r.err) {
			return r.say
		}
	}
	return oneLine(err.Error(), 300)
}

// unreachableError returns the error for a request without an answer. Host is the requested
// host:port.
func unreachableError(err error, host string) *llm.Error {
	var apiErr *llm.Error
	if errors.As(err, &apiErr) {
		return apiErr
	}
	e := &llm.Error{Fault: llm.Network, Message: dialMessage(err, host)}
	switch {
	case strings.Contains(err.Error(), "unsupported protocol scheme"), strings.Contains(err.Error(), "no Host in request URL"):
		e.Fault, e.Message = llm.InvalidRequest, "the base URL is not an http or https address"
	case errors.Is(err, errRefused):
		e.Fault, e.Err = llm.Server, unsent{}
	case isEnhanceYourCalm(err):
		e.Fault = llm.RateLimit
	case isPermanent(err):
		e.Err = permanent{}
	case isUnsent(err):
		e.Err = unsent{}
	}
	return e
}

// isUnsent reports whether a request failed before a byte of it was written.
func isUnsent(err error) bool {
	var (
		op  *net.OpError
		dns *net.DNSError
	)
	return errors.As(err, &dns) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// unsent marks an error of a request that never reached the server.
type unsent struct{}

func (unsent) Error() string { return "not sent" }

// Unsent reports whether the server cannot have seen the request that failed with err, so that it
// is safe to send it again.
func Unsent(err error) bool { return errors.As(err, new(unsent)) }

// errRefused is the error of a stream that an HTTP/2 server rejected before processing it, with
// REFUSED_STREAM or GOAWAY, or that must not be retried silently; see withoutSilentRetry.
var errRefused = errors.New("refused the request before reading it")

// isEnhanceYourCalm reports whether an HTTP/2 server closed a stream or a connection with
// the code ENHANCE_YOUR_CALM (RFC 9113, section 7): too many requests. The error
// types of net/http are not exported; their texts name the code.
func isEnhanceYourCalm(err error) bool { return strings.Contains(err.Error(), "ENHANCE_YOUR_CALM") }

// isPermanent reports whether a connection will fail again for the same reason: an untrusted
// certificate, a protocol other than TLS, or an alert of the TLS handshake.
func isPermanent(err error) bool {
	var (
		cert  *tls.CertificateVerificationError
		plain tls.RecordHeaderError
		alert tls.AlertError
		op    *net.OpError
	)
	return errors.As(err, &cert) || errors.As(err, &plain) || errors.As(err, &alert) ||
		errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// permanent marks an error that another attempt would repeat.
type permanent struct{}

func (permanent) Error() string { return "another attempt would fail as well" }

// ShouldRetry implements the interface that package retry looks for in errors.
func (permanent) ShouldRetry() (again, said bool) { return false, true }

func dialMessage(err error, host string) string {
	var (
		op    *net.OpError
		dns   *net.DNSError
		cert  *tls.CertificateVerificationError
		plain tls.RecordHeaderError
		slow  net.Error
	)
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		host = "the proxy"
		if inner := (*net.OpError)(nil); errors.As(op.Err, &inner) && inner.Addr != nil {
			host += " " + inner.Addr.String()
		}
	}
	switch {
	case errors.Is(err, errRefused):
		return host + " " + errRefused.Error()
	case isEnhanceYourCalm(err):
		return host + " closed the connection: too many requests (ENHANCE_YOUR_CALM)"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host: " + oneLine(dns.Name, 100)
	case errors.As(err, &dns) && dns.IsTimeout:
		return "looking up " + oneLine(dns.Name, 100) + " timed out"
	case errors.As(err, &dns):
		return "looking up " + oneLine(dns.Name, 100) + ": " + oneLine(dns.Err, 100)
	case errors.As(err, &cert):
		return "the certificate of " + host + " is not valid: " + certificateMessage(cert.Err)
	case errors.As(err, &plain), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return host + " does not speak TLS: use http instead of https?"
	case op != nil && (op.Op == "remote error" || op.Op == "local error"): // a TLS alert
		return "no TLS connection to " + host + ": " + oneLine(op.Err.Error(), 100)
	case strings.Contains(err.Error(), "awaiting response headers"):
		return host + " accepted the request and did not answer"
	case strings.Contains(err.Error(), "TLS handshake timeout"):
		return "the TLS handshake with " + host + " timed out"
	case errors.As(err, &slow) && slow.Timeout():
		return "the connection to " + host + " timed out"
	case errors.Is(err, context.DeadlineExceeded):
		return "the connection to " + host + " timed out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection to " + host + " refused"
	}
	return "connection to " + host + ": " + dialReason(err)
}

// certificateMessage explains why a certificate was rejected.
func certificateMessage(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown):
		return "signed by an unknown authority"
	case errors.As(err, &name):
		return "it is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "it has expired, or the clock is wrong"
	}
	return oneLine(err.Error(), 200)
}

// proxyError describes a proxy's refusal; net/http keeps only its status line.
func proxyError(_ context.Context, proxy *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	e := &llm.Error{Fault: llm.Network, Message: fmt.Sprintf("the proxy %s refused the connection: %s", proxy.Host, oneLine(res.Status, 100))}
	if busy := res.StatusCode == http.StatusRequestTimeout || res.StatusCode == http.StatusTooManyRequests; res.StatusCode < 500 && !busy {
		e.Err = permanent{} // it requires a password or forbids the request
	}
	return e
}

// hostPort returns the host:port to dial for u.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "http" {
		return u.Host + ":80"
	}
	return u.Host + ":443"
}
