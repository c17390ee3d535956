package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// refusal answers with a status and an error in OpenAI's format.
func refusal(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		fail(w, status, `{"error":{"message":"no","type":"`+code+`","code":"`+code+`"}}`)
	}
}

// reset writes the chunks and resets the connection, as a crashed server does.
func reset(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(chunks) > 0 {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, c := range chunks {
				fmt.Fprintf(w, "data: %s\n\n", c)
			}
			w.(http.Flusher).Flush()
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok && len(chunks) == 0 {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// TestFallbackOnTheWire sends one prompt through chains of three providers. The first two fail in the same way, at each
// stage of an answer. No user can be asked.
func TestFallbackOnTheWire(t *testing.T) {
	t.Parallel()
	text, thought := delta(`{"content":"first words"}`), delta(`{"reasoning_content":"hm"}`)
	half := delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":"}}]}`)
	whole := delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]}`)
	for _, tt := range []struct {
		stage, name string
		server      http.HandlerFunc // nil: connections are refused
		out         string           // expected standard output
		status      int
		says        string // part of standard error
	}{
		{"connect", "refused", nil, "whole", 0, "c/m"},
		{"headers", "closed", reset(), "whole", 0, "c/m"},
		{"headers", "key", refusal(401, "invalid_api_key"), "whole", 0, "c/m"},
		{"headers", "quota", refusal(429, "insufficient_quota"), "whole", 0, "c/m"},
		{"headers", "limit", refusal(429, "rate_limit_exceeded"), "whole", 0, "c/m"},
		{"headers", "model", refusal(404, "model_not_found"), "whole", 0, "c/m"},
		{"headers", "server", refusal(500, "server_error"), "whole", 0, "c/m"},
		{"headers", "request", refusal(400, "invalid_request_error"), "", 1, "no"},
		{"first token", "empty stream", reset(delta(`{"role":"assistant","content":""}`)), "whole", 0, "c/m"},
		{"first token", "error event", reset(`{"error":{"message":"overloaded","type":"server_error","code":503}}`), "whole", 0, "c/m"},
		{"first token", "thinking", reset(thought), "whole", 0, "c/m"},
		{"text", "closed", reset(text), "first words", 1, ""},
		{"text", "error event", reset(text, `{"error":{"message":"overloaded","type":"server_error","code":503}}`), "first words", 1, "overloaded"},
		{"call", "closed in the arguments", reset(half), "whole", 0, "c/m"},
		{"call", "closed behind them", reset(whole), "whole", 0, "c/m"},
		{"after finish", "closed", reset(text, finish("stop")), "first words", 0, ""},
	} {
		t.Run(tt.stage+": "+tt.name, func(t *testing.T) {
			t.Parallel()
			var asked [2]atomic.Int32
			addresses := [2]string{"http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"} // port 9: nothing listens
			for i := range addresses {
				if tt.server == nil {
					break
				}
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					asked[i].Add(1)
					tt.server(w, r)
				}))
				defer s.Close()
				addresses[i] = s.URL + "/v1"
			}
			var results atomic.Int32 // tool results in the last request
			last := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body struct{ Messages []struct{ Role string } }
				_ = json.NewDecoder(r.Body).Decode(&body)
				n := int32(0)
				for _, m := range body.Messages {
					if m.Role == "tool" {
						n++
					}
				}
				if results.Store(n); n == 0 {
					stream(w, call("read", `{"path":"a.txt"}`), finish("tool_calls"))
					return
				}
				stream(w, delta(`{"content":"whole"}`), finish("stop"))
			}))
			defer last.Close()

			h := newHome(t)
			if err := os.WriteFile(filepath.Join(h.dir, "work", "a.txt"), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			config := "fallback = [\"b/m\", \"c/m\"]\n"
			for i, address := range append(addresses[:], last.URL+"/v1") {
				config += fmt.Sprintf("[providers.%c]\nkind = \"vllm\"\nbase_url = %q\napi_key = \"k\"\nmax_retries = 0\n", 'a'+i, address)
			}
			h.configure(config)
			out, errs, status := h.run("-m", "a/m", "-p", "hi")
			if strings.TrimSpace(out) != tt.out || status != tt.status || !strings.Contains(errs, tt.says) {
				t.Errorf("%q, status %d, want %q, %d; on standard error:\n%s", out, status, tt.out, tt.status, errs)
			}
			if ran := results.Load(); tt.out == "whole" && ran != 1 {
				t.Errorf("the tool ran %d times", ran)
			}
			if went := asked[1].Load() > 0; tt.server != nil && went != (tt.out == "whole") {
				t.Errorf("the second model was asked: %v", went)
			}
		})
	}
}
