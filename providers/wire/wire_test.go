package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/providers/llmtest/closed"
	"parley/providers/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and a client for it, which end with the test.
func serve(t *testing.T, h http.HandlerFunc, o wire.Options) (*http.Client, string) {
	t.Helper()
	server := httptest.NewServer(h)
	o.Provider, o.URL, o.Key = "acme", server.URL, "ACME_API_KEY"
	client := wire.Client(o)
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return client, server.URL
}

// ask sends a request and reads the whole answer; it returns the first error.
func ask(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"stream":true}`))
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

func fault(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *llm.Error", err)
	}
	return e
}

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, media string
		status      int
		body        string
		fault       llm.Fault // "" for an answer to be read
		message     string
	}{
		{"events", "text/event-stream", 200, "data: {\"error\":1}\n\n", "", ""},
		{"events without a type", "", 200, "data: {}\n\n", "", ""},
		{"events called JSON", "application/json", 200, "data: {}\n\n", "", ""},
		{"a whole answer", "application/json; charset=utf-8", 200, `{"error":null,"choices":[]}`, "", ""},
		{"a long answer", "application/json", 200, `{"data":["` + strings.Repeat("x", 200<<10) + `"]}`, "", ""},
		{"an empty answer", "application/json", 200, "", "", ""},
		{"an error in a 200", "application/json", 200, "\n {\"code\":\"The service is currently unavailable\",\"error\":\"down\"}", llm.Server, "down"},
		{"an error in a problem", "application/problem+json", 200, `{"error":{"code":402,"message":"no credits"}}`, llm.Quota, "no credits"},
		{"a login page", "text/html; charset=utf-8", 200, "<title>Hotel\nWiFi &amp; more</title>", llm.InvalidRequest, "answered with a web page (text/html) \"Hotel WiFi & more\" instead of data: the base URL may be wrong, or a login page of the network stands in between"},
		{"nothing", "", 204, "", llm.Server, "answered without content"},
		{"elsewhere", "", 307, "", llm.InvalidRequest, "answered with a redirect to https://else.example/v1, which is not followed: the base URL may be wrong"},
		{"refused", "application/json", 401, `{"error":{"message":"bad key","code":"invalid_api_key"}}`, llm.Authentication, "bad key"},
		{"a long refusal", "text/plain", 500, strings.Repeat("é", 100<<10), llm.Server, strings.Repeat("é", 2000) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if tt.media != "" {
					w.Header().Set("Content-Type", tt.media)
				}
				if tt.status == 307 {
					w.Header().Set("Location", "https://user:pass@else.example/v1")
				}
				w.Header().Set("X-Request-Id", "req-1")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}, wire.Options{})
			body, err := ask(t.Context(), client, url)
			if tt.fault == "" {
				if err != nil || body != tt.body {
					t.Errorf("got %.200q, %v", body, err)
				}
				return
			}
			e := fault(t, err)
			if e.Fault != tt.fault || e.Message != tt.message {
				t.Errorf("got %s %q\nwant %s %q", e.Fault, e.Message, tt.fault, tt.message)
			}
			if e.Provider != "acme" || e.URL != url || e.Key != "ACME_API_KEY" || tt.status != 204 && e.ID != "req-1" {
				t.Errorf("incomplete: %+v", e)
			}
		})
	}
}

// TestAnswerBehind: an error contains its response, for adapters that need more than the message.
func TestAnswerBehind(t *testing.T) {
	client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"x","failed_generation":"sk-secret-key"}}`)
	}, wire.Options{Secrets: []string{"sk-secret-key"}})
	_, err := ask(t.Context(), client, url)
	var a *wire.Answer
	if !errors.As(err, &a) {
		t.Fatalf("no answer behind %v", err)
	}
	if want := `{"error":{"message":"x","failed_generation":"[redacted]"}}`; a.Status != 400 || string(a.Body) != want {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

// TestShouldRetry reads a server's advice on retrying.
func TestShouldRetry(t *testing.T) {
	for _, tt := range []struct {
		header      string
		again, said bool
	}{{"true", true, true}, {"False", false, true}, {"", false, false}, {"perhaps", false, false}} {
		client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if tt.header != "" {
				w.Header().Set("x-should-retry", tt.header)
			}
			w.WriteHeader(500)
		}, wire.Options{})
		_, err := ask(t.Context(), client, url)
		var a *wire.Answer
		if !errors.As(err, &a) {
			t.Fatalf("no answer behind %v", err)
		}
		if again, said := a.ShouldRetry(); again != tt.again || said != tt.said {
			t.Errorf("%q: again %v, said %v", tt.header, again, said)
		}
	}
}

