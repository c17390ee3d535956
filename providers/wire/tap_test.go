package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"parley/providers/llmtest/canary"
	"parley/providers/wire"
)

// only returns the one exchange that a tap has.
func only(t *testing.T, tap *wire.Tap) wire.Exchange {
	t.Helper()
	list := tap.List()
	if len(list) != 1 {
		t.Fatalf("%d exchanges, want 1", len(list))
	}
	e, ok := tap.Exchange(list[0].ID)
	if !ok {
		t.Fatal("it is listed and not there")
	}
	return e
}

func TestTapKeepsWhatWent(t *testing.T) {
	tap := &wire.Tap{}
	events := []string{"data: {\"a\":1}\n\n", ": comment\r\n", "data: [DONE]\n\n"}
	server := canary.Reply(t, 200, map[string]string{"Content-Type": "text/event-stream", "Set-Cookie": "id=1", "X-Ratelimit-Remaining-Tokens": "7"}, events...)
	got, err := canary.Send(t, tap, server, `{"model":"m"}`)
	if err != nil || got != strings.Join(events, "") {
		t.Fatalf("got %q, %v", got, err)
	}
	e := only(t, tap)
	if e.Request.Body != `{"model":"m"}` || e.Response.Body != got {
		t.Errorf("kept %q and %q", e.Request.Body, e.Response.Body)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"url", e.URL, server + "/v1/chat/completions?alt=sse"},
		{"method", e.Method, "POST"},
		{"status", e.Status, 200},
		{"provider", e.Provider + " " + e.Kind + " " + e.Model, "mock openai m"},
		{"sent", e.Request.Bytes, int64(13)},
		{"got", e.Response.Bytes, int64(len(got))},
		{"over", e.Done, true},
		{"error", e.Error, ""},
		{"authorization", e.Request.Header.Get("Authorization"), "Bearer [redacted]"},
		{"api key", e.Request.Header.Get("X-Api-Key"), "[redacted]"},
		{"cookie", e.Response.Header.Get("Set-Cookie"), "[redacted]"},
		{"limit", e.Response.Header.Get("X-Ratelimit-Remaining-Tokens"), "7"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if !(0 < e.Headers && e.Headers <= e.FirstByte && e.FirstByte <= e.Duration) {
		t.Errorf("times: headers %v, first %v, total %v", e.Headers, e.FirstByte, e.Duration)
	}
}

func TestTapNamesWhatFailed(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		server     func(t *testing.T) string
	}{
		{"rate limit", "rate_limit", func(t *testing.T) string {
			return canary.Reply(t, 429, map[string]string{"Content-Type": "application/json"}, `{"error":{"message":"slow down"}}`)
		}},
		{"error in 200", "server", func(t *testing.T) string {
			return canary.Reply(t, 200, map[string]string{"Content-Type": "application/json"}, `{"error":{"message":"boom","type":"server_error"}}`)
		}},
		{"cut", "network", func(t *testing.T) string {
			return canary.Reply(t, 200, map[string]string{"Content-Type": "text/event-stream", "Content-Length": "99"}, "data: 1\n\n")
		}},
		{"nobody there", "network", func(t *testing.T) string {
			server := httptest.NewServer(nil)
			server.Close()
			return server.URL
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tap := &wire.Tap{}
			_, err := canary.Send(t, tap, tt.server(t), "{}")
			e := only(t, tap)
			if err == nil || !e.Done || e.Error != tt.want || e.Reason == "" {
				t.Errorf("error %v, kept %q %q, over %v; want %q", err, e.Error, e.Reason, e.Done, tt.want)
			}
		})
	}
}

