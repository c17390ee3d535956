package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"parley/providers/llm"
	"parley/tools/lazy"
	"parley/tools/sanitize"
)

const (
	bodyLimit = 64 << 10         // bytes read of an error response
	bodyTime  = 10 * time.Second // time limit for reading them
)

type transport struct {
	Options
	mask      mask
	tokenMask *atomic.Pointer[maskOfToken] // the last mask made
}

// CloseIdleConnections makes http.Client.CloseIdleConnections work.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.Transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.Token != nil && t.isOwnHost(req) {
		return t.sendAuthorized(req)
	}
	return t.send(req)
}

// send sends an authorized request.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	asked := req
	var conn atomic.Pointer[gatheringConn]
	req = t.withRequestID(withoutSilentRetry(withConn(req.WithContext(ctx), &conn)))
	l := t.beginLine(req)
	res, err := t.Transport.RoundTrip(req)
	if err != nil {
		cancel(nil)
		err = t.noAnswerError(asked, err)
		l.setOutcome(err)
		return nil, err
	}
	l.onHeaders(res)
	b := &timedBody{
		line:  l,
		inner: res.Body, ctx: ctx, cancel: cancel,
		idleTimeout: t.IdleTimeout, contentTimeout: t.ContentTimeout, pulse: llm.PulseOf(asked.Context()),
		wrapError: func(err error) error { return t.complete(interruptedError(err, hostPort(req.URL))) },
	}
	b.gatherBy(ctx, conn.Load())
	if b.pulse != nil && b.pulse.Limit > 0 {
		b.contentTimeout = b.pulse.Limit
	}
	b.beats.Store(b.pulse.Beats())
	if b.pulse == nil && mediaType(res.Header) == "text/event-stream" {
		b.form = formEvents
	}
	res.Body = b
	err = t.answerError(res, b)
	l.setOutcome(err)
	if err != nil {
		b.Close()
		return nil, err
	}
	return res, nil
}

// withoutSilentRetry returns req so that net/http does not retry it by itself once an HTTP/2 server
// has seen it: on REFUSED_STREAM and GOAWAY, net/http would retry up to six times, uncounted and
// unseen. A request on a connection that was dead before any byte was written is still sent on
// another connection.
func withoutSilentRetry(req *http.Request) *http.Request {
	again := req.GetBody
	if again == nil {
		return req
	}
	var streams, written atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			conn, ok := info.Conn.(interface{ ConnectionState() tls.ConnectionState })
			streams.Store(ok && conn.ConnectionState().NegotiatedProtocol == "h2")
			written.Store(false)
		},
		WroteHeaders: func() { written.Store(true) },
	}))
	req.GetBody = func() (io.ReadCloser, error) {
		if streams.Load() && written.Load() {
			return nil, errRefused
		}
		return again()
	}
	return req
}

// noAnswerError returns the error for a request that got no answer.
func (t *transport) noAnswerError(req *http.Request, err error) error {
	if cause := context.Cause(req.Context()); cause != nil {
		return cause
	}
	return t.complete(unreachableError(err, hostPort(req.URL)))
}

// answerError returns the error in a response; nil if the response is to be read.
func (t *transport) answerError(res *http.Response, b *timedBody) error {
	switch {
	case res.StatusCode >= 400:
		return t.statusError(res, b)
	case res.StatusCode >= 300:
		return t.complete(redirectError(res))
	case res.StatusCode == http.StatusNoContent:
		return t.complete(&llm.Error{Fault: llm.Server, Status: res.StatusCode, Message: "answered without content"})
	}
	switch media := mediaType(res.Header); {
	case media == "text/html" || media == "application/xhtml+xml":
		head, _ := t.readErrorBody(b)
		fault := pageError(htmlMessage(res.Header, head))
		fault.Status, fault.ID = res.StatusCode, requestID(res.Header, "")
		return t.complete(fault)
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		return t.jsonError(res, b)
	}
	return nil
}

