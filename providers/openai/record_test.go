package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"parley/providers/wire"
)

// A record answers requests with answers in order, repeating the last one, and records the
// requests.
type record struct {
	answers []canned
	refuse  func(body string) (status int, answer string) // nil or status 0 accepts the request
	bodies  []map[string]any
	raw     []string
	urls    []string
}

func (r *record) client() *http.Client {
	return wire.Client(wire.Options{Provider: "mock", Transport: r})
}

func (r *record) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	r.bodies, r.raw, r.urls = append(r.bodies, body), append(r.raw, string(data)), append(r.urls, req.URL.String())
	if r.refuse != nil {
		if status, answer := r.refuse(string(data)); status != 0 {
			return canned{status, "application/json", answer}.RoundTrip(req)
		}
	}
	if len(r.answers) == 0 {
		return canned{500, "application/json", `{}`}.RoundTrip(req)
	}
	return r.answers[min(len(r.bodies), len(r.answers))-1].RoundTrip(req)
}

// last returns the latest request.
func (r *record) last(t *testing.T) string {
	t.Helper()
	if len(r.raw) == 0 {
		t.Fatal("nothing was asked")
	}
	return r.raw[len(r.raw)-1]
}
