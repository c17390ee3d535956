package anthropic

import (
	"fmt"
	"net/url"
	"strings"
)

// vertexVersion stands in the body of requests to Vertex AI, in the place of the header:
// https://platform.claude.com/docs/en/api/claude-on-vertex-ai
const vertexVersion = "vertex-2023-10-16"

// isVertex reports whether a base URL is of the form in which Vertex AI has models of
// Anthropic's: the model stands in the address, and the version of the API in the body.
func isVertex(base string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/publishers/anthropic")
}

// requestURL returns where the model is asked.
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

// toVertex writes a body as Vertex AI wants it.
func toVertex(body map[string]any) {
	delete(body, "model")
	body["anthropic_version"] = vertexVersion
}
