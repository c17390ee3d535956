package gemini_test

import (
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
)

// TestAddress checks the request URL for each form of base URL.
func TestAddress(t *testing.T) {
	for _, test := range []struct {
		base, model string
		whole       bool
		want        string
	}{
		{"/v1beta", "gemini-2.5-flash", false, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"},
		{"/v1beta/", "models/gemini-2.5-flash", true, "/v1beta/models/gemini-2.5-flash:generateContent"},
		{"", "m", false, "/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/gateway", "m", false, "/gateway/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"/zen/v1", "m", false, "/zen/v1/models/m:streamGenerateContent?alt=sse"},
		{"/v1beta1/publishers/google", "m", true, "/v1beta1/publishers/google/models/m:generateContent"},
		{"/v1beta", "tunedModels/mine", false, "/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
	} {
		answer := stream(text("Hi"), finish("STOP"))
		if test.whole {
			answer = whole(chunkWith(text("Hi"), finish("STOP")))
		}
		s := newServer(t, answer)
		m := s.model(gemini.Options{BaseURL: test.base, Model: test.model, NoStream: test.whole})
		if got := take(t, m.Stream(t.Context(), hello)); got.err != nil {
			t.Errorf("%s: %v", test.base, got.err)
			continue
		}
		if got := s.requests[0].URL.String(); got != test.want {
			t.Errorf("%s, %s: got %s, want %s", test.base, test.model, got, test.want)
		}
	}
}

// TestEnvironment checks that variables of the environment do not reach other servers, and that the
// key does reach its server.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "secret")
			t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
			t.Setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
			t.Setenv("GOOGLE_CLOUD_PROJECT", "project")
			t.Setenv("GOOGLE_CLOUD_LOCATION", "mars")
			t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
			for _, key := range []string{"", "test-key"} {
				s := newServer(t, stream(text("Hi"), finish("STOP")))
				m := s.model(gemini.Options{BaseURL: "/v1beta", Model: "m", Key: key, Headers: map[string]string{"X-Team": "a"}})
				if got := take(t, m.Stream(t.Context(), hello)); got.err != nil {
					t.Fatal(got.err)
				}
				r := s.requests[0]
				if got := r.Header.Get("X-Goog-Api-Key"); got != key {
					t.Errorf("key %q, want %q", got, key)
				}
				if r.URL.Path != "/v1beta/models/m:streamGenerateContent" || r.Header.Get("X-Team") != "a" || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("asked %s with %v", r.URL, r.Header)
				}
			}
		})
	}
}

// TestUnsendable checks that an invalid request is not reported as a connection error.
func TestUnsendable(t *testing.T) {
	s := newServer(t, stream(text("Hi"), finish("STOP")))
	got := take(t, s.model(gemini.Options{Model: "../files"}).Stream(t.Context(), hello))
	if llm.FaultOf(got.err) != llm.InvalidRequest || len(s.bodies) != 0 {
		t.Errorf("error %v after %d requests, want an invalid request before any", got.err, len(s.bodies))
	}
}
