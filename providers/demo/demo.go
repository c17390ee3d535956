// Package demo is the built-in model: it needs no network and no key. It is an http.RoundTripper
// that implements OpenAI's chat completions, so parley's real adapter runs against it, and users
// see the same as with a real model.
//
//	request ──► chat ──► script of answers/*.md ──► reply ──► events, paced ──► response body
//
// It is a list of scripts, not a language model, and says so. A script is a Markdown file with the
// words that select it, its thinking, the tools to call first, and the answer. The demo stores
// nothing between requests: all its state is in the messages.
package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"parley/providers/catalog"
)

// Model is the id of the model that the demo lists.
const Model = "parley"

// Transport returns an in-process server. It answers POST …/chat/completions, streamed or whole,
// and GET …/models, on any host. Canceling the request's context ends an answer at once. It answers
// at the pace of a model unless instant is set. Its answer about adding a provider names the
// providers in keyed.
func Transport(instant bool, keyed []catalog.Provider) http.RoundTripper {
	return server{instant, keyed}
}

type server struct {
	instant bool
	keyed   []catalog.Provider
}

// maxRequest bounds the part of a request that is read, in bytes.
const maxRequest = 64 << 20

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
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
		return respond(r, http.StatusOK, object{
			"object": "list", "data": []object{{"id": Model, "object": "model", "owned_by": "parley"}},
		}), nil
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		return s.complete(r, body)
	}
	return refuse(r, http.StatusNotFound, "the demo has no "+r.Method+" "+r.URL.Path), nil
}

func (s server) complete(r *http.Request, body []byte) (*http.Response, error) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(r, http.StatusBadRequest, "the request is not valid: "+err.Error()), nil
	}
	c, err := newChat(req, s.keyed)
	if err != nil {
		return refuse(r, http.StatusBadRequest, err.Error()), nil
	}
	done, speed := newCompletion(c, c.reply()), modelPace
	if s.instant {
		speed = pace{}
	}
	if !req.Stream {
		if err := pause(r.Context(), speed.first); err != nil {
			return nil, err
		}
		return respond(r, http.StatusOK, done.whole()), nil
	}
	return response(r, http.StatusOK, "text/event-stream", newStream(r.Context(), done.events(), speed)), nil
}

// request holds the fields of a chat completions request that the demo uses.
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
			Schema any `json:"schema"`
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

// content is the text of a message. In JSON it is a string, an array of parts, or null; parts
// without text are skipped.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	var parts []struct{ Text string }
	err := json.Unmarshal(data, &parts)
	if err != nil {
		err = json.Unmarshal(data, &text)
	}
	for _, p := range parts {
		text += p.Text + "\n\n"
	}
	*c = content(strings.TrimSpace(text))
	return err
}

type tool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// object is a JSON object in an answer.
type object = map[string]any

func response(r *http.Request, status int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1, Request: r, Body: body,
	}
}

func respond(r *http.Request, status int, value object) *http.Response {
	return response(r, status, "application/json", io.NopCloser(bytes.NewReader(encode(value))))
}

func refuse(r *http.Request, status int, text string) *http.Response {
	return respond(r, status, object{"error": object{"message": text, "type": "invalid_request_error"}})
}

// encode returns value as JSON; nothing if it contains an infinite number.
func encode(value any) []byte {
	data, _ := json.Marshal(value)
	return data
}