func TestSecrets(t *testing.T) {
	const secret = `sk+cañary/"7&=<é>key`
	short, _ := json.Marshal(secret)
	echoes := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)), string(short),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("user:" + secret)), base64.RawURLEncoding.EncodeToString([]byte("ab" + secret + "tail")),
	}
	for _, echo := range echoes {
		for _, body := range []string{
			"you sent " + echo + " to us",
			string(must(json.Marshal(map[string]any{"error": map[string]any{"message": "bad " + echo, "code": echo, "param": echo}}))),
			"<title>" + echo + "</title><html>",
			strings.Repeat("x", 1990) + echo,
			string(must(json.Marshal(map[string]any{"error": map[string]any{"message": "bad", "code": strings.Repeat("x", 190) + echo, "param": strings.Repeat("y", 190) + echo}}))),
		} {
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(body, "<html>") {
					w.Header().Set("Content-Type", "text/html")
				}
				w.Header().Set("X-Request-Id", echo)
				w.WriteHeader(401)
				io.WriteString(w, body)
			}, wire.Options{Secrets: []string{"", "key", secret}})
			_, err := ask(t.Context(), client, url)
			e := fault(t, err)
			all := strings.Join([]string{e.Error(), e.Code, e.Param, e.ID, e.Message, e.Err.Error()}, "\n")
			// Half of the secret counts too: neither truncation nor an encoding may leave a part.
			for _, piece := range []string{"cañary", "ca%C3%B1ary", "ca%c3%b1ary", base64.StdEncoding.EncodeToString([]byte("k+cañary"))[:8], echo[len(echo)/4 : len(echo)/4+8]} {
				if strings.Contains(all, piece) {
					t.Errorf("%q leaks %q: %s", echo, piece, all)
				}
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var silent = log.New(io.Discard, "", 0)

func TestUnreachable(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = silent
	secure.StartTLS()
	defer secure.Close()
	old := httptest.NewUnstartedServer(nil)
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.Config.ErrorLog = silent
	old.StartTLS()
	defer old.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	rude := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() {
		for {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	defer rude.Close()
	gone := closed.Address(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(407) }))
	defer proxy.Close()
	through := func(proxy string) http.RoundTripper {
		n := wire.NewNetwork(time.Minute)
		n.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy) }
		return n
	}
	failing := func(err error) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })
	}
	host := func(u string) string { return must(url.Parse(u)).Host }

	for _, tt := range []struct {
		name, url string
		base      http.RoundTripper
		want      string
	}{
		{"refused", "http://" + gone, nil, "connection to " + gone + " refused"},
		{"closed at once", "http://" + rude.Addr().String(), nil, "connection to " + rude.Addr().String() + ": *"},
		{"unknown authority", secure.URL, nil, "the certificate of " + host(secure.URL) + " is not valid: signed by an unknown authority"},
		{"old TLS", old.URL, nil, "no TLS connection to " + host(old.URL) + ": *"},
		{"no TLS", strings.Replace(plain.URL, "http", "https", 1), nil, host(plain.URL) + " does not speak TLS: use http instead of https?"},
		{"no such host", "https://api.acme.example", failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "api.acme.example", IsNotFound: true}}), "no such host: api.acme.example"},
		{"no name server", "https://api.acme.example", failing(&net.DNSError{Name: "api.acme.example", Err: "server misbehaving"}), "looking up api.acme.example: server misbehaving"},
		{"slow name server", "https://api.acme.example", failing(&net.DNSError{Name: "api.acme.example", IsTimeout: true}), "looking up api.acme.example timed out"},
		{"black hole", "https://api.acme.example", failing(&net.OpError{Op: "dial", Err: timeout{}}), "the connection to api.acme.example:443 timed out"},
		{"proxy refuses", "https://api.acme.example", through(proxy.URL), "the proxy " + host(proxy.URL) + " refused the connection: 407 Proxy Authentication Required"},
		{"proxy is gone", "https://api.acme.example", through("http://" + gone), "connection to the proxy " + gone + " refused"},
		{"no address", "ftp://x", nil, "the base URL is not an http or https address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := wire.Client(wire.Options{Provider: "acme", Transport: tt.base})
			defer client.CloseIdleConnections()
			_, err := ask(t.Context(), client, tt.url)
			e := fault(t, err)
			want, open := strings.CutSuffix(tt.want, "*")
			if e.Message != want && !(open && strings.HasPrefix(e.Message, want) && len(e.Message) > len(want)) {
				t.Errorf("got %q, want %q", e.Message, tt.want)
			}
			if e.Fault != llm.Network && tt.name != "no address" || e.Provider != "acme" {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A request that a proxy refuses permanently is not retried; one refused by a busy proxy is.
func TestProxyRefusal(t *testing.T) {
	for status, want := range map[int]bool{403: false, 407: false, 408: true, 429: true, 502: true, 503: true} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
		n := wire.NewNetwork(time.Minute)
		n.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
		client := wire.Client(wire.Options{Provider: "acme", Transport: n})
		_, err := ask(t.Context(), client, "https://api.acme.example")
		client.CloseIdleConnections()
		proxy.Close()
		var hint interface{ ShouldRetry() (again, said bool) } // as package retry asks
		if e := fault(t, err); e.Fault != llm.Network || errors.As(err, &hint) == want {
			t.Errorf("%d: is there to be no other attempt: %v, want %v: %v", status, hint != nil, !want, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestCut(t *testing.T) {
	client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, wire.Options{})
	body, err := ask(t.Context(), client, url)
	if e := fault(t, err); body != "data: half" || e.Fault != llm.Network || !strings.Contains(e.Message, "was lost during the answer: closed by the other side") {
		t.Errorf("got %q, %v", body, err)
	}
}

// TestClocks lets answers fall silent, in a synctest bubble's time. Each step is a pause and the
// data after it; then the server stays silent.
func TestClocks(t *testing.T) {
	type step struct {
		pause time.Duration
		bytes string
	}
	const s = time.Second
	const events = "text/event-stream"
	for _, tt := range []struct {
		name, media string
		steps       []step
		body        string
		after       time.Duration
		want        string
	}{
		{"headers, then silence", events, nil, "", 300 * s, "host:443 stopped sending: nothing came for 5m0s"},
		{"one token, then silence", events, []step{{s, "data: a\n\n"}}, "data: a\n\n", 301 * s, "host:443 stopped sending: nothing came for 5m0s"},
		{"comments for ever", events, []step{{200 * s, ": a\n"}, {90 * s, ": b\n"}}, ": a\n: b\n", 300 * s, "host:443 stopped sending: nothing but keep-alives for 5m0s"},
		{"a comment in pieces", events, []step{{200 * s, ":"}, {90 * s, " data: b"}}, ": data: b", 300 * s, "host:443 stopped sending: nothing but keep-alives for 5m0s"},
		{"slow events", events, []step{{290 * s, "d"}, {290 * s, "a"}, {290 * s, "ta"}}, "data", 1170 * s, "host:443 stopped sending: nothing came for 5m0s"},
		{"comments between events", events, []step{{200 * s, ":\r"}, {90 * s, "data: a\r\r"}, {200 * s, ":\r"}, {90 * s, ":"}}, ":\rdata: a\r\r:\r:", 590 * s, "host:443 stopped sending: nothing but keep-alives for 5m0s"},
		{"not events", "text/plain", []step{{200 * s, ": a\n"}, {200 * s, ": b\n"}}, ": a\n: b\n", 700 * s, "host:443 stopped sending: nothing came for 5m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := roundTrip(func(r *http.Request) (*http.Response, error) {
					out, in := io.Pipe()
					context.AfterFunc(r.Context(), func() { in.CloseWithError(context.Cause(r.Context())) })
					go func() {
						for _, step := range tt.steps {
							time.Sleep(step.pause)
							io.WriteString(in, step.bytes)
						}
					}()
					return &http.Response{StatusCode: 200, Header: header("Content-Type", tt.media), Body: out, Request: r}, nil
				})
				start := time.Now()
				got, err := ask(t.Context(), wire.Client(wire.Options{Transport: base}), "https://host/v1")
				after := time.Since(start)
				if e := fault(t, err); got != tt.body || e.Fault != llm.Network || e.Message != tt.want || after != tt.after {
					t.Errorf("got %q after %s: %s\nwant %q after %s: %s", got, after, e.Message, tt.body, tt.after, tt.want)
				}
			})
		})
	}
}

