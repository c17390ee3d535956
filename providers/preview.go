package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Preview opens the model called name and returns the HTTP request it would
// send for what req makes of it, as text: request line, headers, body. Nothing
// is sent, and headers that may hold a key are masked. For a program it is the
// command that would be run, with what it would read. The notices are those that
// the user would be given before the answer.
func Preview(c Config, name string, o OpenOptions, req func(llm.Endpoint) llm.Request) (text string, notices []llm.Notice, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	taken := &captureTransport{cancel: cancel}
	o.Transport = taken
	model, err := Open(c, name, o)
	if err != nil {
		return "", nil, err
	}
	if p, set, renamed, ok := c.findProgram(name, o); ok {
		if renamed != "" {
			notices = append(notices, llm.Notice{Text: renamed, Urgent: true})
		}
		text, err = p.Preview(set.applyTo(req(model)))
		return text, notices, err
	}
	for event, err := range model.Stream(ctx, req(model)) {
		if err != nil && taken.request == nil {
			return "", notices, err
		}
		if notice, ok := event.(llm.Notice); ok {
			notices = append(notices, notice)
		}
	}
	return taken.String(), notices, nil
}

// A captureTransport keeps the first request instead of sending it.
type captureTransport struct {
	cancel  context.CancelFunc
	request *http.Request
	body    []byte
}

func (c *captureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	defer c.cancel()
	if c.request == nil {
		c.request = r
		if r.Body != nil {
			c.body, _ = io.ReadAll(r.Body)
		}
	}
	return nil, context.Canceled
}

// publicHeaders lists the headers that cannot hold a secret; a configured one might.
var publicHeaders = []string{"Accept", "Content-Type", "User-Agent"}

func (c *captureTransport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", c.request.Method, c.request.URL.Redacted())
	for _, name := range slices.Sorted(maps.Keys(c.request.Header)) {
		value := strings.Join(c.request.Header[name], ", ")
		if !slices.Contains(publicHeaders, name) && !strings.HasPrefix(name, "X-Stainless-") {
			value = Secret(value).String()
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	var body bytes.Buffer
	if json.Indent(&body, c.body, "", "  ") != nil {
		body.Write(c.body)
	}
	fmt.Fprintf(&b, "\n%s\n", bytes.TrimSpace(body.Bytes()))
	return b.String()
}
