package anthropic

import (
	"fmt"
	"net/url"
	"strings"
)

// vertexVersion is the API version in the body of requests to Vertex AI, which replaces the header:
// https://platform.claude.com/docs/en/api/claude-on-vertex-ai
const vertexVersion = "vertex-2023-10-16"

// isVertex reports whether a base URL has Vertex AI's form for Anthropic's models: the model is in
// the URL, and the API version in the body.
func isVertex(base string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/publishers/anthropic")
}

// requestURL returns the URL of requests to the model.
func (m *Model) requestURL() (string, error) {
	u, err := url.Parse(strings.TrimSuffix(strings.TrimRight(m.o.BaseURL, "/"), "/v1"))
	if err != nil {
		return "", err
	}
	if !m.onVertex {
		return u.JoinPath("v1/messages").String(), nil
	}
	if m.o.Model == "" || strings.ContainsAny(m.o.Model, "/?&#:%") || strings.Contains(m.o.Model, "..") {
		return "", fmt.Errorf("%q is no model's name", m.o.Model)
	}
	method := "streamRawPredict"
	if m.o.NoStream {
		method = "rawPredict"
	}
	return u.JoinPath("models", m.o.Model+":"+method).String(), nil
}

// toVertex converts a body to Vertex AI's form.
func toVertex(body map[string]any) {
	delete(body, "model")
	body["anthropic_version"] = vertexVersion
}
