package adapter

import (
	"context"
	"net/http"

	"parley/providers/llm"
)

// A Client posts JSON to one service. It is used for Anthropic and Gemini: their SDKs rebuild data
// that must go back byte for byte, and without that part only a URL and a few headers of the SDKs
// would be left.
type Client struct {
	HTTP    *http.Client      // its transport turns failed responses into *llm.Error
	Headers map[string]string // sent with every request

	EscapeHTML bool // see EncodeBody
}

// Post sends fields as JSON to the URL that address returns. Headers in more take precedence. The caller closes the response body. An
// invalid request is an *llm.Error with the fault llm.InvalidRequest; other errors are the
// transport's.
func (c Client) Post(ctx context.Context, address func() (string, error), fields map[string]any, more map[string]string) (*http.Response, error) {
	body, err := EncodeBody(fields, c.EscapeHTML)
	if err != nil {
		return nil, Unsendable(err)
	}
	url, err := address()
	if err != nil {
		return nil, Unsendable(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, Unsendable(err)
	}
	body.PutInto(req)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	for _, headers := range []map[string]string{c.Headers, more} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	return c.HTTP.Do(req)
}

// Unsendable returns the *llm.Error for an invalid request.
func Unsendable(err error) error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: err.Error()}
}