// TestPatience checks that a slow reader does not start the timers.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: header("Content-Type", "text/event-stream"), Body: io.NopCloser(strings.NewReader("data: a\n\ndata: b\n\n")), Request: r}, nil
		})
		res := must(wire.Client(wire.Options{Transport: base}).Get("https://host"))
		one := make([]byte, 9)
		for range 2 {
			time.Sleep(time.Hour)
			if _, err := io.ReadFull(res.Body, one); err != nil {
				t.Error(err)
			}
		}
		if n, err := res.Body.Read(one); n != 0 || err != io.EOF {
			t.Errorf("got %d, %v", n, err)
		}
		res.Body.Close()
	})
}

// TestFlood checks that comments without a pause, which keep the reader busy, end an answer in time.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			flood := readFunc(func(p []byte) (int, error) {
				time.Sleep(time.Nanosecond)
				return copy(p, ": a\n"), nil
			})
			return &http.Response{StatusCode: 200, Header: header("Content-Type", "text/event-stream"), Body: io.NopCloser(flood), Request: r}, nil
		})
		res := must(wire.Client(wire.Options{Transport: base}).Get("https://host"))
		defer res.Body.Close()
		start := time.Now()
		for {
			if _, err := res.Body.Read(make([]byte, 100)); err != nil {
				if e := fault(t, err); !strings.Contains(e.Message, "nothing but keep-alives for 5m0s") || time.Since(start).Round(time.Second) != 300*time.Second {
					t.Errorf("got %v after %s", e, time.Since(start))
				}
				return
			}
			time.Sleep(time.Second) // the reader is at work
		}
	})
}