// TestTapHoldsNoSecret echoes a key in every encoding, split at every position: no text from the
// tap contains a part of it, even during an answer, and with a dropped middle.
func TestTapHoldsNoSecret(t *testing.T) {
	quoted, _ := json.Marshal(canary.Key)
	twice, _ := json.Marshal(string(quoted))
	ways := map[string]string{
		"as it is": canary.Key, "query": url.QueryEscape(canary.Key), "path": url.PathEscape(canary.Key), "html": html.EscapeString(canary.Key),
		"json": string(quoted), "json in json": string(twice), "base64": base64.StdEncoding.EncodeToString([]byte("user:" + canary.Key)),
		"hex": hex.EncodeToString([]byte(canary.Key)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(canary.Key))),
		"base64 of base64":     base64.URLEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte("user:" + canary.Key)))),
		"every byte escaped":   written(canary.Key, "%%%02X"),
		"and in lower case":    written(canary.Key, "%%%02x"),
		"decimal entities":     written(canary.Key, "&#%d;"),
		"hexadecimal entities": written(canary.Key, "&#x%x;"),
		"JSON escapes":         written(canary.Key, `\u%04x`),
		"escapes of a program": written(canary.Key, `\x%02x`),
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for cut := 0; cut < len(way); cut += 1 + len(way)/50 {
				for _, broken := range []bool{false, true} {
					tap := &wire.Tap{}
					p := tap.Program(wire.Exchange{URL: "x", Args: []string{"--key=" + way}}, []byte(way), []string{canary.Key})
					p.Exchange().Took([]byte("before " + way[:cut]))
					if !broken {
						tap = &wire.Tap{}
						x := tap.Program(wire.Exchange{URL: "x"}, nil, []string{canary.Key})
						x.Exchange().Took([]byte("before " + way[:cut]))
						x.Exchange().Took([]byte(way[cut:]))
						x.End(0, "said "+way, errors.New("why "+way))
					}
					all := told(t, tap)
					canary.Traceless(t, fmt.Sprintf("%s cut at %d", name, cut), all)
					if middle := way[len(way)/3 : len(way)*2/3]; strings.Contains(all, middle) {
						t.Fatalf("%s cut at %d: %q is told", name, cut, middle)
					}
				}
			}
		})
	}
}

// written returns s with each of its characters in a format.
func written(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// told returns all texts of a tap.
func told(t *testing.T, tap *wire.Tap) string {
	t.Helper()
	var all strings.Builder
	for _, e := range tap.List() {
		whole, _ := tap.Exchange(e.ID)
		fmt.Fprintf(&all, "%+v\n%+v\n%s\n", e, whole, whole.Curl())
	}
	return all.String()
}

// TestTapIsBounded: the newest exchanges stay, and both ends of a long body.
func TestTapIsBounded(t *testing.T) {
	tap := &wire.Tap{}
	for i := range 100 {
		p := tap.Program(wire.Exchange{URL: fmt.Sprint("p", i)}, nil, nil)
		p.End(0, "", nil)
	}
	if list := tap.List(); len(list) != 64 || list[0].URL != "p99" || list[63].URL != "p36" {
		t.Errorf("%d are kept, from %s to %s", len(list), list[0].URL, list[len(list)-1].URL)
	}
	if _, ok := tap.Exchange(1); ok {
		t.Error("the first is still there")
	}

	line := bytes.Repeat([]byte("0123456789abcde"), 1000)
	for i := range 20 {
		p := tap.Program(wire.Exchange{URL: fmt.Sprint("long", i)}, []byte("begin"), nil)
		p.WriteLine([]byte("begin"))
		for range 200 { // 3 MB
			p.WriteLine(line)
		}
		p.WriteLine([]byte("end"))
		p.End(0, "", nil)
	}
	list := tap.List()
	list = slices.DeleteFunc(list, func(e wire.Exchange) bool { return !strings.HasPrefix(e.URL, "long") })
	for _, e := range list {
		whole, _ := tap.Exchange(e.ID)
		r := whole.Response
		if !strings.HasPrefix(r.Body, "begin\n") || !strings.HasSuffix(r.Tail, "end\n") || int64(len(r.Body)+len(r.Tail))+r.Omitted != e.Response.Bytes {
			t.Fatalf("%s: %d bytes, %d kept at the beginning, %d at the end, %d cut", e.URL, e.Response.Bytes, len(r.Body), len(r.Tail), r.Omitted)
		}
	}
	if kept := tap.Kept(); kept > 32<<20 || len(list) < 8 {
		t.Errorf("%d exchanges in %d bytes are kept", len(list), kept)
	}
}

// TestTapCutsNoSecretInHalf: a truncated secret at the edge of the kept part is removed too.
func TestTapCutsNoSecretInHalf(t *testing.T) {
	for shift := 0; shift < len(canary.Key); shift += 5 {
		tap := &wire.Tap{}
		p := tap.Program(wire.Exchange{URL: "x"}, nil, []string{canary.Key})
		p.WriteLine([]byte(strings.Repeat("x", 1<<20-shift) + canary.Key + strings.Repeat("y", 1<<20) + canary.Key + strings.Repeat("z", 1<<20-shift)))
		p.End(0, "", nil)
		canary.Traceless(t, fmt.Sprint("shift ", shift), told(t, tap))
	}
}

func TestTapIsSafeForMany(t *testing.T) {
	tap := &wire.Tap{}
	server := canary.Reply(t, 200, map[string]string{"Content-Type": "text/event-stream"}, "data: 1\n\n", "data: 2\n\n")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := canary.Send(t, tap, server, "{}"); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() {
			for _, e := range tap.List() {
				tap.Exchange(e.ID)
			}
		})
	}
	wait.Wait()
	if n := len(tap.List()); n != 8 {
		t.Errorf("%d exchanges, want 8", n)
	}
}

