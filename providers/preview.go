package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"parley/providers/llm"
)

// Preview opens the model called name and returns, as text, the HTTP request that it would send for
// the result of req: request line, headers, body. Nothing is sent, and headers that may hold a key
// are masked. For a program, it returns the command line and standard input. The notices are those
// that the user would see before the answer.
func Preview(c Config, name string, o OpenOptions, req func(llm.Endpoint) llm.Request) (text string, notices []llm.Notice, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	taken := &captureTransport{cancel: cancel}
	o.Transport, o.Unsent = taken, true
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

// Captured returns the first HTTP request that ask sends with its options, as Preview does. Nothing
// is sent.
func Captured(ctx context.Context, o OpenOptions, ask func(context.Context, OpenOptions) error) (text string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	taken := &captureTransport{cancel: cancel}
	o.Transport, o.Unsent = taken, true
	if err := ask(ctx, o); taken.request == nil {
		return "", err
	}
	return taken.String(), nil
}

// A captureTransport stores the first request instead of sending it.
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

// publicHeaders lists the headers that cannot hold a secret; configured ones may.
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
	if parts := c.formText(); parts != "" {
		body.WriteString(parts)
	} else if json.Indent(&body, c.body, "", "  ") != nil {
		body.Write(c.body)
	}
	fmt.Fprintf(&b, "\n%s\n", bytes.TrimSpace(body.Bytes()))
	return b.String()
}

// formText returns the fields of a form and the sizes of its files; "" if the body is not a form.
func (c *captureTransport) formText() string {
	media, params, err := mime.ParseMediaType(c.request.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return ""
	}
	var b strings.Builder
	for form := multipart.NewReader(bytes.NewReader(c.body), params["boundary"]); ; {
		part, err := form.NextPart()
		if err != nil {
			return b.String()
		}
		value, _ := io.ReadAll(part)
		if part.FileName() != "" {
			value = fmt.Appendf(nil, "%s (%s, %d bytes)", part.FileName(), part.Header.Get("Content-Type"), len(value))
		}
		fmt.Fprintf(&b, "%s: %s\n", part.FormName(), value)
	}
}