// A readFunc is an io.Reader.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestHangingError checks that a hanging error body is not waited for.
func TestHangingError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			out, in := io.Pipe()
			go func() {
				io.WriteString(in, "slow down")
				<-r.Context().Done()
				in.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: 429, Header: header("Retry-After", "7"), Body: out, Request: r}, nil
		})
		start := time.Now()
		_, err := ask(t.Context(), wire.Client(wire.Options{Transport: base}), "https://host")
		if e := fault(t, err); e.Fault != llm.RateLimit || e.Message != "slow down" || e.Wait != 7*time.Second || time.Since(start) != 10*time.Second {
			t.Errorf("got %+v after %s", e, time.Since(start))
		}
	})
}

func TestCancel(t *testing.T) {
	arrived := make(chan struct{})
	for _, tt := range []struct {
		name string
		head bool // cancel inside the body
	}{{"before the answer", false}, {"inside the answer", true}} {
		t.Run(tt.name, func(t *testing.T) {
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if tt.head {
					w.WriteHeader(200)
					w.(http.Flusher).Flush()
				}
				arrived <- struct{}{}
				<-r.Context().Done()
			}, wire.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			_, err := ask(ctx, client, url)
			var e *llm.Error
			if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestClose closes an endless answer: the server must notice.
func TestClose(t *testing.T) {
	gone := make(chan struct{})
	client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}, wire.Options{})
	res := must(client.Get(url))
	res.Body.Close()
	<-gone
	if _, err := res.Body.Read(make([]byte, 1)); err == nil {
		t.Error("a closed body can be read")
	}
}

// TestReuse checks that an answer read to its end leaves the connection open.
func TestReuse(t *testing.T) {
	addresses := map[string]bool{}
	client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	}, wire.Options{})
	for range 3 {
		if _, err := ask(t.Context(), client, url); err != nil {
			t.Fatal(err)
		}
	}
	if len(addresses) != 1 {
		t.Errorf("%d connections for three requests", len(addresses))
	}
}