func TestCurl(t *testing.T) {
	tap := &wire.Tap{}
	server := canary.Reply(t, 200, map[string]string{"Content-Type": "application/json"}, "{}")
	if _, err := canary.Send(t, tap, server, `{"text":"it's"}`); err != nil {
		t.Fatal(err)
	}
	want := "curl '" + server + "/v1/chat/completions?alt=sse' \\\n  -H \"Authorization: Bearer $MOCK_KEY\" \\\n" +
		"  -H 'Content-Type: application/json' \\\n  -H \"X-Api-Key: $MOCK_KEY\" \\\n  --data-raw '{\"text\":\"it'\\''s\"}'\n"
	if got := only(t, tap).Curl(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, tt := range []struct {
		name string
		e    wire.Exchange
		want string
	}{
		{"key of the configuration", wire.Exchange{Method: "GET", URL: "http://h/", Provider: "my-own", Key: "providers.my-own.api_key", Request: wire.Message{Header: http.Header{"X-Api-Key": {"[redacted]"}}}}, "curl 'http://h/' \\\n  -H \"X-Api-Key: $MY_OWN_API_KEY\"\n"},
		{"a shell's characters", wire.Exchange{Method: "GET", URL: "http://h/", Request: wire.Message{Header: http.Header{"X-Odd": {"$(id)`\"\\[redacted]"}}}}, "curl 'http://h/' \\\n  -H \"X-Odd: \\$(id)\\`\\\"\\\\$X_ODD\"\n"},
		{"a program", wire.Exchange{Method: wire.Run, URL: "claude", Args: []string{"-p", "--model=x y"}, Request: wire.Message{Body: "hi"}}, "printf '%s' 'hi' | 'claude' '-p' '--model=x y'\n"},
		{"too long", wire.Exchange{Method: "POST", URL: "http://h/", Request: wire.Message{Omitted: 1}}, ""},
	} {
		if got := tt.e.Curl(); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestTapCost: a piece of a stream costs a copy into existing memory.
func TestTapCost(t *testing.T) {
	tap := &wire.Tap{}
	p := tap.Program(wire.Exchange{URL: "x"}, nil, nil)
	x := p.Exchange()
	chunk := bytes.Repeat([]byte("x"), 512)
	for range 5000 { // until both ends are full
		x.Took(chunk)
	}
	if n := testing.AllocsPerRun(1000, func() { x.Took(chunk) }); n != 0 {
		t.Errorf("%v allocations for a piece, want 0", n)
	}
	var none *wire.Tap
	if none.Program(wire.Exchange{}, nil, nil) != nil || none.List() != nil {
		t.Error("a tap that is not there keeps something")
	}
}

func BenchmarkTap(b *testing.B) {
	chunk := []byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n")
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	x := (&wire.Tap{}).Program(wire.Exchange{URL: "x"}, nil, nil).Exchange()
	for b.Loop() {
		x.Took(chunk)
	}
}

// BenchmarkTapRead reads an exchange of the maximum size, as the inspector does once a second
// during an answer.
func BenchmarkTapRead(b *testing.B) {
	tap := &wire.Tap{}
	x := tap.Program(wire.Exchange{URL: "x"}, nil, []string{canary.Key}).Exchange()
	for range 1 << 15 {
		x.Took([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"))
	}
	b.SetBytes(2 << 20)
	for b.Loop() {
		tap.Exchange(1)
	}
}

// TestTapCompresses checks that a long day uses little memory, and that kept bodies are unchanged.
func TestTapCompresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := &wire.Tap{}
		answer := func(i int) (lines []string) {
			for n := range 1000 {
				lines = append(lines, fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word %d of %s"}}]}`, i, n*i, canary.Key))
			}
			return lines
		}
		for i := range 80 {
			p := tap.Program(wire.Exchange{}, []byte(strings.Repeat(fmt.Sprintf(`{"role":"user","content":"%d"},`, i), 100*i)), []string{canary.Key})
			for _, line := range answer(i) {
				p.WriteLine([]byte(line))
			}
			p.End(0, "", nil)
			synctest.Wait()
		}
		if kept := tap.Kept(); kept > 8<<20 {
			t.Errorf("%d MB are kept", kept>>20)
		}
		list := tap.List()
		if len(list) != 64 {
			t.Errorf("%d exchanges are kept, want 64", len(list))
		}
		for _, head := range list {
			e, _ := tap.Exchange(head.ID)
			i := e.ID - 1
			want := strings.ReplaceAll(strings.Join(answer(i), "\n")+"\n", canary.Key, "[redacted]")
			if e.Response.Body != want || e.Response.Omitted != 0 {
				t.Fatalf("answer %d is not as it came: %d bytes, want %d", i, len(e.Response.Body), len(want))
			}
			if want := strings.Repeat(fmt.Sprintf(`{"role":"user","content":"%d"},`, i), 100*i); e.Request.Body != want {
				t.Fatalf("request %d is not as it was sent", i)
			}
		}
	})
}

// TestTapSharesBeginnings checks that requests with a common beginning, as in a long conversation,
// are returned unchanged, also with others between them.
func TestTapSharesBeginnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tap := &wire.Tap{}
		long := []byte(strings.Repeat(`{"role":"user","content":"and now?"},`, 60_000)) // more than is kept
		sent := func(i int) []byte {
			body := append(bytes.Clone(long), strings.Repeat(fmt.Sprint("message ", i, " "), 1000*i)...)
			if i%5 == 4 {
				body[0] = byte(i) // of the same size
			}
			if i%7 == 6 {
				return []byte("short")
			}
			return body
		}
		for i := range 20 {
			tap.Program(wire.Exchange{}, sent(i), nil).End(0, "", nil)
			synctest.Wait()
		}
		if len(tap.List()) != 20 {
			t.Errorf("%d exchanges are kept, want 20", len(tap.List()))
		}
		for i := range 20 {
			e, _ := tap.Exchange(i + 1)
			want := sent(i)
			head, tail := want[:min(len(want), 1<<20)], want[max(len(want)-1<<20, 0):]
			if len(want) <= 2<<20 {
				head, tail = want, nil
			}
			if e.Request.Body != string(head) || e.Request.Tail != string(tail) || e.Request.Omitted != int64(len(want)-len(head)-len(tail)) {
				t.Errorf("request %d is not as it was sent: %d and %d bytes with %d between them", i, len(e.Request.Body), len(e.Request.Tail), e.Request.Omitted)
			}
		}
	})
}
