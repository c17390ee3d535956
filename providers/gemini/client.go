package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"parley/providers/adapter"
)

// googleURL is Google's base URL of the Gemini API.
const googleURL = "https://generativelanguage.googleapis.com/v1beta"

// send sends a request and returns the unread response; the caller closes the body.
//
// Google's SDK is not used: its reader ends the stream at a comment or event name, turns numbers in
// call arguments into floats and loses the order of their fields. It would also load gRPC, protobuf
// and OpenCensus for other login methods at every start, even in the helper that sandboxes a
// command; docs/dependencies.md has the figures. Tests compare every body with the SDK's.
func (m *Model) send(ctx context.Context, body map[string]any) (*http.Response, error) {
	return adapter.Client{HTTP: m.o.HTTP, Headers: headers(m.o), EscapeHTML: true}.Post(ctx, m.requestURL, body, nil)
}

// headers returns the headers of every request to the service of o.
func headers(o Options) map[string]string { return o.RequestHeaders("X-Goog-Api-Key") }

// encode returns a body as JSON.
func encode(body map[string]any) (adapter.Body, error) { return adapter.EncodeBody(body, true) }

// requestURL returns the URL of requests to the model. A base URL without a version, such as in
// GOOGLE_GEMINI_BASE_URL, gets v1beta; a path after the version, as in ".../v1/publishers/google",
// stays.
func (m *Model) requestURL() (string, error) {
	u, err := url.Parse(withVersion(m.o.BaseURL))
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(m.o.Model)
	if name == "" || strings.ContainsAny(name, "?&#") || strings.Contains(name, "..") {
		return "", fmt.Errorf("%q is no model's name", name)
	}
	if !strings.HasPrefix(name, "models/") && !strings.HasPrefix(name, "tunedModels/") {
		name = "models/" + name
	}
	u.RawQuery, u.Fragment = "", ""
	method := ":streamGenerateContent"
	if m.o.NoStream {
		method = ":generateContent"
	} else {
		u.RawQuery = "alt=sse"
	}
	return u.JoinPath(name + method).String(), nil
}

// withVersion appends v1beta to a base URL without a version. An invalid URL is returned unchanged.
func withVersion(base string) string {
	u, err := url.Parse(base)
	if err != nil || isVersion(u.Path) {
		return base
	}
	return u.JoinPath("v1beta").String()
}

// isVersion reports whether path contains a version, such as v1beta2.
func isVersion(path string) bool {
	for piece := range strings.SplitSeq(path, "/") {
		if len(piece) > 1 && piece[0] == 'v' && piece[1] >= '0' && piece[1] <= '9' && !strings.ContainsAny(piece, "-_.") {
			return true
		}
	}
	return false
}