// TestHTTP2 uses HTTP/2 if the server does.
func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	n := wire.NewNetwork(time.Minute)
	n.TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	client := wire.Client(wire.Options{Transport: n})
	defer client.CloseIdleConnections()
	if got, err := ask(t.Context(), client, server.URL); got != "HTTP/2.0" {
		t.Errorf("got %q, %v", got, err)
	}
}

func BenchmarkRead(b *testing.B) {
	chunk := []byte(`data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n")
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: header("Content-Type", "text/event-stream"), Body: io.NopCloser(&retryPhrase{chunk: chunk}), Request: r}, nil
	})
	res := must(wire.Client(wire.Options{Transport: base}).Get("https://host"))
	defer res.Body.Close()
	buf := make([]byte, len(chunk))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := res.Body.Read(buf); n != len(chunk) || err != nil || !bytes.HasPrefix(buf, []byte("data")) {
			b.Fatal(n, err)
		}
	}
}

// retryPhrase repeats the same chunk forever.
type retryPhrase struct{ chunk []byte }

func (a *retryPhrase) Read(p []byte) (int, error) { return copy(p, a.chunk), nil }

// Errors inside an answer are masked too.
func TestMasked(t *testing.T) {
	const secret = "sk-secret/0123456789"
	inner := &llm.Error{Fault: llm.Server, Message: "the key sk-secret%2F0123456789 was revoked", Code: secret, ID: "req-" + secret}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"in its words", inner, "the key [redacted] was revoked"},
		{"wrapped", fmt.Errorf("stream of %s: %w", secret, inner), "the key [redacted] was revoked"},
		{"nothing to hide", wire.ErrInterrupted, "stream ended"},
		{"none of ours", context.Canceled, "canceled"},
	} {
		model := wire.MaskErrors(llmtest.New(llmtest.Fail(test.err)), []string{secret}, nil)
		for _, err := range model.Stream(t.Context(), llm.Request{}) {
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(fmt.Sprintf("%+v", err), "secret") {
				t.Errorf("%s: %v, want %s", test.name, err, test.want)
			}
		}
	}
	if inner.Code != secret {
		t.Error("the error itself was changed")
	}
	events := func() llm.Stream {
		return func(yield func(llm.Event, error) bool) {
			var word llm.Event = llm.Delta{Block: "b"}
			for range 1000 {
				if !yield(word, nil) {
					return
				}
			}
		}
	}
	model := wire.MaskErrors(streamer(events), []string{secret}, nil)
	if n := testing.AllocsPerRun(5, func() {
		for range model.Stream(t.Context(), llm.Request{}) {
		}
	}); n > 100 {
		t.Errorf("%.0f allocations for 1,000 events without an error", n)
	}
}

// streamer is a model that gives the same answer to every request.
type streamer func() llm.Stream

func (s streamer) Stream(context.Context, llm.Request) llm.Stream { return s() }
