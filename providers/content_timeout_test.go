package providers

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/llm"
)

// pings answers every request with the events in said, then times signs of life without content
// (forever if negative), and then the rest. Every is the time between them; 0 for silence.
func pings(said, ping, rest string, times int, every time.Duration) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		out, in := io.Pipe()
		context.AfterFunc(r.Context(), func() { in.CloseWithError(context.Cause(r.Context())) })
		go func() {
			io.WriteString(in, said)
			for i := 0; every > 0 && i != times; i++ {
				select {
				case <-time.After(every):
					io.WriteString(in, ping)
				case <-r.Context().Done():
					return
				}
			}
			if io.WriteString(in, rest); every > 0 {
				in.Close()
			}
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, Request: r}, nil
	})
}

// For each wire format, the start of an answer, and signs of life that servers send.
var alive = []struct {
	kind, said string
	pings      []string
}{
	{"openai", `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}` + "\n\n", []string{
		": OPENROUTER PROCESSING\n\n",
		`data: {"choices":[]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}` + "\n\n",
	}},
	{"openai-responses", `data: {"type":"response.output_text.delta","output_index":0,"delta":"a"}` + "\n\n", []string{
		"event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
		`data: {"type":"response.in_progress","response":{"id":"r"}}` + "\n\n",
		`data: {"type":"response.output_text.delta","output_index":0,"delta":""}` + "\n\n",
	}},
	{"anthropic", `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n\n", []string{
		"event: ping\ndata: {\"type\": \"ping\"}\n\n",
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}` + "\n\n",
		`data: {"type":"message_delta","delta":{},"usage":{"output_tokens":1}}` + "\n\n",
	}},
	{"gemini", `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}` + "\n\n", []string{
		": ping\n\n",
		`data: {"candidates":[{"content":{"parts":[{"text":""}]}}],"usageMetadata":{"promptTokenCount":1}}` + "\n\n",
	}},
}

// ended sends a request to box/m and returns how long the answer took to end, and its text, in a
// synctest bubble's time.
func ended(t *testing.T, p Provider, o OpenOptions, req llm.Request) (after time.Duration, text string, err error) {
	t.Helper()
	none := 0
	p.BaseURL, p.APIKey, p.MaxRetries = "http://box.invalid/v1", "sk-0123456789", &none
	o.Getenv = env()
	e, err := Open(Config{Providers: map[string]Provider{"box": p}}, "box/m", o)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = []llm.Message{llm.UserText("hi")}
	start := time.Now()
	for event, fail := range e.Stream(t.Context(), req) {
		if d, ok := event.(llm.Delta); ok {
			text += d.Text
		}
		err = fail
	}
	return time.Since(start), text, err
}

// Only content keeps a stream alive, in every wire format: pings, comments and empty deltas do not.
// Earlier content is kept.
func TestPingsKeepNothingAlive(t *testing.T) {
	for _, wire := range alive {
		for _, ping := range wire.pings {
			t.Run(wire.kind+" "+strings.TrimSpace(ping), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					after, text, err := ended(t, Provider{Kind: wire.kind}, OpenOptions{Transport: pings(wire.said, ping, "", -1, 10*time.Second)}, llm.Request{})
					if after != 5*time.Minute || text != "a" || llm.FaultOf(err) != llm.Network || !strings.Contains(err.Error(), "nothing but keep-alives for 5m0s") {
						t.Errorf("ended after %s with %q: %v", after, text, err)
					}
				})
			})
		}
	}
}

// The wait for a silent model depends on whether a user watches, on the effort, and on the
// configuration, which sets both timers.
func TestPatience(t *testing.T) {
	const m = time.Minute
	ping := alive[2].pings[0]
	for _, tt := range []struct {
		name     string
		idle     time.Duration
		attended bool
		req      llm.Request
		every    time.Duration
		want     time.Duration
	}{
		{"a script", 0, false, llm.Request{}, 10 * time.Second, 5 * m},
		{"a script, medium effort", 0, false, llm.Request{Effort: llm.EffortMedium}, 10 * time.Second, 5 * m},
		{"a script, high effort", 0, false, llm.Request{Effort: llm.EffortHigh}, 10 * time.Second, 15 * m},
		{"a script, large budget", 0, false, llm.Request{Settings: llm.Settings{Budget: 20_000}}, 10 * time.Second, 15 * m},
		{"a script, configured", 2 * m, false, llm.Request{Effort: llm.EffortHigh}, 10 * time.Second, 2 * m},
		{"a user", 0, true, llm.Request{}, 10 * time.Second, 30 * m},
		{"a user, configured", 2 * m, true, llm.Request{}, 10 * time.Second, 2 * m},
		{"no bytes, a script", 0, false, llm.Request{Effort: llm.EffortHigh}, 0, 5 * m},
		{"no bytes, a user", 0, true, llm.Request{}, 0, 5 * m},
		{"no bytes, configured", 20 * m, true, llm.Request{}, 0, 20 * m},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, text, err := ended(t, Provider{Kind: "anthropic", IdleTimeout: tt.idle},
					OpenOptions{Transport: pings(alive[2].said, ping, "", -1, tt.every), Attended: tt.attended}, tt.req)
				if after != tt.want || text != "a" || llm.FaultOf(err) != llm.Network {
					t.Errorf("ended after %s with %q: %v; want %s", after, text, err, tt.want)
				}
			})
		})
	}
}

// A model that thinks silently for longer than the timer, with a user who keeps waiting, loses
// nothing.
func TestSilenceThatEnds(t *testing.T) {
	rest := `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, pulse := llm.WithPulse(t.Context(), 0)
			base := pings(alive[2].said, alive[2].pings[0], rest, 40*5, 12*time.Second)
			if waits {
				time.AfterFunc(20*time.Minute, pulse.Beat)
			}
			none := 0
			c := Config{Providers: map[string]Provider{"box": {Kind: "anthropic", BaseURL: "http://box.invalid", APIKey: "sk-0123456789", MaxRetries: &none}}}
			e, err := Open(c, "box/m", OpenOptions{Transport: base, Attended: true, Getenv: env()})
			if err != nil {
				t.Fatal(err)
			}
			var last error
			for _, err := range e.Stream(ctx, llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
				last = err
			}
			if (last == nil) != waits {
				t.Errorf("the user waits on: %t; the answer ended with %v", waits, last)
			}
		})
	}
}
