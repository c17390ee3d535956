// Package demo is the model that is always there: it needs no network and no
// key. It is an http.RoundTripper that speaks OpenAI's chat completions, so the
// real adapter runs against it, and everything a user sees of parley with it
// is what they will see with a real model.
//
//	request ──► chat ──► rules ──► reply ──► chunks, paced ──► response body
//
// It is a table of rules, not a language model, and says so. It thinks, answers
// questions about parley and a handful of others, calls the tools it is
// offered when asked to, and works with what they return. It keeps nothing
// between requests: everything it remembers is in the messages.
package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Options shape the demo. The zero value answers at the pace of a model.
type Options struct {
	Instant bool             // answer at once
	Now     func() time.Time // time.Now if nil
	Keys    []Key            // what the answer on adding a provider lists
}

// A Key is a provider and the environment variables that may hold its key.
type Key struct {
	Provider string // for people
	Env      []string
}

// Model is the id under which the demo lists itself.
const Model = "parley"

// Transport returns a server that lives in the program. It answers
// POST …/chat/completions, streamed or whole, and GET …/models, on any host.
// Canceling the request's context ends an answer at once.
func Transport(o Options) http.RoundTripper {
	s := &server{now: o.Now, pace: human, keys: o.Keys}
	if o.Instant {
		s.pace = pace{}
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// server answers requests without a connection. It has no state.
type server struct {
	now  func() time.Time
	pace pace
	keys []Key
}

// maxRequest bounds what is read of a request, in bytes.
const maxRequest = 64 << 20

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxRequest)); err != nil {
			return nil, fmt.Errorf("demo: read the request: %w", err)
		}
	}
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		return whole(r, http.StatusOK, map[string]any{
			"object": "list", "data": []any{map[string]any{"id": Model, "object": "model", "owned_by": "parley"}},
		})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return s.complete(r, body)
	}
	return refuse(r, http.StatusNotFound, "the demo has no "+r.Method+" "+r.URL.Path)
}

func (s *server) complete(r *http.Request, body []byte) (*http.Response, error) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(r, http.StatusBadRequest, "the request is not valid: "+err.Error())
	}
	c, err := newChat(req, s.now())
	if err != nil {
		return refuse(r, http.StatusBadRequest, err.Error())
	}
	c.keys = s.keys
	a := newAnswer(c, c.reply())
	if !req.Stream {
		if err := s.pace.wait(r.Context(), s.pace.first); err != nil {
			return nil, err
		}
		return whole(r, http.StatusOK, a.whole())
	}
	res := response(r, http.StatusOK, "text/event-stream")
	res.Body = newStream(r.Context(), a.chunks(), s.pace)
	return res, nil
}

// request is what the demo reads of a chat completions request.
type request struct {
	Messages            []message `json:"messages"`
	Tools               []tool    `json:"tools"`
	Stream              bool      `json:"stream"`
	MaxTokens           int       `json:"max_tokens"`
	MaxCompletionTokens int       `json:"max_completion_tokens"`
	ReasoningEffort     string    `json:"reasoning_effort"`
	ResponseFormat      struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema schema `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type message struct {
	Role       string  `json:"role"`
	Content    content `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// content is a message's text, and how many images came with it. On the wire
// it is a string, an array of parts, or null.
type content struct {
	text   string
	images int
}

func (c *content) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var parts []struct{ Type, Text string }
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		var texts []string
		for _, p := range parts {
			switch {
			case p.Text != "":
				texts = append(texts, p.Text)
			case p.Type != "text":
				c.images++
			}
		}
		c.text = strings.Join(texts, "\n\n")
		return nil
	}
	return json.Unmarshal(data, &c.text) // null leaves it empty
}

type tool struct {
	Function struct {
		Name       string `json:"name"`
		Parameters schema `json:"parameters"`
	} `json:"function"`
}

// response is an answer without its body.
func response(r *http.Request, status int, contentType string) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1, Request: r,
	}
}

func whole(r *http.Request, status int, value any) (*http.Response, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("demo: the answer is not valid JSON")
	}
	res := response(r, status, "application/json")
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

func refuse(r *http.Request, status int, text string) (*http.Response, error) {
	return whole(r, status, map[string]any{
		"error": map[string]any{"message": text, "type": "invalid_request_error"},
	})
}
