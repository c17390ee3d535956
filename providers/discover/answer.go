package discover

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"parley/providers/catalog"
)

// An answer is a server's response to one GET. The zero value means no response.
type answer struct {
	status int
	server string         // the Server header
	body   []byte         // up to maxBody
	object map[string]any // body as a JSON object; nil if it is not one
}

func (a answer) ok() bool { return a.status == http.StatusOK }

// isGuarded reports whether the server requires a key or is not ready yet.
func (a answer) isGuarded() bool { return a.state() != ready }

func (a answer) state() string {
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return needKey
	case http.StatusServiceUnavailable:
		return loading
	}
	return ready
}

// text returns the string at path; "" if there is none.
func (a answer) text(path string) string {
	return catalog.FirstText(a.object, path)
}

// list returns the member called name as a list of objects; ok is false if it is not a list. Ollama
// writes null for an empty list.
func (a answer) list(name string) (rows []map[string]any, ok bool) {
	if !a.ok() {
		return nil, false
	}
	value, there := a.object[name]
	items, isList := value.([]any)
	for _, item := range items {
		if row, isObject := item.(map[string]any); isObject {
			rows = append(rows, row)
		}
	}
	return rows, isList || there && value == nil
}

// A session sends requests to one place, each path once.
type session struct {
	ctx    context.Context
	client *http.Client
	origin string // "http://127.0.0.1:11434"
	mu     sync.Mutex
	asked  map[string]func() answer
}

// get returns the answer to GET path.
func (s *session) get(path string) answer {
	s.mu.Lock()
	ask, ok := s.asked[path]
	if !ok {
		ask = sync.OnceValue(func() answer { return s.fetch(path) })
		s.asked[path] = ask
	}
	s.mu.Unlock()
	return ask()
}

func (s *session) fetch(path string) answer {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.origin+path, nil)
	if err != nil {
		return answer{}
	}
	res, err := s.client.Do(req)
	if err != nil {
		return answer{}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, server: res.Header.Get("Server")}
	if a.body, err = io.ReadAll(io.LimitReader(res.Body, maxBody)); err != nil && len(a.body) == 0 {
		return answer{}
	}
	_ = json.Unmarshal(a.body, &a.object)
	return a
}
