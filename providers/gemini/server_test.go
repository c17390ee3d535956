package gemini_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

// A reply is one answer of a server.
type reply struct {
	status int // 0 is 200
	kind   string
	body   string
}

// stream returns a reply of events.
func stream(chunks ...string) reply {
	var body strings.Builder
	for _, c := range chunks {
		body.WriteString("data: " + c + "\n\n")
	}
	return reply{kind: "text/event-stream", body: body.String()}
}

func whole(body string) reply { return reply{kind: "application/json", body: body} }

func refusal(status int, message string) reply {
	return reply{status: status, kind: "application/json", body: `{"error":{"message":` + quote(message) + `,"status":"INVALID_ARGUMENT"}}`}
}

// chunk holds these parts.
func chunk(parts ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"},"index":0}]}`
}

func text(s string) string    { return chunk(`{"text":` + quote(s) + `}`) }
func thought(s string) string { return chunk(`{"text":` + quote(s) + `,"thought":true}`) }

func finish(reason string) string {
	return `{"candidates":[{"finishReason":"` + reason + `","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":4}}`
}

// A server returns its replies in order, repeating the last one, and records the requests.
type server struct {
	t        *testing.T
	url      string
	bodies   []string
	requests []*http.Request
}

func newServer(t *testing.T, replies ...reply) *server {
	s := &server{t: t}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer := replies[min(len(s.bodies), len(replies)-1)]
		s.bodies, s.requests = append(s.bodies, string(body)), append(s.requests, r)
		w.Header().Set("Content-Type", answer.kind)
		if answer.status != 0 {
			w.WriteHeader(answer.status)
		}
		io.WriteString(w, answer.body)
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// model asks this server.
func (s *server) model(o gemini.Options) *gemini.Model {
	o.Provider = "mock"
	if o.Model == "" {
		o.Model = "gemini-3.5-flash"
	}
	if !strings.HasPrefix(o.BaseURL, "http") {
		o.BaseURL = s.url + o.BaseURL
	}
	client := wire.Client(wire.Options{Provider: "mock", URL: s.url, Secrets: []string{o.Key}})
	s.t.Cleanup(client.CloseIdleConnections)
	o.HTTP = client
	return gemini.New(o)
}

// taken is the result of a stream.
type taken struct {
	parts   []llm.Part
	finish  llm.Finish
	usage   llm.Usage
	notices []string
	retries int
	err     error
}

func take(t *testing.T, s llm.Stream) taken {
	t.Helper()
	var a taken
	var draft llm.Draft
	for e, err := range s {
		if err != nil {
			a.err = err
			continue
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Usage:
			a.usage = e
		case llm.Notice:
			a.notices = append(a.notices, e.Text)
		case llm.Retry:
			a.retries++
			draft.Discard(e.Discards)
		case llm.Finish:
			a.finish = e
		}
	}
	a.parts = draft.Complete()
	if a.err != nil {
		a.parts = draft.Interrupted()
	}
	return a
}

var hello = llm.Request{Messages: []llm.Message{llm.UserText("Hello")}}
