package gemini

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/genai"

	"parley/providers/llm"
)

// google is where Google serves the Gemini API.
const google = "https://generativelanguage.googleapis.com/v1beta"

// send hands body to the SDK and returns the server's answer unread. The SDK's
// own reader would do but for what real servers and long conversations bring:
// it ends the stream at a comment or an event name, turns the numbers in the
// arguments of a call into floats and forgets the order of their fields, and
// takes four times as long. The caller closes the body.
func (m *Model) send(ctx context.Context, body map[string]any) (*http.Response, error) {
	door := &door{client: m.o.HTTP, keyless: m.o.Key == ""}
	client, err := m.client(ctx, door)
	if err != nil {
		return nil, unsendable(err)
	}
	automatic := false
	config := &genai.GenerateContentConfig{
		AutomaticContinuation: &automatic, // each part of an answer is a request of ours
		HTTPOptions: &genai.HTTPOptions{
			ExtrasRequestProvider: func(map[string]any) map[string]any { return body },
		},
	}
	model := strings.TrimSpace(m.o.Model)
	if m.o.NoStream {
		_, err = client.Models.GenerateContent(ctx, model, nil, config)
	} else {
		for _, err = range client.Models.GenerateContentStream(ctx, model, nil, config) {
			break
		}
	}
	switch {
	case door.answer != nil:
		return door.answer, nil
	case err == nil:
		err = errors.New("the SDK sent nothing")
	case door.asked:
		return nil, err
	}
	return nil, unsendable(err)
}

// unsendable is the fault of a request that never left.
func unsendable(err error) error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: err.Error()}
}

// client builds the SDK's client, which costs some microseconds. Everything it
// would otherwise look for in the environment is set, for a key or an address
// found there is not meant for this server.
func (m *Model) client(ctx context.Context, door http.RoundTripper) (*genai.Client, error) {
	base, version := split(m.o.BaseURL)
	key := m.o.Key
	if key == "" {
		key = "none" // door takes it off again
	}
	headers := http.Header{}
	for name, value := range m.o.Headers {
		headers.Set(name, value)
	}
	return genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: door},
		HTTPOptions: genai.HTTPOptions{BaseURL: base, APIVersion: version, Headers: headers},
	})
}

// A door takes one request from the SDK to the network, and keeps the answer
// for itself: the SDK gets an empty one.
type door struct {
	client  *http.Client
	keyless bool

	asked  bool
	answer *http.Response
}

func (d *door) RoundTrip(req *http.Request) (*http.Response, error) {
	d.asked = true
	req = req.Clone(req.Context())
	if d.keyless {
		req.Header.Del("X-Goog-Api-Key")
	}
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	d.answer = res
	return &http.Response{Status: res.Status, StatusCode: res.StatusCode, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// split parts a base URL where the SDK wants it apart: before the API's
// version. What follows the version, as in ".../v1/publishers/google", stays
// with it. An address without one, such as GOOGLE_GEMINI_BASE_URL holds, gets
// v1beta.
func split(base string) (host, version string) {
	u, err := url.Parse(base)
	if err != nil {
		return base, ""
	}
	u.RawQuery, u.Fragment = "", ""
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	for i := len(path) - 1; i >= 0; i-- {
		if isVersion(path[i]) {
			u.Path, u.RawPath = "/"+strings.Join(path[:i], "/"), ""
			return u.String(), strings.Join(path[i:], "/")
		}
	}
	return u.String(), "v1beta"
}

// isVersion reports whether a piece of a path is a version, such as v1beta2.
func isVersion(s string) bool {
	return len(s) > 1 && s[0] == 'v' && s[1] >= '0' && s[1] <= '9' && !strings.ContainsAny(s, "-_.")
}
