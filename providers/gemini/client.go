package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"parley/providers/adapter"
)

// googleURL is where Google serves the Gemini API.
const googleURL = "https://generativelanguage.googleapis.com/v1beta"

// send asks the server and returns its answer unread; the caller closes the
// body.
//
// Google's SDK is left out on purpose: its reader ends the stream at a comment or
// an event name, turns the numbers in the arguments of a call into floats and
// forgets the order of their fields. With it come gRPC, protobuf and OpenCensus,
// for other ways to sign in, at every start, also of the helper that confines a
// command; docs/dependencies.md has the figures. Tests hold every body against it.
func (m *Model) send(ctx context.Context, body map[string]any) (*http.Response, error) {
	address, err := m.requestURL()
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	text, err := encode(body)
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	return adapter.Client{HTTP: m.o.HTTP, Headers: headers(m.o)}.Post(ctx, address, text, nil)
}

// headers returns the headers of every request to the service of o.
func headers(o Options) map[string]string { return o.RequestHeaders("X-Goog-Api-Key") }

// encode returns a body as it is sent.
func encode(body map[string]any) (adapter.Body, error) { return adapter.EncodeBody(body, true) }

// requestURL returns where the model is asked. What a base URL has no version in, such
// as the one that GOOGLE_GEMINI_BASE_URL holds, gets v1beta; what follows the
// version, as in ".../v1/publishers/google", stays.
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

// withVersion returns a base URL with v1beta after it if it has no version. One that cannot be
// read stays as it is.
func withVersion(base string) string {
	u, err := url.Parse(base)
	if err != nil || isVersion(u.Path) {
		return base
	}
	return u.JoinPath("v1beta").String()
}

// isVersion reports whether a piece of path is a version, such as v1beta2.
func isVersion(path string) bool {
	for piece := range strings.SplitSeq(path, "/") {
		if len(piece) > 1 && piece[0] == 'v' && piece[1] >= '0' && piece[1] <= '9' && !strings.ContainsAny(piece, "-_.") {
			return true
		}
	}
	return false
}
