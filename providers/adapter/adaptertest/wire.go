package adaptertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"parley/providers/llm"
)

// A Wire describes a wire format to Suite: how to encode answers, and how to decode requests.
type Wire struct {
	// Open returns the adapter for the server at base, which accepts every path. Its model has the
	// origin Origin.
	Open func(t *testing.T, base string) llm.Model

	// Origin is the origin of the adapter's messages.
	Origin string

	// ContentType is the type of a streamed answer; "" is "text/event-stream".
	ContentType string

	// Encode encodes an answer as the service would stream it, one event per element, including the
	// separators.
	Encode func(Answer) []string

	// Failure returns the body of a response with an error status.
	Failure func(status int, message string) string

	// Broken is an event in the middle of a stream that reports an error of the service; "" if the
	// format has none.
	Broken string

	// Carries lists the kinds of parts whose State the format carries.
	Carries []llm.Kind

	// Thinks reports whether the format has thinking.
	Thinks bool

	// Read decodes the body of a request: the system prompt, the messages with their texts, calls
	// and results, and the names of the tools.
	Read func(body []byte) (llm.Request, error)
}

// An Answer is a response independent of any wire format. A State in its parts is a JSON string in
// place of signed or encrypted data; its characters must appear in the stream and in the next
// request, unchanged.
type Answer struct {
	Parts  []llm.Part
	Reason llm.Reason // "" for an answer without an end
	Usage  llm.Usage  // only Input and Output
}

// server runs handlers and stores the bodies of requests.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
}

// serve starts a server whose nth request goes to the nth handler; further requests go to the last
// one.
func serve(t *testing.T, handlers ...http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error("request:", err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, body)
		n := len(s.bodies)
		s.mu.Unlock()
		handlers[min(n, len(handlers))-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// requestCount counts the requests.
func (s *server) requestCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// request returns the body of the nth request, counted from 0.
func (s *server) request(t *testing.T, n int) []byte {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.bodies) {
		t.Fatalf("%d requests came, want more than %d", len(s.bodies), n)
	}
	return s.bodies[n]
}

// events returns a handler that answers with a stream, written in pieces of size bytes; 0 writes
// one event at a time.
func (w Wire) events(list []string, size int) http.HandlerFunc {
	return func(res http.ResponseWriter, r *http.Request) {
		w.start(res)
		if size == 0 {
			for _, event := range list {
				write(res, event)
			}
			return
		}
		var all string
		for _, event := range list {
			all += event
		}
		for len(all) > 0 {
			n := min(size, len(all))
			write(res, all[:n])
			all = all[n:]
		}
	}
}

// hanging returns a handler that answers with a stream that stays open until the client
// disconnects, and then closes left.
func (w Wire) hanging(list []string, left chan<- struct{}) http.HandlerFunc {
	return func(res http.ResponseWriter, r *http.Request) {
		w.start(res)
		for _, event := range list {
			write(res, event)
		}
		<-r.Context().Done()
		close(left)
	}
}

func (w Wire) start(res http.ResponseWriter) {
	kind := w.ContentType
	if kind == "" {
		kind = "text/event-stream"
	}
	res.Header().Set("Content-Type", kind)
	res.WriteHeader(http.StatusOK)
}

func write(res http.ResponseWriter, text string) {
	io.WriteString(res, text)
	res.(http.Flusher).Flush()
}