// statusError returns the error of a response with status 400 or above.
func (t *transport) statusError(res *http.Response, b *timedBody) error {
	head, err := t.readErrorBody(b)
	if apiErr := (*llm.Error)(nil); err != nil && !errors.As(err, &apiErr) {
		return err // the context was canceled
	}
	e := StatusError(res.StatusCode, res.Header, head, time.Now())
	if t.EmptyBadRequest != "" && res.StatusCode == http.StatusBadRequest && len(bytes.TrimSpace(head)) == 0 {
		e.Fault = t.EmptyBadRequest
	}
	e.Err = &Answer{Status: res.StatusCode, Header: t.mask.header(res.Header), Body: []byte(t.mask.Text(string(head)))}
	return t.complete(e)
}

// jsonError looks for an error object in a JSON response with status 200. It leaves responses
// without one, long ones, and those that turn out to be events to the reader.
func (t *transport) jsonError(res *http.Response, b *timedBody) error {
	first := make([]byte, 512)
	n, err := io.ReadAtLeast(b, first, 1)
	head := first[:n]
	if trimmed := bytes.TrimLeft(head, " \t\r\n\ufeff"); err == nil && (len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[') {
		rest, restErr := io.ReadAll(io.LimitReader(b, bodyLimit))
		head, err = append(head, rest...), restErr
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if e := EventError(head); e != nil {
		e.ID = requestID(res.Header, e.ID)
		e.Err = &Answer{Status: res.StatusCode, Header: t.mask.header(res.Header), Body: []byte(t.mask.Text(string(head)))}
		return t.complete(e)
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), b), b}
	return nil
}

// readErrorBody reads the beginning of an error response. If reading fails, it returns the bytes
// read so far with the error.
func (t *transport) readErrorBody(b *timedBody) ([]byte, error) {
	late := time.AfterFunc(bodyTime, func() { b.cancel(timeoutError("the words of the error did not come")) })
	defer late.Stop()
	return io.ReadAll(io.LimitReader(b, bodyLimit))
}

// complete adds this client's information to an error, and masks it.
func (t *transport) complete(e *llm.Error) error {
	e.Provider, e.URL, e.Key = t.Provider, t.URL, t.Key
	mapWords(e, func(s string) string { return sanitize.Truncate(t.mask.Text(s), messageLimit) })
	return e
}

// redirectError returns the error for a redirect, which a retry would only repeat.
func redirectError(res *http.Response) *llm.Error {
	e := &llm.Error{Fault: llm.InvalidRequest, Status: res.StatusCode, ID: requestID(res.Header, ""), Message: "answered with a redirect"}
	if to := oneLine(res.Header.Get("Location"), rawLimit); to != "" {
		e.Message += " to " + Public(to)
	}
	e.Message += ", which is not followed: the base URL may be wrong"
	return e
}

func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		media, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(media))
}

var htmlTitle = lazy.NewRegexp(`(?is)<title[^>]*>(.*?)</title>`)

// htmlMessage describes a response that is a web page, with its title; "" if it is not one. The
// page itself is never shown.
func htmlMessage(h http.Header, body []byte) string {
	media := mediaType(h)
	start := strings.ToLower(string(bytes.TrimSpace(body[:min(len(body), 256)])))
	if media != "text/html" && media != "application/xhtml+xml" {
		if !strings.HasPrefix(start, "<!doctype html") && !strings.HasPrefix(start, "<html") {
			return ""
		}
		media = "text/html"
	}
	said := fmt.Sprintf("answered with a web page (%s)", media)
	if m := htmlTitle.FindSubmatch(body); m != nil {
		if t := oneLine(html.UnescapeString(string(m[1])), rawLimit); t != "" {
			said += " \"" + t + "\""
		}
	}
	return said
}

// requestID returns the request id for the provider's support.
func requestID(h http.Header, fromBody string) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "X-Ds-Trace-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return oneLine(id, rawLimit)
		}
	}
	return oneLine(fromBody, rawLimit)
}
