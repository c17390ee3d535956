package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxSessions  = 64               // open sessions; the one used longest ago ends for a new one
	writeTimeout = 10 * time.Second // how long a client may take to read a message
)

// tokenVariable is the environment variable with the token.
const tokenVariable = "PARLEY_MCP_TOKEN"

// An endpoint serves the protocol over HTTP.
type endpoint struct {
	server *server
	ctx    context.Context // ends with the server
	token  string

	mu       sync.Mutex
	sessions []*httpSession // the latest used is last
}

// An httpSession is a peer with the ID that its client sends.
type httpSession struct {
	peer
	id string
}

// serveHTTP serves clients on a port of this computer until ctx ends.
func (s *server) serveHTTP(ctx context.Context, port int) (err error) {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("--port %d: %w", port, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := &endpoint{server: s, ctx: ctx, token: os.Getenv(tokenVariable)}
	_ = os.Unsetenv(tokenVariable) // programs that parley starts do not need it
	text := fmt.Sprintf("http://%s/mcp\n", listener.Addr())
	if e.token == "" {
		e.token = rand.Text()
		text += "Authorization: Bearer " + e.token + "\n"
	}
	if _, err := io.WriteString(s.Out, text); err != nil {
		return errors.Join(err, listener.Close())
	}
	web := &http.Server{Handler: e, ReadTimeout: time.Minute, ReadHeaderTimeout: writeTimeout, MaxHeaderBytes: 32 << 10}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	ended := s.end(cancel)
	return errors.Join(err, ended, web.Close())
}

// isLoopback reports whether a host, with or without a port, is this computer.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || host == "[::1]" || host == "::1" || host == "127.0.0.1"
}

// refusal returns the status and the reason why a request is not answered; 0 if it is. Pages on the web can send
// requests to this computer, and have any name stand for it: so the address and the page have to be local, and the
// token is needed.
func (e *endpoint) refusal(r *http.Request) (status int, reason string) {
	origin, err := url.Parse(r.Header.Get("Origin"))
	switch token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); {
	case !isLoopback(r.Host):
		return http.StatusForbidden, "the host has to be localhost or 127.0.0.1"
	case r.Header.Get("Origin") != "" && (err != nil || !isLoopback(origin.Host)):
		return http.StatusForbidden, "pages of other computers are not served"
	case subtle.ConstantTimeCompare([]byte(token), []byte(e.token)) != 1:
		return http.StatusUnauthorized, "send the token that parley mcp serve has printed: Authorization: Bearer TOKEN"
	case r.URL.Path != "/mcp":
		return http.StatusNotFound, "the path is /mcp"
	case r.Method != http.MethodPost && r.Method != http.MethodDelete:
		return http.StatusMethodNotAllowed, "send messages with POST"
	case r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return http.StatusUnsupportedMediaType, "send application/json"
	}
	return 0, ""
}

// ServeHTTP answers one message.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if status, reason := e.refusal(r); status != 0 {
		switch status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", "POST, DELETE")
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, status, codeInvalid, reason)
		return
	}
	version := r.Header.Get("MCP-Protocol-Version")
	if version != "" && !slices.Contains(versions, version) {
		refuse(w, http.StatusBadRequest, codeVersion, version)
		return
	}
	id := r.Header.Get("Mcp-Session-Id")
	s := e.session(id, r.Method == http.MethodDelete)
	switch {
	case s == nil && id != "":
		refuse(w, http.StatusNotFound, codeInvalid, "this session has ended: send initialize")
		return
	case r.Method == http.MethodDelete:
		if s != nil {
			s.cancel(nil)
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, codeInvalid, fmt.Sprintf("send less than %d MB", maxMessage>>20))
		return
	}
	fresh := s == nil
	if fresh {
		s = &httpSession{peer: peer{server: e.server, header: r.Header}, id: rand.Text()}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })()
	reply, run := s.receive(ctx, raw)
	if fresh && s.begun {
		e.add(s)
		w.Header().Set("Mcp-Session-Id", s.id)
	}
	switch {
	case run != nil:
		stream(w, run)
	case reply == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		var told struct{ Error struct{ Code int } }
		_ = json.Unmarshal(reply, &told) // it is valid
		switch code := told.Error.Code; {
		case !fresh || s.begun || code == 0 && version == stateless:
		case code == codeMethod:
			w.WriteHeader(http.StatusNotFound)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(reply)
	}
}

// refuse writes a reason as a JSON-RPC error.
func refuse(w http.ResponseWriter, status, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure(nil, code, reason))
}

// session returns the open session id, nil if there is none. If remove is set, it ends.
func (e *endpoint) session(id string, remove bool) *httpSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, s := range e.sessions {
		if s.id == id {
			e.sessions = append(e.sessions[:i], e.sessions[i+1:]...)
			if !remove {
				e.sessions = append(e.sessions, s)
			}
			return s
		}
	}
	return nil
}

// add adds a session, in place of the one used longest ago if there are too many.
func (e *endpoint) add(s *httpSession) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions = append(e.sessions, s)
	e.sessions = e.sessions[max(len(e.sessions)-maxSessions, 0):]
}

// stream runs a call and writes its messages as server-sent events. An empty message keeps the connection open.
func stream(w http.ResponseWriter, run func(write func([]byte))) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	messages := make(chan []byte)
	go func() {
		defer close(messages)
		messages <- nil // sends the header
		run(func(message []byte) { messages <- message })
	}()
	control := http.NewResponseController(w)
	for message := range messages {
		event := ": \n\n"
		if message != nil {
			event = "event: message\ndata: " + string(message) + "\n\n"
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a failed write cancels the request, and with it the call
		_, _ = io.WriteString(w, event)
		_ = control.Flush()
	}
}
