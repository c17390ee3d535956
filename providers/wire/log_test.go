package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/providers/llmtest/closed"
	"parley/providers/wire"
)

// A request leaves one line, however it ends, and no line contains a key or a body.
func TestLog(t *testing.T) {
	const key = "sk-canary-0123456789"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req_1 of "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/refused":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(401)
			io.WriteString(w, `{"error":{"message":"bad key `+key+`","code":"invalid_api_key"}}`)
		case "/cut":
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "data: half")
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: an answer\n\n")
		}
	}))
	defer server.Close()
	for _, tt := range []struct {
		name, url string
		cancel    bool
		status    float64
		bytes     float64
		fault     string
	}{
		{"answered", server.URL + "/answer/" + key, false, 200, 17, ""},
		{"refused", server.URL + "/refused", false, 401, 77, "authentication"},
		{"broken off", server.URL + "/cut", false, 200, 10, "network"},
		{"not there", "http://" + closed.Address(t), false, 0, 0, "network"},
		{"canceled", server.URL, true, 0, 0, "canceled"},
	} {
		var out bytes.Buffer
		client := wire.Client(wire.Options{
			Provider: "box", URL: server.URL + "/?key=" + key, Secrets: []string{key},
			Log: wire.Log{To: slog.New(slog.NewJSONHandler(&out, nil)), Kind: "vllm", Model: "m", Strategy: func() string { return "prompt" }},
		})
		ctx, cancel := context.WithCancel(t.Context())
		if tt.cancel {
			cancel()
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, tt.url, strings.NewReader("a question with "+key))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		if res, err := client.Do(req); err == nil {
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		cancel()
		client.CloseIdleConnections()
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Errorf("%s: %v in %q, want one line", tt.name, err, out.String())
			continue
		}
		if line["provider"] != "box" || line["kind"] != "vllm" || line["model"] != "m" || line["strategy"] != "prompt" || line["time"] == nil || line["total_ms"] == nil {
			t.Errorf("%s: %s", tt.name, out.String())
		}
		status, _ := line["status"].(float64)
		fault, _ := line["error"].(string)
		if status != tt.status || line["bytes"] != tt.bytes || fault != tt.fault {
			t.Errorf("%s: status %v, %v bytes, error %q; want %v, %v, %q", tt.name, status, line["bytes"], fault, tt.status, tt.bytes, tt.fault)
		}
		if answered := tt.status != 0; answered != (line["headers_ms"] != nil) || answered != (line["first_byte_ms"] != nil) || answered != (line["request_id"] != nil) {
			t.Errorf("%s: times and id: %s", tt.name, out.String())
		}
		for _, secret := range []string{key, "question", "an answer", "half", "bad key"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s: %q is in %s", tt.name, secret, out.String())
			}
		}
	}
}

// OpenAI accepts a client's request id, which its support can look up if no answer came; other
// services get none.
func TestClientRequestID(t *testing.T) {
	for url, want := range map[string]bool{"https://api.openai.com/v1/responses": true, "https://api.x.ai/v1/responses": false} {
		var ids []string
		var out bytes.Buffer
		client := wire.Client(wire.Options{
			Log: wire.Log{To: slog.New(slog.NewJSONHandler(&out, nil))},
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				ids = append(ids, r.Header.Get("X-Client-Request-Id"))
				return nil, io.EOF
			}),
		})
		for range 2 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Do(req); err == nil {
				t.Fatal("an answer")
			}
			if req.Header.Get("X-Client-Request-Id") != "" {
				t.Error("the caller's request was changed")
			}
		}
		if sent := ids[0] != ""; sent != want || sent && ids[0] == ids[1] || sent != strings.Contains(out.String(), `"client_request_id":"`+ids[0]+`"`) {
			t.Errorf("%s: ids %q, log %s", url, ids, out.String())
		}
	}
}
